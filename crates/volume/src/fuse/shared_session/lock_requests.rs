//! Requests for locks on files of a shared volume. Who waits for a lock does so in a thread of its own:
//! it may take hours, and a signal to the program (INTERRUPT) ends it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::Builder;

use forebay_book::InodeNumber;
use forebay_sharing::{Lock, LockFamily, LockKind, Unlocked};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use rustix::io::Errno;
use zerocopy::{FromBytes, IntoBytes};

use super::super::abi::{self, FileLock, LkIn};
use super::{Asked, SharedSession};
use crate::native::Result;

/// `FUSE_RELEASE_FLOCK_UNLOCK`: the closed file had locks of flock(2).
const RELEASE_FLOCK: u32 = 1 << 1;
/// Interrupts that came before their requests were known are remembered, so many of them.
const EARLY_MOST: usize = 1024;

/// Requests that wait for a lock.
#[derive(Debug, Default)]
pub(super) struct LockWaits(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    /// By request number: whether it is to end.
    waits: FxHashMap<u64, Arc<AtomicBool>>,
    /// Request numbers are never used again, so those of other requests do no harm.
    early: VecDeque<u64>,
}

impl LockWaits {
    /// The program behind a request got a signal. All other requests answer soon by themselves.
    pub(super) fn interrupt(&self, body: &[u8]) {
        let Ok((ask, _)) = abi::InterruptIn::ref_from_prefix(body) else { return };
        let mut all = self.0.lock();
        if let Some(wait) = all.waits.get(&ask.unique) {
            wait.store(true, Relaxed);
            return;
        }
        all.early.push_back(ask.unique);
        if all.early.len() > EARLY_MOST {
            all.early.pop_front();
        }
    }

    fn begin(&self, unique: u64) -> Arc<AtomicBool> {
        let mut all = self.0.lock();
        let wait = Arc::new(AtomicBool::new(all.early.contains(&unique)));
        all.waits.insert(unique, Arc::clone(&wait));
        wait
    }

    fn end(&self, unique: u64) {
        self.0.lock().waits.remove(&unique);
    }
}

/// Owners of byte ranges that were locked through open files, by handle: of locks that belong to an
/// open file description no close tells.
#[derive(Debug, Default)]
pub(super) struct LockingHandles(Mutex<FxHashMap<u64, (InodeNumber, Vec<u64>)>>);

impl LockingHandles {
    fn note(&self, handle: u64, file: InodeNumber, owner: u64) {
        let mut all = self.0.lock();
        let owners = &mut all.entry(handle).or_insert((file, Vec::new())).1;
        if !owners.contains(&owner) {
            owners.push(owner);
        }
    }

    /// A process has closed the file: what it had locked is given up already.
    fn forget_owner(&self, file: InodeNumber, owner: u64) {
        for (of, owners) in self.0.lock().values_mut() {
            if *of == file {
                owners.retain(|known| *known != owner);
            }
        }
    }

    /// A handle is no more: owners who have locked the file through it, and through none that is left.
    fn take(&self, handle: u64) -> Vec<u64> {
        let mut all = self.0.lock();
        let Some((file, mut owners)) = all.remove(&handle) else { return Vec::new() };
        owners.retain(|owner| !all.values().any(|(of, has)| *of == file && has.contains(owner)));
        owners
    }
}

fn family_of(ask: &LkIn) -> LockFamily {
    match ask.lk_flags & abi::LK_FLOCK != 0 {
        true => LockFamily::Whole,
        false => LockFamily::Range,
    }
}

/// The lock that is asked for; `None`: one is given up.
fn wanted_of(ask: &LkIn) -> Result<Option<Lock>> {
    let kind = match ask.lk.kind.cast_signed() {
        libc::F_RDLCK => LockKind::Shared,
        libc::F_WRLCK => LockKind::Exclusive,
        libc::F_UNLCK => return Ok(None),
        _ => return Err(Errno::INVAL),
    };
    let family = family_of(ask);
    let (start, end) = match family {
        LockFamily::Whole => (0, u64::MAX),
        LockFamily::Range => (ask.lk.start, ask.lk.end),
    };
    if start > end {
        return Err(Errno::INVAL);
    }
    Ok(Some(Lock { family, kind, start, end, owner: ask.owner, pid: ask.lk.pid }))
}

