//! Two packed names that change places (`RENAME_EXCHANGE`).

use std::sync::Arc;

use rustix::io::Errno;

use super::rename::NameInDirectory;
use crate::native::directory_cache::DirectoryRight;
use crate::native::{Native, Node, Result};
use forebay_packlog::PackedEntry;

impl Native {
    pub(super) fn swap_packed(
        &self,
        from: NameInDirectory<'_>,
        one: &PackedEntry,
        to: NameInDirectory<'_>,
        other: &PackedEntry,
    ) -> Result<Option<Arc<Node>>> {
        let (Some((pack, dir)), Some((_, new))) =
            (self.pack_and_key(from.dir), self.pack_and_key(to.dir))
        else {
            return Err(Errno::XDEV);
        };
        self.check_directory_right(from.dir, from.fd, DirectoryRight::Change)?;
        self.check_directory_right(to.dir, to.fd, DirectoryRight::Change)?;
        self.sync_before_naming_packed(one.ino)?;
        self.sync_before_naming_packed(other.ino)?;
        self.remove_hidden_file(from, one)?;
        self.remove_hidden_file(to, other)?;
        let now = pack.timestamp_now();
        pack.exchange_names((dir, from.name.to_bytes()), (new, to.name.to_bytes()), now)?;
        let (one, other) = (self.packed_node(one), self.packed_node(other));
        for (node, old, new) in [(&one, from, to), (&other, to, from)] {
            if let Some(node) = node {
                node.remove_name(old.dir.id, old.name);
                node.note_name(new.dir.id, new.name, 2);
                node.invalidate_recorded_path();
            }
        }
        self.touch_both(from, to);
        Ok(one)
    }
}
