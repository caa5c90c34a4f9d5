//! What `/proc` says of a thread that waits for us: the words at its addresses, its descriptors, its
//! directories. It waits, so what is read holds still, unless others of its process change it.

use std::ffi::OsStr;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use forebay_os::proc::parse_fd_info;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, StatxFlags, openat, statx};

use super::places::{FileFacts, facts_at, open_directory};

/// The longest path, with its NUL.
const PATH_BYTES: usize = 4096;
/// Memory is read to the end of a page, for the next one may not be there.
const PAGE: u64 = 4096;
/// Pieces of one call that are added up (`IOV_MAX`).
const MOST_PIECES: u64 = 1024;

/// Position and flags of an open file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Position {
    pub(super) offset: u64,
    pub(super) flags: u32,
}

/// A thread.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target(pub(super) u32);

impl Target {
    fn read(self, address: u64, into: &mut [u8]) -> Option<usize> {
        let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
        let remote = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: into.len() };
        let pid = self.0 as libc::pid_t;
        let (ours, theirs) = (&raw const local, &raw const remote);
        // SAFETY: our own buffer, which lives, and an address of another process.
        let got = unsafe { libc::process_vm_readv(pid, ours, 1, theirs, 1, 0) };
        usize::try_from(got).ok()
    }

    /// The text at an address; `None`: it can't be read, or has no end.
    pub(super) fn read_path(self, address: u64) -> Option<Vec<u8>> {
        let mut path = Vec::new();
        let mut buffer = [0u8; 256];
        while path.len() < PATH_BYTES {
            let at = address + path.len() as u64;
            let most = (PAGE - at % PAGE).min(buffer.len() as u64) as usize;
            let got = self.read(at, &mut buffer[..most])?;
            if let Some(end) = buffer[..got].iter().position(|byte| *byte == 0) {
                path.extend_from_slice(&buffer[..end]);
                return Some(path);
            }
            path.extend_from_slice(&buffer[..got]);
            if got < most {
                return None;
            }
        }
        None
    }

    /// A number of 64 bits at an address.
    pub(super) fn read_number(self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        (self.read(address, &mut bytes)? == 8).then(|| u64::from_ne_bytes(bytes))
    }

    /// The sum of the lengths of the pieces of a readv(2).
    pub(super) fn sum_pieces(self, address: u64, count: u64) -> Option<u64> {
        let count = count.min(MOST_PIECES) as usize;
        let mut bytes = vec![0u8; count * 16];
        if self.read(address, &mut bytes)? < bytes.len() {
            return None;
        }
        let lengths = bytes.chunks_exact(16).filter_map(|piece| piece[8..].first_chunk());
        Some(lengths.fold(0, |sum: u64, length| sum.saturating_add(u64::from_ne_bytes(*length))))
    }

    /// What a descriptor is open on.
    pub(super) fn facts_of(self, fd: i32) -> Option<FileFacts> {
        facts_at(CWD, format!("/proc/{}/fd/{fd}", self.0).as_bytes(), true).ok()
    }

    /// The path of what a descriptor is open on.
    pub(super) fn path_of(self, fd: i32) -> Option<Vec<u8>> {
        let link = std::fs::read_link(format!("/proc/{}/fd/{fd}", self.0)).ok()?;
        Some(link.into_os_string().as_bytes().to_vec())
    }

    pub(super) fn position_of(self, fd: i32) -> Option<Position> {
        let path = format!("/proc/{}/fdinfo/{fd}", self.0);
        let open = openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
        // What is wanted are the first lines: locks and the like may follow.
        let mut text = [0; 512];
        let length = rustix::io::read(&open, &mut text).ok()?;
        let info = parse_fd_info(&text[..length])?;
        Some(Position { offset: info.position_bytes, flags: info.flags })
    }

    /// All descriptors that are open.
    pub(super) fn descriptors(self) -> Vec<i32> {
        let all = std::fs::read_dir(format!("/proc/{}/fd", self.0)).into_iter().flatten().flatten();
        let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let mut numbers: Vec<i32> = numbers.collect();
        numbers.sort_unstable();
        numbers
    }

    /// The threads of its process; mostly it is one, of which the link count tells.
    pub(super) fn threads(self) -> Vec<u32> {
        let path = format!("/proc/{}/task", self.0);
        let links = statx(CWD, &path, AtFlags::empty(), StatxFlags::NLINK);
        if links.is_ok_and(|stat| stat.stx_nlink == 3) {
            return vec![self.0];
        }
        let all = std::fs::read_dir(path).into_iter().flatten().flatten();
        all.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
    }

    /// A directory of its own: `cwd`, `root`, or `fd/N`.
    pub(super) fn open_directory(self, link: &str) -> Option<OwnedFd> {
        open_directory(CWD, format!("/proc/{}/{link}", self.0).as_bytes()).ok()
    }

    /// Number of its mount namespace, and what its root is.
    pub(super) fn root_facts(self) -> Option<(Vec<u8>, FileFacts)> {
        root_facts_of(&self.0.to_string())
    }

    /// Whether two processes have one table of descriptors.
    pub(super) fn shares_descriptors_with(self, other: u32) -> bool {
        const FILES: libc::c_int = 2;
        // SAFETY: plain numbers.
        unsafe { libc::syscall(libc::SYS_kcmp, self.0, other, FILES, 0, 0) == 0 }
    }

    /// Whether two descriptors are one open file; also where the kernel can't say it, for then
    /// their inodes, which were compared before, have to do.
    pub(super) fn is_same_open_file(self, fd: i32, other: u32, other_fd: i32) -> bool {
        const FILE: libc::c_int = 0;
        // SAFETY: plain numbers.
        unsafe { libc::syscall(libc::SYS_kcmp, self.0, other, FILE, fd, other_fd) <= 0 }
    }
}

