//! A writer changes a volume by lot, and a reader follows without a kernel. If these failed, a
//! program would see what never was, bytes of two states of a file, or nothing new for ever.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};

use super::super::commit_upload::CommitUploader;
use super::super::commit_upload::tests::{Lot, change, open_in, ship};
use super::super::file_blocks::BLOCK;
use super::super::log::{Log, segment_key};
use super::super::memory::Memory;
use super::super::segment::SegmentDraft;
use super::super::state_directory::StateOwner;
use super::super::tree::ROOT;
use super::super::tree_record::{Attr, Kind, TreeRecord};
use super::local_tree::Changes;
use super::*;
use crate::backend::Backend;
use crate::native::{self, Native};

const CUTS: u64 = 12;

/// What programs see.
struct Seen {
    native: Arc<Native>,
    follow: Arc<ReadReplica>,
    tree: PathBuf,
    _state: tempfile::TempDir,
}

struct Reader {
    seen: Seen,
    worker: ReplicaWorker,
}

impl std::ops::Deref for Reader {
    type Target = Seen;
    fn deref(&self) -> &Seen {
        &self.seen
    }
}

fn wanted(state: &Path) -> ReplicaOptions {
    ReplicaOptions {
        url: "s3://lab/v".to_owned(),
        settings: BucketSettings::default(),
        state: state.join("state"),
        is_named: true,
        every: Duration::from_secs(3600),
        patience: RetryWindow::default(),
    }
}

fn reader(bucket: &Arc<Memory>) -> Reader {
    let state = tempfile::tempdir().expect("a folder");
    let tail = Tail::open_at_end(&**bucket).expect("a volume");
    let followed = replica_setup::make_local_tree(wanted(state.path()), tail).expect("made");
    let tree = followed.tree_directory();
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = openat(CWD, &tree, flags, Mode::empty()).expect("opened");
    let (follow, mut worker) =
        ReadReplica::with_bucket(Arc::clone(bucket) as Arc<dyn Bucket>, followed);
    let native = Native::new(root, native::NativeSettings::default(), Box::new(|_| Arc::from([])));
    let native = Arc::new(
        native.expect("statx works").with_backend(Arc::clone(&follow) as Arc<dyn Backend>),
    );
    let known: Weak<dyn TreeServer> = Arc::<Native>::downgrade(&native);
    worker.server = Some(known);
    Reader { seen: Seen { native, follow, tree, _state: state }, worker }
}

impl Reader {
    fn look(&mut self) -> Result<(), RequestError> {
        self.worker.poll_and_apply(false, &mut Changes::default())
    }

    /// After a pause in which segments may have come and gone.
    fn look_closely(&mut self) -> Result<(), RequestError> {
        self.worker.poll_and_apply(true, &mut Changes::default())
    }

    /// Follows on a thread of its own, as a mount does.
    fn live(self) -> (Seen, std::thread::JoinHandle<()>) {
        let Reader { seen, mut worker } = self;
        (seen, std::thread::spawn(move || worker.run_until_over()))
    }
}

impl Seen {
    fn walk(&self, path: &str) -> Result<u64, Errno> {
        path.split('/').filter(|name| !name.is_empty()).try_fold(native::ROOT, |node, name| {
            let found = self.native.lookup(node, &CString::new(name).expect("a name"))?.0.node;
            if found == 0 { Err(Errno::NOENT) } else { Ok(found) }
        })
    }

    fn open(&self, path: &str) -> Result<u64, Errno> {
        Ok(self.native.open(self.walk(path)?, libc::O_RDONLY as u32)?.0.fh)
    }

    fn read_open(&self, opened: u64, at: u64, length: usize) -> Result<Vec<u8>, Errno> {
        let mut buffer = vec![0; length];
        let handle = self.native.handle(opened)?;
        let read = self.native.read(&handle, &mut buffer, at, false)?;
        buffer.truncate(read);
        Ok(buffer)
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, Errno> {
        let opened = self.open(path)?;
        let bytes = self.read_open(opened, 0, 1 << 20);
        self.native.release(opened);
        bytes
    }
}

/// All that a listing tells of a tree, with which names are of one file.
fn listing(root: &Path) -> BTreeMap<String, String> {
    let (mut found, mut first) = (BTreeMap::new(), BTreeMap::<u64, String>::new());
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let mut entries: Vec<_> = std::fs::read_dir(folder).expect("read").flatten().collect();
        entries.sort_by_key(std::fs::DirEntry::path);
        for entry in entries {
            let meta = entry.metadata().expect("there");
            let path = entry.path();
            let name = path.strip_prefix(root).expect("below").display().to_string();
            if meta.is_dir() {
                folders.push(path);
            }
            let one = match meta.is_dir() {
                true => String::new(),
                false => {
                    let size = meta.size();
                    let names = meta.nlink();
                    let known = first.entry(meta.ino()).or_insert_with(|| name.clone()).clone();
                    format!("{size} bytes, {names} names, {known}")
                }
            };
            let time = (meta.mtime(), meta.mtime_nsec());
            found.insert(name, format!("{:o} {time:?} {one}", meta.mode()));
        }
    }
    // Which of several names comes first depends on the order of folders alone.
    found
}

