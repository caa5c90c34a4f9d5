//! A run whose directories stay bare: the kernel tells what happens in them.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Sender;

use forebay_model::{DirectoryTree, Fact, TreeId};

use super::Event;
use super::served_mounts::MountContext;
use crate::kernel_events::{KernelRecorder, Missed, RecordedDirectory};
use crate::overmount::{OvermountPlan, receive_descriptor};

/// What looks on.
#[derive(Debug)]
pub(super) struct UnmountedRun {
    recorder: KernelRecorder,
    directories: Vec<(OwnedFd, PathBuf)>,
}

/// Begins to look on, as soon as the command's side says which process it is.
pub(super) fn start(
    plan: OvermountPlan,
    command: &OwnedFd,
    context: &MountContext,
    events: &Sender<Event>,
) -> Result<UnmountedRun, String> {
    let gone = || "the command's side went away".to_owned();
    let (command, _) = receive_descriptor(command.as_fd()).map_err(|error| error.to_string())?;
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
    let recorder = KernelRecorder::start(
        recorded,
        command,
        Arc::clone(&context.recorder),
        Arc::clone(&context.processes),
        move || {
            // Who would hear it may be gone.
            let _ = events.send(Event::MountGone);
        },
    )
    .map_err(|why| format!("the kernel can't record here: {why}"))?;
    Ok(UnmountedRun { recorder, directories })
}

impl UnmountedRun {
    /// Ends, and says what the record does not have.
    pub(super) fn finish(&mut self) -> Missed {
        self.recorder.finish()
    }

    /// The recorded directories, and where they were.
    pub(super) fn directories(&self) -> impl Iterator<Item = (&OwnedFd, &Path)> {
        self.directories.iter().map(|(root, path)| (root, path.as_path()))
    }
}
