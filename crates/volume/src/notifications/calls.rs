//! Which system call is what: those that wait for us, by the numbers of the processor that this was
//! built for. `filter.rs` makes of them what the kernel executes.

use forebay_model::Op;

/// Where a name begins, and which argument the name is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Name {
    /// The descriptor; `None`: the working directory.
    pub(super) from: Option<u8>,
    pub(super) path: u8,
}

/// Which flags an open has.
#[derive(Debug, Clone, Copy)]
pub(super) enum OpenFlags {
    Argument(u8),
    /// In the structure at this address: openat2(2).
    Behind(u8),
    /// creat(2).
    Create,
}

/// What a call is about.
#[derive(Debug, Clone, Copy)]
pub(super) enum What {
    Open(Name, OpenFlags),
    Close,
    CloseRange,
    /// dup(2), and fcntl(2) that does the same: the new number is not known before.
    Duplicate,
    DuplicateTo,
    /// fcntl(2): a duplicate, or a lock.
    Control,
    OnOpen(Op),
    OnName(Op, Name),
    /// Flags that matter are in this argument.
    OnTwoNames(Op, Name, Name, Option<u8>),
    /// unlinkat(2): flags in this argument.
    Unlink(Name, u8),
    /// Plain reads and writes; `true`: writes, and of several pieces.
    Move {
        writes: bool,
    },
    /// The same at an offset, which is this argument.
    MoveAt {
        writes: bool,
        pieces: bool,
    },
    CopyRange,
    /// Offsets are given, so positions say nothing: from, its offset, to, its offset; the length.
    Send {
        from: u8,
        from_at: Option<u8>,
        to: u8,
        to_at: Option<u8>,
        length: u8,
    },
    Map,
    Seek,
    Execute(Name),
    ExitAll,
    ExitThread,
    /// The working directory becomes another.
    ChangeDirectory,
    /// Names may lead elsewhere afterwards.
    ChangeRoot,
    Ring,
    /// A filter with a listener of its own.
    Listen,
}

/// When a call waits for us; what the filter asks of its arguments besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    Always,
    /// Only if each read is to be seen.
    EveryRead,
    /// Unless all of these arguments are zero.
    NotZero(&'static [u8]),
    /// lseek(2), unless it only asks for the position.
    Seeks,
    /// mmap(2) of a file; of a library the first part alone.
    MapsFile,
    /// fcntl(2) that duplicates; locks, if each read is to be seen.
    Controls,
    /// seccomp(2) that asks for a listener.
    Listens,
}

/// One call that is looked at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    pub(super) number: i64,
    pub(super) what: What,
    pub(super) when: When,
}

const fn at(from: u8, path: u8) -> Name {
    Name { from: Some(from), path }
}

const fn here(path: u8) -> Name {
    Name { from: None, path }
}

/// All of them. fork(2) and its kin are none: a signal that comes before we know of a call makes it
/// fail with EINTR where a program wants that, and programs do not expect it of a fork.
pub(super) fn table() -> Vec<Call> {
    let mut all = opens_and_ends();
    all.extend(names());
    all.extend(open_files());
    all.extend(looks());
    all.into_iter().map(|(number, what, when)| Call { number, what, when }).collect()
}

type Row = (i64, What, When);

