//! Which process asks: threads become processes of the run, with parents, command lines and what
//! they have used. It says who somebody is, not what task they belong to (that is `model::tasks`).
//!
//! The kernel gives a thread id with each request. It is looked up in /proc once; later looks, which
//! tell whether it is still the same process and what program it runs, are left to a thread of
//! their own, as is meeting parents. A worker must never wait for a lock of a process that waits for
//! us: execve(2) holds one while it closes files (FLUSH), a page fault another (READ).

mod lineage;
mod starting;
mod task;
mod told;

use std::cell::RefCell;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock, Weak};

use forebay_model::tasks::find_batch_submit;
use forebay_model::{ByteCount, Fact, Micros, ProcessCounters, ProcessId, ProcessIo, ProcessUsage};
use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHashMap;
use rustix::event::epoll;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

use crate::ipc::{Channel, RESCUER, ToLauncher};
use crate::recorder::Recorder;
use forebay_os::credentials::{Credentials, Groups};
use forebay_os::proc::{Proc, Stat};
use lineage::ProcessOrigin;
pub(crate) use told::{ToldProcess, ToldProgram};

/// How long an answer of /proc is trusted.
const TRUST_NANOS: u64 = 100_000_000;
/// How long for a process that still looks like its parent: it is about to run its program.
const TRUST_FORK_NANOS: u64 = 1_000_000;
/// The least time between two readings of what one process has used.
const ACCOUNT_NANOS: u64 = 10_000_000;
/// Ancestors looked at before giving up.
const DEEPEST: u32 = 64;
/// How often ancestors are looked up again when one of them ended meanwhile.
const TRIES_MAX: u32 = 3;

/// One process of the run.
#[derive(Debug)]
struct KnownProcess {
    id: ProcessId,
    pid: u32,
    started_us: u64,
    /// Once it was looked for: there may be none in the run.
    parent: OnceLock<Option<ProcessId>>,
    checked: AtomicU64,
    accounted: AtomicU64,
    /// A look is under way.
    checking: AtomicBool,
    /// It is about to run its own program: see [`starting::is_starting`].
    forked: AtomicBool,
    /// When to look whether it has.
    fork_watch: starting::ForkWatch,
    ended: AtomicBool,
    /// No part of the run started it.
    stranger: AtomicBool,
    pidfd: Mutex<Option<OwnedFd>>,
    program: Mutex<Program>,
}

#[derive(Debug, Clone, PartialEq, Default)]
struct Program {
    comm: Vec<u8>,
    argv: Vec<Vec<u8>>,
}

/// All processes met so far.
#[derive(Debug)]
pub struct ProcessTable {
    recorder: Arc<Recorder>,
    credentials: Credentials,
    /// Start of the run in microseconds since boot, the scale of /proc.
    start_us: u64,
    by_thread: RwLock<FxHashMap<u32, Arc<KnownProcess>>>,
    by_id: RwLock<Vec<Arc<KnownProcess>>>,
    /// The command's own process: all that is left without a parent is its.
    root: OnceLock<Arc<KnownProcess>>,
    groups: RwLock<FxHashMap<u32, (u64, Groups)>>,
    /// Where the search for parents ends: the process that started the command.
    front: u32,
    command: Vec<Vec<u8>>,
    /// All processes are told of: nobody has to be looked for.
    told: AtomicBool,
    next: AtomicU32,
    adding: Mutex<()>,
    /// Tells when a process ends (pidfd_open(2)).
    ends: Option<OwnedFd>,
    /// Who is told of the first program that sends work to other machines.
    watcher: Mutex<Option<Channel>>,
    later: Sender<BackgroundLookup>,
    jobs: Mutex<Option<Receiver<BackgroundLookup>>>,
}

/// What is not done while a request waits.
#[derive(Debug)]
enum BackgroundLookup {
    /// Meet who started it.
    Parent(Arc<KnownProcess>, ProcessOrigin),
    /// Look whether it still is what it was.
    Check(Arc<KnownProcess>),
    /// See what it has used.
    Account(Arc<KnownProcess>),
}

/// It is this daemon, or the one that rescues its users: no part of the run.
fn is_forebay_process(proc: &mut Proc, pid: u32) -> bool {
    pid == std::process::id() || proc.read_comm(pid).is_ok_and(|name| name == RESCUER.to_bytes())
}

thread_local!(static PROC: RefCell<Proc> = RefCell::new(Proc::default()));

