//! Files that rules send to another tier. If these fail, a file is lost between its tier and its
//! home, a program sees a link where it made a file, or a rule does something else than it says.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::place::{FOREBAY, Place, done, wait_until};

/// A place with a tier on another file system, and one on the same.
pub(crate) struct Tiered {
    pub(crate) place: Place,
    pub(crate) far: TempDir,
}

impl Tiered {
    pub(crate) fn with_fuse() -> Option<Tiered> {
        let place = Place::with_fuse()?;
        // Memory: never the file system of the project.
        let far = tempfile::Builder::new().prefix("forebay-far-").tempdir_in("/dev/shm");
        let far = far.expect("/dev/shm is there");
        std::fs::create_dir(place.all.join("near")).expect("made");
        let tiered = Tiered { place, far };
        tiered.site("");
        Some(tiered)
    }

    /// The site, with more keys for the far tier.
    pub(crate) fn site(&self, more: &str) {
        let (far, near) = (self.far.path().display(), self.place.all.join("near"));
        let text = format!(
            "[tier.far]\npath = \"{far}\"\nreach = \"node\"\n{more}\n\
             [tier.near]\npath = \"{}\"\nreach = \"node\"\n",
            near.display()
        );
        std::fs::write(self.place.all.join("site.toml"), text).expect("written");
    }

    pub(crate) fn rules(&self, text: &str) {
        std::fs::write(self.place.all.join("rules.toml"), text).expect("written");
    }

    /// A script under these rules.
    pub(crate) fn script(&self, rules: &str, script: &str) -> Command {
        self.rules(rules);
        let options = ["-q", "--site", "../site.toml", "--rules", "../rules.toml"];
        self.place.script(&options, script)
    }

    pub(crate) fn restore(&self) -> Command {
        self.place.forebay(&["restore", "."])
    }

    /// Bodies on a tier, and all else but the deeds of rooms that are there.
    pub(crate) fn bodies(&self, tier: &Path) -> Vec<PathBuf> {
        let is_deed = |path: &Path| {
            let is_named_so = path.extension().is_some_and(|end| end == "volume");
            is_named_so && path.with_extension("").is_dir()
        };
        let mut all = Vec::new();
        let mut dirs = vec![tier.to_owned()];
        while let Some(dir) = dirs.pop() {
            for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
                match entry.file_type().expect("a type").is_dir() {
                    true => dirs.push(entry.path()),
                    false if is_deed(&entry.path()) => {}
                    false => all.push(entry.path()),
                }
            }
        }
        all
    }

    #[track_caller]
    pub(crate) fn all_home(&self) {
        assert_eq!(self.bodies(self.far.path()), Vec::<PathBuf>::new(), "left on the far tier");
        assert_eq!(self.bodies(&self.place.all.join("near")), Vec::<PathBuf>::new());
        self.place.nothing_left();
    }

    fn is_link(&self, name: &str) -> bool {
        std::fs::symlink_metadata(self.place.project.join(name)).expect(name).is_symlink()
    }
}

const SAM: &str = "[[rule]]\nmatch = \"*.sam\"\nhome = \"far\"\n";

