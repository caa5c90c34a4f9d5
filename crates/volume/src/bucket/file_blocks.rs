//! The bytes of one file that come from its bucket as they are read: blocks that are here, that are
//! asked for, and that are missing. Each is asked for once, however many wait for it.

mod block_states;
mod recall;

use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use bytes::Bytes;
use parking_lot::{Condvar, Mutex, RwLock};
use rustix::io::Errno;

use super::tree_record::Time;
use block_states::{BlockState, BlockStates};

/// Bytes of a block: what a read at random fetches.
pub(crate) const BLOCK: u64 = 64 << 10;

#[derive(Debug)]
pub(crate) struct FileBlocks {
    pub(super) ino: u64,
    /// The local file, to read and write.
    pub(super) file: OwnedFd,
    pub(super) size: u64,
    /// Its time of modification, which bytes that come don't change.
    pub(super) mtime: Time,
    /// The checksums of its object, once they have come.
    pub(super) sums: OnceLock<Bytes>,
    parts: Mutex<BlockStates>,
    came: Condvar,
    whole: AtomicBool,
    /// Its bytes are somebody else's now. Held to read by who puts some there.
    given_up: RwLock<bool>,
    /// Somebody has changed it since.
    pub(super) changed: AtomicBool,
}

/// What a reader has to do.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BlockTask {
    /// Nothing: the bytes are here.
    Read,
    /// To bring these bytes, which nobody else does.
    Bring(Range<u64>),
}

impl FileBlocks {
    pub(super) fn new(ino: u64, file: OwnedFd, size: u64, mtime: Time) -> FileBlocks {
        FileBlocks {
            ino,
            file,
            size,
            mtime,
            sums: OnceLock::new(),
            parts: Mutex::new(BlockStates::all_missing(size)),
            came: Condvar::new(),
            whole: AtomicBool::new(size == 0),
            given_up: RwLock::new(false),
            changed: AtomicBool::new(false),
        }
    }

    /// All its bytes are here.
    pub(crate) fn is_whole(&self) -> bool {
        self.whole.load(Relaxed)
    }

    /// Somebody changes it: its times are those of the local file.
    pub(crate) fn mark_changed(&self) {
        self.changed.store(true, Relaxed);
    }

    /// Puts bytes that came where they belong, unless the file has been emptied meanwhile.
    ///
    /// # Errors
    /// Those of the file system.
    pub(super) fn write_arrived(&self, bytes: &[u8], at: u64) -> Result<(), Errno> {
        let given_up = self.given_up.read();
        let mut done = 0;
        while done < bytes.len() && !*given_up {
            done += rustix::io::pwrite(&self.file, &bytes[done..], at + done as u64)?;
        }
        Ok(())
    }

    /// Empties the file: what is away, or on its way, counts no more. If `empty` fails, it does.
    ///
    /// # Errors
    /// What `empty` says.
    pub(super) fn discard_missing<E>(
        &self,
        empty: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        let mut given_up = self.given_up.write();
        empty()?;
        *given_up = true;
        drop(given_up);
        let mut parts = self.parts.lock();
        parts.mark_all_present();
        self.changed.store(true, Relaxed);
        self.whole.store(true, Relaxed);
        self.came.notify_all();
        Ok(())
    }

    /// Notes a read; tells how many bytes were read by several, one after the other.
    pub(super) fn note_read(&self, range: &Range<u64>) -> u64 {
        self.parts.lock().note_read(range)
    }

    /// Whether nobody has begun to bring all of it; now somebody has.
    pub(super) fn begin_filling(&self) -> bool {
        !std::mem::replace(&mut self.parts.lock().filling, true)
    }

    pub(super) fn end_filling(&self) {
        self.parts.lock().filling = false;
    }

    /// Waits for bytes that others bring, until all of a range are here or some are to be brought:
    /// at most `most` at once.
    pub(super) fn claim_missing(&self, range: &Range<u64>, most: u64) -> BlockTask {
        let end = range.end.min(self.size);
        let blocks = range.start / BLOCK..end.div_ceil(BLOCK);
        let mut parts = self.parts.lock();
        loop {
            let here = |block: &u64| parts.state[*block as usize] == BlockState::Here;
            if blocks.clone().all(|block| here(&block)) {
                return BlockTask::Read;
            }
            if let Some(first) =
                blocks.clone().find(|block| parts.state[*block as usize] == BlockState::Missing)
            {
                return BlockTask::Bring(parts.claim_blocks(first, blocks.end, most, self.size));
            }
            self.came.wait(&mut parts);
        }
    }

