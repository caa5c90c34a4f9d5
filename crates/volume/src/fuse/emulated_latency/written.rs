//! What the memory of this node holds of what was written here.

use std::collections::{BTreeMap, VecDeque};

use rustc_hash::FxHashMap;

/// How far each file was written from its beginning, for as much as memory holds.
#[derive(Debug)]
pub(super) struct CachedWrites {
    files: FxHashMap<u64, Extent>,
    /// In the order of their first bytes.
    order: VecDeque<u64>,
    bytes: u64,
    most: u64,
}

/// The bytes of one file.
#[derive(Debug, Default)]
struct Extent {
    end: u64,
    /// Pieces behind a hole, by where they begin: writes on their way at a time come in any order.
    behind: BTreeMap<u64, u64>,
}

impl Extent {
    /// Adds a piece; tells how much more there is from the beginning.
    fn add_range(&mut self, offset: u64, bytes: u64) -> u64 {
        let before = self.end;
        let end = self.behind.entry(offset).or_default();
        *end = (*end).max(offset + bytes);
        while let Some(first) = self.behind.first_entry().filter(|first| *first.key() <= self.end) {
            self.end = self.end.max(first.remove());
        }
        self.end - before
    }
}

/// Half of this machine's memory: programs need some, too.
pub(super) fn half_of_memory() -> u64 {
    let memory = rustix::system::sysinfo();
    memory.totalram.saturating_mul(memory.mem_unit.into()) / 2
}

impl CachedWrites {
    pub(super) fn new(most: u64) -> Self {
        Self { files: FxHashMap::default(), order: VecDeque::new(), bytes: 0, most }
    }

    /// Bytes were written.
    pub(super) fn record_write(&mut self, node: u64, offset: u64, bytes: u64) {
        let extent = self.files.entry(node).or_insert_with(|| {
            self.order.push_back(node);
            Extent::default()
        });
        let more = extent.add_range(offset, bytes);
        self.bytes += more;
        while self.bytes > self.most {
            let Some(oldest) = self.order.pop_front() else { break };
            self.bytes -= self.files.remove(&oldest).map_or(0, |extent| extent.end);
        }
    }

    /// The length was set.
    pub(super) fn truncate_extent(&mut self, node: u64, length: u64) {
        if let Some(extent) = self.files.get_mut(&node) {
            self.bytes -= extent.end.saturating_sub(length);
            extent.end = length.min(extent.end);
            extent.behind.clear();
        }
    }

    /// Memory has all of these bytes.
    pub(super) fn holds_range(&self, node: u64, end: u64) -> bool {
        self.files.get(&node).is_some_and(|known| end <= known.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_has_what_was_written_last_and_no_more_than_fits() {
        let mut written = CachedWrites::new(100);
        written.record_write(1, 0, 60);
        assert!(
            written.holds_range(1, 60) && !written.holds_range(1, 61) && !written.holds_range(2, 0)
        );
        written.record_write(1, 80, 10);
        assert!(!written.holds_range(1, 90), "not across a hole");
        written.record_write(1, 60, 20);
        assert!(written.holds_range(1, 90), "until it is filled");
        written.truncate_extent(1, 50);
        assert!(!written.holds_range(1, 60));
        written.record_write(2, 0, 60);
        assert!(!written.holds_range(1, 1) && written.holds_range(2, 60), "the oldest makes room");
    }
}
