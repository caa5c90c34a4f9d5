//! How far files have come on their way home, for whoever looks on.

use std::cell::Cell;

use crate::ipc::WriteBackProgress;
use forebay_model::Micros;

use forebay_os::clock::Clock;

/// Between two words.
const EVERY: Micros = Micros(200_000);

/// Counts what has come, and tells now and then.
pub struct ProgressReporter<'a> {
    clock: &'a dyn Clock,
    tell: &'a dyn Fn(&WriteBackProgress),
    now: Cell<WriteBackProgress>,
    began: Cell<Micros>,
    told: Cell<Option<Micros>>,
    /// Bytes of files that have come.
    there: Cell<u64>,
    /// Bytes of files that are copied, and not counted as being there.
    copied: Cell<u64>,
}

impl std::fmt::Debug for ProgressReporter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Progress").field("now", &self.now).finish_non_exhaustive()
    }
}

impl<'a> ProgressReporter<'a> {
    /// Tells `tell`.
    pub fn new(clock: &'a dyn Clock, tell: &'a dyn Fn(&WriteBackProgress)) -> ProgressReporter<'a> {
        ProgressReporter {
            clock,
            tell,
            now: Cell::default(),
            began: Cell::new(clock.now()),
            told: Cell::new(None),
            there: Cell::new(0),
            copied: Cell::new(0),
        }
    }

    /// So many files are to come, or to be published.
    pub(crate) fn begin_phase(&self, publishing: bool, files: u64, bytes: u64) {
        let took = Micros::ZERO;
        self.now.set(WriteBackProgress { publishing, files: (0, files), bytes: (0, bytes), took });
        self.began.set(self.clock.now());
        self.told.set(None);
        self.there.set(0);
        self.copied.set(0);
        self.report_now();
    }

    /// So many bytes more of some file were copied.
    pub(crate) fn add_copied_bytes(&self, bytes: u64) {
        self.copied.set(self.copied.get() + bytes);
        self.update_done(self.now.get().files.0);
    }

    /// What was copied is counted now, as files come.
    pub(crate) fn reset_copied_bytes(&self) {
        self.copied.set(0);
    }

    /// So many files are there, with so many bytes.
    pub(crate) fn set_done(&self, files: u64, bytes: u64) {
        self.there.set(bytes);
        self.update_done(files);
    }

    fn update_done(&self, files: u64) {
        let mut now = self.now.get();
        now.files.0 = files.min(now.files.1);
        // A copy counts as it grows and then as a file: never back, and never more than all.
        let shown = self.there.get() + self.copied.get();
        now.bytes.0 = now.bytes.0.max(shown.min(now.bytes.1));
        self.now.set(now);
        let since = self.told.get().map(|told| self.clock.now() - told);
        if since.is_none_or(|since| since >= EVERY) {
            self.report_now();
        }
    }

    fn report_now(&self) {
        let time = self.clock.now();
        self.told.set(Some(time));
        (self.tell)(&WriteBackProgress { took: time - self.began.get(), ..self.now.get() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_os::clock::ManualClock;
    use std::cell::RefCell;

    #[test]
    fn it_tells_now_and_then_and_never_goes_back() {
        let (clock, told) = (ManualClock::default(), RefCell::new(Vec::new()));
        let tell = |underway: &WriteBackProgress| told.borrow_mut().push(*underway);
        let progress = ProgressReporter::new(&clock, &tell);
        progress.begin_phase(false, 3, 100);
        progress.add_copied_bytes(40);
        assert_eq!(told.borrow().len(), 1, "too early");
        clock.advance(EVERY.0 * 1000);
        progress.add_copied_bytes(30);
        progress.reset_copied_bytes();
        for files in 1..=2 {
            clock.advance(EVERY.0 * 1000);
            progress.set_done(files, files * 30);
        }
        clock.advance(EVERY.0 * 1000);
        progress.set_done(3, 120);
        clock.advance(EVERY.0 * 1000);
        progress.begin_phase(true, 1, 7);
        let seen: Vec<_> = told.borrow().iter().map(|now| (now.files.0, now.bytes.0)).collect();
        assert_eq!(seen, [(0, 0), (0, 70), (1, 70), (2, 70), (3, 100), (0, 0)]);
        let last = told.borrow().last().copied().expect("told");
        assert_eq!((last.publishing, last.bytes, last.took), (true, (0, 7), Micros::ZERO));
        assert_eq!(told.borrow()[4].took, Micros(EVERY.0 * 4));
    }
}
