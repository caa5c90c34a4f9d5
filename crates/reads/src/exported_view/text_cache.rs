//! Texts of groups that were decoded, those used last, within so many bytes; and threads that
//! decode what is going to be wanted.

mod cache_slots;

use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;

use crate::error::Result;
use cache_slots::{CacheState, DecodeCallback, PrefetchJob};

/// Reader, group, file.
pub(super) type GroupKey = (u64, usize, usize);

/// Memory for decoded groups, of one archive or of many
/// ([`super::ExportedReader::with_shared_cache`]).
///
/// It holds at most the bytes that it was given, or one group (4 MiB, of very long reads up to
/// 20 MiB; twice that where mates take turns) for each thread that reads, if that is more. While
/// a group is decoded it takes some 48 MiB besides. Who drops it waits for what its threads are
/// decoding.
#[derive(Debug)]
pub struct TextCache {
    shared: Arc<SharedCache>,
    /// Threads that decode ahead: how many there may be, and those that were started.
    most: usize,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

#[derive(Debug)]
struct SharedCache {
    bytes_max: usize,
    state: Mutex<CacheState>,
    changed: Condvar,
}

impl TextCache {
    /// Room for `bytes_max` bytes, and `threads` threads that decode ahead; with 0 nothing is.
    #[must_use]
    pub fn new(bytes_max: usize, threads: usize) -> Arc<TextCache> {
        let shared = SharedCache { bytes_max, state: Mutex::default(), changed: Condvar::new() };
        Arc::new(TextCache { shared: Arc::new(shared), most: threads, threads: Mutex::default() })
    }

    /// Threads that decode ahead.
    pub(super) fn thread_count(&self) -> usize {
        self.most
    }

    /// A number for a new reader.
    pub(super) fn register_reader(&self) -> u64 {
        self.shared.lock_state().register_reader()
    }

    /// Whether nobody looked at a group of `len` bytes lately, or there is no room to keep it: a part
    /// of it is decoded alone then. The next look is no first one.
    pub(super) fn is_first_look(&self, key: GroupKey, len: usize) -> bool {
        let mut state = self.shared.lock_state();
        !state.has_slot(key) && (len > self.shared.bytes_max || state.note_look(key))
    }

    /// The text of a group, of some `len` bytes. Who wants one that is under way waits for it.
    pub(super) fn get_or_decode(
        &self,
        key: GroupKey,
        len: usize,
        decode: impl FnOnce() -> Result<Vec<u8>>,
    ) -> Result<Arc<Vec<u8>>> {
        let mut state = self.shared.lock_state();
        while state.has_slot(key) {
            if let Some(text) = state.touch_text(key) {
                return Ok(text);
            }
            state = self.shared.changed.wait(state).expect("nobody panics with it");
        }
        state.drop_jobs(|job| job.key == key);
        state.begin_decoding(key, len, self.shared.bytes_max);
        drop(state);
        let begun = PendingText { shared: &self.shared, key, len, ahead: false, ended: false };
        let text = Arc::new(decode()?);
        begun.finish_text(&text);
        Ok(text)
    }

    /// Has a group of some `len` bytes decoded in another thread, if there is room for it.
    pub(super) fn decode_ahead(&self, key: GroupKey, len: usize, decode: DecodeCallback) {
        let mut state = self.shared.lock_state();
        if self.most == 0
            || !state.enqueue_job(PrefetchJob { key, len, decode }, self.shared.bytes_max / 2)
        {
            return;
        }
        drop(state);
        self.shared.changed.notify_all();
        let mut threads = self.threads.lock().expect("nobody panics with it");
        if threads.len() < self.most {
            let shared = Arc::clone(&self.shared);
            // Where no thread can be had, whoever wants a group decodes it.
            threads.extend(std::thread::Builder::new().spawn(move || shared.run_worker()));
        }
    }

    /// Lets go of all that a reader had.
    pub(super) fn forget_reader(&self, reader: u64) {
        self.shared.lock_state().forget_reader(reader);
    }
}

impl Drop for TextCache {
    fn drop(&mut self) {
        let mut state = self.shared.lock_state();
        state.closed = true;
        state.drop_jobs(|_| true);
        drop(state);
        self.shared.changed.notify_all();
        for thread in self.threads.lock().expect("nobody panics with it").drain(..) {
            // A thread that panicked said so.
            let _ = thread.join();
        }
    }
}

impl SharedCache {
    fn lock_state(&self) -> MutexGuard<'_, CacheState> {
        self.state.lock().expect("nobody panics with it")
    }

    /// What a thread that decodes ahead does.
    fn run_worker(&self) {
        let mut state = self.lock_state();
        while !state.closed {
            let Some(job) = state.waiting.pop_front() else {
                state = self.changed.wait(state).expect("nobody panics with it");
                continue;
            };
            state.begin_decoding(job.key, job.len, self.bytes_max);
            drop(state);
            let begun =
                PendingText { shared: self, key: job.key, len: job.len, ahead: true, ended: false };
            match (job.decode)() {
                Ok(text) => begun.finish_text(&Arc::new(text)),
                // Whoever wants it will meet the error. Let go of before the cache is held again.
                Err(_) => drop(begun),
            }
            state = self.lock_state();
        }
    }
}

/// A text that is under way; dropped, it is not any more.
struct PendingText<'a> {
    shared: &'a SharedCache,
    key: GroupKey,
    len: usize,
    ahead: bool,
    ended: bool,
}

impl PendingText<'_> {
    fn finish_text(mut self, text: &Arc<Vec<u8>>) {
        self.shared.lock_state().insert_decoded(self.key, text, self.len, self.ahead);
        self.ended = true;
    }
}

impl Drop for PendingText<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.shared.lock_state().abandon_decoding(self.key, self.len, self.ahead);
        }
        self.shared.changed.notify_all();
    }
}

#[cfg(test)]
impl TextCache {
    /// Bytes that it holds.
    pub(super) fn bytes(&self) -> usize {
        self.shared.lock_state().settled().0
    }

    /// The same, once nothing is under way.
    pub(super) fn settled(&self) -> usize {
        let mut state = self.shared.lock_state();
        while !state.settled().1 {
            state = self.shared.changed.wait(state).expect("nobody panics with it");
        }
        state.settled().0
    }
}
