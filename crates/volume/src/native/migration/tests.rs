//! If these fail, a file that moves while the run goes on is lost, half there, or another file to
//! whoever uses it.

mod believed;
mod random;
mod replaced;
mod used;

use std::ffi::CString;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use forebay_model::{Rules, Site};
use rustix::fs::{CWD, Statx};
use tempfile::TempDir;

use super::super::migration_queue::SETTLE_NANOS;
use super::super::tiered_view::boot_nanos;
use super::super::{AttributeChange, CreateMode, NativeSettings, ROOT};
use super::*;
use crate::tiers::{
    PlacementOptions, ProgressReporter, Purpose, WriteBackOutcome, WriteBackScope, write_back_files,
};
use forebay_os::credentials::Credentials;

const RULES: &str = "
    [[rule]]\nmatch = '*.bam'\nhome = 'far'\nwrite_back = 'on-close'
    [[rule]]\nmatch = '*.sam'\nhome = 'far'
    [[rule]]\nmatch = '*.near'\nhome = 'near'
    [[rule]]\nmatch = '*.tmp'\nhome = 'far'\nafter = 'discard'\nfsync = 'scratch'\n";
const WRITE: u32 = (libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC) as u32;
const EVER: u64 = u64::MAX - SETTLE_NANOS;

/// A covered directory with two tiers, and no kernel.
pub(crate) struct Ground {
    pub(crate) native: Native,
    tiers: Arc<Tiers>,
    _dirs: [TempDir; 2],
    pub(crate) home: PathBuf,
    far: PathBuf,
    near: PathBuf,
}

impl Ground {
    pub(crate) fn new(more: &str) -> Ground {
        Ground::with(more, RULES)
    }

    fn with(more: &str, rules: &str) -> Ground {
        let dir = tempfile::tempdir().expect("a directory");
        // Memory: never the file system of the other.
        let far = tempfile::tempdir_in("/dev/shm").expect("/dev/shm is there");
        let top = dir.path().canonicalize().expect("it is there");
        let (home, near) = (top.join("home"), top.join("near"));
        fs::create_dir(&home).and_then(|()| fs::create_dir(&near)).expect("made");
        let site = format!(
            "[tier.far]\npath = '{}'\nreach = 'node'\n{more}\n[tier.near]\npath = '{}'\nreach = 'node'\n",
            far.path().display(),
            near.display()
        );
        let site = Site::parse(&site, "site", &|_| None).expect("right");
        let rules = Rules::parse(rules, "rules", &site).expect("right");
        let wanted =
            PlacementOptions { site, rules, settings: Default::default(), spares: Vec::new() };
        let tiers = Tiers::open(&home, Purpose::Place(&wanted)).expect("opens").expect("is there");
        let tiers = tiers.start();
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = openat(CWD, &home, flags, Mode::empty()).expect("a fresh directory");
        let native = Native::new(root, NativeSettings::default(), Box::new(|_| Arc::from([])));
        let native = native.expect("statx works").with_tiers(Some(Arc::clone(&tiers)));
        let far_path = far.path().to_owned();
        Ground { native, tiers, _dirs: [dir, far], home, far: far_path, near }
    }

    fn write(&self, name: &str, text: &str) -> u64 {
        let permissions = CreateMode { mode: 0o640, umask: 0o022 };
        let name = CString::new(name).expect("no NUL");
        let (made, node) = self.native.create(ROOT, &name, WRITE, permissions, 0).expect("made");
        let handle = self.native.handle(made.opened.fh).expect("open");
        self.native.write(&handle, text.as_bytes(), 0).expect("written");
        drop(handle);
        self.native.release(made.opened.fh);
        node.id
    }

    fn look(&self, name: &str) -> (u64, u64) {
        let name = CString::new(name).expect("no NUL");
        let (entry, _) = self.native.lookup(ROOT, &name).expect("there");
        (entry.node, entry.stat.stx_ino)
    }

    fn rename(&self, from: &str, to: &str) {
        let [from, to] = [from, to].map(|name| CString::new(name).expect("no NUL"));
        self.native.rename(ROOT, &from, ROOT, &to, 0).expect("renamed");
    }

    fn read(&self, id: u64) -> String {
        let (opened, _) = self.native.open(id, 0).expect("opens");
        let mut text = [0; 64];
        let handle = self.native.handle(opened.fh).expect("open");
        let size = self.native.read(&handle, &mut text, 0, false).expect("read");
        drop(handle);
        self.native.release(opened.fh);
        String::from_utf8_lossy(&text[..size]).into_owned()
    }

