//! Making files of a whole folder ordinary files on their tier: a link in place, and the bytes in the
//! tier's flat directory. Nothing is copied: bytes change their name within one file system.
//!
//! The links come first and lead nowhere until the bytes follow, so that no bytes are ever without a
//! name that leads to them or a path that says where they belong. Whoever is killed half way does the
//! same again: a link whose bytes have not come yet is taken up where it stands.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use forebay_model::RunEndAction;
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, Statx, XattrFlags, chmodat, fgetxattr, fsetxattr, linkat,
    makedev, mkdirat, mknodat, openat, readlinkat, renameat, symlinkat, syncfs, unlinkat,
};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::LIST;
use super::in_use::is_shown_to_a_program;
use super::made_name::MadeName;
use crate::tiers::attributes::copy_attributes;
use crate::tiers::beneath::{open_below, open_parent};
use crate::tiers::manifest_format::ManifestEntry;
use crate::tiers::walk::{WalkMode, walk_tree};
use crate::tiers::workers::{NEAR, interleave_by_key, run_in_parallel};
use crate::tiers::{LeftBehindFile, TierDirectory, TierError, Tiers, set_directory_times};
use forebay_os::file_identity::{proc_fd_path, statx_nofollow};

/// The list of rights that a directory hands down to what is made in it (acl(5)).
const HANDED_DOWN: &str = "system.posix_acl_default";

/// What came of it.
#[derive(Debug, Default)]
pub(in crate::tiers) struct AdoptedFiles {
    /// Files that a rule discarded, and their bytes.
    pub(in crate::tiers) discarded: (u64, u64),
    /// What stays in the folder on the tier.
    pub(in crate::tiers) left: Vec<LeftBehindFile>,
}

impl Tiers {
    /// Makes all files of whole folders ordinary files on their tiers. Nobody may use the volume, and
    /// it must be seen bare.
    pub(in crate::tiers) fn adopt_whole_folders(&self, workers: usize) -> AdoptedFiles {
        let mut done = AdoptedFiles::default();
        for entry in self.book.entries() {
            let Some(folder) = entry.folder.as_deref() else { continue };
            let is_out_of_reach = self.missing.contains(&entry)
                || self.foreign.iter().any(|(foreign, _)| *foreign == entry);
            if is_out_of_reach {
                continue;
            }
            match Adoption::begin(self, &entry, folder, workers) {
                Ok(adoption) => {
                    let told = done.left.len();
                    adoption.adopt_all(&mut done);
                    self.book.remove_whole_folder(&entry);
                    if entry.path.exists() && done.left.len() == told {
                        let why = format!("something is still in {}", entry.path.display());
                        done.left.push(LeftBehindFile { path: folder.to_owned(), why });
                    }
                }
                Err(why) => done.left.push(LeftBehindFile { path: folder.to_owned(), why }),
            }
        }
        done
    }

    /// Before a run: files of whole folders of one that was killed are seen again.
    ///
    /// # Errors
    /// The book can't be written.
    pub(crate) fn take_up_whole_folders(&self) -> Result<(), TierError> {
        let count = || self.book.entries().len();
        let before = count();
        for left in self.adopt_whole_folders(NEAR).left {
            let path = left.path.display();
            tracing::error!("{path}, which a run had on a tier, is not to be seen: {}", left.why);
        }
        if count() < before { self.book.save() } else { Ok(()) }
    }

    /// Files of whole folders that are still there: of runs that were killed.
    pub(in crate::tiers) fn whole_folders_with_files(&self) -> Vec<(PathBuf, PathBuf)> {
        let left = |entry: ManifestEntry| {
            let is_empty =
                std::fs::read_dir(&entry.path).is_ok_and(|mut entries| entries.next().is_none());
            entry.folder.filter(|_| !is_empty).map(|folder| (folder, entry.path))
        };
        self.book.entries().into_iter().filter_map(left).collect()
    }
}

/// One name in the folder.
struct FolderEntry {
    /// Below the folder.
    path: PathBuf,
    kind: FileType,
    stat: Statx,
}

struct Adoption<'a> {
    tiers: &'a Tiers,
    /// Where the bytes go, on the same file system.
    room: (usize, &'a TierDirectory),
    source: OwnedFd,
    /// What it was before its files went away.
    stat: Statx,
    folder: &'a Path,
    workers: usize,
}

