//! Clocks of several machines, by the files that they handed to each other: nobody opens a file
//! before somebody has made it. Pure.

use std::collections::HashMap;

/// A time on the clock of a machine, in microseconds.
type ClockTime = (usize, i64);

/// What is known of when a file was made and opened.
#[derive(Clone, Debug, Default)]
struct FileTimes {
    made: Option<ClockTime>,
    /// It was made twice, or removed: who opened which of them is not known.
    unclear: bool,
    /// The first time that each clock shows at which somebody opened it who did not make it.
    opened: Vec<ClockTime>,
}

/// How a clock fits the first one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ClockFit {
    /// What is to be added to its times, in microseconds.
    pub(super) shift: i64,
    /// The least and the most that files allow.
    pub(super) least: Option<i64>,
    pub(super) most: Option<i64>,
    /// No shift fits all files.
    pub(super) contradicts: bool,
}

/// All clocks; the first is right.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    count: usize,
    files: HashMap<u32, FileTimes>,
    /// What there was of a file before the run that is being added.
    before: HashMap<u32, Option<FileTimes>>,
}

impl Clocks {
    pub(super) fn add_clock(&mut self) -> usize {
        self.count += 1;
        self.count - 1
    }

    /// What comes now can be undone.
    pub(super) fn begin(&mut self) {
        self.before.clear();
    }

    /// As it was at the last [`begin`](Clocks::begin).
    pub(super) fn undo(&mut self) {
        for (file, times) in self.before.drain() {
            match times {
                Some(times) => self.files.insert(file, times),
                None => self.files.remove(&file),
            };
        }
    }

    fn times(&mut self, file: u32) -> &mut FileTimes {
        self.before.entry(file).or_insert_with(|| self.files.get(&file).cloned());
        self.files.entry(file).or_default()
    }

    /// Somebody opened a file; `made` it or found it.
    pub(super) fn note_open(&mut self, file: u32, clock: usize, at: i64, made: bool) {
        let times = self.times(file);
        if made {
            times.unclear |= times.made.is_some();
            times.made = Some((clock, at));
        } else if let Some(known) = times.opened.iter_mut().find(|known| known.0 == clock) {
            known.1 = known.1.min(at);
        } else {
            times.opened.push((clock, at));
        }
    }

    /// The file's last name was removed.
    pub(super) fn note_removal(&mut self, file: u32) {
        self.times(file).unclear = true;
    }

    /// How the clocks fit: as they are where files allow that, else as little off as they allow.
    pub(super) fn fit(&self) -> Vec<ClockFit> {
        let mut fits = vec![ClockFit::default(); self.count.max(1)];
        if self.count < 2 {
            return fits;
        }
        // `after` has to be `gap` later than `before`, or more.
        let mut gaps: HashMap<(usize, usize), i64> = HashMap::new();
        for times in self.files.values().filter(|times| !times.unclear) {
            let Some((maker, made)) = times.made else { continue };
            for &(clock, opened) in times.opened.iter().filter(|opened| opened.0 != maker) {
                let gap = made.saturating_sub(opened);
                gaps.entry((maker, clock)).and_modify(|g| *g = gap.max(*g)).or_insert(gap);
            }
        }
        let mut order: Vec<(usize, usize, i64)> =
            gaps.iter().map(|(&(before, after), &gap)| (before, after, gap)).collect();
        order.sort_unstable();
        // The least of a clock is told by the chains of files that lead to it from the first one,
        // the most by those that lead back.
        let mut least = vec![None; self.count];
        let mut most = vec![None; self.count];
        (least[0], most[0]) = (Some(0), Some(0));
        for _ in 0..self.count {
            for &(before, after, gap) in &order {
                if let Some(from) = least[before] {
                    let at = gap.saturating_add(from);
                    least[after] = least[after].max(Some(at));
                }
                if let Some(to) = most[after] {
                    let at = gap.saturating_neg().saturating_add(to);
                    most[before] = Some(most[before].map_or(at, |known: i64| known.min(at)));
                }
            }
        }
        for (clock, fit) in fits.iter_mut().enumerate().skip(1) {
            (fit.least, fit.most) = (least[clock], most[clock]);
            let shift = most[clock].map_or(0, |most| most.min(0));
            fit.shift = least[clock].map_or(shift, |least| least.max(shift));
        }
        // What fits the first one may not fit each other.
        for _ in 0..self.count {
            for &(before, after, gap) in order.iter().filter(|order| order.1 != 0) {
                let lacks = missing_gap(&fits, before, after, gap);
                fits[after].shift = fits[after].shift.saturating_add(lacks.max(0));
            }
        }
        for &(before, after, gap) in &order {
            if missing_gap(&fits, before, after, gap) > 0 {
                for clock in [before, after].into_iter().filter(|&clock| clock != 0) {
                    fits[clock].contradicts = true;
                }
            }
        }
        for fit in fits.iter_mut().filter(|fit| fit.contradicts) {
            *fit = ClockFit { contradicts: true, ..ClockFit::default() };
        }
        fits
    }
}

