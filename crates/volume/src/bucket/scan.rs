//! What of a local tree differs from what the bucket knows of it, as records. It looks at names that
//! somebody has said may have changed, or at all of them: after a kill nobody can say.

mod found;

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, OwnedFd};

use rustc_hash::{FxHashMap, FxHashSet};
use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, Statx, StatxFlags, openat, readlinkat, statx,
};
use rustix::io::Errno;

use super::local::is_away;
use super::record::{Attr, Kind, Place, Record, Time};
use super::tree::{ROOT, Tree, joined};
use crate::native::Identity;
pub(crate) use found::{Found, LARGEST, Large, Learnt, Stamp};
use found::{stamp_of, time};

type Result<T> = std::result::Result<T, Errno>;

/// Bytes of files that a scan reads itself; more wait until names may change again.
const READ_AT_ONCE: usize = 16 << 20;
const INTO: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A local tree, and which of its files the bucket knows by which number.
#[derive(Debug)]
pub(crate) struct Scan {
    root: OwnedFd,
    numbers: FxHashMap<Identity, u64>,
    stamps: FxHashMap<u64, Stamp>,
    /// Files that somebody may have written since their bytes were stored; `None`: any.
    written: Option<FxHashSet<Identity>>,
    learnt: Learnt,
}

impl Scan {
    /// Of a tree of which nothing is known yet.
    pub(crate) fn new(root: OwnedFd) -> Result<Scan> {
        let identity = Identity::of(&look(&root, c"")?);
        let numbers = FxHashMap::from_iter([(identity, ROOT)]);
        Ok(Scan {
            root,
            numbers,
            stamps: FxHashMap::default(),
            written: None,
            learnt: Learnt::default(),
        })
    }

    /// What earlier scans have learnt.
    pub(crate) fn recall(&mut self, learnt: &Learnt) {
        let device = self.numbers.iter().find(|(_, ino)| **ino == ROOT).map(|(id, _)| id.device);
        let Some(device) = device else { return };
        for (ino, (inode, born)) in &learnt.numbers {
            self.numbers.insert(Identity { device, inode: *inode, born: *born }, *ino);
        }
        self.stamps.extend(learnt.stamps.iter().copied());
    }

    /// These files may have been written. From the first cut of everything on, others have not.
    pub(crate) fn were_written(&mut self, files: impl IntoIterator<Item = Identity>) {
        if let Some(written) = &mut self.written {
            written.extend(files);
        }
    }

    /// Which of the bucket's files this is.
    pub(crate) fn number(&self, identity: &Identity) -> Option<u64> {
        self.numbers.get(identity).copied()
    }

    /// What was learnt since this was asked last.
    pub(crate) fn learnt(&mut self) -> Learnt {
        std::mem::take(&mut self.learnt)
    }

    /// Looks at a name in the folder at `path`. Records go into `found`, which becomes a segment, and
    /// into `tree`. `is_busy` tells that bytes may be changing: they count as they
    /// were.
    ///
    /// # Errors
    /// Those of the file system.
    pub(crate) fn name(
        &mut self,
        (tree, found): (&mut Tree, &mut Found),
        path: &[u8],
        name: &CStr,
        is_busy: &dyn Fn(&Identity) -> bool,
    ) -> Result<()> {
        let mut turn = Turn { scan: self, tree, found, is_busy, deep: false };
        let folder = match turn.enter(path) {
            // Gone since, with all names in it; or new, and looked into when its own name is.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
            folder => folder?,
        };
        let stat = look(&folder, c"")?;
        let known = turn.scan.numbers.get(&Identity::of(&stat)).copied();
        let Some(ino) = known.filter(|ino| turn.tree.file(*ino).is_some()) else { return Ok(()) };
        turn.name((ino, &folder), path, name)?;
        // What is in it changes its time.
        turn.dress(ino, attr_of(&stat), &Kind::Folder);
        Ok(())
    }

    /// Looks at everything.
    ///
    /// # Errors
    /// Those of the file system.
    pub(crate) fn all(
        &mut self,
        (tree, found): (&mut Tree, &mut Found),
        is_busy: &dyn Fn(&Identity) -> bool,
    ) -> Result<()> {
        let mut turn = Turn { scan: self, tree, found, is_busy, deep: true };
        let root = turn.enter(b"")?;
        turn.folder((ROOT, &root), b"")?;
        turn.dress(ROOT, attr_of(&look(&root, c"")?), &Kind::Folder);
        self.written.get_or_insert_default();
        Ok(())
    }

