//! Files that rules pack. If these fail, a small file is lost on its way through the pack, comes
//! home as something else than it was, or takes another file's place.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use crate::place::{Place, done, wait_until};
use crate::processes;

pub(crate) const PACK: &str =
    "[[rule]]\nmatch = \"small/**\"\nhome = \"far\"\nlayout = \"packed\"\n";

struct Packed {
    place: Place,
    far: TempDir,
}

impl Packed {
    fn with_fuse() -> Option<Packed> {
        let place = Place::with_fuse()?;
        let far = tempfile::Builder::new().prefix("forebay-far-").tempdir_in("/dev/shm");
        let packed = Packed { place, far: far.expect("/dev/shm is there") };
        packed.site("");
        Some(packed)
    }

    fn site(&self, more: &str) {
        let far = self.far.path().display();
        let other = self.place.all.join("other");
        std::fs::create_dir_all(&other).expect("made");
        let text = format!(
            "[tier.far]\npath = \"{far}\"\nreach = \"node\"\n{more}\n\
             [tier.other]\npath = \"{}\"\nreach = \"node\"\n",
            other.display()
        );
        std::fs::write(self.place.all.join("site.toml"), text).expect("written");
    }

    fn script(&self, rules: &str, script: &str) -> Command {
        std::fs::write(self.place.all.join("rules.toml"), rules).expect("written");
        let options = ["-q", "--site", "../site.toml", "--rules", "../rules.toml"];
        self.place.script(&options, script)
    }

    fn restore(&self) -> Command {
        self.place.forebay(&["restore", "."])
    }

    /// The directory of the pack, if there is one.
    fn folder(&self) -> Option<PathBuf> {
        let mine = std::fs::read_dir(self.far.path()).ok()?.flatten().next()?.path();
        let all = std::fs::read_dir(mine).ok()?.flatten().map(|entry| entry.path());
        all.into_iter().find(|path| path.to_string_lossy().ends_with(".packed"))
    }

    fn exists(&self, name: &str) -> bool {
        std::fs::symlink_metadata(self.place.project.join(name)).is_ok()
    }

    #[track_caller]
    fn all_home(&self) {
        let left: Vec<_> = std::fs::read_dir(self.far.path()).expect("there").flatten().collect();
        assert!(left.is_empty(), "left on the tier: {left:?}");
        self.place.nothing_left();
    }
}

#[test]
fn packed_files_are_files_inside_and_come_home_as_they_were() {
    let Some(packed) = Packed::with_fuse() else { return };
    let script = "mkdir small; for n in 1 2 3; do echo file $n > small/$n; done
        ln small/1 small/hard; mv small/2 small/moved; rm small/3; chmod 640 small/1
        touch -d '2020-02-02 02:02:02.123456789 UTC' small/1; echo more >> small/moved
        head -c 400000 /dev/zero > small/large; ln -s 1 small/link; : > small/empty
        ls small | tr '\\n' ' '; stat -c '%F %s %h %a' small/1; cat small/moved; cat small/link
        rmdir small 2> /dev/null || echo not empty; find . -name .forebay -prune -o -type f -print | wc -l";
    let end = done(&mut packed.script(PACK, script));
    let inside = "1 empty hard large link moved regular file 7 2 640\nfile 2\nmore\nfile 1\n\
                  not empty\n5\n";
    assert_eq!(end.code(0).text(), inside, "{}", end.stderr);
    end.says("4 files (391 KiB) written back");
    assert_eq!(packed.place.read("small/moved"), "file 2\nmore\n");
    assert_eq!(packed.place.read("small/hard"), "file 1\n");
    let meta = |name: &str| std::fs::metadata(packed.place.project.join(name)).expect(name);
    let first = meta("small/1");
    assert_eq!((first.mtime(), first.mtime_nsec()), (1_580_608_922, 123_456_789));
    assert_eq!((first.permissions().mode() & 0o7777, first.nlink()), (0o640, 2));
    assert_eq!(first.ino(), meta("small/hard").ino());
    assert_eq!((meta("small/large").len(), meta("small/empty").len()), (400_000, 0));
    let record = packed.place.record();
    let homes = "SELECT count(*) FROM files f JOIN trees t ON f.home = t.tree
                 WHERE t.tier = 'far' AND f.path = 'small/moved'";
    assert_eq!(record.number(homes), 1);
    packed.all_home();
}

