//! The nodes of packed files, by the number that the pack gave them. There may be a million, and
//! those that nobody uses rest.

use std::ffi::CStr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use parking_lot::RwLock;
use rustc_hash::FxHashMap;

use super::dormant::DormantInode;
use super::node::Node;
use super::packed_file::PackedFile;
use forebay_os::file_identity::FileIdentity;
use forebay_os::numbered::SparseArray;

/// Packed files that are not put to rest, few as they are.
const AWAKE: usize = 4096;

/// All packed files that the kernel holds a reference to.
pub(crate) struct PackedNodes {
    maps: RwLock<Maps>,
    device: u64,
}

#[derive(Default)]
struct Maps {
    awake: FxHashMap<u64, Arc<Node>>,
    resting: SparseArray<DormantInode>,
    /// When more are awake, those that can rest do.
    most_awake: usize,
}

impl Maps {
    fn wake_dormant(&mut self, id: u64, identity: FileIdentity) -> Option<Arc<Node>> {
        if let Some(node) = self.awake.get(&id) {
            return Some(Arc::clone(node));
        }
        let node = self.resting.remove(id)?.into_node(id, identity);
        Some(self.insert_awake(node, Arc::new(PackedFile::new(id))))
    }

    /// Enters a node, and puts others to rest if they are many.
    fn insert_awake(&mut self, node: Node, packed: Arc<PackedFile>) -> Arc<Node> {
        let _ = node.packed.set(packed);
        let node = Arc::new(node);
        self.awake.insert(node.id, Arc::clone(&node));
        if self.awake.len() > self.most_awake.max(AWAKE) {
            let resting = &mut self.resting;
            self.awake.retain(|id, node| {
                // Who has the only reference to a node knows that nobody is about to use it.
                let rest = Arc::get_mut(node).and_then(Node::try_make_dormant);
                rest.map(|rest| resting.insert(*id, rest)).is_none()
            });
            self.most_awake = self.awake.len() * 2;
        }
        node
    }
}

impl PackedNodes {
    pub(super) fn for_device(device: u64) -> PackedNodes {
        PackedNodes { maps: RwLock::default(), device }
    }

    fn packed_identity(&self, id: u64) -> FileIdentity {
        FileIdentity { device: self.device, inode: id, born: 0 }
    }

    pub(crate) fn get(&self, id: u64) -> Option<Arc<Node>> {
        let maps = self.maps.read();
        match maps.awake.get(&id) {
            Some(node) => Some(Arc::clone(node)),
            None if !maps.resting.contains(id) => None,
            None => {
                drop(maps);
                self.maps.write().wake_dormant(id, self.packed_identity(id))
            }
        }
    }

    /// The node of a packed file, with one more kernel reference (`nlookup`).
    pub(crate) fn reference_node(&self, packed: Arc<PackedFile>) -> Arc<Node> {
        let id = packed.ino;
        if let Some(node) = self.maps.read().awake.get(&id) {
            node.lookups.fetch_add(1, Relaxed);
            return Arc::clone(node);
        }
        let mut maps = self.maps.write();
        let node = match maps.wake_dormant(id, self.packed_identity(id)) {
            Some(node) => node,
            None => maps.insert_awake(
                Node::with_identity(id, self.packed_identity(id), libc::S_IFREG),
                packed,
            ),
        };
        node.lookups.fetch_add(1, Relaxed);
        node
    }

    /// The kernel dropped `count` references. Returns the node when none is left.
    pub(super) fn forget(&self, id: u64, count: u64) -> Option<Arc<Node>> {
        let node = self.get(id)?;
        if node.lookups.fetch_sub(count, Relaxed) != count {
            return None;
        }
        self.remove_unreferenced(node)
    }

    /// Takes out a node that has lost its last reference, unless it was looked up again since.
    fn remove_unreferenced(&self, node: Arc<Node>) -> Option<Arc<Node>> {
        let mut maps = self.maps.write();
        // `reference_node` holds a lock while it counts.
        if node.lookups.load(Relaxed) != 0 {
            return None;
        }
        // Looked up and let go again since, and looked up once more: that is another node.
        if !maps.awake.get(&node.id).is_some_and(|known| Arc::ptr_eq(known, &node)) {
            return None;
        }
        maps.awake.remove(&node.id);
        Some(node)
    }

    /// All that somebody may use.
    pub(crate) fn awake_nodes(&self) -> Vec<Arc<Node>> {
        self.maps.read().awake.values().cloned().collect()
    }

