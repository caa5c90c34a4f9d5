//! Which bytes were told to be wanted: cut into stretches, asked for, there, or let go.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use forebay_reads::ObjectRange;

use crate::reads::bucket_archive::client::LONGEST;

/// What lies between two parts and is fetched with them, rather than asking twice: the other mate's
/// chunk, which its reader takes if there is one.
const BETWEEN: u64 = 1 << 20;
/// Stretches that wait for room; of more nobody is told.
const WAITING: usize = 256;
/// Parts that are taken until one that nobody comes for is let go.
const OLD: u64 = 256;

/// Which object, and the first byte.
pub(super) type Key = (String, u64);

#[derive(Debug, Default)]
pub(super) struct PrefetchState {
    pub(super) all: BTreeMap<Key, PrefetchRange>,
    /// Those that were not asked for yet, those wanted first in front.
    pub(super) waiting: VecDeque<Key>,
    /// Bytes of the others.
    pub(super) bytes: u64,
    /// Parts that were taken.
    pub(super) clock: u64,
}

#[derive(Debug)]
pub(super) struct PrefetchRange {
    pub(super) end: u64,
    /// Bytes that somebody will take.
    pub(super) left: u64,
    /// When something of it was told or taken.
    pub(super) used: u64,
    pub(super) stage: Stage,
}

#[derive(Debug)]
pub(super) enum Stage {
    Waiting,
    UnderWay,
    There(Bytes),
    Failed,
}

impl PrefetchState {
    /// The stretch that has all of a part.
    pub(super) fn find_stretch(&self, part: &ObjectRange<'_>) -> Option<Key> {
        let from = (part.name.to_owned(), part.offset);
        let (key, stretch) = self.all.range(..=from).next_back()?;
        let has = key.0 == part.name && part.offset + part.len as u64 <= stretch.end;
        has.then(|| key.clone())
    }

    pub(super) fn remove_stretch(&mut self, key: &Key) {
        if let Some(stretch) = self.all.remove(key)
            && !matches!(stretch.stage, Stage::Waiting)
        {
            self.bytes -= stretch.end - key.1;
        }
    }

    /// Lets go of what nobody came for.
    pub(super) fn forget_unused(&mut self) {
        let clock = self.clock;
        let is_old = |stretch: &PrefetchRange| {
            stretch.used + OLD < clock && matches!(stretch.stage, Stage::There(_) | Stage::Failed)
        };
        let old = self.all.iter().filter(|(_, stretch)| is_old(stretch));
        let old: Vec<Key> = old.map(|(key, _)| key.clone()).collect();
        old.iter().for_each(|key| self.remove_stretch(key));
    }

    /// Cuts what is new into stretches.
    pub(super) fn add_stretches(&mut self, parts: &[ObjectRange<'_>]) {
        let mut new = Vec::new();
        for (nth, part) in parts.iter().enumerate() {
            let known = self.find_stretch(part).and_then(|key| self.all.get_mut(&key));
            match known {
                Some(stretch) => {
                    stretch.left += part.len as u64;
                    stretch.used = self.clock;
                }
                None => new.push((part.name, part.offset, part.len as u64, nth)),
            }
        }
        new.sort_unstable();
        // Name, first byte, end, bytes that are wanted, which of them is wanted first.
        let mut cut: Vec<(&str, u64, u64, u64, usize)> = Vec::new();
        for (name, start, len, nth) in new {
            let end = start + len;
            match cut.last_mut() {
                Some(last)
                    if last.0 == name
                        && start <= last.2 + BETWEEN
                        && end.max(last.2) - last.1 <= LONGEST =>
                {
                    *last = (name, last.1, end.max(last.2), last.3 + len, last.4.min(nth));
                }
                _ => cut.push((name, start, end, len, nth)),
            }
        }
        cut.sort_unstable_by_key(|stretch| stretch.4);
        for (name, start, end, left, _) in cut {
            let key = (name.to_owned(), start);
            if self.waiting.len() < WAITING && !self.all.contains_key(&key) {
                let stretch = PrefetchRange { end, left, used: self.clock, stage: Stage::Waiting };
                self.all.insert(key.clone(), stretch);
                self.waiting.push_back(key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    //! If these failed, streams would ask a thousand times for what lies together, or memory would
    //! be full of what nobody takes.
    use super::*;

    const MIB: u64 = 1 << 20;

    fn part(offset: u64, len: u64) -> ObjectRange<'static> {
        ObjectRange { name: "data", offset, len: len as usize }
    }

    #[test]
    fn what_lies_together_is_one_stretch_and_what_is_wanted_first_comes_first() {
        let mut state = PrefetchState::default();
        // Two families, of which every second chunk is wanted: 20 of 300 KiB, and one far away.
        let near = |nth: u64| part(nth * 600 * 1024, 300 * 1024);
        let far = |nth: u64| part(100 * MIB + nth * 600 * 1024, 300 * 1024);
        let parts: Vec<ObjectRange<'_>> = (0..20).flat_map(|nth| [near(nth), far(nth)]).collect();
        state.add_stretches(&parts);
        let lens: Vec<u64> = state.all.iter().map(|(key, it)| it.end - key.1).collect();
        assert!(lens.iter().all(|len| *len <= LONGEST) && lens.len() <= 8, "{lens:?}");
        assert_eq!(state.waiting[0].1, 0);
        assert_eq!(state.waiting[1].1, 100 * MIB);
        assert!(parts.iter().all(|part| state.find_stretch(part).is_some()));
        assert!(state.find_stretch(&part(50 * MIB, 1)).is_none());
        // The reader of what lies between them asks for nothing anew.
        let stretches = state.all.len();
        state.add_stretches(&[part(300 * 1024, 300 * 1024)]);
        assert_eq!((state.all.len(), state.waiting.len()), (stretches, stretches));
    }

    #[test]
    fn what_nobody_comes_for_is_let_go() {
        let mut state = PrefetchState::default();
        state.add_stretches(&[part(0, MIB), part(50 * MIB, MIB)]);
        for stretch in state.all.values_mut() {
            stretch.stage = Stage::There(Bytes::new());
        }
        state.bytes = 2 * MIB;
        state.clock = OLD;
        state.all.get_mut(&("data".to_owned(), 0)).expect("it").used = OLD;
        state.forget_unused();
        assert_eq!((state.all.len(), state.bytes), (2, 2 * MIB));
        state.clock += 1;
        state.forget_unused();
        assert!(
            state.find_stretch(&part(0, MIB)).is_some()
                && state.find_stretch(&part(50 * MIB, 1)).is_none()
        );
        assert_eq!(state.bytes, MIB);
    }
}
