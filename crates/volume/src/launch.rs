//! One covered run, from the front: three processes (the front that waits, the daemon that serves,
//! the command), their ends and their signals. It prints nothing; it tells what happened.
//!
//! ```text
//! shell ── front ──┬── command   private mounts; the caller's session, group, terminal
//!                  └── daemon    mounts of the caller; a session of its own; lives while used
//! ```

mod child;
mod lasting_mount;
mod launcher;
mod shared;
mod signals;
mod suspended;
mod unmount;
mod write_back_wait;

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use forebay_model::Header;
use forebay_model::run::note_key;
use rustix::process::Signal;

use crate::bucket;
use crate::daemon;
pub use crate::daemon::{CpuLatency, RecordingOptions, RunRecorder};
use crate::daemon_log;
pub use crate::fuse::{Transport, UringObstacle, check_uring};
use crate::ipc::WriteBackProgress;
use crate::ipc::{Channel, ToDaemon, ToLauncher, WriteBackReport};
use crate::kernel_events::KernelSide;
use crate::live;
use crate::notifications;
use crate::overmount;
use crate::rescue::RescuerHandle;
use crate::tiers::{CacheWarmReport, PlacementOptions, Tiers};
use forebay_os::forks::{block_signals, fork};
pub use lasting_mount::{LastingMount, MountOptions, UnmountReport, mount_volume};
pub use shared::LaunchError;
use shared::{bind_peers, make_socket_pair, open_tiers, prepare_whole_folders, system_failure};
pub use signals::HeldSignals;
pub use unmount::{
    UnmountManner, UnmountOutcome, lasting_mounts, resolve_mount_point, unmount_volume,
};

/// What to run, and how to record it.
#[derive(Debug)]
pub struct LaunchOptions {
    /// The command and its words.
    pub command: Vec<OsString>,
    /// Variables of its environment that are not ours.
    pub variables: Vec<(OsString, OsString)>,
    /// Where it is started, absolute.
    pub directory: PathBuf,
    /// The trees to cover.
    pub cover: Vec<PathBuf>,
    /// Let no read or write bypass the daemon.
    pub every_read: bool,
    /// What is to look on.
    pub recorder: RecorderChoice,
    /// Told what looks on, and why, where that was for Forebay to choose.
    pub chosen: fn(RunRecorder, &str),
    /// How fast CPUs wake up meanwhile.
    pub cpu_latency: CpuLatency,
    /// The way on which requests come to a mount.
    pub transport: Transport,
    /// Nodes with which the bytes of attached buckets are shared.
    pub peers: Option<bucket::PeerOptions>,
    /// How buckets are reached that are attached to them.
    pub ways: bucket::BucketAccess,
    /// Where files go; `None`: all stay in place.
    pub placement: Option<PlacementOptions>,
    /// Told what was copied to tiers before the command starts.
    pub warmed: fn(&CacheWarmReport),
    /// Told how far files have come on their way home.
    pub underway: fn(&WriteBackProgress),
    /// Told of the first program that sends work to other machines, where rules place files that
    /// are not found there.
    pub sent_away: fn(&str),
    /// Told what a person should know while the command runs.
    pub warned: fn(&str),
    /// What the run file says of the start.
    pub header: Header,
    /// Where the run file is written while the run lasts; a local directory.
    pub state: PathBuf,
    /// Where it goes at the end.
    pub output: PathBuf,
    /// What the daemon says meanwhile, and where.
    pub log: daemon_log::LogOptions,
}

/// What looks on at a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecorderChoice {
    /// This one, or the run is refused.
    Only(RunRecorder),
    /// The kernel, else notifications, where these work and nothing needs a mount.
    Automatic,
    /// The kernel where that works and nothing needs a mount, else a mount: both see each read and
    /// how long it took.
    EachReadTimed,
}

/// Who is told what the daemon says while the command runs.
#[derive(Debug, Clone, Copy)]
struct Hears {
    sent_away: Option<fn(&str)>,
    warned: fn(&str),
}

impl Hears {
    /// Tells it, if it is for people at once; whether it is.
    fn tell_now(self, word: &ToLauncher) -> bool {
        match word {
            ToLauncher::SentAway { program } => drop(self.sent_away.map(|tell| tell(program))),
            ToLauncher::Warning { text } => (self.warned)(text),
            _ => return false,
        }
        true
    }
}

