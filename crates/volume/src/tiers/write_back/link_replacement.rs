//! Replacing links by files: many are copied at a time and made safe by one call, then named, then
//! the names are made safe, then the bodies go.

use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Statx, renameat, syncfs, unlinkat};
use rustix::io::Errno;

use super::WriteBackJob;
use super::tiered_links::LinkGroup;
use crate::tiers::beneath::open_parent;
use crate::tiers::workers::{interleave_by_key, run_in_parallel};
use crate::tiers::{TieredFile, Tiers, copy};
use forebay_os::file_identity::{device_number, statx_nofollow};

/// Files and bytes that are copied before they are made safe together.
const BATCH: (usize, u64) = (512, 256 << 20);

/// A link that is about to be replaced.
pub(super) struct LinkReplacement {
    dir: OwnedFd,
    name: CString,
    /// A whole copy under another name in the same directory takes its place, and not the body
    /// itself.
    by_copy: bool,
    placed: TieredFile,
    path: PathBuf,
    bytes: u64,
}

impl WriteBackJob<'_> {
    pub(super) fn write_back_group(&mut self, group: LinkGroup, body: &Statx) {
        let single = group.links.len() == 1 && group.link_paths().count() == 1;
        if !single {
            return self.write_back_all_names(&group, body.stx_size);
        }
        let path = group.first_path().to_owned();
        let (dir, name) = match open_parent(&self.root, &path) {
            Ok(found) => found,
            // Files that wait to be named hold a directory each.
            Err(Errno::MFILE) if !self.batch.is_empty() => {
                self.complete_batch();
                return self.write_back_group(group, body);
            }
            // It has its own way into closed directories.
            Err(Errno::ACCESS) => return self.write_back_all_names(&group, body.stx_size),
            Err(error) => return self.leave_group(&group, error),
        };
        self.times.remember_times(dir.as_fd(), parent_path(&path));
        let here = statx_nofollow(dir.as_fd(), c"").map(|dir| device_number(&dir));
        let by_copy = here != Ok(device_number(body));
        if by_copy && let Err(error) = self.note_arrival(&path, &group.placed) {
            return self.leave_group(&group, error);
        }
        let bytes = body.stx_size;
        self.batch.push(LinkReplacement { dir, name, by_copy, placed: group.placed, path, bytes });
        self.bytes += bytes;
        if self.batch.len() >= BATCH.0 || self.bytes >= BATCH.1 {
            self.complete_batch();
        }
    }

    /// Notes where a copy is about to be made: a kill leaves it there.
    pub(super) fn note_arrival(&mut self, path: &Path, placed: &TieredFile) -> Result<(), Errno> {
        let noted = self.arrivals.append_entry(&self.tiers.data_file_path(placed), path);
        noted.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
    }

    /// Copies a batch, makes its bytes safe, then the names, then lets the bodies go.
    pub(super) fn complete_batch(&mut self) {
        self.bytes = 0;
        let mut batch = std::mem::take(&mut self.batch);
        interleave_by_key(&mut batch, |one| parent_path(&one.path).to_owned());
        if !batch.is_empty() {
            let apart = self.land_batch(&batch);
            // Their directories may be what there is no descriptor for.
            drop(batch);
            self.progress.reset_copied_bytes();
            for one in apart {
                let names = std::slice::from_ref(&one.path);
                match self.write_back_names(names, &one.placed).and_then(|()| syncfs(&self.root)) {
                    Ok(()) => self.finish_write_back(&one.placed, one.bytes),
                    Err(error) => self.leave_file(&one.path, &one.placed, error),
                }
            }
        }
        self.progress.reset_copied_bytes();
        self.times.restore_times(&self.root);
    }

    /// The same but for those that have to come one by one.
    fn land_batch(&mut self, batch: &[LinkReplacement]) -> Vec<SingleWriteBack> {
        let (tiers, progress) = (self.tiers, self.progress);
        let copies = run_in_parallel(
            self.workers,
            batch,
            |one, tell| one.copy_data_file(tiers, tell),
            |bytes| progress.add_copied_bytes(bytes),
        );
        // One call for all: they lie on one file system.
        let safe = syncfs(&self.root);
        self.progress.reset_copied_bytes();
        let named = run_in_parallel(
            self.workers,
            &batch.iter().zip(copies).collect::<Vec<_>>(),
            |(one, copied), _| copied.and(safe).and_then(|()| one.replace_link(tiers)),
            |_| (),
        );
        let (mut landed, mut apart) = (Vec::new(), Vec::new());
        for (one, named) in batch.iter().zip(named) {
            match named {
                Ok(()) => landed.push(one),
                Err(error) => {
                    one.drop_copy();
                    match error {
                        // Two parts of one file system (subvolumes, bind mounts): a copy after all.
                        Errno::XDEV if !one.by_copy => apart.push(one.to_apart()),
                        // Into a closed directory in its own way; or with fewer open at a time.
                        Errno::ACCESS | Errno::MFILE => apart.push(one.to_apart()),
                        _ => self.leave_file(&one.path, &one.placed, error),
                    }
                }
            }
        }
        // A name that a power failure could take back would lead to a body that is gone.
        let named = syncfs(&self.root).is_ok();
        for one in landed {
            if one.by_copy && named {
                self.tiers.remove_data_file(&one.placed);
            }
            self.done.brought.0 += 1;
            self.done.brought.1 += one.bytes;
            self.report_progress();
        }
        apart
    }
}

/// A file that comes home by itself.
struct SingleWriteBack {
    placed: TieredFile,
    path: PathBuf,
    bytes: u64,
}

impl LinkReplacement {
    /// Copies the body beside the link, if it is to be copied.
    fn copy_data_file(&self, tiers: &Tiers, tell: &dyn Fn(u64)) -> Result<(), Errno> {
        if !self.by_copy {
            return Ok(());
        }
        let step = |bytes| {
            tell(bytes);
            Ok(())
        };
        copy::copy_data_file(tiers, &self.placed, self.dir.as_fd(), &step).map(drop)
    }

    /// The new name over the link, if it still is the link: somebody outside may have put another
    /// file in its place.
    fn replace_link(&self, tiers: &Tiers) -> Result<(), Errno> {
        let still = tiers.recognise_link(self.dir.as_fd(), &self.name);
        if still.is_none_or(|now| (now.room, &now.key) != (self.placed.room, &self.placed.key)) {
            // A directory that is closed to its owner does not say.
            statx_nofollow(self.dir.as_fd(), &self.name)?;
            return Err(Errno::STALE);
        }
        if self.by_copy {
            return renameat(&self.dir, copy::staging_name(&self.placed), &self.dir, &self.name);
        }
        let room = tiers.tier_directory(&self.placed);
        renameat(room.root(), &self.placed.key, &self.dir, &self.name)
    }

    fn drop_copy(&self) {
        if self.by_copy {
            let _ = unlinkat(&self.dir, copy::staging_name(&self.placed), AtFlags::empty());
        }
    }

    fn to_apart(&self) -> SingleWriteBack {
        let placed = TieredFile::new(self.placed.room, self.placed.key.clone());
        SingleWriteBack { placed, path: self.path.clone(), bytes: self.bytes }
    }
}

/// The directory that a path is in.
pub(super) fn parent_path(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}
