//! Damage that is done on purpose, and what a check says of it; what it sweeps, and what it must not.

use std::path::Path;
use std::sync::Arc;

use forebay_model::{BucketRules, FsyncTarget};
use rustix::fs::{CWD, Mode, OFlags, openat};

use super::super::commit_upload::CommitUploader;
use super::super::log::{Log, segment_key};
use super::super::memory::Memory;
use super::super::scan::{LARGEST, TreeScanner};
use super::super::segment::SegmentDraft;
use super::super::tree_record::TreeRecord;
use super::*;

/// A volume, and the machine that writes it.
struct Volume {
    bucket: Arc<Memory>,
    folder: tempfile::TempDir,
    ship: CommitUploader,
}

impl Volume {
    /// One with two large files, and small ones of which one has two names.
    fn new() -> Volume {
        let (bucket, folder) = (Memory::new(), tempfile::tempdir().expect("a folder"));
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let root = openat(CWD, folder.path(), flags, Mode::empty()).expect("opened");
        let requests = || Arc::clone(&bucket) as Arc<dyn Bucket>;
        let (mut log, tree) = Log::open(requests(), "writer".to_owned()).expect("a log");
        log.begin_as_writer("writer").expect("begun");
        let scan = TreeScanner::new(root).expect("a root");
        let ship = CommitUploader::for_tree(requests(), (log, tree), scan, "volume".to_owned());
        let mut volume = Volume { bucket, folder, ship };
        volume.write("a/large", &[1; LARGEST as usize + 1]);
        volume.write("a/other", &[2; LARGEST as usize + 2]);
        volume.write("a/small", b"ACGT");
        volume.write("b/tiny", b"TTTT");
        std::fs::hard_link(volume.at("a/small"), volume.at("b/linked")).expect("linked");
        volume.cut();
        volume
    }

    fn at(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.at(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, bytes).expect("written");
    }

    fn cut(&mut self) {
        self.ship.make_commit(None, &|_| false).expect("looked at");
        let open =
            |path: &[u8]| openat(self.folder.path().dir(), path, OFlags::RDONLY, Mode::empty());
        self.ship.upload_commit(&open).expect("shipped");
        // By a machine that is gone before it removes anything.
        self.ship.checkpoint_if_due();
    }

    /// So many cuts of small files of which the last one alone stays.
    fn cuts(&mut self, count: usize) {
        for cut in 0..count {
            self.write("b/again", &vec![b'x'; cut % 2000 + 6000]);
            self.cut();
        }
    }

    fn put(&self, name: &str, bytes: &[u8], tag: &str) {
        let object = (bytes.to_vec().into(), tag.to_owned());
        self.bucket.objects.lock().insert(name.to_owned(), object);
    }

    /// Changes the bytes of an object, and nothing else of it.
    fn damage(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let mut objects = self.bucket.objects.lock();
        let (bytes, _) = objects.get_mut(name).expect("an object");
        let mut other = bytes.to_vec();
        change(&mut other);
        *bytes = other.into();
    }

    fn remove(&self, name: &str) {
        self.bucket.objects.lock().remove(name).expect("it was there");
    }

    fn names(&self) -> Vec<String> {
        self.bucket.objects.lock().keys().cloned().collect()
    }

    fn see(&self) -> BucketCheckReport {
        check_bucket(&*self.bucket, &wanted(), false).expect("looked at")
    }

    fn repair(&self) -> Result<BucketCheckReport, BucketError> {
        check_bucket(&*self.bucket, &wanted(), true)
    }

    /// Where the bytes of every file are, as who opens it is told.
    fn known(&self) -> Vec<String> {
        let bucket = Arc::clone(&self.bucket) as Arc<dyn Bucket>;
        let (_, tree) = Log::open(bucket, "reader".to_owned()).expect("the log is whole");
        let mut all: Vec<_> = tree.files().map(|file| format!("{file:?}")).collect();
        all.sort();
        all
    }
}

trait Dir {
    fn dir(&self) -> std::os::fd::OwnedFd;
}