#[test]
fn a_file_lives_on_its_tier_and_comes_home() {
    let Some(tiered) = Tiered::with_fuse() else { return };
    let script = "mkdir out && echo reads > out/a.sam && chmod 640 out/a.sam && echo in > out/b.txt
        touch -d '2020-02-02 02:02:02.123456789 UTC' out/a.sam
        stat -c '%F %s %h %a' out/a.sam; ls -l out | cut -c1 | tr -d '\\n'; echo
        find . -path ./.forebay -prune -o -type f -print | sort; cat out/a.sam; readlink out/a.sam || echo no link
        true";
    let end = done(&mut tiered.script(SAM, script));
    let inside = "regular file 6 1 640\nt--\n./out/a.sam\n./out/b.txt\nreads\nno link\n";
    assert_eq!(end.code(0).text(), inside, "{}", end.stderr);
    end.says("1 file (6 B) written back");
    assert!(!tiered.is_link("out/a.sam") && !tiered.is_link("out/b.txt"));
    assert_eq!(tiered.place.read("out/a.sam"), "reads\n");
    let meta = std::fs::metadata(tiered.place.project.join("out/a.sam")).expect("there");
    assert_eq!((meta.mtime(), meta.mtime_nsec()), (1_580_608_922, 123_456_789));
    assert_eq!(meta.permissions().mode() & 0o7777, 0o640);
    let record = tiered.place.record();
    assert_eq!(record.number("SELECT count(*) FROM trees WHERE tier = 'far'"), 1);
    let homes = "SELECT count(*) FROM files f JOIN trees t ON f.home = t.tree
                 WHERE t.tier = 'far' AND f.path = 'out/a.sam'";
    assert_eq!(record.number(homes), 1);
    assert_eq!(record.number("SELECT count(*) FROM files WHERE home IS NOT NULL"), 1);
    tiered.all_home();
}

#[test]
fn outside_a_link_leads_to_the_bytes_while_the_run_lasts() {
    let Some(tiered) = Tiered::with_fuse() else { return };
    let script = "echo reads > a.sam; echo > ../go; while [ ! -e ../on ]; do sleep 0.01; done";
    let mut run = tiered.script(SAM, script).spawn().expect("started");
    tiered.place.wait_for("go");
    assert!(tiered.is_link("a.sam"));
    assert_eq!(tiered.place.read("a.sam"), "reads\n", "through the link");
    assert_eq!(tiered.bodies(tiered.far.path()).len(), 1);
    done(&mut tiered.restore()).code(1).says("another run has files of this directory on tiers");
    std::fs::write(tiered.place.all.join("on"), "").expect("written");
    assert!(run.wait().expect("ends").success());
    assert!(!tiered.is_link("a.sam"));
    tiered.all_home();
}

#[test]
fn ordered_syncs_answer_and_lose_nothing() {
    let Some(tiered) = Tiered::with_fuse() else { return };
    let rules = "[[rule]]\nmatch = \"*.sam*\"\nhome = \"near\"\nfsync = \"ordered\"\n\
        [[rule]]\nmatch = \"p/**\"\nhome = \"near\"\nlayout = \"packed\"\nfsync = \"ordered\"\n\
        after = \"keep\"\n";
    // Made, synced, renamed over the last one and linked, again and again; small and large.
    let script = "mkdir p; for i in $(seq 40); do for f in a.sam p/a; do
            dd if=/dev/zero of=$f.tmp bs=1k count=$((i * 8)) conv=fsync status=none
            echo $i | dd of=$f.tmp conv=notrunc,fsync oflag=append status=none
            mv $f.tmp $f; mv p q; mv q p; rm -f $f.link; ln $f $f.link; sync $f; done; done
        stat -c '%s %h' a.sam p/a; tail -c 3 a.sam; tail -c 3 p/a.link";
    let end = done(&mut tiered.script(rules, script));
    assert_eq!(end.code(0).text(), "327683 2\n327683 2\n40\n40\n", "{}", end.stderr);
    end.says("1 file (320 KiB) written back, 1 file (320 KiB) kept");
    assert!(!end.stderr.contains("power failure"), "{}", end.stderr);
    done(&mut tiered.restore()).code(0);
    tiered.all_home();
}

