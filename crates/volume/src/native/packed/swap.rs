//! Two packed names that change places (`RENAME_EXCHANGE`).

use std::sync::Arc;

use rustix::io::Errno;

use super::rename::At;
use crate::native::folder::Right;
use crate::native::{Native, Node, Result};
use forebay_packlog::Found;

impl Native {
    pub(super) fn swap_packed(
        &self,
        from: At<'_>,
        one: &Found,
        to: At<'_>,
        other: &Found,
    ) -> Result<Option<Arc<Node>>> {
        let (Some((pack, dir)), Some((_, new))) = (self.pack_of(from.dir), self.pack_of(to.dir))
        else {
            return Err(Errno::XDEV);
        };
        self.check(from.dir, from.fd, Right::Change)?;
        self.check(to.dir, to.fd, Right::Change)?;
        self.sync_before_naming_packed(one.ino)?;
        self.sync_before_naming_packed(other.ino)?;
        self.unhide(from, one)?;
        self.unhide(to, other)?;
        let now = pack.now();
        pack.swap((dir, from.name.to_bytes()), (new, to.name.to_bytes()), now)?;
        let (one, other) = (self.packed_node(one), self.packed_node(other));
        for (node, old, new) in [(&one, from, to), (&other, to, from)] {
            if let Some(node) = node {
                node.gone_from(old.dir.id, old.name);
                node.seen_at(new.dir.id, new.name, 2);
                node.rename_known();
            }
        }
        self.touch_both(from, to);
        Ok(one)
    }
}