#[test]
fn what_lies_apart_is_packed_but_for_its_bytes() {
    let Some(packed) = Packed::with_fuse() else { return };
    let rules = PACK.replace("\"packed\"", "\"apart\"");
    let script =
        "mkdir small; echo first > small/a; cat small/a; echo more >> small/a; : > small/empty
        head -c 300000 /dev/zero > small/large; mv small/large small/moved; echo x > small/x
        rm small/x; ls small | tr '\\n' ' '; stat -c '%s %h' small/a; exec 3> small/open
        echo written >&3; echo > ../go; while [ ! -e ../on ]; do sleep 0.01; done";
    let run = packed.script(&rules, script).stdout(std::process::Stdio::piped()).spawn();
    let mut run = run.expect("started");
    packed.place.wait_for("go");
    assert!(!packed.exists("small/a"));
    let bodies = std::fs::read_dir(packed.folder().expect("a pack")).expect("there").flatten();
    let sizes = bodies.filter(|file| file.file_name().to_string_lossy().starts_with("work."));
    let mut sizes: Vec<u64> = sizes.filter_map(|file| Some(file.metadata().ok()?.len())).collect();
    // That of the removed file goes when its removal is safe.
    sizes.retain(|size| *size > 2);
    sizes.sort_unstable();
    assert_eq!(sizes, [8, 11, 300_000]);
    processes::kill_users_of(&packed.place.all);
    let _ = run.wait();
    wait_until("the pack is free", || {
        let end = done(&mut packed.restore());
        end.stderr.contains("4 files (293 KiB) written back")
    });
    assert_eq!(packed.place.read("small/a"), "first\nmore\n");
    assert_eq!(packed.place.read("small/open"), "written\n");
    assert_eq!(packed.place.read("small/moved").len(), 300_000);
    assert_eq!(packed.place.read("small/empty"), "");
}

#[test]
fn nothing_of_them_is_in_place_while_the_run_lasts() {
    let Some(packed) = Packed::with_fuse() else { return };
    let script =
        "mkdir small; echo a > small/a; echo > ../go; while [ ! -e ../on ]; do sleep 0.01; done";
    let mut run = packed.script(PACK, script).spawn().expect("started");
    packed.place.wait_for("go");
    assert!(packed.exists("small") && !packed.exists("small/a"));
    std::fs::write(packed.place.all.join("on"), "").expect("written");
    assert!(run.wait().expect("ended").success());
    assert_eq!(packed.place.read("small/a"), "a\n");
}

#[test]
fn kept_ones_are_there_in_the_next_run_and_discarded_ones_go() {
    let Some(packed) = Packed::with_fuse() else { return };
    let rule = |after: &str| format!("{PACK}after = \"{after}\"\n");
    let end = done(&mut packed.script(&rule("keep"), "mkdir small; echo k > small/a"));
    end.code(0).says("1 file (2 B) kept");
    assert!(!packed.exists("small/a"));
    // A run without rules shows them, and may change them.
    let plain = "cat small/a; echo more >> small/a; echo new > small/b; ls small | tr '\\n' ' '";
    let end = done(&mut packed.place.script(&["-q"], plain));
    assert_eq!(end.code(0).text(), "k\na b ", "{}", end.stderr);
    assert!(packed.exists("small/b"), "no rule, so in place");
    // Rules that pack elsewhere would tear the history of the files in two.
    let elsewhere = PACK.replace("far", "other");
    done(&mut packed.script(&elsewhere, "echo never")).code(125).says("`forebay restore` writes");
    done(&mut packed.restore()).code(0).says("1 file (7 B) written back");
    assert_eq!(packed.place.read("small/a"), "k\nmore\n");
    let end = done(&mut packed.script(&rule("discard"), "echo d > small/d; cat small/a"));
    assert_eq!(end.code(0).says("1 file (2 B) discarded").text(), "k\nmore\n");
    assert!(!packed.exists("small/d"));
    packed.all_home();
}

