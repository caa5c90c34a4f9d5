//! If these fail, a kill or a power failure loses packed files, brings back removed ones, or mixes
//! up their bytes. Every history comes from a seed, which a failure prints.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use super::bytes::works_write;
use super::disk::{Disk, Ground};
use super::record::HEADER;
use super::*;

const DIRS: [DirKey; 2] = [DirKey { inode: 11, born: 1 }, DirKey { inode: 12, born: 1 }];
const NAMES: [&[u8]; 4] = [b"a", b"b", b"c\xff", b"d"];

/// A disk in memory, of which a part is safe.
#[derive(Debug, Default, Clone)]
struct Memory(Arc<Mutex<Image>>);

#[derive(Debug, Default, Clone)]
struct Image {
    bytes: Vec<u8>,
    safe: usize,
    full: bool,
}

impl Disk for Memory {
    fn write_at(&self, at: u64, bytes: &[u8]) -> Result<()> {
        let mut image = self.0.lock();
        let at = at as usize;
        // A full disk takes what it can.
        let most = if image.full { bytes.len() / 2 } else { bytes.len() };
        if image.bytes.len() < at + most {
            image.bytes.resize(at + most, 0);
        }
        image.bytes[at..at + most].copy_from_slice(&bytes[..most]);
        if image.full { Err(Errno::NOSPC) } else { Ok(()) }
    }
    fn read_at(&self, at: u64, buffer: &mut [u8]) -> Result<usize> {
        let image = self.0.lock();
        let from = image.bytes.get(at as usize..).unwrap_or(&[]);
        let count = from.len().min(buffer.len());
        buffer[..count].copy_from_slice(&from[..count]);
        Ok(count)
    }
    fn length(&self) -> Result<u64> {
        Ok(self.0.lock().bytes.len() as u64)
    }
    fn cut(&self, length: u64) -> Result<()> {
        self.0.lock().bytes.truncate(length as usize);
        Ok(())
    }
    fn sync(&self) -> Result<()> {
        let mut image = self.0.lock();
        image.safe = image.bytes.len();
        Ok(())
    }
}

/// The log's place, and the next log's.
#[derive(Debug, Default, Clone)]
struct Place {
    log: Arc<Mutex<Memory>>,
    fresh: Arc<Mutex<Memory>>,
}

impl Place {
    fn with(bytes: &[u8]) -> Place {
        let place = Place::default();
        place.log.lock().0.lock().bytes = bytes.to_vec();
        place
    }
    fn image(&self) -> Image {
        self.log.lock().0.lock().clone()
    }
}

impl Ground for Place {
    fn log(&self) -> Result<Arc<dyn Disk>> {
        Ok(Arc::new(self.log.lock().clone()))
    }
    fn fresh(&self) -> Result<Arc<dyn Disk>> {
        *self.fresh.lock() = Memory::default();
        Ok(Arc::new(self.fresh.lock().clone()))
    }
    fn replace(&self) -> Result<bool> {
        *self.log.lock() = self.fresh.lock().clone();
        Ok(true)
    }
    fn sync(&self) -> Result<()> {
        Ok(())
    }
    fn discard(&self) -> Result<()> {
        *self.fresh.lock() = Memory::default();
        Ok(())
    }
    fn clear(&self) -> Result<()> {
        Ok(())
    }
}

fn world(life: u8) -> World {
    let ticks = Mutex::new(0);
    let clock = move || {
        *ticks.lock() += 1;
        Time { sec: *ticks.lock(), nsec: 0 }
    };
    World { clock: Box::new(clock), boot: [life; 16], salt: Box::new(|| 0x5a17) }
}

fn open(place: &Place, works: &Path, life: u8) -> std::result::Result<Pack, Damage> {
    let root = rustix::io::fcntl_dupfd_cloexec(Folder::open(works)?.root(), 0)?;
    Pack::on(Box::new(place.clone()), root, world(life))
}

/// xorshift64*, so that a seed replays a failure.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % bound
    }
}

