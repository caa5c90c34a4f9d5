//! Trust on a directory of this machine, without a kernel to remember anything. If these failed, a
//! run would miss what others did for longer than its rules say, or what it did itself at all.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use forebay_model::{Rules, Site};
use rustix::fs::{CWD, Mode, OFlags, openat};

use super::super::tiered_view::moved;
use super::super::{CreateMode, NativeSettings, ROOT};
use super::*;
use crate::tiers::{PlacementOptions, Purpose, Tiers};

const PLAIN: CreateMode = CreateMode { mode: 0o755, umask: 0o022 };

/// A second of trust in all but `inbox`, by a clock that stands still.
fn cover(dir: &Path, tier: &Path) -> Native {
    moved::stop();
    let site = format!("[tier.far]\npath = \"{}\"\nreach = \"node\"\n", tier.display());
    let site = Site::parse(&site, "site.toml", &|_| None).expect("a site");
    let text = "[[rule]]\nmatch = \"packed/**\"\nhome = \"far\"\nlayout = \"packed\"\n\
                [[metadata_cache]]\nmatch = \"trusted/**\"\ntimeout = \"1 s\"\n";
    let rules = Rules::parse(text, "rules.toml", &site).expect("rules");
    let tiers = Tiers::open(
        dir,
        Purpose::Place(&PlacementOptions {
            site,
            rules,
            settings: Default::default(),
            spares: Vec::new(),
        }),
    )
    .expect("opened");
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = openat(CWD, dir, flags, Mode::empty()).expect("a fresh directory");
    let native = Native::new(root, NativeSettings::default(), Box::new(|_| Arc::from([])));
    native.expect("statx works").with_tiers(tiers.map(Arc::new))
}

fn places() -> (tempfile::TempDir, tempfile::TempDir) {
    (tempfile::tempdir().expect("made"), tempfile::tempdir().expect("made"))
}

/// How long the kernel may remember that a name is not there; `None`: it is there.
fn absent(native: &Native, dir: u64, name: &CStr) -> Option<Duration> {
    match native.lookup(dir, name) {
        Ok((entry, None)) => Some(entry.name_trust),
        Ok(_) => None,
        Err(error) => {
            assert_eq!(error, Errno::NOENT);
            Some(Duration::ZERO)
        }
    }
}

#[test]
fn who_trusts_sees_changes_from_outside_in_time_and_its_own_at_once() {
    let (dir, tier) = places();
    for name in ["trusted", "inbox"] {
        fs::create_dir(dir.path().join(name)).expect("made");
    }
    let native = cover(dir.path(), tier.path());
    let node = |name| native.lookup(ROOT, name).expect("there").0.node;
    let (trusted, inbox) = (node(c"trusted"), node(c"inbox"));
    let second = Duration::from_secs(1);
    assert!((0..4).all(|_| absent(&native, trusted, c"a") == Some(second)));
    assert!((0..4).all(|_| absent(&native, inbox, c"a") == Some(Duration::ZERO)));
    let long = std::ffi::CString::new("l".repeat(256)).expect("no NUL");
    assert_eq!(native.lookup(trusted, &long).err(), Some(Errno::NAMETOOLONG));
    for name in ["trusted/a", "inbox/a"] {
        fs::write(dir.path().join(name), "new").expect("written");
    }
    assert_eq!(absent(&native, inbox, c"a"), None);
    assert_eq!(absent(&native, trusted, c"a"), Some(second), "it was listed before");
    // What we make is there.
    native.mkdir(trusted, c"made", PLAIN).expect("made");
    native.symlink(trusted, c"link", c"made").expect("made");
    native.rename(trusted, c"link", trusted, c"moved", 0).expect("moved");
    assert_eq!(absent(&native, trusted, c"made"), None);
    assert_eq!(absent(&native, trusted, c"moved"), None);
    assert_eq!(absent(&native, trusted, c"link"), Some(second));
    moved::pass(Duration::from_millis(1100));
    assert_eq!(absent(&native, trusted, c"a"), None, "a second later");
    let (entry, _) = native.lookup(trusted, c"a").expect("there");
    assert_eq!((entry.name_trust, entry.attr_trust), (second, second));
}

#[test]
fn a_directory_of_ours_is_empty_until_we_make_something_in_it() {
    let (dir, tier) = places();
    fs::create_dir(dir.path().join("trusted")).expect("made");
    let native = cover(dir.path(), tier.path());
    let trusted = native.lookup(ROOT, c"trusted").expect("there").0.node;
    let ours = native.mkdir(trusted, c"ours", PLAIN).expect("made").node;
    // Nobody is asked: else this would be found.
    fs::write(dir.path().join("trusted/ours/theirs"), "").expect("written");
    assert_eq!(absent(&native, ours, c"theirs"), Some(Duration::from_secs(1)));
    native.mkdir(ours, c"mine", PLAIN).expect("made");
    assert_eq!(absent(&native, ours, c"mine"), None);
    native.rmdir(ours, c"mine").expect("removed");
    assert!(absent(&native, ours, c"mine").is_some());
    native.unlink(ours, c"theirs").expect("removed, whatever is believed");
    native.rmdir(trusted, c"ours").expect("removed");
    assert!(absent(&native, trusted, c"ours").is_some());
}

#[test]
fn attributes_of_a_directory_follow_our_changes() {
    let (dir, tier) = places();
    fs::create_dir_all(dir.path().join("trusted/sub")).expect("made");
    let native = cover(dir.path(), tier.path());
    let trusted = native.lookup(ROOT, c"trusted").expect("there").0.node;
    let sub = native.lookup(trusted, c"sub").expect("there").0.node;
    native.dir_fd(sub).expect("held from now on");
    let links = || native.getattr(sub, None).expect("there").0.stx_nlink;
    let before = links();
    fs::create_dir(dir.path().join("trusted/sub/theirs")).expect("made");
    assert_eq!(links(), before, "believed for a second");
    native.mkdir(sub, c"ours", PLAIN).expect("made");
    assert_eq!(links(), before + 2);
    moved::pass(Duration::from_millis(1100));
    fs::remove_dir(dir.path().join("trusted/sub/theirs")).expect("removed");
    assert_eq!(links(), before + 1);
}
