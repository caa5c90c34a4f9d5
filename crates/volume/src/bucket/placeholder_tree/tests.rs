//! A machine that has nothing of a volume makes placeholders, and fills them.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::CWD;

use super::super::fetch::ContentFetcher;
use super::super::log::Log;
use super::super::memory::Memory;
use super::super::placeholder::{is_evicted, mark_present};
use super::super::request::Bucket;
use super::super::scan::ScanResult;
use super::super::tree_record::TreeRecord;
use super::*;

fn top(path: &Path) -> OwnedFd {
    openat(CWD, path, INTO, Mode::empty()).expect("opened")
}

/// A tree in a bucket.
fn shipped(root: &Path) -> Arc<Memory> {
    let bucket = Memory::new();
    let shared = Arc::clone(&bucket) as Arc<dyn Bucket>;
    let (mut log, mut tree) = Log::open(shared, "writer".to_owned()).expect("empty");
    let (mut scan, mut found) =
        (TreeScanner::new(top(root)).expect("a root"), ScanResult::default());
    scan.scan_tree((&mut tree, &mut found), &|_| false).expect("scanned");
    found.draft.append_record(&TreeRecord::Cut);
    log.write_segment(found.draft.encode_segment(log.next_segment()).into()).expect("written");
    bucket
}

#[test]
fn a_machine_that_has_nothing_shows_all_and_gets_bytes_when_they_are_read() {
    let (one, other) = (tempfile::tempdir().expect("made"), tempfile::tempdir().expect("made"));
    let at = |name: &str| one.path().join(name);
    std::fs::create_dir_all(at("a/b")).expect("made");
    for number in 0..50 {
        std::fs::write(at(&format!("a/b/{number}")), format!("file {number}")).expect("written");
    }
    std::fs::write(at("empty"), "").expect("written");
    std::fs::hard_link(at("a/b/7"), at("seven")).expect("linked");
    std::os::unix::fs::symlink("a/b/1", at("link")).expect("linked");
    std::fs::set_permissions(at("a/b/3"), PermissionsExt::from_mode(0o640)).expect("set");
    let bucket = shipped(one.path());
    let shared = Arc::clone(&bucket) as Arc<dyn Bucket>;
    let (_, mut tree) = Log::open(Arc::clone(&shared), "reader".to_owned()).expect("whole");
    let root = top(other.path());
    let mut scan = TreeScanner::new(top(other.path())).expect("a root");
    make_placeholder_tree(&root, &tree, &mut scan).expect("a file system with attributes");

    let there = |name: &str| other.path().join(name);
    let meta = |path: &Path| {
        let meta = std::fs::symlink_metadata(path).expect("there");
        (meta.len(), meta.mode(), meta.mtime(), meta.mtime_nsec(), meta.nlink())
    };
    for name in ["a/b/3", "a/b/7", "seven", "link", "empty", "a/b"] {
        assert_eq!(meta(&there(name)), meta(&at(name)), "{name}");
    }
    assert_eq!(std::fs::metadata(there("a/b/3")).expect("there").blocks(), 0, "a hole");
    // Nothing of it counts as a change.
    let mut found = ScanResult::default();
    scan.scan_tree((&mut tree, &mut found), &|_| false).expect("scanned");
    assert!(found.draft.is_empty(), "{:?}", found.draft);

    let fetch = ContentFetcher::new(shared);
    for number in 0..50 {
        let path = there(&format!("a/b/{number}"));
        let file = OwnedFd::from(
            std::fs::File::options().write(true).read(true).open(&path).expect("opened"),
        );
        assert!(is_evicted(&file));
        let ino = tree.lookup_path(format!("a/b/{number}").as_bytes()).expect("known");
        let known = tree.file(ino).expect("known");
        let bytes = fetch.read_packed(&known.place).expect("fetched");
        rustix::io::pwrite(&file, &bytes, 0).expect("written");
        mark_present(&file, known.attr.mtime).expect("marked");
        assert!(!is_evicted(&file));
        assert_eq!(std::fs::read_to_string(&path).expect("read"), format!("file {number}"));
        assert_eq!(meta(&path), meta(&at(&format!("a/b/{number}"))));
    }
}