/// What a pack should hold: names, and the bytes and modes of files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Model {
    names: BTreeMap<(usize, usize), u64>,
    files: BTreeMap<u64, (Vec<u8>, u32)>,
}

/// The same as a pack shows it.
fn shown(pack: &Pack) -> Model {
    let mut model = Model::default();
    for (dir, key) in DIRS.iter().enumerate() {
        for (name, ino) in pack.names(*key) {
            let name = NAMES.iter().position(|known| *known == name).expect("a known name");
            assert_eq!(pack.find(*key, NAMES[name]).map(|found| found.ino), Some(ino));
            model.names.insert((dir, name), ino);
            let work = pack.work(ino, false).expect("its bytes").0;
            let size = pack.attr(ino).expect("it is there").0.size;
            let mut bytes = vec![0; size as usize + 1];
            let count = rustix::io::pread(&work.file, &mut bytes[..], 0).expect("read");
            assert_eq!(count as u64, size, "size of {ino}");
            bytes.truncate(count);
            model.files.insert(ino, (bytes, pack.attr(ino).expect("it is there").0.mode));
            pack.done(ino, work);
        }
    }
    for ino in model.files.keys() {
        let links = model.names.values().filter(|other| *other == ino).count();
        assert_eq!(pack.attr(*ino).expect("it is there").1 as usize, links, "links of {ino}");
    }
    model
}

/// Runs random operations on a pack and a model, and tells the model after each.
struct Story<'p> {
    pack: &'p Pack,
    dice: Dice,
    /// With all bytes, as a kill must leave them.
    now: Model,
    /// With the bytes that are in the log, as a power failure may leave them.
    logged: Model,
    open: BTreeMap<u64, Work>,
    /// Largest size of a file in bytes.
    most: usize,
}

