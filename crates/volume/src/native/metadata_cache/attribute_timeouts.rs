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
    pub(in crate::native) fn attr_timeout(&self, node: &Node) -> Duration {
        if node.foreign.load(Relaxed) {
            return Duration::ZERO;
        }
        // Links can be followed from outside, and bodies come home.
        let may_be = self.has_metadata_cache() && node.placed.get().is_none();
        if !may_be || node.open.lock().handles.iter().any(|handle| handle.writes) {
            return TRUST;
        }
        self.metadata_cache_timeout(node).map_or(TRUST, |trust| trust.max(TRUST))
    }

    /// Notes what the kernel is told of a file in place, for [`Native::invalidate_stale_attrs`].
    pub(in crate::native) fn note_reported_stat(&self, node: &Node, stat: &Statx) {
        if self.has_metadata_cache() && node.is_in_place() && !node.is_dir() {
            node.told.store(stat_stamp(stat), Relaxed);
        }
    }

    /// A file is opened that reads as `stat`, or `None`: to be written. What the kernel was told of
    /// it must not outlive a change from outside, nor be believed for long while it is written.
    pub(in crate::native) fn invalidate_stale_attrs(&self, node: &Node, stat: Option<&Statx>) {
        let as_told = |stat: &Statx| match node.is_in_place() {
            // One that has come home is told of as it was before.
            true => node.told.load(Relaxed) == stat_stamp(&self.exposed_stat(node, *stat)),
            false => node.told.swap(0, Relaxed) == 0,
        };
        if self.has_metadata_cache()
            && !stat.is_some_and(as_told)
            && let Some(device) = self.device()
        {
            device.invalidate_node(node.id, false);
        }
    }

    /// A file has moved. If that was from its place to a tier, what the kernel was told before is
    /// believed no longer. No lock is held: the kernel's own of the directory is waited for.
    pub(in crate::native) fn invalidate_migrated(&self, node: &Node, (parent, name): (u64, &CStr)) {
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
fn stat_stamp(stat: &Statx) -> u64 {
    let times = [&stat.stx_mtime, &stat.stx_ctime].map(|time| (time.tv_sec, time.tv_nsec));
    let hasher = std::hash::BuildHasherDefault::<rustc_hash::FxHasher>::default();
    std::hash::BuildHasher::hash_one(&hasher, (times, stat.stx_size, stat.stx_mode)) | 1
}