impl Dir for Path {
    fn dir(&self) -> std::os::fd::OwnedFd {
        openat(CWD, self, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).expect("opened")
    }
}

fn wanted() -> WriterOptions {
    WriterOptions {
        url: "memory://here/volume".to_owned(),
        settings: Vec::new().into(),
        state: "/nowhere".into(),
        me: "checker".to_owned(),
        host: "node7".to_owned(),
        now: 0,
        take_over: false,
        space: None,
        durable: FsyncTarget::Local,
        rules: Arc::new(BucketRules::none()),
        patience: Default::default(),
    }
}

/// Each finding in a line.
fn told(checked: &BucketCheckReport) -> Vec<String> {
    let line = |finding: &BucketFinding| format!("{}: {}", finding.path.display(), finding.what);
    checked.findings.iter().map(line).collect()
}

#[track_caller]
fn says(checked: &BucketCheckReport, expected: &[(&str, &str)]) {
    let told = told(checked);
    assert_eq!(told.len(), expected.len(), "{told:#?}");
    for (line, (path, what)) in told.iter().zip(expected) {
        assert!(line.starts_with(&format!("{path}: ")) && line.contains(what), "{line}: {what}");
    }
}

#[test]
fn a_whole_volume_is_said_to_be_whole() {
    let mut volume = Volume::new();
    std::fs::rename(volume.at("a/large"), volume.at("b/moved")).expect("renamed");
    volume.cut();
    volume.cut();
    let checked = volume.see();
    says(&checked, &[]);
    let large = 2 * LARGEST + 3;
    assert_eq!((checked.own, checked.packed), ((2, large), (2, 8)));
    assert!(checked.orphans.is_empty() && checked.foreign.is_empty(), "{checked:?}");
    assert!(checked.unneeded.is_empty() && checked.mounted.is_none(), "{checked:?}");
    let empty = check_bucket(&*Memory::new(), &wanted(), true).expect_err("no volume");
    assert!(empty.to_string().contains("no volume"), "{empty}");
}

#[test]
fn damage_of_files_is_told_by_all_their_names() {
    let volume = Volume::new();
    let before = volume.names();
    volume.remove("a/large");
    says(&volume.see(), &[("a/large", "object a/large is missing")]);
    volume.put("a/large", &[1; LARGEST as usize + 7], "");
    says(&volume.see(), &[("a/large", "has 131079 bytes and not 131073")]);
    volume.put("a/large", &[3; LARGEST as usize + 1], "");
    says(&volume.see(), &[("a/large", "its ETag is another")]);
    let tag = volume.bucket.objects.lock()["a/other"].1.clone();
    volume.put("a/large", &[3; LARGEST as usize + 1], &tag);
    says(&volume.see(), &[("a/large", "is another file's")]);
    volume.put("a/other", &[4; LARGEST as usize + 2], &tag);
    volume.put("a/large", &[1; LARGEST as usize + 1], "");
    says(&volume.see(), &[("a/other", "is newer than the log")]);
    volume.put("a/other", &[2; LARGEST as usize + 2], &tag);
    says(&volume.see(), &[]);
    assert_eq!(volume.names(), before);
    // One byte of one small file, which has two names; its neighbour is well.
    let flip = |bytes: &mut Vec<u8>| {
        let at = bytes.windows(4).rposition(|four| four == b"ACGT").expect("its bytes");
        bytes[at + 2] ^= 1;
    };
    volume.damage(&segment_key(1), flip);
    let place = "they are damaged in .forebay/log/0000000000000001";
    says(&volume.see(), &[("a/small", place), ("b/linked", place)]);
    assert!(volume.repair().expect("nothing to sweep").findings.len() == 2);
    // The checksums of an object: its own bytes are there.
    volume.damage(&segment_key(1), |bytes| {
        let at = bytes.windows(4).rposition(|four| four == b"ACFT").expect("its bytes");
        bytes[at + 2] ^= 1;
    });
    let sum = crc32fast::hash(&[1; 64 << 10]).to_le_bytes();
    volume.damage(&segment_key(1), |bytes| {
        let at = bytes.windows(4).rposition(|four| four == sum).expect("its checksums");
        bytes[at] ^= 1;
    });
    says(&volume.see(), &[("a/large", "its checksums are gone: they are damaged")]);
}