fn opens_and_ends() -> Vec<Row> {
    use What::{
        ChangeDirectory, ChangeRoot, Close, CloseRange, Control, Duplicate, DuplicateTo, Execute,
        ExitAll, ExitThread, Listen, Open, Ring,
    };
    use When::{Always, Controls, Listens};
    let mut all = vec![
        (libc::SYS_openat, Open(at(0, 1), OpenFlags::Argument(2)), Always),
        (libc::SYS_openat2, Open(at(0, 1), OpenFlags::Behind(2)), Always),
        (libc::SYS_close, Close, Always),
        (libc::SYS_close_range, CloseRange, Always),
        (libc::SYS_dup, Duplicate, Always),
        (libc::SYS_dup3, DuplicateTo, Always),
        (libc::SYS_fcntl, Control, Controls),
        (libc::SYS_execve, Execute(here(0)), Always),
        (libc::SYS_execveat, Execute(at(0, 1)), Always),
        (libc::SYS_exit_group, ExitAll, Always),
        (libc::SYS_exit, ExitThread, Always),
        (libc::SYS_chdir, ChangeDirectory, Always),
        (libc::SYS_fchdir, ChangeDirectory, Always),
        (libc::SYS_chroot, ChangeRoot, Always),
        (libc::SYS_pivot_root, ChangeRoot, Always),
        (libc::SYS_setns, ChangeRoot, Always),
        (libc::SYS_unshare, ChangeRoot, Always),
        (libc::SYS_mount, ChangeRoot, Always),
        (libc::SYS_umount2, ChangeRoot, Always),
        (libc::SYS_move_mount, ChangeRoot, Always),
        (libc::SYS_io_uring_setup, Ring, Always),
        (libc::SYS_seccomp, Listen, Listens),
    ];
    #[cfg(target_arch = "x86_64")]
    all.extend([
        (libc::SYS_open, Open(here(0), OpenFlags::Argument(1)), Always),
        (libc::SYS_creat, Open(here(0), OpenFlags::Create), Always),
        (libc::SYS_dup2, DuplicateTo, Always),
    ]);
    all
}

/// What changes names, and what is kept beside them.
fn names() -> Vec<Row> {
    use What::{OnName, OnTwoNames, Unlink};
    use When::Always;
    let mut all = vec![
        (libc::SYS_unlinkat, Unlink(at(0, 1), 2), Always),
        (libc::SYS_mkdirat, OnName(Op::Mkdir, at(0, 1)), Always),
        (libc::SYS_mknodat, OnName(Op::Mknod, at(0, 1)), Always),
        (libc::SYS_symlinkat, OnName(Op::Symlink, at(1, 2)), Always),
        (libc::SYS_linkat, OnTwoNames(Op::Link, at(0, 1), at(2, 3), None), Always),
        (libc::SYS_renameat2, OnTwoNames(Op::Rename, at(0, 1), at(2, 3), Some(4)), Always),
        (libc::SYS_renameat, OnTwoNames(Op::Rename, at(0, 1), at(2, 3), None), Always),
        (libc::SYS_truncate, OnName(Op::Truncate, here(0)), Always),
        (libc::SYS_fchmodat, OnName(Op::Setattr, at(0, 1)), Always),
        (libc::SYS_fchownat, OnName(Op::Setattr, at(0, 1)), Always),
        (libc::SYS_utimensat, OnName(Op::Setattr, at(0, 1)), Always),
        (libc::SYS_setxattr, OnName(Op::Xattr, here(0)), Always),
        (libc::SYS_lsetxattr, OnName(Op::Xattr, here(0)), Always),
        (libc::SYS_removexattr, OnName(Op::Xattr, here(0)), Always),
        (libc::SYS_lremovexattr, OnName(Op::Xattr, here(0)), Always),
    ];
    #[cfg(target_arch = "x86_64")]
    all.extend([
        (libc::SYS_unlink, OnName(Op::Unlink, here(0)), Always),
        (libc::SYS_rmdir, OnName(Op::Rmdir, here(0)), Always),
        (libc::SYS_mkdir, OnName(Op::Mkdir, here(0)), Always),
        (libc::SYS_mknod, OnName(Op::Mknod, here(0)), Always),
        (libc::SYS_symlink, OnName(Op::Symlink, here(1)), Always),
        (libc::SYS_link, OnTwoNames(Op::Link, here(0), here(1), None), Always),
        (libc::SYS_rename, OnTwoNames(Op::Rename, here(0), here(1), None), Always),
        (libc::SYS_chmod, OnName(Op::Setattr, here(0)), Always),
        (libc::SYS_chown, OnName(Op::Setattr, here(0)), Always),
        (libc::SYS_lchown, OnName(Op::Setattr, here(0)), Always),
        (libc::SYS_utime, OnName(Op::Setattr, here(0)), Always),
        (libc::SYS_utimes, OnName(Op::Setattr, here(0)), Always),
        (libc::SYS_futimesat, OnName(Op::Setattr, at(0, 1)), Always),
    ]);
    all
}

