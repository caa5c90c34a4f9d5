//! Files that are open, for who looks at a daemon that works.

use super::session::Session;
use crate::counters::FileTraffic;
use crate::native::FileHandle;

impl Session {
    /// Shows the path of each open file, and what has gone through it.
    pub(crate) fn for_each_open_file(&self, mut show: impl FnMut(&[u8], &FileTraffic)) {
        // Paths are looked up afterwards: that may wait for who changes names.
        let mut nodes = Vec::new();
        self.tree.native.for_each_handle(|handle| {
            nodes.push((std::sync::Arc::clone(&handle.node), handle.flow.snapshot_counts()));
        });
        for (node, flow) in nodes {
            show(&self.known_to_recorder(&node).path, &flow);
        }
    }

    /// A file is closed: who looks on may want to know that it was used.
    pub(super) fn remember_closed_file(&self, handle: &FileHandle) {
        self.recorder
            .live_counters()
            .record_close(&self.known_to_recorder(&handle.node).path, &handle.flow);
    }
}