impl Story<'_> {
    fn prune(model: &mut Model) {
        let used: Vec<u64> = model.names.values().copied().collect();
        model.files.retain(|ino, _| used.contains(ino));
    }

    fn settle(&mut self, ino: u64, work: &Work, more: bool) -> Result<()> {
        self.pack.settle(ino, work, more)?;
        if let Some(file) = self.now.files.get(&ino) {
            self.logged.files.insert(ino, file.clone());
        }
        Ok(())
    }

    fn pick(&mut self) -> Option<((usize, usize), u64)> {
        let all: Vec<_> = self.now.names.iter().map(|(place, ino)| (*place, *ino)).collect();
        let at = (!all.is_empty()).then(|| self.dice.below(all.len()))?;
        Some(all[at])
    }

    fn both(&mut self, change: impl Fn(&mut Model)) {
        for model in [&mut self.now, &mut self.logged] {
            change(model);
            Story::prune(model);
        }
    }

    fn step(&mut self) -> Result<()> {
        let (dir, name) = (self.dice.below(2), self.dice.below(NAMES.len()));
        let (key, bytes) = (DIRS[dir], NAMES[name]);
        let time = Time { sec: 5, nsec: 0 };
        match self.dice.below(10) {
            0..3 => {
                let attr = Attr { mode: self.dice.below(0o1000) as u32, ..Attr::default() };
                match self.pack.make(key, || b"where".to_vec(), bytes, attr) {
                    Ok((ino, work)) => {
                        self.both(|model| {
                            model.names.insert((dir, name), ino);
                            model.files.insert(ino, (Vec::new(), attr.mode));
                        });
                        self.open.insert(ino, work);
                    }
                    Err(error) => {
                        let taken = self.now.names.contains_key(&(dir, name));
                        let right = if taken { Errno::EXIST } else { Errno::NOSPC };
                        if error != right {
                            return Err(error);
                        }
                    }
                }
            }
            3..6 => {
                let Some((_, ino)) = self.pick() else { return Ok(()) };
                let work = match self.open.remove(&ino) {
                    Some(work) => work,
                    None => self.pack.work(ino, true)?.0,
                };
                if let Err(error) = self.pack.begin(ino, &work) {
                    self.pack.done(ino, work);
                    return Err(error);
                }
                let sizes = [0, 1, 300, 5000, LARGEST as usize + 1];
                let size = sizes[self.dice.below(sizes.len())].min(self.most);
                let fill = vec![self.dice.below(256) as u8; size];
                rustix::fs::ftruncate(&work.file, 0)?;
                works_write(&work, &fill)?;
                if let Some(file) = self.now.files.get_mut(&ino) {
                    file.0 = fill;
                }
                match self.dice.below(3) {
                    0 => {
                        self.open.insert(ino, work);
                    }
                    1 => {
                        let settled = self.settle(ino, &work, true);
                        self.open.insert(ino, work);
                        settled?;
                    }
                    _ => match self.settle(ino, &work, false) {
                        Ok(()) => self.pack.done(ino, work),
                        Err(error) => {
                            self.open.insert(ino, work);
                            return Err(error);
                        }
                    },
                }
            }
            6 => {
                let Some(((from, old), ino)) = self.pick() else { return Ok(()) };
                self.pack.rename(
                    (DIRS[from], NAMES[old]),
                    (key, || b"where".to_vec()),
                    bytes,
                    time,
                    None,
                )?;
                self.both(|model| {
                    if model.names.get(&(dir, name)) == Some(&ino) {
                        return;
                    }
                    model.names.remove(&(from, old));
                    model.names.insert((dir, name), ino);
                });
            }
            7 => {
                let Some((_, ino)) = self.pick() else { return Ok(()) };
                match self.pack.link(ino, key, || b"where".to_vec(), bytes, time) {
                    Err(Errno::EXIST) => {}
                    done => {
                        done?;
                        self.both(|model| {
                            model.names.insert((dir, name), ino);
                        });
                    }
                }
            }
            8 => {
                let Some(((dir, name), ino)) = self.pick() else { return Ok(()) };
                self.pack.remove(DIRS[dir], NAMES[name], time)?;
                self.both(|model| {
                    model.names.remove(&(dir, name));
                });
                if !self.open.contains_key(&ino) {
                    self.pack.forget(ino);
                }
            }
            _ => {
                let (Some((one, a)), Some((two, b))) = (self.pick(), self.pick()) else {
                    return Ok(());
                };
                let place = |at: (usize, usize)| (DIRS[at.0], NAMES[at.1]);
                self.pack.swap(place(one), place(two), time)?;
                self.both(|model| {
                    model.names.insert(one, b);
                    model.names.insert(two, a);
                });
            }
        }
        Ok(())
    }
}

fn story(pack: &Pack, seed: u64) -> Story<'_> {
    let now = shown(pack);
    Story { pack, dice: Dice(seed), logged: now.clone(), now, open: BTreeMap::new(), most: 1 << 20 }
}

const SEEDS: std::ops::Range<u64> = 1..41;

/// Everything is killed after some operation: nothing is lost, open files included.
#[test]
fn a_kill_loses_nothing() {
    for seed in SEEDS {
        let works = tempfile::tempdir().expect("a directory");
        let place = Place::default();
        let mut expected = Model::default();
        for round in 0..4 {
            let pack = open(&place, works.path(), 1).expect("opened");
            assert_eq!(shown(&pack), expected, "seed {seed}, round {round}");
            let mut story = story(&pack, seed * 100 + round);
            for _ in 0..25 {
                story.step().expect("room enough");
                if story.dice.below(20) == 0 {
                    let mut state = pack.state.lock();
                    pack.rewrite(&mut state).expect("written anew");
                }
            }
            expected = story.now.clone();
        }
    }
}

