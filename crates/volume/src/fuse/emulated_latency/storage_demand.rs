//! What a request asks a storage for, and what its reply says of that.

use std::io::IoSlice;

use forebay_model::Op;
use zerocopy::FromBytes;

use crate::fuse::abi::{self, InHeader, fattr, op};

/// A request, as a storage sees it.
#[derive(Debug, Clone, Copy)]
pub(in crate::fuse) struct StorageDemand {
    pub(super) opcode: u32,
    pub(super) kind: Op,
    /// Nanoseconds of the clock when it came.
    pub(super) began: u64,
    pub(super) node: u64,
    /// Of a request about an open file: which, and where.
    pub(super) open: u64,
    pub(super) offset: u64,
    /// Bytes that it brings; the length that it sets.
    pub(super) bytes: u64,
    /// The kernel has collected them.
    pub(super) collected: bool,
}

/// What a reply says.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReplyOutcome {
    pub(super) failed: bool,
    /// Nothing has this name.
    pub(super) absent: bool,
    /// Bytes that it brings.
    pub(super) bytes: u64,
}

impl StorageDemand {
    /// `None`: nobody waits for the reply, or no storage is asked.
    pub(super) fn from_request(
        header: &InHeader,
        body: &[u8],
        began: u64,
    ) -> Option<StorageDemand> {
        let kind =
            operation_kind(header.opcode).filter(|_| !abi::is_kernel_initiated(header, body))?;
        let mut asked = StorageDemand {
            opcode: header.opcode,
            kind,
            began,
            node: header.nodeid,
            open: 0,
            offset: 0,
            bytes: 0,
            collected: false,
        };
        match header.opcode {
            op::READ => {
                let (ask, _) = abi::ReadIn::ref_from_prefix(body).ok()?;
                (asked.open, asked.offset) = (ask.fh, ask.offset);
            }
            op::WRITE => {
                let (ask, _) = abi::WriteIn::ref_from_prefix(body).ok()?;
                (asked.open, asked.offset, asked.bytes) = (ask.fh, ask.offset, ask.size.into());
                asked.collected = ask.write_flags & abi::WRITE_CACHE != 0;
            }
            op::COPY_FILE_RANGE => {
                let (ask, _) = abi::CopyFileRangeIn::ref_from_prefix(body).ok()?;
                (asked.open, asked.offset) = (ask.fh_out, ask.off_out);
            }
            op::SETATTR => {
                let (ask, _) = abi::SetattrIn::ref_from_prefix(body).ok()?;
                if ask.valid & fattr::SIZE != 0 {
                    (asked.kind, asked.bytes) = (Op::Truncate, ask.size);
                }
            }
            // The handle comes first in all of these.
            op::FLUSH | op::FSYNC => asked.open = u64::read_from_prefix(body).ok()?.0,
            op::RELEASE => {
                let (ask, _) = abi::ReleaseIn::ref_from_prefix(body).ok()?;
                asked.open = ask.fh;
            }
            _ => {}
        }
        Some(asked)
    }
}

/// What a request counts as (`recorder` counts the same).
fn operation_kind(opcode: u32) -> Option<Op> {
    Some(match opcode {
        op::LOOKUP => Op::Lookup,
        op::GETATTR | op::STATX => Op::Getattr,
        op::SETATTR => Op::Setattr,
        op::READLINK => Op::Readlink,
        op::SYMLINK => Op::Symlink,
        op::MKNOD => Op::Mknod,
        op::MKDIR => Op::Mkdir,
        op::UNLINK => Op::Unlink,
        op::RMDIR => Op::Rmdir,
        op::RENAME | op::RENAME2 => Op::Rename,
        op::LINK => Op::Link,
        op::OPEN => Op::Open,
        op::CREATE | op::TMPFILE => Op::Create,
        op::READ => Op::Read,
        op::WRITE => Op::Write,
        op::FLUSH => Op::Flush,
        op::RELEASE => Op::Close,
        op::FSYNC => Op::Fsync,
        op::FSYNCDIR => Op::Fsyncdir,
        op::OPENDIR => Op::Opendir,
        op::READDIR | op::READDIRPLUS => Op::Readdir,
        op::GETLK | op::SETLK => Op::Lock,
        op::SETXATTR | op::GETXATTR | op::LISTXATTR | op::REMOVEXATTR => Op::Xattr,
        op::ACCESS => Op::Access,
        op::FALLOCATE => Op::Fallocate,
        op::COPY_FILE_RANGE => Op::CopyRange,
        op::LSEEK => Op::Seek,
        op::IOCTL => Op::Ioctl,
        op::STATFS => Op::Statfs,
        // A lock that is waited for takes as long as its holder; the rest nobody waits for.
        _ => return None,
    })
}

/// What the parts of a reply say: the header first.
pub(super) fn parse_reply(opcode: u32, parts: &[IoSlice<'_>]) -> ReplyOutcome {
    let header = parts.first().and_then(|part| abi::OutHeader::read_from_prefix(part).ok());
    let error = header.map_or(0, |(header, _)| header.error);
    let body = parts.get(1).map_or(&[][..], |part| part);
    let number = || u64::read_from_prefix(body).map_or(0, |(number, _)| number);
    ReplyOutcome {
        failed: error != 0,
        // A name that is known not to be has number 0.
        absent: opcode == op::LOOKUP && (error == -libc::ENOENT || error == 0 && number() == 0),
        bytes: match opcode {
            op::READ => parts.iter().skip(1).map(|part| part.len() as u64).sum(),
            op::COPY_FILE_RANGE => number() & u64::from(u32::MAX),
            _ => 0,
        },
    }
}
