//! Random verbs on a covered directory, without a kernel, against the same steps made bare. If
//! these failed, a pipeline's files would differ from what it would have left without us.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{CWD, Mode, OFlags, XattrFlags, openat};
use rustix::io::Errno;

use super::*;

/// A small generator (Marsaglia's xorshift64, JSS 8(14), 2003): the seed replays a failure.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

fn cover(dir: &Path) -> Native {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = openat(CWD, dir, flags, Mode::empty()).expect("a fresh directory");
    Native::new(root, NativeSettings::default(), Box::new(|_| Arc::from([]))).expect("statx works")
}

fn c(name: &str) -> CString {
    CString::new(name).expect("no NUL in test names")
}

const PLAIN: CreateMode = CreateMode { mode: 0o644, umask: 0o022 };

/// Finds the node of a path as the kernel would, name by name.
pub(super) fn walk(native: &Native, path: &str) -> Result<u64> {
    let mut node = ROOT;
    for name in path.split('/').filter(|name| !name.is_empty()) {
        node = native.lookup(node, &c(name))?.0.node;
    }
    Ok(node)
}

pub(super) fn parent(native: &Native, path: &str) -> Result<(u64, CString)> {
    let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
    Ok((walk(native, dir)?, c(name)))
}

pub(super) fn write_file(native: &Native, path: &str, text: &[u8]) -> Result<()> {
    let (dir, name) = parent(native, path)?;
    let flags = (libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC) as u32;
    let (created, _) = native.create(dir, &name, flags, PLAIN, 0)?;
    let handle = native.handle(created.opened.fh)?;
    let done = native.write(&handle, text, 0).map(drop);
    drop(handle);
    native.release(created.opened.fh);
    done
}

pub(super) fn append_file(native: &Native, path: &str, text: &[u8]) -> Result<()> {
    let flags = (libc::O_WRONLY | libc::O_APPEND) as u32;
    let (opened, _) = native.open(walk(native, path)?, flags)?;
    let handle = native.handle(opened.fh)?;
    // The kernel's idea of the end may be stale: the offset must not matter.
    let done = native.write(&handle, text, 0).map(drop);
    drop(handle);
    native.release(opened.fh);
    done
}

pub(super) fn bare<T>(result: std::io::Result<T>) -> Result<()> {
    result.map(drop).map_err(|e| Errno::from_io_error(&e).expect("the system's own error"))
}

/// Path, mode, links and content of everything below.
pub(super) fn picture(dir: &Path) -> BTreeMap<String, (u32, u64, Vec<u8>)> {
    fn add(dir: &Path, prefix: &str, all: &mut BTreeMap<String, (u32, u64, Vec<u8>)>) {
        for entry in fs::read_dir(dir).expect("it is there") {
            let entry = entry.expect("readable");
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            let meta = fs::symlink_metadata(entry.path()).expect("it is there");
            let content = if meta.is_file() {
                fs::read(entry.path()).expect("readable")
            } else if meta.is_symlink() {
                fs::read_link(entry.path()).expect("a link").to_string_lossy().into_owned().into()
            } else {
                Vec::new()
            };
            if meta.is_dir() {
                add(&entry.path(), &format!("{name}/"), all);
            }
            let links = if meta.is_dir() { 0 } else { meta.nlink() };
            all.insert(name, (meta.mode(), links, content));
        }
    }
    let mut all = BTreeMap::new();
    add(dir, "", &mut all);
    all
}