    fn is_link(&self, name: &str) -> bool {
        fs::symlink_metadata(self.home.join(name)).expect("there").is_symlink()
    }

    fn bodies(&self) -> Vec<String> {
        fn below(dir: &Path, all: &mut Vec<String>) {
            for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
                match entry.file_type().expect("a type").is_dir() {
                    true => below(&entry.path(), all),
                    false => all.push(entry.file_name().to_string_lossy().into_owned()),
                }
            }
        }
        let mut all = Vec::new();
        [&self.far, &self.near].into_iter().for_each(|tier| below(tier, &mut all));
        below(&self.home.join(".forebay/moving"), &mut all);
        // What lies beside rooms.
        all.retain(|name| !name.ends_with(".volume") && !name.ends_with(".leaving"));
        all
    }

    fn begin(&self, id: u64) -> (Box<ActiveMigration>, StagedFile) {
        let begun = self.native.begin_migration(id).expect("no failure");
        let MigrationStart::Yes(moving) = begun else { panic!("it does not move: {begun:?}") };
        let passage = self.native.staging_path().expect("there");
        let carried =
            Native::stage_migration(&self.tiers, passage, &moving, &|| false).expect("carried");
        (moving, carried)
    }

    fn land(&self, (moving, carried): &(Box<ActiveMigration>, StagedFile)) -> Result<MigratedFile> {
        self.native.commit_migration(self.native.staging_path().expect("there"), moving, carried)
    }

    pub(crate) fn go_home(&self) -> WriteBackOutcome {
        self.native.stop_migrator();
        let clock = forebay_os::clock::ManualClock::default();
        let progress = ProgressReporter::new(&clock, &|_| ());
        let done = write_back_files(
            &self.home,
            &self.tiers,
            WriteBackScope::Ruled { succeeded: true },
            &progress,
        );
        assert!(done.left.is_empty() && done.nameless.is_empty(), "{done:?}");
        assert_eq!(self.bodies(), Vec::<String>::new());
        done
    }
}

#[test]
fn a_file_comes_home_when_it_has_settled_and_stays_itself() {
    let ground = Ground::new("");
    let id = ground.write("a.bam", "reads");
    let set = AttributeChange {
        mode: Some(0o604),
        mtime: Some(super::super::TimeOrNow::At(7, 9)),
        ..AttributeChange::default()
    };
    ground.native.setattr(id, set).expect("changed");
    let (node, number) = ground.look("a.bam");
    let before = ground.native.getattr(node, None).expect("there").0;
    let closed = boot_nanos();
    ground.native.migrate_due_files(closed);
    assert!(ground.is_link("a.bam"), "it has not settled");
    ground.native.migrate_due_files(closed + 2 * SETTLE_NANOS);
    let meta = fs::symlink_metadata(ground.home.join("a.bam")).expect("there");
    assert!(meta.is_file());
    assert_eq!((meta.mode() & 0o7777, meta.mtime(), meta.mtime_nsec()), (0o604, 7, 9));
    assert_eq!(ground.bodies(), Vec::<String>::new());
    assert_ne!(meta.ino(), number);
    assert_eq!(ground.look("a.bam"), (node, number), "it is the file that it was");
    let after = ground.native.getattr(node, None).expect("there").0;
    let times =
        |stat: &Statx| [&stat.stx_ctime, &stat.stx_btime].map(|time| (time.tv_sec, time.tv_nsec));
    assert_eq!((after.stx_ino, times(&after)), (number, times(&before)));
    ground.native.setattr(node, set).expect("changed");
    let changed = ground.native.getattr(node, None).expect("there").0;
    assert!(times(&changed)[0] > times(&before)[0], "it was changed since");
    assert_eq!(ground.native.table.exposed_inode(meta.dev(), meta.ino()), number);
    assert_eq!(ground.read(node), "reads");
    // No other file gets the number while this one is known.
    for count in 0..64 {
        ground.write(&format!("x{count}"), "");
        assert_ne!(ground.look(&format!("x{count}")).1, number);
    }
    // The kernel forgets it: four times it was looked up or made.
    ground.native.forget(node, 3);
    assert_eq!(ground.look("a.bam").1, meta.ino());
    assert_eq!(ground.go_home().brought, (1, 5));
}