fn same(reader: &Reader, root: &Path, when: &str) {
    let (now, wanted) = (listing(&reader.tree), listing(root));
    let differ = wanted.iter().filter(|(name, one)| now.get(*name) != Some(*one));
    let differ: Vec<_> = differ.map(|(name, one)| (name, one, now.get(name))).collect();
    let more: Vec<_> = now.keys().filter(|name| !wanted.contains_key(*name)).collect();
    assert!(differ.is_empty() && more.is_empty(), "{when}: {differ:#?}, more: {more:?}");
}

fn same_bytes(reader: &Reader, root: &Path, when: &str) {
    for name in listing(root).into_keys().filter(|name| root.join(name).is_file()) {
        let (now, wanted) = (reader.read(&name), std::fs::read(root.join(&name)).expect("read"));
        assert!(now.as_ref() == Ok(&wanted), "{when}: {name}: {:?}", now.map(|now| now.len()));
    }
}

fn cut(ship: &mut CommitUploader, root: &Path) {
    ship.make_commit(None, &|_| false).expect("looked at");
    ship.upload_commit(&open_in(root)).expect("shipped");
    ship.truncate_log();
}

#[test]
fn a_reader_shows_each_cut_that_it_sees_and_all_bytes_of_it() {
    for seed in 0..30 {
        let (bucket, folder) = (Memory::new(), tempfile::tempdir().expect("a folder"));
        let (root, mut lot) = (folder.path(), Lot(seed));
        let mut ship = ship(&bucket, root);
        cut(&mut ship, root);
        std::fs::write(root.join("first"), "first").expect("written");
        cut(&mut ship, root);
        let mut reader = reader(&bucket);
        for turn in 0..CUTS {
            for step in 0..6 {
                change(root, &mut lot, turn * 10 + step);
            }
            if lot.draw(4) == 0 {
                use std::os::unix::fs::PermissionsExt;
                let mode = std::fs::Permissions::from_mode(0o600 + lot.draw(64) as u32);
                let _ = std::fs::set_permissions(root.join("first"), mode);
            }
            cut(&mut ship, root);
            // Some looks see several cuts, and some readers read little.
            if lot.draw(3) > 0 {
                let when = format!("seed {seed}, cut {turn}");
                reader.look_closely().expect("looked");
                same(&reader, root, &when);
                if lot.draw(2) > 0 {
                    same_bytes(&reader, root, &when);
                }
            }
        }
        reader.look_closely().expect("looked");
        same(&reader, root, &format!("seed {seed}"));
        same_bytes(&reader, root, &format!("seed {seed}"));
        let aside =
            std::fs::read_dir(reader.follow.state.staging_directory()).expect("there").count();
        assert_eq!(aside, 0, "seed {seed}: nothing is left beside the tree");
    }
}

#[test]
fn what_somebody_spoilt_here_is_made_anew() {
    let (bucket, folder) = (Memory::new(), tempfile::tempdir().expect("a folder"));
    let root = folder.path();
    let mut ship = ship(&bucket, root);
    std::fs::create_dir_all(root.join("a/b")).expect("made");
    std::fs::write(root.join("a/b/x"), "one").expect("written");
    cut(&mut ship, root);
    let mut reader = reader(&bucket);
    std::fs::remove_dir_all(reader.tree.join("a")).expect("removed");
    std::fs::write(root.join("a/b/y"), "two").expect("written");
    cut(&mut ship, root);
    reader.look().expect("looked");
    same(&reader, root, "after that");
    same_bytes(&reader, root, "after that");
}

#[test]
fn who_fell_behind_begins_anew_and_finds_what_was_written_once_more() {
    let (bucket, folder) = (Memory::new(), tempfile::tempdir().expect("a folder"));
    let root = folder.path();
    let mut ship = ship(&bucket, root);
    std::fs::write(root.join("stays"), "stays as it is").expect("written");
    cut(&mut ship, root);
    let mut reader = reader(&bucket);
    let count = bucket.objects.lock().keys().filter(|name| name.contains("/log/")).count();
    let next = segment_key(count as u64);
    for turn in 0..40 {
        std::fs::write(root.join("goes"), vec![b'x'; 3000 + turn]).expect("written");
        std::fs::write(root.join(format!("n{turn}")), "new").expect("written");
        cut(&mut ship, root);
    }
    assert!(!bucket.objects.lock().contains_key(&next), "it was removed");
    for _ in 0..12 {
        reader.look().expect("looked");
    }
    same(&reader, root, "begun anew");
    same_bytes(&reader, root, "begun anew");
}