impl ProcessTable {
    /// Nobody is known yet. The run began `start_us` microseconds after boot.
    /// Descendants of `front` make up the run; nothing above it is looked at.
    /// The first of them becomes `command` at once, however early it is met.
    pub fn new(
        recorder: Arc<Recorder>,
        start_us: u64,
        front: u32,
        command: Vec<Vec<u8>>,
    ) -> ProcessTable {
        let (later, jobs) = channel();
        ProcessTable {
            recorder,
            credentials: Credentials::new(),
            start_us,
            by_thread: RwLock::default(),
            by_id: RwLock::default(),
            root: OnceLock::new(),
            groups: RwLock::default(),
            front,
            command,
            next: AtomicU32::new(0),
            adding: Mutex::default(),
            ends: epoll::create(epoll::CreateFlags::CLOEXEC).ok(),
            watcher: Mutex::default(),
            later,
            told: AtomicBool::new(false),
            jobs: Mutex::new(Some(jobs)),
        }
    }

    /// Starts the thread that looks again, and for parents.
    ///
    /// # Errors
    /// When no thread can be made.
    pub fn start_threads(self: &Arc<Self>) -> std::io::Result<()> {
        let Some(jobs) = self.jobs.lock().take() else { return Ok(()) };
        let all = Arc::downgrade(self);
        std::thread::Builder::new().name("forebay-who".into()).spawn(move || {
            for job in jobs {
                let Some(all) = all.upgrade() else { return };
                all.run_job(job);
            }
        })?;
        if self.ends.is_some() {
            let all = Arc::downgrade(self);
            std::thread::Builder::new()
                .name("forebay-ends".into())
                .spawn(move || while ProcessTable::wait_for_exits(&all) {})?;
        }
        Ok(())
    }

    /// Waits for processes to end, and looks at what they have used before they are waited for.
    /// False when nobody needs to know any more.
    fn wait_for_exits(all: &Weak<ProcessTable>) -> bool {
        let mut events = Vec::with_capacity(64);
        let Some(this) = all.upgrade() else { return false };
        let Some(ends) = &this.ends else { return false };
        let patience = rustix::event::Timespec { tv_sec: 1, tv_nsec: 0 };
        let spare = rustix::buffer::spare_capacity(&mut events);
        match epoll::wait(ends, spare, Some(&patience)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
        for event in &events {
            let id = event.data.u64() as usize;
            let known = this.by_id.read().get(id).cloned();
            if let Some(known) = known {
                PROC.with_borrow_mut(|proc| {
                    this.read_counters(proc, &known);
                    this.read_usage(proc, &known);
                });
                this.record_exit(&known);
            }
        }
        true
    }

    fn watch_exit(&self, known: &KnownProcess) {
        let Some(ends) = &self.ends else { return };
        let Some(pid) = Pid::from_raw(known.pid as i32) else { return };
        if let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty()) {
            let what = epoll::EventFlags::IN;
            if epoll::add(ends, &pidfd, epoll::EventData::new_u64(u64::from(known.id.0)), what)
                .is_ok()
            {
                *known.pidfd.lock() = Some(pidfd);
            }
        }
    }

    fn run_job(&self, job: BackgroundLookup) {
        PROC.with_borrow_mut(|proc| match job {
            BackgroundLookup::Parent(known, line) => self.find_parent(proc, &known, line),
            BackgroundLookup::Check(known) => {
                let stat = proc.read_stat(known.pid).ok();
                match stat.filter(|stat| stat.started_us == known.started_us) {
                    Some(stat) => self.detect_exec(proc, &known, &stat),
                    None => self.record_exit(&known),
                }
                known.checking.store(false, Relaxed);
            }
            BackgroundLookup::Account(known) => {
                self.read_counters(proc, &known);
            }
        });
    }

    /// The process of a thread; `None` for the kernel's own requests and for the dead.
    ///
    /// Not for requests that the caller may make with its own locks held (see
    /// [`Self::lookup_cached`]).
    pub fn identify_thread(&self, thread: u32) -> Option<ProcessId> {
        if thread == 0 {
            return None;
        }
        if let Some(known) = self.lookup_known(thread) {
            self.detect_exec_if_forked(&known);
            return Some(known.id);
        }
        self.credentials.revert();
        PROC.with_borrow_mut(|proc| self.discover_from_proc(proc, thread)).map(|known| known.id)
    }

    /// A process that has just forked may be another program by now, and gone soon: look at once.
    fn detect_exec_if_forked(&self, known: &KnownProcess) {
        let is_due = || known.fork_watch.take_due(self.recorder.clock().elapsed_nanos());
        if !known.forked.load(Relaxed) || !is_due() {
            return;
        }
        self.credentials.revert();
        PROC.with_borrow_mut(|proc| {
            if let Ok(stat) = proc.read_stat(known.pid) {
                self.detect_exec(proc, known, &stat);
            }
        });
    }

    /// The process of a thread if it was met before; never waits.
    pub fn lookup_cached(&self, thread: u32) -> Option<ProcessId> {
        self.lookup_known(thread).map(|known| known.id)
    }

