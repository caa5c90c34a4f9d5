//! Files in place that are read from copies on a faster tier. If these fail, somebody reads bytes
//! that the file no longer has, or may not have; a tier holds more than it may; copies stay behind.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::place::{Done, PATIENCE, USER, done, finish, wait_until};
use crate::tiers::Tiered;

const FASTA: &str = "[[rule]]\nmatch = \"*.fa\"\nhome = \"in-place\"\ncache = \"far\"\n";

/// A place with a cache, files to be read, and words for scripts.
struct Cached {
    tiered: Tiered,
}

impl Cached {
    fn with_fuse() -> Option<Cached> {
        Tiered::with_fuse().map(|tiered| Cached { tiered })
    }

    /// A file of so many bytes, different from those of other names, changed a while ago.
    fn file(&self, name: &str, bytes: usize) -> Vec<u8> {
        let start = name.bytes().map(u64::from).sum::<u64>() | 1;
        let next = |x: &mut u64| {
            *x ^= *x << 13;
            *x ^= *x >> 7;
            *x ^= *x << 17;
            Some(*x as u8)
        };
        let mut seed = start;
        let content: Vec<u8> = std::iter::from_fn(|| next(&mut seed)).take(bytes).collect();
        std::fs::write(self.tiered.place.project.join(name), &content).expect("written");
        content
    }

