//! What a pack's log is made of: records, and the frames around them. docs/formats/tiers.md draws both; the
//! order of the variants is durable.

use forebay_model::is_file_name;
use rustix::fs::Statx;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// Before everything else in a log.
pub(super) const MAGIC: [u8; 8] = *b"FBYPACK\x01";
/// The magic, the salt, and room for later.
pub(super) const HEADER: u64 = 16;
/// Four numbers: length of the record, length of the data, checksum of the data, checksum of all
/// else.
pub(super) const FRAME: usize = 16;
/// No record is longer: two names of 255 bytes, or a path.
const LONGEST: u32 = 1 << 16;
/// No data are longer: a whole packed file.
pub(super) const MOST_DATA: u32 = 1 << 20;

/// Seconds and nanoseconds since 1970. Packed: there are four of them for each packed file.
#[repr(C, packed(4))]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Time {
    /// Seconds since 1970.
    pub sec: i64,
    /// And nanoseconds.
    pub nsec: u32,
}

impl Time {
    /// That of statx(2).
    pub fn from_timestamp(stamp: &rustix::fs::StatxTimestamp) -> Time {
        Time { sec: stamp.tv_sec, nsec: stamp.tv_nsec }
    }
}

/// What stat(2) shows of a packed file, its links apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attr {
    /// Permission bits with set-id and sticky bits; the type is always a plain file.
    pub mode: u32,
    /// Its owner.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// Bytes.
    pub size: u64,
    /// Last read.
    pub atime: Time,
    /// Last written.
    pub mtime: Time,
    /// Last changed in any way.
    pub ctime: Time,
    /// Made.
    pub born: Time,
}

/// Tells a directory in place from all others, also after its inode number was used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DirKey {
    /// Its number on the file system of its tree.
    pub inode: u64,
    /// Time of birth in nanoseconds since 1970; 0 where the file system keeps none.
    pub born: i128,
}

impl DirKey {
    /// That of a directory that was asked.
    pub fn from_statx(stat: &Statx) -> DirKey {
        let identity = forebay_os::file_identity::FileIdentity::from_statx(stat);
        DirKey { inode: identity.inode, born: identity.born }
    }
}

