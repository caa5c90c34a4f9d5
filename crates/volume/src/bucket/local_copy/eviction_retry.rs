//! When it is looked again for room that could not be made.

/// When room is looked for again that could not be made, as files were open: after one round, after
/// two more, and so on to this many, as they may stay open for days.
const ROUNDS_MAX: u32 = 64;

/// Rounds of the thread until room is looked for again; one is the time it waits for something to
/// do.
#[derive(Debug, Default)]
pub(super) struct EvictionRetry {
    left: u32,
    /// 0: there is nothing to come back for.
    last: u32,
}

impl EvictionRetry {
    /// Files were looked at: whether one that should have been given back is in use.
    pub(super) fn note_attempt(&mut self, is_in_use: bool) {
        self.last = if is_in_use { (self.last * 2).clamp(1, ROUNDS_MAX) } else { 0 };
        self.left = self.last;
    }

    /// A round is over.
    pub(super) fn is_due(&mut self) -> bool {
        self.left = self.left.saturating_sub(1);
        self.last > 0 && self.left == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_in_use_are_looked_at_again_ever_less_often() {
        let mut again = EvictionRetry::default();
        assert!(!again.is_due(), "nothing to come back for");
        let mut rounds = Vec::new();
        for _ in 0..9 {
            again.note_attempt(true);
            rounds.push((1..).find(|_| again.is_due()).expect("some time"));
        }
        assert_eq!(rounds, [1, 2, 4, 8, 16, 32, 64, 64, 64]);
        again.note_attempt(false);
        assert!((0..100).all(|_| !again.is_due()), "it was given back");
    }
}
