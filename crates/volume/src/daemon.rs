//! The daemon of a run: serves the covered directories as long as anybody uses them, and writes
//! the run file. It has no terminal and no caller; what it has to say, the front says.

mod lasting_service;
mod run_recording;
mod served_mounts;
mod unmounted_run;
mod unused_mount_copies;
mod write_back_record;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Weak};
use std::time::Duration;

use forebay_model::{CommandExit, Header, Micros, RunEnd};
use parking_lot::Mutex;

use crate::backend::Backend;
use crate::bucket::{PeerGroup, PeerSetup, PreparedVolume};
use crate::daemon_log::{self, LogOwner};
use crate::fuse::{EmulatedStorage, Session, Transport};
use crate::ipc::WriteBackProgress;
use crate::ipc::{BucketWaiting, UploadReport};
use crate::ipc::{Channel, ToDaemon, ToLauncher, WriteBackReport};
use crate::kernel_events::KernelSide;
use crate::live;
use crate::native::{NativeSettings, ROOT};
use crate::notifications::Warn;
use crate::overmount::{MountAccess, OvermountPlan};
use crate::processes::ProcessTable;
use crate::recorder::Recorder;
use crate::rescue::RescuerHandle;
use crate::shared_volume::{PreparedShared, SharedMount};
use crate::tiers::{ProgressReporter, Tiers, WriteBackScope, write_back_files};
use crate::warm::{WARM, WarmSource, WarmTree, WarmTrees, WarmVerb, open_warm_socket};
use forebay_os::clock::{Clock, SystemClock};
use forebay_os::descriptor_path::current_path_below;
use forebay_os::fast_wake::FastWake;
use run_recording::RecordingThread;
use rustix::process::{Pid, Signal, kill_process};
use served_mounts::MountContext;
use unmounted_run::{BareWay, UnmountedRun};

/// How long the end of a run waits for the mounts to go before others are said to linger.
const GRACE: Duration = Duration::from_millis(70);
/// How often it is looked again where no process is known that would keep the mount: on a busy
/// machine the kernel takes its time.
const LOOKS: u32 = 20;
/// How long the daemon waits for the command's status after the last user is gone.
const LAST_WORD: Duration = Duration::from_secs(5);

/// What the daemon is given.
#[derive(Debug)]
pub(crate) struct DaemonSetup {
    pub(crate) plan: OvermountPlan,
    /// For each target, if files of it lie, or may come to lie, on other tiers.
    pub(crate) tiers: Vec<Option<Tiers>>,
    pub(crate) every_read: bool,
    /// What looks on.
    pub(crate) recorder: RunRecorder,
    /// Its programs, if they are loaded already.
    pub(crate) kernel: Option<KernelSide>,
    /// How fast CPUs wake up meanwhile.
    pub(crate) cpu_latency: CpuLatency,
    /// The way on which requests come.
    pub(crate) transport: Transport,
    /// `None`: nobody asked for a record.
    pub(crate) record: Option<RecordingOptions>,
    pub(crate) role: DaemonRole,
    /// The storage to emulate.
    pub(crate) emulated: Option<EmulatedStorage>,
    /// The volume in a bucket that the first target stands for.
    pub(crate) bucket: Option<PreparedVolume>,
    /// The volume that several nodes write for which it stands.
    pub(crate) shared: Option<PreparedShared>,
    /// Nodes with which the bytes of buckets are shared.
    pub(crate) peers: Option<PeerSetup>,
    pub(crate) mounts: OwnedFd,
    pub(crate) control: Channel,
    pub(crate) foreign: Vec<(u64, u64)>,
    /// What is served, for people, and in which way.
    pub(crate) volume: PathBuf,
    pub(crate) kind: live::DaemonKind,
    pub(crate) log: daemon_log::LogOptions,
    /// Who frees programs if this process dies.
    pub(crate) rescue: RescuerHandle,
}

/// How long CPUs may take to wake up while many requests come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CpuLatency {
    /// As short as it is useful, where this process may say so ([`forebay_os::fast_wake`]).
    Low,
    /// As the system has it.
    System,
}

/// What sees the files of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunRecorder {
    /// A file system of ours before the directories, which rules need.
    Mount,
    /// Programs in the kernel ([`crate::kernel_events`]); the directories stay bare.
    Kernel,
    /// Calls that wait a moment ([`crate::notifications`]); the directories stay bare.
    Notify,
}

