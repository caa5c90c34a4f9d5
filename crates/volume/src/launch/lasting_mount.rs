//! A lasting mount, from the front: the volume is shown to everybody who may see it, the daemon
//! stays, and this process goes or waits.

mod mount_startup;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use rustix::mount::MountFlags;
use rustix::process::{Pid, Signal, kill_process};

use super::signals::{reap_child, wait_for_signal};
use super::write_back_wait::{LOOK_MS, Latest};
use super::{
    Channel, LaunchError, RescuerHandle, ToDaemon, ToLauncher, WriteBackReport, bind_peers, fork,
    make_socket_pair, open_tiers, system_failure,
};
use crate::bucket;
use crate::daemon::{self, CpuLatency, RecordingOptions};
use crate::daemon_log;
use crate::fuse::EmulatedStorage;
use crate::fuse::Transport;
use crate::ipc::WriteBackProgress;
use crate::ipc::{BucketWaiting, UploadReport};
use crate::live;
use crate::overmount::{self, MountAccess};
use crate::shared_volume::{PreparedShared, SharedOptions, prepare_shared_volume};
use crate::tiers::{CacheWarmReport, PlacementOptions, TierError};
use forebay_os::clock::{Clock, MachineClock};
use forebay_os::real_path::resolve_path;

/// What to mount, and where.
#[derive(Debug)]
pub struct MountOptions {
    /// The directory that is the volume.
    pub volume: PathBuf,
    /// Where it is shown.
    pub point: PathBuf,
    /// To whom.
    pub access: MountAccess,
    /// What of the volume counts though its writers may be anybody: `MountFlags::NOSUID` and
    /// `NODEV` unless they were asked to be left out.
    pub withheld: MountFlags,
    /// Let no read or write bypass the daemon.
    pub every_read: bool,
    /// How fast CPUs wake up meanwhile.
    pub cpu_latency: CpuLatency,
    /// The way on which requests come to it.
    pub transport: Transport,
    /// Where files go; `None`: all stay in place.
    pub placement: Option<PlacementOptions>,
    /// UploadReport what was copied to tiers before the volume is shown.
    pub warmed: fn(&CacheWarmReport),
    /// The storage to emulate.
    pub emulated: Option<EmulatedStorage>,
    /// The record, if one is wanted.
    pub record: Option<RecordingOptions>,
    /// The bucket that the volume is in; `volume` is its name then.
    pub bucket: Option<bucket::BucketRole>,
    /// The same, for one that several nodes write.
    pub shared: Option<SharedOptions>,
    /// Nodes with which the bytes of buckets are shared.
    pub peers: Option<bucket::PeerOptions>,
    /// How buckets are reached that are attached to it.
    pub ways: bucket::BucketAccess,
    /// What the daemon says meanwhile, and where.
    pub log: daemon_log::LogOptions,
}

/// A mount that is served, and its daemon.
#[derive(Debug)]
pub struct LastingMount {
    /// Where it can be reached, outer ones first.
    pub points: Vec<PathBuf>,
    /// Things that a person should know.
    pub warnings: Vec<String>,
    daemon: Pid,
    control: Channel,
}

/// How a lasting mount ended.
#[derive(Debug)]
pub struct UnmountReport {
    /// Where its record is.
    pub run: Option<PathBuf>,
    /// Things that a person should know.
    pub warnings: Vec<String>,
    /// What became of the files on other tiers.
    pub homecomings: Vec<WriteBackReport>,
    /// What became of a volume in a bucket.
    pub shipped: Option<UploadReport>,
}

