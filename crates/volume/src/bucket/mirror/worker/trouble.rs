//! What the thread that ships does when the bucket does not take what it brings.

use std::io::ErrorKind;

use super::Worker;
use forebay_objstore::Failed;

/// How it went lately.
#[derive(Debug, Default)]
pub(in super::super) struct Tries {
    /// Attempts that failed, one after the other.
    failed: u32,
    /// Since when somebody waits for the end and the bucket does not answer.
    since: Option<u64>,
}

impl Worker {
    /// The bucket has taken everything.
    pub(super) fn went_well(&mut self) {
        self.tries = Tries::default();
        self.mirror.health.answered();
        self.mirror.bodies.is_back();
    }

    /// It has not: waits. Tells whether it is to be tried again, and else says that it is over.
    pub(super) fn goes_on(&mut self, failed: &Failed, is_over: bool) -> bool {
        tracing::error!("copying files to {}: {failed}", self.wanted.url);
        self.mirror.health.failed(failed);
        let patience = self.wanted.patience.clone();
        let mut is_lost = failed.kind == ErrorKind::AlreadyExists;
        if is_over {
            let since = *self.tries.since.get_or_insert_with(|| patience.now());
            is_lost |= failed.is_lasting() || patience.left(since).is_zero();
        }
        if is_lost {
            self.end(Some(failed.why.clone()));
            return false;
        }
        self.tries.failed = self.tries.failed.saturating_add(1);
        self.pause(patience.pause(self.tries.failed));
        true
    }
}
