//! A run whose directories stay bare: the kernel tells what happens in them.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::Sender;

use forebay_model::{DirectoryTree, Fact, TreeId};

use super::Event;
use super::served_mounts::MountContext;
use crate::kernel_events::{KernelRecorder, KernelSide, Missed, RecordedDirectory};
use crate::notifications::{NotificationRecorder, Warn, Watched};
use crate::overmount::{OvermountPlan, receive_descriptor};

/// How bare directories are looked at.
pub(super) enum BareWay {
    /// By programs that are loaded already, or are to be.
    Kernel(Option<KernelSide>),
    Notify {
        every_read: bool,
        last_call: &'static AtomicU64,
        warn: Warn,
    },
}

#[derive(Debug)]
enum BareRecorder {
    Kernel(KernelRecorder),
    Notify(NotificationRecorder),
}

/// What looks on.
#[derive(Debug)]
pub(super) struct UnmountedRun {
    recorder: BareRecorder,
    directories: Vec<(OwnedFd, PathBuf)>,
}

/// Begins to look on, as soon as the command's side says which process it is.
pub(super) fn start(
    plan: OvermountPlan,
    command: &OwnedFd,
    context: &MountContext,
    events: &Sender<Event>,
    way: BareWay,
) -> Result<UnmountedRun, String> {
    let gone = || "the command's side went away".to_owned();
    let (command, listener) =
        receive_descriptor(command.as_fd()).map_err(|error| error.to_string())?;
    let command = command.ok_or_else(gone)?;
    let mut recorded = Vec::new();
    let mut directories = Vec::new();
    for (number, target) in plan.targets.into_iter().enumerate() {
        context.recorder.record_fact(Fact::Tree(DirectoryTree {
            id: TreeId(number as u16),
            path: target.point.as_os_str().as_bytes().to_vec(),
            fs_type: target.fs.name,
            passthrough: false,
            device: target.source,
            tier: None,
        }));
        let again = target.root.try_clone().map_err(|error| error.to_string())?;
        directories.push((again, target.path));
        recorded.push(RecordedDirectory { root: target.root, point: target.point });
    }
    let events = events.clone();
    let over = move || {
        // Who would hear it may be gone.
        let _ = events.send(Event::MountGone);
    };
    let (recorder, processes) = (Arc::clone(&context.recorder), Arc::clone(&context.processes));
    let recorder = match way {
        BareWay::Kernel(kernel) => {
            KernelRecorder::start(kernel, recorded, command, recorder, processes, over)
                .map(BareRecorder::Kernel)
                .map_err(|why| format!("the kernel can't record here: {why}"))?
        }
        BareWay::Notify { every_read, last_call, warn } => {
            let listener = listener.ok_or_else(gone)?;
            let directories = recorded;
            let watched = Watched { directories, command, listener, every_read, last_call, warn };
            NotificationRecorder::start(watched, recorder, processes, over)
                .map(BareRecorder::Notify)
                .map_err(|why| format!("system calls can't be watched here: {why}"))?
        }
    };
    Ok(UnmountedRun { recorder, directories })
}

impl UnmountedRun {
    /// Ends, and says what the record does not have.
    pub(super) fn finish(&mut self) -> Missed {
        match &mut self.recorder {
            BareRecorder::Kernel(recorder) => recorder.finish(),
            BareRecorder::Notify(recorder) => recorder.finish(),
        }
    }

    /// The recorded directories, and where they were.
    pub(super) fn directories(&self) -> impl Iterator<Item = (&OwnedFd, &Path)> {
        self.directories.iter().map(|(root, path)| (root, path.as_path()))
    }
}
