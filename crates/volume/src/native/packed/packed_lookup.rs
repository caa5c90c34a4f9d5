//! Which packed file a name leads to, and which not any more: a file in place has it now.

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::OFlags;

use crate::native::{Native, Node, ROOT};
use forebay_os::file_identity::{reopen_with_flags, statx_nofollow};
use forebay_packlog::{DirKey, PackedEntry};

impl Native {
    /// The packed file that a name leads to.
    pub(in crate::native) fn find_packed_name(
        &self,
        dir: &Node,
        fd: BorrowedFd<'_>,
        name: &CStr,
    ) -> Option<PackedEntry> {
        let (pack, key) = self.pack_and_key(dir)?;
        let found = pack.lookup_name(key, name.to_bytes())?;
        let marks = [found.yields, found.lands];
        if marks == [None, None] {
            return Some(found);
        }
        let Ok(there) = statx_nofollow(fd, name).map(|stat| Some(DirKey::from_statx(&stat))) else {
            return Some(found);
        };
        if !marks.contains(&there) {
            return Some(found);
        }
        // A file that was packed goes from the pack when its bytes in place are safe, not before.
        if found.lands != there || self.sync_earlier_write_back() {
            // Even if the log takes no more: the file in place may move, and be another then.
            pack.remove_written_back_name(key, name.to_bytes());
        }
        None
    }

    /// Makes all safe that a homecoming, which was cut short, made of packed files. There is none
    /// while names are looked up, so once does for all.
    fn sync_earlier_write_back(&self) -> bool {
        *self.landed_safe.get_or_init(|| {
            let sync = || {
                let root = self.dir_fd(ROOT)?;
                let root = reopen_with_flags(root.as_fd(), OFlags::RDONLY | OFlags::DIRECTORY)?;
                rustix::fs::syncfs(root)
            };
            // Who asks need not be allowed to read the directory.
            let done = self.credentials.run_as_daemon(sync);
            done.inspect_err(|error| tracing::error!("making files in place durable: {error}"))
                .is_ok()
        })
    }
}