    fn lookup_known(&self, thread: u32) -> Option<Arc<KnownProcess>> {
        let known = self.by_thread.read().get(&thread).cloned()?;
        let now = self.recorder.clock().elapsed_nanos();
        let age = now.saturating_sub(known.checked.load(Relaxed));
        let trust = match known.forked.load(Relaxed) {
            true => known.fork_watch.interval().clamp(TRUST_FORK_NANOS, TRUST_NANOS),
            false => TRUST_NANOS,
        };
        if age >= trust && !known.checking.swap(true, Relaxed) {
            known.checked.store(now, Relaxed);
            let _ = self.later.send(BackgroundLookup::Check(Arc::clone(&known)));
        }
        Some(known)
    }

    fn detect_exec(&self, proc: &mut Proc, known: &KnownProcess, stat: &Stat) {
        let changed = known.program.lock().comm != stat.comm;
        if changed || known.forked.load(Relaxed) {
            let argv = proc.read_command_line(known.pid).unwrap_or_default();
            let mut program = known.program.lock();
            if !argv.is_empty() && (argv != program.argv || changed) {
                *program = Program { comm: stat.comm.clone(), argv: argv.clone() };
                known.forked.store(false, Relaxed);
                drop(program);
                self.record_process(proc, known, argv);
            }
        }
    }

    /// Has the front told of the first program that sends work to other machines.
    pub(crate) fn notify_on_batch_submit(&self, front: Channel) {
        *self.watcher.lock() = Some(front);
    }

    fn tell_of_batch_submit(&self, argv: &[Vec<u8>]) {
        if let Some(program) = find_batch_submit(argv)
            && let Some(front) = self.watcher.lock().take()
        {
            front.try_send_message(&ToLauncher::SentAway { program: program.to_owned() });
            // It waits for signals; this one means nothing to whoever else might get it.
            let pid = i32::try_from(self.front).ok().and_then(Pid::from_raw);
            // The front may be gone: then nobody has to be told.
            let _ = pid.map(|pid| kill_process(pid, Signal::URG));
        }
    }

    fn record_process(&self, proc: &mut Proc, known: &KnownProcess, argv: Vec<Vec<u8>>) {
        self.tell_of_batch_submit(&argv);
        let exe = proc.read_exe_link(known.pid).ok();
        self.record_told(known, argv, exe, proc.read_cwd_link(known.pid).ok());
    }

    /// Looks a thread up in /proc.
    fn discover_from_proc(&self, proc: &mut Proc, thread: u32) -> Option<Arc<KnownProcess>> {
        let status = proc.read_status(thread).ok()?;
        let stat = proc.read_stat(status.tgid).ok()?;
        let pid = status.tgid;
        let mut argv = proc.read_command_line(pid).unwrap_or_default();
        let _one = self.adding.lock();
        let is_root = self.is_launcher(stat.parent) && self.root.get().is_none();
        if is_root {
            argv.clone_from(&self.command);
        }
        let found = self.by_thread.read().get(&pid).cloned();
        if let Some(known) = found.filter(|known| known.started_us == stat.started_us) {
            self.by_thread.write().insert(thread, Arc::clone(&known));
            return Some(known);
        }
        let parent = self.known_parent(&stat);
        let above = parent.as_ref().map(|parent| parent.program.lock().argv.clone());
        let forked = starting::is_starting(&argv, above.as_deref());
        let parent = parent.map(|parent| parent.id);
        // Below the front there is nobody to look for.
        let is_known = parent.is_some() || self.is_launcher(stat.parent);
        let line = (!is_known).then(|| self.trace_lineage(proc, &stat));
        let known = Arc::new(KnownProcess {
            id: ProcessId(self.next.fetch_add(1, Relaxed)),
            pid,
            started_us: stat.started_us,
            parent: match line {
                Some(ProcessOrigin::Ours(_) | ProcessOrigin::Lost) => OnceLock::new(),
                Some(ProcessOrigin::Others) | None => OnceLock::from(parent),
            },
            checked: AtomicU64::new(self.recorder.clock().elapsed_nanos()),
            accounted: AtomicU64::new(0),
            checking: AtomicBool::new(false),
            forked: AtomicBool::new(forked),
            fork_watch: starting::ForkWatch::new(self.recorder.clock().elapsed_nanos()),
            ended: AtomicBool::new(false),
            stranger: AtomicBool::new(false),
            pidfd: Mutex::default(),
            program: Mutex::new(Program { comm: stat.comm, argv: argv.clone() }),
        });
        self.by_id.write().push(Arc::clone(&known));
        if is_root {
            // It is looked for under the lock of `adding`: there is no other.
            self.root.get_or_init(|| Arc::clone(&known));
        }
        {
            let mut threads = self.by_thread.write();
            threads.insert(pid, Arc::clone(&known));
            threads.insert(thread, Arc::clone(&known));
        }
        self.record_process(proc, &known, argv);
        self.watch_exit(&known);
        match line {
            Some(ProcessOrigin::Others) => self.mark_stranger(&known),
            Some(line) => {
                let _ = self.later.send(BackgroundLookup::Parent(Arc::clone(&known), line));
            }
            None => {}
        }
        Some(known)
    }

