//! What a cache has: texts that are there or under way, and what waits to be decoded.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::GroupKey;
use crate::error::Result;

/// Looks that are remembered: of more groups than most caches hold.
const LOOKS: usize = 64;

/// Decodes a group.
pub(super) type DecodeCallback = Box<dyn FnOnce() -> Result<Vec<u8>> + Send>;

/// The state of a cache. Until a text is there, its length is the one that was expected.
#[derive(Debug, Default)]
pub(super) struct CacheState {
    slots: BTreeMap<GroupKey, Slot>,
    /// Texts that are there, by their last use.
    order: BTreeMap<u64, GroupKey>,
    clock: u64,
    /// Of texts that are there or under way.
    bytes: usize,
    /// Of texts for which nobody asked yet: there, under way, or waiting.
    ahead_bytes: usize,
    pub(super) waiting: VecDeque<PrefetchJob>,
    /// Groups of which a part was decoded alone, the last ones.
    looks: VecDeque<GroupKey>,
    /// Those that are open; the others' texts need not stay.
    readers: BTreeSet<u64>,
    opened: u64,
    pub(super) closed: bool,
}

#[derive(Debug)]
enum Slot {
    UnderWay,
    There { text: Arc<Vec<u8>>, used: u64, ahead: bool },
}

/// A group that is going to be wanted.
pub(super) struct PrefetchJob {
    pub(super) key: GroupKey,
    pub(super) len: usize,
    pub(super) decode: DecodeCallback,
}

impl std::fmt::Debug for PrefetchJob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job").field("key", &self.key).finish_non_exhaustive()
    }
}

impl CacheState {
    /// Whether a text is there or under way.
    pub(super) fn has_slot(&self, key: GroupKey) -> bool {
        self.slots.contains_key(&key)
    }

    /// Takes note of a look at a part of a group: whether it is the first one lately.
    pub(super) fn note_look(&mut self, key: GroupKey) -> bool {
        if self.waiting.iter().any(|job| job.key == key) || self.looks.contains(&key) {
            return false;
        }
        if self.looks.len() == LOOKS {
            self.looks.pop_front();
        }
        self.looks.push_back(key);
        true
    }

    /// A text that is there, now used.
    pub(super) fn touch_text(&mut self, key: GroupKey) -> Option<Arc<Vec<u8>>> {
        let Some(Slot::There { text, used, ahead }) = self.slots.get_mut(&key) else { return None };
        self.clock += 1;
        self.order.remove(&std::mem::replace(used, self.clock));
        self.order.insert(self.clock, key);
        if std::mem::take(ahead) {
            self.ahead_bytes -= text.len();
        }
        Some(Arc::clone(text))
    }

    /// Makes room for a text that is now under way: those used longest ago go.
    pub(super) fn begin_decoding(&mut self, key: GroupKey, len: usize, bytes_max: usize) {
        while self.bytes + len > bytes_max
            && let Some((&used, _)) = self.order.first_key_value()
        {
            self.drop_text(used);
        }
        self.bytes += len;
        self.slots.insert(key, Slot::UnderWay);
    }

    /// A text that was under way is there.
    pub(super) fn insert_decoded(
        &mut self,
        key: GroupKey,
        text: &Arc<Vec<u8>>,
        len: usize,
        ahead: bool,
    ) {
        self.abandon_decoding(key, len, ahead);
        if !self.readers.contains(&key.0) {
            return;
        }
        self.bytes += text.len();
        self.ahead_bytes += if ahead { text.len() } else { 0 };
        self.clock += 1;
        let slot = Slot::There { text: Arc::clone(text), used: self.clock, ahead };
        self.slots.insert(key, slot);
        self.order.insert(self.clock, key);
    }

    /// A text is not under way any more.
    pub(super) fn abandon_decoding(&mut self, key: GroupKey, len: usize, ahead: bool) {
        self.slots.remove(&key);
        self.bytes -= len;
        self.ahead_bytes -= if ahead { len } else { 0 };
    }

    /// Lets a job wait, unless it is known or there is no room: whether it does.
    pub(super) fn enqueue_job(&mut self, job: PrefetchJob, ahead_max: usize) -> bool {
        let known = self.has_slot(job.key) || self.waiting.iter().any(|other| other.key == job.key);
        if known || self.ahead_bytes + job.len > ahead_max {
            return false;
        }
        self.ahead_bytes += job.len;
        self.waiting.push_back(job);
        true
    }

    pub(super) fn drop_jobs(&mut self, which: impl Fn(&PrefetchJob) -> bool) {
        let gone: usize = self.waiting.iter().filter(|job| which(job)).map(|job| job.len).sum();
        self.waiting.retain(|job| !which(job));
        self.ahead_bytes -= gone;
    }

    /// A number for a new reader.
    pub(super) fn register_reader(&mut self) -> u64 {
        self.opened += 1;
        self.readers.insert(self.opened);
        self.opened
    }

    /// Lets go of all that a reader had.
    pub(super) fn forget_reader(&mut self, reader: u64) {
        self.readers.remove(&reader);
        self.drop_jobs(|job| job.key.0 == reader);
        let own = self.order.iter().filter(|(_, key)| key.0 == reader);
        let own: Vec<u64> = own.map(|(used, _)| *used).collect();
        own.into_iter().for_each(|used| self.drop_text(used));
    }

    fn drop_text(&mut self, used: u64) {
        let key = self.order.remove(&used);
        if let Some(Slot::There { text, ahead, .. }) = key.and_then(|key| self.slots.remove(&key)) {
            self.bytes -= text.len();
            self.ahead_bytes -= if ahead { text.len() } else { 0 };
        }
    }
}

#[cfg(test)]
impl CacheState {
    /// Bytes, and whether nothing is under way or waits.
    pub(super) fn settled(&self) -> (usize, bool) {
        (self.bytes, self.order.len() == self.slots.len() && self.waiting.is_empty())
    }
}
