//! Which process asks: threads become processes of the run, with parents, command lines and what
//! they have used. It says who somebody is, not what task they belong to (that is `model::tasks`).
//!
//! The kernel gives a thread id with each request. It is looked up in /proc once and trusted for a
//! tenth of a second, after which the start time tells whether it is still the same process and
//! the name whether it has run another program since.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

use forebay_model::{ByteCount, Fact, Micros, Process, ProcessCounters, ProcessId, ProcessIo};
use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHashMap;

use crate::creds::{Groups, Wardrobe};
use crate::proc::{Proc, Stat};
use crate::recorder::Recorder;

/// How long an answer of /proc is trusted.
const TRUST_NANOS: u64 = 100_000_000;
/// How long for a process that still looks like its parent: it is about to run its program.
const TRUST_FORK_NANOS: u64 = 1_000_000;
/// The least time between two readings of what one process has used.
const ACCOUNT_NANOS: u64 = 10_000_000;
/// Ancestors looked at before giving up.
const DEEPEST: u32 = 64;

/// One process of the run.
#[derive(Debug)]
struct Known {
    id: ProcessId,
    pid: u32,
    started_us: u64,
    parent: Option<ProcessId>,
    checked: AtomicU64,
    accounted: AtomicU64,
    /// Its words are still its parent's: forked, not yet running its own program.
    forked: AtomicBool,
    ended: AtomicBool,
    program: Mutex<Program>,
}

#[derive(Debug, Clone, PartialEq, Default)]
struct Program {
    comm: Vec<u8>,
    argv: Vec<Vec<u8>>,
}

/// All processes met so far.
#[derive(Debug)]
pub struct Processes {
    recorder: Arc<Recorder>,
    wardrobe: Wardrobe,
    /// Start of the run in microseconds since boot, the scale of /proc.
    start_us: u64,
    by_thread: RwLock<FxHashMap<u32, Arc<Known>>>,
    by_id: RwLock<Vec<Arc<Known>>>,
    groups: RwLock<FxHashMap<u32, (u64, Groups)>>,
    /// Where the search for parents ends: the process that started the command.
    front: u32,
    next: AtomicU32,
    adding: Mutex<()>,
}

thread_local!(static PROC: RefCell<Proc> = RefCell::new(Proc::default()));

impl Processes {
    /// Nobody is known yet. The run began `start_us` microseconds after boot.
    /// Descendants of `front` make up the run; nothing above it is looked at.
    pub fn new(recorder: Arc<Recorder>, start_us: u64, front: u32) -> Processes {
        Processes {
            recorder,
            wardrobe: Wardrobe::new(),
            start_us,
            by_thread: RwLock::default(),
            by_id: RwLock::default(),
            groups: RwLock::default(),
            front,
            next: AtomicU32::new(0),
            adding: Mutex::default(),
        }
    }

    /// The process of a thread; `None` for the kernel's own requests and for the dead.
    pub fn identify(&self, thread: u32) -> Option<ProcessId> {
        if thread == 0 {
            return None;
        }
        let known = self.by_thread.read().get(&thread).cloned();
        if let Some(known) = known {
            let now = self.recorder.clock().nanos();
            let age = now.saturating_sub(known.checked.load(Relaxed));
            let trust = if known.forked.load(Relaxed) { TRUST_FORK_NANOS } else { TRUST_NANOS };
            if age < trust {
                return Some(known.id);
            }
            if self.is_still(&known, thread, now) {
                return Some(known.id);
            }
        }
        self.wardrobe.undress();
        PROC.with_borrow_mut(|proc| self.meet(proc, thread, 0)).map(|known| known.id)
    }

    /// Looks again whether a thread id is the process that it was, and what it runs now.
    fn is_still(&self, known: &Known, thread: u32, now: u64) -> bool {
        self.wardrobe.undress();
        PROC.with_borrow_mut(|proc| {
            // A thread dies with its process, but its id may come back in another: ask the process,
            // whose start time tells.
            let Ok(stat) = proc.stat(known.pid) else { return false };
            if stat.started_us != known.started_us {
                return false;
            }
            if thread != known.pid && !proc.status(thread).is_ok_and(|s| s.tgid == known.pid) {
                return false;
            }
            known.checked.store(now, Relaxed);
            self.look_for_exec(proc, known, &stat);
            true
        })
    }

