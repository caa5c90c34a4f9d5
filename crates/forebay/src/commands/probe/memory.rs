//! Past the memory of this machine: what it would answer says nothing of the storage.

use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::{Advice, OFlags, fadvise};
use rustix::io::Errno;

use super::bounds::ProbeStop;
use super::calls::ThreadDirectory;

/// So much of a file in memory is an accident.
const LITTLE: f64 = 0.05;

/// Opens a file whose bytes are safe, so that reads go to the storage; `None`: memory would answer.
pub(super) fn open_past_memory(
    caller: &ThreadDirectory<'_>,
    name: &str,
    bytes: usize,
    random: bool,
) -> Result<Option<OwnedFd>, ProbeStop> {
    let found = caller.lookup_name(name)?.0;
    if random && let Some(file) = open_direct(caller, &found, OFlags::RDONLY)? {
        return Ok(Some(file));
    }
    let file = caller.open(&found, OFlags::RDONLY)?.0;
    drop_from_memory(&file, random);
    if share_in_memory(&file, bytes) <= LITTLE {
        return Ok(Some(file));
    }
    open_direct(caller, &found, OFlags::RDONLY)
}

/// The same past memory by agreement; `None`: this file system does not agree.
pub(super) fn open_direct(
    caller: &ThreadDirectory<'_>,
    found: &OwnedFd,
    access: OFlags,
) -> Result<Option<OwnedFd>, ProbeStop> {
    match caller.open(found, access | OFlags::DIRECT) {
        Ok((file, _)) => Ok(Some(file)),
        Err(ProbeStop::Failed(_, Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS)) => Ok(None),
        Err(halt) => Err(halt),
    }
}

/// Lets memory go of what is safe of a file.
pub(super) fn drop_from_memory(file: &OwnedFd, random: bool) {
    // Advice may be ignored; whether it was, is looked at.
    let _ = fadvise(file, 0, None, Advice::DontNeed);
    if random {
        let _ = fadvise(file, 0, None, Advice::Random);
    }
}

/// Which part of a file memory has; all of it where nobody can tell.
fn share_in_memory(file: &OwnedFd, bytes: usize) -> f64 {
    let page = rustix::param::page_size();
    let mut there = vec![0_u8; bytes.div_ceil(page)];
    // SAFETY: a new mapping of a file that is open and of that length, which nobody touches; the list
    // has a byte for each of its pages.
    let told = unsafe {
        let (share, fd) = (libc::MAP_SHARED, file.as_raw_fd());
        let map = libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ, share, fd, 0);
        if map == libc::MAP_FAILED {
            return 1.0;
        }
        let told = libc::mincore(map, bytes, there.as_mut_ptr());
        libc::munmap(map, bytes);
        told
    };
    let count = there.iter().filter(|page| **page & 1 == 1).count();
    if told == 0 { count as f64 / there.len() as f64 } else { 1.0 }
}

/// Bytes at an address that direct reads and writes ask for, which nothing makes smaller.
#[derive(Debug)]
pub(super) struct AlignedBuffer {
    bytes: Vec<u8>,
    from: usize,
    len: usize,
    state: u64,
}

const ALIGNED: usize = 4096;

impl AlignedBuffer {
    pub(super) fn new(len: usize, seed: u64) -> Self {
        let bytes = vec![0; len + ALIGNED];
        let from = bytes.as_ptr().align_offset(ALIGNED);
        let mut buffer = Self { bytes, from, len, state: seed.wrapping_mul(2) + 1 };
        let mut rest = [0_u8; 8];
        for at in 0..len {
            if at % 8 == 0 {
                rest = buffer.next_random().to_le_bytes();
            }
            buffer.bytes[from + at] = rest[at % 8];
        }
        buffer
    }

    /// A number that looks random (xorshift).
    pub(super) fn next_random(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }

    /// The bytes, each page unlike all before: a storage that compresses or deduplicates has to
    /// store them like others.
    pub(super) fn fresh_bytes(&mut self, len: usize) -> &[u8] {
        for page in (0..len).step_by(ALIGNED) {
            let stamp = self.next_random().to_le_bytes();
            let at = self.from + page;
            self.bytes[at..at + 8].copy_from_slice(&stamp);
        }
        &self.bytes[self.from..self.from + len]
    }

    pub(super) fn space_for_read(&mut self, len: usize) -> &mut [u8] {
        debug_assert!(len <= self.len, "a buffer has its length");
        &mut self.bytes[self.from..self.from + len]
    }
}
