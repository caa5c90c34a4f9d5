//! What an earlier run or mount left behind.

use std::ffi::CString;
use std::os::fd::AsFd;

use rustix::fs::OFlags;

use crate::native::tiered_view::boot_nanos;
use crate::native::{Native, ROOT};
use forebay_os::file_identity::reopen_with_flags;

impl Native {
    /// Files that an earlier run or mount left on their tier, because it was killed, come home too:
    /// nobody may ever open and close them again.
    pub(super) fn queue_leftover_files(&self) {
        let (Some(tiers), Ok(root)) = (&self.tiers, self.dir_fd(ROOT)) else { return };
        let Ok(root) = reopen_with_flags(root.as_fd(), OFlags::RDONLY | OFlags::DIRECTORY) else {
            return;
        };
        for path in tiers.leftover_paths(&root) {
            let (mut id, mut known) = (ROOT, Vec::new());
            for name in path.split(|byte| *byte == b'/') {
                let found = CString::new(name).ok().and_then(|name| self.lookup(id, &name).ok());
                let Some((entry, Some(_))) = found else { break };
                id = entry.node;
                known.push(id);
            }
            self.queue_migration(id, boot_nanos());
            known.iter().for_each(|id| self.forget(*id, 1));
        }
    }
}
