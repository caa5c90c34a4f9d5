//! What the kernel may believe of attributes, and when it is told to forget them.

use std::ffi::CStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use rustix::fs::Statx;

use crate::native::{Native, Node, TRUST};

impl Native {
    /// How long the kernel may believe attributes. They can change without any event (shared
    /// writable mappings), so those of a file that somebody writes are asked for again soon, and
    /// those of a file that somebody outside writes, each time.
    pub(in crate::native) fn attr_trust(&self, node: &Node) -> Duration {
        if node.foreign.load(Relaxed) {
            return Duration::ZERO;
        }
        // Links can be followed from outside, and bodies come home.
        let may_be = self.trusts() && node.placed.get().is_none();
        if !may_be || node.open.lock().handles.iter().any(|handle| handle.writes) {
            return TRUST;
        }
        self.trust_of(node).map_or(TRUST, |trust| trust.max(TRUST))
    }

    /// Notes what the kernel is told of a file in place, for [`Native::opened_anew`].
    pub(in crate::native) fn told(&self, node: &Node, stat: &Statx) {
        if self.trusts() && node.is_in_place() && !node.is_dir() {
            node.told.store(stamp(stat), Relaxed);
        }
    }

    /// A file is opened that reads as `stat`, or `None`: to be written. What the kernel was told of
    /// it must not outlive a change from outside, nor be believed for long while it is written.
    pub(in crate::native) fn opened_anew(&self, node: &Node, stat: Option<&Statx>) {
        let as_told = |stat: &Statx| match node.is_in_place() {
            // One that has come home is told of as it was before.
            true => node.told.load(Relaxed) == stamp(&self.shown(node, *stat)),
            false => node.told.swap(0, Relaxed) == 0,
        };
        if self.trusts()
            && !stat.is_some_and(as_told)
            && let Some(device) = self.device()
        {
            device.invalidate_node(node.id, false);
        }
    }

    /// A file has moved. If that was from its place to a tier, what the kernel was told before is
    /// believed no longer. No lock is held: the kernel's own of the directory is waited for.
    pub(in crate::native) fn left_its_place(&self, node: &Node, (parent, name): (u64, &CStr)) {
        if !node.is_in_place()
            && node.told.swap(0, Relaxed) != 0
            && let Some(device) = self.device()
        {
            device.invalidate_node(node.id, false);
            device.expire_entry(parent, std::ffi::OsStr::from_bytes(name.to_bytes()));
        }
    }
}

/// By what a file is told from what it was. It has to differ from what no file was told yet.
fn stamp(stat: &Statx) -> u64 {
    let times = [&stat.stx_mtime, &stat.stx_ctime].map(|time| (time.tv_sec, time.tv_nsec));
    let hasher = std::hash::BuildHasherDefault::<rustc_hash::FxHasher>::default();
    std::hash::BuildHasher::hash_one(&hasher, (times, stat.stx_size, stat.stx_mode)) | 1
}
