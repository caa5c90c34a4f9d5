//! Packed files that are only read: their bytes come from the log, and no working file is filled for
//! them. Once somebody writes such a file, or asks for what only an open file has (a lock, a hole),
//! there is a working file, and all who have it open read that.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::PackedFile;
use crate::native::kept_content::KeptContent;
use crate::native::node::HandleFile;
use crate::native::{FileHandle, Native, Node, OpenReply, ROOT, Result};
use forebay_packlog::{Attr, Pack};

/// Longer files, in bytes, get a working file: they would be read whole for a part of them.
const SHORT: u64 = 16 << 10;
impl Native {
    /// Opens a file whose bytes are read from the log; `None`: it gets a working file.
    ///
    /// # Errors
    /// EIO when the log has other bytes than were written.
    pub(super) fn open_from_log(
        &self,
        node: &Arc<Node>,
        packed: &PackedFile,
        pack: &Pack,
        attr: &Attr,
        flags: u32,
    ) -> Result<Option<OpenReply>> {
        let reads = self.backing_open_flags(flags) & OFlags::ACCMODE == OFlags::RDONLY;
        if !reads || attr.size > SHORT || self.collects_writes() || node.locked.load(Relaxed) {
            return Ok(None);
        }
        // Who makes a working file holds this lock.
        let in_use = packed.in_use.lock();
        if in_use.is_some() || !pack.is_content_in_log(packed.ino) {
            return Ok(None);
        }
        let mut kept = packed.kept.lock();
        if kept.is_none() {
            let content = pack.read_content(packed.ino)?;
            if content.len() as u64 != attr.size {
                return Ok(None);
            }
            let Some(content) = KeptContent::try_new(content) else { return Ok(None) };
            *kept = Some(content);
        }
        drop(kept);
        // It stands for the file, which is nowhere else.
        let stands_for = self.dir_fd(ROOT)?;
        let stat = self.statx_from_attr(packed.ino, attr, 1);
        self.register_open_of(node, (stands_for, HandleFile::Log), flags, &stat).map(Some)
    }

    /// Reads for a handle that has no file of its own; `None`: it is to get one.
    pub(in crate::native) fn read_from_log(
        &self,
        handle: &FileHandle,
        offset: u64,
        buffer: &mut [u8],
    ) -> Option<Result<usize>> {
        if handle.kind != HandleFile::Log
            || handle.opened.get().is_some()
            || handle.node.locked.load(Relaxed)
        {
            return None;
        }
        let packed = handle.node.packed.get()?;
        let in_use = packed.in_use.lock();
        if in_use.is_some() {
            return None;
        }
        let kept = packed.kept.lock();
        kept.as_ref().map(|kept| Ok(kept.copy_part(offset, buffer)))
    }

    /// A file of its own for a handle that had none.
    ///
    /// # Errors
    /// EIO, ENOSPC and the like.
    pub(in crate::native) fn open_working_file_late(
        &self,
        handle: &FileHandle,
    ) -> Result<std::os::fd::OwnedFd> {
        let (pack, packed) = self.pack().zip(handle.node.packed.get()).ok_or(Errno::STALE)?;
        let (attr, _) = packed.attributes_and_links(pack)?;
        let how = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        self.credentials.run_as_daemon(|| {
            let mut in_use = packed.in_use.lock();
            self.open_working_file(pack, packed, &mut in_use, &attr, how).map(|(file, _)| file)
        })
    }
}
