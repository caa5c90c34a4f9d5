//! Takes each call that waits: first sees what became of the call before it, then what this one is
//! about, lets it go on, and then puts into the record what was seen. It answers nothing else than
//! "go on", so what is read here can't decide what a program does.

mod descriptors;
mod names;
mod opens;
mod programs;

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use forebay_os::clock::{Clock, MachineClock};
use forebay_os::proc::Proc;
use rustc_hash::{FxHashMap, FxHashSet};

use super::acts::Act;
use super::calls::{self, What};
use super::filter::NATIVE;
use super::listener::Notification;
use super::places::{FileFacts, Identity, Places};
use super::sessions::{Session, Table};
use super::targets::{Target, root_facts_of};
use crate::kernel_events::{Place, Rows, Usage};
use names::PendingNames;
use opens::PendingOpen;

/// Directories whose way was found, at most.
const MOST_WAYS: usize = 4096;

/// A directory of a recorded tree, held.
#[derive(Debug)]
struct Directory {
    open: OwnedFd,
    identity: Option<Identity>,
    /// After how many changes of directories' names this was found.
    epoch: u64,
    /// `None`: it is in no recorded directory.
    place: Option<Place>,
}

/// A directory's name, and the directory in which it begins; `None`: at our root.
type Way = (Option<Identity>, Vec<u8>);

/// Where a program's absolute names begin.
#[derive(Debug)]
enum Root {
    /// Where ours do.
    Ours,
    Other(OwnedFd),
    /// It may have become another.
    Unknown,
}

/// A process of the run.
#[derive(Debug)]
struct Process {
    started_us: u64,
    table: u64,
    /// The working directory, until it may be another.
    directory: Option<Arc<Directory>>,
    /// Each thread may have its own.
    directories_differ: bool,
    /// Calls under way that change it.
    changing_directory: u32,
    root: Root,
    exec: Option<programs::PendingExec>,
    comm: Vec<u8>,
    words: Vec<Vec<u8>>,
}

/// What a thread's last call was, of which the result shows at its next one.
#[derive(Debug)]
enum Unfinished {
    Open(PendingOpen),
    Names(PendingNames),
    /// A descriptor of this session has a duplicate of unknown number.
    Duplicate(u64),
    /// The working directory becomes another.
    Directory,
    /// What names lead to may become another.
    Root,
}

#[derive(Debug)]
struct Thread {
    process: u32,
    unfinished: Option<Unfinished>,
}

/// One descriptor that goes, and what is known of its file before.
#[derive(Debug, Clone, Copy)]
struct Closing {
    fd: i32,
    session: u64,
    position: Option<u64>,
    size: u64,
}

/// What a call changes, once it goes on.
#[derive(Debug)]
enum Effect {
    Close {
        process: u32,
        thread: u32,
        closing: Closing,
    },
    /// Nothing of ours stands there any more.
    Clear {
        table: u64,
        fd: i32,
    },
    /// The second descriptor is the same open file as the first.
    Hold {
        table: u64,
        fd: i32,
        session: u64,
    },
    Exec(u32, programs::PendingExec),
    Ended(u32, Option<Usage>),
    ThreadEnded(u32),
}

/// What is not in the record.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Unseen {
    /// Calls whose arguments could not be read.
    pub(super) unread: u64,
    pub(super) rings: u64,
    pub(super) foreign: u64,
    /// Descriptors of recorded files that came from elsewhere.
    pub(super) strange: u64,
}

/// A warning for the person who waits for the command.
pub(crate) type Warn = Box<dyn Fn(String) + Send>;

pub(super) struct Supervisor {
    calls: FxHashMap<i64, What>,
    every_read: bool,
    /// The first process; what it does before it executes the command is ours.
    command: u32,
    begun: bool,
    places: Places,
    ways: FxHashMap<Way, Option<Arc<Directory>>>,
    processes: FxHashMap<u32, Process>,
    threads: FxHashMap<u32, Thread>,
    /// Processes that are about to end, and their starts.
    ending: FxHashMap<u32, u64>,
    tables: FxHashMap<u64, Table>,
    sessions: FxHashMap<u64, Session>,
    /// Open files of each file that write it.
    writers: FxHashMap<Identity, u32>,
    next: u64,
    /// Directories in use, by the open file that they are.
    open_directories: FxHashMap<u64, Arc<Directory>>,
    /// What the descriptor is that the call under way is about, if that was looked at.
    looked_at: Option<(i32, FileFacts)>,
    /// How often directories may have got other names.
    epoch: u64,
    /// Number of our mount namespace, and our root.
    own_root: Option<(Vec<u8>, Identity)>,
    proc: Proc,
    /// What is certain.
    acts: Vec<Act>,
    /// What is so if the call under way is made, and what it changes.
    wanted: Vec<Act>,
    effects: Vec<Effect>,
    warn: Warn,
    warned: FxHashSet<Vec<u8>>,
    privileged: bool,
    pub(super) unseen: Unseen,
}

