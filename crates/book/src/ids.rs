//! Numbers and names of the book, each a type of its own.

use std::fmt;

use super::error::{Error, Result};

/// Names in folders are at most so long (bytes), as in most file systems.
const MAX_NAME: usize = 255;
/// Names of volumes and nodes are at most so long (bytes).
const MAX_LABEL: usize = 512;

macro_rules! number {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(to)
            }
        }
    };
}

number!(
    /// A volume in the book.
    VolumeId(i32)
);
number!(
    /// A node: one state directory of one volume.
    NodeId(i64)
);
number!(
    /// Counts registrations of a node: an older process of the same state directory speaks for it
    /// no longer.
    Term(i64)
);
number!(
    /// A file or folder of a volume. Numbers are never used again.
    InodeNumber(i64)
);
number!(
    /// Counts how often a folder changed hands.
    Epoch(i64)
);
number!(
    /// Counts publications of a folder: what was read at a version is right as long as it is that.
    Version(i64)
);
number!(
    /// Counts publications of a node, from 1.
    PublicationNumber(i64)
);
number!(
    /// The inode number of a folder.
    FolderId(i64)
);

impl FolderId {
    /// The volume's root, which is there as soon as the volume is.
    pub const ROOT: FolderId = FolderId(1);

    /// The folder as a file, which has attributes.
    #[must_use]
    pub fn inode(self) -> InodeNumber {
        InodeNumber(self.0)
    }
}

impl PublicationNumber {
    /// That of the publication behind it.
    #[must_use]
    pub fn next(self) -> PublicationNumber {
        PublicationNumber(self.0 + 1)
    }
}

/// Inode numbers that were lent to one node: it alone makes files with them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InodeBlock {
    /// The first.
    pub first: InodeNumber,
    /// How many there are.
    pub count: u32,
}

/// What proves that a node is the one that registered before: 16 random bytes, kept in its state
/// directory. Its debug form does not show them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeKey(pub [u8; 16]);

impl fmt::Debug for NodeKey {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("NodeKey")
    }
}

/// What the nodes of one volume know, and nobody else: where they speak with each other, it proves
/// who they are. Its debug form does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct PeerSecret(pub String);

impl fmt::Debug for PeerSecret {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("PeerSecret")
    }
}

/// What a volume is called in the book: where its bytes lie, as `s3://bucket/prefix`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct VolumeName(String);

impl VolumeName {
    /// A name; slashes at its end don't count.
    ///
    /// # Errors
    /// Invalid: it is empty, has control characters, or is longer than 512 bytes.
    pub fn new(name: &str) -> Result<VolumeName> {
        check_label("volume", name.trim_end_matches('/')).map(VolumeName)
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for VolumeName {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.0)
    }
}

/// Text that people gave, which others read in tables.
pub(crate) fn check_label(what: &str, text: &str) -> Result<String> {
    match text.is_empty() || text.len() > MAX_LABEL || text.chars().any(char::is_control) {
        true => Err(Error::invalid(
            format!("{text:?} is no name of a {what}"),
            format!("1 to {MAX_LABEL} bytes without control characters make one"),
        )),
        false => Ok(text.to_owned()),
    }
}

/// A name in a folder: bytes, as POSIX has it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryName(Vec<u8>);

impl EntryName {
    /// A name.
    ///
    /// # Errors
    /// Invalid: it is empty, `.`, `..`, longer than 255 bytes, or has a slash or a zero byte.
    pub fn new(name: impl Into<Vec<u8>>) -> Result<EntryName> {
        let name = name.into();
        let odd = name.is_empty()
            || name.len() > MAX_NAME
            || name == b"."
            || name == b".."
            || name.iter().any(|byte| matches!(byte, b'/' | 0));
        match odd {
            true => Err(Error::invalid(
                format!("{:?} is no name in a folder", String::from_utf8_lossy(&name)),
                format!("1 to {MAX_NAME} bytes without `/` and zero make one"),
            )),
            false => Ok(EntryName(name)),
        }
    }

    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for EntryName {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{:?}", String::from_utf8_lossy(&self.0))
    }
}

#[cfg(test)]
mod tests {
    //! Hostile names stay out of the book, and keys out of logs.
    use super::*;

    #[test]
    fn names_that_no_folder_can_have_are_refused() {
        for name in [&b""[..], b".", b"..", b"a/b", b"a\0b", &[b'x'; 256]] {
            let error = EntryName::new(name).expect_err("no name");
            assert_eq!(error.kind, super::super::ErrorKind::Invalid);
        }
        for name in [&b"a"[..], b"...", b"\xff\xfe", &[b'x'; 255]] {
            assert_eq!(EntryName::new(name).expect("a name").as_bytes(), name);
        }
    }

    #[test]
    fn names_of_volumes_forget_slashes_at_their_end() {
        assert_eq!(VolumeName::new("s3://b/p//").expect("a name").as_str(), "s3://b/p");
        for name in ["", "/", "a\nb", "a\u{1b}[2J", &"x".repeat(513)] {
            VolumeName::new(name).expect_err("no name");
        }
    }

    #[test]
    fn a_key_is_not_shown() {
        assert_eq!(format!("{:?}", NodeKey(*b"0123456789abcdef")), "NodeKey");
        assert_eq!(format!("{:?}", PeerSecret("geheim".into())), "PeerSecret");
    }
}
