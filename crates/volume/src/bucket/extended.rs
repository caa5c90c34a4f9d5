//! Extended attributes that the bucket has, too: those of users, and access control lists.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::fs::{lgetxattr, llistxattr};
use rustix::io::{Errno, Result};

/// Names of extended attributes that are ours begin so; programs see none of them.
pub(super) const OURS: &[u8] = b"user.forebay.";
/// Names of attributes that are nobody else's business begin so.
const KEPT: [&[u8]; 2] = [b"user.", b"system.posix_acl_"];

/// Names and values of one file.
type ExtendedAttributes = BTreeMap<Vec<u8>, Vec<u8>>;

/// Those of a name in a folder.
///
/// # Errors
/// Those of the file system; one without attributes has none.
pub(super) fn read_xattrs(folder: BorrowedFd<'_>, name: &CStr) -> Result<ExtendedAttributes> {
    let folder = format!("/proc/self/fd/{}/", folder.as_raw_fd());
    let path = [folder.as_bytes(), name.to_bytes()].concat();
    let path = CString::new(path).map_err(|_| Errno::INVAL)?;
    let names = match read_with_growing_buffer(|buffer| llistxattr(&path, buffer)) {
        Err(Errno::OPNOTSUPP | Errno::NOENT) => return Ok(ExtendedAttributes::new()),
        names => names?,
    };
    let mut found = ExtendedAttributes::new();
    for name in names.split(|byte| *byte == 0).filter(|name| is_persisted_xattr(name)) {
        match read_with_growing_buffer(|buffer| lgetxattr(&path, name, buffer)) {
            // Gone meanwhile, or not for this user.
            Err(Errno::NODATA | Errno::ACCESS) => {}
            value => drop(found.insert(name.to_vec(), value?)),
        }
    }
    Ok(found)
}

/// Whether a volume has attributes of this name: others a log may not give a file.
pub(super) fn is_persisted_xattr(name: &[u8]) -> bool {
    KEPT.iter().any(|kind| name.starts_with(kind)) && !name.starts_with(OURS)
}

/// Asks with more room until there is enough.
fn read_with_growing_buffer(ask: impl Fn(&mut [u8]) -> Result<usize>) -> Result<Vec<u8>> {
    let mut buffer = vec![0; 256];
    loop {
        match ask(&mut buffer) {
            Err(Errno::RANGE) => buffer.resize(buffer.len() * 4, 0),
            length => {
                buffer.truncate(length?);
                return Ok(buffer);
            }
        }
    }
}