#[test]
fn names_move_and_bytes_do_not() {
    let Some(tiered) = Tiered::with_fuse() else { return };
    let script = "
        echo one > a.sam; echo two > b.sam; echo plain > c.txt; mkdir d
        ino() { stat -c %i $1; }
        before=$(ino a.sam); mv a.sam d/renamed; [ $before = $(ino d/renamed) ] || echo moved
        mv b.sam d/renamed; cat d/renamed
        mv c.txt d/renamed; cat d/renamed
        echo three > e.sam; ln e.sam f.sam; stat -c %h e.sam; rm e.sam; stat -c '%h %F' f.sam
        exec 3< f.sam; rm f.sam; cat <&3; stat -Lc %h /dev/fd/3
        echo four > g.sam; mv g.sam d; mv d h; cat h/g.sam; ls h
        echo x > i.sam; ln -s i.sam j; cat j; echo more >> i.sam; : > j; cat i.sam; ls";
    let end = done(&mut tiered.script(SAM, script));
    let inside = "two\nplain\n2\n1 regular file\nthree\n0\nfour\ng.sam\nrenamed\nx\nh\ni.sam\nj\n";
    assert_eq!(end.code(0).text(), inside, "{}", end.stderr);
    assert_eq!(tiered.place.read("h/g.sam"), "four\n");
    assert_eq!(tiered.place.read("h/renamed"), "plain\n");
    assert!(!tiered.is_link("i.sam") && tiered.is_link("j"), "a link of the user's stays one");
    tiered.all_home();
}

#[test]
fn hard_links_come_home_together() {
    let Some(tiered) = Tiered::with_fuse() else { return };
    let end = done(&mut tiered.script(SAM, "echo x > a.sam; mkdir d; ln a.sam d/b; ln a.sam c"));
    end.code(0).says("1 file (2 B) written back");
    let ino = |name| std::fs::symlink_metadata(tiered.place.project.join(name)).expect(name).ino();
    assert_eq!(ino("a.sam"), ino("d/b"));
    assert_eq!(ino("a.sam"), ino("c"));
    assert_eq!(tiered.place.read("d/b"), "x\n");
    tiered.all_home();
}

#[test]
fn attributes_and_holes_come_home() {
    let Some(tiered) = Tiered::with_fuse() else { return };
    let script = "truncate -s 40M a.sam; printf end >> a.sam; setfattr -n user.note -v kept a.sam
        getfattr --only-values -n user.note a.sam; du -k a.sam | cut -f1 | awk '{print ($1 < 1000)}'";
    let end = done(&mut tiered.script(SAM, script));
    assert_eq!(end.code(0).text(), "kept1\n", "{}", end.stderr);
    let path = tiered.place.project.join("a.sam");
    let meta = std::fs::metadata(&path).expect("there");
    assert_eq!(meta.len(), (40 << 20) + 3);
    assert!(meta.blocks() < 2000, "the hole was filled: {} blocks", meta.blocks());
    let mut value = [0; 16];
    let length = rustix::fs::getxattr(&path, "user.note", &mut value).expect("the attribute");
    assert_eq!(&value[..length], b"kept");
    tiered.all_home();
}

#[test]
fn each_rule_is_kept() {
    let Some(tiered) = Tiered::with_fuse() else { return };
    let rules = "[[rule]]\nmatch = \"keep/**\"\nhome = \"far\"\nafter = \"keep\"\n\
        [[rule]]\nmatch = \"*.tmp\"\nhome = \"near\"\nafter = \"discard\"\n\
        [[rule]]\nmatch = \"*.sam\"\nhome = \"near\"\n";
    let script = "mkdir keep; echo k > keep/a; echo t > x.tmp; echo s > a.sam; echo h > here
        echo moved > y.tmp; mv y.tmp result";
    let end = done(&mut tiered.script(rules, script));
    end.code(0).says("2 files (8 B) written back, 1 file (2 B) discarded, 1 file (2 B) kept");
    assert!(tiered.is_link("keep/a") && !tiered.is_link("a.sam") && !tiered.is_link("result"));
    assert_eq!(tiered.place.read("keep/a"), "k\n");
    assert_eq!(tiered.place.read("result"), "moved\n", "it has another name now: another rule");
    assert!(!tiered.place.project.join("x.tmp").exists());
    // A run without rules shows the kept file as a file, and leaves it where it is.
    let plain = "stat -c %F keep/a; cat keep/a; echo more >> keep/a";
    let end = done(&mut tiered.place.script(&["-q"], plain));
    assert_eq!(end.code(0).text(), "regular file\nk\n", "{}", end.stderr);
    assert!(tiered.is_link("keep/a"));
    done(&mut tiered.restore()).code(0).says("1 file (7 B) written back");
    assert!(!tiered.is_link("keep/a"));
    assert_eq!(tiered.place.read("keep/a"), "k\nmore\n");
    done(&mut tiered.restore()).code(0).says("no file of . is on another tier");
    tiered.all_home();
}

