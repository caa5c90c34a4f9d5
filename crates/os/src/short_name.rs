//! A file name that lies where it is kept, if it is short, and not behind a pointer: an allocation
//! of its own would take as much again, and there may be a million. There is no other way to one
//! than [`ShortName::from_file_name`]: what has it leads to a file of its directory, whoever wrote
//! it.

use std::borrow::Borrow;
use std::fmt;

use forebay_model::is_file_name;

/// Names up to this length, in bytes, need no allocation.
const SHORT: usize = 22;

/// A name; compared byte by byte.
#[derive(Clone)]
pub struct ShortName(NameStorage);

#[derive(Clone)]
enum NameStorage {
    Here { length: u8, bytes: [u8; SHORT] },
    Apart(Box<[u8]>),
}

impl std::ops::Deref for ShortName {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match &self.0 {
            NameStorage::Here { length, bytes } => &bytes[..usize::from(*length)],
            NameStorage::Apart(bytes) => bytes,
        }
    }
}

impl ShortName {
    /// That of what has none: the root of a tree.
    pub const NONE: ShortName = ShortName(NameStorage::Here { length: 0, bytes: [0; SHORT] });

    /// `None`: no file can be called so.
    pub fn from_file_name(name: &[u8]) -> Option<ShortName> {
        if !is_file_name(name) {
            return None;
        }
        if name.len() > SHORT {
            return Some(ShortName(NameStorage::Apart(name.into())));
        }
        let mut bytes = [0; SHORT];
        bytes[..name.len()].copy_from_slice(name);
        Some(ShortName(NameStorage::Here { length: name.len() as u8, bytes }))
    }

    /// Its bytes, without a NUL.
    pub fn as_bytes(&self) -> &[u8] {
        self
    }
}

impl Borrow<[u8]> for ShortName {
    fn borrow(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl PartialEq for ShortName {
    fn eq(&self, other: &ShortName) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for ShortName {}

impl PartialOrd for ShortName {
    fn partial_cmp(&self, other: &ShortName) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ShortName {
    fn cmp(&self, other: &ShortName) -> std::cmp::Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl fmt::Debug for ShortName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(self.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    //! If these fail, a packed file has another name than it was given.
    use super::*;

    #[test]
    fn a_name_is_its_bytes_whatever_its_length() {
        assert_eq!(size_of::<ShortName>(), 24);
        for length in [1, SHORT - 1, SHORT, SHORT + 1, 255] {
            let bytes = vec![0xff; length];
            assert_eq!(ShortName::from_file_name(&bytes).expect("a name").as_bytes(), bytes);
        }
        let in_order = [b"a", &b"a\x01"[..], &[b'a'; 30], b"b", &[b'b'; 23], &[b'b'; 24]];
        let names = in_order.map(|name| ShortName::from_file_name(name).expect("a name"));
        assert!(names.is_sorted() && names.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn what_leads_elsewhere_is_no_name() {
        for bytes in [&b""[..], b".", b"..", b"../thesis", b"/etc/passwd", b"a\0", &[b'a'; 256]] {
            assert!(ShortName::from_file_name(bytes).is_none(), "{bytes:?}");
        }
    }
}