#[test]
fn a_copy_of_which_all_objects_have_other_etags_is_whole() {
    let volume = Volume::new();
    volume.bucket.is_a_copy();
    says(&volume.see(), &[]);
    // By their checksums, and not because they are as long.
    volume.damage("a/large", |bytes| bytes[100_000] ^= 1);
    says(&volume.see(), &[("a/large", "newer than the log")]);
}

#[test]
fn of_a_damaged_log_it_is_said_how_far_it_is_read() {
    let mut volume = Volume::new();
    volume.write("late", &[5; LARGEST as usize + 5]);
    volume.cut();
    volume.write("later", b"GG");
    volume.cut();
    let whole = volume.names();
    volume.damage(&segment_key(2), |bytes| bytes[50] ^= 1);
    let checked = volume.repair().expect("nothing is swept");
    let log = ".forebay/log/0000000000000002";
    says(&checked, &[(log, "up to segment 0000000000000001"), ("late", "or an orphan")]);
    assert_eq!(volume.names(), whole, "nothing goes that may be needed");
    volume.remove(&segment_key(2));
    says(&volume.see(), &[(log, "it is missing"), ("late", "or an orphan")]);
    // All of the log gone but a segment: nothing is an orphan then.
    volume.remove(&segment_key(0));
    let checked = volume.repair().expect("nothing is swept");
    assert!(told(&checked)[0].contains("names of all files are unknown"), "{checked:?}");
    assert!(checked.orphans.is_empty() && checked.findings.len() == 4, "{checked:?}");
    assert!(volume.names().contains(&"late".to_owned()));
}

#[test]
fn a_segment_that_is_cut_off_or_gone_takes_its_files_and_no_others() {
    let mut volume = Volume::new();
    volume.cuts(130);
    volume.write("b/young", b"CC");
    volume.cut();
    // It is below the last checkpoint, and there for its data.
    volume.damage(&segment_key(1), |bytes| bytes.truncate(bytes.len() - 1));
    let checked = volume.see();
    assert_eq!(checked.findings.len(), 1, "{checked:?}");
    volume.remove(&segment_key(1));
    let gone = "0000000000000001 is missing";
    let sums = "its checksums are gone: .forebay/log/0000000000000001 is missing";
    let objects = [("a/large", sums), ("a/other", sums)];
    says(
        &volume.see(),
        &[&objects[..], &[("a/small", gone), ("b/linked", gone), ("b/tiny", gone)]].concat(),
    );
}

#[test]
fn what_nothing_needs_is_swept_and_nothing_else() {
    let mut volume = Volume::new();
    volume.cuts(200);
    let tag = "volume 77 1.000000000 2.000000000";
    volume.put("b/stray", b"left over", tag);
    volume.put(".forebay/moving/4d", b"left over", tag);
    let kept = [
        ("theirs.txt", ""),
        ("published.txt", "mtime 1.000000000"),
        ("inner/.forebay/log/0000000000000000", "someone 0"),
        ("inner/deep/file", tag),
    ];
    kept.iter().for_each(|(name, tag)| volume.put(name, b"not ours", tag));
    let (before, seen) = (volume.known(), volume.see());
    says(&seen, &[]);
    let orphans: Vec<_> = seen.orphans.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(orphans, [".forebay/moving/4d", "b/stray"]);
    assert_eq!(seen.foreign.len(), kept.len());
    // Checkpoints are after 64, 128 and 192 segments; the first, and segments below the second, go,
    // but for those with bytes of files and that which tells who wrote.
    assert_eq!(seen.unneeded.len(), 1 + 128 - 2, "{:?}", seen.unneeded);
    let mut expected = volume.names();
    expected.retain(|name| {
        let swept = seen.orphans.iter().chain(&seen.unneeded);
        swept.into_iter().all(|(other, _)| other != name)
    });
    assert!(expected.contains(&segment_key(0)) && expected.contains(&segment_key(1)));
    let repaired = volume.repair().expect("nobody has it mounted");
    assert_eq!((repaired.orphans.len(), repaired.unneeded.len()), (2, 127));
    assert_eq!(volume.names(), expected);
    assert_eq!(volume.known(), before);
    let seen = volume.see();
    says(&seen, &[]);
    assert!(seen.orphans.is_empty() && seen.unneeded.is_empty(), "{seen:?}");
    // Where the last checkpoint is damaged, the one before leads to the same tree.
    let last = volume.names().into_iter().rfind(|name| name.contains("checkpoint"));
    let last = last.expect("checkpoints");
    volume.damage(&last, |bytes| bytes[60] ^= 1);
    says(&volume.see(), &[(&last, "it is not what was written")]);
    volume.remove(&last);
    assert_eq!(volume.known(), before);
}

