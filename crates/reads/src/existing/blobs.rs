//! Bytes of an index: blobs, one for each group, then the table, and where it lies.

use std::io::Write;

use super::table::{Group, Part, TEXTS};
use crate::error::{Error, Kind, Result};
use crate::hash::{Hash, hash};
use crate::wire::{Wire, put};

const MAGIC: &[u8; 7] = b"FBRSEEK";
const VERSION: u8 = 1;
/// Bytes behind the table: its length, its hash, magic and version.
pub(super) const END: usize = 8 + size_of::<Hash>() + MAGIC.len() + 1;

/// Length and hash of a table, of the bytes behind it.
pub(super) fn end(bytes: &[u8]) -> Result<(u64, Hash)> {
    let mut wire = Wire::new(bytes);
    let len = u64::from_le_bytes(wire.array()?);
    let hash = wire.array()?;
    match (wire.take(MAGIC.len())? == MAGIC, wire.byte()?) {
        (true, VERSION) => Ok((len, hash)),
        (true, version) => Err(Error::new(Kind::Unknown, format!("an index of version {version}"))),
        (false, _) => Err(Error::damaged("it is no index of reads")),
    }
}

/// An index under way.
pub(super) struct Blobs<'a> {
    out: &'a mut dyn Write,
    at: u64,
}

impl<'a> Blobs<'a> {
    pub(super) fn begin(out: &'a mut dyn Write) -> Result<Blobs<'a>> {
        let mut blobs = Blobs { out, at: 0 };
        blobs.put(MAGIC)?;
        blobs.put(&[VERSION])?;
        Ok(blobs)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(|error| Error::io("writing the index", error))?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// A group with its blob.
    pub(super) fn group(
        &mut self,
        place: [u64; 3],
        lens: [u32; TEXTS],
        blob: &[u8],
    ) -> Result<Group> {
        let (at, blob_len, hash) = (self.at, blob.len() as u32, hash(blob));
        self.put(blob)?;
        Ok(Group { place, lens, blob: at, blob_len, hash })
    }

    pub(super) fn end(mut self, parts: &[Part]) -> Result<()> {
        let mut table = Vec::new();
        put(&mut table, parts.len() as u64);
        parts.iter().for_each(|part| part.put(&mut table));
        self.put(&table)?;
        self.put(&(table.len() as u64).to_le_bytes())?;
        self.put(&hash(&table))?;
        self.put(MAGIC)?;
        self.put(&[VERSION])
    }
}