#[test]
fn a_kill_loses_nothing() {
    let Some(tiered) = Tiered::with_fuse() else { return };
    let script = "echo told > a.sam; echo > ../go; while :; do sleep 1; done";
    let mut run = tiered.script(SAM, script).spawn().expect("started");
    tiered.place.wait_for("go");
    for (pid, _) in crate::processes::users_of(&tiered.place.all) {
        let pid = rustix::process::Pid::from_raw(pid).expect("a number");
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
    let _ = run.wait();
    wait_until("the mount is gone", || {
        let name = tiered.place.project.join("a.sam");
        std::fs::symlink_metadata(name).is_ok_and(|meta| meta.is_symlink())
    });
    assert_eq!(tiered.place.read("a.sam"), "told\n", "through the link");
    // The next run shows it as it was, and takes it home.
    let end = done(&mut tiered.script(SAM, "stat -c %F a.sam; echo more >> a.sam"));
    assert_eq!(end.code(0).text(), "regular file\n");
    end.says("1 file (10 B) written back");
    assert_eq!(tiered.place.read("a.sam"), "told\nmore\n");
    assert!(!tiered.is_link("a.sam"));
}

#[test]
fn a_full_tier_spills_or_refuses() {
    let Some(tiered) = Tiered::with_fuse() else { return };
    tiered.site("capacity = \"1 MiB\"");
    // How much is there is looked at now and then: until then files still go to the tier.
    let script = format!(
        "head -c 2000000 /dev/zero > a.sam; tries=0
        until echo b > b.sam; [ $(find {} -type f -name '*b.sam*' | wc -l) = 0 ]; do
            rm b.sam; tries=$((tries + 1)); [ $tries -lt 3000 ] || exit 9; sleep 0.1
        done; cat b.sam",
        tiered.far.path().display()
    );
    let end = done(&mut tiered.script(SAM, &script));
    assert_eq!(end.code(0).text(), "b\n");
    end.says("1 file stayed in place against the rules: tier far is full");
    end.says("1 file (1.9 MiB) written back");
    tiered.all_home();
    let rule = format!("{SAM}full = \"fail\"\n");
    let script = "rm -f *; head -c 2000000 /dev/zero > a.sam; tries=0
        while (echo b > b.sam); do
            rm b.sam; tries=$((tries + 1)); [ $tries -lt 3000 ] || exit 9; sleep 0.1
        done; exit 2";
    let end = done(&mut tiered.script(&rule, script));
    end.code(2).says("No space left on device");
    tiered.all_home();
}

#[test]
fn who_can_not_come_home_stays_reachable() {
    let Some(tiered) = Tiered::with_fuse().filter(|_| Place::with_root().is_some()) else { return };
    // The project is on a file system of 1 MiB; the tier takes more.
    let project = tiered.place.project.display().to_string();
    let prepare = format!("mount -t tmpfs -o size=1m tmpfs {project}; cd {project}");
    let script = "head -c 3000000 /dev/zero > big.sam; echo small > small.sam";
    let run = tiered.script(SAM, script);
    let check = format!(
        "set -e; {prepare}
        code=0; \"$@\" || code=$?
        echo code $code; stat -c '%N' big.sam | cut -d' ' -f2; stat -Lc %s big.sam; cat small.sam
        mount -o remount,size=8m {project}
        {FOREBAY} restore .; stat -c '%F %s' big.sam; ls -A"
    );
    let mut shell = tiered.place.program("unshare");
    shell.args(["-m", "sh", "-c", &check, "sh"]).arg(run.get_program()).args(run.get_args());
    let end = done(&mut shell);
    let seen = "code 121\n->\n3000000\nsmall\nregular file 3000000\nbig.sam\nsmall.sam\n";
    assert_eq!(end.code(0).text(), seen, "{}", end.stderr);
    end.says("1 file could not be written back (first: big.sam: No space left on device");
    tiered.all_home();
}

#[test]
fn a_tier_that_is_away_comes_back() {
    let Some(tiered) = Tiered::with_fuse() else { return };
    let keep = "[[rule]]\nmatch = \"*.sam\"\nhome = \"near\"\nafter = \"keep\"\n";
    done(&mut tiered.script(keep, "echo x > a.sam")).code(0).says("1 file (2 B) kept");
    let (near, away) = (tiered.place.all.join("near"), tiered.place.all.join("away"));
    std::fs::rename(&near, &away).expect("moved");
    let end = done(&mut tiered.place.script(&["-q"], "cat a.sam; echo b > b.txt"));
    end.code(0).says("where tier near has files of this directory, is not there");
    end.says("a.sam: No such file");
    let end = done(&mut tiered.restore());
    end.code(121).says("1 file could not be written back (first: a.sam: its tier is not there)");
    std::fs::rename(&away, &near).expect("moved back");
    done(&mut tiered.restore()).code(0).says("1 file (2 B) written back");
    assert_eq!(tiered.place.read("a.sam"), "x\n");
    tiered.all_home();
}

#[test]
fn one_run_at_a_time_places_files() {
    let Some(tiered) = Tiered::with_fuse() else { return };
    let script = "echo one > one.sam; echo > ../go; while [ ! -e ../on ]; do sleep 0.01; done";
    let mut first = tiered.script(SAM, script).spawn().expect("started");
    tiered.place.wait_for("go");
    let second = tiered.place.all.join("second.run").display().to_string();
    let start = ["run", "-q", "-o", &second];
    let rules = ["--site", "../site.toml", "--rules", "../rules.toml", "--", "echo", "ran"];
    let end = done(tiered.place.forebay(&start).args(rules));
    end.code(125).says("another run has files of this directory on tiers").says("wait until");
    // Without rules it works beside the first, which has the volume: links are links then.
    let words = ["--", "sh", "-c", "cat one.sam; stat -c %F one.sam; echo two > two.sam"];
    let end = done(tiered.place.forebay(&start).args(words));
    assert_eq!(end.code(0).text(), "one\nsymbolic link\n", "{}", end.stderr);
    assert!(!tiered.is_link("two.sam"));
    std::fs::write(tiered.place.all.join("on"), "").expect("written");
    assert!(first.wait().expect("ends").success());
    assert!(!tiered.is_link("one.sam"));
    tiered.all_home();
}

#[test]
fn bodies_of_one_name_on_two_tiers_stay_apart() {
    let Some(tiered) = Tiered::with_fuse() else { return };
    let both = format!("[[rule]]\nmatch = \"tmp/**\"\nhome = \"near\"\n{SAM}");
    let script = "mkdir tmp; echo A > tmp/a.sam; echo B > a.sam; mv tmp/a.sam b.sam";
    done(&mut tiered.script(&both, script)).code(0).says("2 files (4 B) written back");
    assert_eq!(
        (tiered.place.read("a.sam"), tiered.place.read("b.sam")),
        ("B\n".into(), "A\n".into())
    );
    tiered.all_home();
}

#[test]
fn a_link_that_somebody_copied_is_a_file_of_its_own_at_home() {
    let Some(tiered) = Tiered::with_fuse() else { return };
    let script = "echo x > a.sam; echo > ../go; while [ ! -e ../on ]; do sleep 0.01; done";
    let mut run = tiered.script(SAM, script).spawn().expect("started");
    tiered.place.wait_for("go");
    let project = &tiered.place.project;
    let mut copy = Command::new("cp");
    copy.arg("-a").arg(project.join("a.sam")).arg(project.join("copy"));
    assert!(copy.status().expect("cp is there").success());
    std::fs::write(tiered.place.all.join("on"), "").expect("written");
    assert!(run.wait().expect("ends").success());
    for name in ["a.sam", "copy"] {
        assert!(!tiered.is_link(name) && tiered.place.read(name) == "x\n", "{name}");
    }
    tiered.all_home();
}

#[test]
fn tasks_on_other_machines_stop_the_run_first() {
    let Some(tiered) = Tiered::with_fuse() else { return };
    std::fs::write(tiered.place.project.join("nextflow.config"), "process.executor = 'slurm'\n")
        .expect("written");
    tiered.rules(SAM);
    let words = ["run", "--site", "../site.toml", "--rules", "../rules.toml", "--"];
    let mut run = tiered.place.forebay(&words);
    let end = done(run.args(["nextflow", "run", "main.nf"]));
    end.code(125).says("nextflow with executor slurm in its configuration sends tasks to other");
    end.says("tier far is on this node alone").says("reach = \"shared\"");
    let site = tiered.place.all.join("site.toml");
    let shared = std::fs::read_to_string(&site).expect("read").replace("\"node\"", "\"shared\"");
    std::fs::write(&site, shared).expect("written");
    std::fs::write(tiered.place.project.join("nextflow"), "#!/bin/sh\necho \"ran $*\"\n")
        .expect("written");
    let end = done(tiered.place.forebay(&words).args(["sh", "./nextflow", "run", "main.nf"]));
    assert_eq!(end.code(0).text(), "ran run main.nf\n", "all nodes reach the tier now");
    tiered.place.nobody_left();
}

#[test]
fn what_is_wrong_is_said_before_anything_runs() {
    let Some(tiered) = Tiered::with_fuse() else { return };
    let typo = "[[rule]]\nmatch = \"*.sam\"\nhome = \"fra\"\n";
    let end = done(&mut tiered.script(typo, "echo ran"));
    end.code(125).says("../rules.toml:3:8: ").says("did you mean \"far\"?");
    assert_eq!(end.text(), "");
    tiered.rules(SAM);
    let words = ["run", "--rules", "../rules.toml", "--", "echo", "ran"];
    let mut homeless = tiered.place.forebay(&words);
    homeless.env("HOME", &tiered.place.all).env_remove("XDG_CONFIG_HOME");
    done(&mut homeless).code(125).says("no site says where they are").says("--site FILE");
    let words = ["run", "--site", "../site.toml", "--", "echo", "ran"];
    done(&mut tiered.place.forebay(&words)).code(125).says("a site without rules");
    let words = ["run", "--site", "../no.toml", "--rules", "../rules.toml", "--", "echo"];
    done(&mut tiered.place.forebay(&words)).code(125).says("../no.toml can't be read");
    let gone = std::fs::read_to_string(tiered.place.all.join("site.toml")).expect("read");
    let far = tiered.far.path().display().to_string();
    let write = |text: &str| {
        std::fs::write(tiered.place.all.join("site.toml"), text).expect("written");
    };
    write(&gone.replace(&far, "/nowhere/at/all"));
    let end = done(&mut tiered.script(SAM, "echo ran"));
    end.code(125).says("finding tier /nowhere/at/all: No such file").says("make the directory");
    let inner = tiered.place.project.join("inner");
    std::fs::create_dir(&inner).expect("made");
    write(&gone.replace(&far, &inner.display().to_string()));
    let end = done(&mut tiered.script(SAM, "echo ran"));
    end.code(125).says("it lies below the managed directory");
    std::fs::create_dir_all(tiered.place.project.join(".forebay")).expect("made");
    let book = tiered.place.project.join(".forebay/volume.json");
    std::fs::write(&book, "{\"format\": 99, \"volume\": \"x\", \"rooms\": []}").expect("written");
    let end = done(&mut tiered.script(SAM, "echo ran"));
    end.code(125).says("format 99 is newer than this program's 2");
    done(&mut tiered.restore()).code(1).says("format 99 is newer");
    assert!(book.exists());
}

#[test]
fn a_directory_whose_name_is_no_text_gets_its_files_back() {
    use std::os::unix::ffi::OsStrExt;
    let Some(tiered) = Tiered::with_fuse() else { return };
    let name = std::ffi::OsStr::from_bytes(b"b\xffd");
    let directory = tiered.place.all.join(name);
    std::fs::create_dir(&directory).expect("made");
    let mut run = tiered.script(SAM, "echo x > a.sam");
    let end = done(run.current_dir(&directory));
    end.code(0).says("1 file (2 B) written back");
    assert_eq!(std::fs::read(directory.join("a.sam")).expect("there"), b"x\n");
    tiered.all_home();
}

/// A directory that somebody sent, with a book that calls this user's own directories rooms.
#[test]
fn a_book_from_elsewhere_moves_and_removes_no_file() {
    let Some(tiered) = Tiered::with_fuse() else { return };
    let user = rustix::process::geteuid().as_raw();
    let data = tiered.place.all.join("data");
    std::fs::create_dir(&data).expect("made");
    std::fs::set_permissions(&tiered.place.all, PermissionsExt::from_mode(0o700)).expect("set");
    for name in ["1.bam", "copy.of-my-thesis", "old.results"] {
        std::fs::write(data.join(name), "precious").expect("written");
    }
    // And the room of another volume of this user's, which has a file.
    let other = tiered.place.all.join("other");
    std::fs::create_dir(&other).expect("made");
    let keep = SAM.to_owned() + "after = \"keep\"\n";
    let mut run = tiered.script(&keep, "echo theirs > a.sam");
    done(run.current_dir(&other)).code(0);
    let body = std::fs::read_link(other.join("a.sam")).expect("a link");
    let room = body.parent().expect("a room").display().to_string();
    assert!(room.contains(&format!("forebay-{user}/")), "{room}");

    let own = tiered.place.project.join(".forebay");
    std::fs::create_dir_all(&own).expect("made");
    let (book, rooms) = (own.join("volume.json"), [data.display().to_string(), room]);
    let line = |path: &String| format!("{{\"tier\": \"far\", \"path\": \"{path}\"}}");
    let text = rooms.each_ref().map(line).join(", ");
    let text = format!("{{\"format\": 1, \"rooms\": [{text}]}}");
    std::fs::write(&book, &text).expect("written");
    std::os::unix::fs::symlink(data.join("1.bam"), tiered.place.project.join("input.bam"))
        .expect("linked");
    std::os::unix::fs::symlink(&body, tiered.place.project.join("taken.sam")).expect("linked");

    let end = done(&mut tiered.place.forebay(&["run", "-q", "--", "true"]));
    end.code(0).says("nothing in it is touched");
    done(&mut tiered.script(SAM, "echo x > b.sam")).code(0);
    let end = done(&mut tiered.place.forebay(&["check", "."]));
    end.code(1).says("no directory that Forebay makes is called so").says("it has files of");
    done(&mut tiered.restore()).says("nothing in it is touched");

    for name in ["1.bam", "copy.of-my-thesis", "old.results"] {
        assert_eq!(std::fs::read_to_string(data.join(name)).expect(name), "precious");
    }
    assert_eq!(std::fs::read_to_string(&body).expect("where it was"), "theirs\n");
    for name in ["input.bam", "taken.sam"] {
        assert!(tiered.is_link(name), "{name}");
    }
    assert!(!tiered.is_link("b.sam"), "the volume's own files come home");
    // Whoever the room is of still finds it.
    done(tiered.restore().current_dir(&other)).code(0);
    assert!(std::fs::symlink_metadata(other.join("a.sam")).expect("there").is_file());
}