impl<'a> Adoption<'a> {
    fn begin(
        tiers: &'a Tiers,
        entry: &ManifestEntry,
        folder: &'a Path,
        workers: usize,
    ) -> Result<Adoption<'a>, String> {
        if is_shown_to_a_program(&entry.path) {
            return Err("programs of a run that was killed still work in it".to_owned());
        }
        let mut rooms = tiers.rooms.iter().enumerate();
        let above = entry.path.parent();
        let room = rooms
            .find(|(_, room)| room.tier == entry.tier && room.path.parent() == above)
            .ok_or_else(|| format!("{} has no directory beside it", entry.path.display()))?;
        let source =
            openat(CWD, &entry.path, LIST, Mode::empty()).map_err(|error| error.to_string())?;
        let stat = statx_nofollow(source.as_fd(), c"").map_err(|error| error.to_string())?;
        Ok(Adoption { tiers, room, source, stat, folder, workers })
    }

    fn adopt_all(&self, done: &mut AdoptedFiles) {
        let (mut directories, mut files, mut others) = (Vec::new(), Vec::new(), Vec::new());
        let mut gone: Vec<FolderEntry> = Vec::new();
        let closed = walk_tree(&self.source, WalkMode::OpenUp, &mut |dir, name, kind, path| {
            // Nobody else works there, so what was listed is there.
            let Ok(stat) = statx_nofollow(dir.as_fd(), name) else { return };
            let found = FolderEntry { path: path.to_owned(), kind, stat };
            match kind {
                FileType::Directory => directories.push(found),
                _ if self.is_discarded(path) => gone.push(found),
                FileType::RegularFile => files.push(found),
                _ => others.push(found),
            }
        });
        done.left.extend(
            closed
                .into_iter()
                .map(|left| LeftBehindFile { path: self.folder.join(&left.path), why: left.why }),
        );
        for one in &gone {
            if self.finish(done, one, self.remove_source(&one.path))
                && one.kind == FileType::RegularFile
            {
                done.discarded.0 += 1;
                done.discarded.1 += one.stat.stx_size;
            }
        }
        let wanted = self.wanted_directories(&directories, files.iter().chain(&others));
        for one in &wanted {
            self.finish(done, one, self.make_directory(one));
        }
        self.adopt_files(done, files);
        for one in &others {
            let made = match one.kind {
                FileType::Symlink => self.copy_link(one),
                _ => self.copy_special_file(one),
            };
            self.finish(done, one, made.and_then(|()| self.remove_source(&one.path)));
        }
        // Those below first: what is made in a directory changes its times.
        for one in wanted.iter().rev() {
            self.finish(done, one, self.copy_attributes_of(&one.path, &one.stat));
        }
        if let Err(error) = self.copy_attributes_of(Path::new(""), &self.stat) {
            tracing::warn!("{} has other attributes than it had: {error}", self.folder.display());
        }
        for one in directories.iter().rev() {
            // What it still holds was told of.
            let _ = open_parent(&self.source, &one.path)
                .and_then(|(above, name)| unlinkat(&above, &name, AtFlags::REMOVEDIR));
        }
    }

    /// Whether its rule wants nothing of it. Without rules, as after a kill, all is wanted.
    fn is_discarded(&self, path: &Path) -> bool {
        let path = self.folder.join(path);
        let rule = self.tiers.rule_for_path(path.as_os_str().as_bytes());
        rule.is_some_and(|rule| rule.after == RunEndAction::Discard && rule.publish.is_none())
    }

    /// All directories; of a folder that is discarded those on the way to what is not.
    fn wanted_directories<'e, 'k>(
        &self,
        all: &'e [FolderEntry],
        kept: impl Iterator<Item = &'k FolderEntry>,
    ) -> Vec<&'e FolderEntry> {
        if !self.is_discarded(Path::new("x")) {
            return all.iter().collect();
        }
        let on_the_way: BTreeSet<&Path> =
            kept.flat_map(|one| one.path.ancestors().skip(1)).collect();
        all.iter().filter(|one| on_the_way.contains(&*one.path)).collect()
    }

    /// Links for all of them; then, when these are safe, their bytes.
    fn adopt_files(&self, done: &mut AdoptedFiles, mut files: Vec<FolderEntry>) {
        interleave_by_key(&mut files, |one| one.path.parent().map(Path::to_owned));
        // Several names of one file: the first gets the bytes, the others are names of its link.
        let mut met: BTreeSet<u64> = BTreeSet::new();
        let (firsts, others): (Vec<_>, Vec<_>) = files
            .into_iter()
            .partition(|one| one.stat.stx_nlink < 2 || met.insert(one.stat.stx_ino));
        let mut linked: BTreeMap<u64, PathBuf> = BTreeMap::new();
        let keys = run_in_parallel(self.workers, &firsts, |one, _| self.make_link(one), |_| ());
        if !firsts.is_empty() {
            // A power failure must not take links whose bytes have moved.
            let synced = openat(self.tiers.book.root(), c".", LIST, Mode::empty()).and_then(syncfs);
            if let Err(error) = synced {
                tracing::warn!("links may not survive a power failure: {error}");
            }
        }
        for (one, key) in firsts.iter().zip(keys) {
            if self.finish(done, one, key.and_then(|key| self.move_bytes(one, &key))) {
                linked.insert(one.stat.stx_ino, one.path.clone());
            }
        }
        for one in &others {
            let adopted = match linked.get(&one.stat.stx_ino) {
                Some(first) => {
                    self.name_link(first, &one.path).and_then(|()| self.remove_source(&one.path))
                }
                // The first could not have its name.
                None => self.make_link(one).and_then(|key| self.move_bytes(one, &key)),
            };
            if self.finish(done, one, adopted) {
                linked.entry(one.stat.stx_ino).or_insert_with(|| one.path.clone());
            }
        }
    }

    fn move_bytes(&self, one: &FolderEntry, key: &CString) -> Result<(), Errno> {
        let (above, name) = open_parent(&self.source, &one.path)?;
        renameat(&above, &name, self.room.1.root(), key)?;
        self.room.1.charge_bytes(0, one.stat.stx_blocks * 512);
        Ok(())
    }

    /// The link in place; gives the name that the bytes are to have on the tier.
    fn make_link(&self, one: &FolderEntry) -> Result<CString, Errno> {
        let room = self.room.1;
        let (above, name) = self.in_place(&one.path)?;
        let key = room.unused_key(&name)?;
        match symlinkat(room.link_target(&key).as_c_str(), &above, &name) {
            Ok(()) => {
                // A link is its file's owner's, or nobody trusts it.
                if one.stat.stx_uid != geteuid().as_raw() {
                    MadeName::hold(&above, &name, FileType::Symlink)?.set_owner(&one.stat)?;
                }
                Ok(key)
            }
            Err(Errno::EXIST) => self.unfinished_link(&above, &name).ok_or(Errno::EXIST),
            Err(error) => Err(error),
        }
    }

    /// Where the link `name` leads, if the bytes have not come there: who made it was killed before.
    fn unfinished_link(&self, above: &OwnedFd, name: &CString) -> Option<CString> {
        let (number, room) = self.room;
        let placed = self.tiers.recognise_link(above.as_fd(), name)?;
        let is_missing = matches!(room.stat_data_file(&placed.key), Err(Errno::NOENT));
        (placed.room == number && is_missing).then_some(placed.key)
    }

    fn name_link(&self, first: &Path, other: &Path) -> Result<(), Errno> {
        let ((from, name), (to, other)) = (self.in_place(first)?, self.in_place(other)?);
        let link = || linkat(&from, &name, &to, &other, AtFlags::empty());
        match link() {
            Err(Errno::EXIST) if self.unfinished_link(&to, &other).is_some() => {
                unlinkat(&to, &other, AtFlags::empty())?;
                link()
            }
            Err(Errno::EXIST) => {
                let first = statx_nofollow(from.as_fd(), &name)?.stx_ino;
                let is_named = statx_nofollow(to.as_fd(), &other)?.stx_ino == first;
                if is_named { Ok(()) } else { Err(Errno::EXIST) }
            }
            done => done,
        }
    }

    fn copy_link(&self, one: &FolderEntry) -> Result<(), Errno> {
        let (source, name) = open_parent(&self.source, &one.path)?;
        let target = readlinkat(&source, &name, Vec::new())?;
        let (above, name) = self.in_place(&one.path)?;
        match symlinkat(target.as_c_str(), &above, &name) {
            Ok(()) => {
                let made = MadeName::hold(&above, &name, FileType::Symlink)?;
                made.set_owner(&one.stat)?;
                made.set_times(&one.stat)
            }
            Err(Errno::EXIST) if readlinkat(&above, &name, Vec::new()) == Ok(target) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// FIFOs, sockets and devices.
    fn copy_special_file(&self, one: &FolderEntry) -> Result<(), Errno> {
        let (above, name) = self.in_place(&one.path)?;
        let mode = Mode::from_raw_mode(u32::from(one.stat.stx_mode) & 0o7777);
        let device = makedev(one.stat.stx_rdev_major, one.stat.stx_rdev_minor);
        match mknodat(&above, &name, one.kind, mode, device) {
            Ok(()) => {
                let made = MadeName::hold(&above, &name, one.kind)?;
                made.set_owner(&one.stat)?;
                // umask(2), and a change of the owner, took bits away.
                made.set_mode(&one.stat)
            }
            Err(Errno::EXIST) => {
                let there = statx_nofollow(above.as_fd(), &name)?;
                let kind = FileType::from_raw_mode(u32::from(there.stx_mode));
                if kind == one.kind { Ok(()) } else { Err(Errno::EXIST) }
            }
            Err(error) => Err(error),
        }
    }

    fn make_directory(&self, one: &FolderEntry) -> Result<(), Errno> {
        let (above, name) = self.in_place(&one.path)?;
        match mkdirat(&above, &name, Mode::RWXU) {
            Ok(()) if one.stat.stx_uid != geteuid().as_raw() => {
                MadeName::hold(&above, &name, FileType::Directory)?.set_owner(&one.stat)
            }
            Err(Errno::EXIST) => self.open_in_place(&one.path).map(drop),
            made => made,
        }
    }

    /// `before` is what the directory was before its files went away.
    fn copy_attributes_of(&self, path: &Path, before: &Statx) -> Result<(), Errno> {
        let to = self.open_in_place(path)?;
        let from = open_below(&self.source, path)?;
        if statx_nofollow(to.as_fd(), c"")?.stx_uid != before.stx_uid {
            // Somebody has put another there.
            return Err(Errno::EXIST);
        }
        match [&from, &to].map(|dir| openat(dir, c".", LIST, Mode::empty())) {
            [Ok(from), Ok(to)] => copy_directory_attributes(&from, &to)?,
            // Closed to its owner, who may give it its mode all the same.
            _ => {
                let mode = Mode::from_raw_mode(u32::from(before.stx_mode) & 0o7777);
                chmodat(CWD, proc_fd_path(to.as_fd()), mode, AtFlags::empty())?;
            }
        }
        set_directory_times(to.as_fd(), before);
        Ok(())
    }

    fn remove_source(&self, path: &Path) -> Result<(), Errno> {
        let (above, name) = open_parent(&self.source, path)?;
        unlinkat(&above, &name, AtFlags::empty())
    }

    fn in_place(&self, path: &Path) -> Result<(OwnedFd, CString), Errno> {
        open_parent(self.tiers.book.root(), &self.folder.join(path))
    }

    fn open_in_place(&self, path: &Path) -> Result<OwnedFd, Errno> {
        open_below(self.tiers.book.root(), &self.folder.join(path))
    }

    /// Whether it is done; else it is noted why not.
    fn finish<T>(
        &self,
        done: &mut AdoptedFiles,
        one: &FolderEntry,
        result: Result<T, Errno>,
    ) -> bool {
        if let Err(error) = &result {
            let why = match *error {
                Errno::EXIST => "something else has its name in place".to_owned(),
                error => error.to_string(),
            };
            done.left.push(LeftBehindFile { path: self.folder.join(&one.path), why });
        }
        result.is_ok()
    }
}

/// Gives a directory the owner, the mode, the attributes and the lists of rights of another.
///
/// # Errors
/// Those of the file systems; a list of rights that one of them does not know is none.
pub(super) fn copy_directory_attributes(from: &OwnedFd, to: &OwnedFd) -> Result<(), Errno> {
    let mode = u32::from(statx_nofollow(from.as_fd(), c"")?.stx_mode) & 0o7777;
    copy_attributes(from, to, mode)?;
    let mut list = vec![0u8; 64 << 10];
    if let Ok(size) = fgetxattr(from, HANDED_DOWN, &mut list) {
        match fsetxattr(to, HANDED_DOWN, &list[..size], XattrFlags::empty()) {
            Err(Errno::OPNOTSUPP) | Ok(()) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