    /// This name is of that file, and nothing of it differs from what the bucket knows.
    ///
    /// # Errors
    /// Those of the file system.
    pub(crate) fn adopt(&mut self, folder: &OwnedFd, name: &CStr, ino: u64) -> Result<()> {
        let stat = look(folder, name)?;
        self.is_number(Identity::of(&stat), ino);
        self.is_as(ino, stamp_of(&stat));
        Ok(())
    }

    /// The same of one that was to be read later.
    pub(crate) fn is_stored(&mut self, large: &Large) {
        self.is_as(large.ino, large.stamp);
        self.is_clean(&large.identity);
    }

    fn is_clean(&mut self, identity: &Identity) {
        if let Some(written) = &mut self.written {
            written.remove(identity);
        }
    }

    /// The bytes of a file are in the bucket as they are in this state of it.
    pub(crate) fn is_as(&mut self, ino: u64, stamp: Stamp) {
        self.stamps.insert(ino, stamp);
        self.learnt.stamps.push((ino, stamp));
    }

    fn is_number(&mut self, identity: Identity, ino: u64) {
        self.numbers.insert(identity, ino);
        self.learnt.numbers.push((ino, (identity.inode, identity.born)));
    }
}

struct Turn<'a> {
    scan: &'a mut Scan,
    tree: &'a mut Tree,
    found: &'a mut Found,
    is_busy: &'a dyn Fn(&Identity) -> bool,
    /// Into folders that are known, too.
    deep: bool,
}