impl SharedSession {
    pub(super) fn getlk(&self, asked: &Asked<'_>) -> Result<()> {
        let (ask, _) = asked.parse::<LkIn>()?;
        let wanted = wanted_of(ask)?.ok_or(Errno::INVAL)?;
        let found = self.node.lock_in_the_way(asked.file(), &wanted)?;
        let out = match found {
            None => FileLock { kind: libc::F_UNLCK.cast_unsigned(), ..Default::default() },
            Some(lock) => FileLock {
                start: lock.start,
                end: lock.end.min(i64::MAX as u64),
                kind: match lock.kind {
                    LockKind::Shared => libc::F_RDLCK,
                    LockKind::Exclusive => libc::F_WRLCK,
                }
                .cast_unsigned(),
                pid: lock.pid,
            },
        };
        asked.reply(&[out.as_bytes()])
    }

    pub(super) fn setlk(self: &Arc<SharedSession>, asked: &Asked<'_>, waits: bool) -> Result<()> {
        let (ask, _) = asked.parse::<LkIn>()?;
        let file = asked.file();
        let Some(wanted) = wanted_of(ask)? else {
            let (start, end) = match family_of(ask) {
                LockFamily::Whole => (0, u64::MAX),
                LockFamily::Range => (ask.lk.start, ask.lk.end),
            };
            let what = Unlocked { family: family_of(ask), owner: ask.owner, start, end };
            self.node.unlock(file, what)?;
            return asked.reply(&[]);
        };
        if wanted.family == LockFamily::Range {
            self.locking_handles.note(ask.fh, file, wanted.owner);
        }
        match self.node.lock(file, wanted, None) {
            Err(Errno::AGAIN) if waits => self.wait_for_lock(asked, wanted),
            locked => {
                locked?;
                asked.reply(&[])
            }
        }
    }

    fn wait_for_lock(self: &Arc<SharedSession>, asked: &Asked<'_>, wanted: Lock) -> Result<()> {
        let (session, device) = (Arc::clone(self), asked.device.clone());
        let (file, unique) = (asked.file(), asked.header.unique);
        let wait = self.lock_waits.begin(unique);
        let work = move || {
            let interrupted = || wait.load(Relaxed);
            let locked = session.node.lock(file, wanted, Some(&interrupted));
            session.lock_waits.end(unique);
            match locked {
                Ok(()) => device.send_reply(unique, &[]),
                Err(error) => device.send_error(unique, error),
            }
        };
        Builder::new().name("forebay-lock".into()).spawn(work).map(drop).map_err(|_| {
            self.lock_waits.end(unique);
            Errno::NOLCK
        })
    }

    /// A process closes a descriptor of a file: it has no byte ranges locked any more.
    pub(super) fn end_locks_at_close(&self, file: InodeNumber, owner: u64) -> Result<()> {
        self.locking_handles.forget_owner(file, owner);
        self.node.unlock(file, Unlocked::all_of(owner, LockFamily::Range))
    }

    /// The last copy of a descriptor is closed.
    pub(super) fn end_locks_at_release(&self, file: InodeNumber, ask: &abi::ReleaseIn) {
        let of_description = self.locking_handles.take(ask.fh).into_iter();
        let ranges = of_description.map(|owner| Unlocked::all_of(owner, LockFamily::Range));
        let is_whole = ask.release_flags & RELEASE_FLOCK != 0;
        let whole = is_whole.then(|| Unlocked::all_of(ask.lock_owner, LockFamily::Whole));
        for what in ranges.chain(whole) {
            if let Err(error) = self.node.unlock(file, what) {
                tracing::warn!("what was written of file {file} under a lock: {error}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    //! If these fail, locks stay though who had them is gone, or go while another has them.
    use super::*;

    #[test]
    fn an_interrupt_that_comes_first_ends_the_wait() {
        let waits = LockWaits::default();
        let early = abi::InterruptIn { unique: 7 };
        waits.interrupt(early.as_bytes());
        assert!(waits.begin(7).load(Relaxed));
        let other = waits.begin(8);
        assert!(!other.load(Relaxed));
        waits.interrupt(abi::InterruptIn { unique: 8 }.as_bytes());
        assert!(other.load(Relaxed));
    }

    #[test]
    fn locks_end_with_the_last_handle_of_their_owner() {
        let handles = LockingHandles::default();
        let (file, other) = (InodeNumber(1), InodeNumber(2));
        handles.note(10, file, 5);
        handles.note(11, file, 5);
        handles.note(12, other, 5);
        assert!(handles.take(10).is_empty(), "it has another one");
        assert_eq!(handles.take(11), [5]);
        handles.forget_owner(other, 5);
        assert!(handles.take(12).is_empty(), "its close was told");
    }
}