#[test]
fn a_repair_that_ends_anywhere_harms_nothing() {
    let mut volume = Volume::new();
    volume.cuts(129);
    volume.put("stray", b"left over", "volume 77 1.000000000 2.000000000");
    let (before, objects) = (volume.known(), volume.bucket.objects.lock().clone());
    for stop in 0.. {
        volume.bucket.objects.lock().clone_from(&objects);
        volume.bucket.lives(Some(stop));
        let done = volume.repair();
        volume.bucket.lives(None);
        assert_eq!(volume.known(), before, "{stop}");
        says(&volume.see(), &[]);
        let Err(trouble) = done else { break };
        assert!(trouble.to_string().contains("killed"), "{trouble}");
        // The note first, and then the orphan.
        assert_eq!(volume.names().contains(&"stray".to_owned()), stop < 2, "{stop}");
    }
}

#[test]
fn nothing_is_swept_while_somebody_has_it_mounted() {
    let volume = Volume::new();
    volume.put("stray", b"left over", "volume 77 1.000000000 2.000000000");
    let note = VolumeWriter { me: "other".to_owned(), host: "node3".to_owned(), since: 5 };
    assert_eq!(note.claim_if_free(&*volume.bucket).expect("written"), None);
    let Err(BucketError::Taken(writer)) = volume.repair() else { panic!("it must be refused") };
    assert_eq!(writer, note);
    assert!(volume.names().contains(&"stray".to_owned()));
    assert_eq!(volume.see().mounted, Some(note));
    // Who was replaced finds its number taken, however much was swept.
    volume.remove(".forebay/writer");
    let mut first = Log::open(Arc::clone(&volume.bucket) as Arc<dyn Bucket>, "old".to_owned());
    let (first, _) = first.as_mut().expect("opened");
    let mut volume = volume;
    let (mut second, _) =
        Log::open(Arc::clone(&volume.bucket) as Arc<dyn Bucket>, "new".to_owned()).expect("opened");
    second.begin_as_writer("new").expect("it takes over");
    let root = openat(CWD, volume.folder.path(), OFlags::RDONLY, Mode::empty()).expect("opened");
    let tree = Log::open(Arc::clone(&volume.bucket) as Arc<dyn Bucket>, "new".to_owned());
    let scan = TreeScanner::new(root).expect("a root");
    let requests = Arc::clone(&volume.bucket) as Arc<dyn Bucket>;
    volume.ship = CommitUploader::for_tree(
        requests,
        (second, tree.expect("opened").1),
        scan,
        "new".to_owned(),
    );
    volume.cut();
    volume.cuts(130);
    assert!(volume.repair().expect("swept").unneeded.len() > 50);
    let mut draft = SegmentDraft::default();
    draft.append_record(&TreeRecord::Cut);
    let late = first
        .write_segment(draft.encode_segment(first.next_segment()).into())
        .expect_err("shut out");
    assert_eq!(late.kind, ErrorKind::AlreadyExists);
}