impl RunRecorder {
    /// As people choose it, and as the run file has it.
    pub const fn name(self) -> &'static str {
        match self {
            RunRecorder::Mount => "fuse",
            RunRecorder::Kernel => "bpf",
            RunRecorder::Notify => "notify",
        }
    }
}

/// The run file, while it is written and afterwards.
#[derive(Debug)]
pub struct RecordingOptions {
    /// What it says of the start.
    pub header: Header,
    /// Where it is written; a local directory.
    pub state: PathBuf,
    /// Where it goes at the end.
    pub output: PathBuf,
}

/// What the daemon serves.
#[derive(Debug, Clone, Copy)]
pub(crate) enum DaemonRole {
    /// A command, and what it starts, below this process.
    Run { front: u32 },
    /// Everybody on the machine who may, until somebody unmounts.
    Lasting { access: MountAccess },
}

enum Event {
    Said(ToDaemon),
    FrontGone,
    MountGone,
    /// Somebody waits for the end of a lasting mount.
    Waits(Channel),
    /// Somebody wants it to end, and does not wait.
    Asked,
}

/// Serves until nobody is left, then ends this process.
pub(crate) fn main(parts: DaemonSetup) -> ! {
    let stderr = parts.log.to_stderr.then(duplicate_stderr).flatten();
    detach_from_caller();
    forebay_os::heap::limit_heap_retention();
    daemon_log::start_logging(parts.log.clone(), &describe_daemon(&parts), stderr);
    let code = match serve_volumes(parts) {
        Ok(()) => 0,
        Err(error) => {
            tracing::error!("{error}");
            // The front was told.
            daemon_log::close(true);
            1
        }
    };
    std::process::exit(code)
}

/// Standard error, for whoever holds this daemon in the foreground.
fn duplicate_stderr() -> Option<OwnedFd> {
    rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stderr(), 3).ok()
}

/// Whose log it is.
fn describe_daemon(parts: &DaemonSetup) -> LogOwner {
    let shown = |path: &PathBuf| path.to_string_lossy().into_owned();
    LogOwner {
        format: daemon_log::FORMAT,
        pid: std::process::id(),
        started_unix: rustix::time::clock_gettime(rustix::time::ClockId::Realtime).tv_sec,
        lasting: matches!(parts.role, DaemonRole::Lasting { .. }),
        volume: shown(&parts.volume),
        points: parts.plan.targets.iter().map(|target| shown(&target.point)).collect(),
    }
}

/// Leaves the caller's session, terminal and pipes, and takes all descriptors there are.
fn detach_from_caller() {
    // It may lead a session already.
    let _ = rustix::process::setsid();
    if let Ok(null) = std::fs::File::options().read(true).write(true).open("/dev/null") {
        // Standard streams of the caller's stay then, to which nothing is written.
        let _ = rustix::stdio::dup2_stdin(&null);
        let _ = rustix::stdio::dup2_stdout(&null);
        let _ = rustix::stdio::dup2_stderr(&null);
    }
    // It ends when its users end; SIGKILL alone comes earlier. All signals are held back already.
    forebay_os::descriptors::raise_open_file_limit();
    // Not below a covered directory: its own working directory must keep no file system busy.
    let _ = rustix::process::chdir("/");
}

/// What keeps CPUs awake while many requests come, where that is wanted and may be.
fn start_fast_wake(wanted: CpuLatency) -> Option<Arc<FastWake>> {
    if wanted == CpuLatency::System {
        return None;
    }
    let started = FastWake::start();
    started.inspect_err(|error| tracing::debug!("CPUs sleep as deeply as they do: {error}")).ok()
}