/// Mounts a volume and leaves its daemon behind.
///
/// This process must have one thread, and descriptors other than the standard ones are closed: the
/// daemon must not keep somebody's pipe open.
///
/// # Errors
/// When it can't be shown; nothing is left behind then.
pub fn mount_volume(wanted: MountOptions) -> Result<LastingMount, LaunchError> {
    // SAFETY: nothing here owns one of these yet.
    unsafe { forebay_os::descriptors::close_descriptor_range(3, libc::c_uint::MAX) };
    daemon_log::start_buffering(&wanted.log.levels);
    forebay_os::credentials::check_capabilities()
        .map_err(system_failure("acting as other users"))?;
    let (rescue, _) =
        RescuerHandle::start().map_err(system_failure("starting the daemon's rescuer"))?;
    let peers = bind_peers(wanted.peers)?;
    let opened = wanted
        .bucket
        .map(bucket::BucketRole::open_volume)
        .transpose()
        .map_err(LaunchError::Bucket)?;
    let shared = wanted.shared.map(prepare_shared_volume).transpose();
    let shared = shared.map_err(LaunchError::Shared)?;
    let local = opened.as_ref().map(bucket::PreparedVolume::tree_directory);
    let local = local.or(shared.as_ref().map(PreparedShared::tree_directory));
    let kind = live::mount_kind(opened.as_ref());
    let name = (opened.is_some() || shared.is_some()).then(|| wanted.volume.clone());
    let volumes = [local.unwrap_or(wanted.volume)];
    let volumes = volumes.as_slice();
    let mut plan = overmount::plan_mounts(volumes, &wanted.ways).map_err(LaunchError::Refused)?;
    // Who serves a shared volume has no files whose own permissions would count.
    plan.kernel_checks = shared.is_some();
    let volume = plan.targets[0].path.clone();
    if opened.as_ref().is_some_and(bucket::PreparedVolume::is_read_only) {
        plan.targets.iter_mut().for_each(|target| target.flags |= MountFlags::RDONLY);
    }
    plan.targets.iter_mut().for_each(|target| target.flags |= wanted.withheld);
    let refuse =
        |error| overmount::RefusedDirectory { path: wanted.point.clone(), attached: false, error };
    let point = resolve_path(&wanted.point).map_err(refuse).map_err(LaunchError::Refused)?;
    if point != volume && point.starts_with(&volume) {
        let why = "it lies in the volume, which would contain itself";
        return Err(LaunchError::Refused(refuse(io::Error::other(why))));
    }
    for target in plan.targets.iter().filter(|target| target.attached.is_some()) {
        if point.starts_with(&target.path) {
            let why = "it lies in a directory that is attached, which would contain itself";
            return Err(LaunchError::Refused(refuse(io::Error::other(why))));
        }
    }
    if let Some(record) = wanted.record.as_ref().filter(|record| record.state.starts_with(&point)) {
        let step = format!("keeping the record in {}", record.state.display());
        let why = "it would go through the mount; set XDG_STATE_HOME to a directory outside";
        return Err(LaunchError::System(step, io::Error::other(why)));
    }
    let tiers = open_tiers(&plan, wanted.placement.as_ref(), wanted.warmed);
    let tiers = tiers.map_err(LaunchError::Tier)?;
    for room in tiers.iter().flatten().flat_map(|tiers| tiers.tier_directories()) {
        if room.path.starts_with(&point) {
            let error = io::Error::other("it would be hidden behind the mount");
            let (path, step) = (room.path.clone(), "using");
            tiers.iter().flatten().for_each(|tiers| tiers.close());
            return Err(LaunchError::Tier(TierError { path, step, error }));
        }
    }
    let missing = tiers.iter().flatten().flat_map(|tiers| tiers.warnings());
    let warnings =
        opened.as_ref().and_then(bucket::PreparedVolume::warning).into_iter().chain(missing);
    let warnings = warnings.collect();
    plan.move_to(&volume, &point);
    let (mounts_out, mounts_in) = make_socket_pair()?;
    let (front_side, daemon_side) = make_socket_pair()?;
    let signals = forebay_os::forks::block_signals();
    // SAFETY: this process has one thread, so the child may do anything.
    let daemon = match unsafe { fork() }.map_err(system_failure("starting the daemon"))? {
        None => {
            drop((mounts_out, front_side));
            daemon::main(daemon::DaemonSetup {
                recorder: daemon::RunRecorder::Mount,
                kernel: None,
                volume: name.unwrap_or(volume),
                kind,
                log: wanted.log,
                plan,
                tiers,
                every_read: wanted.every_read,
                cpu_latency: wanted.cpu_latency,
                transport: wanted.transport,
                record: wanted.record,
                role: daemon::DaemonRole::Lasting { access: wanted.access },
                emulated: wanted.emulated,
                bucket: opened,
                shared,
                peers,
                mounts: mounts_in,
                control: Channel::new(daemon_side),
                foreign: Vec::new(),
                rescue,
            })
        }
        Some(pid) => pid,
    };
    drop((mounts_in, daemon_side, tiers, opened, shared, peers));
    let control = Channel::new(front_side);
    let shown = mount_startup::mount_and_await(
        &plan,
        &volume,
        wanted.access,
        &mounts_out,
        &control,
        &rescue,
    );
    match shown {
        // Signals stay held back: who waits takes them from the first moment on, and who does not
        // has ended before one matters.
        Ok(points) => Ok(LastingMount { points, warnings, daemon, control }),
        Err(failure) => {
            control.send_message(&ToDaemon::NotRun);
            drop((mounts_out, control));
            reap_child(daemon);
            signals.restore();
            Err(failure)
        }
    }
}

