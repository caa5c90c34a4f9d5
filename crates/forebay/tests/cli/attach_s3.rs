//! Buckets that are attached to a volume. If these fail, a program reads bytes of two objects as
//! one, a folder that nobody needs is listed or copied, or somebody's objects are changed.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::place::{Done, PATIENCE, Place, USER, done, finish, wait_until};
use crate::s3::Server;

/// A project, and a bucket of somebody else.
struct Lender {
    place: Place,
    buckets: PathBuf,
    server: Server,
}

/// Bytes of the long object.
const LONG: usize = 8 << 20;

impl Lender {
    fn with_fuse() -> Option<Lender> {
        let place = Place::with_fuse()?;
        let buckets = place.all.join("buckets");
        let server = {
            std::fs::create_dir_all(buckets.join("lab")).expect("a bucket");
            Server::start(&buckets, Duration::ZERO)
        };
        let lender = Lender { place, buckets, server };
        lender.put("run/a/one.fq", b"one\n");
        lender.put("run/a/b/two.fq", b"two\n");
        lender.put("run/other/three.fq", b"three\n");
        lender.put("run/long", &Lender::long(1));
        Some(lender)
    }

    fn long(salt: u8) -> Vec<u8> {
        (0..LONG).map(|at| salt ^ (at % 251) as u8 ^ (at >> 16) as u8).collect()
    }

    fn object(&self, key: &str) -> PathBuf {
        self.buckets.join("lab").join(key)
    }

    fn put(&self, key: &str, bytes: &[u8]) {
        let path = self.object(key);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, bytes).expect("written");
    }

    fn forebay(&self, words: &[&str]) -> Command {
        let mut command = self.place.forebay(words);
        command.envs(self.server.settings());
        command
    }

    fn attach(&self, url: &str, at: &str) -> Done {
        done(&mut self.forebay(&["attach", ".", url, at]))
    }

    fn script(&self, script: &str) -> Command {
        let mut command = self.place.script(&["--quiet"], script);
        command.envs(self.server.settings());
        command
    }

    fn run(&self, script: &str) -> Done {
        done(&mut self.script(script))
    }

    /// Requests of each kind that a run makes, and bytes that objects give.
    fn requests(&self, run: impl FnOnce()) -> (BTreeMap<&'static str, u64>, u64) {
        let before = self.server.tally();
        run();
        let (mut kinds, mut sent) = (BTreeMap::new(), 0);
        for (kind, now) in self.server.tally() {
            let old = before.get(kind).copied().unwrap_or_default();
            if now.requests > old.requests {
                kinds.insert(kind, now.requests - old.requests);
            }
            sent += if kind == "GET" { now.sent - old.sent } else { 0 };
        }
        (kinds, sent)
    }
}

#[test]
fn a_bucket_is_shown_in_a_run_and_only_what_is_read_is_asked_for() {
    let Some(lender) = Lender::with_fuse() else { return };
    lender.attach("s3://lab/run/", "in/run").code(0).says("shows it");
    let listed = done(&mut lender.forebay(&["attach", "."]));
    listed.code(0).says("in/run  s3://lab/run  (read-only)\n");
    // The first folder is listed when the run begins, which is when a wrong key would be told.
    let (kinds, sent) = lender.requests(|| {
        let end = lender.run("ls in/run; stat -c %s in/run/long");
        assert_eq!(end.code(0).text(), format!("a\nlong\nother\n{LONG}\n"));
    });
    assert_eq!((kinds, sent), ([("LIST", 1)].into(), 0));
    let (kinds, sent) = lender.requests(|| {
        let end = lender.run("cat in/run/a/b/two.fq; ls in/run/a");
        assert_eq!(end.code(0).text(), "two\nb\none.fq\n");
    });
    assert_eq!(kinds.get("LIST"), Some(&3), "and not the folder `other`");
    assert_eq!((kinds.get("GET"), sent), (Some(&1), 4));
    // Read at random: blocks around what is read.
    let (kinds, sent) = lender.requests(|| {
        let read = "for at in 1 17 33 49 65; do \
            dd if=in/run/long bs=4096 count=1 skip=$((at * 20)) iflag=direct status=none | md5sum; done";
        let long = Lender::long(1);
        let end = lender.run(read);
        let parts = [1, 17, 33, 49, 65].map(|at| &long[at * 20 * 4096..][..4096]);
        assert_eq!(end.code(0).text(), parts.map(md5).concat());
    });
    assert!(kinds["GET"] <= 10 && sent < 1 << 20, "{kinds:?} {sent}");
    // What has come is not asked for again, in parts or whole.
    let whole = "cat in/run/long in/run/a/one.fq | md5sum";
    let all = [Lender::long(1), b"one\n".to_vec()].concat();
    let (kinds, sent) = lender.requests(|| assert_eq!(lender.run(whole).code(0).text(), md5(&all)));
    let most = LONG as u64;
    assert!(kinds["GET"] > 1 && (most / 2..most).contains(&sent), "the rest: {kinds:?} {sent}");
    let (kinds, sent) = lender.requests(|| assert_eq!(lender.run(whole).code(0).text(), md5(&all)));
    assert_eq!((kinds, sent), ([("LIST", 2)].into(), 0), "it is here");
    // Nothing of it lies in the project, and nothing was changed in the bucket.
    let point = lender.place.project.join("in/run");
    assert_eq!(std::fs::read_dir(&point).expect("a directory").count(), 0);
    let writes = lender.run(
        "echo x > in/run/new; echo x >> in/run/long; rm in/run/a/one.fq; \
        mkdir in/run/d; mv in/run/long in/run/l; chmod 600 in/run/long; :",
    );
    assert_eq!(writes.code(0).stderr.matches("Read-only file system").count(), 6, "{writes:?}");
    assert!(std::fs::read(lender.object("run/long")).expect("there") == Lender::long(1));
    done(&mut lender.forebay(&["detach", ".", "in/run"])).code(0);
    assert_eq!(lender.run("ls in").code(0).text(), "");
    lender.place.nobody_left();
}

