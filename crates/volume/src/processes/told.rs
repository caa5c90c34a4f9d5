//! Processes that the kernel tells of as they start, execute and end: nobody has to be looked up
//! while it lives, and none is too short to be seen.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use forebay_model::{Fact, Micros, Process, ProcessCounters, ProcessId};
use parking_lot::Mutex;

use super::starting::ForkWatch;
use super::{KnownProcess, PROC, ProcessTable, Program};

/// The scale of starts in `/proc/PID/stat`: hundredths of a second.
const TICK_US: u64 = 10_000;

/// A process that was started.
#[derive(Debug)]
pub(crate) struct ToldProcess {
    pub(crate) pid: u32,
    /// Who started it, if that is part of the run.
    pub(crate) parent: Option<ProcessId>,
    /// When, in nanoseconds since boot.
    pub(crate) started_ns: u64,
}

/// What a process executes now.
#[derive(Debug, Default)]
pub(crate) struct ToldProgram {
    pub(crate) comm: Vec<u8>,
    pub(crate) argv: Vec<Vec<u8>>,
    /// As far as they are known.
    pub(crate) exe: Option<Vec<u8>>,
    pub(crate) cwd: Option<Vec<u8>>,
}

impl ProcessTable {
    /// Meets a process of the run. Until it executes something it is what its parent is; the first
    /// of all is the command.
    pub(crate) fn meet_told(&self, told: &ToldProcess) -> ProcessId {
        self.told.store(true, Relaxed);
        let started_us = told.started_ns / 1000 / TICK_US * TICK_US;
        let _one = self.adding.lock();
        let found = self.by_thread.read().get(&told.pid).cloned();
        if let Some(known) = found.filter(|known| known.started_us == started_us) {
            // A look at all processes was faster.
            return known.id;
        }
        let parent =
            told.parent.and_then(|parent| self.by_id.read().get(parent.0 as usize).cloned());
        let program = match &parent {
            Some(parent) => parent.program.lock().clone(),
            None => Program { comm: Vec::new(), argv: self.command.clone() },
        };
        let known = Arc::new(KnownProcess {
            id: ProcessId(self.next.fetch_add(1, Relaxed)),
            pid: told.pid,
            started_us,
            parent: OnceLock::from(told.parent),
            checked: AtomicU64::new(self.recorder.clock().elapsed_nanos()),
            accounted: AtomicU64::new(0),
            checking: AtomicBool::new(false),
            forked: AtomicBool::new(false),
            fork_watch: ForkWatch::new(self.recorder.clock().elapsed_nanos()),
            ended: AtomicBool::new(false),
            stranger: AtomicBool::new(false),
            pidfd: Mutex::default(),
            program: Mutex::new(program.clone()),
        });
        self.by_id.write().push(Arc::clone(&known));
        if parent.is_none() {
            self.root.get_or_init(|| Arc::clone(&known));
        }
        self.by_thread.write().insert(told.pid, Arc::clone(&known));
        self.record_told(&known, program.argv, None, None);
        known.id
    }

    /// A process executes another program. What the kernel did not tell is looked up, which finds
    /// nothing any more if the process was short.
    pub(crate) fn note_program(&self, id: ProcessId, told: ToldProgram) {
        let Some(known) = self.by_id.read().get(id.0 as usize).cloned() else { return };
        let is_root = self.root.get().is_some_and(|root| root.id == id);
        let ToldProgram { comm, argv, exe, cwd } = told;
        PROC.with_borrow_mut(|proc| {
            let exe = exe.or_else(|| proc.read_exe_link(known.pid).ok());
            let cwd = cwd.or_else(|| proc.read_cwd_link(known.pid).ok());
            // The command's own words are known whole.
            let first = is_root && known.program.lock().comm.is_empty();
            let argv = if first { self.command.clone() } else { argv };
            *known.program.lock() = Program { comm, argv: argv.clone() };
            self.tell_of_batch_submit(&argv);
            self.record_told(&known, argv, exe, cwd);
        });
    }

    /// All words of a living process, where the kernel's side had room for the first alone.
    pub(crate) fn read_words(&self, pid: u32) -> Option<Vec<Vec<u8>>> {
        let words = PROC.with_borrow_mut(|proc| proc.read_command_line(pid)).ok()?;
        (!words.is_empty()).then_some(words)
    }

    /// A process ended, and has used this.
    pub(crate) fn note_end(&self, id: ProcessId, counters: ProcessCounters) {
        self.recorder.record_fact(Fact::ProcessCounters(counters));
        let known = self.by_id.read().get(id.0 as usize).cloned();
        known.iter().for_each(|known| self.record_exit(known));
    }

    /// A process ended, and nobody saw what it had used.
    pub(crate) fn note_unseen_end(&self, id: ProcessId) {
        let known = self.by_id.read().get(id.0 as usize).cloned();
        known.iter().for_each(|known| self.record_exit(known));
    }

    pub(super) fn record_told(
        &self,
        known: &KnownProcess,
        argv: Vec<Vec<u8>>,
        exe: Option<Vec<u8>>,
        cwd: Option<Vec<u8>>,
    ) {
        self.recorder.record_fact(Fact::Process(Process {
            id: known.id,
            pid: known.pid,
            parent: known.parent.get().copied().flatten(),
            started: Micros(known.started_us.saturating_sub(self.start_us)),
            argv,
            exe,
            cwd,
        }));
    }
}
