//! A packed file that the kernel knows, and its working file while somebody has it open.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use parking_lot::Mutex;
use rustix::fs::{Statx, Timestamps, futimens};
use rustix::time::Timespec;

use super::Result;
use super::kept_content::KeptContent;
use forebay_os::file_identity::statx_nofollow;
use forebay_packlog::{Attr, Pack, Time, WorkingFile};

/// A packed file that the kernel knows.
#[derive(Debug)]
pub(crate) struct PackedFile {
    pub(crate) ino: u64,
    /// Its working file, while anybody has it open.
    pub(super) in_use: Mutex<Option<OpenWorkingFile>>,
    /// Its bytes, as long as it is read and nobody needs a working file. Locked after that.
    pub(super) kept: Mutex<Option<KeptContent>>,
    /// That file is its body, and will not be another's.
    pub(super) body: AtomicBool,
    /// Bytes were written that the pack does not know. Raised after each write, so whoever lowers it
    /// before reading misses none.
    pub(super) dirty: AtomicBool,
}

impl PackedFile {
    pub(super) fn new(ino: u64) -> PackedFile {
        let (body, dirty) = (AtomicBool::new(false), AtomicBool::new(false));
        PackedFile { ino, in_use: Mutex::new(None), kept: Mutex::new(None), body, dirty }
    }

    /// Whether nothing of it would be missed: see `native::dormant`.
    pub(super) fn is_idle(self: &mut Arc<PackedFile>) -> bool {
        let mine = Arc::get_mut(self);
        mine.is_some_and(|packed| packed.in_use.get_mut().is_none() && !*packed.dirty.get_mut())
    }

    /// Whether the kernel may be lent the working file. A mapping made in passthrough holds that
    /// file and not ours, so it outlives the last close; a file that is used again must not be
    /// seen through it.
    pub(super) fn has_own_data_file(&self) -> bool {
        self.body.load(Relaxed)
    }

    /// Somebody has it open.
    pub(super) fn is_in_use(&self) -> bool {
        self.in_use.lock().is_some()
    }

    /// Bytes were written.
    pub(super) fn mark_dirty(&self) {
        self.dirty.store(true, Relaxed);
    }

    /// Attributes now: the pack's, and the working file's where that is newer.
    pub(super) fn attributes_and_links(&self, pack: &Pack) -> Result<(Attr, u32)> {
        let in_use = self.in_use.lock();
        let (mut attr, links) = pack.attributes_and_links(self.ino)?;
        if let Some(used) = &*in_use {
            let now = used.stat_working_file()?;
            let dirty = self.dirty.load(Relaxed);
            if dirty || self.has_own_data_file() {
                let (size, mtime) = (now.stx_size, Time::from_timestamp(&now.stx_mtime));
                let ctime = Time::from_timestamp(&now.stx_ctime);
                if dirty || (attr.size, attr.mtime) != (size, mtime) || ctime != used.since {
                    attr.ctime = attr.ctime.max(ctime);
                }
                (attr.size, attr.mtime) = (size, mtime);
            }
            // Only those that a write took away.
            attr.mode &= !used.lost_set_id_bits(&now);
        }
        Ok((attr, links))
    }
}

/// The working file of a packed file that somebody has open.
#[derive(Debug)]
pub(super) struct OpenWorkingFile {
    pub(super) work: WorkingFile,
    /// Set-id bits that the working file was given, for a write to take away.
    pub(super) set_id: u32,
    /// The pack knows that it may be written to.
    pub(super) begun: bool,
    /// The working file's time of change when we changed its attributes last, which is no change of
    /// the file that it stands for.
    pub(super) since: Time,
}

impl OpenWorkingFile {
    /// A working file that has the caller's times.
    pub(super) fn new(work: WorkingFile, begun: bool) -> Result<OpenWorkingFile> {
        let since = Time::from_timestamp(&statx_nofollow(work.file.as_fd(), c"")?.stx_ctime);
        Ok(OpenWorkingFile { work, set_id: 0, begun, since })
    }

    /// One that has what the log says, and no time that anybody asks for until it is written.
    pub(super) fn new_filled(work: WorkingFile, begun: bool) -> OpenWorkingFile {
        OpenWorkingFile { work, set_id: 0, begun, since: Time::default() }
    }

    pub(super) fn stat_working_file(&self) -> Result<Statx> {
        statx_nofollow(self.work.file.as_fd(), c"")
    }

    /// We have changed attributes of the working file.
    pub(super) fn note_own_change(&mut self) -> Result<()> {
        self.since = Time::from_timestamp(&self.stat_working_file()?.stx_ctime);
        Ok(())
    }

    /// Set-id bits that a write has taken away.
    pub(super) fn lost_set_id_bits(&self, now: &Statx) -> u32 {
        self.set_id & !u32::from(now.stx_mode)
    }
}

/// The caller's times on a working file, so that its own clock goes on from there.
pub(super) fn set_working_times(work: &WorkingFile, atime: Time, mtime: Time) -> Result<()> {
    let time = |time: Time| Timespec { tv_sec: time.sec, tv_nsec: time.nsec as _ };
    let times = Timestamps { last_access: time(atime), last_modification: time(mtime) };
    futimens(&work.file, &times)
}
