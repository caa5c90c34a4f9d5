//! The end of a packed file's use: its working file goes back.

use super::{InUse, Packed};
use crate::native::{Native, Node};

impl Native {
    /// Puts the working file away when nobody has the file open. Bytes that the pack can't take
    /// (its tier is full) stay there, and are found after a kill, too.
    pub(super) fn put_away(&self, node: &Node, packed: &Packed, in_use: &mut Option<InUse>) {
        if node.open.lock().shared.is_open() {
            return;
        }
        // Locks end with the last close; the working file is another's soon.
        self.posix_locks.drop_node(node.id);
        let nameless = self.pack().and_then(|pack| pack.attr(packed.ino).ok());
        if nameless.is_some_and(|(_, links)| links == 0) {
            return;
        }
        let Some(mut used) = in_use.take() else { return };
        match (self.settle_packed(packed, &mut used, false), self.pack()) {
            (Ok(()), Some(pack)) => pack.done(packed.ino, used.work),
            _ => *in_use = Some(used),
        }
    }

    /// The kernel has forgotten a packed file.
    pub(in crate::native) fn forget_packed(&self, packed: &Packed) {
        let Some(pack) = self.pack() else { return };
        let used = packed.in_use.lock().take();
        let body = used.as_ref().is_some_and(|used| pack.is_body(packed.ino, &used.work));
        pack.forget(packed.ino);
        if let (Some(used), false) = (used, body) {
            pack.done(packed.ino, used.work);
        }
    }

    /// A handle of a packed file was closed.
    pub(in crate::native) fn closed_packed(&self, node: &Node) {
        if let Some(packed) = node.packed.get() {
            self.credentials.revert();
            self.put_away(node, packed, &mut packed.in_use.lock());
        }
    }
}
