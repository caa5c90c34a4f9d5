//! The end of a lasting mount of which other namespaces have copies that nobody uses: those of
//! containers and of `unshare -m`. The kernel keeps such a mount for ever, and whoever unmounts would
//! wait for ever until its files are home.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::fuse::Session;
use crate::overmount::{KIND, current_mounts};
use forebay_os::mount_users::find_mount_users;

/// How often it is looked whether somebody uses it, once somebody has asked for the end.
const PAUSE: Duration = Duration::from_millis(100);
/// Looks in a row that find nobody before it ends: a second, for programs between two opens.
const LOOKS: u32 = 10;

/// What is known of the end of a mount.
#[derive(Debug, Default)]
pub(super) struct UnmountState {
    /// The numbers by which mount tables know it.
    devices: Vec<(u32, u32)>,
    asked: bool,
    looks: u32,
}

impl UnmountState {
    /// All of it is mounted, at these points.
    pub(super) fn for_mount(volume: &Path, points: &[PathBuf]) -> UnmountState {
        let all = current_mounts().unwrap_or_default();
        let ours = all.into_iter().filter(|mount| {
            mount.kind == KIND
                && Path::new(&mount.source) == volume
                && points.contains(&mount.point)
        });
        UnmountState {
            devices: ours.map(|mount| mount.device).collect(),
            ..UnmountState::default()
        }
    }

    /// Somebody wants it to end.
    pub(super) fn request_end(&mut self) {
        self.asked = true;
    }

    /// Until the next look; `None`: there is nothing to look for.
    pub(super) fn next_check(&self) -> Option<Duration> {
        (self.asked && !self.devices.is_empty() && sees_all_processes()).then_some(PAUSE)
    }

    /// Looks whether nobody uses it any more. If so it has ended: who comes later is refused.
    pub(super) fn is_over(&mut self, sessions: &[Arc<Session>]) -> bool {
        if sessions.iter().any(|session| session.native().has_open_handles()) || self.is_mounted() {
            self.looks = 0;
            return false;
        }
        self.looks += 1;
        if self.looks < LOOKS {
            return false;
        }
        self.looks = 0;
        find_mount_users(&self.devices, None).is_empty() && Session::end_if_unused(sessions)
    }

    /// Whether it is mounted where we are, at whatever place.
    fn is_mounted(&self) -> bool {
        // Who does not know waits.
        current_mounts()
            .map_or(true, |all| all.iter().any(|mount| self.devices.contains(&mount.device)))
    }
}

/// Whether no process can use the mount without our knowing. A mapping that was made in passthrough
/// outlives the last close that we are told of: it is seen in /proc alone, and there all processes of
/// the machine are seen from its first namespace of processes only. Who is not root has no
/// passthrough.
fn sees_all_processes() -> bool {
    /// `PROC_PID_INIT_INO`
    const FIRST: &str = "pid:[4026531836]";
    let is_root = rustix::process::geteuid().is_root();
    !is_root || std::fs::read_link("/proc/self/ns/pid").is_ok_and(|link| link == Path::new(FIRST))
}
