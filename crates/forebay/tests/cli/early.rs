//! Packed files that go home while the run lasts. If these fail, somebody sees a file in two places,
//! an old one comes home for a newer one, or one that was removed is there again.

use std::process::Command;

use tempfile::TempDir;

use crate::place::{Place, done, wait_until};
use crate::processes;

const RULES: &str = "[[rule]]\nmatch = \"small/**\"\nhome = \"far\"\nlayout = \"packed\"\n\
                     write_back = \"on-close\"\n[[metadata_cache]]\nmatch = \"**\"\ntimeout = \"1 min\"\n";

struct Early {
    place: Place,
    far: TempDir,
}

impl Early {
    fn with_fuse() -> Option<Early> {
        let place = Place::with_fuse()?;
        let far = tempfile::Builder::new().prefix("forebay-far-").tempdir_in("/dev/shm");
        let far = far.expect("/dev/shm is there");
        let site = format!("[tier.far]\npath = \"{}\"\nreach = \"node\"\n", far.path().display());
        std::fs::write(place.all.join("site.toml"), site).expect("written");
        std::fs::write(place.all.join("rules.toml"), RULES).expect("written");
        Some(Early { place, far })
    }

    fn script(&self, script: &str) -> Command {
        let options = ["-q", "--site", "../site.toml", "--rules", "../rules.toml"];
        self.place.script(&options, script)
    }

    /// Waits until a file is in place.
    #[track_caller]
    fn arrives(&self, name: &str) {
        wait_until("it is in place", || self.place.project.join(name).exists());
    }

    fn go_on(&self) {
        std::fs::write(self.place.all.join("on"), "").expect("written");
    }

    #[track_caller]
    fn all_home(&self) {
        let left: Vec<_> = std::fs::read_dir(self.far.path()).expect("there").flatten().collect();
        assert!(left.is_empty(), "left on the tier: {left:?}");
        self.place.nothing_left();
    }
}

const WAIT: &str = "echo > ../go; while [ ! -e ../on ]; do sleep 0.01; done";

#[test]
fn early_files_are_home_before_the_end_and_nobody_inside_sees_it() {
    let Some(early) = Early::with_fuse() else { return };
    let script = format!(
        "mkdir small; echo one > small/a; head -c 300000 /dev/zero > small/large
         touch -d '2020-02-02 02:02:02 UTC' small; look() {{ stat -c '%i %s %y' small/*; \
         stat -c %y small; ls -U small | wc -l; }}; look > ../before; {WAIT}
         look > ../after; cat small/a"
    );
    let run = early.script(&script).stdout(std::process::Stdio::piped()).spawn().expect("started");
    early.place.wait_for("go");
    early.arrives("small/a");
    assert_eq!(early.place.read("small/a"), "one\n");
    early.go_on();
    let end = run.wait_with_output().expect("ended");
    assert_eq!((end.status.code(), &*end.stdout), (Some(0), &b"one\n"[..]));
    let told = |name| std::fs::read_to_string(early.place.all.join(name)).expect("there");
    assert_eq!(told("before"), told("after"));
    assert!(told("after").contains("2020-02-02") && told("after").ends_with("\n2\n"));
    let small = std::fs::metadata(early.place.project.join("small")).expect("there");
    let modified = std::os::unix::fs::MetadataExt::mtime(&small);
    assert_eq!(modified, 1_580_608_922, "nobody changed it since");
    assert_eq!(early.place.read("small/large").len(), 300_000);
    early.all_home();
}

#[test]
fn what_changes_after_going_home_comes_home_as_it_is_last() {
    let Some(early) = Early::with_fuse() else { return };
    let script = format!(
        "mkdir small small/sub; cd small; for n in same old mode gone from over here x y link; \
         do echo $n > $n; done; cd ..; touch small/done; {WAIT}; cd small
         touch -r old ../../stamp; echo new > old; touch -r ../../stamp old
         chmod 600 mode; rm gone; mv from to; echo last > fresh; mv fresh over; mv here sub/there
         ln link more; mv x y; echo again > gone; ls | tr '\\n' ' '"
    );
    let run = early.script(&script).stdout(std::process::Stdio::piped()).spawn().expect("started");
    early.place.wait_for("go");
    for name in "same old mode gone from over here x y link done".split(' ') {
        early.arrives(&format!("small/{name}"));
    }
    early.go_on();
    let end = run.wait_with_output().expect("ended");
    assert_eq!(end.status.code(), Some(0));
    let inside = String::from_utf8_lossy(&end.stdout).into_owned();
    assert_eq!(inside, "done gone link mode more old over same sub to y ");
    for (name, text) in [
        ("same", "same\n"),
        ("old", "new\n"),
        ("gone", "again\n"),
        ("to", "from\n"),
        ("over", "last\n"),
        ("sub/there", "here\n"),
        ("y", "x\n"),
        ("more", "link\n"),
    ] {
        assert_eq!(early.place.read(&format!("small/{name}")), text, "{name}");
    }
    assert_eq!(early.place.mode(&early.place.project.join("small/mode")), 0o600);
    let names = done(early.place.program("sh").args(["-c", "ls small | tr '\\n' ' '"])).text();
    assert_eq!(names, inside);
    early.all_home();
}

#[test]
fn a_kill_after_going_home_early_loses_nothing() {
    let Some(early) = Early::with_fuse() else { return };
    let script = format!(
        "mkdir small; cd small; for n in same old gone from; do echo $n > $n; done; cd ..; {WAIT}
         cd small; echo new > old; rm gone; mv from to; rm ../../on; while :; do sleep 1; done"
    );
    let mut run = early.script(&script).spawn().expect("started");
    early.place.wait_for("go");
    for name in ["same", "old", "gone", "from"] {
        early.arrives(&format!("small/{name}"));
    }
    early.go_on();
    wait_until("it went on", || !early.place.all.join("on").exists());
    for (pid, _) in processes::users_of(&early.place.all) {
        processes::kill(pid);
    }
    let _ = run.wait();
    wait_until("the pack is free", || {
        let end = done(&mut early.place.forebay(&["restore", "."]));
        end.stderr.contains("3 files (14 B) written back")
    });
    for (name, text) in [("same", "same\n"), ("old", "new\n"), ("to", "from\n")] {
        assert_eq!(early.place.read(&format!("small/{name}")), text, "{name}");
    }
    assert_eq!(std::fs::read_dir(early.place.project.join("small")).expect("there").count(), 3);
}
