//! The numbers by which the kernel names nodes, and the descriptors kept for directories. It knows
//! nothing of what a node contains. Packed files have the number by which the pack knows them, so
//! they are found by it alone, and may rest.

mod numbers;
mod pins;

use std::collections::VecDeque;
use std::ffi::CStr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHashMap;
use rustix::fs::Statx;
use rustix::process::{Resource, getrlimit};

use super::node::{Node, ROOT};
use super::packed_nodes::PackedNodes;
use crate::tiers::TieredFile;
use forebay_os::file_identity::{FileIdentity, device_number};
use forebay_packlog::FIRST;

#[derive(Default)]
struct Maps {
    /// Files and directories in place.
    by_id: FxHashMap<u64, Arc<Node>>,
    by_identity: FxHashMap<(u64, u64), Arc<Node>>,
    /// Inode numbers that moved files are still shown with, each with its device, and their nodes.
    lent: FxHashMap<(u64, u64), Arc<Node>>,
}

/// All nodes that the kernel holds a reference to.
pub(crate) struct NodeTable {
    maps: RwLock<Maps>,
    pub(super) packed: PackedNodes,
    next: AtomicU64,
    /// Directories whose descriptor is kept, oldest first.
    pinned: Mutex<VecDeque<u64>>,
    most_pinned: usize,
    /// Moved files whose old inode is kept, oldest first.
    numbered: Mutex<VecDeque<u64>>,
    device: u64,
}

impl NodeTable {
    pub(crate) fn new(root: OwnedFd, stat: &Statx) -> NodeTable {
        let node = Arc::new(Node::new(ROOT, stat));
        node.lookups.store(1, Relaxed);
        node.place.lock().pin = Some(Arc::new(root));
        let mut maps = Maps::default();
        maps.by_identity.insert(identity_key(node.identity()), Arc::clone(&node));
        maps.by_id.insert(ROOT, node);
        // Half of the descriptors are for directories, the rest for open files.
        let limit = getrlimit(Resource::Nofile).current.unwrap_or(1 << 20);
        let most_pinned = (limit / 2).clamp(64, 200_000) as usize;
        NodeTable {
            maps: RwLock::new(maps),
            packed: PackedNodes::for_device(device_number(stat)),
            next: AtomicU64::new(ROOT + 1),
            pinned: Mutex::default(),
            most_pinned,
            numbered: Mutex::default(),
            device: device_number(stat),
        }
    }

    pub(crate) fn get(&self, id: u64) -> Option<Arc<Node>> {
        match id < FIRST {
            true => self.maps.read().by_id.get(&id).cloned(),
            false => self.packed.get(id),
        }
    }

    /// The node for what a name led to, with one more kernel reference (`nlookup`).
    pub(crate) fn reference_node(&self, stat: &Statx) -> Arc<Node> {
        self.reference_tiered_node(stat, None)
    }

    /// The same of a file that may have its bytes on a tier. A node is never seen without that: who
    /// replaces the name meanwhile would hold the link for the file.
    pub(crate) fn reference_tiered_node(
        &self,
        stat: &Statx,
        file: Option<&Arc<TieredFile>>,
    ) -> Arc<Node> {
        let identity = FileIdentity::from_statx(stat);
        {
            let maps = self.maps.read();
            if let Some(node) = maps.by_identity.get(&identity_key(identity))
                && node.identity() == identity
            {
                node.lookups.fetch_add(1, Relaxed);
                return Arc::clone(node);
            }
        }
        let mut maps = self.maps.write();
        match maps.by_identity.get(&identity_key(identity)) {
            Some(node) if node.identity() == identity => {
                node.lookups.fetch_add(1, Relaxed);
                Arc::clone(node)
            }
            // New to us, or the inode number was used again: either way a number of its own.
            _ => {
                // The file system gave the number of a moved file away, which happens where its
                // old inode can't be held: the number is the new file's.
                if let Some(moved) = maps.lent.remove(&identity_key(identity)) {
                    moved.guise.drop_inode();
                }
                let node = Arc::new(Node::new(self.next.fetch_add(1, Relaxed), stat));
                node.lookups.store(1, Relaxed);
                node.placed.set(file.cloned());
                maps.by_identity.insert(identity_key(identity), Arc::clone(&node));
                maps.by_id.insert(node.id, Arc::clone(&node));
                node
            }
        }
    }

    /// The device of the covered directory itself.
    pub(crate) fn device(&self) -> u64 {
        self.device
    }

    /// One more reference, so that the kernel's forgetting does not end the node.
    pub(super) fn add_reference(&self, id: u64) -> bool {
        let maps = self.maps.read();
        let held = maps.by_id.get(&id).map(|node| node.lookups.fetch_add(1, Relaxed));
        held.is_some()
    }

    /// Parts a node from its identity, which another file has now.
    pub(crate) fn detach_identity(&self, node: &Node) {
        let mut maps = self.maps.write();
        let key = identity_key(node.identity());
        if maps.by_identity.get(&key).is_some_and(|other| other.id == node.id) {
            maps.by_identity.remove(&key);
        }
    }

    /// The node of a file, if the kernel knows it.
    pub(crate) fn find_by_identity(&self, identity: FileIdentity) -> Option<Arc<Node>> {
        let node = self.maps.read().by_identity.get(&identity_key(identity)).cloned()?;
        (node.identity() == identity).then_some(node)
    }

    /// The kernel dropped `count` references. Returns the node when none is left.
    pub(crate) fn forget(&self, id: u64, count: u64) -> Option<Arc<Node>> {
        if id == ROOT {
            return None;
        }
        if id >= FIRST {
            return self.packed.forget(id, count);
        }
        let node = self.get(id)?;
        if node.lookups.fetch_sub(count, Relaxed) != count {
            return None;
        }
        let mut maps = self.maps.write();
        // Looked up again in between: `reference_node` holds the read lock while it counts.
        if node.lookups.load(Relaxed) != 0 {
            return None;
        }
        maps.by_id.remove(&id);
        let identity = identity_key(node.identity());
        if maps.by_identity.get(&identity).is_some_and(|other| other.id == id) {
            maps.by_identity.remove(&identity);
        }
        // A file moves within one file system, seen from its place.
        let lent = node.guise.exposed_inode().map(|shown| (identity.0, shown));
        if let Some(lent) = lent
            && maps.lent.get(&lent).is_some_and(|other| other.id == id)
        {
            maps.lent.remove(&lent);
        }
        Some(node)
    }

    /// Shows all known names, each with its directory.
    pub(crate) fn for_each_name(&self, mut show: impl FnMut(u64, &CStr)) {
        let maps = self.maps.read();
        for node in maps.by_id.values() {
            node.place.lock().names.iter().for_each(|(parent, name)| show(*parent, name));
        }
        drop(maps);
        self.packed.for_each_name(show);
    }
}

fn identity_key(identity: FileIdentity) -> (u64, u64) {
    (identity.device, identity.inode)
}
