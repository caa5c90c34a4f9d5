//! If these fail, a kill or a power failure loses packed files, brings back removed ones, or mixes
//! up their bytes. Every history comes from a seed, which a failure prints.

mod crash;
mod disk;
mod early;
mod hostile;
mod story;

use std::path::Path;

use super::record::HEADER;
use super::working_files::write_content;
use super::*;
use disk::Place;
use story::{shown, story};

const DIRS: [DirKey; 2] = [DirKey { inode: 11, born: 1 }, DirKey { inode: 12, born: 1 }];
const NAMES: [&[u8]; 4] = [b"a", b"b", b"c\xff", b"d"];

fn world(life: u8) -> PackEnvironment {
    let ticks = Mutex::new(0);
    let clock = move || {
        *ticks.lock() += 1;
        Time { sec: *ticks.lock(), nsec: 0 }
    };
    PackEnvironment { clock: Box::new(clock), boot: [life; 16], salt: Box::new(|| 0x5a17) }
}

fn open(place: &Place, works: &Path, life: u8) -> std::result::Result<Pack, LogError> {
    let root = rustix::io::fcntl_dupfd_cloexec(LogDirectory::open(works)?.root(), 0)?;
    Pack::open_with_ground(Box::new(place.clone()), root, world(life))
}

/// A copy of the working files: opening a pack removes those that it does not need.
pub(super) fn works_of(from: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().expect("a directory");
    for file in std::fs::read_dir(from).expect("listed").flatten() {
        std::fs::copy(file.path(), copy.path().join(file.file_name())).expect("copied");
    }
    copy
}

/// Bytes that were safe and changed are no power failure: nothing may be thrown away.
#[test]
fn damage_is_told_from_a_power_failure() {
    let works = tempfile::tempdir().expect("a directory");
    let place = Place::default();
    let pack = open(&place, works.path(), 1).expect("opened");
    let mut story = story(&pack, 7);
    for _ in 0..30 {
        story.step().expect("room enough");
    }
    pack.sync().expect("synced");
    let whole = place.image().bytes;
    let mut broken = whole.clone();
    let at = HEADER as usize + 40;
    broken[at] ^= 1;
    let damaged = Place::with(&broken);
    let refused = open(&damaged, works_of(works.path()).path(), 2).expect_err("damaged");
    assert!(matches!(refused, LogError::Broken { at: from } if from <= at as u64), "{refused:?}");
    assert_eq!(damaged.image().bytes, broken, "left as it was, for a repair");
    let foreign = open(&Place::with(&[7; 100]), works_of(works.path()).path(), 2);
    assert_eq!(foreign.map(drop), Err(LogError::Foreign));
}

/// A file that is open and has no name is nothing that a new log knows; what is said of it must not
/// end what comes after.
#[test]
fn nameless_files_outlive_a_new_log_and_harm_nobody() {
    let works = tempfile::tempdir().expect("a directory");
    let place = Place::default();
    let pack = open(&place, works.path(), 1).expect("opened");
    let make = |name: &[u8], bytes: &[u8]| {
        let (ino, work) = pack.create_file(DIRS[0], Vec::new, name, Attr::default()).expect("made");
        write_content(&work, bytes).expect("written");
        pack.commit_content(ino, &work, false).expect("settled");
        pack.release_working_file(ino, work);
        ino
    };
    let nameless = make(b"a", b"gone");
    pack.remove_name(DIRS[0], b"a", Time::default()).expect("removed");
    for _ in 0..2 {
        let mut state = pack.state.lock();
        pack.rewrite_log(&mut state).expect("written anew");
    }
    assert_eq!(pack.read_content(nameless).expect("still there"), b"gone");
    pack.set_attributes(nameless, Attr { mode: 0o600, ..Attr::default() }).expect("in memory");
    // An older program, or a race, may have put it into the log all the same.
    let record =
        Record::Content { ino: nameless, mtime: Time::default(), ctime: Time::default(), work: 0 };
    pack.state.lock().write_record(&record, b"late").expect("written");
    make(b"b", b"later");
    let expected = shown(&pack);
    drop(pack);
    let later = open(&place, works.path(), 1).expect("opened");
    assert_eq!(shown(&later), expected);
    assert_eq!(expected.names.len(), 1);
}

/// A sync that others write beside says only of what it has made safe that it is.
#[test]
fn what_is_written_during_a_sync_is_not_called_safe() {
    let works = tempfile::tempdir().expect("a directory");
    let place = Place::default();
    let pack = open(&place, works.path(), 1).expect("opened");
    pack.create_file(DIRS[0], Vec::new, b"a", Attr::default()).expect("made");
    let below = place.image().bytes.len() as u64;
    pack.create_file(DIRS[0], Vec::new, b"b", Attr::default()).expect("made");
    let end = place.image().bytes.len();
    pack.state.lock().write_record(&Record::Safe { below }, &[]).expect("written");
    let mut bytes = place.image().bytes;
    bytes[below as usize..end].fill(0);
    let copy = works_of(works.path());
    let later = open(&Place::with(&bytes), copy.path(), 2).expect("a power failure, no damage");
    assert!(
        later.lookup_name(DIRS[0], b"a").is_some() && later.lookup_name(DIRS[0], b"b").is_none()
    );
    // Before it, though, nothing may be missing.
    let mut bytes = place.image().bytes;
    bytes[HEADER as usize + 60] ^= 1;
    let damaged = open(&Place::with(&bytes), works_of(works.path()).path(), 2);
    assert!(matches!(damaged, Err(LogError::Broken { .. })));
}