#[test]
fn a_new_name_sends_a_file_where_its_rule_says() {
    let ground = Ground::new("");
    // From, to, and whether a link leads there then.
    let ways = [
        ("a.bam", "a.txt", false),
        ("b.sam", "b.txt", false),
        ("c.sam", "c.near", true),
        ("d.near", "d.sam", true),
        ("e.txt", "e.sam", true),
        ("f.txt", "f.near", true),
        ("g.txt", "g.bam", false),
        ("h.txt", "h.tmp", false),
        ("i.sam", "i.tmp", true),
    ];
    let before: Vec<_> = ways
        .iter()
        .map(|(from, to, _)| {
            let id = ground.write(from, from);
            let number = ground.look(from).1;
            ground.rename(from, to);
            (id, number)
        })
        .collect();
    ground.native.migrate_due_files(EVER);
    for ((from, to, away), (id, number)) in ways.iter().zip(&before) {
        assert_eq!(ground.is_link(to), *away, "{to}");
        assert_eq!(ground.look(to), (*id, *number), "{to}");
        assert_eq!(ground.read(*id), *from);
        let tier = fs::read_link(ground.home.join(to)).unwrap_or_default();
        assert_eq!(tier.starts_with(&ground.near), to.ends_with("near"), "{tier:?}");
    }
    assert_eq!(ground.bodies().len(), 5);
    let stays = ground.write("k.txt", "k");
    ground.native.migrate_due_files(EVER);
    assert!(!ground.is_link("k.txt") && ground.read(stays) == "k");
    // Back again: each way can be gone twice.
    for (from, to, _) in &ways {
        ground.rename(to, from);
    }
    ground.native.migrate_due_files(EVER);
    for ((from, ..), (id, number)) in ways.iter().zip(&before) {
        assert_eq!(ground.look(from), (*id, *number), "{from}");
        assert_eq!(ground.read(*id), *from);
    }
    ground.go_home();
    for (from, ..) in &ways {
        assert_eq!(fs::read_to_string(ground.home.join(from)).expect("at home"), *from);
    }
}

#[test]
fn a_tier_holds_what_comes_after_what_has_gone() {
    let ground = Ground::new("capacity = '256 KiB'");
    let text = "x".repeat(40 << 10);
    for count in 0..64 {
        ground.write(&format!("{count}.bam"), &text);
        ground.native.migrate_due_files(boot_nanos());
    }
    assert_eq!(ground.tiers.spilled_files().0, 0, "{:?}", ground.tiers.spilled_files());
    assert!(
        ground.tiers.written_back_counts().0 > 50 && ground.bodies().len() < 8,
        "{:?}",
        ground.tiers.written_back_counts()
    );
    assert_eq!(ground.go_home().brought, (64, 64 * text.len() as u64));
}

#[test]
fn what_can_not_move_stays_whole_and_is_tried_again() {
    let ground = Ground::new("");
    let id = ground.write("a.bam", "words");
    // What is in its way: nothing can be made where it would be on its way.
    let moving = ground.home.join(".forebay/moving");
    ground.native.staging_path().map(drop).expect("made");
    fs::remove_dir(&moving).expect("empty");
    ground.native.migrate_due_files(boot_nanos() + 2 * SETTLE_NANOS);
    assert!(ground.is_link("a.bam") && ground.read(id) == "words");
    assert_eq!(ground.go_home().brought, (1, 5), "the end brings it");
    assert_eq!(fs::read_to_string(ground.home.join("a.bam")).expect("at home"), "words");
}

/// The run is killed between two steps of a move, and the file is renamed or removed since.
#[test]
fn what_a_killed_move_left_behind_goes_whatever_the_file_is_called_now() {
    for removed in [false, true] {
        let ground = Ground::new("");
        // Landed: the body goes.
        let home = ground.write("a.bam", "words");
        ground.land(&ground.begin(home)).expect("landed");
        let other = ground.write("b.sam", "other");
        ground.rename("b.sam", "b.near");
        ground.land(&ground.begin(other)).expect("landed");
        // Not landed: what was made for it goes.
        let waiting = ground.write("c.sam", "third");
        ground.rename("c.sam", "c.near");
        let (moving, _) = ground.begin(waiting);
        moving.ticket.cancel_migration(); // as the kernel ends a lease with its process
        assert_eq!(ground.bodies().len(), 6, "{:?}", ground.bodies());
        for (name, text) in [("a.bam", "words"), ("b.near", "other"), ("c.near", "third")] {
            let (from, to) = (ground.home.join(name), ground.home.join(format!("{name}.x")));
            fs::rename(&from, &to).expect("renamed");
            if removed && name == "a.bam" {
                fs::remove_file(&to).expect("removed");
            } else {
                assert_eq!(fs::read_to_string(&to).expect("there"), text);
            }
        }
        ground.go_home();
        assert_eq!(ground.home.join("a.bam.x").exists(), !removed);
        for (name, text) in [("b.near.x", "other"), ("c.near.x", "third")] {
            assert_eq!(fs::read_to_string(ground.home.join(name)).expect("there"), text);
        }
    }
}

