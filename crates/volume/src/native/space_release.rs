//! A file that loses its last name: held for whoever still uses it, and let go of where its space
//! is wanted. A local file system has that again when the last close and the unlink have returned.
//! Here both return before we are done: the kernel sends RELEASE and FORGET in its own time, and
//! until then our descriptors hold the bytes. On a full disk the next write would fail, which a
//! program that has just made room can't understand.

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use rustix::fs::{Mode, OFlags, Statx, fstatvfs, openat};

use super::{FileHandle, Native, Node};
use forebay_os::clock::{Clock, MachineClock};
use forebay_os::file_identity::{FileIdentity, statx_nofollow};

/// How often a removal looks again for a close that may be on its way: for 5 ms or a little more
/// where little is left, and for 100 ms where nothing is, as a busy machine takes its time.
/// Programs that work with a file after they removed it can't be told from those: they wait this
/// long.
const LOOKS: u32 = 50;
const LOOKS_IF_FULL: u32 = 1000;
const PAUSE: Duration = Duration::from_micros(100);
/// Below one part in so many a file system is nearly full.
const NEARLY_FULL: u64 = 32;
/// Below one part in so many it is full.
const FULL: u64 = 1024;

/// How many closes are being worked on.
#[derive(Debug, Default)]
pub(super) struct PendingReleases(AtomicU32);

/// One of them, until its descriptor is closed too.
#[derive(Debug)]
pub(crate) struct ReleaseGuard<'a>(&'a PendingReleases);

impl Drop for ReleaseGuard<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, SeqCst);
    }
}

impl Native {
    /// Held while a close is worked on.
    pub(crate) fn begin_release(&self) -> ReleaseGuard<'_> {
        self.releases.0.fetch_add(1, SeqCst);
        ReleaseGuard(&self.releases)
    }

    /// Pins a file that is about to lose a name, so that whoever still uses it finds it. Tells
    /// whether it is the last.
    pub(crate) fn pin_before_unlink(
        &self,
        dir: BorrowedFd<'_>,
        name: &CStr,
    ) -> Option<(Arc<Node>, bool)> {
        // What holds it is there before it is looked at: one question less where it is to be kept.
        // Of a file that a rule placed that is another file.
        let (held, stat) = match self.tiers {
            None => self.open_and_stat(dir, name)?,
            Some(_) => (None, statx_nofollow(dir, name).ok()?),
        };
        let node = self.table.find_by_identity(FileIdentity::from_statx(&stat))?;
        self.cancel_migration(&node);
        self.fetch_before_unlink(&node);
        let is_open = node.open.lock().shared.is_open();
        let last = node.is_dir() || stat.stx_nlink < 2;
        if let Some(tiers) = self.tiers.as_ref().filter(|_| last) {
            tiers.forget_copy(node.identity());
        }
        let placed = node.placed.get();
        if last
            && is_open
            && placed.is_some()
            && let Ok(link) = self.open_verified_path(dir, name, &node)
        {
            // Its number is the link's, which would be the next file's.
            self.table.keep_old_inode(&node, link);
        }
        // Also of a file that is open: its last close may come before whoever has found its name asks
        // for the file.
        if last && node.place.lock().pin.is_none() {
            let fd = match placed {
                Some(placed) => self.tiers.as_ref()?.open_data_file(&placed, OFlags::PATH).ok()?,
                None => match held {
                    Some(held) => held,
                    None => self.open_verified_path(dir, name, &node).ok()?,
                },
            };
            node.place.lock().pin = Some(Arc::new(fd));
        }
        Some((node, last))
    }

    /// A name's file, held by the way to it where it can be, and its attributes.
    fn open_and_stat(&self, dir: BorrowedFd<'_>, name: &CStr) -> Option<(Option<OwnedFd>, Statx)> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match self.with_free_descriptors(|| openat(dir, name, flags, Mode::empty())) {
            Ok(held) => {
                let stat = statx_nofollow(held.as_fd(), c"").ok()?;
                Some((Some(held), stat))
            }
            Err(_) => Some((None, statx_nofollow(dir, name).ok()?)),
        }
    }

    /// Lets go of a file that has just lost its last name, where its file system is nearly full.
    /// Elsewhere nobody misses the space, and removing does not wait.
    ///
    /// Who holds such a file by `O_PATH` alone can't open it any more: the price of telling no
    /// other program of a full disk that is not.
    pub(super) fn free_space_when_closed(&self, node: &Node) {
        if node.is_dir() {
            return;
        }
        let Some(looks) = self.close_check_count(node) else { return };
        let handles: Vec<Weak<FileHandle>> =
            node.open.lock().handles.iter().map(Arc::downgrade).collect();
        for _ in 0..looks {
            let is_held = handles.iter().any(|handle| handle.strong_count() > 0);
            if !is_held && self.releases.0.load(SeqCst) == 0 {
                break;
            }
            std::thread::sleep(PAUSE);
        }
        let open = node.open.lock();
        // Without a time of birth the next file of this inode number would be taken for this one.
        if !open.shared.is_open() && node.identity().born != 0 {
            node.place.lock().pin = None;
        }
    }
}