/// How the command's side ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// By itself.
    Code(i32),
    /// By a signal.
    Signal(i32),
}

/// How a run ended.
#[derive(Debug)]
pub struct RunOutcome {
    /// What looked on.
    pub recorder: RunRecorder,
    /// The command's own end.
    pub exit: Exit,
    /// Where the run file is; `None` when it could not be written.
    pub run: Option<PathBuf>,
    /// Processes of the run live on, these as far as known; the daemon serves them until they end.
    pub lingering: Option<Vec<u32>>,
    /// Things that a person should know.
    pub warnings: Vec<String>,
    /// The daemon was gone before the command: programs got I/O errors.
    pub daemon_lost: bool,
    /// What became of the files on other tiers, one entry for each covered directory that had some.
    pub homecomings: Vec<WriteBackReport>,
    /// Somebody did not want to wait until files were at home: how far they were, and the process
    /// that goes on.
    pub left: Option<(WriteBackProgress, u32)>,
    /// Signals are held back until the caller has done what must not be cut short.
    pub signals: HeldSignals,
}

/// Runs a command with its directories covered, and waits for it.
///
/// This process must have one thread: it forks.
///
/// # Errors
/// When the command was not started; nothing is left behind then.
pub fn run_command(launch: LaunchOptions) -> Result<RunOutcome, LaunchError> {
    let program = child::Program::new(&launch.command, &launch.variables).map_err(|_| {
        system_failure("reading the command")(io::Error::other("a word holds a NUL byte"))
    })?;
    daemon_log::start_buffering(&launch.log.levels);
    let (rescue, rescuer) =
        RescuerHandle::start().map_err(system_failure("starting the daemon's rescuer"))?;
    let peers = bind_peers(launch.peers.clone())?;
    let mut plan =
        overmount::plan_mounts(&launch.cover, &launch.ways).map_err(LaunchError::Refused)?;
    let tiers =
        open_tiers(&plan, launch.placement.as_ref(), launch.warmed).map_err(LaunchError::Tier)?;
    let (recorder, kernel) = choose_recorder(&launch, &plan, &tiers)?;
    if recorder == RunRecorder::Mount {
        // Before the fork, so that the message comes from the place that failed.
        drop(
            crate::fuse::open_device()
                .map_err(|e| LaunchError::Closed("opening /dev/fuse".into(), e))?,
        );
        forebay_os::credentials::check_capabilities()
            .map_err(system_failure("acting as other users"))?;
    }
    let mut missing: Vec<String> =
        tiers.iter().flatten().flat_map(|tiers| tiers.warnings()).collect();
    let refused = prepare_whole_folders(&mut plan, &tiers, launch.placement.as_ref());
    missing.extend(refused.map_err(LaunchError::Tier)?);
    let mut header = launch.header;
    header.more.push(note_key::RECORDER.to_note(&recorder.name().to_owned()));
    if !plan.folders.is_empty() {
        header.more.push(note_key::WHOLE_FOLDERS.to_note(&(plan.folders.len() as u64)));
    }
    let (mounts_out, mounts_in) = make_socket_pair()?;
    let (front_side, daemon_side) = make_socket_pair()?;
    let signals = block_signals();
    let front = rustix::process::getpid();

    // SAFETY: this process has one thread, so the child may do anything.
    let daemon = match unsafe { fork() }.map_err(system_failure("starting the daemon"))? {
        None => {
            drop((mounts_out, front_side));
            daemon::main(daemon::DaemonSetup {
                volume: plan.targets[0].path.clone(),
                kind: live::DaemonKind::Run,
                log: launch.log,
                plan,
                tiers,
                every_read: launch.every_read,
                recorder,
                kernel,
                cpu_latency: launch.cpu_latency,
                transport: launch.transport,
                record: Some(daemon::RecordingOptions {
                    header,
                    state: launch.state,
                    output: launch.output,
                }),
                role: daemon::DaemonRole::Run { front: front.as_raw_nonzero().get() as u32 },
                emulated: None,
                bucket: None,
                shared: None,
                peers,
                mounts: mounts_in,
                control: Channel::new(daemon_side),
                foreign: launcher::redirected_output_files(),
                rescue,
            })
        }
        Some(pid) => pid,
    };
    drop((mounts_in, daemon_side, peers, kernel));
    let (news_in, news_out) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
        .map_err(system_failure("making a pipe"))?;
    // SAFETY: as above.
    let command = match unsafe { fork() }.map_err(system_failure("starting the command"))? {
        None => {
            drop(news_in);
            let daemon = child::DaemonLinks { mounts: mounts_out, rescue, log: launch.log };
            let way = match recorder {
                RunRecorder::Mount => child::Way::Through(&plan),
                RunRecorder::Kernel => child::Way::Bare,
                RunRecorder::Notify => child::Way::Watched { every_read: launch.every_read },
            };
            child::exec_command(way, &launch.directory, &program, daemon, news_out, &signals, front)
        }
        Some(pid) => pid,
    };
    // The daemon has the volumes now; it must be able to have them for itself alone.
    let names: Vec<_> = tiers.into_iter().flatten().filter_map(Tiers::into_names).collect();
    drop((mounts_out, news_out, plan, rescue));
    let control = Channel::new(front_side);
    let front = launcher::Launcher { daemon, rescuer, command, control, signals };
    if let Some(failure) = child::await_exec(news_in, &launch.command) {
        return Err(front.abandon_start(failure));
    }
    // A million names take a while to let go, so the command did not wait for it; and they are not
    // ours to keep while it runs.
    if !names.is_empty() {
        drop(names);
        forebay_os::heap::return_free_memory();
    }
    let bound_here = launch.placement.as_ref().is_some_and(PlacementOptions::binds_to_this_machine);
    let sent_away = bound_here.then_some(launch.sent_away);
    let hears = Hears { sent_away, warned: launch.warned };
    let mut outcome = front.watch_command(launch.underway, hears);
    outcome.recorder = recorder;
    outcome.warnings.extend(missing);
    Ok(outcome)
}

