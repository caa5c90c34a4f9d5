//! The inode numbers of files that have moved, and of those on tiers that have lost their name:
//! programs go on seeing the one that a file had, as long as the kernel knows it, and no other file
//! has that number meanwhile.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::Statx;

use super::{NodeTable, identity_key};
use crate::native::node::Node;
use forebay_os::file_identity::FileIdentity;

impl NodeTable {
    /// A node is another file from now on, and shows the number that it had. False if the kernel
    /// does not know it any more.
    pub(in crate::native) fn change_identity(
        &self,
        node: &Arc<Node>,
        to: FileIdentity,
        (shown, since): (&Statx, &Statx),
    ) -> bool {
        let mut maps = self.maps.write();
        if !maps.by_id.get(&node.id).is_some_and(|known| Arc::ptr_eq(known, node)) {
            return false;
        }
        let was = node.identity();
        if maps.by_identity.get(&identity_key(was)).is_some_and(|other| other.id == node.id) {
            maps.by_identity.remove(&identity_key(was));
        }
        node.guise.record_move(shown, since);
        maps.lent.insert((was.device, shown.stx_ino), Arc::clone(node));
        *node.identity.write() = to;
        maps.by_identity.insert(identity_key(to), Arc::clone(node));
        true
    }

    /// Keeps the inode whose number a file shows and that has no name, so that no other gets it. The
    /// oldest go when there are too many, and lose their number if the file system gives it away.
    pub(in crate::native) fn keep_old_inode(&self, node: &Arc<Node>, was: OwnedFd) {
        let mut place = node.place.lock();
        if place.was.is_some() {
            return;
        }
        place.was = Some(was);
        drop(place);
        let mut numbered = self.numbered.lock();
        numbered.push_back(node.id);
        let most = self.most_pinned / 2;
        if numbered.len() > most {
            // Those that the kernel has forgotten first.
            numbered.retain(|id| self.get(*id).is_some());
            let too_many = numbered.len().saturating_sub(most * 3 / 4);
            for oldest in numbered.drain(..too_many).filter_map(|id| self.get(id)) {
                oldest.place.lock().was = None;
            }
        }
    }

    /// The number by which programs know the file that has this one now.
    pub(crate) fn exposed_inode(&self, device: u64, inode: u64) -> u64 {
        let maps = self.maps.read();
        if maps.lent.is_empty() {
            return inode;
        }
        let node = maps.by_identity.get(&(device, inode));
        node.and_then(|node| node.guise.exposed_inode()).unwrap_or(inode)
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use rustix::fs::{CWD, Mode, OFlags, openat};

    use super::*;
    use forebay_os::file_identity::{device_number, statx_nofollow};

    #[test]
    fn a_number_is_lost_to_a_file_of_the_same_device_only() {
        let dir = tempfile::tempdir().expect("made");
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = openat(CWD, dir.path(), flags, Mode::empty()).expect("there");
        let stat = statx_nofollow(root.as_fd(), c"").expect("there");
        let device = device_number(&stat);
        let file = |minor: u32, ino: u64| {
            let mut file = stat;
            file.stx_mode = libc::S_IFREG as u16;
            (file.stx_dev_minor, file.stx_ino) = (stat.stx_dev_minor + minor, ino);
            file
        };
        let table = NodeTable::new(root, &stat);
        let (before, since) = (file(0, u64::MAX - 7), file(0, u64::MAX - 8));
        let node = table.reference_node(&before);
        assert!(table.change_identity(&node, FileIdentity::from_statx(&since), (&before, &since)));
        // Subvolumes of btrfs have the numbers of each other.
        let other = table.reference_node(&file(1, before.stx_ino));
        assert_ne!(other.id, node.id);
        assert_eq!(table.exposed_inode(device, since.stx_ino), before.stx_ino);
        // One of its own device has the number from now on.
        let last = table.reference_node(&before);
        assert_eq!(table.exposed_inode(device, since.stx_ino), since.stx_ino);
        assert!(![node.id, other.id].contains(&last.id));
    }

    #[test]
    fn a_number_ends_with_its_node() {
        let dir = tempfile::tempdir().expect("made");
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = openat(CWD, dir.path(), flags, Mode::empty()).expect("there");
        let stat = statx_nofollow(root.as_fd(), c"").expect("there");
        let mut before = stat;
        before.stx_ino = u64::MAX - 7;
        let mut since = stat;
        since.stx_ino = u64::MAX - 8;
        let table = NodeTable::new(root, &stat);
        let node = table.reference_node(&before);
        assert!(table.change_identity(&node, FileIdentity::from_statx(&since), (&before, &since)));
        assert!(table.forget(node.id, 1).is_some());
        assert!(table.maps.read().lent.is_empty());
    }
}
