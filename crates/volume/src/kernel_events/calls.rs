//! Which system call is what: the table that the kernel's side looks calls up in, by the numbers of
//! the processor that this was built for.

use forebay_model::Op;

/// No argument.
const NONE: u8 = 0xff;
/// The kind of operation of calls that are none on files.
pub(super) const NO_OPERATION: u8 = 0xff;
/// The last argument of a call that has as many.
const NEVER_GIVEN: u8 = 6;

/// What happens in a call (`enum action` of `bpf/recorder.bpf.c`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Action {
    Open = 1,
    Read,
    Write,
    Close,
    CloseRange,
    Duplicate,
    OnOpen,
    OnName,
    OnTwoNames,
    CopyRange,
    Send,
    Map,
    Exec,
    Ring,
    Control,
    Seek,
}

/// `struct call` of `bpf/recorder.bpf.c`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct Call {
    action: u8,
    op: u8,
    descriptor: u8,
    path: u8,
    descriptor_2: u8,
    path_2: u8,
    extra: u8,
    behind: u8,
}

// SAFETY: bytes alone, without padding.
unsafe impl aya::Pod for Call {}

const fn call(action: Action, op: Op) -> Call {
    Call {
        action: action as u8,
        op: op as u8,
        descriptor: NONE,
        path: NONE,
        descriptor_2: NONE,
        path_2: NONE,
        extra: NONE,
        behind: 0,
    }
}

/// By a path alone, or below a descriptor.
const fn named(op: Op, descriptor: u8, path: u8, extra: u8) -> Call {
    Call { descriptor, path, extra, ..call(Action::OnName, op) }
}

/// After it, names may lead elsewhere; it counts as no operation.
const fn mounting(descriptor: u8, path: u8) -> Call {
    Call { op: NO_OPERATION, ..named(Op::Lookup, descriptor, path, NONE) }
}

const fn named_twice(op: Op, first: (u8, u8), second: (u8, u8), extra: u8) -> Call {
    let (descriptor, path) = first;
    let (descriptor_2, path_2) = second;
    Call { descriptor, path, descriptor_2, path_2, extra, ..call(Action::OnTwoNames, op) }
}

const fn opening(descriptor: u8, path: u8, extra: u8) -> Call {
    Call { descriptor, path, extra, ..call(Action::Open, Op::Open) }
}

const fn moving(action: Action, offset: u8) -> Call {
    let op = if matches!(action, Action::Read) { Op::Read } else { Op::Write };
    Call { extra: offset, ..call(action, op) }
}

const fn sending(from: u8, to: u8) -> Call {
    Call { descriptor: from, descriptor_2: to, ..call(Action::Send, Op::Read) }
}

