//! Moments that several daemons share: the limits of one server, which all its clients meet.
//!
//! It is a page of a file in memory that each of them maps. A moment is nanoseconds of the machine's
//! monotonic clock, as the bits of a double; no bits are a moment long ago. That clock starts with
//! the machine, so what was written before it last did is forgotten.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Moments on a board; behind them stands which start of the machine they are of.
pub(super) const PLACES: usize = 511;
const BYTES: usize = (PLACES + 1) * size_of::<AtomicU64>();

/// A board.
#[derive(Debug)]
pub(super) struct SharedMoments {
    base: NonNull<AtomicU64>,
}

// SAFETY: what it points to is changed by atomic operations alone, and lives as long as it does.
unsafe impl Send for SharedMoments {}
// SAFETY: as above.
unsafe impl Sync for SharedMoments {}

impl SharedMoments {
    /// Opens the board in this file, which is made if it is not there.
    ///
    /// # Errors
    /// The file's, or the kernel's when it has no memory to map.
    pub(super) fn open(path: &Path) -> io::Result<SharedMoments> {
        let file =
            File::options().read(true).write(true).create(true).truncate(false).open(path)?;
        // All that open it give it the same length; what is new is zeros.
        file.set_len(BYTES as u64)?;
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: a fresh mapping of a file that is so long, at a place of the kernel's choice.
        let base = unsafe {
            libc::mmap(std::ptr::null_mut(), BYTES, protection, flags, file.as_raw_fd(), 0)
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        let board = SharedMoments { base };
        board.reset_after_reboot(boot_number()?);
        Ok(board)
    }

    /// Forgets all moments that are not of this start of the machine.
    fn reset_after_reboot(&self, start: u64) {
        if self.slot_at(PLACES).load(Relaxed) != start {
            (0..PLACES).for_each(|at| self.slot_at(at).store(0, Relaxed));
            self.slot_at(PLACES).store(start, Relaxed);
        }
    }

    fn slot_at(&self, at: usize) -> &AtomicU64 {
        assert!(at <= PLACES, "a board has {PLACES} places");
        // SAFETY: within the mapping, aligned, and zeros are a valid atomic.
        unsafe { self.base.add(at).as_ref() }
    }

    /// Changes a moment, whoever else does so at the same time; what it is then.
    pub(super) fn update_moment(&self, at: usize, to: impl Fn(f64) -> f64) -> f64 {
        let place = self.slot_at(at);
        let mut known = place.load(Relaxed);
        loop {
            let new = to(moment_from_bits(known));
            match place.compare_exchange_weak(known, new.to_bits(), Relaxed, Relaxed) {
                Ok(_) => return new,
                Err(other) => known = other,
            }
        }
    }

    /// Takes the one of `count` moments from `first` on that is the earliest, for `takes` more
    /// nanoseconds; when that begins, not before `now`.
    pub(super) fn take_earliest(&self, first: usize, count: usize, now: f64, takes: f64) -> f64 {
        loop {
            let all = (first..first + count).map(|at| (at, self.slot_at(at).load(Relaxed)));
            let earliest = all
                .min_by(|one, other| moment_from_bits(one.1).total_cmp(&moment_from_bits(other.1)));
            let Some((at, known)) = earliest else { return now };
            let start = moment_from_bits(known).max(now);
            let new = (start + takes).to_bits();
            if self.slot_at(at).compare_exchange(known, new, Relaxed, Relaxed).is_ok() {
                return start;
            }
        }
    }
}

/// A number of this start of the machine, and no other.
fn boot_number() -> io::Result<u64> {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    let digits: String = id.chars().filter(char::is_ascii_hexdigit).take(16).collect();
    u64::from_str_radix(&digits, 16).map_err(io::Error::other)
}

fn moment_from_bits(bits: u64) -> f64 {
    if bits == 0 { f64::NEG_INFINITY } else { f64::from_bits(bits) }
}

impl Drop for SharedMoments {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and nobody refers to it any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), BYTES) };
    }
}

#[cfg(test)]
mod tests {
    //! If these fail, two nodes get from one server what each should get half of.
    use super::*;

    #[test]
    fn what_one_changes_the_other_sees() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("server");
        let (one, other) =
            (SharedMoments::open(&path).expect("made"), SharedMoments::open(&path).expect("there"));
        assert_eq!(one.update_moment(3, |known| known.max(5.0) + 1.0), 6.0);
        assert_eq!(other.update_moment(3, |known| known + 1.0), 7.0);
        std::thread::scope(|scope| {
            for board in [&one, &other] {
                scope.spawn(|| {
                    for _ in 0..10_000 {
                        board.update_moment(3, |known| known + 1.0);
                    }
                });
            }
        });
        assert_eq!(one.update_moment(3, |known| known), 20_007.0, "none is lost");
        let takes = [&one, &other, &one].map(|board| board.take_earliest(8, 2, 100.0, 10.0));
        assert_eq!(takes, [100.0, 100.0, 110.0], "two work at a time");
        one.reset_after_reboot(1);
        assert_eq!(
            other.update_moment(3, |known| known.max(5.0)),
            5.0,
            "the machine has started again"
        );
    }
}
