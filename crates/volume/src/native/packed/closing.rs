//! The end of a packed file's use: its working file goes back.

use super::{OpenWorkingFile, PackedFile};
use crate::native::{Native, Node};

impl Native {
    /// Puts the working file away when nobody has the file open. Bytes that the pack can't take
    /// (its tier is full) stay there, and are found after a kill, too.
    pub(super) fn release_working_file(
        &self,
        node: &Node,
        packed: &PackedFile,
        in_use: &mut Option<OpenWorkingFile>,
    ) {
        if node.open.lock().shared.is_open() {
            return;
        }
        *packed.kept.lock() = None;
        // Locks end with the last close; the working file is another's soon.
        self.posix_locks.drop_node_locks(node.id);
        let nameless = self.pack().and_then(|pack| pack.attributes_and_links(packed.ino).ok());
        if nameless.is_some_and(|(_, links)| links == 0) {
            return;
        }
        let Some(mut used) = in_use.take() else { return };
        match (self.commit_packed_content(packed, &mut used, false), self.pack()) {
            (Ok(()), Some(pack)) => pack.release_working_file(packed.ino, used.work),
            _ => *in_use = Some(used),
        }
    }

    /// The kernel has forgotten a packed file.
    pub(in crate::native) fn forget_packed(&self, packed: &PackedFile) {
        let Some(pack) = self.pack() else { return };
        let used = packed.in_use.lock().take();
        let body = used.as_ref().is_some_and(|used| pack.is_data_file(packed.ino, &used.work));
        pack.forget_inode(packed.ino);
        if let (Some(used), false) = (used, body) {
            pack.release_working_file(packed.ino, used.work);
        }
    }

    /// A handle of a packed file was closed.
    pub(in crate::native) fn close_packed_handle(&self, node: &Node) {
        if let Some(packed) = node.packed.get() {
            self.credentials.revert();
            self.release_working_file(node, packed, &mut packed.in_use.lock());
        }
    }
}
