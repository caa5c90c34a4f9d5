//! A local tree is changed by lot, and shipped; the machine is gone after any write to the bucket.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};

use super::super::memory::Memory;
use super::super::record::Kind;
use super::super::scan::LARGEST;
use super::super::tree::ROOT;
use super::*;

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
    let _ = match lot.draw(8) {
        0..=2 => {
            let large = lot.draw(3) == 0;
            let length = if large { LARGEST as usize + 1 } else { 20 };
            let mut content = format!("{turn} ").into_bytes();
            content.resize(length, b'.');
            // Replaced, not overwritten: a change within one tick of the clock is seen too.
            let _ = std::fs::remove_file(&path);
            std::fs::write(&path, content)
        }
        3 => std::fs::remove_file(&path),
        4 => std::fs::rename(&path, &other),
        5 => std::fs::hard_link(&path, &other),
        6 => std::fs::create_dir_all(folder(lot)),
        _ => std::fs::rename(folder(lot), folder(lot)),
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

/// What another machine sees in the bucket.
fn seen(bucket: &Arc<Memory>) -> State {
    let (_, tree) = Log::open(Arc::clone(bucket) as Arc<dyn Bucket>, "reader".to_owned())
        .expect("the log is whole");
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
    Ship::of(bucket, opened, Scan::new(fd).expect("a root"), "volume".to_owned())
}

/// Changes and cuts, until the bucket stops; tells the states at the cuts, and how many of them
/// were acknowledged.
fn story(bucket: &Arc<Memory>, root: &Path, seed: u64) -> (Vec<State>, usize) {
    let (mut lot, mut ship) = (Lot(seed), ship(bucket, root));
    let (mut states, mut acknowledged) = (vec![State::new()], 0);
    for cut in 0..12 {
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
        assert_eq!(seen(&bucket), states[acknowledged], "seed {seed}");
        // Large files lie under their own names, and nothing else does.
        let large = states[acknowledged].iter().filter(|(_, bytes)| bytes.len() as u64 > LARGEST);
        let large: BTreeMap<_, _> = large.collect();
        for (name, bytes) in bucket.plain() {
            assert_eq!(large.get(&name).map(|b| b.as_slice()), Some(&bytes[..]), "{seed}: {name}");
        }
    }
}

#[test]
fn a_machine_that_is_gone_after_any_write_leaves_a_whole_tree() {
    for seed in 0..8 {
        let mut stop = 0;
        loop {
            let (bucket, folder) = (Memory::new(), tempfile::tempdir().expect("a folder"));
            bucket.lives(Some(stop));
            let (states, acknowledged) = story(&bucket, folder.path(), seed);
            let was_stopped = acknowledged < 12;
            bucket.lives(None);
            let now = seen(&bucket);
            // The names of some cut, not before the last one that was told; and bytes that a file
            // of this name had then or later.
            let names = |state: &State| state.keys().cloned().collect::<Vec<_>>();
            let at = (acknowledged..states.len()).find(|at| names(&states[*at]) == names(&now));
            let at = at.unwrap_or_else(|| panic!("seed {seed}, stop {stop}: {:?}", names(&now)));
            for (name, bytes) in &now {
                let had = states[at..].iter().any(|state| state.get(name) == Some(bytes));
                assert!(had, "seed {seed}, stop {stop}: {name}");
            }
            if !was_stopped {
                break;
            }
            stop += 1;
        }
    }
}
