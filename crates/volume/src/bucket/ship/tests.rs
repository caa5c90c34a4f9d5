//! A local tree is changed by lot, and shipped; the machine is gone after any write to the bucket.

mod unpack;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};

use super::super::memory::Memory;
use super::super::record::Kind;
use super::super::scan::LARGEST;
use super::super::tree::ROOT;
use super::*;

/// Cuts of a story.
const CUTS: usize = 12;

type Bytes = Vec<u8>;
type State = BTreeMap<String, Bytes>;

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
struct Lot(u64);

impl Lot {
    fn draw(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % below
    }

    fn path(&mut self) -> PathBuf {
        let folder = ["", "a", "a/b", "c"][self.draw(4) as usize];
        Path::new(folder).join(["x", "y", "z"][self.draw(3) as usize])
    }
}

/// One change of the tree; what can't be done is not.
fn change(root: &Path, lot: &mut Lot, turn: u64) {
    let path = root.join(lot.path());
    let other = root.join(lot.path());
    let folder = |lot: &mut Lot| root.join(["a", "c", "a/b"][lot.draw(3) as usize]);
    let _ = match lot.draw(10) {
        0..=3 => {
            let large = lot.draw(3) == 0;
            // No two states of a file are as long: one that is written over within one tick of the
            // clock is seen too.
            let length = if large { LARGEST as usize + 1 } else { 20 } + turn as usize;
            let mut content = format!("{turn} ").into_bytes();
            content.resize(length, b'.');
            if lot.draw(3) > 0 {
                let _ = std::fs::remove_file(&path);
            }
            std::fs::write(&path, content)
        }
        4 => std::fs::remove_file(&path),
        5 => std::fs::rename(&path, &other),
        6 => std::fs::hard_link(&path, &other),
        7 => std::fs::create_dir_all(folder(lot)),
        8 => std::fs::rename(folder(lot), folder(lot)),
        // Both get the other's name.
        _ => {
            let flags = rustix::fs::RenameFlags::EXCHANGE;
            rustix::fs::renameat_with(CWD, &path, CWD, &other, flags).map_err(Into::into)
        }
    };
}

fn local(root: &Path) -> State {
    let mut state = State::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("read").flatten() {
            match entry.file_type().expect("a type").is_dir() {
                true => folders.push(entry.path()),
                false => {
                    let path = entry.path();
                    let name = path.strip_prefix(root).expect("below").display().to_string();
                    state.insert(name, std::fs::read(path).expect("read"));
                }
            }
        }
    }
    state
}

/// Where the bytes of each file are, by its path.
fn places(tree: &Tree) -> BTreeMap<String, Place> {
    fn below(tree: &Tree, ino: u64, path: &str, all: &mut BTreeMap<String, Place>) {
        let Some(file) = tree.file(ino) else { return };
        if file.kind == Kind::Plain {
            all.insert(path.to_owned(), file.place.clone());
        }
        for (name, ino) in &file.names {
            let name = String::from_utf8_lossy(name.as_bytes());
            let path = if path.is_empty() { name.into_owned() } else { format!("{path}/{name}") };
            below(tree, *ino, &path, all);
        }
    }
    let mut all = BTreeMap::new();
    below(tree, ROOT, "", &mut all);
    all
}

/// How much, and its first word: what tells two contents apart, in a few letters.
fn brief(bytes: &[u8]) -> String {
    let word = bytes.split(|byte| *byte == b' ').next().unwrap_or_default();
    format!("{} bytes of {}", bytes.len(), String::from_utf8_lossy(word))
}

fn briefly(state: &State) -> BTreeMap<&str, String> {
    state.iter().map(|(name, bytes)| (name.as_str(), brief(bytes))).collect()
}

fn known(bucket: &Arc<Memory>) -> Tree {
    let bucket = Arc::clone(bucket) as Arc<dyn Bucket>;
    Log::open(bucket, "reader".to_owned()).expect("the log is whole").1
}

/// What another machine sees in the bucket.
fn seen(bucket: &Arc<Memory>) -> State {
    let tree = known(bucket);
    let objects = bucket.objects.lock();
    let bytes = |place: Place| match place {
        Place::Empty => Vec::new(),
        Place::Packed { segment, at, length, crc } => {
            let (bytes, _) = &objects[&super::super::log::segment(segment)];
            let head = super::super::segment::Head::parse(bytes).expect("a segment");
            let at = (head.data_at() + at) as usize;
            let bytes = bytes[at..at + length as usize].to_vec();
            assert_eq!(crc32fast::hash(&bytes), crc);
            bytes
        }
        Place::Own { key, .. } => match objects.get(&key) {
            Some((bytes, _)) => bytes.to_vec(),
            None => panic!("a name without bytes: {key}"),
        },
    };
    places(&tree).into_iter().map(|(path, place)| (path, bytes(place))).collect()
}

