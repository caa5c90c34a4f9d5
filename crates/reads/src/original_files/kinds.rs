//! Kinds of files that can be shown. One file each, one line in [`KINDS`].

mod cram;
mod gzip;

use super::blobs::IndexWriter;
use super::index_table::TextGroup;
use super::object_reader::ObjectReader;
use crate::error::{Error, Kind, Result};

/// Reads all of a file, with so many threads: names of its texts, and their groups.
type IndexFunction = fn(
    &ObjectReader,
    usize,
    &mut IndexWriter<'_>,
    &mut (dyn FnMut(u64) + Send),
) -> Result<(Vec<String>, Vec<TextGroup>)>;

/// The texts of one group, with its blob; the number is where that of the first begins in the file's.
type DecodeFunction = fn(&ObjectReader, &TextGroup, u64, &[u8]) -> Result<Vec<Vec<u8>>>;

/// A kind of file.
pub(super) struct FileKind {
    /// The number that stands in indexes, for ever.
    pub(super) id: u8,
    magic: &'static [u8],
    /// What names of such files end in.
    endings: &'static [&'static str],
    pub(super) index: IndexFunction,
    pub(super) decode: DecodeFunction,
}

/// All there are.
const KINDS: &[&FileKind] = &[&gzip::KIND, &cram::KIND];

const fn define_kind(
    (id, magic, endings): (u8, &'static [u8], &'static [&'static str]),
    index: IndexFunction,
    decode: DecodeFunction,
) -> FileKind {
    FileKind { id, magic, endings, index, decode }
}

pub(super) fn find_kind(id: u8) -> Result<&'static FileKind> {
    let found = KINDS.iter().find(|kind| kind.id == id).copied();
    found.ok_or_else(|| Error::new(Kind::Unknown, format!("there is no kind of file {id}")))
}

/// By what a file begins with.
pub(super) fn kind_from_head(head: &[u8]) -> Result<&'static FileKind> {
    let found = KINDS.iter().find(|kind| head.starts_with(kind.magic)).copied();
    found.ok_or_else(|| Error::new(Kind::Request, "it is neither gzip nor CRAM"))
}

/// Whether files of such a name are looked for in a directory: not those that are hidden, such as
/// the `._x.fastq.gz` of other systems.
#[must_use]
pub fn is_original(name: &str) -> bool {
    if name.starts_with('.') {
        return false;
    }
    let ends = |end: &&str| name.len() > end.len() && name.ends_with(end);
    KINDS.iter().any(|kind| kind.endings.iter().any(ends))
}