/// The power goes at every byte of the log: what is there then is what was there at some moment,
/// no earlier than the last sync.
#[test]
fn a_power_failure_leaves_a_prefix() {
    for seed in SEEDS {
        let works = tempfile::tempdir().expect("a directory");
        let place = Place::default();
        let pack = open(&place, works.path(), 1).expect("opened");
        let mut story = story(&pack, seed);
        // Larger files are written in place and have the guarantees of plain ones.
        story.most = LARGEST as usize;
        let mut history = vec![(0, story.logged.clone())];
        for _ in 0..30 {
            story.step().expect("room enough");
            history.push((place.image().bytes.len(), story.logged.clone()));
            if story.dice.below(10) == 0 {
                pack.sync().expect("synced");
            }
        }
        let image = place.image();
        let at =
            |length: usize| history.iter().rfind(|(end, _)| *end <= length).map(|(_, model)| model);
        let mut lengths: Vec<usize> = history.iter().map(|(end, _)| *end).collect();
        lengths.extend((0..60).map(|_| story.dice.below(image.bytes.len() + 1)));
        for length in lengths.into_iter().filter(|length| *length >= image.safe) {
            let (cut, copy) = (&image.bytes[..length], works_of(works.path()));
            let later = open(&Place::with(cut), copy.path(), 2).expect("opened");
            assert_eq!(Some(&shown(&later)), at(length), "seed {seed}, cut at {length}");
        }
        // Pages need not reach the disk in their order.
        for _ in 0..30 {
            let mut bytes = image.bytes.clone();
            let hole = image.safe + story.dice.below(bytes.len() - image.safe + 1);
            let end = (hole + 1 + story.dice.below(4096)).min(bytes.len());
            bytes[hole..end].fill(0);
            let copy = works_of(works.path());
            let later = shown(&open(&Place::with(&bytes), copy.path(), 2).expect("opened"));
            let since = history.iter().position(|(end, _)| *end >= image.safe).unwrap_or(0);
            // A hole of zeros where zeros were is none.
            assert!(
                history[since.saturating_sub(1)..].iter().any(|(_, model)| *model == later),
                "seed {seed}, hole {hole}..{end}"
            );
        }
    }
}

/// A copy of the working files: opening a pack removes those that it does not need.
fn works_of(from: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().expect("a directory");
    for file in std::fs::read_dir(from).expect("listed").flatten() {
        std::fs::copy(file.path(), copy.path().join(file.file_name())).expect("copied");
    }
    copy
}

/// A full disk refuses one operation and harms nothing before or after it.
#[test]
fn a_full_disk_harms_nothing() {
    for seed in SEEDS {
        let works = tempfile::tempdir().expect("a directory");
        let place = Place::default();
        let pack = open(&place, works.path(), 1).expect("opened");
        let mut story = story(&pack, seed);
        for step in 0..40 {
            let full = story.dice.below(4) == 0;
            place.log.lock().0.lock().full = full;
            match story.step() {
                Ok(()) => {}
                Err(Errno::NOSPC) if full => {}
                Err(other) => panic!("seed {seed}, step {step}: {other}"),
            }
            place.log.lock().0.lock().full = false;
        }
        let expected = story.now.clone();
        drop(pack);
        let later = open(&place, works.path(), 1).expect("opened");
        assert_eq!(shown(&later), expected, "seed {seed}");
    }
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
    assert!(matches!(refused, Damage::Broken { at: from } if from <= at as u64), "{refused:?}");
    assert_eq!(damaged.image().bytes, broken, "left as it was, for a repair");
    let foreign = open(&Place::with(&[7; 100]), works_of(works.path()).path(), 2);
    assert_eq!(foreign.map(drop), Err(Damage::Foreign));
}