#[test]
fn an_object_that_is_overwritten_under_its_reader_is_told() {
    let Some(lender) = Lender::with_fuse() else { return };
    lender.attach("s3://lab/run", "run").code(0);
    let script = "exec 3< run/long; dd bs=4096 count=1 status=none <&3 | md5sum; : > ready
        while [ ! -e go ]; do sleep 0.01; done
        dd bs=4096 count=1 skip=1000 status=none <&3 > rest";
    let mut command = lender.script(script);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("started");
    let ready = lender.place.project.join("ready");
    wait_until("the first block is read", || ready.exists());
    lender.put("run/long", &Lender::long(2));
    std::fs::write(lender.place.project.join("go"), "").expect("written");
    let end = finish(child, PATIENCE);
    assert_eq!(end.code(1).text(), md5(&Lender::long(1)[..4096]));
    end.says("Stale file handle").says("while it was read: s3://lab/run/long;");
    assert_eq!(lender.place.read("rest"), "", "no byte of another object");
    let again = lender.run("md5sum < run/long");
    assert_eq!(again.code(0).text(), md5(&Lender::long(2)), "as it is now");
    assert_eq!(again.stderr, "");
    lender.place.nobody_left();
}

#[test]
fn two_runs_at_a_time_and_a_mount_show_the_same_bucket() {
    let Some(lender) = Lender::with_fuse() else { return };
    lender.attach("s3://lab/run", "run").code(0);
    let inner = "cat run/a/one.fq; \"$FOREBAY\" run -q -o ../inner.run -- cat run/a/b/two.fq";
    let mut second = lender.forebay(&["run", "-q", "-o", "../second.run", "--", "sh", "-c"]);
    second.arg("while [ ! -e done ]; do sleep 0.01; done; cat run/a/one.fq");
    second.stdout(Stdio::piped()).stderr(Stdio::piped());
    let second = second.spawn().expect("started");
    let mut command = lender.script(inner);
    let first = done(command.env("FOREBAY", crate::place::FOREBAY));
    assert_eq!(first.code(0).text(), "one\ntwo\n");
    std::fs::write(lender.place.project.join("done"), "").expect("written");
    assert_eq!(finish(second, PATIENCE).code(0).text(), "one\n");
    let point = lender.place.all.join("at");
    std::fs::create_dir(&point).expect("a mount point");
    let mut mount = lender.forebay(&["mount", "--allow-root", "."]);
    done(mount.arg(&point)).code(0);
    let read = done(Command::new("cat").arg(point.join("run/other/three.fq")));
    assert_eq!(read.code(0).text(), "three\n");
    let refused = done(Command::new("touch").arg(point.join("run/new")));
    refused.code(1).says("Read-only file system");
    done(lender.forebay(&["unmount"]).arg(&point)).code(0);
    lender.place.nobody_left();
}

#[test]
fn an_ordinary_user_reads_an_attached_bucket() {
    let Some(place) = Place::with_root() else { return };
    drop(place);
    let Some(lender) = Lender::with_fuse() else { return };
    let place = &lender.place;
    let binary = place.give_to_user();
    let user = USER.to_string();
    let as_user = |words: &[&str]| {
        let mut command = place.program("setpriv");
        command.args(["--reuid", &user, "--regid", &user, "--clear-groups", "--"]).arg(&binary);
        command.args(words);
        command
    };
    let node = place.all.join("node").display().to_string();
    let prepare =
        format!("rm -f {node}; mknod -m 666 {node} c 10 229; mount --bind {node} /dev/fuse");
    let run =
        |command: &Command| done(place.apart(&prepare, command).envs(lender.server.settings()));
    run(&as_user(&["attach", ".", "s3://lab/run", "in"])).code(0);
    let script = "umask 077; cat in/a/b/two.fq; md5sum < in/long; ls in; touch in/new";
    let words = ["run", "-q", "-o", "../out.run", "--", "sh", "-c", script];
    for _ in 0..2 {
        let _ = std::fs::remove_file(&place.run);
        let end = run(&as_user(&words));
        let sum = md5(&Lender::long(1));
        assert_eq!(end.text(), format!("two\n{sum}a\nlong\nother\n"), "{}", end.stderr);
        end.code(1).says("Read-only file system");
    }
    place.nobody_left();
}