impl Supervisor {
    pub(super) fn new(
        roots: Vec<OwnedFd>,
        command: u32,
        every_read: bool,
        warn: Warn,
    ) -> rustix::io::Result<Supervisor> {
        let own_root = root_facts_of("self").map(|(number, facts)| (number, facts.identity));
        Ok(Supervisor {
            calls: calls::table().into_iter().map(|call| (call.number, call.what)).collect(),
            every_read,
            command,
            begun: false,
            places: Places::new(roots)?,
            ways: FxHashMap::default(),
            processes: FxHashMap::default(),
            threads: FxHashMap::default(),
            ending: FxHashMap::default(),
            tables: FxHashMap::default(),
            sessions: FxHashMap::default(),
            writers: FxHashMap::default(),
            next: 1,
            open_directories: FxHashMap::default(),
            looked_at: None,
            epoch: 0,
            own_root,
            proc: Proc::default(),
            acts: Vec::new(),
            wanted: Vec::new(),
            effects: Vec::new(),
            warn,
            warned: FxHashSet::default(),
            privileged: rustix::process::geteuid().is_root(),
            unseen: Unseen::default(),
        })
    }

    /// Takes one call; `let_continue` answers it, and says whether it is made.
    pub(super) fn take(
        &mut self,
        call: &Notification,
        rows: &mut Rows,
        let_continue: impl FnOnce() -> bool,
    ) {
        let now = MachineClock.elapsed_nanos();
        self.looked_at = None;
        let process = self.meet(call);
        if let Some(process) = process {
            self.finish(call, process, now);
        }
        let unseen = self.unseen;
        if let Some(process) = process {
            self.look_at(call, process, now);
        }
        let goes_on = let_continue();
        let mut wanted = std::mem::take(&mut self.wanted);
        let effects = std::mem::take(&mut self.effects);
        if goes_on {
            self.acts.append(&mut wanted);
            effects.into_iter().for_each(|effect| self.take_effect(effect, now));
        } else {
            // Killed, or it comes again after a signal was handled.
            self.unseen = unseen;
            self.drop_unfinished(call.thread);
        }
        self.flush(rows);
    }

    pub(super) fn flush(&mut self, rows: &mut Rows) {
        for act in self.acts.drain(..) {
            act.put_into(rows);
        }
    }

    /// What became of the thread's call before this one.
    fn finish(&mut self, call: &Notification, process: u32, now: u64) {
        self.finish_exec(call.thread, process, now);
        let Some(thread) = self.threads.get_mut(&call.thread) else { return };
        let Some(unfinished) = thread.unfinished.take() else { return };
        let hint = match self.calls.get(&i64::from(call.number)) {
            Some(
                What::Close
                | What::OnOpen(_)
                | What::MoveAt { .. }
                | What::Seek
                | What::Duplicate
                | What::DuplicateTo
                | What::Control
                | What::Move { .. },
            ) => Some(call.int(0)),
            Some(What::Map) => Some(call.int(4)),
            _ => None,
        };
        self.finish_call(call.thread, process, unfinished, hint);
    }

    fn finish_call(
        &mut self,
        thread: u32,
        process: u32,
        unfinished: Unfinished,
        hint: Option<i32>,
    ) {
        match unfinished {
            Unfinished::Open(open) => self.finish_open(thread, process, open, hint),
            Unfinished::Names(names) => self.finish_names(thread, process, names),
            Unfinished::Duplicate(session) => self.find_duplicate(thread, process, session),
            Unfinished::Directory => {
                if let Some(known) = self.processes.get_mut(&process) {
                    known.directory = None;
                    known.changing_directory = known.changing_directory.saturating_sub(1);
                }
            }
            Unfinished::Root => {
                self.forget_ways();
                if let Some(known) = self.processes.get_mut(&process) {
                    known.root = Root::Unknown;
                    known.directory = None;
                }
            }
        }
    }

    fn drop_unfinished(&mut self, thread: u32) {
        let Some(known) = self.threads.get_mut(&thread) else { return };
        let (process, unfinished) = (known.process, known.unfinished.take());
        match unfinished {
            Some(Unfinished::Open(_)) => self.count_opening(process, false),
            Some(Unfinished::Directory) => {
                if let Some(known) = self.processes.get_mut(&process) {
                    known.changing_directory = known.changing_directory.saturating_sub(1);
                }
            }
            _ => {}
        }
    }

    fn leave_unfinished(&mut self, thread: u32, unfinished: Unfinished) {
        let Some(known) = self.threads.get_mut(&thread) else { return };
        let process = known.process;
        let directory = matches!(unfinished, Unfinished::Directory);
        let opens = matches!(unfinished, Unfinished::Open(_));
        known.unfinished = Some(unfinished);
        if opens {
            self.count_opening(process, true);
        }
        if directory && let Some(known) = self.processes.get_mut(&process) {
            known.changing_directory += 1;
        }
    }

