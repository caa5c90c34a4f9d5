//! A prefix is shown without a kernel. If these failed, a program would read bytes of two states of
//! an object, or wait for folders that nobody looked into.

use std::ffi::CString;
use std::path::Path;

use bytes::Bytes;
use rustix::fs::{CWD, Mode, OFlags, openat};

use super::super::file_blocks::BLOCK;
use super::super::memory::Memory;
use super::*;
use crate::backend::Backend;
use crate::native::{Native, ROOT};

struct Shown {
    native: Native,
    prefix: Arc<Prefix>,
}

fn show(bucket: &Arc<Memory>, state: &Path) -> Shown {
    let ways = BucketAccess { settings: BucketSettings::default(), state: state.to_owned() };
    let folder = bucket.list_with_delimiter("").expect("listed");
    let lent = attach_listed(&folder, "s3://lab/p", &ways).expect("a file system with attributes");
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = openat(CWD, lent.tree_directory(), flags, Mode::empty()).expect("opened");
    let prefix = Arc::new(Prefix::with_bucket(Arc::clone(bucket) as Arc<dyn Bucket>, lent));
    let native =
        Native::new(root, crate::native::NativeSettings::default(), Box::new(|_| Arc::from([])));
    let native = native.expect("statx works").with_backend(Arc::clone(&prefix) as Arc<dyn Backend>);
    Shown { native, prefix }
}

impl Shown {
    fn walk(&self, path: &str) -> Result<u64, Errno> {
        path.split('/').filter(|name| !name.is_empty()).try_fold(ROOT, |node, name| {
            let found = self.native.lookup(node, &CString::new(name).expect("a name"))?.0.node;
            if found == 0 { Err(Errno::NOENT) } else { Ok(found) }
        })
    }

    fn names(&self, path: &str) -> Result<Vec<String>, Errno> {
        let opened = self.native.opendir(self.walk(path)?)?;
        let mut names = Vec::new();
        self.native.dir_handle(opened)?.reader.lock().for_each_entry_from(0, |entry| {
            names.push(entry.name.to_string_lossy().into_owned());
            true
        })?;
        self.native.releasedir(opened);
        names.retain(|name| !matches!(name.as_str(), "." | ".."));
        names.sort();
        Ok(names)
    }

    fn read(&self, path: &str, at: u64, length: usize) -> Result<Vec<u8>, Errno> {
        let (opened, _) = self.native.open(self.walk(path)?, libc::O_RDONLY as u32)?;
        let mut buffer = vec![0; length];
        let handle = self.native.handle(opened.fh)?;
        let read = self.native.read(&handle, &mut buffer, at, false);
        drop(handle);
        self.native.release(opened.fh);
        buffer.truncate(read?);
        Ok(buffer)
    }
}

fn put(bucket: &Memory, key: &str, bytes: impl Into<Bytes>) {
    bucket.objects.lock().insert(key.to_owned(), (bytes.into(), String::new()));
}

fn asked(bucket: &Memory) -> Vec<String> {
    let mut asked = std::mem::take(&mut *bucket.asked.lock());
    asked.sort();
    asked
}

fn long(byte: u8) -> Vec<u8> {
    (0..BLOCK * 5 + 9).map(|at| byte ^ (at % 251) as u8).collect()
}

#[test]
fn a_folder_is_listed_when_somebody_looks_into_it_and_bytes_come_when_they_are_read() {
    let (bucket, state) = (Memory::new(), tempfile::tempdir().expect("made"));
    put(&bucket, "a/b/x", "one");
    put(&bucket, "a/b/c/deep", "two");
    put(&bucket, "a/long", long(1));
    put(&bucket, "other/y", "three");
    put(&bucket, "empty", "");
    let shown = show(&bucket, state.path());
    assert_eq!(asked(&bucket), ["/"]);
    assert_eq!(shown.names(""), Ok(vec!["a".into(), "empty".into(), "other".into()]));
    assert_eq!(asked(&bucket), [""; 0], "it was listed when it was lent");
    assert_eq!(shown.read("a/b/x", 0, 9), Ok(b"one".to_vec()));
    assert_eq!(asked(&bucket), ["a/", "a/b/", "a/b/x 0..3"], "and neither other nor a/b/c");
    assert_eq!(shown.walk("a/b/none"), Err(Errno::NOENT));
    assert_eq!(shown.read("empty", 0, 9), Ok(Vec::new()));
    assert_eq!(shown.names("a/b"), Ok(vec!["c".into(), "x".into()]));
    let part = (BLOCK * 2) as usize + 7;
    assert_eq!(shown.read("a/long", part as u64, 5).as_deref(), Ok(&long(1)[part..part + 5]));
    let block = format!("a/long {}..{}", 2 * BLOCK, 3 * BLOCK);
    assert_eq!(asked(&bucket), [block], "a block, and no listing again");
    assert_eq!(shown.prefix.finish_serving(), [""; 0], "nothing is to be told");
}