#[test]
fn a_killed_run_loses_nothing_not_even_of_open_files() {
    let Some(packed) = Packed::with_fuse() else { return };
    let script = "mkdir small; echo first > small/first; mv small/first small/second
        exec 3> small/open; echo written >&3; echo > ../go; while :; do sleep 1; done";
    let mut run = packed.script(PACK, script).spawn().expect("started");
    packed.place.wait_for("go");
    for (pid, _) in processes::users_of(&packed.place.all) {
        processes::kill(pid);
    }
    let _ = run.wait();
    wait_until("the pack is free", || {
        let end = done(&mut packed.restore());
        end.stderr.contains("2 files (14 B) written back")
    });
    assert_eq!(packed.place.read("small/second"), "first\n");
    assert_eq!(packed.place.read("small/open"), "written\n");
    assert!(!packed.exists("small/first") && packed.folder().is_none());
}

#[test]
fn a_file_that_somebody_made_meanwhile_keeps_its_place() {
    let Some(packed) = Packed::with_fuse() else { return };
    let script =
        "mkdir small; echo mine > small/a; echo > ../go; while [ ! -e ../on ]; do sleep 0.01; done";
    let mut run = packed.script(PACK, script).spawn().expect("started");
    packed.place.wait_for("go");
    let path = packed.place.project.join("small/a");
    std::fs::write(&path, "theirs").expect("written");
    std::fs::write(packed.place.all.join("on"), "").expect("written");
    assert_eq!(run.wait().expect("ended").code(), Some(121));
    assert_eq!(packed.place.read("small/a"), "theirs");
    done(&mut packed.restore()).code(121).says("another file has its name in place");
    std::fs::rename(&path, path.with_extension("theirs")).expect("moved");
    done(&mut packed.restore()).code(0).says("1 file (5 B) written back");
    assert_eq!(packed.place.read("small/a"), "mine\n");
    packed.all_home();
}

#[test]
fn names_in_place_and_packed_ones_replace_each_other() {
    let Some(packed) = Packed::with_fuse() else { return };
    let prepare = packed.place.project.join("small");
    std::fs::create_dir(&prepare).expect("made");
    std::fs::write(prepare.join("old"), "in place").expect("written");
    let script = "echo packed > small/new; mv small/new small/old; cat small/old; ls small
        echo plain > plain; echo small > small/s; mv plain small/s; cat small/s
        mkdir small/d; mv -T small/s small/d 2> /dev/null || echo no; ls small | tr '\\n' ' '
        mv small elsewhere; cat elsewhere/old; set -C; echo > elsewhere/old 2> /dev/null || echo there";
    let end = done(&mut packed.script(PACK, script));
    let inside = "packed\nold\nplain\nno\nd old s packed\nthere\n";
    assert_eq!(end.code(0).text(), inside, "{}", end.stderr);
    // Its directory has another name now.
    assert_eq!(packed.place.read("elsewhere/old"), "packed\n");
    assert_eq!(packed.place.read("elsewhere/s"), "plain\n");
    packed.all_home();
}

#[test]
fn a_mapping_outlives_the_last_close() {
    let Some(packed) = Packed::with_fuse() else { return };
    let script = r#"mkdir small; python3 -c '
import mmap, os, time
fd = os.open("small/m", os.O_RDWR | os.O_CREAT)
os.write(fd, b"m" * 5000)
kept = mmap.mmap(fd, 5000)
os.close(fd)
for n in range(200):
    with open("small/o", "w") as other: other.write("o" * 5000)
time.sleep(0.1)
kept[:4] = b"late"
print(kept[:6], kept[4990:])
kept.close()
print(open("small/m").read(6))'"#;
    let end = done(&mut packed.script(PACK, script));
    assert_eq!(end.code(0).text(), "b'latemm' b'mmmmmmmmmm'\nlatemm\n", "{}", end.stderr);
    assert!(packed.place.read("small/m").starts_with("latemm"));
    packed.all_home();
}

#[test]
fn a_damaged_log_is_left_as_it_is() {
    let Some(packed) = Packed::with_fuse() else { return };
    let keep = format!("{PACK}after = \"keep\"\n");
    let script = "mkdir small; echo k > small/a; sync small/a; echo l > small/b";
    done(&mut packed.script(&keep, script)).code(0).says("2 files (4 B) kept");
    let log = packed.folder().expect("a pack").join("log");
    let mut bytes = std::fs::read(&log).expect("read");
    bytes[60] ^= 1;
    std::fs::write(&log, &bytes).expect("written");
    let end = done(&mut packed.restore());
    end.code(1).says("its log is damaged at byte");
    assert_eq!(std::fs::read(&log).expect("read"), bytes);
    done(&mut packed.script(PACK, "echo never")).code(125).says("its log is damaged at byte");
    bytes[60] ^= 1;
    std::fs::write(&log, &bytes).expect("written");
    done(&mut packed.restore()).code(0).says("2 files (4 B) written back");
    packed.all_home();
}

