//! Files that their owner, an ordinary user, may not read. If these fail, one such file keeps all
//! others out of the bucket, or is missed there without a word.

use std::os::unix::fs::chown;

use crate::bucket::Volume;
use crate::place::{Done, USER, done, skip};

impl Volume {
    /// A shell script of the ordinary user, with a FUSE device of their own; `$F` is Forebay, `$AT`
    /// and `$THERE` are places to mount at, `$ALL` is the folder of all.
    fn as_user(&self, script: &str) -> Done {
        let (user, node) = (USER.to_string(), self.place.all.join("node"));
        let mut run = self.place.program("setpriv");
        run.args(["--reuid", &user, "--regid", &user, "--clear-groups", "--"]);
        run.args(["sh", "-euc", script]);
        // fusermount3 asks for the user's name.
        let prepare = format!(
            "rm -f {node}; mknod -m 666 {node} c 10 229; chmod 666 {node}
            mount --bind {node} /dev/fuse; cp /etc/passwd {node}.names
            echo 'somebody:x:{user}:{user}::/:/bin/sh' >> {node}.names
            mount --bind {node}.names /etc/passwd",
            node = node.display()
        );
        let mut apart = self.place.apart(&prepare, &run);
        apart.envs(self.server.settings()).env("ALL", &self.place.all);
        apart.env("F", self.place.all.join("forebay"));
        done(apart.env("AT", self.at()).env("THERE", self.there()))
    }

    fn of_user() -> Option<Volume> {
        if !rustix::process::geteuid().is_root() {
            return skip("this test needs root");
        }
        let volume = Volume::with_fuse()?;
        volume.place.give_to_user();
        for path in [volume.at(), volume.there()] {
            chown(path, Some(USER), Some(USER)).expect("given");
        }
        Some(volume)
    }
}

#[test]
fn a_file_of_mode_000_comes_into_the_bucket_and_keeps_its_mode() {
    let Some(volume) = Volume::of_user() else { return };
    let script = "$F mount --state $ALL/one s3://ours/lab/v $AT; cd $AT; mkdir shut
        echo small > none; chmod 000 none; echo write > only; chmod 200 only; echo in > shut/x
        head -c 300000 /dev/zero > large; chmod 000 large; echo other > other; chmod 000 shut; cd /
        $F unmount $AT; $F mount --state $ALL/one s3://ours/lab/v $AT; cd $AT; echo y > y
        stat -c '%n %a' none only large shut; cd /; $F unmount $AT
        $F mount --state $ALL/two s3://ours/lab/v $THERE; cd $THERE
        stat -c '%n %a %s' none only large; stat -c '%n %a' shut
        chmod 700 none only large shut; cat none only shut/x other; tr -d '\\0' < large | wc -c
        cd /; $F unmount $THERE";
    let end = volume.as_user(script);
    let text = end.code(0).text();
    let expected = "none 0\nonly 200\nlarge 0\nshut 0\nnone 0 6\nonly 200 6\nlarge 0 300000\nshut 0\n\
        small\nwrite\nin\nother\n0\n";
    assert_eq!(text, expected);
    volume.place.nobody_left();
}

#[test]
fn what_can_not_be_read_is_told_by_its_name_and_the_rest_is_shipped() {
    let Some(volume) = Volume::of_user() else { return };
    // Somebody else's file: it comes into the tree past the mount.
    let tree = volume.place.all.join("one/tree");
    let begin = "$F mount --state $ALL/one s3://ours/lab/v $AT; cd $AT; echo a > a; cd /
        $F unmount $AT";
    volume.as_user(begin).code(0);
    std::fs::write(tree.join("secret"), "root's").expect("written");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(tree.join("secret"), mode).expect("set");
    let go_on = "$F mount --state $ALL/one s3://ours/lab/v $AT; cd $AT; echo b > b; cd /
        $F unmount $AT";
    let end = volume.as_user(go_on);
    end.code(121).says("not all of it is in s3://ours/lab/v: this user may not read secret");
    let there = "$F mount --take-over --state $ALL/two s3://ours/lab/v $THERE; cd $THERE
        cat a b; ls; cd /; $F unmount $THERE";
    assert_eq!(volume.as_user(there).code(0).text(), "a\nb\na\nb\n");
    volume.place.nobody_left();
}
