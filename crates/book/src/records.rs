//! What the book keeps of files and nodes.

use super::error::{Error, Result};
use super::ids::{InodeNumber, NodeId, NodeKey, check_label};

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    Regular,
    /// A folder.
    Folder,
    /// A symbolic link; its target is its body.
    Symlink,
    /// A FIFO.
    Fifo,
    /// A socket.
    Socket,
    /// A character device.
    CharacterDevice,
    /// A block device.
    BlockDevice,
}

impl FileKind {
    /// As it stands in the table.
    pub(crate) const ALL: [FileKind; 7] = [
        FileKind::Regular,
        FileKind::Folder,
        FileKind::Symlink,
        FileKind::Fifo,
        FileKind::Socket,
        FileKind::CharacterDevice,
        FileKind::BlockDevice,
    ];

    pub(crate) fn number(self) -> i16 {
        self as i16
    }

    pub(crate) fn from_number(number: i16) -> Option<FileKind> {
        usize::try_from(number).ok().and_then(|at| FileKind::ALL.get(at)).copied()
    }
}

/// Where the bytes of a file are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileBytes {
    /// There are none: a folder, a device, an empty file.
    None,
    /// In the book: a small file, or the target of a symbolic link. At most [`super::MAX_BODY`].
    InBook(Vec<u8>),
    /// In the volume's bucket, as an object below its prefix.
    InBucket {
        /// Its key, without the prefix.
        object: String,
        /// Checksums of its blocks, as the volume's format has them.
        sums: Vec<u8>,
    },
    /// On the disk of one node alone.
    OnNode(NodeId),
}

/// A file, by its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRecord {
    /// Its number.
    pub inode: InodeNumber,
    /// What it is.
    pub kind: FileKind,
    /// Permission bits, with set-user-ID, set-group-ID and sticky: 07777 at most.
    pub mode: u32,
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
    /// Last modification, nanoseconds since 1970, of whichever clock set it. The book compares it
    /// with nothing.
    pub mtime_ns: i64,
    /// Length in bytes.
    pub size: u64,
    /// Number of the device, for devices.
    pub rdev: u64,
    /// Where its bytes are.
    pub bytes: FileBytes,
    /// Extended attributes, each name once.
    pub attributes: Vec<(Vec<u8>, Vec<u8>)>,
}

/// What a node says of itself when it registers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeOffer {
    /// What people call it; two nodes that are alive have two names.
    name: String,
    /// Proof of being the same one as before.
    pub key: NodeKey,
    /// Where other nodes reach it: `host:port`. Empty: nowhere.
    address: String,
}

impl NodeOffer {
    /// What is to be registered.
    ///
    /// # Errors
    /// Invalid: the name is empty or too long, or one of both has control characters.
    pub fn new(name: &str, key: NodeKey, address: &str) -> Result<NodeOffer> {
        let name = check_label("node", name)?;
        if address.chars().any(|c| c.is_control() || c.is_whitespace()) || address.len() > 300 {
            return Err(Error::invalid(
                format!("{address:?} is no address of a node"),
                "HOST:PORT makes one",
            ));
        }
        Ok(NodeOffer { name, key, address: address.to_owned() })
    }

    /// What people call it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where other nodes reach it.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }
}