impl Turn<'_> {
    fn enter(&self, path: &[u8]) -> Result<OwnedFd> {
        let mut folder = openat(&self.scan.root, c".", INTO, Mode::empty())?;
        for part in path.split(|byte| *byte == b'/').filter(|part| !part.is_empty()) {
            folder = openat(&folder, part, INTO, Mode::empty())?;
        }
        Ok(folder)
    }

    fn say(&mut self, record: &Record<'_>) {
        self.tree.apply(record);
        self.found.draft.add(record);
    }

    /// A file is like this.
    fn dress(&mut self, ino: u64, attr: Attr, kind: &Kind) {
        let is_same = |file: &super::tree::File| (&file.kind, file.attr) == (kind, attr);
        if !self.tree.file(ino).is_some_and(is_same) {
            self.say(&Record::File { ino, kind: kind.clone(), attr });
        }
    }

    /// All names of a folder, those that are gone too.
    fn folder(&mut self, (ino, fd): (u64, &OwnedFd), path: &[u8]) -> Result<()> {
        let mut names: Vec<CString> = Vec::new();
        for entry in Dir::read_from(fd)? {
            let name = entry?.file_name().to_owned();
            if !matches!(name.to_bytes(), b"." | b"..") {
                names.push(name);
            }
        }
        let known = self.tree.file(ino).into_iter().flat_map(|file| file.names.keys());
        names.extend(known.filter_map(|name| CString::new(name.as_bytes()).ok()));
        // In one order, so that one state gives one log; and none twice.
        names.sort();
        names.dedup();
        names.iter().try_for_each(|name| self.name((ino, fd), path, name))
    }

    fn name(&mut self, (folder, fd): (u64, &OwnedFd), path: &[u8], name: &CStr) -> Result<()> {
        let before = self.tree.find(folder, name.to_bytes());
        let stat = match look(fd, name) {
            Err(Errno::NOENT) => {
                if before.is_some() {
                    self.say(&Record::Gone { folder, name: name.to_bytes() });
                }
                return Ok(());
            }
            stat => stat?,
        };
        let identity = Identity::of(&stat);
        let known = self.scan.numbers.get(&identity).copied();
        let known = known.filter(|ino| self.tree.file(*ino).is_some());
        let kind = kind_of(fd, name, &stat)?;
        let is_busy = kind == Kind::Plain && (self.is_busy)(&identity);
        if is_busy && known.is_none() {
            // It gets its name with its bytes, when it is closed.
            return Ok(());
        }
        let ino = known.unwrap_or(self.tree.next);
        if known.is_none() {
            self.scan.is_number(identity, ino);
        }
        let mut attr = attr_of(&stat);
        if kind == Kind::Plain && self.is_away(ino, fd, name, attr.mtime) {
            // Bytes that come change the time here, and not the file's.
            attr.mtime = self.tree.file(ino).map_or(attr.mtime, |file| file.attr.mtime);
        }
        let whole = joined(path, name.to_bytes());
        if !is_busy {
            self.dress(ino, attr, &kind);
            if kind == Kind::Plain {
                self.bytes((ino, identity), fd, name, &stat, &whole)?;
            }
        }
        if before != Some(ino) {
            if known.is_some() {
                self.found.moved.push((ino, whole.clone()));
            }
            self.say(&Record::Name { folder, name: name.to_bytes(), ino });
        }
        // What was noted of a folder that has moved was noted of its old path.
        let deep = self.deep;
        if kind == Kind::Folder && (before != Some(ino) || deep) {
            let inner = openat(fd, name, INTO, Mode::empty())?;
            self.deep = true;
            let done = self.folder((ino, &inner), &whole);
            self.deep = deep;
            done?;
        }
        Ok(())
    }

    /// Whether its bytes are in the bucket alone, and so its time is not to be believed.
    fn is_away(&self, ino: u64, fd: &OwnedFd, name: &CStr, mtime: Time) -> bool {
        let how = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let known = self.tree.file(ino).filter(|file| file.place != Place::Empty);
        known.is_some_and(|file| file.attr.mtime != mtime)
            && openat(fd, name, how, Mode::empty()).is_ok_and(|file| is_away(&file))
    }

    fn bytes(
        &mut self,
        (ino, identity): (u64, Identity),
        fd: &OwnedFd,
        name: &CStr,
        stat: &Statx,
        path: &[u8],
    ) -> Result<()> {
        let stamp = stamp_of(stat);
        let before = self.scan.stamps.get(&ino);
        if before == Some(&stamp) {
            return Ok(());
        }
        let is_written = self.scan.written.as_ref().is_none_or(|all| all.contains(&identity));
        if !is_written && before.is_some_and(|before| before.has_bytes_of(&stamp)) {
            self.scan.is_as(ino, stamp);
            return Ok(());
        }
        let how = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(fd, name, how, Mode::empty())?;
        if is_away(&file) {
            // Its bytes never came here: another name or mode is all that it can have got.
            self.scan.is_as(ino, stamp);
            return Ok(());
        }
        if stamp.size() > LARGEST || self.found.draft.length() > READ_AT_ONCE {
            self.found.large.push(Large { ino, identity, path: path.to_vec(), stamp });
            return Ok(());
        }
        let mut bytes = Vec::with_capacity(stamp.size() as usize);
        std::io::Read::read_to_end(&mut std::fs::File::from(file), &mut bytes)
            .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        let place = self.found.pack(ino, &bytes);
        self.say(&Record::Bytes { ino, place });
        self.scan.is_as(ino, stamp);
        self.scan.is_clean(&identity);
        Ok(())
    }
}

fn look(fd: &OwnedFd, name: &CStr) -> Result<Statx> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::SYMLINK_NOFOLLOW;
    statx(fd.as_fd(), name, flags, StatxFlags::BASIC_STATS | StatxFlags::BTIME)
}

fn attr_of(stat: &Statx) -> Attr {
    let mode = u32::from(stat.stx_mode) & 0o7777;
    Attr { mode, uid: stat.stx_uid, gid: stat.stx_gid, mtime: time(&stat.stx_mtime) }
}

fn kind_of(fd: &OwnedFd, name: &CStr, stat: &Statx) -> Result<Kind> {
    let mode = u32::from(stat.stx_mode);
    Ok(match FileType::from_raw_mode(mode) {
        FileType::Directory => Kind::Folder,
        FileType::RegularFile => Kind::Plain,
        FileType::Symlink => Kind::Link(readlinkat(fd, name, Vec::new())?.into_bytes()),
        _ => {
            let device = rustix::fs::makedev(stat.stx_rdev_major, stat.stx_rdev_minor);
            Kind::Special { mode: mode & libc::S_IFMT, device }
        }
    })
}

#[cfg(test)]
mod tests;
