//! The numbers by which the kernel names nodes, and the descriptors kept for directories. It knows
//! nothing of what a node contains. Packed files have the number by which the pack knows them, so
//! they are found by it alone, and may rest.

use std::collections::VecDeque;
use std::ffi::CStr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHashMap;
use rustix::fs::Statx;
use rustix::process::{Resource, getrlimit};

use super::node::{Identity, Node, ROOT};
use super::packed::Packed;
use super::rest::Rest;
use crate::numbered::Numbered;
use crate::pack::FIRST;

#[derive(Default)]
struct Maps {
    /// Files and directories in place.
    by_id: FxHashMap<u64, Arc<Node>>,
    by_identity: FxHashMap<(u64, u64), Arc<Node>>,
    /// Packed files, by number as well.
    packed: FxHashMap<u64, Arc<Node>>,
    /// Packed files that nobody uses.
    resting: Numbered<Rest>,
    /// When there are more of `packed`, those that can rest do.
    most_awake: usize,
}

/// Packed files that are not put to rest, few as they are.
const AWAKE: usize = 4096;

impl Maps {
    fn wake(&mut self, id: u64, device: u64) -> Option<Arc<Node>> {
        if let Some(node) = self.packed.get(&id) {
            return Some(Arc::clone(node));
        }
        let node = self.resting.remove(id)?.wake(id, packed_identity(id, device));
        let _ = node.packed.set(Arc::new(Packed::new(id)));
        Some(self.enter(node))
    }

    /// Enters a packed file, and puts others to rest if they are many.
    fn enter(&mut self, node: Node) -> Arc<Node> {
        let node = Arc::new(node);
        self.packed.insert(node.id, Arc::clone(&node));
        if self.packed.len() > self.most_awake.max(AWAKE) {
            let resting = &mut self.resting;
            self.packed.retain(|id, node| {
                // Who has the only reference to a node knows that nobody is about to use it.
                let rest = Arc::get_mut(node).and_then(Node::rest);
                rest.map(|rest| resting.insert(*id, rest)).is_none()
            });
            self.most_awake = self.packed.len() * 2;
        }
        node
    }
}

fn packed_identity(id: u64, device: u64) -> Identity {
    Identity { device, inode: id, born: 0 }
}

/// All nodes that the kernel holds a reference to.
pub(crate) struct Table {
    maps: RwLock<Maps>,
    next: AtomicU64,
    /// Directories whose descriptor is kept, oldest first.
    pinned: Mutex<VecDeque<u64>>,
    most_pinned: usize,
    device: u64,
}

impl Table {
    pub(crate) fn new(root: OwnedFd, stat: &Statx) -> Table {
        let node = Arc::new(Node::new(ROOT, stat));
        node.lookups.store(1, Relaxed);
        node.place.lock().pin = Some(Arc::new(root));
        let mut maps = Maps::default();
        maps.by_identity.insert(key(node.identity), Arc::clone(&node));
        maps.by_id.insert(ROOT, node);
        // Half of the descriptors are for directories, the rest for open files.
        let limit = getrlimit(Resource::Nofile).current.unwrap_or(1 << 20);
        let most_pinned = (limit / 2).clamp(64, 200_000) as usize;
        Table {
            maps: RwLock::new(maps),
            next: AtomicU64::new(ROOT + 1),
            pinned: Mutex::default(),
            most_pinned,
            device: super::device_of(stat),
        }
    }

    pub(crate) fn get(&self, id: u64) -> Option<Arc<Node>> {
        let maps = self.maps.read();
        if id < FIRST {
            return maps.by_id.get(&id).cloned();
        }
        match maps.packed.get(&id) {
            Some(node) => Some(Arc::clone(node)),
            None if !maps.resting.contains(id) => None,
            None => {
                drop(maps);
                self.maps.write().wake(id, self.device)
            }
        }
    }