#[test]
fn what_can_not_be_attached_or_shown_says_why() {
    let Some(lender) = Lender::with_fuse() else { return };
    lender
        .attach("s3://nobody/x", "x")
        .code(1)
        .says("can't be attached")
        .says("nothing was attached");
    lender
        .attach("s3://lab/typo", "x")
        .code(1)
        .says("nothing in the bucket has a name that begins so")
        .says("the folder that it lies in");
    lender.attach("s3://", "x").code(1).says("s3://BUCKET/PREFIX");
    std::fs::write(lender.place.project.join("file"), "mine").expect("written");
    std::fs::create_dir(lender.place.project.join("full")).expect("made");
    std::fs::write(lender.place.project.join("full/file"), "mine").expect("written");
    lender.attach("s3://lab/run", "full").code(1).says("is not empty");
    let mut stranger = lender.forebay(&["attach", ".", "s3://lab/run", "x"]);
    let end = done(stranger.env("AWS_SECRET_ACCESS_KEY", "wrong"));
    end.code(1).says("attaching lists and reads");
    assert!(!end.stderr.contains("wrong"), "{}", end.stderr);
    assert!(!lender.place.project.join(".forebay/attached.toml").exists());
    lender.attach("s3://lab/run", "x").code(0);
    let mut stranger = lender.script("touch was-run");
    let end = done(stranger.env("AWS_SECRET_ACCESS_KEY", "wrong"));
    end.code(125).says("s3://lab/run, which is attached, can't be shown").says("nothing was run");
    std::fs::rename(lender.buckets.join("lab"), lender.buckets.join("moved")).expect("moved");
    let point = lender.place.all.join("at");
    std::fs::create_dir(&point).expect("a mount point");
    let mut mount = lender.forebay(&["mount", "--allow-root", "."]);
    let end = done(mount.arg(&point));
    end.code(125)
        .says("s3://lab/run, which is attached, can't be shown")
        .says("nothing was mounted");
    assert!(!lender.place.project.join("was-run").exists());
    lender.place.nobody_left();
}

#[test]
fn a_sheet_is_rewritten_and_its_files_are_read_without_staging() {
    let Some(lender) = Lender::with_fuse() else { return };
    lender.attach("s3://lab/run", "in").code(0);
    let sheet = "sample,fastq\nA,s3://lab/run/a/one.fq\nB,\"s3://lab/run/a/b/two.fq\"\n";
    std::fs::write(lender.place.project.join("sheet.csv"), sheet).expect("written");
    let words = ["attach", ".", "--rewrite", "sheet.csv", "-o", "here.csv"];
    done(&mut lender.forebay(&words)).code(0).says("2 entries");
    let volume = lender.place.project.display().to_string();
    let here = sheet.replace("s3://lab/run", &format!("{volume}/in"));
    assert_eq!(lender.place.read("here.csv"), here);
    let (kinds, sent) = lender.requests(|| {
        let end = lender.run("tail -n +2 here.csv | cut -d, -f2 | tr -d '\"' | xargs cat");
        assert_eq!(end.code(0).text(), "one\ntwo\n");
    });
    let gets = kinds.get("GET").copied();
    assert_eq!((gets, sent), (Some(2), 8), "ranged reads of what was read: {kinds:?}");
    let strange = ["PUT", "POST", "COPY", "DELETE"].map(|kind| kinds.contains_key(kind));
    assert_eq!(strange, [false; 4], "nothing is written to the bucket");
    // Nothing was staged: the project has the two sheets, and an empty directory.
    let mut find = lender.place.program("find");
    let left = done(find.args([".", "-path", "./.forebay", "-prune", "-o", "-print"]));
    let mut left: Vec<_> = left.text().lines().map(str::to_owned).collect();
    left.sort();
    assert_eq!(left, [".", "./here.csv", "./in", "./sheet.csv"]);
    // What is in nothing that is attached stays, and is told.
    std::fs::write(lender.place.project.join("odd.tsv"), "A\ts3://lab/runs/x\n").expect("written");
    let end = done(&mut lender.forebay(&["attach", ".", "--rewrite", "odd.tsv"]));
    assert_eq!(end.code(1).text(), "A\ts3://lab/runs/x\n");
    end.says("1 of 1 entries lie in no bucket that is attached, and stay: s3://lab/runs/x");
}

/// As md5sum prints it.
fn md5(bytes: &[u8]) -> String {
    use std::io::Write;
    let mut sum = Command::new("md5sum");
    let mut sum = sum.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("md5sum");
    sum.stdin.take().expect("a pipe").write_all(bytes).expect("written");
    String::from_utf8(sum.wait_with_output().expect("summed").stdout).expect("text")
}
