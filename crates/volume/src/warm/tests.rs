//! Walking trees without a kernel. If these fail, `forebay warm` leaves files out, or follows a link
//! out of the tree.

use std::os::fd::OwnedFd;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

use super::source::FoundFile;
use super::tree_walk::TreeWalk;
use crate::backend::InPlace;

fn open(path: &std::path::Path) -> OwnedFd {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(CWD, path, flags, Mode::empty()).expect("a directory")
}

#[test]
fn all_files_below_are_found_and_no_link_is_followed() {
    let folder = tempfile::tempdir().expect("a directory");
    let at = |path: &str| folder.path().join(path);
    std::fs::create_dir_all(at("tree/a/b")).expect("made");
    std::fs::create_dir(at("outside")).expect("made");
    for (path, text) in
        [("tree/x", "1"), ("tree/a/y", "22"), ("tree/a/b/z", ""), ("outside/w", "w")]
    {
        std::fs::write(at(path), text).expect("written");
    }
    std::os::unix::fs::symlink(at("outside"), at("tree/a/link")).expect("made");
    std::os::unix::fs::symlink("x", at("tree/also")).expect("made");
    let root = open(&at("tree"));
    let walk = TreeWalk { root: &root, backend: &InPlace };
    let look = |path: &str| {
        let (mut found, mut failed) = (Vec::new(), Vec::new());
        walk.for_each_file(
            path.as_bytes(),
            &mut |FoundFile { path, size }| {
                found.push((String::from_utf8(path).expect("a name"), size));
            },
            &mut |path, errno| failed.push((String::from_utf8_lossy(path).into_owned(), errno)),
        );
        found.sort();
        (found, failed)
    };
    let file = |path: &str, size| (path.to_owned(), size);
    let all = [file("a/b/z", 0), file("a/y", 2), file("x", 1)];
    assert_eq!(look(""), (all.to_vec(), Vec::new()));
    assert_eq!(look("a/y"), (vec![file("a/y", 2)], Vec::new()));
    assert_eq!(look("a/b/"), (vec![file("a/b/z", 0)], Vec::new()));
    for (path, errno) in [
        ("none", Errno::NOENT),
        ("a/link/w", Errno::NOTDIR),
        ("also", Errno::LOOP),
        ("../outside/w", Errno::INVAL),
        ("a/../x", Errno::INVAL),
        ("x/y", Errno::NOTDIR),
    ] {
        let failed = vec![(path.to_owned(), errno)];
        assert_eq!(look(path), (Vec::new(), failed), "{path}");
    }
}