/// One step in the history of a pack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Record<'a> {
    /// A run began to write here, in this life of the machine.
    Begin { boot: [u8; 16] },
    /// All records before this position of the log are safe from power failure.
    Safe { below: u64 },
    /// A directory in place has packed files; `path` is where it was.
    Dir {
        dir: u32,
        key: DirKey,
        #[serde(borrow)]
        path: &'a [u8],
    },
    /// A file was made; its bytes come into a working file.
    Make { ino: u64, dir: u32, name: &'a [u8], attr: Attr, work: u64 },
    /// A file was opened for writing: its newest bytes are in a working file.
    Work { ino: u64, work: u64 },
    /// The bytes of a file, whole, are the frame's data. Newer ones may be in a working file, if
    /// `work` is not 0.
    Content { ino: u64, mtime: Time, ctime: Time, work: u64 },
    /// A file has outgrown the log: its working file is its body from now on.
    Body { ino: u64, size: u64, mtime: Time, ctime: Time },
    /// Attributes were set.
    Attr { ino: u64, attr: Attr },
    /// One more name.
    Link { ino: u64, dir: u32, name: &'a [u8], ctime: Time },
    /// A name was moved, over another packed one if there is one; `over` this file in
    /// place, which is hidden.
    Move { dir: u32, name: &'a [u8], to: u32, new: &'a [u8], ctime: Time, over: Option<DirKey> },
    /// Two names changed places.
    Swap { dir: u32, name: &'a [u8], to: u32, new: &'a [u8], ctime: Time },
    /// A name was removed.
    Drop { dir: u32, name: &'a [u8], ctime: Time },
    /// A file in place is about to be moved over this name. If it is there, this name is gone.
    Yield { dir: u32, name: &'a [u8], to: DirKey },
    /// This file in place has the name too, and is hidden.
    Hide { dir: u32, name: &'a [u8], over: DirKey },
    /// This file in place is about to get the name: the packed one, come home. As `Yield`, but not
    /// after a power failure, when its bytes may be missing.
    Land { dir: u32, name: &'a [u8], to: DirKey },
}

impl<'a> Record<'a> {
    /// The names of files that it speaks of.
    fn file_names(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let (name, new) = match *self {
            Record::Make { name, .. }
            | Record::Link { name, .. }
            | Record::Drop { name, .. }
            | Record::Yield { name, .. }
            | Record::Hide { name, .. }
            | Record::Land { name, .. } => (Some(name), None),
            Record::Move { name, new, .. } | Record::Swap { name, new, .. } => {
                (Some(name), Some(new))
            }
            Record::Begin { .. }
            | Record::Safe { .. }
            | Record::Dir { .. }
            | Record::Work { .. }
            | Record::Content { .. }
            | Record::Body { .. }
            | Record::Attr { .. } => (None, None),
        };
        name.into_iter().chain(new)
    }
}

/// Sizes and checksums at the start of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameHeader {
    pub(super) record: u32,
    pub(super) data: u32,
    pub(super) data_crc: u32,
    crc: u32,
}

impl FrameHeader {
    pub(super) fn parse(bytes: &[u8; FRAME]) -> Option<FrameHeader> {
        let number = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let head = FrameHeader {
            record: number(0),
            data: number(4),
            data_crc: number(8),
            crc: number(12),
        };
        (head.record > 0 && head.record <= LONGEST && head.data <= MOST_DATA).then_some(head)
    }

    /// That of a frame without data, of these bytes, which need be no record.
    #[cfg(test)]
    pub(super) fn over(salt: u32, record: &[u8]) -> FrameHeader {
        let head = FrameHeader {
            record: record.len() as u32,
            data: 0,
            data_crc: crc32fast::hash(&[]),
            crc: 0,
        };
        FrameHeader { crc: head.checksum(salt, record), ..head }
    }

    /// The checksum that a frame of this length should have.
    #[cfg(test)]
    pub(super) fn sealed(&self, salt: u32, record: &[u8]) -> u32 {
        self.checksum(salt, record)
    }

    /// The whole frame, in bytes.
    pub(super) fn frame_length(&self) -> u64 {
        FRAME as u64 + u64::from(self.record) + u64::from(self.data)
    }

    /// The record of a frame, if it is whole, and names what files can be called.
    pub(super) fn decode_record<'a>(&self, salt: u32, bytes: &'a [u8]) -> Option<Record<'a>> {
        if self.checksum(salt, bytes) != self.crc {
            return None;
        }
        let record: Record<'a> = postcard::from_bytes(bytes).ok()?;
        record.file_names().all(is_file_name).then_some(record)
    }

    fn checksum(&self, salt: u32, record: &[u8]) -> u32 {
        let mut crc = crc32fast::Hasher::new();
        for number in [salt, self.record, self.data, self.data_crc] {
            crc.update(&number.to_le_bytes());
        }
        crc.update(record);
        crc.finalize()
    }
}

/// Writes a frame to the end of `out`.
pub(super) fn append_frame(
    salt: u32,
    record: &Record<'_>,
    data: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), Errno> {
    if !record.file_names().all(is_file_name) {
        return Err(Errno::NAMETOOLONG);
    }
    let start = out.len();
    out.resize(start + FRAME, 0);
    let mut framed =
        postcard::to_extend(record, std::mem::take(out)).map_err(|_| Errno::NAMETOOLONG)?;
    let length = framed.len() - start - FRAME;
    let mut head = FrameHeader {
        record: u32::try_from(length).map_err(|_| Errno::NAMETOOLONG)?,
        data: u32::try_from(data.len()).map_err(|_| Errno::FBIG)?,
        data_crc: crc32fast::hash(data),
        crc: 0,
    };
    head.crc = head.checksum(salt, &framed[start + FRAME..]);
    for (place, number) in [head.record, head.data, head.data_crc, head.crc].iter().enumerate() {
        let at = start + 4 * place;
        framed[at..at + 4].copy_from_slice(&number.to_le_bytes());
    }
    framed.extend_from_slice(data);
    *out = framed;
    match length as u32 {
        0..=LONGEST => Ok(()),
        _ => Err(Errno::NAMETOOLONG),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_comes_back_and_no_byte_of_it_may_change() {
        let record = Record::Make {
            ino: 7,
            dir: 1,
            name: b"a\xff b",
            attr: Attr { mode: 0o644, size: 3, ..Attr::default() },
            work: 9,
        };
        let mut bytes = Vec::new();
        append_frame(5, &record, b"abc", &mut bytes).expect("framed");
        let read = |bytes: &[u8], salt| {
            let head = FrameHeader::parse(bytes[..FRAME].try_into().expect("a head"))?;
            let end = FRAME + head.record as usize;
            let right = head.decode_record(salt, bytes.get(FRAME..end)?)? == record;
            let data = bytes.get(end..end + head.data as usize)?;
            (right && crc32fast::hash(data) == head.data_crc).then_some(head.frame_length())
        };
        assert_eq!(read(&bytes, 5), Some(bytes.len() as u64));
        assert_eq!(read(&bytes, 6), None, "another log's");
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] ^= 0x10;
            assert_eq!(read(&other, 5), None, "byte {at}");
        }
    }
}
