//! All requests that are answered: what is so for each kind, and which verb serves it.

use super::abi::op;
use super::session::{Request, Session};
use crate::native::Result;

/// A verb of a session; the memory is for what it replies.
type RequestHandler = fn(&Session, &Request<'_>, &mut Vec<u8>) -> Result<()>;

/// One kind of request.
pub(super) struct Opcode {
    code: u32,
    /// How a log tells of one that failed, before the path of its node; may be empty.
    pub(super) words: &'static str,
    facts: u8,
    pub(super) serve: RequestHandler,
}

/// Its caller may hold locks of the kernel, so /proc is not asked who that is.
pub(super) const UNASKED: u8 = 1;
/// It acts through an open descriptor, and needs nobody's rights.
pub(super) const RIGHTLESS: u8 = 1 << 1;
/// It makes or moves a name.
pub(super) const NAMING: u8 = 1 << 2;
/// It is about an open file, wherever that is now.
pub(super) const OF_OPEN: u8 = 1 << 3;
/// It begins with the number of a second node.
pub(super) const OF_TWO: u8 = 1 << 4;
/// It may come from whomever an open file was handed to.
pub(super) const HANDED: u8 = 1 << 5;

impl Opcode {
    /// `None`: nobody here serves it.
    pub(super) fn from_code(code: u32) -> Option<&'static Opcode> {
        OPCODES.get(usize::from(*ROWS.get(code as usize)?))
    }

    /// Whether this is so for it.
    pub(super) fn has_fact(&self, fact: u8) -> bool {
        self.facts & fact != 0
    }
}

const fn opcode_row(code: u32, words: &'static str, facts: u8, serve: RequestHandler) -> Opcode {
    Opcode { code, words, facts, serve }
}