#[test]
fn what_came_is_kept_as_long_as_the_object_is_the_same() {
    let (bucket, state) = (Memory::new(), tempfile::tempdir().expect("made"));
    put(&bucket, "d/same", "as before");
    put(&bucket, "d/long", long(1));
    put(&bucket, "d/other", "before");
    put(&bucket, "d/gone", "before");
    put(&bucket, "d/folder/x", "before");
    let read = |shown: &Shown, name: &str| shown.read(&format!("d/{name}"), 0, 99);
    let shown = show(&bucket, state.path());
    for name in ["same", "other", "gone", "folder/x"] {
        read(&shown, name).expect("read");
    }
    drop(shown);
    put(&bucket, "d/other", "after!");
    put(&bucket, "d/new", "after");
    put(&bucket, "d/folder", "a file now");
    bucket.objects.lock().retain(|key, _| key != "d/gone" && key != "d/folder/x");
    asked(&bucket);
    let shown = show(&bucket, state.path());
    assert_eq!(
        shown.names("d"),
        Ok(["folder", "long", "new", "other", "same"].map(String::from).to_vec())
    );
    assert_eq!(read(&shown, "same"), Ok(b"as before".to_vec()));
    assert_eq!(asked(&bucket), ["/", "d/"], "it was here");
    assert_eq!(read(&shown, "other"), Ok(b"after!".to_vec()));
    assert_eq!(read(&shown, "folder"), Ok(b"a file now".to_vec()));
    // Of a long one what was read.
    let block = |at: u64, shown: &Shown| shown.read("d/long", at * BLOCK, 3).expect("read");
    for at in [1, 5] {
        block(at, &shown);
    }
    drop(shown);
    asked(&bucket);
    let shown = show(&bucket, state.path());
    let long = long(1);
    for at in [1, 5] {
        assert_eq!(block(at, &shown), long[(at * BLOCK) as usize..][..3]);
    }
    assert_eq!(asked(&bucket), ["/", "d/"], "these blocks were here");
    assert_eq!(block(2, &shown), long[(2 * BLOCK) as usize..][..3]);
    assert_eq!(asked(&bucket), [format!("d/long {}..{}", 2 * BLOCK, 3 * BLOCK)]);
    // Another one at the same time has a directory of its own, and gets all from the bucket.
    let second = show(&bucket, state.path());
    assert_eq!(read(&second, "same"), Ok(b"as before".to_vec()));
    assert_eq!(read(&shown, "same"), Ok(b"as before".to_vec()));
}

#[test]
fn an_object_that_changes_under_its_reader_is_an_error_that_names_it() {
    let (bucket, state) = (Memory::new(), tempfile::tempdir().expect("made"));
    put(&bucket, "d/long", long(1));
    put(&bucket, "d/gone", long(1));
    put(&bucket, "d/fine", "fine");
    let shown = show(&bucket, state.path());
    for name in ["d/long", "d/gone"] {
        assert_eq!(shown.read(name, 0, 3).as_deref(), Ok(&long(1)[..3]));
    }
    put(&bucket, "d/long", long(2));
    bucket.objects.lock().remove("d/gone");
    assert_eq!(shown.read("d/long", BLOCK * 3, 3), Err(Errno::STALE));
    assert_eq!(shown.read("d/gone", BLOCK * 3, 3), Err(Errno::IO));
    assert_eq!(shown.read("d/long", 0, 3).as_deref(), Ok(&long(1)[..3]), "that had come");
    assert_eq!(shown.read("d/fine", 0, 9), Ok(b"fine".to_vec()));
    let told = shown.prefix.finish_serving();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("s3://lab/p/d/gone, s3://lab/p/d/long"), "{told:?}");
    drop(shown);
    let shown = show(&bucket, state.path());
    let at = BLOCK as usize * 3;
    assert_eq!(shown.read("d/long", at as u64, 3).as_deref(), Ok(&long(2)[at..at + 3]));
    assert_eq!(shown.walk("d/gone"), Err(Errno::NOENT));
}

#[test]
fn names_that_no_file_can_have_are_left_out_and_told() {
    let (bucket, state) = (Memory::new(), tempfile::tempdir().expect("made"));
    let too_long = "n".repeat(256);
    for key in ["d/../up", "d//twice", "d/both", "d/both/inner", "d/", "d/fine", "d/.", &too_long] {
        put(&bucket, key, "bytes");
    }
    let shown = show(&bucket, state.path());
    assert_eq!(shown.names(""), Ok(vec!["d".into()]));
    assert_eq!(shown.names("d"), Ok(vec!["both".into(), "fine".into()]));
    assert_eq!(shown.read("d/both/inner", 0, 9), Ok(b"bytes".to_vec()));
    let told = shown.prefix.finish_serving();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains(&too_long) && told[0].contains("and 2 more"), "{told:?}");
}
