//! Giving local space back: files that the bucket has, that nobody has open, the one used longest
//! ago first, become holes again.

use std::os::fd::AsFd;
use std::time::Duration;

use rustix::fs::{
    AtFlags, FallocateFlags, OFlags, StatxFlags, XattrFlags, fallocate, fsetxattr, fstatvfs, statx,
};

use super::super::bodies::Away;
use super::super::local::{AWAY, set_mtime};
use super::super::record::{Kind, Place};
use super::super::scan::Stamp;
use super::super::tree::{ROOT, Tree, joined};
use super::worker::Worker;
use crate::native::{Identity, Native, reopen, stat_of};

/// Room is made when less than one part in so many of the disk is free, until twice as much is.
const NEARLY_FULL: u64 = 16;
/// With a bound, it is looked again when files may have grown by one part in so many of it.
const GROWN: u64 = 16;
/// Bytes by which files have grown after which it is looked again on a disk that is nearly full.
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

impl Worker {
    /// Makes room where there is little.
    pub(super) fn make_room(&mut self) {
        // What waits for the bucket is not there yet.
        if self.ship.is_pending() {
            return;
        }
        let mut wanted = self.missing();
        let Some(native) = self.native.upgrade().filter(|_| wanted > 0) else { return };
        // A hole of which a machine that went down does not know whose it is would be the file.
        if self.journal.sync().is_err() {
            return;
        }
        let mut all = self.candidates();
        self.grown = 0;
        if let Some(space) = self.wanted.space {
            let taken: u64 = all.iter().map(|one| one.bytes).sum();
            wanted = wanted.max(taken.saturating_sub(space));
        }
        all.sort_unstable_by_key(|one| one.used);
        for one in all {
            if wanted == 0 {
                break;
            }
            let mirror = std::sync::Arc::clone(&self.mirror);
            let _no_changes = mirror.marks.quiet();
            // Somebody waits for bytes: nobody else is to wait for this.
            let Some(_no_opens) = mirror.opening.try_write_for(PATIENCE) else { break };
            if self.give_back(&native, &one).is_some() {
                wanted = wanted.saturating_sub(one.bytes);
            }
        }
    }

    /// Bytes that should be free and are not; with a bound of its own that is asked of all files.
    fn missing(&self) -> u64 {
        let Ok(disk) = fstatvfs(&self.mirror.root) else { return 0 };
        let is_little = disk.f_bavail < disk.f_blocks / NEARLY_FULL;
        let most = disk.f_blocks / (NEARLY_FULL / 2);
        let missing = most.saturating_sub(disk.f_bavail) * disk.f_frsize;
        // Looking at all files is worth it when they may have become more: the disk may be full of
        // what is not ours.
        let has_grown = |space: u64| self.grown > space / GROWN;
        match is_little && self.grown > WORTH {
            true => missing,
            false => u64::from(self.wanted.space.is_some_and(has_grown)),
        }
    }

    fn candidates(&self) -> Vec<Candidate> {
        let mut all = Vec::new();
        let mut folders = vec![(ROOT, Vec::new())];
        let tree: &Tree = self.ship.tree();
        while let Some((ino, path)) = folders.pop() {
            let Some(folder) = tree.file(ino) else { continue };
            for (name, ino) in &folder.names {
                let path = joined(&path, name.as_bytes());
                match tree.file(*ino).map(|file| (&file.kind, &file.place)) {
                    Some((Kind::Folder, _)) => folders.push((*ino, path)),
                    Some((Kind::Plain, place)) if *place != Place::Empty => {
                        all.extend(self.candidate(*ino, path));
                    }
                    _ => {}
                }
            }
        }
        all
    }

    fn candidate(&self, ino: u64, path: Vec<u8>) -> Option<Candidate> {
        let file = self.mirror.open(&path).ok()?;
        let stat = statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS).ok()?;
        let used = (stat.stx_atime.tv_sec, stat.stx_atime.tv_nsec);
        let bytes = stat.stx_blocks * 512;
        (bytes > 0 && !self.mirror.bodies.is_known_away(ino)).then_some(Candidate {
            used,
            bytes,
            ino,
            path,
        })
    }

    /// `None`: it is in use, or is not as the bucket has it.
    fn give_back(&mut self, native: &Native, one: &Candidate) -> Option<()> {
        let mirror = std::sync::Arc::clone(&self.mirror);
        let file = mirror.open(&one.path).ok()?;
        let stat = stat_of(file.as_fd(), c"").ok()?;
        let identity = Identity::of(&stat);
        let scan = self.ship.scan();
        let is_known = self.journal.knows(one.ino)
            && scan.number(&identity) == Some(one.ino)
            && scan.is_clean_as(&identity, one.ino, &Stamp::of(file.as_fd()).ok()?);
        if !is_known || native.is_open(&identity) {
            return None;
        }
        let known = self.ship.tree().file(one.ino)?;
        let away = Away::of(known);
        let file = reopen(file.as_fd(), OFlags::RDWR).ok()?;
        // Marked first: what is half away is away.
        fsetxattr(&file, AWAY, b"1", XattrFlags::CREATE).ok()?;
        let mtime = away.mtime;
        mirror.bodies.leave(identity, one.ino, away);
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let _ = fallocate(&file, hole, 0, stat.stx_size);
        let _ = set_mtime(&file, mtime);
        if let Ok(stamp) = Stamp::of(file.as_fd()) {
            self.ship.scan().is_as(one.ino, stamp);
        }
        Some(())
    }
}
