//! The doors of the daemon: each mount as it is made, with what serves it.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use forebay_model::{DirectoryTree, Fact, TreeId};
use parking_lot::Mutex;

use super::{Event, ManagedDirectory};
use crate::bucket::{PeerGroup, Prefix, PreparedVolume};
use crate::fuse::{self, Device, EmulatedStorage, Session, SharedAccess, Transport};
use crate::native::{Native, NativeSettings};
use crate::overmount::{Handover, OvermountPlan, OvermountTarget, receive_mount};
use crate::processes::ProcessTable;
use crate::reads::ExportedReads;
use crate::recorder::Recorder;
use crate::shared_volume::{PreparedShared, SharedMount};
use crate::warm::{WARM, WarmTrees, WarmVerb};
use forebay_os::fast_wake::FastWake;
use forebay_peers::VerbTable;

/// What all mounts of a run share.
pub(super) struct MountContext {
    pub(super) settings: NativeSettings,
    pub(super) only_for: Option<u32>,
    pub(super) emulated: Option<EmulatedStorage>,
    pub(super) fast_wake: Option<Arc<FastWake>>,
    pub(super) transport: Transport,
    pub(super) bucket: Mutex<Option<PreparedVolume>>,
    pub(super) shared_volume: Mutex<Option<PreparedShared>>,
    /// What `forebay warm` may ask for.
    pub(super) warm_trees: Arc<WarmTrees>,
    /// Nodes that share what is read of buckets.
    pub(super) peers: Option<Arc<PeerGroup>>,
    /// In the order of the targets.
    pub(super) volumes: Vec<ManagedDirectory>,
    pub(super) recorder: Arc<Recorder>,
    pub(super) processes: Arc<ProcessTable>,
}

/// What serves all mounts: those of directories, and of a volume that several nodes write.
type ServedMounts = (Vec<Arc<Session>>, Option<Arc<SharedMount>>);

impl MountContext {
    /// Serves each mount as it is made: the next may lie below it and can't be reached before.
    pub(super) fn serve_mounts(
        &self,
        plan: OvermountPlan,
        mounts: &OwnedFd,
        events: &Sender<Event>,
    ) -> io::Result<ServedMounts> {
        let mut targets: HashMap<usize, OvermountTarget> =
            plan.targets.into_iter().enumerate().collect();
        let (mut sessions, mut shared) = (Vec::new(), None);
        loop {
            let (number, fd) = match receive_mount(mounts.as_fd())? {
                Handover::Complete => return Ok((sessions, shared)),
                Handover::Gone => return Err(io::Error::other("the command's side went away")),
                Handover::Mounted(number, fd) => (number, fd),
            };
            let target =
                targets.remove(&number).ok_or_else(|| io::Error::other("an unknown mount"))?;
            if let Some(prepared) = self.shared_volume.lock().take_if(|_| number == 0) {
                let warm: VerbTable =
                    vec![(WARM, Arc::new(WarmVerb { trees: Arc::clone(&self.warm_trees) }))];
                let access = SharedAccess {
                    only_for: self.only_for,
                    fast_wake: self.fast_wake.clone(),
                    recorder: Arc::clone(&self.recorder),
                };
                let mount = SharedMount::start(prepared, fd, access, warm)?;
                std::thread::Builder::new().name("forebay-mount".into()).spawn({
                    let (mount, events) = (Arc::clone(&mount), events.clone());
                    move || {
                        if let Err(error) = mount.serve_requests() {
                            tracing::error!("a mount ended badly: {error}");
                        }
                        let _ = events.send(Event::MountGone);
                    }
                })?;
                shared = Some(mount);
                continue;
            }
            let session = self.open_session(number, target, fd)?;
            let threads = std::thread::available_parallelism().map_or(4, usize::from).clamp(4, 16);
            let (threads, most) = session.native().backend().thread_counts(threads);
            std::thread::Builder::new().name("forebay-mount".into()).spawn({
                let (session, events) = (Arc::clone(&session), events.clone());
                move || {
                    if let Err(error) = session.serve_requests(threads, most) {
                        tracing::error!("a mount ended badly: {error}");
                    }
                    let _ = events.send(Event::MountGone);
                }
            })?;
            sessions.push(session);
        }
    }

    fn open_session(
        &self,
        number: usize,
        target: OvermountTarget,
        fd: OwnedFd,
    ) -> io::Result<Arc<Session>> {
        let id = TreeId(number as u16);
        let groups = Arc::clone(&self.processes);
        let path = std::os::unix::ffi::OsStrExt::as_bytes(target.point.as_os_str()).to_vec();
        let tiers = self.volumes.get(number).and_then(|(_, tiers)| tiers.clone());
        let asks = Box::new(move |pid| groups.supplementary_groups(pid));
        let names = Arc::clone(&self.processes);
        let tasks = Box::new(move |thread| names.task_name(thread));
        let native = Native::new(target.root, self.settings.clone(), asks)?
            .with_tiers(tiers.clone())
            .with_tasks(tasks);
        let bucket = self.bucket.lock().take_if(|_| number == 0);
        let peers = self.peers.as_ref();
        let native = match (bucket, target.lent, target.reads) {
            (Some(ready), ..) => ready.start(peers, |backend| native.with_backend(backend))?,
            (None, Some(lent), _) => Arc::new(native.with_backend(Prefix::start(lent, peers)?)),
            (None, None, Some(found)) => {
                Arc::new(native.with_backend(ExportedReads::start(found)?))
            }
            (None, None, None) => Arc::new(native),
        };
        let tree = fuse::ServedTree {
            id,
            native,
            stack_depth: if target.fs.stacked { 2 } else { 1 },
            passthrough: !self.settings.every_read && self.settings.shared,
            local: target.fs.local,
            only_for: self.only_for,
            fast_wake: self.fast_wake.clone(),
            transport: self.transport,
        };
        let passthrough = tree.passthrough;
        let (recorder, processes) = (&self.recorder, &self.processes);
        let device = match &self.emulated {
            Some(emulated) => Device::with_emulated_storage(fd, emulated)?,
            None => Device::new(fd),
        };
        let session =
            Session::from_handshake(tree, device, Arc::clone(recorder), Arc::clone(processes))?;
        recorder.record_fact(Fact::Tree(DirectoryTree {
            id,
            path,
            fs_type: match &self.emulated {
                Some(_) => format!("{}, emulated", target.fs.name),
                None => target.fs.name,
            },
            passthrough,
            device: target.source,
            tier: None,
        }));
        for room in tiers.iter().flat_map(|tiers| tiers.tier_directories()) {
            let (fs_type, device) = file_system_at(&room.path);
            recorder.record_fact(Fact::Tree(DirectoryTree {
                id: room.tree,
                path: std::os::unix::ffi::OsStrExt::as_bytes(room.path.as_os_str()).to_vec(),
                fs_type,
                passthrough,
                device,
                tier: Some(room.tier.to_string()),
            }));
        }
        Ok(session)
    }
}

/// Type and source of the file system that holds a directory, as the mount table has them.
fn file_system_at(path: &Path) -> (String, Option<String>) {
    let all = crate::overmount::current_mounts().unwrap_or_default();
    let below = all.into_iter().filter(|mount| path.starts_with(&mount.point));
    match below.max_by_key(|mount| mount.point.as_os_str().len()) {
        Some(mount) => (mount.kind, Some(mount.source)),
        None => ("unknown".to_owned(), None),
    }
}
