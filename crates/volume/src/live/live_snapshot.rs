//! One look at all that a daemon has.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use crate::bucket::PeerGroup;
use crate::counters::Heat;
use crate::daemon_log;
use crate::fuse::Session;
use crate::ipc::{
    BucketStatus, DaemonKind, FileStatus, LiveStatus, SCHEMA, SharedStatus, TaskStatus, TierStatus,
};
use crate::processes::ProcessTable;
use crate::recorder::Recorder;
use crate::shared_volume::SharedMount;
use crate::tiers::Tiers;
use forebay_os::proc::Proc;

/// That of a mount.
pub(crate) fn mount_kind(bucket: Option<&crate::bucket::PreparedVolume>) -> DaemonKind {
    match bucket {
        None => DaemonKind::Mount,
        Some(ready) if ready.is_read_only() => DaemonKind::BucketReader,
        Some(_) => DaemonKind::Bucket,
    }
}

/// More rows do not fit a message, nor a screen.
const FILES_MOST: usize = 40;
const TASKS_MOST: usize = 100;
/// The number of the covered directory itself.
const ROOT: u64 = 1;
/// Longer names are cut at their start.
const PATH_MOST: usize = 1000;

/// What is looked at. It keeps nothing alive that ends with the daemon's work.
#[derive(Debug)]
pub(crate) struct StatusSources {
    pub(crate) lasting: bool,
    pub(crate) kind: DaemonKind,
    pub(crate) volume: PathBuf,
    pub(crate) passthrough: bool,
    pub(crate) command: Vec<Vec<u8>>,
    pub(crate) points: Vec<PathBuf>,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) processes: Weak<ProcessTable>,
    pub(crate) sessions: Vec<Weak<Session>>,
    pub(crate) tiers: Vec<Weak<Tiers>>,
    pub(crate) peers: Option<Arc<PeerGroup>>,
    pub(crate) shared: Option<Weak<SharedMount>>,
}

impl StatusSources {
    /// All figures of this moment.
    pub(crate) fn collect_live_report(&self) -> LiveStatus {
        let words = forebay_model::privacy::mask_words(&self.command);
        let word = |word: &[u8]| String::from_utf8_lossy(word).into_owned();
        let mut live = LiveStatus {
            schema: SCHEMA,
            pid: std::process::id(),
            lasting: self.lasting,
            kind: self.kind,
            volume: self.volume.to_string_lossy().into_owned(),
            log: daemon_log::path(),
            command: words.iter().map(|text| word(text)).collect(),
            points: self.points.clone(),
            at_us: self.recorder.clock().now().get(),
            recorded: !self.recorder.is_silent(),
            passthrough: self.passthrough,
            files: self.hottest_files(),
            tasks: self.running_tasks(),
            ..LiveStatus::default()
        };
        self.recorder.live_counters().fill_totals(&mut live);
        live.tiers = self.points.iter().map(|point| self.managed_directory_usage(point)).collect();
        for tiers in self.tiers.iter().filter_map(Weak::upgrade) {
            add_tier_reports(&tiers, &mut live);
        }
        live.bucket = self.bucket_status();
        live.peers = self.peers.as_ref().map(|peers| peers.status());
        live.shared = self.shared.as_ref().and_then(Weak::upgrade).map(|mount| mount.status());
        live.ailing.extend(live.shared.iter().filter_map(lease_problem));
        live.warnings.extend(live.peers.iter().flat_map(|peers| peers.away.iter().cloned()));
        if let Some(bucket) = &live.bucket {
            let url = &bucket.url;
            let ill = bucket.trouble.iter().map(|why| format!("{url} is out of reach: {why}"));
            live.ailing.extend(ill);
            let lost = bucket.lost.iter().map(|why| format!("nothing comes into {url}: {why}"));
            live.ailing.extend(lost);
        }
        live.ailing.extend(self.backend_errors());
        live.ailing.extend(daemon_log::log_problem());
        live.warnings.extend_from_slice(&live.ailing);
        live
    }