#[test]
fn check_finds_what_is_wrong() {
    let Some(packed) = Packed::with_fuse() else { return };
    let rules = "[[rule]]\nmatch = \"small/**\"\nhome = \"far\"\nlayout = \"packed\"\nafter = \"keep\"\n\
                 [[rule]]\nmatch = \"*.sam\"\nhome = \"far\"\nafter = \"keep\"\n";
    let check = |more: &[&str]| done(&mut packed.place.forebay(&[&["check", "."], more].concat()));
    check(&[]).code(0).says("no file of . is on another tier");
    let script = "mkdir small gone; for n in 1 2 3 4 5; do echo $n > small/$n; done; sync small/5
        echo s > a.sam; echo t > b.sam";
    done(&mut packed.script(rules, script)).code(0).says("7 files (14 B) kept");
    check(&[]).code(0).says("files on tiers: 2 (4 B), packed: 5 (10 B)").says("there and whole");
    let body = std::fs::read_link(packed.place.project.join("a.sam")).expect("a link");
    std::fs::remove_file(body).expect("removed");
    std::fs::remove_file(packed.place.project.join("b.sam")).expect("removed");
    let log = packed.folder().expect("a pack").join("log");
    let mut bytes = std::fs::read(&log).expect("read");
    // The bytes of the third file, "3\n", are the only data like that.
    let at = bytes.windows(2).position(|two| two == b"3\n").expect("its bytes");
    bytes[at] = b'x';
    std::fs::write(&log, &bytes).expect("written");
    let end = check(&[]);
    end.code(1).says("a.sam: a link without a body").says("no name leads to it");
    end.says("small/3: its packed bytes are not what was written");
    // Where frames begin.
    bytes[60] ^= 1;
    std::fs::write(&log, &bytes).expect("written");
    check(&[]).code(1).says("its log is damaged at byte").says("`forebay check --repair`");
    check(&["--repair"]).code(1).says("the log was written anew, without").says("packed: ");
    assert_eq!(std::fs::read(log.with_file_name("log.damaged")).expect("kept"), bytes);
    check(&["--repair"]).code(1);
}

/// More of them than the daemon keeps ready: those that nobody uses rest, and wake as they were.
#[test]
fn thousands_of_them_are_no_other_than_a_few() {
    let Some(packed) = Packed::with_fuse() else { return };
    let script =
        "mkdir small; exec 3> small/open; for n in $(seq 9000); do echo $n > small/$n; done
        echo written >&3; echo more >> small/1; mv small/2 small/moved; ln small/3 small/hard
        rm small/4; chmod 600 small/5; echo over > small/new; mv small/new small/6
        exec 4< small/7; rm small/7; cat <&4; mv small elsewhere
        cd elsewhere; cat 1 5 6 hard open; cd ..
        stat -c '%h %a' elsewhere/3 elsewhere/5; ls elsewhere | wc -l
        cat $(seq -f elsewhere/%g 9000) 2> /dev/null | wc -l; test -e elsewhere/2 || echo gone";
    let end = done(&mut packed.script(PACK, script));
    let inside = "7\n1\nmore\n5\nover\n3\nwritten\n2 644\n1 600\n9000\n8998\ngone\n";
    assert_eq!(end.code(0).text(), inside, "{}", end.stderr);
    for (name, text) in [("1", "1\nmore\n"), ("moved", "2\n"), ("hard", "3\n"), ("6", "over\n")] {
        assert_eq!(packed.place.read(&format!("elsewhere/{name}")), text, "{name}");
    }
    assert!(!packed.exists("elsewhere/4") && !packed.exists("elsewhere/7"));
    // One number for one file, whatever happened between two opens, and the path of the last: one
    // was removed, one was replaced, and one has its other name.
    let record = packed.place.record();
    let files = "SELECT count(*) FROM files WHERE path GLOB 'small/[46]'";
    let again = "SELECT count(*) FROM files WHERE path GLOB 'elsewhere/[0-9]*'";
    assert_eq!((record.number(files), record.number(again)), (2, 8996));
    packed.all_home();
}