#[test]
#[allow(clippy::disallowed_methods)] // The seed of a failure comes from the environment.
fn random_verbs_leave_what_they_leave_bare() {
    let seed =
        std::env::var("FOREBAY_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(20_261_121);
    let covered = tempfile::tempdir().expect("a directory");
    let twin = tempfile::tempdir().expect("a directory");
    let native = cover(covered.path());
    let mut dice = Dice(seed);
    let names = ["a", "b", "c", "d", "d/a", "d/b", "d/e", "d/e/a", "d/e/b"];
    for step in 0..6000 {
        let one = names[dice.roll(names.len() as u64) as usize];
        let two = names[dice.roll(names.len() as u64) as usize];
        let (at, to) = (twin.path().join(one), twin.path().join(two));
        let text = format!("{step};");
        let (what, ours, theirs) = match dice.roll(10) {
            0 | 1 => {
                ("write", write_file(&native, one, text.as_bytes()), bare(fs::write(&at, &text)))
            }
            2 => {
                let made = parent(&native, one).and_then(|(dir, name)| {
                    native.mkdir(dir, &name, CreateMode { mode: 0o755, umask: 0o022 }).map(drop)
                });
                ("mkdir", made, bare(fs::create_dir(&at)))
            }
            3 => {
                let gone = parent(&native, one)
                    .and_then(|(dir, name)| native.unlink(dir, &name).map(drop));
                (
                    "unlink",
                    gone,
                    bare(
                        rustix::fs::unlinkat(CWD, &at, rustix::fs::AtFlags::empty())
                            .map_err(Into::into),
                    ),
                )
            }
            4 => {
                let gone = parent(&native, one).and_then(|(dir, name)| native.rmdir(dir, &name));
                ("rmdir", gone, bare(fs::remove_dir(&at)))
            }
            5 | 6 => {
                let moved = parent(&native, one).and_then(|(dir, name)| {
                    let (new_dir, new_name) = parent(&native, two)?;
                    native.rename(dir, &name, new_dir, &new_name, 0).map(drop)
                });
                ("rename", moved, bare(fs::rename(&at, &to)))
            }
            7 => {
                let linked = walk(&native, one).and_then(|node| {
                    let (dir, name) = parent(&native, two)?;
                    native.link(node, dir, &name).map(drop)
                });
                ("link", linked, bare(fs::hard_link(&at, &to)))
            }
            8 => {
                let mode = 0o600 | (dice.roll(0o100) as u32) | 0o100;
                let changed = walk(&native, one).and_then(|node| {
                    native
                        .setattr(
                            node,
                            AttributeChange { mode: Some(mode), ..AttributeChange::default() },
                        )
                        .map(drop)
                });
                ("chmod", changed, bare(fs::set_permissions(&at, fs::Permissions::from_mode(mode))))
            }
            _ => {
                let appended = fs::OpenOptions::new()
                    .append(true)
                    .open(&at)
                    .and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()));
                ("append", append_file(&native, one, text.as_bytes()), bare(appended))
            }
        };
        assert_eq!(ours, theirs, "step {step}: {what} {one} {two} (seed {seed})");
    }
    assert_eq!(picture(covered.path()), picture(twin.path()), "seed {seed}");
    assert!(picture(covered.path()).len() > 2, "the steps made something (seed {seed})");
}

#[test]
fn an_unlinked_file_lives_as_long_as_it_is_held() {
    let dir = tempfile::tempdir().expect("a directory");
    let native = cover(dir.path());
    write_file(&native, "f", b"still here").expect("written");
    let node = walk(&native, "f").expect("found");
    native.unlink(ROOT, c"f").expect("removed");
    let (stat, _) = native.getattr(node, None).expect("held by its number");
    assert_eq!((stat.stx_size, stat.stx_nlink), (10, 0));
    let (opened, _) = native.open(node, libc::O_RDONLY as u32).expect("opens by its number");
    let mut text = [0; 10];
    let handle = native.handle(opened.fh).expect("open");
    assert_eq!(native.read(&handle, &mut text, 0, false), Ok(10));
    assert_eq!(&text, b"still here");
}

/// The kernel asks for the length of a file's capabilities before the first write to it.
#[test]
fn a_new_file_has_no_capabilities_until_it_is_given_some() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    const NAME: &CStr = c"security.capability";
    // No capabilities, in the second form of them (linux/capability.h, `VFS_CAP_REVISION_2`).
    let none = [0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let dir = tempfile::tempdir().expect("a temporary directory");
    let native = cover(dir.path());
    let flags = (libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL) as u32;
    let length = |id| native.getxattr(id, NAME, &mut Vec::new(), 0);
    let (first, _) = native.create(ROOT, &c("first"), flags, PLAIN, 0).expect("made");
    rustix::fs::setxattr(dir.path().join("first"), NAME, &none, XattrFlags::empty())
        .expect("root may");
    assert_eq!(length(first.entry.node), Err(Errno::NODATA), "it was made a moment ago");
    assert_eq!(length(first.entry.node), Ok(none.len()), "that is believed once");
    let (second, _) = native.create(ROOT, &c("second"), flags, PLAIN, 0).expect("made");
    native.setxattr(second.entry.node, NAME, &none, 0).expect("root may");
    assert_eq!(length(second.entry.node), Ok(none.len()), "it was given some");
    let outside = dir.path().join("outside");
    std::fs::write(&outside, "").expect("written");
    rustix::fs::setxattr(&outside, NAME, &none, XattrFlags::empty()).expect("root may");
    let flags = (libc::O_WRONLY | libc::O_CREAT) as u32;
    let (third, _) = native.create(ROOT, &c("outside"), flags, PLAIN, 0).expect("opened");
    assert_eq!(length(third.entry.node), Ok(none.len()), "it was there");
}