    /// A script that can wait for so many copies (`copied N`), one of them with this text
    /// (`copied N TEXT`), list them (`copies`), and wait for this test (`pause`).
    fn script(&self, rules: &str, script: &str) -> Command {
        let words = format!(
            "copies() {{ ls {far}/*/* | sed -n 's/^copy[.][0-9a-f]*[.]//p'; }}
            holds() {{ [ -z \"$1\" ] || cat {far}/*/*/copy.* 2> /dev/null | grep -q \"$1\"; }}
            copied() {{
                tries=0
                until [ $(copies | wc -l) = $1 ] && holds \"$2\"; do
                    tries=$((tries + 1))
                    if [ $tries = 9000 ]; then echo \"no $1 copies: $(copies)\"; exit 9; fi
                    sleep 0.01
                done
            }}
            pause() {{ echo > ../at$1; while [ ! -e ../on$1 ]; do sleep 0.01; done; }}\n",
            far = self.tiered.far.path().display()
        );
        self.tiered.script(rules, &(words + script))
    }

    /// Waits for a script at `pause N`, does something, and lets it go on.
    fn meanwhile(&self, number: u32, act: impl FnOnce()) {
        self.tiered.place.wait_for(&format!("at{number}"));
        act();
        std::fs::write(self.tiered.place.all.join(format!("on{number}")), "").expect("written");
    }

    fn start(&self, mut command: Command) -> std::process::Child {
        let pipe = std::process::Stdio::piped;
        command.stdout(pipe()).stderr(pipe()).spawn().expect("started")
    }

    fn end(&self, child: std::process::Child) -> Done {
        finish(child, PATIENCE)
    }

    fn number(&self, sql: &str) -> i64 {
        self.tiered.place.record().number(sql)
    }

    /// Opens that were served by the tier.
    fn opens_on_tier(&self) -> i64 {
        self.number(
            "SELECT coalesce(sum(o.count), 0) FROM ops o JOIN trees t USING (tree)
             WHERE t.tier = 'far' AND o.op = 'open'",
        )
    }

    fn on_tier(&self) -> Vec<std::path::PathBuf> {
        self.tiered.bodies(self.tiered.far.path())
    }

    /// All bytes on the tier, as its file system counts them.
    fn held(&self) -> u64 {
        use std::os::unix::fs::MetadataExt;
        let size = |path| std::fs::metadata(path).map_or(0, |meta| meta.blocks() * 512);
        self.on_tier().into_iter().map(size).sum()
    }
}

#[test]
fn who_comes_after_the_first_reads_the_copy() {
    let Some(cached) = Cached::with_fuse() else { return };
    let place = &cached.tiered.place;
    let content = cached.file("ref.fa", 3_000_000);
    std::fs::copy("/bin/true", place.project.join("tool.fa")).expect("copied");
    let script = "cmp ref.fa ../same; stat -c '%i %a' ref.fa; ./tool.fa; copied 2
        cmp ref.fa ../same; stat -c '%i %a' ref.fa; ./tool.fa; echo $?; pause 1
        exec 3< ref.fa; stat -Lc %i /dev/fd/3; head -c 4 <&3; exec 3<&-; pause 2; tail -c 4 ref.fa";
    std::fs::write(place.all.join("same"), &content).expect("written");
    let run = cached.start(cached.script(FASTA, script));
    let copy = || {
        let copies = cached.on_tier();
        let ends = |path: &&std::path::PathBuf| path.to_string_lossy().ends_with(".ref.fa");
        copies.iter().find(ends).expect("a copy").clone()
    };
    // Other bytes in the copy show who reads it.
    cached.meanwhile(1, || {
        let mut other = content.clone();
        other[..4].copy_from_slice(b"COPY");
        std::fs::write(copy(), other).expect("written");
    });
    // Somebody takes it away: the file is read from its place.
    cached.meanwhile(2, || std::fs::remove_file(copy()).expect("removed"));
    let end = cached.end(run);
    use std::os::unix::fs::MetadataExt;
    let meta = std::fs::metadata(place.project.join("ref.fa")).expect("there");
    let (inode, shown) = (meta.ino(), format!("{} {:o}", meta.ino(), meta.mode() & 0o777));
    let mut expected = format!("{shown}\n{shown}\n0\n{inode}\nCOPY").into_bytes();
    expected.extend_from_slice(&content[content.len() - 4..]);
    assert_eq!(end.code(0).stdout, expected, "{}", end.stderr);
    end.says("read cache: 3 opens from copies, 3 from their place; 2 files (").says(" copied\n");
    assert_eq!(cached.opens_on_tier(), 3);
    let home = "SELECT count(*) FROM files WHERE path = 'ref.fa' AND home IS NULL";
    assert_eq!(cached.number(home), 1, "it lives in place");
    let summary = done(place.forebay(&["summary"]).arg(&place.run));
    summary.code(0);
    let text = summary.text();
    let row = text.lines().find(|line| line.starts_with("tier far (tmpfs) ")).expect("a row");
    assert_eq!(row.split_whitespace().nth(3), Some("2"), "files: {row}");
    assert_eq!(cached.number("SELECT count(*) FROM opens WHERE copy IS NOT NULL"), 3);
    cached.tiered.all_home();
}

#[test]
fn a_change_from_outside_is_seen_by_the_next_open() {
    let Some(cached) = Cached::with_fuse() else { return };
    let path = cached.tiered.place.project.join("a.fa");
    std::fs::write(&path, "one\n").expect("written");
    let script = "cat a.fa; copied 1; cat a.fa; pause 1; cat a.fa; copied 1 two; cat a.fa; pause 2
        cat a.fa; pause 3; cat a.fa; rm a.fa; cat a.fa 2> /dev/null || echo gone; copied 1";
    let run = cached.start(cached.script(FASTA, script));
    let write = |text| std::fs::write(&path, text).expect("written");
    // The copy of the file that was replaced stays until others need its room.
    // Of the same size, so that only the times tell.
    cached.meanwhile(1, || write("two\n"));
    cached.meanwhile(2, || {
        std::fs::write(path.with_extension("new"), "new\n").expect("written");
        std::fs::rename(path.with_extension("new"), &path).expect("renamed");
    });
    cached.meanwhile(3, || {
        // With the old times put back, as careful tools do.
        let old = std::fs::metadata(&path).and_then(|meta| meta.modified()).expect("a time");
        write("end\n");
        let file = std::fs::File::options().write(true).open(&path).expect("opened");
        file.set_modified(old).expect("set");
    });
    let end = cached.end(run);
    assert_eq!(end.code(0).text(), "one\none\ntwo\ntwo\nnew\nend\ngone\n", "{}", end.stderr);
    cached.tiered.all_home();
}

#[test]
fn who_writes_writes_home_and_is_refused_while_a_copy_is_read() {
    let Some(cached) = Cached::with_fuse() else { return };
    cached.file("a.fa", 8);
    // Readers of the file at home are in nobody's way; the copy is given up before the first write.
    // A file that the run has not written yet is refused to a writer while a copy of it is read.
    let old = cached.file("old.fa", 8);
    let script = "cat old.fa > /dev/null; copied 1; exec 3< old.fa
        (echo no >> old.fa) 2>&1 | grep -o 'Text file busy'
        truncate -s 0 old.fa 2>&1 | grep -o 'Text file busy'
        cat old.fa; mv old.fa new.fa; cat <&3; exec 3<&-; echo three >> new.fa; copied 0";
    let end = done(&mut cached.script(FASTA, script));
    let mut expected = b"Text file busy\nText file busy\n".to_vec();
    expected.extend([&old[..], &old].concat());
    assert_eq!(end.code(0).stdout, expected, "{}", end.stderr);
    let new = std::fs::read(cached.tiered.place.project.join("new.fa")).expect("read");
    assert_eq!(new, [&old[..], b"three\n"].concat());
    // One that it has written is not: its readers follow the writer home.
    let script = "echo one > a.fa; exec 3< a.fa; echo two >> a.fa; cat <&3; exec 3<&-; copied 0
        cat a.fa > /dev/null; copied 1; exec 3< a.fa; echo three >> a.fa; cat <&3; exec 3<&-";
    let end = done(&mut cached.script(FASTA, script));
    assert_eq!(end.code(0).text(), "one\ntwo\none\ntwo\nthree\n", "{}", end.stderr);
    // The kernel tells of a close after it: who writes at once is not refused for that.
    cached.file("c.fa", 1000);
    let script = "for i in 1 2 3 4 5 6; do
            cat c.fa > /dev/null; copied 1; cat c.fa > /dev/null; : >> c.fa; copied 0
        done";
    assert_eq!(done(&mut cached.script(FASTA, script)).code(0).text(), "");
    cached.tiered.all_home();
}

#[test]
fn where_bytes_pass_through_us_readers_follow_the_writer_home() {
    let Some(cached) = Cached::with_fuse() else { return };
    let content = cached.file("a.fa", 100_000);
    let script = "cat a.fa > /dev/null; copied 1; cat a.fa > /dev/null
        exec 3< a.fa; dd bs=1 count=1 <&3 > /dev/null 2>&1; echo one > a.fa; cat a.fa; cat <&3
        copied 0; exec 3<&-";
    let mut command = cached.script(FASTA, script);
    let words: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
    command = cached.tiered.place.forebay(&["run", "--trace", "every-read"]);
    command.args(&words[1..]);
    let end = done(&mut command);
    assert_eq!(end.code(0).text(), "one\nne\n", "{}", end.stderr);
    let read = "SELECT sum(o.bytes) FROM ops o JOIN trees t USING (tree)
                WHERE o.op = 'read' AND t.tier = 'far'";
    let read = cached.number(read);
    assert!(read >= content.len() as i64, "{read} bytes were read from the copy");
    cached.tiered.all_home();
}

#[test]
fn copies_stay_within_the_capacity_and_the_oldest_go() {
    let Some(cached) = Cached::with_fuse() else { return };
    cached.tiered.site("capacity = \"1 MiB\"");
    for name in ["a.fa", "b.fa", "c.fa", "d.fa"] {
        cached.file(name, 300_000);
    }
    let content = cached.file("large.fa", 2_000_000);
    // `b` was opened longest ago when `d` needs room, but is read: `a` goes. Then `b` does.
    let script = "read_it() { cat $1.fa > /dev/null; }
        gone() { for try in $(seq 9000); do copies | grep -q $1.fa || return 0; sleep 0.01; done; }
        list() { copies | sort | tr '\\n' ' '; }
        read_it b; copied 1; read_it a; copied 2; read_it c; copied 3
        exec 3< b.fa; read_it a; read_it c; read_it d; gone a; copied 3; list
        read_it large; sleep 0.2; list; cmp b.fa - <&3; exec 3<&-
        for try in $(seq 9000); do read_it a; copies | grep -q a.fa && break; sleep 0.01; done
        gone b; copied 3; list
        for i in 1 2 3; do for x in a b c d large; do read_it $x; sleep 0.02; done; done";
    let mut run = cached.start(cached.script(FASTA, script));
    let mut most = 0;
    while run.try_wait().expect("a child").is_none() {
        most = most.max(cached.held());
    }
    let end = cached.end(run);
    let lists = "b.fa c.fa d.fa b.fa c.fa d.fa a.fa c.fa d.fa ";
    assert_eq!(end.code(0).text(), lists, "{}", end.stderr);
    assert!(most > 900_000, "copies were seen: {most} bytes");
    assert!(most <= 1 << 20, "{most} bytes were on the tier");
    end.says("large.fa is read from its place: tier far has no room for a copy");
    assert_eq!(std::fs::read(cached.tiered.place.project.join("large.fa")).expect("read"), content);
    cached.tiered.all_home();
}

#[test]
fn files_that_live_on_the_tier_come_before_copies() {
    let Some(cached) = Cached::with_fuse() else { return };
    cached.tiered.site("capacity = \"1 MiB\"");
    for name in ["a.fa", "b.fa", "c.fa"] {
        cached.file(name, 300_000);
    }
    let rules = format!("{FASTA}[[rule]]\nmatch = \"*.sam\"\nhome = \"far\"\n");
    let script = "cat a.fa > /dev/null; copied 1; cat b.fa > /dev/null; copied 2
        cat c.fa > /dev/null; copied 3; head -c 600000 /dev/zero > x.sam; copied 1; copies
        cat c.fa > /dev/null; rm x.sam";
    let end = done(&mut cached.script(&rules, script));
    assert_eq!(end.code(0).text(), "c.fa\n", "{}", end.stderr);
    end.says("read cache: 1 open from copies, 3 from their place");
    cached.tiered.all_home();
}

#[test]
fn at_the_start_all_is_copied_before_the_command() {
    let Some(cached) = Cached::with_fuse() else { return };
    cached.tiered.site("capacity = \"1 MiB\"");
    let place = &cached.tiered.place;
    std::fs::create_dir_all(place.project.join("models/deep")).expect("made");
    for name in ["a.fa", "b.txt", "models/x", "models/deep/y"] {
        cached.file(name, 100_000);
    }
    std::fs::hard_link(place.project.join("models/x"), place.project.join("models/again"))
        .expect("linked");
    std::os::unix::fs::symlink("../b.txt", place.project.join("models/link")).expect("linked");
    cached.file("models/z-large", 900_000);
    let rules = "[[rule]]\nmatch = [\"*.fa\", \"models/**\"]\nhome = \"in-place\"\ncache = \"far\"\n\
        ahead = \"at-start\"\n";
    // Of a file's two names, the copy has that of the thread that came first.
    let script = "copies | sed 's/^x$/again/' | sort | tr '\\n' ' '; cat a.fa b.txt models/deep/y models/again | wc -c
        echo new > models/new; cat models/new; copied 4; cat models/new";
    let end = done(&mut cached.script(rules, script));
    assert_eq!(end.code(0).text(), "a.fa again y 400000\nnew\nnew\n", "{}", end.stderr);
    end.says(
        "1 file not copied to the cache before the start (first: z-large is read from its place: ",
    );
    end.says("tier far has no room for a copy");
    end.says("read cache: 4 opens from copies, 1 from their place; 4 files (293 KiB) copied");
    cached.tiered.all_home();
    // What was copied for a command that can't be run goes too.
    cached.tiered.rules(rules);
    let words =
        ["run", "--site", "../site.toml", "--rules", "../rules.toml", "--", "no-such-program"];
    done(&mut place.forebay(&words)).code(127);
    cached.tiered.all_home();
}

#[test]
fn a_rule_without_a_cache_is_the_way_past_it() {
    let Some(cached) = Cached::with_fuse() else { return };
    for name in ["a.fa", "new.fa", "b.txt"] {
        cached.file(name, 1000);
    }
    std::fs::write(cached.tiered.place.project.join("empty.fa"), "").expect("written");
    let rules = format!("[[rule]]\nmatch = \"new.*\"\nhome = \"in-place\"\n{FASTA}");
    let script = "for i in 1 2 3; do cat new.fa b.txt empty.fa > /dev/null; sleep 0.1; done
        cat a.fa > /dev/null; copied 1; copies";
    let end = done(&mut cached.script(&rules, script));
    assert_eq!(end.code(0).text(), "a.fa\n", "{}", end.stderr);
    assert_eq!(cached.opens_on_tier(), 0);
    cached.tiered.all_home();
}

#[test]
fn never_ahead_is_after_the_last_close() {
    let Some(cached) = Cached::with_fuse() else { return };
    cached.file("a.fa", 100_000);
    let script = "exec 3< a.fa; cat a.fa > /dev/null; sleep 0.2; copied 0; exec 3<&-; copied 1
        cat a.fa > /dev/null; echo x >> a.fa; sleep 0.2; copied 0";
    let end = done(&mut cached.script(&format!("{FASTA}ahead = \"never\"\n"), script));
    assert_eq!(end.code(0).text(), "", "{}", end.stderr);
    end.says("read cache: 1 open from copies, 2 from their place; 1 file (97.7 KiB) copied");
    cached.tiered.all_home();
}

#[test]
fn who_may_not_read_the_file_may_not_read_its_copy() {
    let Some(cached) = Cached::with_fuse().filter(|_| crate::place::Place::with_root().is_some())
    else {
        return;
    };
    let place = &cached.tiered.place;
    let mode = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("set");
    };
    mode(&place.all, 0o755);
    for (name, bits) in [("secret.fa", 0o600), ("open.fa", 0o644)] {
        cached.file(name, 1000);
        mode(&place.project.join(name), bits);
    }
    let script = format!(
        "as() {{ setpriv --reuid={USER} --regid={USER} --clear-groups \"$@\"; }}
        cat secret.fa open.fa > /dev/null; copied 2
        as cat secret.fa 2>&1 > /dev/null | grep -o 'Permission denied'; as cat open.fa | wc -c
        as sh -c 'cat {0}/forebay-0/*/copy.*' 2> /dev/null || echo closed
        chmod 600 open.fa; as cat open.fa 2>&1 > /dev/null | grep -o 'Permission denied'",
        cached.tiered.far.path().display()
    );
    mode(cached.tiered.far.path(), 0o755);
    // With a mask that closes new files to others, as many sites have it.
    let end = done(&mut place.after("umask 077", &cached.script(FASTA, &script)));
    let expected = "Permission denied\n1000\nclosed\nPermission denied\n";
    assert_eq!(end.code(0).text(), expected, "{}", end.stderr);
    end.says("read cache: 1 open from copies, 2 from their place");
    cached.tiered.all_home();
}

#[test]
fn what_a_kill_leaves_is_removed() {
    let Some(cached) = Cached::with_fuse() else { return };
    cached.file("a.fa", 1000);
    let script = "cat a.fa > /dev/null; copied 1; pause 1";
    for by_restore in [true, false] {
        let mut run = cached.start(cached.script(FASTA, script));
        cached.tiered.place.wait_for("at1");
        crate::processes::kill(crate::processes::daemon(&cached.tiered.place.state));
        cached.meanwhile(1, || ());
        let _ = run.wait();
        assert_eq!(cached.on_tier().len(), 1, "a copy is left");
        if by_restore {
            wait_until("it is restored", || done(&mut cached.tiered.restore()).status.success());
        } else {
            done(&mut cached.script(FASTA, "copied 0")).code(0);
        }
        assert_eq!(cached.on_tier(), Vec::<std::path::PathBuf>::new());
        assert!(!cached.tiered.place.project.join(".forebay/volume.json").exists());
        for name in ["at1", "on1"] {
            std::fs::remove_file(cached.tiered.place.all.join(name)).expect("removed");
        }
    }
    cached.tiered.place.nobody_left();
}

#[test]
fn ordinary_users_read_copies_too() {
    let Some(cached) = Cached::with_fuse().filter(|_| crate::place::Place::with_root().is_some())
    else {
        return;
    };
    let place = &cached.tiered.place;
    cached.file("a.fa", 5000);
    let (user, node) = (USER.to_string(), place.all.join("node"));
    let mut run = place.program("setpriv");
    run.args(["--reuid", &user, "--regid", &user, "--clear-groups", "--"]);
    run.arg(place.give_to_user());
    for path in [cached.tiered.far.path(), &place.all.join("near")] {
        std::os::unix::fs::chown(path, Some(USER), Some(USER)).expect("given");
    }
    // Readers go home with the writer, at once.
    let script =
        "cat a.fa > /dev/null; copied 1; exec 3< a.fa; dd bs=5000 count=1 <&3 2> /dev/null | wc -c
        (cat a.fa; echo more) > new; cat new > a.fa; cat <&3; exec 3<&-; tail -c 5 a.fa";
    std::os::unix::fs::chown(place.project.join("a.fa"), Some(USER), Some(USER)).expect("given");
    run.args(cached.script(FASTA, script).get_args());
    let prepare = format!(
        "mknod -m 666 {node} c 10 229; chmod 666 {node}; mount --bind {node} /dev/fuse",
        node = node.display()
    );
    let end = done(&mut place.apart(&prepare, &run));
    assert_eq!(end.code(0).text(), "5000\nmore\nmore\n", "{}", end.stderr);
    end.says("read cache: 2 opens from copies, 2 from their place");
    let seen = "SELECT count(*) FROM opens WHERE copy IS NOT NULL AND NOT hidden";
    assert_eq!(cached.number(seen), 2);
    assert!(!place.project.join(".forebay/volume.json").exists());
    assert_eq!(cached.on_tier(), Vec::<std::path::PathBuf>::new());
}