    /// The node of a packed file, with one more kernel reference.
    pub(crate) fn take_packed(&self, packed: Arc<Packed>) -> Arc<Node> {
        let id = packed.ino;
        if let Some(node) = self.maps.read().packed.get(&id) {
            node.lookups.fetch_add(1, Relaxed);
            return Arc::clone(node);
        }
        let mut maps = self.maps.write();
        let node = maps.wake(id, self.device).unwrap_or_else(|| {
            let node = Node::of(id, packed_identity(id, self.device), libc::S_IFREG);
            let _ = node.packed.set(packed);
            maps.enter(node)
        });
        node.lookups.fetch_add(1, Relaxed);
        node
    }

    /// The node for what a name led to, with one more kernel reference (`nlookup`).
    pub(crate) fn take(&self, stat: &Statx) -> Arc<Node> {
        let identity = Identity::of(stat);
        {
            let maps = self.maps.read();
            if let Some(node) = maps.by_identity.get(&key(identity))
                && node.identity == identity
            {
                node.lookups.fetch_add(1, Relaxed);
                return Arc::clone(node);
            }
        }
        let mut maps = self.maps.write();
        match maps.by_identity.get(&key(identity)) {
            Some(node) if node.identity == identity => {
                node.lookups.fetch_add(1, Relaxed);
                Arc::clone(node)
            }
            // New to us, or the inode number was used again: either way a number of its own.
            _ => {
                let node = Arc::new(Node::new(self.next.fetch_add(1, Relaxed), stat));
                node.lookups.store(1, Relaxed);
                maps.by_identity.insert(key(identity), Arc::clone(&node));
                maps.by_id.insert(node.id, Arc::clone(&node));
                node
            }
        }
    }

    /// The device of the covered directory itself.
    pub(crate) fn device(&self) -> u64 {
        self.device
    }

    /// Parts a node from its identity, which another file has now.
    pub(crate) fn part(&self, node: &Node) {
        let mut maps = self.maps.write();
        let key = key(node.identity);
        if maps.by_identity.get(&key).is_some_and(|other| other.id == node.id) {
            maps.by_identity.remove(&key);
        }
    }

    /// The node of a file, if the kernel knows it.
    pub(crate) fn find(&self, identity: Identity) -> Option<Arc<Node>> {
        let node = self.maps.read().by_identity.get(&key(identity)).cloned()?;
        (node.identity == identity).then_some(node)
    }

    /// The kernel dropped `count` references. Returns the node when none is left.
    pub(crate) fn forget(&self, id: u64, count: u64) -> Option<Arc<Node>> {
        if id == ROOT {
            return None;
        }
        let node = self.get(id)?;
        if node.lookups.fetch_sub(count, Relaxed) != count {
            return None;
        }
        let mut maps = self.maps.write();
        // Looked up again in between: `take` holds the read lock while it counts.
        if node.lookups.load(Relaxed) != 0 {
            return None;
        }
        if id >= FIRST {
            maps.packed.remove(&id);
            return Some(node);
        }
        maps.by_id.remove(&id);
        if maps.by_identity.get(&key(node.identity)).is_some_and(|other| other.id == id) {
            maps.by_identity.remove(&key(node.identity));
        }
        Some(node)
    }

    /// Keeps a directory's descriptor, letting the oldest go when there are too many.
    pub(crate) fn pin(&self, node: &Arc<Node>, fd: Arc<OwnedFd>) {
        node.place.lock().pin = Some(fd);
        let mut pinned = self.pinned.lock();
        pinned.push_back(node.id);
        if pinned.len() > self.most_pinned {
            self.drop_oldest(&mut pinned, 64);
        }
    }

    /// Lets a quarter of the kept descriptors go.
    pub(crate) fn let_go(&self) {
        let mut pinned = self.pinned.lock();
        let count = (pinned.len() / 4).max(64);
        self.drop_oldest(&mut pinned, count);
    }

