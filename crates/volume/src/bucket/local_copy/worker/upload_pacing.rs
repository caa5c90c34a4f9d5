//! What the thread that ships waits for.

use std::time::Duration;

use super::super::super::commit_upload::DirtyNames;
use super::super::super::dirty_names::{MANY, NotedChanges};
use super::super::super::writer_note::VolumeWriter;
use super::UploadWorker;
use super::local_eviction::GROWN;

/// How long names may differ from what the bucket knows before a cut is made.
const DELAY: Duration = Duration::from_secs(1);
/// Bytes that reading has brought after which it is looked whether they fill the disk; with a
/// bound, as many as it leaves unnoticed, where these are fewer.
const MUCH: u64 = 256 << 20;
/// How often it is looked whether reading has filled the disk.
const IDLE: Duration = Duration::from_secs(5);
/// How long a cut waits for callers who come again together: a third of a request to S3.
const GATHER: Duration = Duration::from_millis(7);

impl UploadWorker {
    pub(super) fn wait_for_joiners(&mut self) {
        let mut noted = self.mirror.marks.lock_noted();
        let mut left = GATHER;
        let waiting = |noted: &NotedChanges| noted.asked - noted.done;
        while self.crowd.is_awaited(waiting(&noted)) && !left.is_zero() {
            let step = GATHER / 12;
            if self.mirror.marks.call.wait_for(&mut noted, step).timed_out() {
                left = left.saturating_sub(step);
            }
        }
        self.crowd.begin_commit(waiting(&noted));
    }

    /// Waits for something to do.
    pub(super) fn wait_for_work(&mut self) -> DirtyNames {
        let much = self.wanted.space.map_or(MUCH, |space| MUCH.min(space / GROWN));
        let marks = &self.mirror.marks;
        let mut noted = marks.lock_noted();
        let is_called =
            |noted: &NotedChanges| noted.over || noted.crowded || noted.asked > noted.done;
        while noted.dirty.is_empty() && !is_called(&noted) {
            marks.call.wait_for(&mut noted, IDLE);
            if let Some(bytes) = self.mirror.bodies.take_fetched_bytes(much) {
                self.grown = self.grown.saturating_add(bytes);
                return DirtyNames::new();
            }
            if self.again.is_due() {
                self.grown = u64::MAX;
                return DirtyNames::new();
            }
        }
        let mut left = 10;
        while !is_called(&noted) && noted.dirty.len() < MANY && left > 0 {
            marks.call.wait_for(&mut noted, DELAY / 10);
            left -= 1;
        }
        if let Some(bytes) = self.mirror.bodies.take_fetched_bytes(much) {
            self.grown = self.grown.saturating_add(bytes);
        }
        if self.again.is_due() {
            self.grown = u64::MAX;
        }
        std::mem::take(&mut noted.dirty)
    }

    /// Waits for a while, but not for long when nobody uses the volume any more.
    pub(super) fn pause_unless_over(&self, time: Duration) {
        let mut noted = self.mirror.marks.lock_noted();
        let was_over = noted.over;
        let mut left = time;
        while !left.is_zero() && noted.over == was_over {
            let step = left.min(Duration::from_millis(500));
            self.mirror.marks.call.wait_for(&mut noted, step);
            left = left.saturating_sub(step);
        }
    }

    /// It is over; why not all is in the bucket, if so.
    pub(super) fn end_upload(&mut self, why: Option<String>) {
        if why.is_none() {
            let learnt = self.ship.scan_mut().take_learnt();
            // Without: the next start looks at all files, and another writer waits a little longer.
            let _ = self.journal.append_frame(self.ship.next_segment(), true, learnt);
            let _ = VolumeWriter::release_after_mount(&self.mirror.state.volume.me, &self.bucket);
        }
        let mut noted = self.mirror.marks.lock_noted();
        noted.lost.clone_from(&why);
        self.mirror.marks.call.notify_all();
        self.mirror.told.lock().left = why;
    }
}
