//! What the kernel may believe of attributes, and when it is told to forget them.

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
        let as_told = |stat| !node.is_in_place() || node.told.load(Relaxed) == stamp(stat);
        if self.trusts()
            && !stat.is_some_and(as_told)
            && let Some(device) = self.device()
        {
            device.invalidate_node(node.id, false);
        }
    }
}

/// By what a file is told from what it was. It has to differ from what no file was told yet.
fn stamp(stat: &Statx) -> u64 {
    let times = [&stat.stx_mtime, &stat.stx_ctime].map(|time| (time.tv_sec, time.tv_nsec));
    let hasher = std::hash::BuildHasherDefault::<rustc_hash::FxHasher>::default();
    std::hash::BuildHasher::hash_one(&hasher, (times, stat.stx_size, stat.stx_mode)) | 1
}