/// Each call that is looked at, by its number.
pub(super) fn table() -> Vec<(u32, Call)> {
    use Action::{
        Close, CloseRange, Control, CopyRange, Duplicate, Exec, Map, OnOpen, Read, Ring, Seek,
        Write,
    };
    let on_open = |op| call(OnOpen, op);
    let mut all = vec![
        (libc::SYS_openat, opening(0, 1, 2)),
        (libc::SYS_openat2, Call { behind: 1, ..opening(0, 1, 2) }),
        (libc::SYS_open_by_handle_at, opening(NONE, NONE, 2)),
        (libc::SYS_read, moving(Read, NONE)),
        (libc::SYS_readv, moving(Read, NONE)),
        (libc::SYS_pread64, moving(Read, 3)),
        (libc::SYS_preadv, moving(Read, 3)),
        (libc::SYS_preadv2, moving(Read, 3)),
        (libc::SYS_write, moving(Write, NONE)),
        (libc::SYS_writev, moving(Write, NONE)),
        (libc::SYS_pwrite64, moving(Write, 3)),
        (libc::SYS_pwritev, moving(Write, 3)),
        (libc::SYS_pwritev2, moving(Write, 3)),
        (libc::SYS_close, call(Close, Op::Close)),
        (libc::SYS_close_range, call(CloseRange, Op::Close)),
        (libc::SYS_dup3, call(Duplicate, Op::Close)),
        (libc::SYS_fstat, on_open(Op::Getattr)),
        (libc::SYS_ftruncate, on_open(Op::Truncate)),
        (libc::SYS_fsync, on_open(Op::Fsync)),
        (libc::SYS_fdatasync, on_open(Op::Fsync)),
        (libc::SYS_fchmod, on_open(Op::Setattr)),
        (libc::SYS_fchown, on_open(Op::Setattr)),
        (libc::SYS_fallocate, on_open(Op::Fallocate)),
        (libc::SYS_getdents64, on_open(Op::Readdir)),
        (libc::SYS_flock, on_open(Op::Lock)),
        (libc::SYS_fgetxattr, on_open(Op::Xattr)),
        (libc::SYS_fsetxattr, on_open(Op::Xattr)),
        (libc::SYS_flistxattr, on_open(Op::Xattr)),
        (libc::SYS_fremovexattr, on_open(Op::Xattr)),
        (libc::SYS_fstatfs, on_open(Op::Statfs)),
        (libc::SYS_lseek, call(Seek, Op::Seek)),
        (libc::SYS_fcntl, Call { extra: 1, ..call(Control, Op::Lock) }),
        (libc::SYS_ioctl, Call { extra: 2, ..call(Control, Op::Ioctl) }),
        (libc::SYS_newfstatat, named(Op::Getattr, 0, 1, NONE)),
        (libc::SYS_statx, named(Op::Getattr, 0, 1, NONE)),
        (libc::SYS_faccessat, named(Op::Getattr, 0, 1, NONE)),
        (libc::SYS_faccessat2, named(Op::Getattr, 0, 1, NONE)),
        (libc::SYS_readlinkat, named(Op::Readlink, 0, 1, NONE)),
        (libc::SYS_fchmodat, named(Op::Setattr, 0, 1, NONE)),
        (libc::SYS_fchownat, named(Op::Setattr, 0, 1, NONE)),
        (libc::SYS_utimensat, named(Op::Setattr, 0, 1, NONE)),
        (libc::SYS_truncate, named(Op::Truncate, NONE, 0, NONE)),
        (libc::SYS_statfs, named(Op::Statfs, NONE, 0, NONE)),
        (libc::SYS_unlinkat, named(Op::Unlink, 0, 1, 2)),
        (libc::SYS_mkdirat, named(Op::Mkdir, 0, 1, NONE)),
        (libc::SYS_mknodat, named(Op::Mknod, 0, 1, NONE)),
        (libc::SYS_symlinkat, named(Op::Symlink, 1, 2, NONE)),
        (libc::SYS_linkat, named_twice(Op::Link, (0, 1), (2, 3), NONE)),
        (libc::SYS_renameat2, named_twice(Op::Rename, (0, 1), (2, 3), 4)),
        (libc::SYS_getxattr, named(Op::Xattr, NONE, 0, NONE)),
        (libc::SYS_lgetxattr, named(Op::Xattr, NONE, 0, NONE)),
        (libc::SYS_setxattr, named(Op::Xattr, NONE, 0, NONE)),
        (libc::SYS_lsetxattr, named(Op::Xattr, NONE, 0, NONE)),
        (libc::SYS_listxattr, named(Op::Xattr, NONE, 0, NONE)),
        (libc::SYS_llistxattr, named(Op::Xattr, NONE, 0, NONE)),
        (libc::SYS_removexattr, named(Op::Xattr, NONE, 0, NONE)),
        (libc::SYS_lremovexattr, named(Op::Xattr, NONE, 0, NONE)),
        (libc::SYS_mount, mounting(NONE, 1)),
        (libc::SYS_umount2, mounting(NONE, 0)),
        (libc::SYS_move_mount, mounting(2, 3)),
        (libc::SYS_pivot_root, mounting(NONE, 0)),
        (libc::SYS_copy_file_range, call(CopyRange, Op::CopyRange)),
        (libc::SYS_sendfile, sending(1, 0)),
        (libc::SYS_splice, sending(0, 2)),
        (libc::SYS_mmap, call(Map, Op::Read)),
        (libc::SYS_execve, call(Exec, Op::Open)),
        (libc::SYS_execveat, call(Exec, Op::Open)),
        (libc::SYS_io_uring_setup, call(Ring, Op::Read)),
    ];
    #[cfg(target_arch = "x86_64")]
    all.extend([
        (libc::SYS_open, opening(NONE, 0, 1)),
        (libc::SYS_creat, opening(NONE, 0, NEVER_GIVEN)),
        (libc::SYS_dup2, call(Duplicate, Op::Close)),
        (libc::SYS_stat, named(Op::Getattr, NONE, 0, NONE)),
        (libc::SYS_lstat, named(Op::Getattr, NONE, 0, NONE)),
        (libc::SYS_access, named(Op::Getattr, NONE, 0, NONE)),
        (libc::SYS_readlink, named(Op::Readlink, NONE, 0, NONE)),
        (libc::SYS_chmod, named(Op::Setattr, NONE, 0, NONE)),
        (libc::SYS_chown, named(Op::Setattr, NONE, 0, NONE)),
        (libc::SYS_lchown, named(Op::Setattr, NONE, 0, NONE)),
        (libc::SYS_utime, named(Op::Setattr, NONE, 0, NONE)),
        (libc::SYS_utimes, named(Op::Setattr, NONE, 0, NONE)),
        (libc::SYS_futimesat, named(Op::Setattr, 0, 1, NONE)),
        (libc::SYS_unlink, named(Op::Unlink, NONE, 0, NONE)),
        (libc::SYS_rmdir, named(Op::Rmdir, NONE, 0, NONE)),
        (libc::SYS_mkdir, named(Op::Mkdir, NONE, 0, NONE)),
        (libc::SYS_mknod, named(Op::Mknod, NONE, 0, NONE)),
        (libc::SYS_symlink, named(Op::Symlink, NONE, 1, NONE)),
        (libc::SYS_link, named_twice(Op::Link, (NONE, 0), (NONE, 1), NONE)),
        (libc::SYS_rename, named_twice(Op::Rename, (NONE, 0), (NONE, 1), NONE)),
        (libc::SYS_renameat, named_twice(Op::Rename, (0, 1), (2, 3), NONE)),
        (libc::SYS_getdents, on_open(Op::Readdir)),
    ]);
    #[cfg(target_arch = "aarch64")]
    all.push((libc::SYS_renameat, named_twice(Op::Rename, (0, 1), (2, 3), NONE)));
    all.into_iter().map(|(number, call)| (number as u32, call)).collect()
}