    fn count_opening(&mut self, process: u32, begins: bool) {
        let table = self.processes.get(&process).map(|known| known.table);
        if let Some(table) = table.and_then(|table| self.tables.get_mut(&table)) {
            let opening = if begins { table.opening + 1 } else { table.opening.saturating_sub(1) };
            table.opening = opening;
        }
    }

    fn forget_ways(&mut self) {
        self.epoch += 1;
        self.ways.clear();
        self.open_directories.clear();
        self.places.forget_all();
    }

    /// What this call is about.
    fn look_at(&mut self, call: &Notification, process: u32, now: u64) {
        if call.processor != NATIVE || call.number < 0 || call.number >= 1 << 30 {
            self.unseen.foreign += 1;
            return;
        }
        let Some(what) = self.calls.get(&i64::from(call.number)).copied() else { return };
        let thread = call.thread;
        match what {
            What::Open(name, flags) => self.look_at_open(call, process, name, flags, now),
            What::Close => self.look_at_close(call, process, call.int(0)),
            What::CloseRange => self.look_at_close_range(call, process),
            What::Duplicate => self.look_at_duplicate(call, process, call.int(0)),
            What::DuplicateTo => self.look_at_duplicate_to(call, process),
            What::Control => self.look_at_control(call, process, now),
            What::OnOpen(op) => self.look_at_use(call, process, call.int(0), op, now),
            What::OnName(op, name) => self.look_at_name(call, process, op, name, now),
            What::Unlink(name, flags) => self.look_at_unlink(call, process, name, flags, now),
            What::OnTwoNames(op, first, second, flags) => {
                self.look_at_two_names(call, process, op, [first, second], flags, now);
            }
            What::Move { writes } => self.look_at_move(call, process, writes, now),
            What::MoveAt { writes, pieces } => {
                self.look_at_move_at(call, process, writes, pieces, now);
            }
            What::CopyRange => self.look_at_copy(call, process, now),
            What::Send { from, from_at, to, to_at, length } => {
                let sides = [(from, from_at, false), (to, to_at, true)];
                self.look_at_send(call, process, sides, length, now);
            }
            What::Map => self.look_at_map(call, process, now),
            What::Seek => self.look_at_seek(call, process, now),
            What::Execute(name) => self.look_at_exec(call, process, name),
            What::ExitAll => self.look_at_exit(call, process),
            What::ExitThread => {
                let threads = self.proc.read_stat(process).map_or(1, |stat| stat.threads);
                match threads {
                    0 | 1 => self.look_at_exit(call, process),
                    _ => self.effects.push(Effect::ThreadEnded(thread)),
                }
            }
            What::ChangeDirectory => self.leave_unfinished(thread, Unfinished::Directory),
            What::ChangeRoot => {
                let differs = call.number == libc::SYS_unshare as i32;
                if let Some(known) = self.processes.get_mut(&process) {
                    known.directories_differ |= differs;
                }
                self.leave_unfinished(thread, Unfinished::Root);
            }
            What::Ring => self.unseen.rings += 1,
            What::Listen => {
                self.warn_once(
                    process,
                    "asks for seccomp notifications of its own, which the \
                    kernel refuses (EBUSY) under --recorder notify: use another recorder for it",
                );
            }
        }
    }

    fn take_effect(&mut self, effect: Effect, now: u64) {
        match effect {
            Effect::Close { process, thread, closing } => {
                self.close(process, thread, closing, now);
            }
            Effect::Clear { table, fd } => {
                if let Some(table) = self.tables.get_mut(&table) {
                    table.held.remove(&fd);
                }
            }
            Effect::Hold { table, fd, session } => self.hold(table, fd, session),
            Effect::Exec(process, exec) => {
                if let Some(known) = self.processes.get_mut(&process) {
                    known.exec = Some(exec);
                }
            }
            Effect::ThreadEnded(thread) => drop(self.threads.remove(&thread)),
            Effect::Ended(process, usage) => self.forget_process(process, true, usage),
        }
    }

    /// Tells a person about a process, once for each program.
    fn warn_once(&mut self, process: u32, what: &str) {
        let program = self.processes.get(&process).map(|known| known.comm.clone());
        let program = program.filter(|comm| !comm.is_empty());
        let program = program.or_else(|| self.proc.read_comm(process).ok()).unwrap_or_default();
        if self.warned.insert([&program[..], b"\0", what.as_bytes()].concat()) {
            (self.warn)(format!("{} {what}", String::from_utf8_lossy(&program)));
        }
    }

    fn target(call: &Notification) -> Target {
        Target(call.thread)
    }
}

impl std::fmt::Debug for Supervisor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Supervisor").field("unseen", &self.unseen).finish_non_exhaustive()
    }
}

impl Directory {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.open.as_fd()
    }
}
