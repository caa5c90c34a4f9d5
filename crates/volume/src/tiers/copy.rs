//! Copies of files: bytes with their holes, owner, mode, times, attributes and access control lists.

use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, SeekFrom, chmodat, copy_file_range, ftruncate, openat, seek,
    unlinkat,
};
use rustix::io::Errno;

use super::{TieredFile, Tiers, attributes};
use forebay_os::file_identity::{proc_fd_path, statx_nofollow};
use forebay_packlog::Pack;

/// Bytes that one system call copies; more would make a kill, and who looks on, wait.
const STEP: usize = 4 << 20;

/// Hears of bytes as they are copied, and may end it.
pub(super) type CopyObserver<'a> = &'a dyn Fn(u64) -> Result<(), Errno>;

/// The name that a file has on its way, in the directory where it arrives: two bodies, of whatever
/// rooms, never have the same.
pub(super) fn staging_name(placed: &TieredFile) -> CString {
    let mut passing = format!(".forebay.{}.", placed.room).into_bytes();
    passing.extend_from_slice(placed.key.to_bytes());
    CString::new(passing).expect("a name holds no NUL")
}

/// Copies a body into `dir`; tells the name of the copy, which is not safe yet.
///
/// # Errors
/// The two file systems'; nothing is left then.
pub(super) fn copy_data_file(
    tiers: &Tiers,
    placed: &TieredFile,
    dir: BorrowedFd<'_>,
    step: CopyObserver<'_>,
) -> Result<CString, Errno> {
    let (body, mode) = open_readable(tiers, placed)?;
    let name = staging_name(placed);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let first_mode = attributes::initial_mode(&body, mode)?;
    let make = || openat(dir, &name, flags, first_mode);
    let file = match make() {
        // A copy that an earlier, killed, homecoming began.
        Err(Errno::EXIST) => {
            unlinkat(dir, &name, AtFlags::empty())?;
            make()?
        }
        made => made?,
    };
    match copy_bytes(&body, &file, step)
        .and_then(|()| attributes::copy_attributes(&body, &file, mode))
    {
        Ok(()) => Ok(name),
        Err(error) => {
            let _ = unlinkat(dir, &name, AtFlags::empty());
            Err(error)
        }
    }
}

/// Opens a body to read, and tells its mode; its owner may have taken the right to read away.
pub(super) fn open_readable(tiers: &Tiers, placed: &TieredFile) -> Result<(OwnedFd, u32), Errno> {
    let held = tiers.open_data_file(placed, OFlags::PATH)?;
    let mode = u32::from(statx_nofollow(held.as_fd(), c"")?.stx_mode) & 0o7777;
    match tiers.open_data_file(placed, OFlags::RDONLY) {
        Err(Errno::ACCESS) => {
            let change = |mode| {
                let path = proc_fd_path(held.as_fd());
                chmodat(CWD, path, Mode::from_raw_mode(mode), AtFlags::empty())
            };
            change(mode | 0o400)?;
            let body = tiers.open_data_file(placed, OFlags::RDONLY);
            change(mode)?;
            Ok((body?, mode))
        }
        other => Ok((other?, mode)),
    }
}

/// The bytes, hole by hole.
pub(super) fn copy_bytes(
    from: &OwnedFd,
    to: &OwnedFd,
    told: CopyObserver<'_>,
) -> Result<(), Errno> {
    let size = statx_nofollow(from.as_fd(), c"")?.stx_size;
    let mut at = 0;
    while at < size {
        let start = match seek(from, SeekFrom::Data(at)) {
            Ok(start) => start,
            // The rest is a hole.
            Err(Errno::NXIO) => return ftruncate(to, size),
            // A file system that knows no holes.
            Err(Errno::INVAL) => at,
            Err(error) => return Err(error),
        };
        let end = match seek(from, SeekFrom::Hole(start)) {
            Ok(end) => end.min(size),
            Err(_) => size,
        };
        copy_range(from, to, start, end, told)?;
        at = end.max(start + 1);
    }
    Ok(())
}

/// The bytes of a packed file, wherever they are.
pub(super) fn packed_bytes(pack: &Pack, ino: u64, to: &OwnedFd) -> Result<(), Errno> {
    match pack.open_working_file(ino)? {
        Some(work) => copy_bytes(&work.file, to, &|_| Ok(())),
        None => write_all(to, &pack.read_content(ino)?),
    }
}

fn write_all(file: &OwnedFd, bytes: &[u8]) -> Result<(), Errno> {
    let mut done = 0;
    while done < bytes.len() {
        match rustix::io::pwrite(file, &bytes[done..], done as u64) {
            Ok(0) => return Err(Errno::IO),
            Ok(count) => done += count,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn copy_range(
    from: &OwnedFd,
    to: &OwnedFd,
    start: u64,
    end: u64,
    told: CopyObserver<'_>,
) -> Result<(), Errno> {
    let (mut read_at, mut write_at) = (start, start);
    while read_at < end {
        let step = usize::try_from(end - read_at).unwrap_or(STEP).min(STEP);
        match copy_file_range(from, Some(&mut read_at), to, Some(&mut write_at), step) {
            Ok(count) if count > 0 => told(count as u64)?,
            Err(Errno::INTR) => {}
            // Some file systems say "nothing" when they mean "not I".
            Ok(_) | Err(Errno::XDEV | Errno::NOSYS | Errno::OPNOTSUPP | Errno::INVAL) => {
                return copy_with_buffer(from, to, read_at, end, told);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn copy_with_buffer(
    from: &OwnedFd,
    to: &OwnedFd,
    mut at: u64,
    end: u64,
    told: CopyObserver<'_>,
) -> Result<(), Errno> {
    let mut buffer = vec![0u8; 1 << 20];
    while at < end {
        let want = buffer.len().min(usize::try_from(end - at).unwrap_or(usize::MAX));
        let count = match rustix::io::pread(from, &mut buffer[..want], at) {
            // Shorter than it says: no copy of it would be whole.
            Ok(0) => return Err(Errno::IO),
            Ok(count) => count,
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error),
        };
        let mut written = 0;
        while written < count {
            match rustix::io::pwrite(to, &buffer[written..count], at + written as u64) {
                Ok(0) => return Err(Errno::IO),
                Ok(more) => written += more,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        at += count as u64;
        told(count as u64)?;
    }
    Ok(())
}
