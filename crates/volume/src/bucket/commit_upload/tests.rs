//! A local tree is changed by lot, and shipped; the machine is gone after any write to the bucket.

mod layout;
mod lives;
mod short;
mod unpack;

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use forebay_model::BucketRules;
use rustix::fs::{CWD, Mode, OFlags, openat};

use super::super::block_checksums::matches_checksums;
use super::super::memory::Memory;
use super::super::placeholder::is_evicted;
use super::super::scan::LARGEST;
use super::super::tree::ROOT;
use super::super::tree_record::{ContentLocation, Kind};
use super::*;

/// Cuts of a story.
const CUTS: usize = 12;
/// What is read of a file whose object is another's.
const LOST: &str = "lost";

type Bytes = Vec<u8>;
type State = BTreeMap<String, Bytes>;
/// By the number of the file here.
type Away = BTreeMap<u64, Bytes>;

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
pub(in crate::bucket) struct Lot(pub(in crate::bucket) u64);

impl Lot {
    pub(in crate::bucket) fn draw(&mut self, below: u64) -> u64 {
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
pub(in crate::bucket) fn change(root: &Path, lot: &mut Lot, turn: u64) {
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
            // Who writes over a placeholder needs nothing that it stands for.
            let _ = rustix::fs::removexattr(&path, c"user.forebay.away");
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

/// The tree as who reads it sees it; of placeholders `away` knows the bytes.
fn local(root: &Path, away: &Away) -> State {
    let mut state = State::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("read").flatten() {
            match entry.file_type().expect("a type").is_dir() {
                true => folders.push(entry.path()),
                false => {
                    let path = entry.path();
                    let name = path.strip_prefix(root).expect("below").display().to_string();
                    let file = std::fs::File::open(&path).expect("opened");
                    let ino = file.metadata().expect("there").ino();
                    let bytes = match is_evicted(&file) {
                        true => away[&ino].clone(),
                        false => std::fs::read(path).expect("read"),
                    };
                    state.insert(name, bytes);
                }
            }
        }
    }
    state
}

/// Where the bytes of each file are, by its path.
fn places(tree: &VolumeTree) -> BTreeMap<String, ContentLocation> {
    fn below(tree: &VolumeTree, ino: u64, path: &str, all: &mut BTreeMap<String, ContentLocation>) {
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

fn known(bucket: &Arc<Memory>) -> VolumeTree {
    let bucket = Arc::clone(bucket) as Arc<dyn Bucket>;
    Log::open(bucket, "reader".to_owned()).expect("the log is whole").1
}

fn packed(objects: &BTreeMap<String, (bytes::Bytes, String)>, place: &ContentLocation) -> Vec<u8> {
    let ContentLocation::Packed { segment, at, length, crc } = *place else { panic!("{place:?}") };
    let (bytes, _) = &objects[&super::super::log::segment_key(segment)];
    let head = super::super::segment::SegmentHeader::parse(bytes).expect("a segment");
    let at = (head.data_offset() + at) as usize;
    let bytes = bytes[at..at + length as usize].to_vec();
    assert_eq!(crc32fast::hash(&bytes), crc);
    bytes
}

/// What another machine sees in the bucket. Where a file's object is another file's by now, it sees
/// that by the tag.
fn seen(bucket: &Arc<Memory>) -> State {
    let (tree, objects) = (known(bucket), bucket.objects.lock());
    let bytes = |path: &str, place: ContentLocation| match place {
        ContentLocation::Empty => Vec::new(),
        place @ ContentLocation::Packed { .. } => packed(&objects, &place),
        ContentLocation::Own { key, version, .. } => {
            let ino = tree.lookup_path(path.as_bytes()).expect("it has this path");
            match objects.get(&key) {
                Some((bytes, tag)) if tag.starts_with(&format!("volume {ino} ")) => {
                    let sums = tree.file(ino).and_then(|file| file.sums.as_deref().cloned());
                    assert!(sums.is_some() != bytes.is_empty(), "checksums of {key}");
                    let sums = sums.map_or(Vec::new(), |sums| packed(&objects, &sums));
                    // A machine that is gone may have written it over, and not said so.
                    let is_known = version == Some(super::super::memory::version_of(bytes));
                    let all = 0..bytes.len() as u64;
                    assert!(
                        !is_known || matches_checksums(&sums, &all, bytes),
                        "checksums of {key}"
                    );
                    bytes.to_vec()
                }
                Some(_) => format!("{LOST} {ino}").into_bytes(),
                None => panic!("a name without bytes: {key}"),
            }
        }
    };
    let told = |(path, place): (String, ContentLocation)| {
        let bytes = bytes(&path, place);
        (path, bytes)
    };
    places(&tree).into_iter().map(told).collect()
}

pub(in crate::bucket) fn open_in(root: &Path) -> impl Fn(&[u8]) -> Result<OwnedFd, Errno> {
    let root = root.to_owned();
    move |path: &[u8]| {
        use std::os::unix::ffi::OsStrExt;
        let path = root.join(std::ffi::OsStr::from_bytes(path));
        openat(CWD, path, OFlags::RDONLY, Mode::empty())
    }
}

/// Some files are objects however small they are.
fn rules() -> Arc<BucketRules> {
    let text = "[[rule]]\nmatch = ['c/**', 'z', '*.txt']\nhome = 'in-place'\nlayout = 'plain'\n";
    Arc::new(BucketRules::parse(text, "rules").expect("rules"))
}

/// What is said to those who read.
#[derive(Debug, Default)]
struct Told(parking_lot::Mutex<Vec<MovedContent>>);

impl MoveObserver for Told {
    fn notify_moved(&self, moved: Vec<MovedContent>) {
        self.0.lock().extend(moved);
    }
}

pub(in crate::bucket) fn ship(bucket: &Arc<Memory>, root: &Path) -> CommitUploader {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let fd = openat(CWD, root, flags, Mode::empty()).expect("opened");
    let bucket = Arc::clone(bucket) as Arc<dyn Bucket>;
    let opened = Log::open(Arc::clone(&bucket), "writer".to_owned()).expect("the log is whole");
    let mut scan = TreeScanner::new(fd).expect("a root");
    scan.set_layout_rules(rules());
    let mut ship = CommitUploader::for_tree(bucket, opened, scan, "volume".to_owned());
    // Often, so that it is seen.
    ship.short.between = 3;
    ship
}

/// What a machine did with a volume.
struct Story {
    /// What was there at each cut; the first is what it began with.
    states: Vec<State>,
    /// How many of them were acknowledged.
    acknowledged: usize,
}

impl Story {
    /// Changes and cuts, until the bucket stops.
    fn go_on(
        &mut self,
        ship: &mut CommitUploader,
        root: &Path,
        (lot, from): (&mut Lot, u64),
        away: &Away,
    ) {
        for cut in 0..CUTS as u64 {
            for step in 0..6 {
                change(root, lot, from + cut * 10 + step);
            }
            ship.make_commit(None, &|_| false).expect("looked at");
            self.states.push(local(root, away));
            match ship.upload_commit(&open_in(root)) {
                Ok(_) => self.acknowledged = self.states.len() - 1,
                Err(_) => return,
            }
            if ship.settle_object_keys().is_err() {
                return;
            }
            ship.truncate_log();
        }
    }

    /// Whether what another machine finds is right.
    fn check(&self, bucket: &Arc<Memory>, when: &str) {
        let (now, states) = (seen(bucket), &self.states);
        // The names of some cut, not before the last one that was told; and bytes that the file had
        // then or later. A file that the next cut ends may have lost its object to another.
        let names = |state: &State| state.keys().cloned().collect::<Vec<_>>();
        let at = (self.acknowledged..states.len()).find(|at| names(&states[*at]) == names(&now));
        let at = at.unwrap_or_else(|| panic!("{when}: {:?}", names(&now)));
        let has = |state: &State, bytes: &Bytes| state.values().any(|had| had == bytes);
        for (name, bytes) in &now {
            let before = &states[at][name];
            let lasts = states[at + 1..].iter().any(|state| has(state, before));
            let is_lost = bytes.starts_with(LOST.as_bytes()) && bytes != before;
            assert!(!is_lost || !lasts, "{when}: {name} has another's bytes");
            let had = is_lost || states[at..].iter().any(|state| has(state, bytes));
            assert!(had, "{when}: {name} has {}", brief(bytes));
        }
        // What was there then, and would be there still, is there.
        if let Some(last) = states.last() {
            for bytes in states[at].values().filter(|bytes| has(last, bytes)) {
                assert!(has(&now, bytes), "{when}: {} are gone", brief(bytes));
            }
        }
    }
}

fn story(bucket: &Arc<Memory>, root: &Path, seed: u64) -> Story {
    let mut story = Story { states: vec![State::new()], acknowledged: 0 };
    let (mut lot, mut ship) = (Lot(seed), ship(bucket, root));
    story.go_on(&mut ship, root, (&mut lot, 0), &Away::new());
    story
}

/// All large files, and those of which a rule says so, lie under names of their own; tells the
/// objects.
fn objects_have_names(bucket: &Arc<Memory>, when: &str) -> BTreeSet<String> {
    let (places, mut objects) = (places(&known(bucket)), BTreeSet::new());
    for (name, place) in &places {
        let is_own = matches!(place, ContentLocation::Own { .. });
        assert!(is_own || !rules().has_own_object(name.as_bytes()), "{when}: {name} has no object");
        if let ContentLocation::Own { key, .. } = place {
            assert_eq!(places.get(key), Some(place), "{when}: the object of {name}");
            objects.insert(key.clone());
        }
    }
    objects
}

#[test]
fn another_machine_sees_what_was_there_at_the_last_cut() {
    for seed in 0..20 {
        let (bucket, folder) = (Memory::new(), tempfile::tempdir().expect("a folder"));
        let Story { states, acknowledged } = story(&bucket, folder.path(), seed);
        assert_eq!(acknowledged, CUTS);
        let (now, last) = (seen(&bucket), &states[acknowledged]);
        assert_eq!(briefly(&now), briefly(last), "seed {seed}");
        assert!(now == *last, "seed {seed}");
        let plain = bucket.plain().into_keys().collect();
        assert_eq!(objects_have_names(&bucket, &format!("seed {seed}")), plain, "seed {seed}");
    }
}

#[test]
fn a_machine_that_is_gone_after_any_write_leaves_a_whole_tree() {
    for seed in 0..8 {
        for stop in 0.. {
            let (bucket, folder) = (Memory::new(), tempfile::tempdir().expect("a folder"));
            bucket.lives(Some(stop));
            let story = story(&bucket, folder.path(), seed);
            bucket.lives(None);
            story.check(&bucket, &format!("seed {seed}, stop {stop}"));
            if story.acknowledged == CUTS {
                break;
            }
        }
    }
}