/// A file that is open and has no name is nothing that a new log knows; what is said of it must not
/// end what comes after.
#[test]
fn nameless_files_outlive_a_new_log_and_harm_nobody() {
    let works = tempfile::tempdir().expect("a directory");
    let place = Place::default();
    let pack = open(&place, works.path(), 1).expect("opened");
    let make = |name: &[u8], bytes: &[u8]| {
        let (ino, work) = pack.make(DIRS[0], Vec::new, name, Attr::default()).expect("made");
        works_write(&work, bytes).expect("written");
        pack.settle(ino, &work, false).expect("settled");
        pack.done(ino, work);
        ino
    };
    let nameless = make(b"a", b"gone");
    pack.remove(DIRS[0], b"a", Time::default()).expect("removed");
    for _ in 0..2 {
        let mut state = pack.state.lock();
        pack.rewrite(&mut state).expect("written anew");
    }
    assert_eq!(pack.content(nameless).expect("still there"), b"gone");
    pack.set_attr(nameless, Attr { mode: 0o600, ..Attr::default() }).expect("in memory");
    // An older program, or a race, may have put it into the log all the same.
    let record =
        Record::Content { ino: nameless, mtime: Time::default(), ctime: Time::default(), work: 0 };
    pack.state.lock().write(&record, b"late").expect("written");
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
    pack.make(DIRS[0], Vec::new, b"a", Attr::default()).expect("made");
    let below = place.image().bytes.len() as u64;
    pack.make(DIRS[0], Vec::new, b"b", Attr::default()).expect("made");
    let end = place.image().bytes.len();
    pack.state.lock().write(&Record::Safe { below }, &[]).expect("written");
    let mut bytes = place.image().bytes;
    bytes[below as usize..end].fill(0);
    let copy = works_of(works.path());
    let later = open(&Place::with(&bytes), copy.path(), 2).expect("a power failure, no damage");
    assert!(later.find(DIRS[0], b"a").is_some() && later.find(DIRS[0], b"b").is_none());
    // Before it, though, nothing may be missing.
    let mut bytes = place.image().bytes;
    bytes[HEADER as usize + 60] ^= 1;
    let damaged = open(&Place::with(&bytes), works_of(works.path()).path(), 2);
    assert!(matches!(damaged, Err(Damage::Broken { .. })));
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
            .make(DIRS[0], Vec::new, name, Attr { mode: 0o600, ..Attr::default() })
            .expect("made");
        let start = place.image().bytes.len();
        works_write(&work, &[name[0]; 500]).expect("written");
        pack.settle(ino, &work, false).expect("settled");
        pack.done(ino, work);
        ends.push((start, place.image().bytes.len()));
    }
    pack.sync().expect("synced");
    let whole = shown(&pack);
    let mut bytes = place.image().bytes;
    // In the bytes of the second file.
    bytes[ends[1].1 - 100] ^= 1;
    let damaged = Place::with(&bytes);
    let root = Folder::open(works.path()).expect("there");
    let root = rustix::io::fcntl_dupfd_cloexec(root.root(), 0).expect("a copy");
    let (saved, lost) = Pack::salvage_on(Box::new(damaged), root, world(1)).expect("salvaged");
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
    pack.make(DIRS[0], Vec::new, b"a", Attr::default()).expect("made");
    pack.yield_to(DIRS[0], b"a", DIRS[1]).expect("noted");
    drop(pack);
    let later = open(&place, works.path(), 1).expect("opened");
    let found = later.find(DIRS[0], b"a").expect("still there");
    assert_eq!(found.yields, Some(DIRS[1]));
}

/// What a power failure took stays taken: the pack is opened more than once in the life of the
/// machine that comes after it, and its log still has the records of the life before.
#[test]
fn what_an_earlier_life_left_means_nothing_in_any_later_run() {
    let works = tempfile::tempdir().expect("a directory");
    let place = Place::default();
    let pack = open(&place, works.path(), 1).expect("opened");
    let (ino, work) = pack.make(DIRS[0], Vec::new, b"a", Attr::default()).expect("made");
    works_write(&work, b"first").expect("written");
    pack.settle(ino, &work, true).expect("settled");
    pack.land_on(DIRS[0], b"a", DIRS[1]).expect("noted");
    drop((pack, work));
    for run in ["first", "second"] {
        let pack = open(&place, works.path(), 2).expect("opened");
        let found = pack.find(DIRS[0], b"a").expect("still packed");
        assert_eq!((found.over, found.yields), (Some(DIRS[1]), None), "{run} run");
        let found = shown(&pack);
        assert_eq!(found.files[&ino].0, b"first", "{run} run");
    }
}
