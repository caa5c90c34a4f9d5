//! Files on tiers that somebody else could put out of sight: by removing `.forebay`, by a purge of the
//! tier, by renaming the directory, by closing one of its directories. If these fail, bytes are where
//! nobody finds them, or it is said that nothing is lost when something is.

use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::process::{Child, Command};

use crate::place::{Done, FOREBAY, Place, USER, done};
use crate::tiers::Tiered;

const SAM: &str = "[[rule]]\nmatch = \"*.sam\"\nhome = \"far\"\n";
const PACKED: &str = "[[rule]]\nmatch = \"*.sam\"\nhome = \"far\"\nlayout = \"packed\"\n";
const CLOSED: &str = "[[rule]]\nmatch = \"*.sam\"\nhome = \"far\"\nwrite_back = \"on-close\"\n";

impl Tiered {
    fn kill(&self, mut run: Child) {
        for (pid, _) in crate::processes::users_of(&self.place.all) {
            let pid = rustix::process::Pid::from_raw(pid).expect("a number");
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
        let _ = run.wait();
        self.place.nobody_left();
    }

    fn own(&self) -> std::path::PathBuf {
        self.place.project.join(".forebay")
    }

    fn check(&self) -> Done {
        done(&mut self.place.forebay(&["check", "."]))
    }

    /// The ordinary user's, with a FUSE device of their own.
    fn as_user(&self, prepare: &str, command: &Command) -> Done {
        let (user, node) = (USER.to_string(), self.place.all.join("node").display().to_string());
        let mut run = self.place.program("setpriv");
        run.args(["--reuid", &user, "--regid", &user, "--clear-groups", "--"]);
        run.args(["sh", "-c", &format!("{prepare}\nexec \"$@\""), "sh"]);
        run.arg(self.place.all.join("forebay")).args(command.get_args());
        let device =
            format!("rm -f {node}; mknod -m 666 {node} c 10 229; mount --bind {node} /dev/fuse");
        done(&mut self.place.apart(&device, &run))
    }

    fn of_user() -> Option<Tiered> {
        Place::with_root()?;
        let tiered = Tiered::with_fuse()?;
        tiered.place.give_to_user();
        for path in [tiered.far.path(), &tiered.place.all.join("near")] {
            chown(path, Some(USER), Some(USER)).expect("given");
        }
        Some(tiered)
    }
}

#[test]
fn a_book_that_a_program_removes_is_written_again() {
    for rules in [SAM, PACKED] {
        let Some(tiered) = Tiered::with_fuse() else { return };
        let script = "echo one > a.sam; rm -rf .forebay; echo two > b.sam
            until [ -e .forebay/volume.json ]; do sleep 0.01; done
            echo > ../go; while :; do sleep 1; done";
        let run = tiered.script(rules, script).spawn().expect("started");
        tiered.place.wait_for("go");
        // Whoever comes now is told that somebody has it, as before.
        let second = tiered.place.all.join("second.run").display().to_string();
        let words = ["run", "-q", "-o", &second, "--site", "../site.toml", "--rules"];
        let mut beside = tiered.place.forebay(&words);
        let end = done(beside.args(["../rules.toml", "--", "echo", "ran"]));
        end.code(125).says("another run has files of this directory on tiers");
        tiered.kill(run);
        std::fs::remove_dir_all(tiered.place.state.join("forebay/volumes")).expect("a spare");
        done(&mut tiered.restore()).code(0).says("2 files (8 B) written back");
        assert_eq!(tiered.place.read("a.sam") + &tiered.place.read("b.sam"), "one\ntwo\n");
        assert!(tiered.bodies(tiered.far.path()).is_empty());
    }
}

#[test]
fn a_removed_book_costs_a_run_nothing() {
    let Some(tiered) = Tiered::with_fuse() else { return };
    let script = "echo one > a.sam; rm -rf .forebay; echo two > b.sam";
    let end = done(&mut tiered.script(SAM, script));
    end.code(0).says("2 files (8 B) written back").says("volume.json was removed while");
    tiered.all_home();
}

#[test]
fn a_spare_tells_what_a_removed_book_did() {
    for rules in [SAM, PACKED] {
        let Some(tiered) = Tiered::with_fuse() else { return };
        let keep = format!("{rules}after = \"keep\"\n");
        done(&mut tiered.script(&keep, "echo one > a.sam")).code(0).says("kept on their tier");
        std::fs::remove_dir_all(tiered.own()).expect("removed");
        tiered.check().code(1).says("volume.json: it was removed").says("`forebay restore`");
        // The next run goes on where the one before ended.
        done(&mut tiered.script(&keep, "cat a.sam")).code(0).says("kept on their tier");
        assert!(tiered.own().join("volume.json").exists());
        // Another directory that has its path since is another one.
        std::fs::remove_dir_all(tiered.own()).expect("removed");
        let (here, there) = (&tiered.place.project, tiered.place.all.join("there"));
        std::fs::rename(here, &there).and_then(|()| std::fs::create_dir(here)).expect("moved");
        done(&mut tiered.restore()).code(0).says("no file of . is on another tier");
        std::fs::remove_dir(here).and_then(|()| std::fs::rename(&there, here)).expect("moved");
        done(&mut tiered.restore()).code(0).says("1 file (4 B) written back");
        assert_eq!(tiered.place.read("a.sam"), "one\n");
        tiered.all_home();
    }
}

#[test]
fn links_that_no_book_tells_of_are_not_passed_over() {
    let Some(tiered) = Tiered::with_fuse() else { return };
    let keep = format!("{SAM}after = \"keep\"\n");
    done(&mut tiered.script(&keep, "mkdir d; echo one > d/a.sam")).code(0);
    std::fs::remove_dir_all(tiered.own()).expect("removed");
    std::fs::remove_dir_all(tiered.place.state.join("forebay/volumes")).expect("removed");
    tiered.check().code(1).says("1 file of . are links to a tier (first: d/a.sam -> ");
    done(&mut tiered.restore()).code(121).says(".forebay/volume.json, which says");
    assert_eq!(tiered.place.read("d/a.sam"), "one\n", "it is where it was");
}

#[test]
fn a_body_that_its_tier_has_lost_is_told_as_lost() {
    let Some(tiered) = Tiered::with_fuse() else { return };
    let keep = format!("{SAM}after = \"keep\"\n");
    done(&mut tiered.script(&keep, "echo one > a.sam; echo two > b.sam")).code(0);
    let lost = tiered.place.project.join("a.sam");
    std::fs::remove_file(std::fs::read_link(&lost).expect("a link")).expect("purged");
    for brought in [true, false] {
        let end = done(&mut tiered.restore());
        end.code(121).says("the bytes of 1 file are gone from their tier (first: a.sam: ");
        assert!(!end.stderr.contains("nothing is lost"), "{}", end.stderr);
        assert_eq!(end.stderr.contains("1 file (4 B) written back"), brought, "{}", end.stderr);
        tiered.check().code(1).says("a.sam: a link without a body");
    }
    assert_eq!(tiered.place.read("b.sam"), "two\n");
    std::fs::remove_file(&lost).expect("removed");
    done(&mut tiered.restore()).code(0);
    tiered.all_home();
}

#[test]
fn files_come_home_to_a_directory_that_was_renamed() {
    for rules in [SAM, PACKED, CLOSED] {
        let Some(tiered) = Tiered::with_fuse() else { return };
        tiered.rules(rules);
        let words = ["run", "-q", "--site", "../site.toml", "--rules", "../rules.toml", "--"];
        let script = "echo one > a.sam; echo > ../go; while [ ! -e ../on ]; do sleep 0.01; done
            echo two > b.sam";
        let mut run = tiered.place.forebay(&words);
        let run = run.args(["sh", "-c", script]).spawn().expect("started");
        tiered.place.wait_for("go");
        let (here, there) = (&tiered.place.project, tiered.place.all.join("there"));
        std::fs::rename(here, &there).and_then(|()| std::fs::create_dir(here)).expect("moved");
        std::fs::write(tiered.place.all.join("on"), "").expect("written");
        let end = crate::place::finish(run, crate::place::PATIENCE);
        end.code(0);
        let read = |name: &str| std::fs::read_to_string(there.join(name)).expect(name);
        assert_eq!(read("a.sam") + &read("b.sam"), "one\ntwo\n");
        assert!(std::fs::symlink_metadata(there.join("a.sam")).expect("there").is_file());
        assert_eq!(std::fs::read_dir(here).expect("there").count(), 0, "the other has nothing");
        assert!(tiered.bodies(tiered.far.path()).is_empty());
        let runs = std::fs::read_dir(there.join(".forebay/runs")).expect("the record is there");
        assert_eq!(runs.count(), 1);
        tiered.place.nobody_left();
    }
}

#[test]
fn a_directory_is_as_old_as_before_when_its_files_have_come() {
    let Some(tiered) = Tiered::with_fuse() else { return };
    let near = SAM.replace("far", "near");
    for rules in [SAM, PACKED, &near] {
        let script =
            "rm -rf d; mkdir -p d/e; echo x > d/a.sam; echo y > d/e/b.sam; ln d/a.sam d/c.sam
            touch -d '2020-02-02 UTC' d d/e";
        done(&mut tiered.script(rules, script)).code(0).says("2 files (4 B) written back");
        for dir in ["d", "d/e"] {
            let meta = std::fs::metadata(tiered.place.project.join(dir)).expect("there");
            assert_eq!((meta.mtime(), meta.mtime_nsec()), (1_580_601_600, 0), "{rules}{dir}");
        }
    }
    tiered.all_home();
}

#[test]
fn files_come_home_to_directories_that_are_closed_to_their_owner() {
    let Some(tiered) = Tiered::of_user() else { return };
    let near = SAM.replace("far", "near");
    for rules in [SAM, PACKED, &near] {
        let script = "mkdir -p d/e l w; echo a > d/a.sam; ln d/a.sam d/h.sam; echo b > d/e/b.sam
            echo l > l/l.sam; echo w > w/w.sam; chmod 555 d/e d; chmod 0 l; chmod 333 w";
        let end = tiered.as_user("umask 022", &tiered.script(rules, script));
        end.code(0).says("4 files (8 B) written back");
        for (dir, mode) in [("d/e", 0o555), ("d", 0o555), ("l", 0), ("w", 0o333)] {
            assert_eq!(tiered.place.mode(&tiered.place.project.join(dir)), mode, "{rules}{dir}");
        }
        for (name, text) in
            [("d/h.sam", "a"), ("d/e/b.sam", "b"), ("l/l.sam", "l"), ("w/w.sam", "w")]
        {
            let path = tiered.place.project.join(name);
            assert!(std::fs::symlink_metadata(&path).expect(name).is_file(), "{rules}{name}");
            assert_eq!(tiered.place.read(name), format!("{text}\n"), "{rules}");
        }
        assert!(tiered.bodies(tiered.far.path()).is_empty(), "{rules}");
        for dir in ["d", "d/e", "l", "w"] {
            let open = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(tiered.place.project.join(dir), open).expect("opened");
        }
        ["d", "l", "w"].iter().for_each(|dir| {
            std::fs::remove_dir_all(tiered.place.project.join(dir)).expect("removed");
        });
    }
    tiered.all_home();
}

#[test]
fn files_in_more_directories_than_may_be_open_come_home() {
    let Some(tiered) = Tiered::of_user() else { return };
    for rules in [SAM, PACKED] {
        let keep = format!("{rules}after = \"keep\"\n");
        let script = "for n in $(seq 700); do mkdir d$n; echo $n > d$n/f.sam; done
            ln d1/f.sam d2/g.sam";
        tiered.as_user("", &tiered.script(&keep, script)).code(0).says("700 files");
        let end = tiered.as_user("ulimit -n 400", &tiered.restore());
        end.code(0).says("700 files (").says("written back");
        assert_eq!(tiered.place.read("d700/f.sam"), "700\n");
        assert!(tiered.bodies(tiered.far.path()).is_empty());
        for entry in std::fs::read_dir(&tiered.place.project).expect("there").flatten() {
            std::fs::remove_dir_all(entry.path()).expect("removed");
        }
    }
}

#[test]
fn a_tier_that_others_have_filled_takes_no_new_file() {
    let Some(tiered) = Tiered::with_fuse().filter(|_| Place::with_root().is_some()) else { return };
    let far = tiered.far.path().display().to_string();
    for (rules, packed) in [(SAM, false), (PACKED, true)] {
        for before in [true, false] {
            let fill = format!("head -c 9M /dev/zero > {far}/others 2> /dev/null || true");
            let prepare = format!(
                "mount -t tmpfs -o size=8m tmpfs {far}\n{}",
                if before { fill.as_str() } else { "" }
            );
            // Longer than between two looks at the disk.
            let script = format!(
                "set -e; rm -f *.sam; echo first > a.sam; {}; sleep 0.3
                for n in 1 2 3 4 5; do head -c 200000 /dev/zero > $n.sam; done
                cat ?.sam | wc -c",
                if before { "" } else { &fill }
            )
            .replace("; ;", ";");
            let run = tiered.script(rules, &script);
            let end = done(&mut tiered.place.apart(&prepare, &run));
            assert_eq!(end.code(0).text(), "1000006\n", "{packed} {before}: {}", end.stderr);
            end.says("stayed in place against the rules: ");
            assert!(Path::new(FOREBAY).exists() && !tiered.own().exists());
        }
        let refuse = format!("{rules}full = \"fail\"\n");
        let prepare = format!(
            "mount -t tmpfs -o size=8m tmpfs {far}
            head -c 9M /dev/zero > {far}/others 2> /dev/null || true"
        );
        let run = tiered.script(&refuse, "echo x > new.sam");
        done(&mut tiered.place.apart(&prepare, &run)).code(2).says("No space left on device");
    }
}