#[test]
fn a_full_tier_spills_or_refuses() {
    let Some(packed) = Packed::with_fuse() else { return };
    packed.site("capacity = \"64 KiB\"\n");
    let script = "mkdir small; for n in 1 2 3 4 5 6 7 8; do head -c 20000 /dev/zero > small/$n || echo no; done
        ls small | wc -l";
    let end = done(&mut packed.script(PACK, script));
    assert_eq!(end.code(0).text(), "8\n");
    // Four, or one more or less: a close is told after close(2) has returned.
    end.says("files stayed in place against the rules: tier far is full");
    for number in 1..9 {
        let path = packed.place.project.join(format!("small/{number}"));
        assert_eq!(std::fs::metadata(path).expect("there").len(), 20_000);
    }
    let fail = format!("{PACK}full = \"fail\"\n");
    let end =
        done(&mut packed.script(&fail, &script.replace("mkdir small", "rm -r small; mkdir small")));
    assert!(end.text().contains("no\n") && end.stderr.contains("No space left"), "{}", end.stderr);
    packed.all_home();
}

#[test]
fn the_record_knows_packed_files_as_they_were_closed() {
    let Some(packed) = Packed::with_fuse() else { return };
    // What Snakemake notes of an output is named by it: out.bam.
    let rules = "[[rule]]\nmatch = \"**\"\nhome = \"far\"\nlayout = \"packed\"\n";
    let script = "mkdir -p .snakemake/metadata; printf abc > out.bam
        printf '{\"rule\": \"map\", \"incomplete\": false}' > .snakemake/metadata/b3V0LmJhbQ==";
    done(&mut packed.script(rules, script)).code(0);
    let record = packed.place.record();
    let opens = "SELECT count(*) FROM opens JOIN files USING (file) WHERE path = 'out.bam'";
    assert_eq!(record.number(&format!("{opens} AND write AND size_at_close = 3")), 1);
    let notes = "SELECT count(*) FROM notes WHERE engine = 'snakemake' AND subject = 'out.bam'";
    assert_eq!(record.number(notes), 1);
}

/// The kernel tells of no close once the connection is gone, as after the last unmount.
#[test]
fn a_close_that_nobody_told_is_recorded_with_what_the_file_says() {
    let Some(packed) = Packed::with_fuse() else { return };
    let script = "mkdir -p .snakemake/metadata; exec 3> .snakemake/metadata/b3V0LmJhbQ==
        printf '{\"rule\": \"map\", \"incomplete\": false}' >&3
        umount --internal-only --force \"$PWD\" 2> /dev/null; :";
    let rules = "[[rule]]\nmatch = \"**\"\nhome = \"far\"\nlayout = \"packed\"\n";
    packed.script(rules, script).output().expect("run");
    let notes = "SELECT count(*) FROM notes WHERE engine = 'snakemake' AND subject = 'out.bam'";
    assert_eq!(packed.place.record().number(notes), 1);
    packed.all_home();
}

#[test]
fn a_directory_is_never_newer_than_what_was_made_after_its_last_change() {
    let Some(packed) = Packed::with_fuse() else { return };
    // Its time is looked at each time: since Linux 6.13 the next one is then as fine as can be.
    let script = "mkdir -p small/d; for n in $(seq 300); do stat -c %Y small/d > /dev/null; \
                  : > small/d/f$n; : > small/ref$n; \
                  [ ! small/d -nt small/ref$n ] || echo \"$n: $(stat -c %y small/d small/ref$n)\"; done";
    let end = done(&mut packed.script(PACK, script));
    assert_eq!(end.code(0).text(), "");
    packed.place.nobody_left();
}

/// What readers of a packed file see while others write, cut, lock, remove and map it.
const READERS: &str = r#"
import fcntl, mmap, os
def fresh(name, text):
    with open(name, "wb") as f: f.write(text)
    return os.open(name, os.O_RDONLY)