#[test]
fn bytes_that_went_elsewhere_are_found_before_the_next_look_is_due() {
    let (bucket, folder) = (Memory::new(), tempfile::tempdir().expect("a folder"));
    let root = folder.path();
    let mut ship = ship(&bucket, root);
    let large = vec![b'L'; BLOCK as usize * 5];
    for name in ["small", "changes"] {
        std::fs::write(root.join(name), name).expect("written");
    }
    std::fs::write(root.join("large"), &large).expect("written");
    cut(&mut ship, root);
    let (reader, thread) = reader(&bucket).live();
    let opened = reader.open("large").expect("opened");
    assert_eq!(reader.read_open(opened, 0, 3).as_deref(), Ok(&b"LLL"[..]));
    let old = reader.walk("changes").expect("there");
    std::fs::create_dir(root.join("d")).expect("made");
    std::fs::rename(root.join("large"), root.join("d/moved")).expect("renamed");
    std::fs::write(root.join("changes"), "others").expect("written");
    for turn in 0..40 {
        std::fs::write(root.join("goes"), vec![b'x'; 3000 + turn]).expect("written");
        cut(&mut ship, root);
    }
    assert!(!bucket.objects.lock().contains_key("large"), "its object has another name");
    assert_eq!(reader.read("small").as_deref(), Ok(&b"small"[..]), "written once more");
    let at = BLOCK * 3;
    assert_eq!(reader.read_open(opened, at, 3).as_deref(), Ok(&b"LLL"[..]), "its object moved");
    // The kernel looks it up again then.
    let stale = reader.native.open(old, libc::O_RDONLY as u32).map(|_| ());
    assert_eq!(stale, Err(Errno::STALE));
    assert_eq!(reader.read("changes").as_deref(), Ok(&b"others"[..]));
    assert_eq!(reader.follow.finish_serving(), [""; 0], "nobody missed anything");
    thread.join().expect("it ended");
}

#[test]
fn an_open_file_shows_one_state_or_an_error_that_names_it() {
    let (bucket, folder) = (Memory::new(), tempfile::tempdir().expect("a folder"));
    let root = folder.path();
    let mut ship = ship(&bucket, root);
    let large = |byte: u8| vec![byte; BLOCK as usize * 5];
    std::fs::create_dir(root.join("d")).expect("made");
    for name in ["d/large", "d/whole"] {
        std::fs::write(root.join(name), large(b'1')).expect("written");
    }
    std::fs::write(root.join("d/small"), "one").expect("written");
    cut(&mut ship, root);
    let (reader, thread) = reader(&bucket).live();
    let names = ["d/large", "d/whole", "d/small"];
    let [part, whole, small] = names.map(|name| reader.open(name).expect("opened"));
    assert_eq!(reader.read_open(part, 0, 1).as_deref(), Ok(&b"1"[..]));
    assert_eq!(reader.read_open(whole, 0, 1 << 20), Ok(large(b'1')));
    for name in ["d/large", "d/whole"] {
        std::fs::write(root.join(name), large(b'2')).expect("written");
    }
    std::fs::write(root.join("d/small"), "other").expect("written");
    cut(&mut ship, root);
    assert_eq!(reader.read_open(part, BLOCK * 3, 1), Err(Errno::STALE));
    assert_eq!(reader.read_open(part, 0, 1).as_deref(), Ok(&b"1"[..]), "what has come is right");
    assert_eq!(reader.read_open(whole, 0, 1 << 20), Ok(large(b'1')));
    assert_eq!(reader.read_open(small, 0, 9).as_deref(), Ok(&b"one"[..]));
    for name in ["d/large", "d/whole"] {
        assert_eq!(reader.read(name), Ok(large(b'2')), "{name}");
    }
    assert_eq!(reader.read("d/small").as_deref(), Ok(&b"other"[..]));
    let told = reader.follow.finish_serving();
    let begin = "changed or removed in s3://lab/v while they were open here: d/large; programs";
    assert!(told.len() == 1 && told[0].starts_with(begin), "{told:?}");
    thread.join().expect("it ended");
}

