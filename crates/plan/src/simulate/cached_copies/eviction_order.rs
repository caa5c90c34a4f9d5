//! Which copies there are, and which goes first.

use std::collections::{BTreeMap, BTreeSet};

/// The row of copies in memory.
pub(super) const MEMORY: usize = usize::MAX;

/// A copy: of which files (as a place among those that are held), and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CopyKey {
    pub(super) held: u32,
    pub(super) row: usize,
    pub(super) place: u32,
}

/// When a copy's turn to go comes: those used again after those used once, then by the time.
type EvictionRank = (bool, u64);

#[derive(Clone, Copy, Debug)]
struct CachedCopy {
    bytes: u64,
    turn: EvictionRank,
    readers: u32,
}

/// Copies in one place, the first to go first, and their bytes: of all, and of those that nobody
/// has open.
#[derive(Clone, Debug, Default)]
struct EvictionQueue {
    order: BTreeSet<(EvictionRank, u32)>,
    bytes: u64,
    idle: u64,
}

/// All copies.
#[derive(Clone, Debug, Default)]
pub(crate) struct CachedCopies {
    all: BTreeMap<CopyKey, CachedCopy>,
    shelves: BTreeMap<(usize, u32), EvictionQueue>,
    /// Counts uses: the time by which copies are old.
    uses: u64,
    /// What came into memory, whether it stayed or not.
    met: BTreeSet<CopyKey>,
    /// Those that are there when the step of a flow is done.
    pub(super) coming: BTreeMap<u32, Vec<(usize, u32)>>,
    /// Those that the step of a flow reads.
    pub(super) lent: BTreeMap<u32, Vec<CopyKey>>,
}

impl CachedCopies {
    pub(super) fn contains(&self, key: &CopyKey) -> bool {
        self.all.contains_key(key)
    }

    /// Some copy of these files.
    pub(super) fn any_copy_of(&self, held: u32) -> Option<CopyKey> {
        let first = CopyKey { held, row: 0, place: 0 };
        self.all.range(first..).next().map(|(key, _)| *key).filter(|key| key.held == held)
    }

    /// Some copy in this place.
    pub(super) fn any_copy_at(&self, (row, place): (usize, u32)) -> Option<CopyKey> {
        let (_, held) = *self.shelves.get(&(row, place))?.order.first()?;
        Some(CopyKey { held, row, place })
    }

    /// This memory is another one: nothing was in it.
    pub(super) fn forget_visits(&mut self, place: u32) {
        self.met.retain(|key| key.place != place);
    }

    pub(super) fn bytes_at(&self, at: (usize, u32)) -> u64 {
        self.shelves.get(&at).map_or(0, |shelf| shelf.bytes)
    }

    /// Bytes of those that nobody has open.
    pub(crate) fn idle_bytes(&self, at: (usize, u32)) -> u64 {
        self.shelves.get(&at).map_or(0, |shelf| shelf.idle)
    }

    /// The one that goes first of those that nobody has open; with `again`, also one that was used
    /// again.
    pub(super) fn eviction_candidate(&self, at: (usize, u32), again: bool) -> Option<CopyKey> {
        let (row, place) = at;
        let order = self.shelves.get(&at)?.order.iter();
        let mut keys = order
            .take_while(|((used_again, _), _)| again || !used_again)
            .map(|(_, held)| CopyKey { held: *held, row, place });
        keys.find(|key| self.all.get(key).is_some_and(|copy| copy.readers == 0))
    }

    /// Whether these files were in this memory, or passed through it, before.
    pub(super) fn record_visit(&mut self, key: CopyKey) -> bool {
        !self.met.insert(key)
    }

    pub(super) fn add(&mut self, key: CopyKey, bytes: u64) {
        self.uses += 1;
        let turn = (false, self.uses);
        self.all.insert(key, CachedCopy { bytes, turn, readers: 0 });
        let shelf = self.shelves.entry((key.row, key.place)).or_default();
        shelf.order.insert((turn, key.held));
        shelf.bytes += bytes;
        shelf.idle += bytes;
    }

    pub(super) fn remove(&mut self, key: &CopyKey) -> Option<u64> {
        let copy = self.all.remove(key)?;
        let shelf = self.shelves.entry((key.row, key.place)).or_default();
        shelf.order.remove(&(copy.turn, key.held));
        shelf.bytes -= copy.bytes;
        shelf.idle -= if copy.readers == 0 { copy.bytes } else { 0 };
        Some(copy.bytes)
    }

    /// A step reads it. `true`: it is there.
    pub(super) fn open_for_flow(&mut self, flow: u32, key: CopyKey) -> bool {
        let Some(copy) = self.all.get_mut(&key) else { return false };
        let shelf = self.shelves.entry((key.row, key.place)).or_default();
        shelf.order.remove(&(copy.turn, key.held));
        self.uses += 1;
        // A tier's copies go by the time alone.
        copy.turn = (key.row == MEMORY, self.uses);
        shelf.order.insert((copy.turn, key.held));
        if key.row != MEMORY {
            shelf.idle -= if copy.readers == 0 { copy.bytes } else { 0 };
            copy.readers += 1;
            self.lent.entry(flow).or_default().push(key);
        }
        true
    }

    /// The step of a flow is over.
    pub(super) fn close_for_flow(&mut self, flow: u32) {
        for key in self.lent.remove(&flow).unwrap_or_default() {
            let Some(copy) = self.all.get_mut(&key) else { continue };
            copy.readers = copy.readers.saturating_sub(1);
            if copy.readers == 0 {
                self.shelves.entry((key.row, key.place)).or_default().idle += copy.bytes;
            }
        }
    }
}
