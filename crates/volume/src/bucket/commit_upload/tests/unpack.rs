//! What Python's standard library makes of a volume without Forebay. If these fail, a bucket alone
//! is not enough to get files back.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{DirBuilder, Permissions, hard_link, set_permissions, write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, UNIX_EPOCH};

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::super::super::memory::Memory;
use super::super::super::scan::LARGEST;
use super::super::super::segment::{HEADER, SegmentDraft};
use super::super::*;
use super::{open_in, ship};

/// A volume, and what is in its bucket as `aws s3 sync` brings it.
struct Volume {
    all: tempfile::TempDir,
    bucket: Arc<Memory>,
    ship: CommitUploader,
}

impl Volume {
    fn new() -> Volume {
        let (bucket, all) = (Memory::new(), tempfile::tempdir().expect("a folder"));
        std::fs::create_dir(all.path().join("tree")).expect("made");
        let ship = ship(&bucket, &all.path().join("tree"));
        Volume { all, bucket, ship }
    }

    fn tree(&self) -> PathBuf {
        self.all.path().join("tree")
    }

    fn cut(&mut self) {
        self.ship.make_commit(None, &|_| false).expect("looked at");
        self.ship.upload_commit(&open_in(&self.tree())).expect("shipped");
    }

    /// Of all kinds, with names of all kinds.
    fn fill(&self) {
        let at = |name: &str| self.tree().join(name);
        std::fs::create_dir_all(at("runs/1/deep")).expect("made");
        DirBuilder::new().mode(0o2750).create(at("empty dir")).expect("made");
        write(at("runs/1/small"), "ACGT\n").expect("written");
        write(at("runs/1/nothing"), "").expect("written");
        write(at("runs/1/deep/large.bam"), vec![7; LARGEST as usize + 9]).expect("written");
        write(at("é 日本 [1] ~#?*"), vec![8; LARGEST as usize + 1]).expect("written");
        for odd in [&b"not \xff utf8\n%41"[..], b"too \xfe large"] {
            let length = if odd.starts_with(b"too") { LARGEST as usize + 2 } else { 3 };
            write(self.tree().join(OsStr::from_bytes(odd)), vec![9; length]).expect("written");
        }
        std::fs::create_dir_all(at(".forebay/log")).expect("made");
        write(at(".forebay/log/0000000000000000"), vec![1; 300_000]).expect("written");
        for (from, to) in [("runs/1/small", "same"), ("runs/1/deep/large.bam", "runs/large too")] {
            hard_link(at(from), at(to)).expect("linked");
        }
        symlink("runs/1/small", at("link")).expect("linked");
        symlink("../no\nwhere", at("runs/dangling")).expect("linked");
        hard_link(at("link"), at("runs/link too")).expect("linked");
        let mode = Mode::from_raw_mode(0o640);
        mknodat(CWD, at("pipe"), FileType::Fifo, mode, 0).expect("made");
        for (name, mode) in [("runs/1/small", 0o400), ("é 日本 [1] ~#?*", 0o751), ("runs/1", 0o700)]
        {
            set_permissions(at(name), Permissions::from_mode(mode)).expect("set");
        }
        // Before 1970, and of all nine digits.
        let early = UNIX_EPOCH - Duration::new(86_400 * 365, 1);
        for (name, time) in [("same", early), ("runs", UNIX_EPOCH + Duration::new(1 << 32, 9))] {
            let file = std::fs::File::open(at(name)).expect("opened");
            file.set_modified(time).expect("set");
        }
    }

    fn change(&self) {
        let at = |name: &str| self.tree().join(name);
        std::fs::rename(at("runs/1/deep"), at("moved")).expect("renamed");
        std::fs::remove_file(at("pipe")).expect("removed");
        write(at("é 日本 [1] ~#?*"), "small now").expect("written");
        write(at("moved/new"), vec![3; 100_000]).expect("written");
    }

    fn download(&self) -> PathBuf {
        let to = self.all.path().join("downloaded");
        for (name, (bytes, _)) in self.bucket.objects.lock().iter() {
            let path = to.join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            write(path, bytes).expect("written");
        }
        to
    }

    fn unpack(&self) -> (Output, PathBuf) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/unpack-volume.py");
        let to = self.all.path().join("restored");
        let mut python = Command::new("python3");
        python.arg(script).arg(self.all.path().join("downloaded")).arg(&to);
        (python.output().expect("Python is there"), to)
    }
}

