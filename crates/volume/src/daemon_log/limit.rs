//! A line that would come again and again comes ten times in ten seconds, and then how many more
//! there were: a disk that is full is not filled further by saying so.

use std::hash::Hash;

use rustc_hash::FxHashMap;

/// Lines of one kind that are let through in one window of time.
const MOST: u32 = 10;
/// How long a window is, in nanoseconds.
const WINDOW: u64 = 10_000_000_000;

/// What becomes of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineAdmission {
    /// It is said.
    Yes,
    /// It is counted; it is the first that is, and somebody must ask later how many there were.
    CountedFirst,
    /// It is counted.
    Counted,
}

#[derive(Debug)]
struct Window<O> {
    began: u64,
    told: u32,
    more: u64,
    of: O,
}

/// How many lines of each kind there were lately. `K` is a kind, `O` what is told of it.
#[derive(Debug)]
pub(super) struct RepeatLimit<K, O> {
    windows: FxHashMap<K, Window<O>>,
    /// Of windows that are over.
    over: Vec<(O, u64)>,
}

impl<K, O> Default for RepeatLimit<K, O> {
    fn default() -> Self {
        RepeatLimit { windows: FxHashMap::default(), over: Vec::new() }
    }
}

impl<K: Hash + Eq, O: Copy> RepeatLimit<K, O> {
    /// A line of this kind is to be said now.
    pub(super) fn admit_line(&mut self, kind: K, of: O, now: u64) -> LineAdmission {
        let fresh = || Window { began: now, told: 0, more: 0, of };
        let window = self.windows.entry(kind).or_insert_with(fresh);
        if now.saturating_sub(window.began) >= WINDOW {
            if window.more > 0 {
                self.over.push((window.of, window.more));
            }
            *window = fresh();
        }
        if window.told < MOST {
            window.told += 1;
            return LineAdmission::Yes;
        }
        window.more += 1;
        if window.more == 1 { LineAdmission::CountedFirst } else { LineAdmission::Counted }
    }

    /// Of which kinds how many were counted that nobody was told of yet, in windows that are over;
    /// with `all`, in all of them.
    pub(super) fn take_due_counts(&mut self, now: u64, all: bool) -> Vec<(O, u64)> {
        let mut due = std::mem::take(&mut self.over);
        for window in self.windows.values_mut() {
            if window.more > 0 && (all || now.saturating_sub(window.began) >= WINDOW) {
                due.push((window.of, std::mem::take(&mut window.more)));
            }
        }
        due
    }

    /// Whether somebody must ask again.
    pub(super) fn has_suppressed(&self) -> bool {
        !self.over.is_empty() || self.windows.values().any(|window| window.more > 0)
    }
}

#[cfg(test)]
mod tests {
    //! If these fail, a bucket that is away fills the disk, or one failure hides another.
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn ten_are_told_and_then_how_many_more() {
        let mut limit = RepeatLimit::default();
        let told: Vec<LineAdmission> =
            (0..13).map(|_| limit.admit_line('a', "a", SECOND)).collect();
        assert!(told[..10].iter().all(|one| *one == LineAdmission::Yes));
        assert_eq!(
            told[10..],
            [LineAdmission::CountedFirst, LineAdmission::Counted, LineAdmission::Counted]
        );
        assert_eq!(
            limit.admit_line('b', "b", SECOND),
            LineAdmission::Yes,
            "another kind has its own"
        );
        assert_eq!(limit.take_due_counts(10 * SECOND, false), [], "the window is not over");
        assert!(limit.has_suppressed());
        assert_eq!(limit.take_due_counts(11 * SECOND, false), [("a", 3)]);
        assert!(!limit.has_suppressed());
        assert_eq!(limit.admit_line('a', "a", 11 * SECOND), LineAdmission::Yes, "another window");
    }

    #[test]
    fn what_was_counted_is_told_though_the_next_window_has_begun() {
        let mut limit = RepeatLimit::default();
        for _ in 0..11 {
            let _ = limit.admit_line('a', "a", 0);
        }
        assert_eq!(limit.admit_line('a', "a", 20 * SECOND), LineAdmission::Yes);
        assert_eq!(limit.take_due_counts(20 * SECOND, false), [("a", 1)]);
        for _ in 0..10 {
            let _ = limit.admit_line('a', "a", 20 * SECOND);
        }
        assert_eq!(limit.take_due_counts(20 * SECOND, true), [("a", 1)], "at the end all are told");
    }

    #[test]
    fn a_clock_that_goes_back_loses_nothing() {
        let mut limit = RepeatLimit::default();
        for _ in 0..12 {
            let _ = limit.admit_line('a', "a", 100 * SECOND);
        }
        assert_eq!(limit.admit_line('a', "a", SECOND), LineAdmission::Counted);
        assert_eq!(limit.take_due_counts(200 * SECOND, false), [("a", 3)]);
    }
}
