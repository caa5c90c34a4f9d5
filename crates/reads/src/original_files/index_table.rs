//! The table of an index: files, with their groups.

use super::{IndexedFile, OriginalFile};
use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::wire::{WireReader, append_prefixed_bytes, append_varint};

/// Texts of a file, at most: those of mates.
pub(super) const TEXTS: usize = 2;
/// Bytes of text in a group at most, whoever wrote the file: a container of a CRAM is one.
pub(super) const TEXT_MAX: u32 = 1 << 30;

/// Text that is decoded alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TextGroup {
    /// Where its bytes begin, and further numbers, as its kind wants them.
    pub(super) place: [u64; 3],
    /// Bytes of each text.
    pub(super) lens: [u32; TEXTS],
    /// Where its blob lies in the index, how long it is, and what it comes to.
    pub(super) blob: u64,
    pub(super) blob_len: u32,
    pub(super) hash: Hash,
}

/// A file with its groups.
#[derive(Debug)]
pub(super) struct FileIndex {
    pub(super) original: OriginalFile,
    pub(super) kind: u8,
    pub(super) size: u64,
    names: Vec<String>,
    pub(super) groups: Vec<TextGroup>,
    /// Where the text of each group begins, for each text.
    starts: Vec<[u64; TEXTS]>,
    lens: [u64; TEXTS],
}

impl FileIndex {
    pub(super) fn new(
        original: OriginalFile,
        kind: u8,
        size: u64,
        names: Vec<String>,
        groups: Vec<TextGroup>,
    ) -> FileIndex {
        let mut lens = [0; TEXTS];
        let starts = groups.iter().map(|group| {
            let start = lens;
            for (len, more) in lens.iter_mut().zip(group.lens) {
                *len += u64::from(more);
            }
            start
        });
        let starts = starts.collect();
        FileIndex { original, kind, size, names, groups, starts, lens }
    }

    /// Names and bytes of its texts.
    pub(super) fn named_texts(&self) -> impl Iterator<Item = (&str, u64)> {
        self.names.iter().map(String::as_str).zip(self.lens)
    }

    pub(super) fn group_start(&self, group: usize) -> u64 {
        self.starts.get(group).map_or(0, |starts| starts[0])
    }

    pub(super) fn to_indexed(&self) -> IndexedFile {
        let texts = self.named_texts().map(|(name, len)| (name.to_owned(), len)).collect();
        IndexedFile { original: self.original.clone(), size: self.size, texts }
    }

    pub(super) fn append_to(&self, out: &mut Vec<u8>) {
        append_prefixed_bytes(out, self.original.name.as_bytes());
        let (seconds, nanos) = self.original.changed;
        out.extend_from_slice(&seconds.to_le_bytes());
        append_varint(out, nanos.into());
        out.push(self.kind);
        append_varint(out, self.size);
        out.push(self.names.len() as u8);
        self.names.iter().for_each(|name| append_prefixed_bytes(out, name.as_bytes()));
        append_varint(out, self.groups.len() as u64);
        for group in &self.groups {
            group.place.iter().for_each(|number| append_varint(out, *number));
            group
                .lens
                .iter()
                .take(self.names.len())
                .for_each(|len| append_varint(out, (*len).into()));
            append_varint(out, group.blob);
            append_varint(out, group.blob_len.into());
            out.extend_from_slice(&group.hash);
        }
    }

    fn read_from(wire: &mut WireReader<'_>) -> Result<FileIndex> {
        let name = wire.read_string()?;
        let seconds = i64::from_le_bytes(wire.read_array()?);
        let nanos = wire.read_bounded_varint(999_999_999)? as u32;
        let (kind, size) = (wire.read_byte()?, wire.read_varint()?);
        let count = usize::from(wire.read_byte()?);
        if !(1..=TEXTS).contains(&count) {
            return Err(Error::damaged(format!("{count} texts")));
        }
        let names = (0..count).map(|_| wire.read_string()).collect::<Result<Vec<_>>>()?;
        // Each has some bytes at least.
        let groups = wire.read_bounded_varint(wire.rest().len())?;
        let groups = (0..groups).map(|_| {
            let place = [wire.read_varint()?, wire.read_varint()?, wire.read_varint()?];
            let mut lens = [0; TEXTS];
            for len in &mut lens[..count] {
                *len = wire.read_bounded_varint(TEXT_MAX as usize)? as u32;
            }
            let blob = wire.read_varint()?;
            let blob_len = wire.read_bounded_varint(TEXT_MAX as usize)? as u32;
            Ok(TextGroup { place, lens, blob, blob_len, hash: wire.read_array()? })
        });
        let groups = groups.collect::<Result<Vec<_>>>()?;
        Ok(FileIndex::new(
            OriginalFile { name, changed: (seconds, nanos) },
            kind,
            size,
            names,
            groups,
        ))
    }

    /// All of a table.
    pub(super) fn read_all(wire: &mut WireReader<'_>) -> Result<Vec<FileIndex>> {
        let parts = wire.read_bounded_varint(wire.rest().len())?;
        let parts = (0..parts).map(|_| FileIndex::read_from(wire)).collect::<Result<Vec<_>>>()?;
        wire.expect_end()?;
        Ok(parts)
    }
}