/// If this fails, the only copy of a file is taken for what a move has left behind.
#[test]
fn a_body_whose_move_did_not_land_stays_when_its_link_is_taken_away() {
    let ground = Ground::new("");
    let id = ground.write("a.bam", "words");
    let begun = ground.begin(id);
    // It is announced, and then it can't be named.
    let passage = ground.native.staging_path().expect("there");
    let nowhere = fs::File::open("/dev/shm").expect("another file system");
    let named = ground.tiers.name_migrated_file(passage, &begun.1, nowhere.as_fd(), c"x");
    assert_eq!(named.map(drop), Err(Errno::XDEV));
    drop(begun);
    fs::remove_file(ground.home.join("a.bam")).expect("taken away");
    ground.native.stop_migrator();
    let clock = forebay_os::clock::ManualClock::default();
    let progress = ProgressReporter::new(&clock, &|_| ());
    let done = write_back_files(&ground.home, &ground.tiers, WriteBackScope::All, &progress);
    assert_eq!(done.nameless.len(), 1, "{done:?}");
    assert_eq!(fs::read_to_string(&done.nameless[0]).expect("there"), "words");
}

/// If this fails, what a killed daemon was removing stays on the tier for ever, or the only copy of
/// a file goes whose link somebody took away.
#[test]
fn a_body_goes_if_its_name_was_being_removed_and_stays_if_somebody_took_its_link_away() {
    let ground = Ground::new("");
    let placed = |name: &str, text: &str| {
        let id = ground.write(name, text);
        let node = ground.native.node(id).expect("known");
        node.placed.get().expect("placed")
    };
    let (leaves, stays) = (placed("leaves.bam", "words"), placed("stays.bam", "words"));
    let (_empty, taken) = (placed("made.bam", ""), placed("taken.bam", "words"));
    ground.tiers.note_removal(&leaves, Credentials::new());
    // It could not be removed, and then somebody takes its link away.
    let slot = ground.tiers.note_removal(&stays, Credentials::new());
    ground.tiers.cancel_removal(&stays, slot);
    for name in ["leaves.bam", "stays.bam", "made.bam", "taken.bam"] {
        fs::remove_file(ground.home.join(name)).expect("taken away");
    }
    ground.native.stop_migrator();
    let clock = forebay_os::clock::ManualClock::default();
    let progress = ProgressReporter::new(&clock, &|_| ());
    let done = write_back_files(&ground.home, &ground.tiers, WriteBackScope::All, &progress);
    let mut left = done.nameless.clone();
    left.sort();
    assert_eq!(
        left,
        [ground.tiers.data_file_path(&stays), ground.tiers.data_file_path(&taken)],
        "{done:?}"
    );
    assert_eq!(ground.bodies().len(), 2, "{:?}", ground.bodies());
}

#[test]
fn a_directory_does_not_change_when_a_file_comes_home() {
    let ground = Ground::new("");
    ground.write("a.bam", "words");
    let then = std::time::UNIX_EPOCH + std::time::Duration::from_secs(7);
    let dir = fs::File::open(&ground.home).expect("there");
    dir.set_times(fs::FileTimes::new().set_modified(then)).expect("set");
    ground.native.migrate_due_files(EVER);
    assert!(!ground.is_link("a.bam"));
    assert_eq!(fs::metadata(&ground.home).and_then(|meta| meta.modified()).expect("there"), then);
    ground.go_home();
}

#[test]
fn a_number_that_the_file_system_gives_away_is_its_new_owners() {
    let ground = Ground::new("");
    let id = ground.write("a.bam", "words");
    let number = ground.look("a.bam").1;
    ground.native.migrate_due_files(EVER);
    let node = ground.native.node(id).expect("known");
    assert_eq!(ground.look("a.bam").1, number);
    // The old inode is not kept any more, as on storage that can't keep it.
    node.place.lock().was = None;
    let own = fs::metadata(ground.home.join("a.bam")).expect("there").ino();
    let mut owner = None;
    for count in 0..4096 {
        let name = format!("x{count}");
        fs::write(ground.home.join(&name), "").expect("made");
        let seen = ground.look(&name).1;
        assert!(seen != ground.look("a.bam").1, "two files with one number");
        if seen == number {
            owner = Some(name);
            break;
        }
    }
    if owner.is_some() {
        assert_eq!(ground.look("a.bam"), (id, own));
    }
    ground.go_home();
}