impl LastingMount {
    /// Waits until somebody unmounts; SIGINT and SIGTERM are taken for that wish, and so is SIGHUP
    /// from a terminal that goes. Without a terminal, as below systemd, it is passed on, and the
    /// daemon opens its log again. `None` when the daemon was lost.
    pub fn wait_for_unmount(
        self,
        tell: fn(&WriteBackProgress),
        waits: fn(&BucketWaiting),
    ) -> Option<UnmountReport> {
        let _held = forebay_os::forks::block_signals();
        let daemon = self.daemon;
        let has_terminal = std::fs::File::open("/dev/tty").is_ok();
        // Without it `forebay unmount` is left, which needs no signal.
        let _ = std::thread::Builder::new().name("forebay-term".into()).spawn(move || {
            loop {
                let signal = wait_for_signal().si_signo;
                let passed_on = match signal {
                    libc::SIGHUP if !has_terminal => Signal::HUP,
                    libc::SIGINT | libc::SIGTERM | libc::SIGHUP => Signal::TERM,
                    _ => continue,
                };
                // It is gone, then.
                let _ = kill_process(daemon, passed_on);
            }
        });
        let waits = |waiting: &BucketWaiting| {
            waits(waiting);
            true
        };
        match wait_for_last_word(&self.control, tell, waits, None) {
            UnmountWait::Word(end) => end,
            UnmountWait::Left(_) | UnmountWait::Late(_) => None,
        }
    }
}

/// What waiting for the end of a mount came to.
pub(super) enum UnmountWait {
    /// The daemon's last word; `None`: it is gone.
    Word(Option<UnmountReport>),
    /// It was not waited for until the bucket takes what it does not take now.
    Left(BucketWaiting),
    /// Its time was over when files had come so far, if they were on their way.
    Late(Option<WriteBackProgress>),
}

/// Waits for the daemon's last word; `tell` is told how far files have come meanwhile, and `waits`
/// says whether a bucket is waited for. `within` this time, if one is given.
pub(super) fn wait_for_last_word(
    control: &Channel,
    tell: fn(&WriteBackProgress),
    waits: impl Fn(&BucketWaiting) -> bool,
    within: Option<Duration>,
) -> UnmountWait {
    let mut latest = Latest::default();
    let began = MachineClock.elapsed_nanos();
    loop {
        // Until files come home, perhaps for weeks, there is nothing to tell again.
        if (latest.is_some() || within.is_some()) && !control.has_message_within(LOOK_MS) {
            latest.note_silence(tell);
            let took = Duration::from_nanos(MachineClock.elapsed_nanos().saturating_sub(began));
            if within.is_some_and(|within| took >= within) {
                return UnmountWait::Late(latest.progress());
            }
            continue;
        }
        match control.receive_message::<ToLauncher>() {
            Some(ToLauncher::WriteBackProgress(now)) => latest.note_progress(now, tell),
            Some(ToLauncher::Waits(waiting)) if waits(&waiting) => {}
            Some(ToLauncher::Waits(waiting)) => return UnmountWait::Left(waiting),
            Some(ToLauncher::Over { run, warnings, homecomings, shipped, .. }) => {
                let run = run.map(PathBuf::from);
                return UnmountWait::Word(Some(UnmountReport {
                    run,
                    warnings,
                    homecomings,
                    shipped,
                }));
            }
            Some(
                ToLauncher::Failed { .. }
                | ToLauncher::Ready
                | ToLauncher::Warning { .. }
                | ToLauncher::SentAway { .. },
            )
            | None => {
                return UnmountWait::Word(None);
            }
        }
    }
}
