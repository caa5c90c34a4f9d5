//! Opening packed files: a working file with their bytes.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use rustix::fs::{Mode, OFlags, Statx, fchmod};
use rustix::io::Errno;

use super::{OpenWorkingFile, PackedFile, SET_ID, opens_for_writing, set_working_times};
use crate::native::open::backing_flags;
use crate::native::{Native, Node, OpenReply, Result};
use forebay_packlog::{Attr, Pack};

impl Native {
    /// Opens a packed file.
    pub(in crate::native) fn open_packed(
        &self,
        node: &Arc<Node>,
        packed: &PackedFile,
        flags: u32,
    ) -> Result<OpenReply> {
        let pack = self.pack().ok_or(Errno::STALE)?;
        let (attr, _) = packed.attributes_and_links(pack)?;
        self.check_mode(&attr, backing_flags(flags), flags)?;
        if let Some(opened) = self.open_from_log(node, packed, pack, &attr, flags)? {
            return Ok(opened);
        }
        let how = self.backing_open_flags(flags);
        let mut in_use = packed.in_use.lock();
        let (file, mut stat) = match self.open_working_file(pack, packed, &mut in_use, &attr, how) {
            Ok(reached) => reached,
            Err(error) => {
                self.release_working_file(node, packed, &mut in_use);
                return Err(error);
            }
        };
        // The working file is new; its bytes need not be.
        (stat.stx_ctime.tv_sec, stat.stx_ctime.tv_nsec) = (attr.ctime.sec, attr.ctime.nsec);
        override_rights(&mut stat, &attr);
        self.register_open(node, file, flags, &stat)
    }

    pub(super) fn open_working_file(
        &self,
        pack: &Pack,
        packed: &PackedFile,
        in_use: &mut Option<OpenWorkingFile>,
        attr: &Attr,
        how: OFlags,
    ) -> Result<(OwnedFd, Statx)> {
        self.credentials.revert();
        let used = match in_use {
            Some(used) => used,
            none => {
                let (work, newer) = self.with_free_descriptors(|| {
                    pack.prepare_working_file(packed.ino, opens_for_writing(how))
                })?;
                if newer {
                    packed.mark_dirty();
                }
                let is_body = pack.is_data_file(packed.ino, &work);
                let used = match is_body || newer {
                    true => {
                        set_working_times(&work, attr.atime, attr.mtime)?;
                        OpenWorkingFile::new(work, false)?
                    }
                    // Of one that is filled from the log nobody asks for times before it is written.
                    false => OpenWorkingFile::new_filled(work, false),
                };
                packed.body.store(is_body, Relaxed);
                none.insert(used)
            }
        };
        if opens_for_writing(how) {
            self.begin_packed_write(pack, packed, used, attr)?;
        }
        let again = || pack.reopen_working_file(&used.work, how);
        let file = self.with_free_descriptors(again)?;
        let stat = match packed.has_own_data_file() {
            true => used.stat_working_file()?,
            false => self.statx_from_attr(packed.ino, attr, 1),
        };
        Ok((file, stat))
    }

    /// From now on the working file may be written to.
    fn begin_packed_write(
        &self,
        pack: &Pack,
        packed: &PackedFile,
        used: &mut OpenWorkingFile,
        attr: &Attr,
    ) -> Result<()> {
        if !used.begun {
            pack.begin_writing(packed.ino, &used.work)?;
            used.begun = true;
        }
        copy_set_id_bits(used, attr)
    }
}

/// Who may write a working file is for its packed file to say, not for its own mode: the kernel
/// writes to it with the rights of one of them.
pub(super) fn override_rights(stat: &mut Statx, attr: &Attr) {
    stat.stx_mode = (libc::S_IFREG | attr.mode & 0o7777) as _;
    (stat.stx_uid, stat.stx_gid) = (attr.uid, attr.gid);
}

/// Gives the working file the set-id bits, for the kernel to take away with a write.
pub(super) fn copy_set_id_bits(used: &mut OpenWorkingFile, attr: &Attr) -> Result<()> {
    if attr.mode & SET_ID != 0 {
        let kept = if attr.mode & 0o010 != 0 { SET_ID } else { 0o4000 };
        used.work.mode_changed = true;
        fchmod(&used.work.file, Mode::from_raw_mode(0o666 | attr.mode & (kept | 0o010)))?;
        used.set_id = u32::from(used.stat_working_file()?.stx_mode) & SET_ID;
        used.note_own_change()?;
    }
    Ok(())
}