/// Files whose object is another file's by now.
fn lost(bucket: &Arc<Memory>) -> BTreeSet<String> {
    let (tree, objects) = (known(bucket), bucket.objects.lock());
    let is_lost = |(path, place): &(String, Place)| match place {
        Place::Own { key, .. } => {
            let ino = tree.at(path.as_bytes()).expect("it is there");
            !objects[key].1.starts_with(&format!("volume {ino} "))
        }
        _ => false,
    };
    places(&tree).into_iter().filter(is_lost).map(|(path, _)| path).collect()
}

fn open_in(root: &Path) -> impl Fn(&[u8]) -> Result<OwnedFd, Errno> {
    let root = root.to_owned();
    move |path: &[u8]| {
        use std::os::unix::ffi::OsStrExt;
        let path = root.join(std::ffi::OsStr::from_bytes(path));
        openat(CWD, path, OFlags::RDONLY, Mode::empty())
    }
}

fn ship(bucket: &Arc<Memory>, root: &Path) -> Ship {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let fd = openat(CWD, root, flags, Mode::empty()).expect("opened");
    let bucket = Arc::clone(bucket) as Arc<dyn Bucket>;
    let opened = Log::open(Arc::clone(&bucket), "writer".to_owned()).expect("the log is whole");
    Ship::new(bucket, opened, fd, "volume".to_owned()).expect("made")
}

/// Changes and cuts, until the bucket stops; tells the states at the cuts, and how many of them
/// were acknowledged.
fn story(bucket: &Arc<Memory>, root: &Path, seed: u64) -> (Vec<State>, usize) {
    let (mut lot, mut ship) = (Lot(seed), ship(bucket, root));
    let (mut states, mut acknowledged) = (vec![State::new()], 0);
    for cut in 0..CUTS as u64 {
        for step in 0..6 {
            change(root, &mut lot, cut * 10 + step);
        }
        ship.cut(None, &|_| false).expect("looked at");
        states.push(local(root));
        match ship.ship(&open_in(root)) {
            Ok(_) => acknowledged = states.len() - 1,
            Err(_) => return (states, acknowledged),
        }
    }
    (states, acknowledged)
}

#[test]
fn another_machine_sees_what_was_there_at_the_last_cut() {
    for seed in 0..20 {
        let (bucket, folder) = (Memory::new(), tempfile::tempdir().expect("a folder"));
        let (states, acknowledged) = story(&bucket, folder.path(), seed);
        assert_eq!(acknowledged, states.len() - 1);
        let (now, last) = (seen(&bucket), &states[acknowledged]);
        assert_eq!(briefly(&now), briefly(last), "seed {seed}");
        assert!(now == *last, "seed {seed}");
        // Large files lie under names of their own, and nothing else does.
        let places = places(&known(&bucket));
        let mut objects = BTreeSet::new();
        for (name, place) in &places {
            if let Place::Own { key, .. } = place {
                assert_eq!(places.get(key), Some(place), "seed {seed}: the object of {name}");
                objects.insert(key.clone());
            }
        }
        let plain = bucket.plain().into_keys().collect();
        assert_eq!(objects, plain, "seed {seed}");
    }
}

#[test]
fn a_machine_that_is_gone_after_any_write_leaves_a_whole_tree() {
    for seed in 0..8 {
        let mut stop = 0;
        while !is_gone_after(seed, stop) {
            stop += 1;
        }
    }
}

/// One end; tells whether the story had come to its own before.
fn is_gone_after(seed: u64, stop: u32) -> bool {
    let (bucket, folder) = (Memory::new(), tempfile::tempdir().expect("a folder"));
    bucket.lives(Some(stop));
    let (states, acknowledged) = story(&bucket, folder.path(), seed);
    bucket.lives(None);
    let now = seen(&bucket);
    // The names of some cut, not before the last one that was told; and bytes that the file had
    // then or later. A file that the next cut ends may have lost its object to another: a reader
    // sees by the tag that it is not its own.
    let names = |state: &State| state.keys().cloned().collect::<Vec<_>>();
    let at = (acknowledged..states.len()).find(|at| names(&states[*at]) == names(&now));
    let at = at.unwrap_or_else(|| panic!("seed {seed}, stop {stop}: {:?}", names(&now)));
    let lost = lost(&bucket);
    for (name, bytes) in &now {
        let had = states[at..].iter().any(|state| state.values().any(|had| had == bytes));
        assert!(had, "seed {seed}, stop {stop}: {name} has {}", brief(bytes));
        let before = &states[at][name];
        let lasts = states[at + 1..].iter().any(|state| state.values().any(|had| had == before));
        let is_lost = lost.contains(name);
        assert!(!is_lost || !lasts, "seed {seed}, stop {stop}: {name} has another's bytes");
    }
    // What was there then, and would be there still, is there.
    if let Some(last) = states.last() {
        for bytes in states[at].values().filter(|bytes| last.values().any(|b| b == *bytes)) {
            let is_there = now.values().any(|found| found == bytes);
            assert!(is_there, "seed {seed}, stop {stop}: {} are gone", brief(bytes));
        }
    }
    acknowledged == CUTS
}