    /// Supplementary groups of a thread's process.
    pub fn supplementary_groups(&self, thread: u32) -> Groups {
        let now = self.recorder.clock().elapsed_nanos();
        if let Some((at, groups)) = self.groups.read().get(&thread)
            && now.saturating_sub(*at) < TRUST_NANOS
        {
            return Arc::clone(groups);
        }
        let read = PROC.with_borrow_mut(|proc| proc.read_status(thread));
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
    pub fn request_accounting(&self, id: ProcessId) {
        let Some(known) = self.by_id.read().get(id.0 as usize).cloned() else { return };
        let now = self.recorder.clock().elapsed_nanos();
        if now.saturating_sub(known.accounted.load(Relaxed)) < ACCOUNT_NANOS {
            return;
        }
        known.accounted.store(now, Relaxed);
        let _ = self.later.send(BackgroundLookup::Account(known));
    }

    /// Reads counters; false when the process is gone.
    fn read_counters(&self, proc: &mut Proc, known: &KnownProcess) -> bool {
        let Ok(stat) = proc.read_stat(known.pid) else { return false };
        if stat.started_us != known.started_us {
            return false;
        }
        self.detect_exec(proc, known, &stat);
        let io = proc.read_io(known.pid).ok().map(|io| ProcessIo {
            rchar: ByteCount(io.rchar),
            wchar: ByteCount(io.wchar),
            read_bytes: ByteCount(io.read_bytes),
            write_bytes: ByteCount(io.write_bytes),
        });
        self.recorder.record_fact(Fact::ProcessCounters(ProcessCounters {
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

    /// Reads what takes longer to read.
    fn read_usage(&self, proc: &mut Proc, known: &KnownProcess) {
        let memory = proc.read_status(known.pid).ok().and_then(|status| status.memory_peak_bytes);
        self.recorder.record_fact(Fact::ProcessUsage(ProcessUsage {
            id: known.id,
            cpu_wait: proc.read_cpu_wait_us(known.pid).map(Micros),
            memory_peak: memory.map(ByteCount),
        }));
    }

    /// Looks at all living processes of the run: new children, counters, and who has gone.
    /// `counters` also reads what each has used.
    pub fn scan_running(&self, counters: bool) {
        self.credentials.revert();
        let living: Vec<Arc<KnownProcess>> =
            self.by_id.read().iter().filter(|k| !k.ended.load(Relaxed)).cloned().collect();
        PROC.with_borrow_mut(|proc| {
            let told = self.told.load(Relaxed);
            // Orphans are the front's children now, as are two processes that serve the run.
            let orphans =
                if told { Ok(Vec::new()) } else { proc.read_children(self.front, self.front) };
            for orphan in orphans.unwrap_or_default() {
                let known = self.by_thread.read().contains_key(&orphan);
                if !known && !is_forebay_process(proc, orphan) {
                    self.discover_from_proc(proc, orphan);
                }
            }
            for known in &living {
                let alive = if counters {
                    let alive = self.read_counters(proc, known);
                    if alive {
                        self.read_usage(proc, known);
                    }
                    alive
                } else {
                    proc.read_stat(known.pid).is_ok_and(|stat| stat.started_us == known.started_us)
                };
                if !alive {
                    self.record_exit(known);
                    continue;
                }
                if told {
                    // One that has ended, and is not waited for, would be met once more.
                    continue;
                }
                for thread in proc.list_threads(known.pid).unwrap_or_default() {
                    for child in proc.read_children(known.pid, thread).unwrap_or_default() {
                        if !self.by_thread.read().contains_key(&child) {
                            self.discover_from_proc(proc, child);
                        }
                    }
                }
            }
        });
    }

    fn record_exit(&self, known: &KnownProcess) {
        // Closing the descriptor takes it out of the set.
        drop(known.pidfd.lock().take());
        if known.ended.swap(true, Relaxed) {
            return;
        }
        let at = self.recorder.clock().now();
        self.recorder.record_fact(Fact::ProcessEnded { id: known.id, at });
        self.by_thread.write().retain(|_, other| other.id != known.id);
    }

    /// Process and pid of everybody who was alive when last looked at.
    pub fn list_living(&self) -> Vec<(ProcessId, u32)> {
        let all = self.by_id.read();
        all.iter().filter(|k| !k.ended.load(Relaxed)).map(|k| (k.id, k.pid)).collect()
    }
}