/// Number of a process's mount namespace, and what its root is.
pub(super) fn root_facts_of(process: &str) -> Option<(Vec<u8>, FileFacts)> {
    let namespace = std::fs::read_link(format!("/proc/{process}/ns/mnt")).ok()?;
    let root = facts_at(CWD, format!("/proc/{process}/root").as_bytes(), true).ok()?;
    Some((namespace.into_os_string().as_bytes().to_vec(), root))
}

/// An absolute path of a thread's, in which the kernel would take `self` for us.
pub(super) fn absolute_path_of(thread: u32, process: u32, path: Vec<u8>) -> Vec<u8> {
    let standard = |number: u8| format!("/proc/{thread}/fd/{number}").into_bytes();
    match &path[..] {
        b"/dev/stdin" => return standard(0),
        b"/dev/stdout" => return standard(1),
        b"/dev/stderr" => return standard(2),
        _ => {}
    }
    let replaced: [(&[u8], String); 3] = [
        (b"/proc/self/", format!("/proc/{process}/")),
        (b"/proc/thread-self/", format!("/proc/{process}/task/{thread}/")),
        (b"/dev/fd/", format!("/proc/{thread}/fd/")),
    ];
    for (before, after) in replaced {
        if let Some(rest) = path.strip_prefix(before) {
            return [after.as_bytes(), rest].concat();
        }
    }
    path
}

/// A path below a directory whose mounts and root are another's.
pub(super) fn open_in_root(root: BorrowedFd<'_>, path: &[u8]) -> rustix::io::Result<OwnedFd> {
    use rustix::fs::{ResolveFlags, openat2};
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat2(root, OsStr::from_bytes(path), flags, Mode::empty(), ResolveFlags::IN_ROOT)
}

#[cfg(test)]
mod tests {
    //! If these fail, names are read wrongly, or those of Forebay itself are.
    use super::*;

    #[test]
    fn text_is_read_where_it_ends_and_not_where_there_is_none() {
        let me = Target(std::process::id());
        let long = [vec![b'x'; 3000], vec![0]].concat();
        assert_eq!(me.read_path(long.as_ptr() as u64), Some(vec![b'x'; 3000]));
        let endless = vec![b'y'; 9000];
        assert_eq!(me.read_path(endless.as_ptr() as u64), None);
        assert_eq!(me.read_path(16), None);
        let pieces: [u64; 4] = [0, 5, 0, 7];
        assert_eq!(me.sum_pieces(pieces.as_ptr() as u64, 2), Some(12));
    }

    #[test]
    fn self_is_the_program_and_not_forebay() {
        let path = |text: &str| {
            String::from_utf8(absolute_path_of(8, 7, text.as_bytes().to_vec())).expect("text")
        };
        assert_eq!(path("/proc/self/fd/3"), "/proc/7/fd/3");
        assert_eq!(path("/dev/fd/3"), "/proc/8/fd/3");
        assert_eq!(path("/dev/stdout"), "/proc/8/fd/1");
        assert_eq!(path("/proc/selfish"), "/proc/selfish");
    }
}