/// What is done through a descriptor, and what moves bytes without moving a position.
fn open_files() -> Vec<Row> {
    use What::{CopyRange, Map, MoveAt, OnOpen, Seek, Send};
    use When::{Always, MapsFile, NotZero, Seeks};
    vec![
        (libc::SYS_ftruncate, OnOpen(Op::Truncate), Always),
        (libc::SYS_fsync, OnOpen(Op::Fsync), Always),
        (libc::SYS_fdatasync, OnOpen(Op::Fsync), Always),
        (libc::SYS_fallocate, OnOpen(Op::Fallocate), Always),
        (libc::SYS_fchmod, OnOpen(Op::Setattr), Always),
        (libc::SYS_fchown, OnOpen(Op::Setattr), Always),
        (libc::SYS_fsetxattr, OnOpen(Op::Xattr), Always),
        (libc::SYS_fremovexattr, OnOpen(Op::Xattr), Always),
        (libc::SYS_lseek, Seek, Seeks),
        (libc::SYS_pread64, MoveAt { writes: false, pieces: false }, Always),
        (libc::SYS_pwrite64, MoveAt { writes: true, pieces: false }, Always),
        (libc::SYS_preadv, MoveAt { writes: false, pieces: true }, Always),
        (libc::SYS_pwritev, MoveAt { writes: true, pieces: true }, Always),
        (libc::SYS_preadv2, MoveAt { writes: false, pieces: true }, Always),
        (libc::SYS_pwritev2, MoveAt { writes: true, pieces: true }, Always),
        (libc::SYS_copy_file_range, CopyRange, Always),
        (
            libc::SYS_sendfile,
            Send { from: 1, from_at: Some(2), to: 0, to_at: None, length: 3 },
            NotZero(&[2]),
        ),
        (
            libc::SYS_splice,
            Send { from: 0, from_at: Some(1), to: 2, to_at: Some(3), length: 4 },
            NotZero(&[1, 3]),
        ),
        (libc::SYS_mmap, Map, MapsFile),
    ]
}

/// What only looks, and plain reads and writes.
fn looks() -> Vec<Row> {
    use What::{Move, OnName, OnOpen};
    use When::EveryRead;
    let mut all = vec![
        (libc::SYS_read, Move { writes: false }, EveryRead),
        (libc::SYS_readv, Move { writes: false }, EveryRead),
        (libc::SYS_write, Move { writes: true }, EveryRead),
        (libc::SYS_writev, Move { writes: true }, EveryRead),
        (libc::SYS_fstat, OnOpen(Op::Getattr), EveryRead),
        (libc::SYS_getdents64, OnOpen(Op::Readdir), EveryRead),
        (libc::SYS_flock, OnOpen(Op::Lock), EveryRead),
        (libc::SYS_fgetxattr, OnOpen(Op::Xattr), EveryRead),
        (libc::SYS_flistxattr, OnOpen(Op::Xattr), EveryRead),
        (libc::SYS_newfstatat, OnName(Op::Getattr, at(0, 1)), EveryRead),
        (libc::SYS_statx, OnName(Op::Getattr, at(0, 1)), EveryRead),
        (libc::SYS_faccessat, OnName(Op::Getattr, at(0, 1)), EveryRead),
        (libc::SYS_faccessat2, OnName(Op::Getattr, at(0, 1)), EveryRead),
        (libc::SYS_readlinkat, OnName(Op::Readlink, at(0, 1)), EveryRead),
        (libc::SYS_getxattr, OnName(Op::Xattr, here(0)), EveryRead),
        (libc::SYS_lgetxattr, OnName(Op::Xattr, here(0)), EveryRead),
        (libc::SYS_listxattr, OnName(Op::Xattr, here(0)), EveryRead),
        (libc::SYS_llistxattr, OnName(Op::Xattr, here(0)), EveryRead),
    ];
    #[cfg(target_arch = "x86_64")]
    all.extend([
        (libc::SYS_stat, OnName(Op::Getattr, here(0)), EveryRead),
        (libc::SYS_lstat, OnName(Op::Getattr, here(0)), EveryRead),
        (libc::SYS_access, OnName(Op::Getattr, here(0)), EveryRead),
        (libc::SYS_readlink, OnName(Op::Readlink, here(0)), EveryRead),
    ]);
    all
}
