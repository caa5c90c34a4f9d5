//! Giving local space back: files that the bucket has, that nobody has open, the one used longest
//! ago first, become holes again.

use std::os::fd::AsFd;
use std::time::Duration;

use rustix::fs::{
    AtFlags, FallocateFlags, OFlags, StatxFlags, XattrFlags, fallocate, fsetxattr, fstatvfs, statx,
};

use super::super::super::evicted_files::EvictedFile;
use super::super::super::placeholder::{AWAY, set_mtime};
use super::super::super::scan::FileStamp;
use super::super::super::tree::{ROOT, VolumeTree, join_path};
use super::super::super::tree_record::{ContentLocation, Kind};
use super::UploadWorker;
use crate::backend::TreeServer;
use forebay_os::file_identity::{FileIdentity, reopen_with_flags, statx_nofollow};

/// Room is made when less than one part in so many of the disk is free, until twice as much is.
const NEARLY_FULL: u64 = 16;
/// With a bound, it is looked again when files may have grown by one part in so many of it.
pub(super) const GROWN: u64 = 16;
/// Bytes by which files have grown after which it is looked again on a disk that is nearly full;
/// on a small one half of what is missing.
const WORTH: u64 = 16 << 20;
/// Who opens a file waits for this at most, and this not for long for who opens one.
const PATIENCE: Duration = Duration::from_millis(20);

/// A file that could be given back.
struct Candidate {
    used: (i64, u32),
    bytes: u64,
    ino: u64,
    path: Vec<u8>,
}

impl UploadWorker {
    /// Makes room where there is little; how many files were given back.
    pub(super) fn make_room(&mut self) -> usize {
        // What waits for the bucket is not there yet.
        if self.ship.is_pending() {
            return 0;
        }
        let is_crowded = self.mirror.marks.lock_noted().crowded;
        let missing = self.missing_free_bytes(is_crowded);
        if missing.is_none() && self.grown == u64::MAX {
            // There was room when it began.
            self.grown = 0;
        }
        let Some(server) = self.server.upgrade().filter(|_| missing.is_some()) else { return 0 };
        // A hole of which a machine that went down does not know whose it is would be the file.
        if self.journal.sync_to_disk().is_err() {
            return 0;
        }
        let mut all = self.eviction_candidates();
        self.grown = 0;
        let (mut wanted, mut given_back) = (missing.unwrap_or_default(), 0);
        let mut taken: u64 = all.iter().map(|one| one.bytes).sum();
        let too_much = self.wanted.space.filter(|space| taken > *space);
        if let Some(space) = too_much {
            // More than that, so that who writes need not wait for each file.
            wanted = wanted.max(taken - space / 4 * 3);
        }
        all.sort_unstable_by_key(|one| one.used);
        let mut is_in_use = false;
        for one in all {
            if wanted == 0 {
                break;
            }
            let mirror = std::sync::Arc::clone(&self.mirror);
            let _no_changes = mirror.marks.gate.block_changes();
            // Somebody waits for bytes: nobody else is to wait for this.
            let Some(_no_opens) = mirror.opening.try_write_for(PATIENCE) else {
                is_in_use = true;
                break;
            };
            if self.evict_file(&*server, &one).is_some() {
                wanted = wanted.saturating_sub(one.bytes);
                taken -= one.bytes;
                given_back += 1;
            } else {
                is_in_use = true;
            }
        }
        self.again.note_attempt(is_in_use && wanted > 0);
        // Files that came since the last cut were not among them.
        if self.mirror.marks.lock_noted().dirty.is_empty()
            && let Ok(disk) = fstatvfs(&self.mirror.root)
        {
            self.mirror.fill.note_usage(taken, disk.f_bavail * disk.f_frsize);
        }
        given_back
    }

    /// Bytes that should be free and are not; `None`: there is room, as far as is known without
    /// looking at all files. These are looked at, too, when somebody waits for room.
    fn missing_free_bytes(&self, is_crowded: bool) -> Option<u64> {
        let disk = fstatvfs(&self.mirror.root).ok()?;
        let is_little = disk.f_bavail < disk.f_blocks / NEARLY_FULL;
        let most = disk.f_blocks / (NEARLY_FULL / 2);
        let missing = most.saturating_sub(disk.f_bavail) * disk.f_frsize;
        // Looking at all files is worth it when they may have become more: the disk may be full of
        // what is not ours.
        let has_grown = |space: u64| self.grown > space / GROWN;
        match is_little && (is_crowded || self.grown > WORTH.min(missing / 2)) {
            true => Some(missing),
            false => self.wanted.space.is_some_and(has_grown).then_some(0),
        }
    }

    fn eviction_candidates(&self) -> Vec<Candidate> {
        let mut all = Vec::new();
        let mut folders = vec![(ROOT, Vec::new())];
        let tree: &VolumeTree = self.ship.tree();
        while let Some((ino, path)) = folders.pop() {
            let Some(folder) = tree.file(ino) else { continue };
            for (name, ino) in &folder.names {
                let path = join_path(&path, name.as_bytes());
                match tree.file(*ino).map(|file| (&file.kind, &file.place)) {
                    Some((Kind::Folder, _)) => folders.push((*ino, path)),
                    Some((Kind::Plain, place)) if *place != ContentLocation::Empty => {
                        all.extend(self.eviction_candidate(*ino, path));
                    }
                    _ => {}
                }
            }
        }
        all
    }

    fn eviction_candidate(&self, ino: u64, path: Vec<u8>) -> Option<Candidate> {
        let file = self.mirror.open_to_read(&path).ok()?;
        let stat = statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS).ok()?;
        let used = (stat.stx_atime.tv_sec, stat.stx_atime.tv_nsec);
        let bytes = stat.stx_blocks * 512;
        (bytes > 0 && !self.mirror.bodies.is_inode_evicted(ino)).then_some(Candidate {
            used,
            bytes,
            ino,
            path,
        })
    }

    /// `None`: it is in use, or is not as the bucket has it.
    fn evict_file(&mut self, server: &dyn TreeServer, one: &Candidate) -> Option<()> {
        let mirror = std::sync::Arc::clone(&self.mirror);
        let file = mirror.open_to_read(&one.path).ok()?;
        let stat = statx_nofollow(file.as_fd(), c"").ok()?;
        let identity = FileIdentity::from_statx(&stat);
        let scan = self.ship.scan_mut();
        let is_known = self.journal.has_noted(one.ino)
            && scan.inode_number(&identity) == Some(one.ino)
            && scan.is_clean_as(&identity, one.ino, &FileStamp::from_file(file.as_fd()).ok()?);
        if !is_known || server.is_open(&identity) {
            return None;
        }
        let known = self.ship.tree().file(one.ino)?;
        let away = EvictedFile::from_file(known);
        let file = reopen_with_flags(file.as_fd(), OFlags::RDWR).ok()?;
        // Marked first: what is half away is away.
        fsetxattr(&file, AWAY, b"1", XattrFlags::CREATE).ok()?;
        let mtime = away.mtime;
        mirror.bodies.begin_eviction(identity, one.ino, away);
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        // Bytes that stay take room, and are fetched anew; a time that can't be set back is that of now.
        let _ = fallocate(&file, hole, 0, stat.stx_size);
        let _ = set_mtime(&file, mtime);
        mirror.bodies.finish_eviction(identity);
        if let Ok(stamp) = FileStamp::from_file(file.as_fd()) {
            self.ship.scan_mut().record_stamp(one.ino, stamp);
        }
        Some(())
    }
}