/// What looks on, with its programs where these had to be loaded to know, and why a wish can't be met.
fn choose_recorder(
    launch: &LaunchOptions,
    plan: &overmount::OvermountPlan,
    tiers: &[Option<Tiers>],
) -> Result<(RunRecorder, Option<KernelSide>), LaunchError> {
    let needs_mount = if launch.placement.is_some() || tiers.iter().any(Option::is_some) {
        Some("files go to tiers, or lie on them")
    } else if plan.targets.iter().any(|target| target.attached.is_some()) {
        Some("something is attached to the directory")
    } else {
        None
    };
    let told = |recorder, why: &str| {
        (launch.chosen)(recorder, why);
        Ok((recorder, None))
    };
    let refused = |recorder: RunRecorder, why: String| {
        Err(LaunchError::NoRecorder { recorder: recorder.name(), why })
    };
    match (launch.recorder, needs_mount) {
        (RecorderChoice::Only(RunRecorder::Mount), _) => Ok((RunRecorder::Mount, None)),
        (RecorderChoice::Only(recorder), Some(why)) => refused(recorder, why.to_owned()),
        (RecorderChoice::Only(RunRecorder::Kernel), None) => Ok((RunRecorder::Kernel, None)),
        (RecorderChoice::Only(RunRecorder::Notify), None) => match notifications::probe() {
            Ok(()) => Ok((RunRecorder::Notify, None)),
            Err(why) => refused(RunRecorder::Notify, why.to_string()),
        },
        (_, Some(why)) => told(RunRecorder::Mount, why),
        (RecorderChoice::Automatic | RecorderChoice::EachReadTimed, None) => {
            let no_kernel = match KernelSide::load() {
                Ok(kernel) => {
                    (launch.chosen)(RunRecorder::Kernel, "the kernel allows it");
                    return Ok((RunRecorder::Kernel, Some(kernel)));
                }
                Err(why) => format!("not bpf: {why}"),
            };
            if launch.recorder == RecorderChoice::EachReadTimed {
                return told(RunRecorder::Mount, &no_kernel);
            }
            match notifications::probe() {
                Ok(()) => told(RunRecorder::Notify, &no_kernel),
                Err(why) => told(RunRecorder::Mount, &format!("{no_kernel}; not notify: {why}")),
            }
        }
    }
}

/// Ends this process as the command ended, so that a shell sees no difference.
pub fn exit_like(exit: Exit) -> ! {
    if let Exit::Signal(signal) = exit {
        if let Some(signal) = Signal::from_named_raw(signal) {
            signals::die_by_signal(signal);
        }
        std::process::exit(128 + signal);
    }
    let Exit::Code(code) = exit else { unreachable!("signals ended above") };
    std::process::exit(code);
}
