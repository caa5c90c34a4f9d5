//! The inode numbers of files that have moved: programs go on seeing the one that a file had, as long
//! as the kernel knows it, and no other file has that number meanwhile.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::Statx;

use super::{Table, key};
use crate::native::node::{Identity, Node};

impl Table {
    /// A node is another file from now on, and shows the number that it had. False if the kernel
    /// does not know it any more.
    pub(in crate::native) fn moved(
        &self,
        node: &Arc<Node>,
        to: Identity,
        (shown, since): (&Statx, &Statx),
    ) -> bool {
        let mut maps = self.maps.write();
        if !maps.by_id.get(&node.id).is_some_and(|known| Arc::ptr_eq(known, node)) {
            return false;
        }
        let was = node.identity();
        if maps.by_identity.get(&key(was)).is_some_and(|other| other.id == node.id) {
            maps.by_identity.remove(&key(was));
        }
        node.guise.moved(shown, since);
        maps.lent.insert(shown.stx_ino, Arc::clone(node));
        *node.identity.write() = to;
        maps.by_identity.insert(key(to), Arc::clone(node));
        true
    }

    /// Keeps the inode that a moved file was, so that no other file gets its number; the oldest go
    /// when there are too many, and lose their number if the file system gives it away.
    pub(in crate::native) fn keep_number(&self, node: &Arc<Node>, was: OwnedFd) {
        let mut place = node.place.lock();
        if place.was.is_some() {
            return;
        }
        place.was = Some(was);
        drop(place);
        let mut numbered = self.numbered.lock();
        numbered.push_back(node.id);
        while numbered.len() > self.most_pinned / 2 {
            let oldest = numbered.pop_front().and_then(|id| self.get(id));
            oldest.iter().for_each(|node| node.place.lock().was = None);
        }
    }

    /// The number by which programs know the file that has this one now.
    pub(crate) fn shown_number(&self, device: u64, inode: u64) -> u64 {
        let maps = self.maps.read();
        if maps.lent.is_empty() {
            return inode;
        }
        let node = maps.by_identity.get(&(device, inode));
        node.and_then(|node| node.guise.number()).unwrap_or(inode)
    }
}