#[test]
fn another_writer_is_followed_and_half_a_cut_of_the_one_before_never_shown() {
    let bucket = Memory::new();
    let log = |me: &str| Log::open(Arc::clone(&bucket) as Arc<dyn Bucket>, me.to_owned());
    let add = |log: &mut Log, ino: u64, name: &str, is_whole: bool| {
        let mut draft = SegmentDraft::default();
        draft.append_record(&TreeRecord::File { ino, kind: Kind::Plain, attr: Attr::default() });
        draft.append_record(&TreeRecord::Name { folder: ROOT, name: name.as_bytes(), ino });
        if is_whole {
            draft.append_record(&TreeRecord::Cut);
        }
        log.write_segment(draft.encode_segment(log.next_segment()).into()).expect("written");
    };
    let (mut first, _) = log("first").expect("it opens");
    first.begin_as_writer("first").expect("alone");
    add(&mut first, 2, "whole", true);
    let mut reader = reader(&bucket);
    add(&mut first, 3, "half", false);
    reader.look().expect("looked");
    let names = |reader: &Reader| listing(&reader.tree).into_keys().collect::<Vec<_>>();
    assert_eq!(names(&reader), ["whole"]);
    let (mut second, _) = log("second").expect("it opens");
    second.begin_as_writer("second").expect("it takes over");
    reader.look().expect("looked");
    // The same number: what was half never was.
    add(&mut second, 3, "others", true);
    reader.look().expect("looked");
    assert_eq!(names(&reader), ["others", "whole"]);
}

#[test]
fn who_reads_makes_no_volume_and_uses_no_directory_of_a_writer() {
    let bucket = Memory::new();
    assert!(matches!(Tail::open_at_end(&*bucket), Err(BucketError::NoVolume(None))));
    bucket.objects.lock().insert("theirs".to_owned(), (bytes::Bytes::new(), String::new()));
    let theirs = Tail::open_at_end(&*bucket);
    assert!(matches!(theirs, Err(BucketError::NoVolume(Some(name))) if name == "theirs"));
    let folder = tempfile::tempdir().expect("a folder");
    let wanted = wanted(folder.path());
    drop(StateDirectory::lock_directory(&wanted.state, &wanted.url, "me").expect("taken"));
    let volume = StateOwner { url: wanted.url.clone(), me: String::new(), is_reader: true };
    let refused =
        |taken: io::Result<StateDirectory>| taken.map(drop).map_err(|error| error.to_string());
    let as_reader = StateDirectory::lock_directory_as(&wanted.state, volume.clone());
    assert_eq!(refused(as_reader), Err("it belongs to a writer".to_owned()));
    let other = folder.path().join("other");
    drop(StateDirectory::lock_directory_as(&other, volume).expect("taken"));
    let as_writer = StateDirectory::lock_directory(&other, &wanted.url, "me");
    assert_eq!(refused(as_writer), Err("it belongs to a reader".to_owned()));
}

/// A reader that has seen a folder and a file in it meets these records.
fn meets(records: &[TreeRecord<'_>]) {
    let bucket = Memory::new();
    let log = Log::open(Arc::clone(&bucket) as Arc<dyn Bucket>, "writer".to_owned());
    let (mut log, _) = log.expect("it opens");
    let mut say = |records: &[TreeRecord<'_>]| {
        let mut draft = SegmentDraft::default();
        records.iter().for_each(|record| draft.append_record(record));
        draft.append_record(&TreeRecord::Cut);
        log.write_segment(draft.encode_segment(log.next_segment()).into()).expect("written");
    };
    let folder = |ino| TreeRecord::File { ino, kind: Kind::Folder, attr: Attr::default() };
    let name = |folder, name: &'static [u8], ino| TreeRecord::Name { folder, name, ino };
    let plain = TreeRecord::File { ino: 3, kind: Kind::Plain, attr: Attr::default() };
    say(&[folder(2), name(ROOT, b"d", 2), plain, name(2, b"file", 3)]);
    let mut reader = reader(&bucket);
    let before = listing(&reader.tree);
    assert_eq!(before.len(), 2);
    let thesis = reader.tree.parent().expect("a state").join("thesis");
    std::fs::write(&thesis, "mine").expect("written");
    let outside = || listing(thesis.parent().expect("a state"));
    let around = outside();

    say(records);
    for _ in 0..2 {
        let failed = reader.look().expect_err("it is said");
        assert_eq!(failed.kind, io::ErrorKind::InvalidData, "{failed}");
        assert_eq!(listing(&reader.tree), before, "{records:?}");
        assert_eq!(outside(), around, "{records:?}");
    }
    assert_eq!(std::fs::read_to_string(&thesis).expect("there"), "mine");
}

#[test]
fn what_no_writer_says_changes_nothing_here_and_nothing_outside() {
    let name = |folder, name: &'static [u8], ino| TreeRecord::Name { folder, name, ino };
    meets(&[name(ROOT, b"../thesis", 3)]);
    meets(&[TreeRecord::Gone { folder: ROOT, name: b"../thesis" }]);
    meets(&[name(2, b"itself", 2)]);
    meets(&[name(ROOT, b"twice", 2)]);
}