    fn look_for_exec(&self, proc: &mut Proc, known: &Known, stat: &Stat) {
        let changed = known.program.lock().comm != stat.comm;
        if changed || known.forked.load(Relaxed) {
            let argv = proc.words(known.pid).unwrap_or_default();
            let mut program = known.program.lock();
            if !argv.is_empty() && (argv != program.argv || changed) {
                *program = Program { comm: stat.comm.clone(), argv: argv.clone() };
                known.forked.store(false, Relaxed);
                drop(program);
                self.tell(proc, known, argv);
            }
        }
    }

    fn tell(&self, proc: &mut Proc, known: &Known, argv: Vec<Vec<u8>>) {
        self.recorder.tell(Fact::Process(Process {
            id: known.id,
            pid: known.pid,
            parent: known.parent,
            started: Micros(known.started_us.saturating_sub(self.start_us)),
            argv,
            exe: proc.exe(known.pid).ok(),
            cwd: proc.cwd(known.pid).ok(),
        }));
    }

    fn meet(&self, proc: &mut Proc, thread: u32, depth: u32) -> Option<Arc<Known>> {
        let status = proc.status(thread).ok()?;
        let stat = proc.stat(status.tgid).ok()?;
        let pid = status.tgid;
        let now = self.recorder.clock().nanos();
        let found = self.by_thread.read().get(&pid).cloned();
        if let Some(known) = found.filter(|known| known.started_us == stat.started_us) {
            known.checked.store(now, Relaxed);
            self.by_thread.write().insert(thread, Arc::clone(&known));
            return Some(known);
        }
        let parent = self.parent_of(proc, &stat, depth);
        let argv = proc.words(pid).unwrap_or_default();
        let _one = self.adding.lock();
        // Another thread may have met it meanwhile.
        let found = self.by_thread.read().get(&pid).cloned();
        if let Some(known) = found.filter(|known| known.started_us == stat.started_us) {
            return Some(known);
        }
        let forked = parent.as_ref().is_some_and(|parent| parent.program.lock().argv == argv);
        let known = Arc::new(Known {
            id: ProcessId(self.next.fetch_add(1, Relaxed)),
            pid,
            started_us: stat.started_us,
            parent: parent.map(|parent| parent.id),
            checked: AtomicU64::new(now),
            accounted: AtomicU64::new(0),
            forked: AtomicBool::new(forked),
            ended: AtomicBool::new(false),
            program: Mutex::new(Program { comm: stat.comm, argv: argv.clone() }),
        });
        self.by_id.write().push(Arc::clone(&known));
        {
            let mut threads = self.by_thread.write();
            threads.insert(pid, Arc::clone(&known));
            threads.insert(thread, Arc::clone(&known));
        }
        self.tell(proc, &known, argv);
        Some(known)
    }

    fn parent_of(&self, proc: &mut Proc, stat: &Stat, depth: u32) -> Option<Arc<Known>> {
        if stat.parent == self.front {
            // The command itself; or an orphan, which the front process took in.
            let first = self.by_id.read().first().cloned();
            return first.filter(|first| first.pid != stat.pid);
        }
        // Who is above the front, or came in by another way, is no part of the run.
        if depth == 0 && !self.descends(proc, stat.parent) {
            return None;
        }
        self.meet(proc, stat.parent, depth + 1)
    }

    fn descends(&self, proc: &mut Proc, mut pid: u32) -> bool {
        for _ in 0..DEEPEST {
            match pid {
                pid if pid == self.front => return true,
                0 | 1 => return false,
                _ => {}
            }
            let Ok(stat) = proc.stat(pid) else { return false };
            pid = stat.parent;
        }
        false
    }

