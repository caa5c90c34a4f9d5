//! The thread that moves files to where their rules send them, some moments after their last close
//! (`migration`, `migration_queue`). Nobody waits for it, and what it can't do is done when the run
//! ends.

mod leftover_files;

use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Weak};

use rustix::fs::{OFlags, fsync};
use rustix::io::Errno;

use super::migration::{MigratedFile, MigrationStart};
use super::migration_queue::{LATER_NANOS, MigrationQueue, QueuedMigration, SETTLE_NANOS};
use super::tiered_view::boot_nanos;
use super::{Native, Node, ROOT};
use crate::tiers::StagingPath;
use forebay_os::file_identity::reopen_with_flags;

/// Files and bytes that get their names before these are made safe together.
const BATCH: (usize, u64) = (64, 64 << 20);

/// Ends all when the thread ends, however it does: whoever brings files home must not wait for it.
struct QueueEndGuard(Arc<MigrationQueue>);

impl Drop for QueueEndGuard {
    fn drop(&mut self) {
        self.0.abandon_queue();
    }
}

impl Native {
    /// Starts the thread, if rules send files anywhere.
    pub(crate) fn start_migrator(self: &Arc<Native>) {
        if !self.tiers.as_ref().is_some_and(|tiers| tiers.can_migrate_files()) {
            return;
        }
        let (native, moves) = (Arc::downgrade(self), Arc::clone(&self.moves));
        let work = move || {
            let last = QueueEndGuard(moves);
            Weak::upgrade(&native).iter().for_each(|native| native.queue_leftover_files());
            while last.0.wait_for_work(boot_nanos) {
                let Some(native) = Weak::upgrade(&native) else { return };
                native.migrate_due_files(boot_nanos());
            }
        };
        // Without it, files come home when the run ends.
        if std::thread::Builder::new().name("forebay-move".into()).spawn(work).is_err() {
            self.moves.abandon_queue();
        }
    }

    /// The end: no file is moved any more, and none is on its way.
    pub(crate) fn stop_migrator(&self) {
        self.moves.end_and_wait();
    }

    /// A file may belong elsewhere, and nobody has it open: it is moved when it has settled.
    pub(super) fn queue_if_misplaced(&self, node: &Node) {
        let Some(tiers) = self.tiers.as_ref().filter(|tiers| tiers.can_migrate_files()) else {
            return;
        };
        let renamed = node.renamed.load(std::sync::atomic::Ordering::Relaxed);
        if renamed || tiers.writes_back_during_run() && node.placed.is_some() {
            self.queue_migration(node.id, boot_nanos() + SETTLE_NANOS);
        }
    }

    fn queue_migration(&self, id: u64, due: u64) {
        let held = self.reference_path_nodes(id);
        if !held.is_empty()
            && let Some(before) = self.moves.queue_file(due, QueuedMigration { node: id, held })
        {
            self.drop_references(&before);
        }
    }

    /// Keeps a file and the directories above it known, whatever the kernel forgets meanwhile.
    fn reference_path_nodes(&self, id: u64) -> Vec<u64> {
        let (mut held, mut next) = (Vec::new(), Some(id));
        while let Some(id) = next.filter(|id| *id != ROOT && held.len() < 4096) {
            if !self.table.add_reference(id) {
                break;
            }
            held.push(id);
            next = self.table.get(id).and_then(|node| node.newest_name()).map(|(parent, _)| parent);
        }
        held
    }

    fn drop_references(&self, waiting: &QueuedMigration) {
        waiting.held.iter().for_each(|id| self.forget(*id, 1));
    }

    /// Moves all files that have settled by `now`.
    pub(crate) fn migrate_due_files(&self, now: u64) {
        let Some(tiers) = &self.tiers else { return };
        loop {
            // Where room is missing, nothing has to settle.
            let by = if tiers.is_short_of_space() { now.saturating_add(SETTLE_NANOS) } else { now };
            let (mut batch, mut bytes) = (Vec::new(), 0);
            while batch.len() < BATCH.0 && bytes < BATCH.1 && !self.moves.is_over() {
                let Some(waiting) = self.moves.next_due(by) else { break };
                let again = match self.migrate_file(waiting.node) {
                    Ok(Some(moved)) => {
                        bytes += moved.bytes();
                        batch.push(moved);
                        None
                    }
                    Ok(None) => None,
                    Err(Errno::CANCELED | Errno::AGAIN | Errno::STALE) => Some(SETTLE_NANOS),
                    Err(_) => Some(LATER_NANOS),
                };
                if let Some(after) = again {
                    // Later than all that this turn takes: else it would be taken again at once.
                    self.queue_migration(waiting.node, by.max(now).saturating_add(after));
                }
                self.drop_references(&waiting);
            }
            if batch.is_empty() {
                return;
            }
            self.finish_batch(&batch);
        }
    }

    fn migrate_file(&self, id: u64) -> super::Result<Option<MigratedFile>> {
        let Some(tiers) = &self.tiers else { return Ok(None) };
        let moving = match self.begin_migration(id)? {
            MigrationStart::No => return Ok(None),
            MigrationStart::Later => return Err(Errno::AGAIN),
            MigrationStart::Yes(moving) => moving,
        };
        let go = || {
            let passage = self.staging_path()?;
            let carried =
                Native::stage_migration(tiers, passage, &moving, &|| self.moves.is_over())?;
            self.commit_migration(passage, &moving, &carried)
        };
        let done = go();
        if let Err(error) = done {
            self.abort_migration(&moving);
            if error != Errno::CANCELED {
                tracing::warn!("{} stays where it is for now: {error}", moving.display_path());
            }
        }
        done.map(Some)
    }

    /// The way that files take, made when the first goes.
    pub(super) fn staging_path(&self) -> super::Result<&StagingPath> {
        // Who opens it empties it: not when another has something there already.
        let _one = self.first_passage.lock();
        if let Some(passage) = self.passage.get() {
            return Ok(passage);
        }
        let root = self.dir_fd(ROOT)?;
        let passage = StagingPath::open(root.as_fd())?;
        Ok(self.passage.get_or_init(|| passage))
    }

    /// Makes the names of moved files safe, then lets go what they were.
    fn finish_batch(&self, batch: &[MigratedFile]) {
        let mut safe: Vec<(*const OwnedFd, bool)> = Vec::new();
        let mut all = true;
        for moved in batch {
            let dir = Arc::as_ptr(&moved.dir);
            let known = safe.iter().find(|(other, _)| *other == dir).map(|(_, safe)| *safe);
            let is_safe = !moved.safe
                || known.unwrap_or_else(|| {
                    let how = OFlags::RDONLY | OFlags::DIRECTORY;
                    let done = reopen_with_flags(moved.dir.as_fd(), how).and_then(fsync);
                    safe.push((dir, done.is_ok()));
                    done.inspect_err(|error| tracing::error!("making a name durable: {error}"))
                        .is_ok()
                });
            if is_safe {
                self.finish_migration(moved);
            }
            all &= is_safe;
        }
        if let Some(passage) = self.passage.get().filter(|_| all) {
            passage.clear_notes();
        }
    }
}