    fn drop_oldest(&self, pinned: &mut VecDeque<u64>, count: usize) {
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

    /// All packed files that somebody may use.
    pub(crate) fn packed(&self) -> Vec<Arc<Node>> {
        self.maps.read().packed.values().cloned().collect()
    }

    /// Shows all known names, each with its directory.
    pub(crate) fn each_name(&self, mut show: impl FnMut(u64, &CStr)) {
        let maps = self.maps.read();
        for node in maps.by_id.values().chain(maps.packed.values()) {
            node.place.lock().names.iter().for_each(|(parent, name)| show(*parent, name));
        }
        for (parent, name) in maps.resting.values().map(Rest::name) {
            show(parent, &name);
        }
    }
}

fn key(identity: Identity) -> (u64, u64) {
    (identity.device, identity.inode)
}

#[cfg(test)]
mod tests {
    //! If these fail, the kernel's number of a packed file leads to another file or to none, or a
    //! file is forgotten that the kernel still knows.
    use rustix::fs::{CWD, Mode, OFlags, openat};

    use super::*;
    use crate::native::node::Recorded;
    use crate::native::stat_of;
    use forebay_model::FileId;

    const MANY: u64 = 3 * AWAKE as u64;

    fn table() -> (Table, tempfile::TempDir) {
        let dir = tempfile::tempdir().expect("a directory");
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = openat(CWD, dir.path(), flags, Mode::empty()).expect("it is there");
        let stat = stat_of(std::os::fd::AsFd::as_fd(&root), c"").expect("statx works");
        (Table::new(root, &stat), dir)
    }

    fn name(number: u64) -> std::ffi::CString {
        // Short ones, and long ones.
        let long = if number.is_multiple_of(3) { "-with-a-name-of-many-words" } else { "" };
        std::ffi::CString::new(format!("part-{number}{long}")).expect("no NUL")
    }

    fn fill(table: &Table) {
        for number in 0..MANY {
            let node = table.take_packed(Arc::new(Packed::new(FIRST + number)));
            node.seen_at(ROOT, &name(number), 1);
            *node.known.lock() = Recorded::Once(number, FileId(number as u32));
        }
    }

    #[test]
    fn packed_files_rest_and_are_the_same_afterwards() {
        let (table, _dir) = table();
        fill(&table);
        assert!(table.packed().len() <= AWAKE + 1, "{} are awake", table.packed().len());
        let mut names = 0;
        table.each_name(|parent, known| {
            names += u64::from(parent == ROOT && known.to_bytes().starts_with(b"part-"));
        });
        assert_eq!(names, MANY);
        for number in (0..MANY).rev() {
            let node = table.get(FIRST + number).expect("the kernel knows it");
            assert_eq!((node.id, node.name()), (FIRST + number, Some((ROOT, name(number)))));
            assert!(node.packed.get().is_some_and(|packed| packed.ino == node.id));
            let known = node.known.lock();
            let same = |epoch, file: FileId| epoch == number && u64::from(file.0) == number;
            assert!(matches!(*known, Recorded::Once(epoch, file) if same(epoch, file)));
        }
        for number in 0..MANY {
            drop(table.take_packed(Arc::new(Packed::new(FIRST + number))));
            assert!(table.forget(FIRST + number, 1).is_none(), "{number} was looked up twice");
        }
        for number in 0..MANY {
            assert!(table.forget(FIRST + number, 1).is_some(), "{number} is forgotten");
            assert!(table.get(FIRST + number).is_none());
        }
    }

    #[test]
    fn who_is_used_does_not_rest() {
        let (table, _dir) = table();
        let used = [
            table.take_packed(Arc::new(Packed::new(FIRST + MANY))),
            table.take_packed(Arc::new(Packed::new(FIRST + MANY + 1))),
            table.take_packed(Arc::new(Packed::new(FIRST + MANY + 2))),
            table.take_packed(Arc::new(Packed::new(FIRST + MANY + 3))),
        ];
        for node in &used[..3] {
            node.seen_at(ROOT, &name(node.id), 2);
        }
        // One with two names, one that somebody locked, one that is about to be written to, and
        // one that has lost its name.
        used[0].seen_at(ROOT, c"another", 2);
        used[1].locked.store(true, Relaxed);
        let packed = used[2].packed.get().map(Arc::clone).expect("it is packed");
        packed.wrote();
        let numbers = used.each_ref().map(|node| node.id);
        drop(used);
        fill(&table);
        let awake: Vec<u64> = table.packed().iter().map(|node| node.id).collect();
        assert!(numbers.iter().all(|number| awake.contains(number)));
    }
}
