//! If these fail, a file that was replaced is back after a kill, or what replaced it does not come
//! home.

use std::ffi::CString;
use std::fs;
use std::path::{Path, PathBuf};

use forebay_model::{Rules, Site};
use rustix::fs::{CWD, Mode, OFlags, openat};
use tempfile::TempDir;

use super::*;
use crate::native::{CreateMode, Native, NativeSettings, ROOT};
use crate::tiers::{
    PlacementOptions, ProgressReporter, Purpose, Tiers, WriteBackOutcome, WriteBackScope,
    write_back_files,
};
use forebay_os::clock::ManualClock;

const RULES: &str = "
    [[rule]]\nmatch = '*.txt'\nhome = 'far'\nlayout = 'packed'
    [[rule]]\nmatch = '*.bam'\nhome = 'far'\n";
const PACKED: &str = "of the packed one";
const PLAIN: &str = "of the one in place";

/// A covered directory after a kill, with `a.txt`, which is packed, and `a.bam`, on a tier or not.
struct Killed {
    _all: TempDir,
    home: PathBuf,
    far: PathBuf,
}

impl Killed {
    /// `cut`: what was done of a rename before the kill.
    fn with(on_tier: bool, cut: impl FnOnce(&Tiers, &Path)) -> Killed {
        let all = tempfile::tempdir().expect("made");
        let top = all.path().canonicalize().expect("there");
        let [home, far] = ["home", "far"].map(|name| top.join(name));
        fs::create_dir(&home).and_then(|()| fs::create_dir(&far)).expect("made");
        let site = format!("[tier.far]\npath = '{}'\nreach = 'node'\n", far.display());
        let site = Site::parse(&site, "site", &|_| None).expect("right");
        let rules = Rules::parse(RULES, "rules", &site).expect("right");
        let wanted =
            PlacementOptions { site, rules, settings: Default::default(), spares: Vec::new() };
        let tiers = Tiers::open(&home, Purpose::Place(&wanted)).expect("opens").expect("is there");
        let tiers = Arc::new(tiers);
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = openat(CWD, &home, flags, Mode::empty()).expect("a fresh directory");
        let native = Native::new(root, NativeSettings::default(), Box::new(|_| Arc::from([])));
        let native = native.expect("statx works").with_tiers(Some(Arc::clone(&tiers)));
        let write = |name: &str, text: &str| {
            let flags = (libc::O_WRONLY | libc::O_CREAT) as u32;
            let plain = CreateMode { mode: 0o644, umask: 0o022 };
            let name = CString::new(name).expect("no NUL");
            let (made, _) = native.create(ROOT, &name, flags, plain, 0).expect("made");
            let handle = native.handle(made.opened.fh).expect("open");
            native.write(&handle, text.as_bytes(), 0).expect("written");
            drop(handle);
            native.release(made.opened.fh);
        };
        write("a.txt", PACKED);
        match on_tier {
            true => write("a.bam", PLAIN),
            false => fs::write(home.join("a.bam"), PLAIN).expect("written"),
        }
        assert!(!home.join("a.txt").exists(), "it is packed");
        assert_eq!(home.join("a.bam").is_symlink(), on_tier);
        cut(&tiers, &home);
        drop((native, tiers));
        Killed { _all: all, home, far }
    }

    fn restore(&self) -> WriteBackOutcome {
        let tiers =
            Tiers::open(&self.home, Purpose::Restore(&[])).expect("opens").expect("is there");
        let clock = ManualClock::default();
        write_back_files(
            &self.home,
            &tiers,
            WriteBackScope::All,
            &ProgressReporter::new(&clock, &|_| ()),
        )
    }

    /// What is there in the end, and nothing else.
    fn ends_with(&self, name: &str, text: &str) {
        let done = self.restore();
        assert!(done.left.is_empty() && done.nameless.is_empty(), "{done:?}");
        let meta = fs::symlink_metadata(self.home.join(name)).expect("there");
        assert!(meta.is_file());
        assert_eq!(fs::read_to_string(self.home.join(name)).expect("text"), text);
        let own = |name: &std::ffi::OsStr| name == crate::tiers::OWN;
        let names = fs::read_dir(&self.home).expect("there").flatten();
        assert_eq!(names.filter(|entry| !own(&entry.file_name())).count(), 1);
        assert_eq!(fs::read_dir(&self.far).expect("there").count(), 0, "nothing is on the tier");
        // Whoever removes it has removed it.
        fs::remove_file(self.home.join(name)).expect("removed");
        if let Some(tiers) = Tiers::open(&self.home, Purpose::Restore(&[])).expect("opens") {
            let clock = ManualClock::default();
            write_back_files(
                &self.home,
                &tiers,
                WriteBackScope::All,
                &ProgressReporter::new(&clock, &|_| ()),
            );
        }
        assert!(!self.home.join(name).exists());
    }
}

fn key(path: &Path) -> DirKey {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = openat(CWD, path, flags, Mode::empty()).expect("there");
    DirKey::from_statx(&statx_nofollow(fd.as_fd(), c"").expect("there"))
}

#[test]
fn a_packed_name_that_has_yielded_before_a_kill_stays_away() {
    for on_tier in [false, true] {
        let killed = Killed::with(on_tier, |tiers, home| {
            let [from, to] = ["a.bam", "a.txt"].map(|name| home.join(name));
            let pack = tiers.pack().expect("there");
            pack.note_replaced_by(key(home), b"a.txt", key(&from)).expect("noted");
            fs::rename(from, to).expect("renamed");
        });
        killed.ends_with("a.txt", PLAIN);
    }
}

#[test]
fn a_packed_file_that_has_replaced_another_before_a_kill_comes_home() {
    for on_tier in [false, true] {
        let killed = Killed::with(on_tier, |tiers, home| {
            let pack = tiers.pack().expect("there");
            let (dir, over) = (key(home), key(&home.join("a.bam")));
            let (from, to) = ((dir, b"a.txt".as_slice()), (dir, Vec::new));
            pack.rename(from, to, b"a.bam", pack.timestamp_now(), Some(over)).expect("noted");
        });
        killed.ends_with("a.bam", PACKED);
    }
}

#[test]
fn a_rename_that_was_only_announced_before_a_kill_changes_nothing() {
    let killed = Killed::with(true, |tiers, home| {
        let pack = tiers.pack().expect("there");
        pack.note_replaced_by(key(home), b"a.txt", key(&home.join("a.bam"))).expect("noted");
    });
    let done = killed.restore();
    assert!(done.left.is_empty(), "{done:?}");
    for (name, text) in [("a.txt", PACKED), ("a.bam", PLAIN)] {
        assert_eq!(fs::read_to_string(killed.home.join(name)).expect("there"), text);
    }
}