    /// The next bytes that nobody brings, from where it is read.
    pub(super) fn claim_next_missing(&self, most: u64) -> Option<Range<u64>> {
        let mut parts = self.parts.lock();
        let blocks = parts.state.len() as u64;
        let from = (parts.next / BLOCK).min(blocks);
        let mut all = (from..blocks).chain(0..from);
        let first = all.find(|block| parts.state[*block as usize] == BlockState::Missing)?;
        Some(parts.claim_blocks(first, blocks, most, self.size))
    }

    /// These bytes are here, or not after all. With the last ones it is whole, and `finish` is
    /// called before anybody else goes on.
    pub(super) fn settle_range<E>(
        &self,
        range: &Range<u64>,
        is_here: bool,
        finish: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        let mut parts = self.parts.lock();
        parts.settle_range(range, is_here);
        let mut done = Ok(());
        if parts.missing == 0 && !self.is_whole() {
            done = finish();
            self.whole.store(true, Relaxed);
        }
        self.came.notify_all();
        done
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn body(size: u64) -> FileBlocks {
        let file = tempfile::tempfile().expect("a file");
        FileBlocks::new(7, file.into(), size, Time::default())
    }

    #[test]
    fn each_block_is_claimed_once_and_the_last_one_makes_it_whole() {
        let body = body(3 * BLOCK + 5);
        assert_eq!(
            body.claim_missing(&(BLOCK..BLOCK + 4096), BLOCK),
            BlockTask::Bring(BLOCK..2 * BLOCK)
        );
        assert_eq!(body.claim_next_missing(8 * BLOCK), Some(0..BLOCK));
        assert_eq!(body.claim_next_missing(8 * BLOCK), Some(2 * BLOCK..3 * BLOCK + 5));
        assert_eq!(body.claim_next_missing(BLOCK), None);
        let settle = |range, is_here| {
            let mut whole = false;
            let finish = || {
                whole = true;
                Ok::<_, ()>(())
            };
            body.settle_range(&range, is_here, finish).map(|()| whole).expect("it can't fail")
        };
        assert!(!settle(BLOCK..2 * BLOCK, true));
        assert_eq!(body.claim_missing(&(BLOCK..BLOCK + 1), BLOCK), BlockTask::Read);
        assert!(!settle(0..BLOCK, false), "it failed");
        assert!(!settle(2 * BLOCK..3 * BLOCK + 5, true));
        assert_eq!(body.claim_missing(&(0..9 * BLOCK), 8 * BLOCK), BlockTask::Bring(0..BLOCK));
        assert!(settle(0..BLOCK, true) && body.is_whole());
    }

    #[test]
    fn what_is_on_its_way_is_not_put_into_a_file_that_was_emptied() {
        let body = body(2 * BLOCK);
        let content = || {
            let size = rustix::fs::fstat(&body.file).expect("a file").st_size;
            let mut bytes = vec![0; size as usize];
            rustix::io::pread(&body.file, &mut bytes, 0).expect("read");
            bytes
        };
        assert!(matches!(body.claim_missing(&(0..10), BLOCK), BlockTask::Bring(_)));
        assert!(body.discard_missing(|| Err(Errno::ACCESS)).is_err());
        body.write_arrived(b"old", 0).expect("put");
        assert_eq!((content().as_slice(), body.is_whole()), (&b"old"[..], false), "it was refused");
        body.discard_missing(|| rustix::fs::ftruncate(&body.file, 0)).expect("emptied");
        body.write_arrived(b"late", BLOCK).expect("nothing to do");
        let _ = body.settle_range(&(0..BLOCK), true, || Ok::<_, ()>(()));
        assert!(content().is_empty() && body.is_whole());
    }

    #[test]
    fn a_reader_waits_for_what_another_brings() {
        let body = Arc::new(body(BLOCK));
        assert_eq!(body.claim_missing(&(0..10), BLOCK), BlockTask::Bring(0..BLOCK));
        let waiting = std::thread::spawn({
            let body = Arc::clone(&body);
            move || body.claim_missing(&(5..6), BLOCK)
        });
        let _ = body.settle_range(&(0..BLOCK), true, || Ok::<_, ()>(()));
        assert_eq!(waiting.join().expect("it ended"), BlockTask::Read);
    }

    #[test]
    fn reads_one_after_the_other_are_told_from_others() {
        let body = body(100 * BLOCK);
        assert_eq!(body.note_read(&(0..2 * BLOCK)), 0, "one read may be any");
        assert_eq!(body.note_read(&(3 * BLOCK..4 * BLOCK)), 3 * BLOCK);
        assert_eq!(body.note_read(&(2 * BLOCK..3 * BLOCK)), 4 * BLOCK);
        assert_eq!(body.note_read(&(90 * BLOCK..91 * BLOCK)), 0, "elsewhere");
    }
}