fn serve_volumes(parts: DaemonSetup) -> io::Result<()> {
    let DaemonSetup {
        plan,
        tiers,
        every_read,
        recorder: wanted,
        kernel,
        record,
        role,
        emulated,
        bucket,
        shared: shared_volume,
        peers,
        volume,
        kind,
        transport,
        ..
    } = parts;
    let is_bare = wanted != RunRecorder::Mount;
    let (mounts, control, foreign) = (parts.mounts, parts.control, parts.foreign);
    let fast_wake = start_fast_wake(parts.cpu_latency);
    let guarded = parts.rescue.guard_main_thread();
    let give_up = |why: String| {
        control.send_message(&ToLauncher::Failed { why: why.clone() });
        Err(io::Error::other(why))
    };
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let boot = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let start_us = boot.tv_sec as u64 * 1_000_000 + boot.tv_nsec as u64 / 1000;
    let recorder = Arc::new(match record {
        Some(_) => Recorder::new(clock),
        None => Recorder::new_silent(clock),
    });
    let (front, command) = match (role, &record) {
        (DaemonRole::Run { front }, Some(record)) => (front, record.header.command.clone()),
        _ => (0, Vec::new()),
    };
    let words = command.clone();
    let processes = Arc::new(ProcessTable::new(Arc::clone(&recorder), start_us, front, words));
    processes.start_threads()?;
    if matches!(role, DaemonRole::Run { .. }) {
        processes.notify_on_batch_submit(control.duplicate()?);
    }
    let urls = bucket_urls(&plan, bucket.as_ref().map(|_| volume.as_path()));
    let points: Vec<PathBuf> = plan.targets.iter().map(|target| target.point.clone()).collect();
    let keeper = record.map(|RecordingOptions { header, state, output }| {
        RecordingThread::start_recording(&state, output, header, Arc::clone(&recorder))
    });
    let mut keeper = match keeper.transpose() {
        Ok(keeper) => keeper,
        Err(error) => return give_up(error.to_string()),
    };

    let warm_trees = Arc::<WarmTrees>::default();
    let begin = |setup| {
        let warm = WarmVerb { trees: Arc::clone(&warm_trees) };
        PeerGroup::start(setup, vec![(WARM, Arc::new(warm))])
    };
    let peers = match peers.map(begin).transpose() {
        Ok(peers) => peers,
        Err(error) => {
            keeper.iter_mut().for_each(RecordingThread::abandon_record);
            return give_up(format!("peers can't be reached: {error}"));
        }
    };
    let (events, inbox) = channel();
    let (shared, one_user) =
        (rustix::process::geteuid().is_root(), matches!(role, DaemonRole::Run { .. }));
    let settings = NativeSettings { every_read, shared, one_user, foreign };
    let volumes: Vec<ManagedDirectory> = plan
        .targets
        .iter()
        .zip(tiers)
        .map(|(target, tiers)| (target.path.clone(), tiers.map(Tiers::start)))
        .collect();
    let only_for = match role {
        DaemonRole::Lasting { access: MountAccess::Root } => {
            Some(rustix::process::geteuid().as_raw())
        }
        _ => None,
    };
    let bucket = Mutex::new(bucket);
    let house = MountContext {
        settings,
        only_for,
        emulated,
        fast_wake,
        transport,
        bucket,
        shared_volume: Mutex::new(shared_volume),
        warm_trees: Arc::clone(&warm_trees),
        peers,
        volumes,
        recorder,
        processes,
    };
    if matches!(role, DaemonRole::Lasting { .. }) {
        // From here on nothing of ours is reached by a path: the mounts may be made.
        let _ = rustix::io::write(&mounts, &[0]);
    }
    let began = if is_bare {
        let way = match (wanted, role) {
            (RunRecorder::Notify, DaemonRole::Run { front }) => BareWay::Notify {
                every_read,
                last_call: parts.rescue.last_call(),
                warn: warn_launcher(control.duplicate()?, front),
            },
            _ => BareWay::Kernel(kernel),
        };
        let looking = unmounted_run::start(plan, &mounts, &house, &events, way);
        looking.map(|looking| ((Vec::new(), None), Some(looking)))
    } else {
        let served = house.serve_mounts(plan, &mounts, &events);
        served
            .map(|sessions| (sessions, None))
            .map_err(|error| format!("the managed directories can't be served: {error}"))
    };
    let ((sessions, shared_mount), unmounted) = match began {
        Ok(began) => began,
        Err(why) => {
            house.volumes.iter().filter_map(|(_, tiers)| tiers.as_ref()).for_each(|t| t.close());
            keeper.iter_mut().for_each(RecordingThread::abandon_record);
            return give_up(why);
        }
    };
    let (stop_sampling, stopped) = channel();
    let passthrough = !every_read && !is_bare && house.settings.shared && house.emulated.is_none();
    let MountContext { volumes, recorder, processes, peers, .. } = house;
    let looks = live::StatusSources {
        lasting: matches!(role, DaemonRole::Lasting { .. }),
        kind,
        volume,
        passthrough,
        command,
        points: points.clone(),
        recorder: Arc::clone(&recorder),
        processes: Arc::downgrade(&processes),
        sessions: sessions.iter().map(Arc::downgrade).collect(),
        tiers: volumes.iter().filter_map(|(_, tiers)| tiers.as_ref().map(Arc::downgrade)).collect(),
        peers: peers.clone().or(shared_mount.as_ref().map(|mount| Arc::clone(mount.peers()))),
        shared: shared_mount.as_ref().map(Arc::downgrade),
    };
    let all_peers = looks.peers.clone();
    let door = live::open_live_socket(looks).inspect_err(|error| {
        tracing::warn!("`forebay top` can't look: {error}");
    });
    let shown = points.iter().zip(urls).zip(&sessions);
    warm_trees.serve(shown.map(|((point, url), session)| WarmTree {
        point: point.clone(),
        url,
        source: Arc::downgrade(session) as Weak<dyn WarmSource>,
    }));
    warm_trees.serve(shared_mount.iter().map(|mount| WarmTree {
        point: points[0].clone(),
        url: Some(mount.name().to_owned()),
        source: Arc::downgrade(mount) as Weak<dyn WarmSource>,
    }));
    if let Err(error) = open_warm_socket(warm_trees, all_peers) {
        tracing::warn!("`forebay warm` can't ask: {error}");
    }
    // The command may start: it finds its own run, if it asks. Where the front is gone, nobody hears.
    let _ = rustix::io::write(&mounts, &[1]);
    drop(mounts);
    let sampler = std::thread::Builder::new().name("forebay-sample".into()).spawn({
        let (recorder, processes) = (Arc::clone(&recorder), Arc::clone(&processes));
        let points = points.clone();
        move || {
            if !recorder.is_silent() {
                crate::sampler::sample_until_stopped(&recorder, &processes, &points, &stopped);
            }
        }
    });
    listen_to_launcher(&control, events.clone())?;
    let mut run = DaemonState {
        recorder,
        processes,
        keeper,
        control,
        sessions,
        shared_mount,
        unmounted,
        volumes,
        peers,
        door: door.ok(),
        ended: None,
        not_run: false,
        waiting: Vec::new(),
    };
    let stop_sampling = || {
        drop(stop_sampling);
        if let Ok(sampler) = sampler {
            let _ = sampler.join();
        }
    };
    match role {
        DaemonRole::Run { .. } => run.follow_run(&inbox, stop_sampling),
        DaemonRole::Lasting { .. } => run.follow_mount(&inbox, events, points, stop_sampling),
    }
    guarded.finish_cleanly();
    Ok(())
}