#[test]
fn a_file_replaced_outside_is_stale_not_mistaken() {
    let dir = tempfile::tempdir().expect("a directory");
    let native = cover(dir.path());
    fs::write(dir.path().join("f"), "old").expect("written");
    let old = walk(&native, "f").expect("found");
    fs::write(dir.path().join("g"), "new, longer").expect("written");
    fs::rename(dir.path().join("g"), dir.path().join("f")).expect("replaced");
    assert_eq!(native.getattr(old, None).err(), Some(Errno::STALE));
    assert_eq!(native.open(old, 0).err(), Some(Errno::STALE));
    let new = walk(&native, "f").expect("found");
    assert_ne!(new, old);
    assert_eq!(native.getattr(new, None).expect("there").0.stx_size, 11);
}

#[test]
fn directories_are_found_again_after_their_descriptors_were_let_go() {
    let dir = tempfile::tempdir().expect("a directory");
    let native = cover(dir.path());
    fs::create_dir_all(dir.path().join("a/b/c")).expect("made");
    fs::write(dir.path().join("a/b/c/f"), "x").expect("written");
    let deep = walk(&native, "a/b/c").expect("found");
    native.table.drop_oldest_pins();
    let found = native.lookup(deep, c"f").expect("reopened by name");
    assert_eq!(found.0.stat.stx_size, 1);
    assert_eq!(native.path_of(&native.node(deep).expect("known")), b"a/b/c");
}

#[test]
fn the_kernel_forgetting_frees_the_number() {
    let dir = tempfile::tempdir().expect("a directory");
    let native = cover(dir.path());
    fs::write(dir.path().join("f"), "x").expect("written");
    let node = walk(&native, "f").expect("found");
    assert_eq!(walk(&native, "f"), Ok(node), "looked up twice: two references");
    native.forget(node, 1);
    assert!(native.node(node).is_ok());
    native.forget(node, 1);
    assert_eq!(native.node(node).err(), Some(Errno::STALE));
    assert_ne!(walk(&native, "f"), Ok(node), "numbers are never used again");
}

#[test]
fn locks_hold_against_the_world_outside() {
    let dir = tempfile::tempdir().expect("a directory");
    let native = cover(dir.path());
    fs::write(dir.path().join("f"), "x").expect("written");
    let (opened, _) =
        native.open(walk(&native, "f").expect("found"), libc::O_RDWR as u32).expect("opens");
    let whole =
        |owner, kind| AdvisoryLock { start: 0, end: u64::MAX, kind, pid: 7, owner, flock: false };
    let set = |lock| match native.setlk(opened.fh, lock, false)? {
        LockOutcome::Done => Ok(()),
        LockOutcome::Later(waiting) => waiting.wait_for_lock(None, &|| true),
    };
    assert_eq!(set(whole(1, libc::F_WRLCK)), Ok(()));
    // Another inside process, and one outside, are both refused; who holds it is told.
    assert_eq!(set(whole(2, libc::F_RDLCK)), Err(Errno::AGAIN));
    assert_eq!(native.getlk(opened.fh, whole(2, libc::F_WRLCK)).expect("asked").pid, 7);
    let outside = fs::OpenOptions::new().write(true).open(dir.path().join("f")).expect("opens");
    let refused =
        rustix::fs::fcntl_lock(&outside, rustix::fs::FlockOperation::NonBlockingLockExclusive);
    // fcntl locks of this very process conflict with open-file-description locks too.
    assert_eq!(refused.err(), Some(Errno::AGAIN));
    native.flush(&native.handle(opened.fh).expect("open"), 1).expect("closed");
    assert_eq!(set(whole(2, libc::F_RDLCK)), Ok(()));
}

#[test]
fn a_close_that_is_told_late_ends_no_lock_that_was_taken_since() {
    let dir = tempfile::tempdir().expect("a directory");
    let native = cover(dir.path());
    fs::write(dir.path().join("f"), "x").expect("written");
    let open = || {
        let node = walk(&native, "f").expect("found");
        native.open(node, libc::O_RDWR as u32).expect("opens").0.fh
    };
    let set = |fh, owner, kind| {
        let lock = AdvisoryLock { start: 0, end: u64::MAX, kind, pid: 7, owner, flock: false };
        match native.setlk(fh, lock, false)? {
            LockOutcome::Done => Ok(()),
            LockOutcome::Later(waiting) => waiting.wait_for_lock(None, &|| true),
        }
    };
    // A process that closes the file, and one whose description had the address of the next; the
    // kernel tells of the last close of a handle when it has time.
    for is_told in [true, false] {
        let first = open();
        assert_eq!(set(first, 1, libc::F_WRLCK), Ok(()));
        assert_eq!(set(first, 1, libc::F_UNLCK), Ok(()));
        if is_told {
            native.flush(&native.handle(first).expect("open"), 1).expect("closed");
        }
        let second = open();
        assert_eq!(set(second, 1, libc::F_WRLCK), Ok(()));
        native.release(first).expect("it was open");
        let other = open();
        assert_eq!(set(other, 2, libc::F_WRLCK), Err(Errno::AGAIN), "told: {is_told}");
        // With its own last close it ends, also where nobody told of another.
        native.release(second).expect("it was open");
        assert_eq!(set(other, 2, libc::F_WRLCK), Ok(()), "told: {is_told}");
        native.release(other).expect("it was open");
    }
}

