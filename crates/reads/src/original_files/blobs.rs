//! Bytes of an index: blobs, one for each group, then the table, and where it lies.

use std::io::Write;

use super::index_table::{FileIndex, TEXTS, TextGroup};
use crate::error::{Error, Kind, Result};
use crate::hash::{Hash, hash};
use crate::wire::{WireReader, append_varint};

const MAGIC: &[u8; 7] = b"FBRSEEK";
const VERSION: u8 = 1;
/// Bytes behind the table: its length, its hash, magic and version.
pub(super) const END: usize = 8 + size_of::<Hash>() + MAGIC.len() + 1;

/// Length and hash of a table, of the bytes behind it.
pub(super) fn parse_trailer(bytes: &[u8]) -> Result<(u64, Hash)> {
    let mut wire = WireReader::new(bytes);
    let len = u64::from_le_bytes(wire.read_array()?);
    let hash = wire.read_array()?;
    match (wire.read_slice(MAGIC.len())? == MAGIC, wire.read_byte()?) {
        (true, VERSION) => Ok((len, hash)),
        (true, version) => Err(Error::new(Kind::Unknown, format!("an index of version {version}"))),
        (false, _) => Err(Error::damaged("it is no index of reads")),
    }
}

/// An index under way.
pub(super) struct IndexWriter<'a> {
    out: &'a mut dyn Write,
    at: u64,
}

impl<'a> IndexWriter<'a> {
    pub(super) fn begin_index(out: &'a mut dyn Write) -> Result<IndexWriter<'a>> {
        let mut blobs = IndexWriter { out, at: 0 };
        blobs.write_bytes(MAGIC)?;
        blobs.write_bytes(&[VERSION])?;
        Ok(blobs)
    }

    fn write_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(|error| Error::io("writing the index", error))?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// A group with its blob.
    pub(super) fn write_group(
        &mut self,
        place: [u64; 3],
        lens: [u32; TEXTS],
        blob: &[u8],
    ) -> Result<TextGroup> {
        let (at, blob_len, hash) = (self.at, blob.len() as u32, hash(blob));
        self.write_bytes(blob)?;
        Ok(TextGroup { place, lens, blob: at, blob_len, hash })
    }

    pub(super) fn finish_index(mut self, parts: &[FileIndex]) -> Result<()> {
        let mut table = Vec::new();
        append_varint(&mut table, parts.len() as u64);
        parts.iter().for_each(|part| part.append_to(&mut table));
        self.write_bytes(&table)?;
        self.write_bytes(&(table.len() as u64).to_le_bytes())?;
        self.write_bytes(&hash(&table))?;
        self.write_bytes(MAGIC)?;
        self.write_bytes(&[VERSION])
    }
}
