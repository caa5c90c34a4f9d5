//! The kernel's side of the FUSE conversation as plain structs: the layout that `/dev/fuse` reads
//! and writes, protocol 7.31 to 7.45. It holds no behaviour.
//!
//! Source: `include/uapi/linux/fuse.h` of Linux 6.18; names follow it so that kernel docs apply.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Protocol version that this program speaks; the kernel falls back to it when newer.
pub(crate) const VERSION: (u32, u32) = (7, 41);
/// Oldest minor version of the kernel's protocol with everything we rely on (Linux 5.4).
pub(crate) const OLDEST_MINOR: u32 = 31;

/// The largest read or write that the kernel is to send at once.
pub(crate) const MOST_BYTES: usize = 1 << 20;
/// Room for a whole request: a write's data and what precedes it.
pub(crate) const BUFFER: usize = MOST_BYTES + (64 << 10);

/// Declares request and reply structs with the derives that let them be read from and written to
/// the device without copying field by field.
macro_rules! wire {
    ($($(#[$m:meta])* $name:ident { $($field:ident : $t:ty),* $(,)? })*) => {$(
        $(#[$m])*
        #[repr(C)]
        #[derive(Debug, Clone, Copy, Default, FromBytes, IntoBytes, KnownLayout, Immutable)]
        pub(crate) struct $name { $(pub(crate) $field: $t),* }
    )*};
}

wire! {
    InHeader { len: u32, opcode: u32, unique: u64, nodeid: u64, uid: u32, gid: u32, pid: u32, total_extlen: u16, padding: u16 }
    OutHeader { len: u32, error: i32, unique: u64 }
    Attr {
        ino: u64, size: u64, blocks: u64, atime: u64, mtime: u64, ctime: u64,
        atimensec: u32, mtimensec: u32, ctimensec: u32,
        mode: u32, nlink: u32, uid: u32, gid: u32, rdev: u32, blksize: u32, flags: u32,
    }
    EntryOut {
        nodeid: u64, generation: u64, entry_valid: u64, attr_valid: u64,
        entry_valid_nsec: u32, attr_valid_nsec: u32, attr: Attr,
    }
    AttrOut { attr_valid: u64, attr_valid_nsec: u32, dummy: u32, attr: Attr }
    ForgetIn { nlookup: u64 }
    ForgetOne { nodeid: u64, nlookup: u64 }
    BatchForgetIn { count: u32, dummy: u32 }
    GetattrIn { flags: u32, dummy: u32, fh: u64 }
    MknodIn { mode: u32, rdev: u32, umask: u32, padding: u32 }
    MkdirIn { mode: u32, umask: u32 }
    RenameIn { newdir: u64 }
    Rename2In { newdir: u64, flags: u32, padding: u32 }
    LinkIn { oldnodeid: u64 }
    SetattrIn {
        valid: u32, padding: u32, fh: u64, size: u64, lock_owner: u64,
        atime: u64, mtime: u64, ctime: u64, atimensec: u32, mtimensec: u32, ctimensec: u32,
        mode: u32, unused4: u32, uid: u32, gid: u32, unused5: u32,
    }
    OpenIn { flags: u32, open_flags: u32 }
    CreateIn { flags: u32, mode: u32, umask: u32, open_flags: u32 }
    OpenOut { fh: u64, open_flags: u32, backing_id: i32 }
    ReleaseIn { fh: u64, flags: u32, release_flags: u32, lock_owner: u64 }
    FlushIn { fh: u64, unused: u32, padding: u32, lock_owner: u64 }
    ReadIn { fh: u64, offset: u64, size: u32, read_flags: u32, lock_owner: u64, flags: u32, padding: u32 }
    WriteIn { fh: u64, offset: u64, size: u32, write_flags: u32, lock_owner: u64, flags: u32, padding: u32 }
    WriteOut { size: u32, padding: u32 }
    StatfsOut {
        blocks: u64, bfree: u64, bavail: u64, files: u64, ffree: u64,
        bsize: u32, namelen: u32, frsize: u32, padding: u32, spare: [u32; 6],
    }
    FsyncIn { fh: u64, fsync_flags: u32, padding: u32 }
    /// The short form, used because `SETXATTR_EXT` is not asked for.
    SetxattrIn { size: u32, flags: u32 }
    GetxattrIn { size: u32, padding: u32 }
    GetxattrOut { size: u32, padding: u32 }
    FileLock { start: u64, end: u64, kind: u32, pid: u32 }
    LkIn { fh: u64, owner: u64, lk: FileLock, lk_flags: u32, padding: u32 }
    AccessIn { mask: u32, padding: u32 }
    InitIn { major: u32, minor: u32, max_readahead: u32, flags: u32, flags2: u32, unused: [u32; 11] }
    InitOut {
        major: u32, minor: u32, max_readahead: u32, flags: u32,
        max_background: u16, congestion_threshold: u16, max_write: u32, time_gran: u32,
        max_pages: u16, map_alignment: u16, flags2: u32, max_stack_depth: u32, unused: [u32; 6],
    }
    InterruptIn { unique: u64 }
    IoctlIn { fh: u64, flags: u32, cmd: u32, arg: u64, in_size: u32, out_size: u32 }
    IoctlOut { result: i32, flags: u32, in_iovs: u32, out_iovs: u32 }
    FallocateIn { fh: u64, offset: u64, length: u64, mode: u32, padding: u32 }
    Dirent { ino: u64, off: u64, namelen: u32, kind: u32 }
    LseekIn { fh: u64, offset: u64, whence: u32, padding: u32 }
    LseekOut { offset: u64 }
    CopyFileRangeIn { fh_in: u64, off_in: u64, nodeid_out: u64, fh_out: u64, off_out: u64, len: u64, flags: u64 }
    StatxIn { getattr_flags: u32, reserved: u32, fh: u64, sx_flags: u32, sx_mask: u32 }
    SxTime { sec: i64, nsec: u32, reserved: i32 }
    Statx {
        mask: u32, blksize: u32, attributes: u64, nlink: u32, uid: u32, gid: u32, mode: u16, spare0: u16,
        ino: u64, size: u64, blocks: u64, attributes_mask: u64,
        atime: SxTime, btime: SxTime, ctime: SxTime, mtime: SxTime,
        rdev_major: u32, rdev_minor: u32, dev_major: u32, dev_minor: u32, spare2: [u64; 14],
    }
    StatxOut { attr_valid: u64, attr_valid_nsec: u32, flags: u32, spare: [u64; 2], stat: Statx }
    InvalInodeOut { ino: u64, off: i64, len: i64 }
    InvalEntryOut { parent: u64, namelen: u32, flags: u32 }
    BackingMap { fd: i32, flags: u32, padding: u64 }
    NotifyRetrieveOut { notify_unique: u64, nodeid: u64, offset: u64, size: u32, padding: u32 }
}

/// Request numbers (`enum fuse_opcode`).
pub(crate) mod op {
    pub(crate) const LOOKUP: u32 = 1;
    pub(crate) const FORGET: u32 = 2;
    pub(crate) const GETATTR: u32 = 3;
    pub(crate) const SETATTR: u32 = 4;
    pub(crate) const READLINK: u32 = 5;
    pub(crate) const SYMLINK: u32 = 6;
    pub(crate) const MKNOD: u32 = 8;
    pub(crate) const MKDIR: u32 = 9;
    pub(crate) const UNLINK: u32 = 10;
    pub(crate) const RMDIR: u32 = 11;
    pub(crate) const RENAME: u32 = 12;
    pub(crate) const LINK: u32 = 13;
    pub(crate) const OPEN: u32 = 14;
    pub(crate) const READ: u32 = 15;
    pub(crate) const WRITE: u32 = 16;
    pub(crate) const STATFS: u32 = 17;
    pub(crate) const RELEASE: u32 = 18;
    pub(crate) const FSYNC: u32 = 20;
    pub(crate) const SETXATTR: u32 = 21;
    pub(crate) const GETXATTR: u32 = 22;
    pub(crate) const LISTXATTR: u32 = 23;
    pub(crate) const REMOVEXATTR: u32 = 24;
    pub(crate) const FLUSH: u32 = 25;
    pub(crate) const INIT: u32 = 26;
    pub(crate) const OPENDIR: u32 = 27;
    pub(crate) const READDIR: u32 = 28;
    pub(crate) const RELEASEDIR: u32 = 29;
    pub(crate) const FSYNCDIR: u32 = 30;
    pub(crate) const GETLK: u32 = 31;
    pub(crate) const SETLK: u32 = 32;
    pub(crate) const SETLKW: u32 = 33;
    pub(crate) const ACCESS: u32 = 34;
    pub(crate) const CREATE: u32 = 35;
    pub(crate) const INTERRUPT: u32 = 36;
    pub(crate) const DESTROY: u32 = 38;
    pub(crate) const IOCTL: u32 = 39;
    pub(crate) const NOTIFY_REPLY: u32 = 41;
    pub(crate) const BATCH_FORGET: u32 = 42;
    pub(crate) const FALLOCATE: u32 = 43;
    pub(crate) const READDIRPLUS: u32 = 44;
    pub(crate) const RENAME2: u32 = 45;
    pub(crate) const LSEEK: u32 = 46;
    pub(crate) const COPY_FILE_RANGE: u32 = 47;
    pub(crate) const SYNCFS: u32 = 50;
    pub(crate) const TMPFILE: u32 = 51;
    pub(crate) const STATX: u32 = 52;
}

/// Capabilities agreed at INIT (`FUSE_*`), both words joined.
pub(crate) mod init {
    pub(crate) const ASYNC_READ: u64 = 1 << 0;
    pub(crate) const POSIX_LOCKS: u64 = 1 << 1;
    pub(crate) const BIG_WRITES: u64 = 1 << 5;
    pub(crate) const DONT_MASK: u64 = 1 << 6;
    pub(crate) const FLOCK_LOCKS: u64 = 1 << 10;
    pub(crate) const HAS_IOCTL_DIR: u64 = 1 << 11;
    pub(crate) const AUTO_INVAL_DATA: u64 = 1 << 12;
    pub(crate) const DO_READDIRPLUS: u64 = 1 << 13;
    pub(crate) const READDIRPLUS_AUTO: u64 = 1 << 14;
    pub(crate) const ASYNC_DIO: u64 = 1 << 15;
    pub(crate) const WRITEBACK_CACHE: u64 = 1 << 16;
    pub(crate) const PARALLEL_DIROPS: u64 = 1 << 18;
    pub(crate) const POSIX_ACL: u64 = 1 << 20;
    pub(crate) const MAX_PAGES: u64 = 1 << 22;
    pub(crate) const CACHE_SYMLINKS: u64 = 1 << 23;
    pub(crate) const HANDLE_KILLPRIV_V2: u64 = 1 << 28;
    pub(crate) const INIT_EXT: u64 = 1 << 30;
    pub(crate) const HAS_EXPIRE_ONLY: u64 = 1 << 35;
    pub(crate) const DIRECT_IO_ALLOW_MMAP: u64 = 1 << 36;
    pub(crate) const PASSTHROUGH: u64 = 1 << 37;
    pub(crate) const OVER_IO_URING: u64 = 1 << 41;
}

/// How requests are laid out that come through io_uring (protocol 7.42).
pub(crate) mod ring {
    use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

    /// `FUSE_IO_URING_CMD_REGISTER`: a place in a queue.
    pub(crate) const REGISTER: u32 = 1;
    /// `FUSE_IO_URING_CMD_COMMIT_AND_FETCH`: an answer, and a place for the next request.
    pub(crate) const COMMIT_AND_FETCH: u32 = 2;
    /// Most bytes of the fixed part of a request (`FUSE_URING_OP_IN_OUT_SZ`).
    pub(crate) const FIXED_SIZE: usize = 128;

    wire! {
        /// `struct fuse_uring_ent_in_out`
        EntryState { flags: u64, commit_id: u64, payload_size: u32, padding: u32, reserved: u64 }
        /// `struct fuse_uring_cmd_req`
        Command { flags: u64, commit_id: u64, queue: u16, padding: [u8; 6] }
    }

    /// `struct fuse_uring_req_header`: the header of a request or of its answer, the fixed part of the
    /// request, and what is said of the rest.
    #[repr(C)]
    #[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable)]
    pub(crate) struct RequestHeader {
        pub(crate) in_out: [u8; 128],
        pub(crate) fixed: [u8; FIXED_SIZE],
        pub(crate) entry: EntryState,
    }

    impl Default for RequestHeader {
        fn default() -> RequestHeader {
            RequestHeader { in_out: [0; 128], fixed: [0; FIXED_SIZE], entry: EntryState::default() }
        }
    }
}

/// Which fields of a SETATTR count (`FATTR_*`).
pub(crate) mod fattr {
    pub(crate) const MODE: u32 = 1 << 0;
    pub(crate) const UID: u32 = 1 << 1;
    pub(crate) const GID: u32 = 1 << 2;
    pub(crate) const SIZE: u32 = 1 << 3;
    pub(crate) const ATIME: u32 = 1 << 4;
    pub(crate) const MTIME: u32 = 1 << 5;
    pub(crate) const FH: u32 = 1 << 6;
    pub(crate) const ATIME_NOW: u32 = 1 << 7;
    pub(crate) const MTIME_NOW: u32 = 1 << 8;
    pub(crate) const CTIME: u32 = 1 << 10;
    pub(crate) const KILL_SUIDGID: u32 = 1 << 11;

    /// The times of a file whose writes the kernel collects, as it tells of them by itself, with
    /// those writes or when it lets go of the file (`fuse_flush_times`).
    pub(crate) const OF_COLLECTED: u32 = MTIME | CTIME;
}

/// Whether a request tells the times of a file whose writes the kernel collects: in the middle of a
/// close(2) or execve(2) of somebody who holds its own locks, and without that anybody asked for it.
pub(crate) fn tells_collected_times(header: &InHeader, body: &[u8]) -> bool {
    let tells = |ask: &SetattrIn| ask.valid & !fattr::FH == fattr::OF_COLLECTED;
    header.opcode == op::SETATTR
        && SetattrIn::ref_from_prefix(body).is_ok_and(|(ask, _)| tells(ask))
}

/// Whether the kernel asks by itself what no client of a network file system asks its storage: for
/// capabilities, before the first write to a file, and for what [`tells_collected_times`] says.
pub(crate) fn is_kernel_initiated(header: &InHeader, body: &[u8]) -> bool {
    let names_capabilities = || body.get(size_of::<GetxattrIn>()..) == Some(CAPABILITIES);
    header.opcode == op::GETXATTR && names_capabilities() || tells_collected_times(header, body)
}

/// The name of the attribute with the capabilities of a program (capabilities(7)).
const CAPABILITIES: &[u8] = b"security.capability\0";

/// How the kernel is to treat an open file (`FOPEN_*`).
pub(crate) mod fopen {
    pub(crate) const DIRECT_IO: u32 = 1 << 0;
    pub(crate) const KEEP_CACHE: u32 = 1 << 1;
    pub(crate) const NOFLUSH: u32 = 1 << 5;
    pub(crate) const PARALLEL_DIRECT_WRITES: u32 = 1 << 6;
    pub(crate) const PASSTHROUGH: u32 = 1 << 7;
}

/// `FUSE_GETATTR_FH`: the request names an open handle.
pub(crate) const GETATTR_FH: u32 = 1;
/// `FUSE_READ_LOCKOWNER`: the request names the owner of locks who reads; else the kernel fills
/// pages.
pub(crate) const READ_LOCKOWNER: u32 = 2;
/// `FUSE_WRITE_CACHE`: pages of a mapping, through a handle that the kernel guessed.
pub(crate) const WRITE_CACHE: u32 = 1;
/// `FUSE_WRITE_KILL_SUIDGID`: who writes may not keep the set-id bits of the file.
pub(crate) const WRITE_KILL_SUIDGID: u32 = 1 << 2;
/// `FUSE_LK_FLOCK`: the lock is a BSD one, not a byte range.
pub(crate) const LK_FLOCK: u32 = 1;
/// `FUSE_FSYNC_FDATASYNC`.
pub(crate) const FSYNC_DATA_ONLY: u32 = 1;
/// `FUSE_NOTIFY_INVAL_INODE` and `FUSE_NOTIFY_INVAL_ENTRY`, sent in the error field.
pub(crate) const NOTIFY_INVAL_INODE: i32 = 2;
/// See [`NOTIFY_INVAL_INODE`].
pub(crate) const NOTIFY_INVAL_ENTRY: i32 = 3;
/// `FUSE_NOTIFY_RETRIEVE`: the kernel answers with a request of its own.
pub(crate) const NOTIFY_RETRIEVE: i32 = 5;
/// `FUSE_NOTIFY_INC_EPOCH` (Linux 6.16): no name is believed that was told before.
pub(crate) const NOTIFY_INC_EPOCH: i32 = 8;
/// `FUSE_EXPIRE_ONLY`, in the latter's flags.
pub(crate) const EXPIRE_ONLY: u32 = 1 << 0;

/// `FUSE_DEV_IOC_CLONE`: another reader of the same connection.
pub(crate) const IOC_CLONE: u32 = 0x8004_E500;
/// `FUSE_DEV_IOC_BACKING_OPEN`: registers a file for passthrough.
pub(crate) const IOC_BACKING_OPEN: u32 = 0x4010_E501;
/// `FUSE_DEV_IOC_BACKING_CLOSE`: ends a registration.
pub(crate) const IOC_BACKING_CLOSE: u32 = 0x4004_E502;

#[cfg(test)]
mod tests {
    //! A wrong size here would make every reply unreadable to the kernel.
    use super::*;
    use std::mem::size_of;

    #[test]
    fn sizes_are_the_kernels() {
        for (name, ours, kernel) in [
            ("fuse_in_header", size_of::<InHeader>(), 40),
            ("fuse_out_header", size_of::<OutHeader>(), 16),
            ("fuse_attr", size_of::<Attr>(), 88),
            ("fuse_entry_out", size_of::<EntryOut>(), 128),
            ("fuse_attr_out", size_of::<AttrOut>(), 104),
            ("fuse_setattr_in", size_of::<SetattrIn>(), 88),
            ("fuse_open_out", size_of::<OpenOut>(), 16),
            ("fuse_write_in", size_of::<WriteIn>(), 40),
            ("fuse_statfs_out", size_of::<StatfsOut>(), 80),
            ("fuse_lk_in", size_of::<LkIn>(), 48),
            ("fuse_init_in", size_of::<InitIn>(), 64),
            ("fuse_init_out", size_of::<InitOut>(), 64),
            ("fuse_copy_file_range_in", size_of::<CopyFileRangeIn>(), 56),
            ("fuse_statx", size_of::<Statx>(), 256),
            ("fuse_statx_out", size_of::<StatxOut>(), 288),
            ("fuse_backing_map", size_of::<BackingMap>(), 16),
            ("fuse_uring_req_header", size_of::<ring::RequestHeader>(), 288),
            ("fuse_uring_cmd_req", size_of::<ring::Command>(), 24),
        ] {
            assert_eq!(ours, kernel, "{name}");
        }
    }
}