/// Frames on both sides of a damaged place still say what happened.
#[test]
fn a_damaged_log_is_salvaged_around_the_damage() {
    let works = tempfile::tempdir().expect("a directory");
    let place = Place::default();
    let pack = open(&place, works.path(), 1).expect("opened");
    let mut ends = Vec::new();
    for name in NAMES {
        let (ino, work) = pack
            .create_file(DIRS[0], Vec::new, name, Attr { mode: 0o600, ..Attr::default() })
            .expect("made");
        let start = place.image().bytes.len();
        write_content(&work, &[name[0]; 500]).expect("written");
        pack.commit_content(ino, &work, false).expect("settled");
        pack.release_working_file(ino, work);
        ends.push((start, place.image().bytes.len()));
    }
    pack.sync().expect("synced");
    let whole = shown(&pack);
    let mut bytes = place.image().bytes;
    // In the bytes of the second file.
    bytes[ends[1].1 - 100] ^= 1;
    let damaged = Place::with(&bytes);
    let root = LogDirectory::open(works.path()).expect("there");
    let root = rustix::io::fcntl_dupfd_cloexec(root.root(), 0).expect("a copy");
    let (saved, lost) =
        Pack::salvage_with_ground(Box::new(damaged), root, world(1)).expect("salvaged");
    assert_eq!(lost, (ends[1].1 - ends[1].0) as u64);
    let found = shown(&saved);
    assert_eq!(found.names, whole.names);
    for (ino, (bytes, mode)) in &found.files {
        let second = whole.names[&(0, 1)] == *ino;
        assert_eq!((bytes.is_empty(), *mode), (second, 0o600), "{ino}");
    }
}

/// A file that is about to be replaced by one in place can be told from one that was.
#[test]
fn a_name_that_yields_says_to_whom_after_a_kill() {
    let works = tempfile::tempdir().expect("a directory");
    let place = Place::default();
    let pack = open(&place, works.path(), 1).expect("opened");
    pack.create_file(DIRS[0], Vec::new, b"a", Attr::default()).expect("made");
    pack.note_replaced_by(DIRS[0], b"a", DIRS[1]).expect("noted");
    drop(pack);
    let later = open(&place, works.path(), 1).expect("opened");
    let found = later.lookup_name(DIRS[0], b"a").expect("still there");
    assert_eq!(found.yields, Some(DIRS[1]));
}

/// What a power failure took stays taken: the pack is opened more than once in the life of the
/// machine that comes after it, and its log still has the records of the life before.
#[test]
fn what_an_earlier_life_left_means_nothing_in_any_later_run() {
    let works = tempfile::tempdir().expect("a directory");
    let place = Place::default();
    let pack = open(&place, works.path(), 1).expect("opened");
    let (ino, work) = pack.create_file(DIRS[0], Vec::new, b"a", Attr::default()).expect("made");
    write_content(&work, b"first").expect("written");
    pack.commit_content(ino, &work, true).expect("settled");
    pack.note_write_back_target(DIRS[0], b"a", DIRS[1]).expect("noted");
    drop((pack, work));
    let (same, copy) = (Place::with(&place.image().bytes), works_of(works.path()));
    let same = open(&same, copy.path(), 1).expect("opened");
    let found = same.lookup_name(DIRS[0], b"a").expect("still packed");
    assert_eq!((found.yields, found.lands), (None, Some(DIRS[1])), "only killed: it counts");
    for run in ["first", "second"] {
        let pack = open(&place, works.path(), 2).expect("opened");
        let found = pack.lookup_name(DIRS[0], b"a").expect("still packed");
        let marks = (found.over, found.yields, found.lands);
        assert_eq!(marks, (Some(DIRS[1]), None, None), "{run} run");
        let found = shown(&pack);
        assert_eq!(found.files[&ino].0, b"first", "{run} run");
    }
}

/// A tier that is full when a pack is opened, and not later: what is done then is this life's.
#[test]
fn a_life_that_could_not_be_noted_at_first_is_noted_later() {
    let works = tempfile::tempdir().expect("a directory");
    let place = Place::default();
    drop(open(&place, works.path(), 1).expect("opened"));
    place.set_full(true);
    let pack = open(&place, works.path(), 2).expect("it can be read");
    let made = pack.create_file(DIRS[0], Vec::new, b"a", Attr::default());
    assert_eq!(made.map(drop), Err(Errno::NOSPC), "nothing is written before the life is noted");
    place.set_full(false);
    let (ino, work) = pack.create_file(DIRS[0], Vec::new, b"a", Attr::default()).expect("made");
    write_content(&work, b"open").expect("written");
    // Killed with the file open.
    drop((pack, work));
    let pack = open(&place, works.path(), 2).expect("opened");
    assert_eq!(shown(&pack).files[&ino].0, b"open");
}
