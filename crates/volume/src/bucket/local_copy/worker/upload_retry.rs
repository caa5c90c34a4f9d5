//! What the thread that ships does when the bucket does not take what it brings.

use std::io::ErrorKind;

use super::UploadWorker;
use forebay_objstore::RequestError;

/// How it went lately.
#[derive(Debug, Default)]
pub(in super::super) struct UploadRetry {
    /// Attempts that failed, one after the other.
    failed: u32,
    /// Since when somebody waits for the end and the bucket does not answer.
    since: Option<u64>,
}

impl UploadWorker {
    /// The bucket has taken everything.
    pub(super) fn note_success(&mut self) {
        self.tries = UploadRetry::default();
        self.mirror.health.note_success();
        self.mirror.bodies.mark_reachable();
    }

    /// It has not: waits. Tells whether it is to be tried again, and else says that it is over.
    pub(super) fn wait_to_retry(&mut self, failed: &RequestError, is_over: bool) -> bool {
        tracing::error!("copying files to {}: {failed}", self.wanted.url);
        self.mirror.health.note_failure(failed);
        let patience = self.wanted.patience.clone();
        let mut is_lost = failed.kind == ErrorKind::AlreadyExists;
        if is_over {
            let since = *self.tries.since.get_or_insert_with(|| patience.timestamp_now());
            is_lost |= failed.is_lasting() || patience.time_left(since).is_zero();
        }
        if is_lost {
            self.end_upload(Some(failed.why.clone()));
            return false;
        }
        self.tries.failed = self.tries.failed.saturating_add(1);
        self.pause_unless_over(patience.pause_after(self.tries.failed));
        true
    }
}