    /// A covered directory: its room is seen through the mount, where it would ask ourselves; so
    /// the directory below is asked.
    fn managed_directory_usage(&self, point: &Path) -> TierStatus {
        let at = self.points.iter().position(|known| known == point);
        let session = at.and_then(|at| self.sessions.get(at)).and_then(Weak::upgrade);
        let shared = self.shared.as_ref().and_then(Weak::upgrade);
        let room = match shared {
            Some(mount) => mount.disk_room().ok(),
            None => session.and_then(|session| session.native().statfs(ROOT).ok()),
        };
        TierStatus {
            path: point.to_owned(),
            room: room.as_ref().map(|room| room.f_blocks * room.f_frsize),
            free: room.as_ref().map(|room| room.f_bavail * room.f_frsize),
            ..TierStatus::default()
        }
    }

    fn hottest_files(&self) -> Vec<FileStatus> {
        let mut opened = Heat::default();
        for session in self.sessions.iter().filter_map(Weak::upgrade) {
            session.for_each_open_file(|path, flow| opened.record_open(path, flow));
        }
        let mut hottest =
            self.recorder.live_counters().heat.lock().hottest_files(opened, FILES_MOST);
        for file in &mut hottest {
            let many = file.path.chars().count().saturating_sub(PATH_MOST);
            if many > 0 {
                file.path = file.path.chars().skip(many).collect();
            }
        }
        hottest
    }

    fn running_tasks(&self) -> Vec<TaskStatus> {
        let Some(processes) = self.processes.upgrade() else { return Vec::new() };
        let (mut proc, mut tasks) = (Proc::default(), BTreeMap::<String, TaskStatus>::new());
        for (_, pid) in processes.list_living() {
            let Ok(stat) = proc.read_stat(pid) else { continue };
            if stat.state == b'Z' {
                continue;
            }
            // A shell or an engine that starts the others has no name among tasks.
            let Some(name) = processes.task_name(pid) else { continue };
            let task = tasks.entry(name).or_default();
            task.processes += 1;
            task.waiting += u64::from(stat.state == b'D');
            task.cpu_us += stat.user_us + stat.system_us;
            if let Ok(io) = proc.read_io(pid) {
                task.read = Some(task.read.unwrap_or(0) + io.rchar);
                task.written = Some(task.written.unwrap_or(0) + io.wchar);
            }
        }
        let named = tasks.into_iter().map(|(name, task)| TaskStatus { name, ..task });
        let mut all: Vec<TaskStatus> = named.collect();
        all.sort_by(|a, b| b.processes.cmp(&a.processes).then_with(|| a.name.cmp(&b.name)));
        all.truncate(TASKS_MOST);
        all
    }

    /// Why something that a tree shows can't be had.
    fn backend_errors(&self) -> Vec<String> {
        let sessions = self.sessions.iter().filter_map(Weak::upgrade);
        sessions.filter_map(|session| session.native().backend().current_error()).collect()
    }

    fn bucket_status(&self) -> Option<BucketStatus> {
        let mut sessions = self.sessions.iter().filter_map(Weak::upgrade);
        sessions.find_map(|session| session.native().backend().bucket_status())
    }
}

/// Why a node of a shared volume does not do all that it should.
fn lease_problem(shared: &SharedStatus) -> Option<String> {
    (shared.lease_us == 0).then(|| {
        "the book does not renew this node's lease: programs that change files wait; the daemon's \
         log says why"
            .to_owned()
    })
}

fn add_tier_reports(tiers: &Tiers, live: &mut LiveStatus) {
    for room in tiers.tier_directories() {
        let (used, limit, all) = room.capacity_usage();
        live.tiers.push(TierStatus {
            tier: Some(room.tier.to_string()),
            path: room.path.clone(),
            used: Some(used),
            limit,
            room: all.map(|(room, _)| room),
            free: all.map(|(_, free)| free),
        });
        if limit.is_some_and(|limit| used >= limit) {
            live.warnings.push(format!("tier {} is full: files stay in place", room.tier));
        }
    }
    let (files, bytes) = tiers.written_back_counts();
    live.drained = (live.drained.0 + files, live.drained.1 + bytes);
    if let (files @ 1.., why) = tiers.spilled_files() {
        live.warnings.push(format!("{files} files stayed in place against their rule: {why}"));
    }
    live.warnings.extend(tiers.warnings());
    if let Some(cache) = tiers.cache_report() {
        live.warnings.extend(cache.why_not.iter().map(|why| format!("not copied: {why}")));
        live.cache = Some(cache);
    }
}