/// By how much the clock that is after is still too early.
fn missing_gap(fits: &[ClockFit], before: usize, after: usize, gap: i64) -> i64 {
    gap.saturating_add(fits[before].shift).saturating_sub(fits[after].shift)
}

#[cfg(test)]
mod tests {
    //! If these fail, a task of a joined run reads what nobody has written yet.
    use super::*;

    fn clocks(count: usize) -> Clocks {
        let mut clocks = Clocks::default();
        for _ in 0..count {
            clocks.add_clock();
        }
        clocks
    }

    #[test]
    fn clocks_that_agree_are_left_alone_and_their_bounds_told() {
        let mut clocks = clocks(2);
        clocks.note_open(1, 0, 100, true);
        clocks.note_open(1, 1, 130, false);
        clocks.note_open(2, 1, 200, true);
        clocks.note_open(2, 0, 250, false);
        let fit = ClockFit { shift: 0, least: Some(-30), most: Some(50), contradicts: false };
        assert_eq!(clocks.fit()[1], fit);
    }

    #[test]
    fn a_clock_that_is_slow_or_fast_is_shifted_by_as_little_as_fits() {
        for off in [-5_000, 5_000] {
            let mut clocks = clocks(3);
            clocks.note_open(1, 0, 1_000, true);
            clocks.note_open(1, 1, 1_010 + off, false);
            clocks.note_open(2, 1, 2_000 + off, true);
            clocks.note_open(2, 0, 2_010, false);
            // The third is known by the second alone.
            clocks.note_open(3, 1, 3_000 + off, true);
            clocks.note_open(3, 2, 3_010 + off, false);
            clocks.note_open(4, 2, 4_000 + off, true);
            clocks.note_open(4, 1, 4_010 + off, false);
            let fits = clocks.fit();
            for fit in &fits[1..] {
                assert!((fit.shift + off).abs() <= 20, "{off}: {fits:?}");
                assert!(!fit.contradicts);
            }
        }
    }

    #[test]
    fn contradictions_are_told_and_change_nothing() {
        let mut clocks = clocks(2);
        clocks.note_open(1, 0, 1_000, true);
        clocks.note_open(1, 1, 500, false);
        clocks.note_open(2, 1, 900, true);
        clocks.note_open(2, 0, 800, false);
        let fit = clocks.fit()[1];
        assert_eq!((fit.shift, fit.contradicts), (0, true));
    }

    #[test]
    fn files_that_were_made_twice_or_removed_say_nothing() {
        let mut clocks = clocks(2);
        clocks.note_open(1, 0, 1_000, true);
        clocks.note_open(1, 0, 2_000, true);
        clocks.note_open(1, 1, 10, false);
        clocks.note_open(2, 0, 1_000, true);
        clocks.note_open(2, 1, 10, false);
        clocks.note_removal(2);
        assert_eq!(clocks.fit()[1], ClockFit::default());
    }

    #[test]
    fn a_run_that_is_left_out_leaves_nothing() {
        let mut clocks = clocks(2);
        clocks.note_open(1, 0, 1_000, true);
        clocks.begin();
        clocks.note_open(1, 1, 10, false);
        clocks.note_open(2, 1, 10, true);
        clocks.undo();
        assert_eq!(clocks.fit()[1], ClockFit::default());
        assert_eq!(clocks.files.len(), 1);
    }
}