    /// Supplementary groups of a thread's process.
    pub fn groups(&self, thread: u32) -> Groups {
        let now = self.recorder.clock().nanos();
        if let Some((at, groups)) = self.groups.read().get(&thread) {
            if now.saturating_sub(*at) < TRUST_NANOS {
                return Arc::clone(groups);
            }
        }
        let read = PROC.with_borrow_mut(|proc| proc.status(thread));
        let mut groups: Groups = read.map(|status| status.groups).unwrap_or_default().into();
        let mut all = self.groups.write();
        if let Some((_, same)) = all.get(&thread).filter(|(_, old)| *old == groups) {
            groups = Arc::clone(same);
        }
        if all.len() > 4096 {
            all.retain(|_, (at, _)| now.saturating_sub(*at) < TRUST_NANOS);
        }
        all.insert(thread, (now, Arc::clone(&groups)));
        groups
    }

    /// Records what a process has used, unless that was done a moment ago.
    pub fn account(&self, id: ProcessId, recorder: &Recorder) {
        let Some(known) = self.by_id.read().get(id.0 as usize).cloned() else { return };
        let now = recorder.clock().nanos();
        if now.saturating_sub(known.accounted.load(Relaxed)) < ACCOUNT_NANOS {
            return;
        }
        known.accounted.store(now, Relaxed);
        self.wardrobe.undress();
        PROC.with_borrow_mut(|proc| self.read_counters(proc, &known));
    }

    /// Reads counters; false when the process is gone.
    fn read_counters(&self, proc: &mut Proc, known: &Known) -> bool {
        let Ok(stat) = proc.stat(known.pid) else { return false };
        if stat.started_us != known.started_us {
            return false;
        }
        self.look_for_exec(proc, known, &stat);
        let io = proc.io(known.pid).ok().map(|io| ProcessIo {
            rchar: ByteCount(io.rchar),
            wchar: ByteCount(io.wchar),
            read_bytes: ByteCount(io.read_bytes),
            write_bytes: ByteCount(io.write_bytes),
        });
        self.recorder.tell(Fact::ProcessCounters(ProcessCounters {
            id: known.id,
            at: self.recorder.clock().now(),
            user: Micros(stat.user_us),
            system: Micros(stat.system_us),
            children_user: Micros(stat.children_user_us),
            children_system: Micros(stat.children_system_us),
            io,
        }));
        true
    }

    /// Looks at all living processes of the run: new children, counters, and who has gone.
    /// `counters` also reads what each has used.
    pub fn survey(&self, counters: bool) {
        self.wardrobe.undress();
        let living: Vec<Arc<Known>> =
            self.by_id.read().iter().filter(|k| !k.ended.load(Relaxed)).cloned().collect();
        PROC.with_borrow_mut(|proc| {
            // Orphans are the front's children now, as is this daemon, which is no part of the run.
            for orphan in proc.children(self.front, self.front).unwrap_or_default() {
                if orphan != std::process::id() && !self.by_thread.read().contains_key(&orphan) {
                    self.meet(proc, orphan, 0);
                }
            }
            for known in &living {
                let alive = if counters {
                    self.read_counters(proc, known)
                } else {
                    proc.stat(known.pid).is_ok_and(|stat| stat.started_us == known.started_us)
                };
                if !alive {
                    self.end(known);
                    continue;
                }
                for thread in proc.threads(known.pid).unwrap_or_default() {
                    for child in proc.children(known.pid, thread).unwrap_or_default() {
                        if !self.by_thread.read().contains_key(&child) {
                            self.meet(proc, child, 0);
                        }
                    }
                }
            }
        });
    }

    fn end(&self, known: &Known) {
        known.ended.store(true, Relaxed);
        let at = self.recorder.clock().now();
        self.recorder.tell(Fact::ProcessEnded { id: known.id, at });
        self.by_thread.write().retain(|_, other| other.id != known.id);
    }

    /// Process and pid of everybody who was alive when last looked at.
    pub fn living(&self) -> Vec<(ProcessId, u32)> {
        let all = self.by_id.read();
        all.iter().filter(|k| !k.ended.load(Relaxed)).map(|k| (k.id, k.pid)).collect()
    }
}
