//! The recorder for everybody: system calls of the command and of what it starts wait, one moment
//! each, until this process has seen what they are about (seccomp user notification). It needs no
//! right, no `/dev/fuse` and no mount, and changes nothing: each call goes on as it was.
//!
//! Plain reads and writes do not wait, unless each is to be seen: positions of open files say what
//! they moved ([`sessions`]).

mod acts;
mod calls;
mod filter;
mod listener;
mod places;
mod rehearsal;
mod sessions;
mod stand_in;
mod supervisor;
mod targets;

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;

use forebay_os::clock::{Clock, MachineClock};
use forebay_os::proc::Proc;
use rustix::event::Timespec;

use crate::kernel_events::{Missed, Names, RecordedDirectory, Rows};
use crate::processes::ProcessTable;
use crate::recorder::Recorder;
pub(crate) use filter::install;
use listener::{Listener, Notification, Waited};
pub use rehearsal::{NotifyUnavailable, probe};
pub(crate) use stand_in::stand_in;
use supervisor::Supervisor;
pub(crate) use supervisor::Warn;

/// How long a wait for calls lasts at most.
const LOOK_EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
/// So many calls are received before they are looked at. The kernel walks past all of these for each call
/// that is received: with 10,000 processes that wait, it did nothing else.
const MOST_RECEIVED: usize = 256;
/// How often those are looked for who were killed.
const LOOK_FOR_KILLED_NANOS: u64 = 500_000_000;

/// Looks on at a run until its last process has ended.
#[derive(Debug)]
pub(crate) struct NotificationRecorder {
    thread: Option<JoinHandle<Missed>>,
}

/// What is to be looked at, and by which way.
pub(crate) struct Watched {
    pub(crate) directories: Vec<RecordedDirectory>,
    /// The process that becomes the command.
    pub(crate) command: u32,
    pub(crate) listener: OwnedFd,
    pub(crate) every_read: bool,
    /// Where the number of the last call is for whoever answers if this process dies.
    pub(crate) last_call: &'static AtomicU64,
    pub(crate) warn: Warn,
}

impl NotificationRecorder {
    /// Looks on from now on; `over` is called when the last process has ended.
    ///
    /// # Errors
    /// When a directory can't be looked at, or no thread be made.
    pub(crate) fn start(
        watched: Watched,
        recorder: Arc<Recorder>,
        processes: Arc<ProcessTable>,
        over: impl FnOnce() + Send + 'static,
    ) -> std::io::Result<NotificationRecorder> {
        let Watched { directories, command, listener, every_read, last_call, warn } = watched;
        let points =
            directories.iter().map(|each| each.point.as_os_str().as_bytes().to_vec()).collect();
        let roots: Vec<OwnedFd> = directories.into_iter().map(|each| each.root).collect();
        let own = roots.iter().map(OwnedFd::try_clone).collect::<Result<_, _>>()?;
        let now = MachineClock.elapsed_nanos();
        let mut rows = Rows::new(recorder, processes, Names::new(roots), points, now);
        let started = Proc::default().read_stat(command).map(|stat| stat.started_us);
        rows.meet_command(command, started.unwrap_or(0) * 1000);
        let supervisor = Supervisor::new(own, command, every_read, warn)?;
        let watch = Watch { listener: Listener::new(listener), supervisor, rows, last_call };
        let thread =
            std::thread::Builder::new().name("forebay-notify".into()).spawn(move || {
                let missed = watch.follow();
                over();
                missed
            })?;
        Ok(NotificationRecorder { thread: Some(thread) })
    }

    /// Waits for the end, and says what the record does not have.
    pub(crate) fn finish(&mut self) -> Missed {
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

struct Watch {
    listener: Listener,
    supervisor: Supervisor,
    rows: Rows,
    last_call: &'static AtomicU64,
}

impl Watch {
    fn follow(mut self) -> Missed {
        let mut looked = MachineClock.elapsed_nanos();
        let mut waiting = VecDeque::new();
        loop {
            match self.receive(&LOOK_EVERY) {
                Waited::Over => break,
                Waited::Nothing => {}
                Waited::Call(call) => waiting.push_back(call),
            }
            while let Some(call) = waiting.pop_front() {
                if catch_unwind(AssertUnwindSafe(|| self.take(&call))).is_err() {
                    waiting.push_front(call);
                    return self.answer_only(&waiting);
                }
                // Signals do not interrupt calls that were received: none is left long.
                while waiting.len() < MOST_RECEIVED
                    && let Waited::Call(call) = self.receive(&AT_ONCE)
                {
                    waiting.push_back(call);
                }
            }
            let now = MachineClock.elapsed_nanos();
            if now.saturating_sub(looked) > LOOK_FOR_KILLED_NANOS {
                looked = now;
                self.supervisor.forget_killed(now, false);
                self.supervisor.flush(&mut self.rows);
            }
        }
        self.supervisor.forget_killed(MachineClock.elapsed_nanos(), true);
        self.supervisor.flush(&mut self.rows);
        self.rows.close_all();
        self.missed()
    }

    fn receive(&self, patience: &Timespec) -> Waited {
        let waited = self.listener.wait(patience);
        if let Waited::Call(call) = &waited {
            self.last_call.store(call.id, Relaxed);
        }
        waited
    }

    fn take(&mut self, call: &Notification) {
        let listener = &self.listener;
        self.supervisor.take(call, &mut self.rows, || listener.let_continue(call.id));
    }

    fn missed(&self) -> Missed {
        let unseen = self.supervisor.unseen;
        Missed {
            events: unseen.unread + self.rows.orphans.load(Relaxed),
            rings: unseen.rings,
            foreign: unseen.foreign,
            strange: unseen.strange,
        }
    }

    /// A fault of ours is to stop no program: all go on unseen.
    fn answer_only(mut self, waiting: &VecDeque<Notification>) -> Missed {
        tracing::error!("the recorder has failed: the record ends here, and programs go on");
        for call in waiting {
            self.listener.let_continue(call.id);
        }
        stand_in(&self.listener, self.last_call.load(Relaxed));
        self.rows.close_all();
        let missed = self.missed();
        Missed { events: missed.events + 1, ..missed }
    }
}

/// Answers for a recorder that died.
pub(crate) fn answer_in_place(listener: OwnedFd, last: u64) {
    stand_in(&Listener::new(listener), last);
}