/// Tells the front something, which it says at once.
fn warn_launcher(control: Channel, front: u32) -> Warn {
    Box::new(move |text| {
        tracing::warn!("{text}");
        control.try_send_message(&ToLauncher::Warning { text });
        // It waits for signals; this one means nothing to whoever else might get it.
        let front = i32::try_from(front).ok().and_then(Pid::from_raw);
        // It may be gone: then nobody has to be told.
        let _ = front.map(|front| kill_process(front, Signal::URG));
    })
}

/// What each target shows of a bucket; the first one may be a volume that has this URL.
fn bucket_urls(plan: &OvermountPlan, volume: Option<&Path>) -> Vec<Option<String>> {
    let lent = plan.targets.iter().map(|target| target.lent.as_ref().map(|lent| lent.url()));
    let mut urls: Vec<Option<String>> = lent.map(|url| url.map(str::to_owned)).collect();
    if let (Some(first), Some(volume)) = (urls.first_mut(), volume) {
        *first = Some(volume.to_string_lossy().into_owned());
    }
    urls
}

/// A covered directory, and its tiers.
type ManagedDirectory = (PathBuf, Option<Arc<Tiers>>);

/// Turns what the front says into events.
fn listen_to_launcher(control: &Channel, events: Sender<Event>) -> io::Result<()> {
    let control = control.duplicate()?;
    std::thread::Builder::new().name("forebay-listen".into()).spawn(move || {
        while let Some(said) = control.receive_message() {
            let _ = events.send(Event::Said(said));
        }
        let _ = events.send(Event::FrontGone);
    })?;
    Ok(())
}

struct DaemonState {
    recorder: Arc<Recorder>,
    processes: Arc<ProcessTable>,
    keeper: Option<RecordingThread>,
    control: Channel,
    sessions: Vec<Arc<Session>>,
    /// A volume that several nodes write.
    shared_mount: Option<Arc<SharedMount>>,
    /// What looks on in place of sessions.
    unmounted: Option<UnmountedRun>,
    volumes: Vec<ManagedDirectory>,
    /// Nodes with which bytes of buckets were shared.
    peers: Option<Arc<PeerGroup>>,
    /// Where others look at it; `None`: nobody can.
    door: Option<live::LiveSocket>,
    ended: Option<RunEnd>,
    not_run: bool,
    /// Who waits for the end of a lasting mount.
    waiting: Vec<Channel>,
}

