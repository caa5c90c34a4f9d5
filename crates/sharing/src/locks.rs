//! Locks of programs on files: byte ranges (fcntl) and whole files (flock).

/// Who else a lock lets in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockKind {
    /// Others that are shared, too.
    Shared,
    /// Nobody.
    Exclusive,
}

/// Locks of one family do not mind those of the other one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockFamily {
    /// Byte ranges: those of processes, and those of open file descriptions.
    Range,
    /// Whole files (flock).
    Whole,
}

/// A lock that is held, or wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lock {
    /// Which locks it minds.
    pub family: LockFamily,
    /// Who else it lets in.
    pub kind: LockKind,
    /// The first byte.
    pub start: u64,
    /// The last byte.
    pub end: u64,
    /// Who has it, on its node: a number of the kernel.
    pub owner: u64,
    /// The process that asked for it, on its node.
    pub pid: u32,
}

/// What an owner gives up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unlocked {
    /// Locks of this family.
    pub family: LockFamily,
    /// Of this owner.
    pub owner: u64,
    /// From this byte.
    pub start: u64,
    /// To this byte.
    pub end: u64,
}

impl Unlocked {
    /// All locks of an owner on a file.
    #[must_use]
    pub fn all_of(owner: u64, family: LockFamily) -> Unlocked {
        Unlocked { family, owner, start: 0, end: u64::MAX }
    }
}

impl Lock {
    /// Whether one of both keeps the other one out, if they have different owners.
    fn excludes(&self, other: &Lock) -> bool {
        self.family == other.family
            && self.start <= other.end
            && other.start <= self.end
            && (self.kind == LockKind::Exclusive || other.kind == LockKind::Exclusive)
    }
}

/// Locks on one file of programs of one node.
#[derive(Debug, Default)]
pub(crate) struct LockTable(Vec<Lock>);

impl LockTable {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A lock of another owner of this node that keeps the wanted one out.
    pub(crate) fn against_neighbour(&self, wanted: &Lock) -> Option<Lock> {
        self.0.iter().find(|held| held.owner != wanted.owner && held.excludes(wanted)).copied()
    }

    /// A lock that keeps out the one which a program of another node wants.
    pub(crate) fn against_other_node(&self, wanted: &Lock) -> Option<Lock> {
        self.0.iter().find(|held| held.excludes(wanted)).copied()
    }

    /// Whether an owner has anything of this.
    pub(crate) fn has_of(&self, what: &Unlocked) -> bool {
        self.0.iter().any(|held| what.concerns(held))
    }

    /// The lock is held now, whatever its owner had there before.
    pub(crate) fn set(&mut self, lock: Lock) {
        let Lock { family, owner, start, end, .. } = lock;
        self.unset(&Unlocked { family, owner, start, end });
        let mut lock = lock;
        // Neighbours of one kind become one, so that a table does not grow by being used.
        self.0.retain(|held| {
            let touches = held.end.checked_add(1) == Some(lock.start)
                || lock.end.checked_add(1) == Some(held.start);
            let joins = touches
                && (held.family, held.kind, held.owner) == (lock.family, lock.kind, lock.owner);
            if joins {
                (lock.start, lock.end) = (lock.start.min(held.start), lock.end.max(held.end));
            }
            !joins
        });
        self.0.push(lock);
    }

    /// What an owner gives up is held no longer; what is left of a range that was cut stays.
    pub(crate) fn unset(&mut self, what: &Unlocked) {
        let mut rest = Vec::new();
        self.0.retain(|held| {
            if !what.concerns(held) {
                return true;
            }
            if held.start < what.start {
                rest.push(Lock { end: what.start - 1, ..*held });
            }
            if held.end > what.end {
                rest.push(Lock { start: what.end + 1, ..*held });
            }
            false
        });
        self.0.extend(rest);
    }
}

impl Unlocked {
    fn concerns(&self, held: &Lock) -> bool {
        (held.family, held.owner) == (self.family, self.owner)
            && held.start <= self.end
            && self.start <= held.end
    }
}

#[cfg(test)]
mod tests {
    //! If these fail, two programs have a lock that one alone may have, or one waits for nobody.
    use super::*;

    fn lock(owner: u64, kind: LockKind, start: u64, end: u64) -> Lock {
        Lock { family: LockFamily::Range, kind, start, end, owner, pid: 1 }
    }

    use LockKind::{Exclusive, Shared};

    #[test]
    fn ranges_are_cut_joined_and_exclude_each_other() {
        let mut table = LockTable::default();
        table.set(lock(1, Exclusive, 0, 99));
        table.set(lock(1, Shared, 40, 59));
        let reads = |start, end| lock(2, Shared, start, end);
        assert!(table.against_neighbour(&reads(40, 59)).is_none());
        assert_eq!(table.against_neighbour(&reads(59, 60)), Some(lock(1, Exclusive, 60, 99)));
        assert_eq!(table.against_neighbour(&reads(0, 40)), Some(lock(1, Exclusive, 0, 39)));
        assert!(table.against_neighbour(&lock(1, Exclusive, 0, 99)).is_none(), "it is one's own");
        assert!(table.against_other_node(&lock(1, Exclusive, 0, 99)).is_some(), "of another node");
        let whole = Lock { family: LockFamily::Whole, ..lock(2, Exclusive, 0, u64::MAX) };
        assert!(
            table.against_neighbour(&whole).is_none(),
            "flock and fcntl do not mind each other"
        );
        table.set(lock(1, Exclusive, 40, 59));
        assert_eq!(table.0, [lock(1, Exclusive, 0, 99)], "one again");
        table.unset(&Unlocked { family: LockFamily::Range, owner: 1, start: 10, end: u64::MAX });
        assert_eq!(table.0, [lock(1, Exclusive, 0, 9)]);
        table.unset(&Unlocked::all_of(2, LockFamily::Range));
        assert!(table.has_of(&Unlocked::all_of(1, LockFamily::Range)));
        table.unset(&Unlocked::all_of(1, LockFamily::Range));
        assert!(table.is_empty());
    }

    #[test]
    fn ends_of_the_numbers_are_no_trouble() {
        let mut table = LockTable::default();
        table.set(lock(1, Shared, 0, u64::MAX));
        table.set(lock(1, Exclusive, u64::MAX, u64::MAX));
        table.set(lock(1, Exclusive, 0, 0));
        assert_eq!(table.0.len(), 3);
        assert!(table.against_neighbour(&lock(2, Shared, 1, u64::MAX - 1)).is_none());
        table.unset(&Unlocked::all_of(1, LockFamily::Range));
        assert!(table.is_empty());
    }
}
