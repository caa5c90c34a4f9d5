//! Who started a process of the run, and who came in from elsewhere.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use forebay_model::Fact;

use super::{DEEPEST, KnownProcess, ProcessTable, TRIES_MAX};
use forebay_os::proc::{Proc, Stat};

/// To whom a process belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProcessOrigin {
    /// It was started by this process, which the run started, or which is known otherwise.
    Ours(u32),
    /// No part of the run started it.
    Others,
    /// It ended, and so did who started it.
    Lost,
}

impl ProcessTable {
    /// The parent, if it is known already.
    pub(super) fn known_parent(&self, stat: &Stat) -> Option<Arc<KnownProcess>> {
        if self.is_launcher(stat.parent) {
            // The command itself; or an orphan, which the front process took in.
            return self.root.get().filter(|root| root.pid != stat.pid).cloned();
        }
        self.by_thread.read().get(&stat.parent).cloned()
    }

    /// A lasting mount has none.
    pub(super) fn is_launcher(&self, pid: u32) -> bool {
        self.front != 0 && pid == self.front
    }

    /// Meets the parent, and theirs, as far as they belong to the run.
    pub(super) fn find_parent(
        &self,
        proc: &mut Proc,
        known: &Arc<KnownProcess>,
        line: ProcessOrigin,
    ) {
        // Who is above the front, or came in by another way, is no part of the run.
        let parent = match line {
            ProcessOrigin::Ours(parent) if self.is_launcher(parent) => self.root.get().cloned(),
            ProcessOrigin::Ours(parent) => self.discover_from_proc(proc, parent),
            ProcessOrigin::Others | ProcessOrigin::Lost => None,
        };
        // It was set before if somebody else looked meanwhile, to the same.
        let _ = known.parent.set(parent.as_ref().map(|parent| parent.id));
        if let Some(parent) = parent {
            let argv = known.program.lock().argv.clone();
            known.forked.store(parent.program.lock().argv == argv, Relaxed);
            self.record_process(proc, known, argv);
        }
    }

    /// No part of the run. A lasting mount has no command: all who use it are its tasks.
    pub(super) fn mark_stranger(&self, known: &KnownProcess) {
        if self.front != 0 {
            known.stranger.store(true, Relaxed);
            self.recorder.record_fact(Fact::Stranger { id: known.id });
        }
    }

    /// Whose it is. Asked while its request waits for us, so that neither it nor who waits for it
    /// can be gone; `stat` of /proc takes no lock that one of them may hold. An ancestor that ended
    /// all the same leaves its children to another: to the front, if it was of the run.
    pub(super) fn trace_lineage(&self, proc: &mut Proc, stat: &Stat) -> ProcessOrigin {
        let mut parent = stat.parent;
        for _ in 0..TRIES_MAX {
            match self.descends_from_run(proc, parent) {
                Some(true) => return ProcessOrigin::Ours(parent),
                Some(false) => return ProcessOrigin::Others,
                None => {}
            }
            match proc.read_stat(stat.pid) {
                Ok(now) if now.started_us == stat.started_us => parent = now.parent,
                _ => return ProcessOrigin::Lost,
            }
        }
        ProcessOrigin::Lost
    }

    /// Whether it belongs to the run; `None`: somebody on the way up has ended.
    fn descends_from_run(&self, proc: &mut Proc, mut pid: u32) -> Option<bool> {
        for _ in 0..DEEPEST {
            match pid {
                pid if self.is_launcher(pid) => return Some(true),
                0 | 1 => return Some(false),
                // Whose parent is known belongs where that does: a lasting mount has no front, and
                // who came in from elsewhere has no place in the run.
                pid if self.by_thread.read().contains_key(&pid) => return Some(true),
                _ => {}
            }
            pid = proc.read_stat(pid).ok()?.parent;
        }
        None
    }
}