/// What tells two trees apart: of each file its mode, owner, time, content in brief, and the first
/// path of the same file.
fn tree(root: &Path) -> BTreeMap<Vec<u8>, String> {
    let (mut all, mut first) = (BTreeMap::new(), BTreeMap::new());
    let mut paths = vec![root.to_owned()];
    while let Some(folder) = paths.pop() {
        let mut names: Vec<_> = std::fs::read_dir(folder).expect("read").flatten().collect();
        names.sort_by_key(std::fs::DirEntry::path);
        for entry in names {
            let (path, stat) = (entry.path(), entry.metadata().expect("there"));
            let kind = stat.file_type();
            let content = match () {
                () if kind.is_symlink() => format!("{:?}", std::fs::read_link(&path)),
                () if kind.is_file() => {
                    let bytes = std::fs::read(&path).expect("read");
                    format!("{} {:08x}", bytes.len(), crc32fast::hash(&bytes))
                }
                () => String::new(),
            };
            let name = path.strip_prefix(root).expect("below").as_os_str().as_bytes().to_vec();
            let same = first.entry(stat.ino()).or_insert_with(|| name.clone());
            let (mode, owner) = (stat.mode(), (stat.uid(), stat.gid()));
            let time = (stat.mtime(), stat.mtime_nsec());
            let same = String::from_utf8_lossy(same);
            all.insert(name, format!("{mode:o} {owner:?} {time:?} {content} {same}"));
            if kind.is_dir() {
                paths.push(path);
            }
        }
    }
    all
}

#[track_caller]
fn same(volume: &Volume) {
    volume.download();
    let (end, restored) = volume.unpack();
    let said = String::from_utf8_lossy(&end.stderr);
    assert_eq!((end.status.code(), said.as_ref()), (Some(0), ""));
    assert_eq!(tree(&restored), tree(&volume.tree()));
}

#[test]
fn a_downloaded_volume_becomes_files_without_forebay() {
    let mut volume = Volume::new();
    volume.fill();
    volume.cut();
    volume.change();
    volume.cut();
    same(&volume);
}

#[test]
fn a_checkpoint_and_what_follows_become_files_without_the_log_before() {
    let mut volume = Volume::new();
    volume.fill();
    volume.cut();
    volume.ship.log.write_checkpoint(&volume.ship.tree).expect("written");
    volume.change();
    volume.cut();
    // One without a cut does not count.
    let mut draft = SegmentDraft::default();
    draft.append_record(&TreeRecord::Gone { folder: 1, name: b"moved" });
    let number = volume.ship.log.next_segment();
    volume.ship.log.write_segment(draft.encode_segment(number).into()).expect("written");
    // The records before it are not read; the bytes beside them are.
    let downloaded = volume.download();
    let first = downloaded.join(".forebay/log/0000000000000000");
    let mut bytes = std::fs::read(&first).expect("read");
    bytes[HEADER] ^= 1;
    let name = ".forebay/log/0000000000000000".to_owned();
    volume.bucket.objects.lock().insert(name, (bytes.into(), String::new()));
    same(&volume);
}

#[test]
fn what_is_damaged_is_told_and_all_else_is_there() {
    let mut volume = Volume::new();
    volume.fill();
    volume.cut();
    let downloaded = volume.download();
    std::fs::remove_file(downloaded.join("é 日本 [1] ~#?*")).expect("removed");
    write(downloaded.join("too %FE large"), "short").expect("written");
    // Of the right length, with one wrong byte in its last block.
    let names = ["runs/1/deep/large.bam", "runs/large too"].map(|name| downloaded.join(name));
    let object = names.iter().find(|name| name.exists()).expect("one of the names has it");
    let mut bytes = std::fs::read(object).expect("read");
    bytes[LARGEST as usize + 3] ^= 1;
    write(object, bytes).expect("written");
    let log = downloaded.join(".forebay/log/0000000000000000");
    let mut bytes = std::fs::read(&log).expect("read");
    let small = bytes.windows(5).rposition(|five| five == b"ACGT\n").expect("there");
    bytes[small] = b'N';
    write(&log, &bytes).expect("written");
    let (end, restored) = volume.unpack();
    let said = String::from_utf8_lossy(&end.stderr).into_owned();
    assert_eq!(end.status.code(), Some(1), "{said}");
    for words in [
        "its object é 日本 [1] ~#?* is missing",
        "has 5 bytes",
        "runs/1/small: its bytes",
        "are not those that were written",
    ] {
        assert!(said.contains(words), "{words:?} is not in:\n{said}");
    }
    let (mut before, after) = (tree(&volume.tree()), tree(&restored));
    let damaged: [&[u8]; 6] = [
        "é 日本 [1] ~#?*".as_bytes(),
        b"too \xfe large",
        b"runs/1/small",
        b"same",
        b"runs/1/deep/large.bam",
        b"runs/large too",
    ];
    for name in damaged {
        assert!(before.remove(name).is_some(), "{name:?}");
    }
    assert_eq!(after, before);
    // Records that can't be read: the cut before is what there is.
    std::fs::remove_dir_all(&restored).expect("removed");
    volume.change();
    volume.cut();
    volume.download();
    let second = downloaded.join(".forebay/log/0000000000000001");
    let mut bytes = std::fs::read(&second).expect("read");
    bytes[HEADER + 1] ^= 1;
    write(&second, bytes).expect("written");
    let (end, restored) = volume.unpack();
    let said = String::from_utf8_lossy(&end.stderr);
    assert_eq!(end.status.code(), Some(1), "{said}");
    assert!(said.contains("0000000000000001: it is damaged"), "{said}");
    assert!(restored.join("runs/1/small").exists() && !restored.join("moved").exists());
}