/// By number. FORGET, BATCH_FORGET and INTERRUPT have no answer, INIT and DESTROY begin and end it.
const OPCODES: &[Opcode] = &[
    opcode_row(op::LOOKUP, "lookup in", 0, |s, r, _| s.lookup(r)),
    opcode_row(op::GETATTR, "stat of", 0, |s, r, _| s.getattr(r)),
    opcode_row(op::SETATTR, "change of attributes of", 0, |s, r, _| s.setattr(r)),
    opcode_row(op::READLINK, "", 0, |s, r, _| s.readlink(r)),
    opcode_row(op::SYMLINK, "symlink in", NAMING, |s, r, _| s.create_entry(r)),
    opcode_row(op::MKNOD, "mknod in", NAMING, |s, r, _| s.create_entry(r)),
    opcode_row(op::MKDIR, "mkdir in", NAMING, |s, r, _| s.create_entry(r)),
    opcode_row(op::UNLINK, "unlink in", 0, |s, r, _| s.remove_entry(r)),
    opcode_row(op::RMDIR, "rmdir in", 0, |s, r, _| s.remove_entry(r)),
    opcode_row(op::RENAME, "rename in", NAMING | OF_TWO, |s, r, _| s.rename(r)),
    opcode_row(op::LINK, "link in", NAMING | OF_TWO, |s, r, _| s.create_entry(r)),
    opcode_row(op::OPEN, "open of", 0, |s, r, _| s.open(r)),
    opcode_row(op::READ, "read of", OF_OPEN | UNASKED | RIGHTLESS | HANDED, |s, r, scratch| {
        s.read(r, scratch)
    }),
    opcode_row(op::WRITE, "write of", OF_OPEN | UNASKED | HANDED, |s, r, _| s.write(r)),
    opcode_row(op::STATFS, "", 0, |s, r, _| s.statfs(r)),
    opcode_row(op::RELEASE, "close of", OF_OPEN | UNASKED | RIGHTLESS | HANDED, |s, r, _| {
        s.release(r)
    }),
    opcode_row(op::FSYNC, "fsync of", OF_OPEN | UNASKED | HANDED, |s, r, _| s.fsync(r)),
    opcode_row(op::SETXATTR, "", 0, |s, r, scratch| s.serve_xattr(r, scratch)),
    opcode_row(op::GETXATTR, "", 0, |s, r, scratch| s.serve_xattr(r, scratch)),
    opcode_row(op::LISTXATTR, "", 0, |s, r, scratch| s.serve_xattr(r, scratch)),
    opcode_row(op::REMOVEXATTR, "", 0, |s, r, scratch| s.serve_xattr(r, scratch)),
    opcode_row(op::FLUSH, "close of", OF_OPEN | UNASKED | RIGHTLESS | HANDED, |s, r, _| s.flush(r)),
    opcode_row(op::OPENDIR, "opendir of", 0, |s, r, _| s.opendir(r)),
    opcode_row(op::READDIR, "readdir of", HANDED, |s, r, scratch| s.readdir(r, scratch, false)),
    opcode_row(op::RELEASEDIR, "", RIGHTLESS | HANDED, |s, r, _| s.releasedir(r)),
    opcode_row(op::FSYNCDIR, "fsync of", HANDED, |s, r, _| s.fsyncdir(r)),
    opcode_row(op::GETLK, "", OF_OPEN, |s, r, _| s.getlk(r)),
    opcode_row(op::SETLK, "", OF_OPEN, |s, r, _| s.setlk(r, false)),
    opcode_row(op::SETLKW, "", OF_OPEN, |s, r, _| s.setlk(r, true)),
    opcode_row(op::ACCESS, "", 0, |s, r, _| s.access(r)),
    opcode_row(op::CREATE, "create in", NAMING, |s, r, _| s.create(r)),
    opcode_row(op::IOCTL, "", 0, |s, r, _| s.ioctl(r)),
    opcode_row(op::FALLOCATE, "fallocate of", OF_OPEN, |s, r, _| s.fallocate(r)),
    opcode_row(op::READDIRPLUS, "readdir of", HANDED, |s, r, scratch| s.readdir(r, scratch, true)),
    opcode_row(op::RENAME2, "rename in", NAMING | OF_TWO, |s, r, _| s.rename(r)),
    opcode_row(op::LSEEK, "", OF_OPEN, |s, r, _| s.lseek(r)),
    opcode_row(op::COPY_FILE_RANGE, "copy_file_range of", OF_OPEN, |s, r, _| s.copy_file_range(r)),
    opcode_row(op::SYNCFS, "syncfs of", 0, |s, r, _| s.syncfs(r)),
    opcode_row(op::TMPFILE, "", 0, |s, r, _| s.create(r)),
    opcode_row(op::STATX, "stat of", 0, |s, r, _| s.statx(r)),
];

const NOT_SERVED: u8 = u8::MAX;

/// Where a number's row is.
const ROWS: [u8; 64] = {
    let (mut rows, mut at) = ([NOT_SERVED; 64], 0);
    while at < OPCODES.len() {
        rows[OPCODES[at].code as usize] = at as u8;
        at += 1;
    }
    rows
};

#[cfg(test)]
mod tests {
    //! If these fail, a request is served by the verb of another, or with rights that nobody gave.
    use super::*;

    #[test]
    fn each_opcode_has_one_row_in_order() {
        assert!(OPCODES.is_sorted_by(|one, other| one.code < other.code));
        for row in OPCODES {
            assert_eq!(Opcode::from_code(row.code).map(|found| found.code), Some(row.code));
        }
        for code in [0, op::FORGET, op::INTERRUPT, op::INIT, op::DESTROY, 63, 64, u32::MAX] {
            assert!(Opcode::from_code(code).is_none(), "{code}");
        }
    }

    #[test]
    fn only_what_has_an_open_file_needs_no_rights() {
        for row in OPCODES.iter().filter(|row| row.has_fact(RIGHTLESS)) {
            assert!(row.has_fact(HANDED), "{}", row.code);
        }
        assert!(OPCODES.iter().all(|row| !row.has_fact(OF_TWO) || row.has_fact(NAMING)));
    }
}
