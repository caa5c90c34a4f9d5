//! Callers of fsync who come again together: a cut that waits a moment for all of them answers
//! each after one round trip, where two halves in turn would wait for two.

/// After how many cuts it is tried again to wait for a crowd that did not come.
const REST: u32 = 16;

#[derive(Debug, Default)]
pub(in super::super) struct FsyncBatching {
    expected: u64,
    rest: u32,
}

impl FsyncBatching {
    /// Whether more callers than wait already are likely to come in a moment.
    pub(in super::super) fn is_awaited(&self, waiting: u64) -> bool {
        (1..self.expected).contains(&waiting)
    }

    /// A cut begins, for so many.
    pub(in super::super) fn begin_commit(&mut self, waiting: u64) {
        if self.is_awaited(waiting) {
            self.rest = REST;
        }
        if waiting > 0 {
            self.expected = waiting;
        }
    }

    /// They are answered, and come again; so many others came meanwhile.
    pub(in super::super) fn note_joiners(&mut self, others: u64) {
        match self.rest {
            0 => self.expected += others,
            _ => self.rest -= 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_halves_become_one_crowd() {
        let mut crowd = FsyncBatching::default();
        assert!(!crowd.is_awaited(4), "nobody knows of more");
        crowd.begin_commit(4);
        crowd.note_joiners(4);
        assert!(crowd.is_awaited(4) && crowd.is_awaited(7) && !crowd.is_awaited(8));
        assert!(!crowd.is_awaited(0), "nobody waits, so nobody is late");
        crowd.begin_commit(8);
        crowd.note_joiners(0);
        assert!(crowd.is_awaited(1) && !crowd.is_awaited(8));
    }

    #[test]
    fn who_stays_away_is_not_waited_for_each_time() {
        let mut crowd = FsyncBatching::default();
        crowd.begin_commit(1);
        crowd.note_joiners(1);
        assert!(crowd.is_awaited(1));
        crowd.begin_commit(1);
        for cut in 0..REST {
            crowd.note_joiners(1);
            assert!(!crowd.is_awaited(1), "cut {cut}");
            crowd.begin_commit(1);
        }
        crowd.note_joiners(1);
        assert!(crowd.is_awaited(1), "they may be together again");
    }
}