    /// Shows all known names, each with its directory.
    pub(super) fn for_each_name(&self, mut show: impl FnMut(u64, &CStr)) {
        let maps = self.maps.read();
        for node in maps.awake.values() {
            node.place.lock().names.iter().for_each(|(parent, name)| show(*parent, name));
        }
        for (parent, name) in maps.resting.values().map(DormantInode::name) {
            show(parent, &name);
        }
    }
}

#[cfg(test)]
mod tests {
    //! If these fail, the kernel's number of a packed file leads to another file or to none, or a
    //! file is forgotten that the kernel still knows.
    use forebay_model::FileId;

    use super::*;
    use crate::native::ROOT;
    use crate::native::node::RecordState;
    use forebay_packlog::FIRST;

    const MANY: u64 = 3 * AWAKE as u64;

    fn name(number: u64) -> std::ffi::CString {
        // Short ones, and long ones.
        let long = if number.is_multiple_of(3) { "-with-a-name-of-many-words" } else { "" };
        std::ffi::CString::new(format!("part-{number}{long}")).expect("no NUL")
    }

    fn fill(table: &PackedNodes) {
        for number in 0..MANY {
            let node = table.reference_node(Arc::new(PackedFile::new(FIRST + number)));
            node.note_name(ROOT, &name(number), 1);
            *node.known.lock() = RecordState::Once(number, FileId(number as u32));
        }
    }

    #[test]
    fn packed_files_rest_and_are_the_same_afterwards() {
        let table = PackedNodes::for_device(7);
        fill(&table);
        assert!(table.awake_nodes().len() <= AWAKE + 1, "{} are awake", table.awake_nodes().len());
        let mut names = 0;
        table.for_each_name(|parent, known| {
            names += u64::from(parent == ROOT && known.to_bytes().starts_with(b"part-"));
        });
        assert_eq!(names, MANY);
        for number in (0..MANY).rev() {
            let node = table.get(FIRST + number).expect("the kernel knows it");
            assert_eq!((node.id, node.newest_name()), (FIRST + number, Some((ROOT, name(number)))));
            assert!(node.packed.get().is_some_and(|packed| packed.ino == node.id));
            let known = node.known.lock();
            let same = |epoch, file: FileId| epoch == number && u64::from(file.0) == number;
            assert!(matches!(*known, RecordState::Once(epoch, file) if same(epoch, file)));
        }
        for number in 0..MANY {
            drop(table.reference_node(Arc::new(PackedFile::new(FIRST + number))));
            assert!(table.forget(FIRST + number, 1).is_none(), "{number} was looked up twice");
        }
        for number in 0..MANY {
            assert!(table.forget(FIRST + number, 1).is_some(), "{number} is forgotten");
            assert!(table.get(FIRST + number).is_none());
        }
    }

    #[test]
    fn who_comes_late_to_let_go_takes_no_other_with_it() {
        let table = PackedNodes::for_device(7);
        let late = table.reference_node(Arc::new(PackedFile::new(FIRST)));
        assert!(table.forget(FIRST, 1).is_some());
        let new = table.reference_node(Arc::new(PackedFile::new(FIRST)));
        assert!(table.remove_unreferenced(late).is_none(), "somebody else did");
        let found = table.get(FIRST).expect("the kernel knows it");
        assert!(Arc::ptr_eq(&found, &new));
    }

    #[test]
    fn who_is_used_does_not_rest() {
        let table = PackedNodes::for_device(7);
        let used = [
            table.reference_node(Arc::new(PackedFile::new(FIRST + MANY))),
            table.reference_node(Arc::new(PackedFile::new(FIRST + MANY + 1))),
            table.reference_node(Arc::new(PackedFile::new(FIRST + MANY + 2))),
            table.reference_node(Arc::new(PackedFile::new(FIRST + MANY + 3))),
        ];
        for node in &used[..3] {
            node.note_name(ROOT, &name(node.id), 2);
        }
        // One with two names, one that somebody locked, one that is about to be written to, and
        // one that has lost its name.
        used[0].note_name(ROOT, c"another", 2);
        used[1].locked.store(true, Relaxed);
        let packed = used[2].packed.get().map(Arc::clone).expect("it is packed");
        packed.mark_dirty();
        let numbers = used.each_ref().map(|node| node.id);
        drop(used);
        fill(&table);
        let awake: Vec<u64> = table.awake_nodes().iter().map(|node| node.id).collect();
        assert!(numbers.iter().all(|number| awake.contains(number)));
    }
}
