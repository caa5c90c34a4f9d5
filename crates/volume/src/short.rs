//! A file name that lies where it is kept, if it is short, and not behind a pointer: an allocation
//! of its own would take as much again, and there may be a million.

use std::borrow::Borrow;
use std::fmt;

/// Names up to this length, in bytes, need no allocation.
const SHORT: usize = 22;

/// A name; compared byte by byte.
#[derive(Clone)]
pub(crate) enum ShortName {
    Here { length: u8, bytes: [u8; SHORT] },
    Apart(Box<[u8]>),
}

impl std::ops::Deref for ShortName {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            ShortName::Here { length, bytes } => &bytes[..usize::from(*length)],
            ShortName::Apart(bytes) => bytes,
        }
    }
}

impl ShortName {
    pub(crate) fn as_bytes(&self) -> &[u8] {
        self
    }
}

impl From<&[u8]> for ShortName {
    fn from(name: &[u8]) -> ShortName {
        if name.len() > SHORT {
            return ShortName::Apart(name.into());
        }
        let mut bytes = [0; SHORT];
        bytes[..name.len()].copy_from_slice(name);
        ShortName::Here { length: name.len() as u8, bytes }
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
        for length in [0, 1, SHORT - 1, SHORT, SHORT + 1, 255] {
            let bytes = vec![0xff; length];
            assert_eq!(ShortName::from(&bytes[..]).as_bytes(), bytes);
        }
        let in_order = [&b""[..], b"a", b"a\0", &[b'a'; 30], b"b", &[b'b'; 23], &[b'b'; 24]];
        let names = in_order.map(ShortName::from);
        assert!(names.is_sorted() && names.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
