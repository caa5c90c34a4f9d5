//! Requests about open files of a shared volume.

use std::sync::atomic::Ordering::Relaxed;

use forebay_book::{EntryName, FileKind, InodeNumber};
use forebay_sharing::{AttributeChange, BytesPlace, Seen};
use rustix::io::Errno;
use zerocopy::IntoBytes;

use super::super::abi;
use super::super::session::{MOST_BYTES, parse_name};
use super::{Asked, SharedSession, entry_of};
use crate::native::{Kernel, Result};

/// The bit in the handle of a file that is open to be written.
const WRITES: u64 = 1;

/// Whether an open file may be written.
fn may_write(flags: u32) -> bool {
    flags.cast_signed() & libc::O_ACCMODE != libc::O_RDONLY
}

/// Whether a write goes to the end of its file. Pages of a mapping go where they are.
fn goes_to_the_end(ask: &abi::WriteIn) -> bool {
    ask.flags.cast_signed() & libc::O_APPEND != 0 && ask.write_flags & abi::WRITE_CACHE == 0
}

impl SharedSession {
    fn opened(&self, writes: bool, open_flags: u32) -> abi::OpenOut {
        let number = self.next_handle.fetch_add(1, Relaxed) << 1;
        let fh = number | if writes { WRITES } else { 0 };
        abi::OpenOut { fh, open_flags, backing_id: 0 }
    }

    pub(super) fn create(&self, asked: &Asked<'_>) -> Result<()> {
        let (ask, rest) = asked.parse::<abi::CreateIn>()?;
        let (name, _) = parse_name(rest)?;
        let name = EntryName::new(name.to_bytes()).map_err(|_| match name.count_bytes() > 255 {
            true => Errno::NAMETOOLONG,
            false => Errno::INVAL,
        })?;
        let seen = self.create_or_find(asked, &name, ask)?;
        let writes = may_write(ask.flags);
        if let Err(error) = self.node.open(seen.file, writes) {
            self.node.forget(seen.file, 1);
            return Err(error);
        }
        asked.reply(&[entry_of(&seen).as_bytes(), self.opened(writes, 0).as_bytes()])
    }

    fn create_or_find(
        &self,
        asked: &Asked<'_>,
        name: &EntryName,
        ask: &abi::CreateIn,
    ) -> Result<Seen> {
        let mode = ask.mode & !ask.umask;
        let exclusive = ask.flags.cast_signed() & libc::O_EXCL != 0;
        match self.make_file(asked, name, FileKind::Regular, (mode, 0, Vec::new())) {
            // Another node made it since the kernel looked.
            Err(Errno::EXIST) if !exclusive => {
                let found = self.node.look_up(asked.folder(), name)?.ok_or(Errno::STALE)?;
                if found.kind != FileKind::Regular {
                    self.node.forget(found.file, 1);
                    return Err(Errno::EXIST);
                }
                Ok(found)
            }
            made => made,
        }
    }

    pub(super) fn open(&self, asked: &Asked<'_>) -> Result<()> {
        let (ask, _) = asked.parse::<abi::OpenIn>()?;
        let writes = may_write(ask.flags);
        self.node.open(asked.file(), writes)?;
        let flags = if self.has_cached(asked.file()) { abi::fopen::KEEP_CACHE } else { 0 };
        asked.reply(&[self.opened(writes, flags).as_bytes()])
    }

    /// Whether what the kernel remembers of a file's bytes is still right: they were read from the same
    /// object when it was opened the last time, and no object is ever changed.
    fn has_cached(&self, file: InodeNumber) -> bool {
        let place = self.node.bytes_place(file);
        let mut cached = self.cached_objects.lock();
        match place {
            BytesPlace::Object { name, .. } => match cached.insert(file, name.clone()) {
                Some(before) => before == name,
                None => false,
            },
            BytesPlace::Here | BytesPlace::Elsewhere => {
                cached.remove(&file);
                false
            }
        }
    }

    pub(super) fn read(&self, asked: &Asked<'_>) -> Result<()> {
        let (ask, _) = asked.parse::<abi::ReadIn>()?;
        let size = (ask.size as usize).min(MOST_BYTES);
        let bytes = self.node.read(asked.file(), ask.offset, size)?;
        asked.moved.set(bytes.len() as u64);
        asked.reply(&[&bytes])
    }

    pub(super) fn write(&self, asked: &Asked<'_>) -> Result<()> {
        let (ask, rest) = asked.parse::<abi::WriteIn>()?;
        let bytes = rest.get(..ask.size as usize).ok_or(Errno::INVAL)?;
        let offset = match goes_to_the_end(ask) {
            true => self.node.append(asked.file(), bytes)?,
            false => {
                self.node.write(asked.file(), ask.offset, bytes)?;
                ask.offset
            }
        };
        asked.moved.set(bytes.len() as u64);
        if ask.write_flags & abi::WRITE_KILL_SUIDGID != 0 {
            self.drop_set_id_bits(asked)?;
        }
        asked.reply(&[abi::WriteOut { size: ask.size, padding: 0 }.as_bytes()])?;
        if offset != ask.offset {
            // The kernel has put them where it thought that the end is.
            asked.device.invalidate_node(asked.header.nodeid, true);
        }
        Ok(())
    }

    /// Who changes a file may not be who its set-id bits speak for (chown(2), write(2)).
    pub(super) fn drop_set_id_bits(&self, asked: &Asked<'_>) -> Result<()> {
        let seen = self.node.attributes(asked.file())?;
        let is_group_bit = seen.mode & 0o2010 == 0o2010;
        let bits = 0o4000 | if is_group_bit { 0o2000 } else { 0 };
        if seen.kind == FileKind::Regular && seen.mode & bits != 0 {
            let change = AttributeChange { mode: Some(seen.mode & !bits), ..Default::default() };
            self.node.set_attributes(asked.file(), change)?;
        }
        Ok(())
    }

    pub(super) fn flush(&self, asked: &Asked<'_>) -> Result<()> {
        let (ask, _) = asked.parse::<abi::FlushIn>()?;
        let flushed = self.node.flush(asked.file());
        let unlocked = self.end_locks_at_close(asked.file(), ask.lock_owner);
        flushed.and(unlocked)?;
        asked.reply(&[])
    }

    pub(super) fn release(&self, asked: &Asked<'_>) -> Result<()> {
        let (ask, _) = asked.parse::<abi::ReleaseIn>()?;
        self.end_locks_at_release(asked.file(), ask);
        self.node.release(asked.file(), ask.fh & WRITES != 0);
        asked.reply(&[])
    }

    pub(super) fn fsync(&self, asked: &Asked<'_>) -> Result<()> {
        self.node.fsync(asked.file())?;
        asked.reply(&[])
    }
}
