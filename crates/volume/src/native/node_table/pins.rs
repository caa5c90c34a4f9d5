//! The descriptors that are kept for directories.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::NodeTable;
use crate::native::node::Node;

impl NodeTable {
    /// Keeps a directory's descriptor, letting the oldest go when there are too many.
    pub(crate) fn pin_directory(&self, node: &Arc<Node>, fd: Arc<OwnedFd>) {
        node.place.lock().pin = Some(fd);
        let mut pinned = self.pinned.lock();
        pinned.push_back(node.id);
        if pinned.len() > self.most_pinned {
            self.unpin_oldest(&mut pinned, 64);
        }
    }

    /// Lets a quarter of the kept descriptors go.
    pub(crate) fn drop_oldest_pins(&self) {
        let mut pinned = self.pinned.lock();
        let count = (pinned.len() / 4).max(64);
        self.unpin_oldest(&mut pinned, count);
    }

    fn unpin_oldest(&self, pinned: &mut VecDeque<u64>, count: usize) {
        for _ in 0..count.min(pinned.len()) {
            let Some(id) = pinned.pop_front() else { return };
            if let Some(node) = self.get(id) {
                let mut place = node.place.lock();
                // A directory without a name can't be found again: its descriptor stays.
                if !place.names.is_empty() {
                    place.pin = None;
                }
            }
        }
    }
}