def told(*words): print(*words, flush=True)
a = fresh("small/a", b"0123456789" * 30)
told(os.pread(a, 5, 298), os.pread(a, 20, 0), os.pread(a, 5, 300))
w = os.open("small/a", os.O_WRONLY)
os.pwrite(w, b"written", 3); told(os.pread(a, 12, 0))
os.close(w); told(os.pread(a, 12, 0))
os.truncate("small/a", 5); told(os.read(a, 100), os.fstat(a).st_size)
open("small/a", "ab").write(b"tail"); told(os.pread(a, 100, 0))
os.unlink("small/a"); told(os.pread(a, 100, 0), os.fstat(a).st_nlink)
os.close(a)
b = fresh("small/b", b"b" * 300)
os.truncate("small/b", 100); told(os.fstat(b).st_size, len(os.pread(b, 300, 0)))
os.rename("small/b", "small/c"); os.link("small/c", "small/d"); told(os.pread(b, 4, 96))
fcntl.lockf(b, fcntl.LOCK_SH); fcntl.flock(b, fcntl.LOCK_SH | fcntl.LOCK_NB)
if os.fork() == 0:
    try: fcntl.lockf(os.open("small/c", os.O_RDWR), fcntl.LOCK_EX | fcntl.LOCK_NB); told("taken")
    except OSError: told("locked")
    try: fcntl.flock(os.open("small/c", os.O_RDWR), fcntl.LOCK_EX | fcntl.LOCK_NB); told("taken")
    except OSError: told("locked")
    os._exit(0)
os.wait(); told(len(os.pread(b, 300, 0)))
e = fresh("small/e", b"e" * 300)
told(os.lseek(e, 0, os.SEEK_DATA), os.lseek(e, 0, os.SEEK_HOLE))
m = mmap.mmap(e, 300, prot=mmap.PROT_READ)
with open("small/e", "r+b") as f: f.write(b"other")
told(os.pread(e, 8, 0)); os.fsync(e); os.close(e); told(len(m[:]))
f = fresh("small/f", b"f" * 300)
g = os.open("small/g", os.O_RDWR | os.O_CREAT); told(os.copy_file_range(f, g, 300), os.pread(g, 3, 0))
many = [fresh("small/%d" % n, b"%d" % n * 3000) for n in range(1000)]
told(sum(len(os.pread(r, 20000, 0)) for r in many))
told(sum(os.pread(r, 20000, 0) == b"%d" % n * 3000 for n, r in enumerate(many)))
os.close(fresh("small/empty", b"")); told(os.read(os.open("small/empty", os.O_RDONLY), 9))
"#;

#[test]
fn readers_see_what_writers_do_though_they_read_from_the_log() {
    let Some(packed) = Packed::with_fuse() else { return };
    let program = packed.place.all.join("readers.py");
    std::fs::write(&program, READERS).expect("written");
    let script = "mkdir small; exec python3 ../readers.py";
    let bare = packed.place.all.join("bare");
    std::fs::create_dir(&bare).expect("made");
    let mut without = Command::new("sh");
    let expected = done(without.args(["-c", script]).current_dir(&bare));
    let end = done(&mut packed.script(PACK, script));
    assert_eq!(end.code(0).text(), expected.code(0).text(), "{}", end.stderr);
    packed.all_home();
    let home = |name: &str| std::fs::read(packed.place.project.join(name)).expect(name);
    for name in ["small/d", "small/e", "small/f", "small/999"] {
        assert_eq!(home(name), std::fs::read(bare.join(name)).expect(name), "{name}");
    }
}

#[test]
fn a_directory_shows_changes_of_packed_names_at_once_and_has_their_time_in_the_end() {
    let Some(packed) = Packed::with_fuse() else { return };
    let old = "2001-01-01 UTC";
    let script = format!(
        "mkdir small small/a small/b; : > small/b/f; touch -d '{old}' small/a small/b
        stat -c %Y small/a small/b; : > small/a/f; rm small/b/f; ls -a small/a > /dev/null
        for d in small/a small/b; do [ $(stat -c %Y $d) -gt 1500000000 ] && echo newer; done
        touch -d '{old}' small/b; stat -c %Y small/b"
    );
    let end = done(&mut packed.script(PACK, &script));
    let expected = "978307200\n978307200\nnewer\nnewer\n978307200\n";
    assert_eq!(end.code(0).text(), expected, "{}", end.stderr);
    let time = |name: &str| std::fs::metadata(packed.place.project.join(name)).expect(name).mtime();
    assert!(time("small/a") > 1_500_000_000);
    assert_eq!(time("small/b"), 978_307_200, "what a program sets stays");
    packed.all_home();
}