impl DaemonState {
    /// Follows the run to its end.
    fn follow_run(&mut self, inbox: &Receiver<Event>, stop_sampling: impl FnOnce()) {
        let mut mounts = self.sessions.len() + usize::from(self.unmounted.is_some());
        let (mut deadline, mut looks) = (None, LOOKS);
        while mounts > 0 {
            let event = match deadline {
                Some(wait) => inbox.recv_timeout(wait),
                None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match event {
                Ok(Event::Said(said)) => {
                    if self.handle_message(said) {
                        deadline = Some(GRACE);
                    }
                }
                Ok(Event::FrontGone | Event::Waits(_) | Event::Asked) => deadline = None,
                Ok(Event::MountGone) => mounts -= 1,
                Err(RecvTimeoutError::Timeout) => {
                    self.processes.scan_running(true);
                    let is_kept = !self.processes.list_living().is_empty();
                    looks = if is_kept { 0 } else { looks.saturating_sub(1) };
                    deadline = (looks > 0).then_some(GRACE);
                    if deadline.is_none() {
                        self.continue_without_launcher();
                    }
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        while self.ended.is_none() && !self.not_run {
            match inbox.recv_timeout(LAST_WORD) {
                Ok(Event::Said(said)) => drop(self.handle_message(said)),
                Ok(Event::MountGone | Event::Waits(_) | Event::Asked) => {}
                Ok(Event::FrontGone) | Err(_) => break,
            }
        }
        let told = self.close_run(stop_sampling);
        if let Some(over) = told {
            self.control.send_message(&over);
        }
    }

    /// Nobody is left: ends the record, and brings files home from their tiers. `None` when
    /// nothing was run.
    fn close_run(&mut self, stop_sampling: impl FnOnce()) -> Option<ToLauncher> {
        stop_sampling();
        if self.not_run {
            self.volumes.iter().filter_map(|(_, tiers)| tiers.as_ref()).for_each(|t| t.close());
            self.keeper.iter_mut().for_each(RecordingThread::abandon_record);
            daemon_log::close(true);
            return None;
        }
        self.sessions.iter().for_each(|session| session.close_records());
        let missed = self.unmounted.as_mut().map(UnmountedRun::finish).unwrap_or_default();
        // Nobody is left who could see a file between its tier and its home.
        let began = self.recorder.clock().now();
        let tiers = self.volumes.iter().filter_map(|(_, tiers)| tiers.as_ref());
        let drained = tiers
            .map(|tiers| tiers.written_back_counts())
            .fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        let homecomings = self.write_back_all();
        let took = self.recorder.clock().now().since(began);
        let mut notes = write_back_record::write_back_notes(&homecomings, drained, took);
        notes.extend(self.recorder.request_latency_note());
        notes.extend(missed.notes());
        let shared = self.shared_mount.as_ref().map(|mount| {
            mount.finish(&|underway| {
                let word = ToLauncher::WriteBackProgress(*underway);
                std::iter::once(&self.control)
                    .chain(&self.waiting)
                    .for_each(|who| who.try_send_message(&word));
            })
        });
        let (left, shared) = shared.unzip();
        let shipped = self.finish_upload().or(shared);
        let ended = self.end_of_run(missed.events == 0);
        self.follow_renamed_output();
        let kept = self.keeper.as_mut().map(|keeper| keeper.finish_record(ended, &notes));
        let (run, mut warnings) = kept.unwrap_or_default();
        warnings.extend(self.backends().flat_map(Backend::finish_serving));
        warnings.extend(self.peers.iter().flat_map(|peers| peers.finish()));
        warnings.extend(left.into_iter().flatten());
        self.volumes.iter().filter_map(|(_, tiers)| tiers.as_ref()).for_each(|t| t.unlock_volume());
        let errors = daemon_log::take_errors();
        write_back_record::log_left_files(&homecomings, shipped.as_ref());
        warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
        warnings.extend(errors);
        warnings.extend(daemon_log::close(false));
        // Who hears that it is over finds it nowhere.
        self.door.take().into_iter().for_each(live::LiveSocket::close);
        Some(over_message(run, None, warnings, homecomings, shipped))
    }

    /// Directories may have been renamed since: what is written into one goes along.
    fn follow_renamed_output(&mut self) {
        let Some(keeper) = &mut self.keeper else { return };
        for (root, then) in self.unmounted.iter().flat_map(UnmountedRun::directories) {
            if let Some(now) = current_path_below(keeper.output(), root.as_fd(), then) {
                return keeper.set_output(now);
            }
        }
        for (session, (then, _)) in self.sessions.iter().zip(&self.volumes) {
            if let Ok(root) = session.native().dir_fd(ROOT)
                && let Some(now) = current_path_below(keeper.output(), root.as_fd(), then)
            {
                return keeper.set_output(now);
            }
        }
    }

    /// Takes in what the front says; true when the command has ended.
    fn handle_message(&mut self, said: ToDaemon) -> bool {
        match said {
            ToDaemon::NotRun => {
                self.not_run = true;
                false
            }
            ToDaemon::Began { command } => {
                self.processes.identify_thread(command);
                false
            }
            ToDaemon::Ended { code, signal, user_us, system_us } => {
                self.ended = Some(RunEnd {
                    at: self.recorder.clock().now(),
                    exit: code.map(CommandExit::Code).or(signal.map(CommandExit::Signal)),
                    cpu_user: Some(Micros(user_us)),
                    cpu_system: Some(Micros(system_us)),
                    complete: false,
                });
                true
            }
            ToDaemon::Mounted { .. } => false,
        }
    }

    fn end_of_run(&self, complete: bool) -> RunEnd {
        let unknown = RunEnd {
            at: self.recorder.clock().now(),
            exit: None,
            cpu_user: None,
            cpu_system: None,
            complete,
        };
        RunEnd { complete: complete && self.ended.is_some(), ..self.ended.unwrap_or(unknown) }
    }

    /// Brings files home from their tiers, as the rules say.
    fn write_back_all(&self) -> Vec<WriteBackReport> {
        let exit = self.ended.as_ref().and_then(|ended| ended.exit);
        let succeeded = exit == Some(CommandExit::Code(0));
        let ruled = self.volumes.iter().filter_map(|(directory, tiers)| {
            Some((directory, tiers.as_ref().filter(|tiers| tiers.has_rules())?))
        });
        let tell = |underway: &WriteBackProgress| {
            let word = ToLauncher::WriteBackProgress(*underway);
            std::iter::once(&self.control)
                .chain(&self.waiting)
                .for_each(|who| who.try_send_message(&word));
        };
        let progress = ProgressReporter::new(self.recorder.clock(), &tell);
        ruled
            .map(|(directory, tiers)| {
                let home = write_back_files(
                    directory,
                    tiers,
                    WriteBackScope::Ruled { succeeded },
                    &progress,
                );
                let mut told = home.to_report(&tiers.current_path(directory));
                told.spilled = tiers.spilled_files();
                told.cache = tiers.cache_report();
                told
            })
            .collect()
    }

    /// Waits until a bucket has all of its volume.
    fn finish_upload(&self) -> Option<UploadReport> {
        let tell = |underway: &WriteBackProgress| {
            let word = ToLauncher::WriteBackProgress(*underway);
            std::iter::once(&self.control)
                .chain(&self.waiting)
                .for_each(|who| who.try_send_message(&word));
        };
        let waits = |waiting: &BucketWaiting| {
            let word = ToLauncher::Waits(waiting.clone());
            std::iter::once(&self.control)
                .chain(&self.waiting)
                .for_each(|who| who.try_send_message(&word));
        };
        self.backends().find_map(|backend| backend.finish_upload(&tell, &waits))
    }

    /// What keeps each tree beyond its directory.
    fn backends(&self) -> impl Iterator<Item = &dyn Backend> {
        self.sessions.iter().map(|session| session.native().backend())
    }

    /// Somebody still works in the covered directories: the front goes, with what is known so far.
    fn continue_without_launcher(&mut self) {
        let lingering = self.processes.list_living().into_iter().map(|(_, pid)| pid).collect();
        let ended = self.end_of_run(false);
        let provisional = self.keeper.as_mut().map(|keeper| keeper.copy_provisional(ended));
        let (run, mut warnings) = provisional.unwrap_or_default();
        warnings.extend(self.backends().flat_map(Backend::warnings_so_far));
        self.control.send_message(&over_message(run, Some(lingering), warnings, Vec::new(), None));
    }
}

fn over_message(
    run: Option<PathBuf>,
    lingering: Option<Vec<u32>>,
    warnings: Vec<String>,
    homecomings: Vec<WriteBackReport>,
    shipped: Option<UploadReport>,
) -> ToLauncher {
    let run = run.map(|path| path.to_string_lossy().into_owned());
    ToLauncher::Over { run, lingering, warnings, homecomings, shipped }
}
