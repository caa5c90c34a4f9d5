//! What a scan finds: everything once, then what changed, and not what is being written.

use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::fs::{Mode, openat};

use super::super::tree_record::TreeRecord;
use super::*;

struct Local {
    folder: tempfile::TempDir,
    scan: TreeScanner,
    tree: VolumeTree,
}

impl Local {
    fn new() -> Local {
        let folder = tempfile::tempdir().expect("a folder");
        let root = openat(rustix::fs::CWD, folder.path(), INTO, Mode::empty()).expect("opened");
        let scan = TreeScanner::new(root).expect("a root");
        Local { folder, scan, tree: VolumeTree::default() }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// One cut of everything; tells what was found.
    fn all(&mut self) -> (usize, Vec<PendingFile>) {
        let mut found = ScanResult::default();
        let turn = (&mut self.tree, &mut found);
        self.scan.scan_tree(turn, &|_| false).expect("scanned");
        self.end(found)
    }

    fn some(&mut self, names: &[(&str, &CStr)]) -> (usize, Vec<PendingFile>) {
        let mut found = ScanResult::default();
        for (path, name) in names {
            let turn = (&mut self.tree, &mut found);
            self.scan.scan_entry(turn, path.as_bytes(), name, &|_| false).expect("scanned");
        }
        self.end(found)
    }

    fn end(&mut self, found: ScanResult) -> (usize, Vec<PendingFile>) {
        self.tree.apply_record(&TreeRecord::Cut);
        let length = if found.draft.is_empty() { 0 } else { found.draft.encoded_length() };
        (length, found.large)
    }

    /// Names and sizes, as the bucket knows them.
    fn known(&self) -> Vec<(String, u64)> {
        fn below(tree: &VolumeTree, ino: u64, path: &str, all: &mut Vec<(String, u64)>) {
            let Some(file) = tree.file(ino) else { return };
            for (name, ino) in &file.names {
                let path = format!("{path}/{}", String::from_utf8_lossy(name.as_bytes()));
                all.push((path.clone(), tree.file(*ino).map_or(0, |file| file.place.size())));
                below(tree, *ino, &path, all);
            }
        }
        let mut all = Vec::new();
        below(&self.tree, ROOT, "", &mut all);
        all
    }
}

fn known(names: &[(&str, u64)]) -> Vec<(String, u64)> {
    names.iter().map(|(name, size)| ((*name).to_owned(), *size)).collect()
}

#[test]
fn everything_is_found_once_and_then_only_what_changed() {
    let mut local = Local::new();
    std::fs::create_dir_all(local.path().join("a/b")).expect("made");
    std::fs::write(local.path().join("a/b/one"), "1").expect("written");
    std::fs::hard_link(local.path().join("a/b/one"), local.path().join("two")).expect("linked");
    symlink("a/b", local.path().join("link")).expect("linked");
    std::fs::write(local.path().join("big"), vec![7; 200_000]).expect("written");
    let (_, large) = local.all();
    assert_eq!(large.len(), 1);
    let expected =
        known(&[("/a", 0), ("/a/b", 0), ("/a/b/one", 1), ("/big", 0), ("/link", 0), ("/two", 1)]);
    assert_eq!(local.known(), expected);
    local.scan.record_stamp(large[0].ino, large[0].stamp);
    assert_eq!(local.all(), (0, Vec::new()), "nothing has changed");
    std::fs::rename(local.path().join("a/b"), local.path().join("c")).expect("renamed");
    std::fs::write(local.path().join("c/new"), "123").expect("written");
    std::fs::remove_file(local.path().join("two")).expect("removed");
    let names = [("c", c"new"), ("a", c"b"), ("", c"c"), ("", c"two"), ("gone", c"x")];
    local.some(&names);
    let expected =
        known(&[("/a", 0), ("/big", 0), ("/c", 0), ("/c/new", 3), ("/c/one", 1), ("/link", 0)]);
    assert_eq!(local.known(), expected);
}

#[test]
fn a_file_that_is_written_just_now_counts_as_it_was() {
    let mut local = Local::new();
    std::fs::write(local.path().join("log"), "1").expect("written");
    local.all();
    std::fs::write(local.path().join("log"), "12345").expect("written");
    let mut found = ScanResult::default();
    let turn = (&mut local.tree, &mut found);
    local.scan.scan_entry(turn, b"", c"log", &|_| true).expect("scanned");
    local.end(found);
    assert_eq!(local.known(), known(&[("/log", 1)]));
    local.some(&[("", c"log")]);
    assert_eq!(local.known(), known(&[("/log", 5)]));
}