#[test]
fn a_name_that_is_absent_is_an_error_until_it_is_watched() {
    let dir = tempfile::tempdir().expect("a directory");
    let native = cover(dir.path());
    let absent: &CStr = c"nobody";
    assert_eq!(native.lookup(ROOT, absent).err(), Some(Errno::NOENT));
}

#[test]
fn a_flock_ends_with_the_last_close_although_the_backing_file_is_held() {
    let dir = tempfile::tempdir().expect("a directory");
    let native = cover(dir.path());
    write_file(&native, "lock", b"").expect("made");
    let id = walk(&native, "lock").expect("there");
    let open = || native.open(id, libc::O_RDWR as u32).expect("opens").0.fh;
    let (first, second) = (open(), open());
    let whole =
        AdvisoryLock { start: 0, end: 0, kind: libc::F_WRLCK, pid: 0, owner: 0, flock: true };
    let lock = |fh| match native.setlk(fh, whole, false).expect("asked") {
        LockOutcome::Done => Ok(()),
        LockOutcome::Later(waiting) => waiting.wait_for_lock(None, &|| true),
    };
    assert_eq!(lock(first), Ok(()));
    assert_eq!(lock(second), Err(Errno::AGAIN));
    // As the kernel does for passthrough.
    let held = native.handle(first).expect("open").file.try_clone().expect("copied");
    native.release(first);
    assert_eq!(lock(second), Ok(()), "its holder has closed it");
    drop(held);
}

/// A page of a locked file's mapping that comes down in the middle of an unlock is written later.
/// What it meets then is reported by the next write, fsync or close of each open file, once.
#[test]
fn a_page_that_could_not_be_written_is_reported_by_each_open_file() {
    type Fault = fn(&FileHandle, &[u8], u64) -> Result<usize>;
    let faults: [(Fault, Errno); 2] = [
        (|_, _, _| Err(Errno::IO), Errno::IO),
        // Half of it goes down, and the rest does not.
        (
            |_, bytes, _| if bytes.len() > 1 { Ok(bytes.len() - 1) } else { Err(Errno::NOSPC) },
            Errno::NOSPC,
        ),
    ];
    type Report = fn(&Native, &FileHandle) -> Result<()>;
    let reports: [Report; 3] = [
        |native, handle| native.write(handle, b"x", 0).map(drop),
        |native, handle| native.fsync(handle, false),
        |native, handle| native.flush(handle, 7),
    ];
    for (fault, error) in faults {
        for report in reports {
            let dir = tempfile::tempdir().expect("a directory");
            let native = cover(dir.path());
            write_file(&native, "data", &[b'a'; 4096]).expect("made");
            let id = walk(&native, "data").expect("there");
            let open = || {
                let fh = native.open(id, libc::O_RDWR as u32).expect("opens").0.fh;
                native.handle(fh).expect("open")
            };
            let (one, two) = (open(), open());
            one.node.locked.store(true, Relaxed);
            let mut page = [0; 4096];
            assert_eq!(native.read(&one, &mut page, 0, true), Ok(4096));
            page[..10].copy_from_slice(b"bbbbbbbbbb");
            native.pages.begin_invalidation(id);
            assert_eq!(native.write_mapped(&one, &page, 0), Ok(4096));
            native.pages.write_held_pages_by(id, fault);
            native.pages.end_invalidation(id);
            for handle in [&one, &two] {
                assert_eq!(report(&native, handle), Err(error));
                assert_eq!(report(&native, handle), Ok(()), "it was reported");
            }
            assert_eq!(report(&native, &open()), Ok(()), "it was opened later");
            // The page goes down whole when it is dirty again.
            assert_eq!(native.write_mapped(&one, &page, 0), Ok(4096));
            let bytes = fs::read(dir.path().join("data")).expect("readable");
            assert!(bytes == page, "{error}");
        }
    }
}