/// A file has not lost its name after all: it can be found by it, and may move.
pub(super) fn unpin_kept_file(node: Option<&Node>) {
    if let Some(node) = node.filter(|node| !node.is_dir()) {
        node.place.lock().pin = None;
    }
}

impl Native {
    /// How often to look for closes; not at all where there is room.
    ///
    /// Asks through a descriptor that holds the file, if there is one: the body of a file that a
    /// rule placed lies elsewhere than its name.
    fn close_check_count(&self, node: &Node) -> Option<u32> {
        let device = node.identity().device;
        if self.roomy.is_roomy(device, &MachineClock) {
            return None;
        }
        let pin = node.place.lock().pin.clone();
        let known = match pin {
            Some(pin) => fstatvfs(pin.as_fd()),
            None => fstatvfs(&node.open.lock().handles.last().cloned()?.file),
        };
        let known = known.ok()?;
        let below = |part: u64| known.f_bavail < known.f_blocks.div_ceil(part);
        if !below(NEARLY_FULL) && known.f_bavail.saturating_mul(known.f_frsize) > ROOMY {
            self.roomy.note_roomy(device, &MachineClock);
        }
        below(NEARLY_FULL).then(|| if below(FULL) { LOOKS_IF_FULL } else { LOOKS })
    }
}

/// File systems, by device number, that had so much room a moment ago that they can't be full now:
/// over a network each look is a round trip, and programs remove files by the thousand.
#[derive(Debug, Default)]
pub(super) struct RoomyFileSystems(Mutex<FxHashMap<u64, u64>>);

/// Bytes that nobody writes within [`ROOMY_NANOS`].
const ROOMY: u64 = 16 << 30;
const ROOMY_NANOS: u64 = 100_000_000;

impl RoomyFileSystems {
    fn is_roomy(&self, device: u64, clock: &dyn Clock) -> bool {
        let until = self.0.lock().get(&device).copied();
        until.is_some_and(|until| clock.elapsed_nanos() < until)
    }

    fn note_roomy(&self, device: u64, clock: &dyn Clock) {
        self.0.lock().insert(device, clock.elapsed_nanos() + ROOMY_NANOS);
    }
}

#[cfg(test)]
mod tests {
    //! If this fails, a removal asks the storage for its room each time, or never again.
    use super::*;
    use forebay_os::clock::ManualClock;

    #[test]
    fn room_is_believed_for_a_moment() {
        let (roomy, clock) = (RoomyFileSystems::default(), ManualClock::default());
        assert!(!roomy.is_roomy(7, &clock));
        roomy.note_roomy(7, &clock);
        assert!(roomy.is_roomy(7, &clock) && !roomy.is_roomy(8, &clock));
        clock.advance(ROOMY_NANOS);
        assert!(!roomy.is_roomy(7, &clock));
    }
}
