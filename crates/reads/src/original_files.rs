//! Files of reads that were there before any archive, shown as plain FASTQ: `.fastq.gz` and CRAM.
//! They stay where they are, and no copy is made. Whoever wants to read in the middle of one needs
//! to know where to begin, so it is read once ([`build_index`]), and what was learned goes into an
//! index of some thousandths of the text. docs/formats/tiers.md draws that.
//!
//! ```text
//! index   file -> kind (gzip, cram) -> groups of text, what decodes each alone, hashes -> table
//! read    table -> group -> bytes of the file -> kind -> compared with what it was
//! ```
//!
//! What it is not: faces, the cache and decoding ahead are [`crate::exported_view`]'s, as of
//! archives.

mod blobs;
mod index_table;
mod kinds;
mod object_reader;
mod pieces;
mod texts;

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Arc, Mutex};

use crate::error::{Error, Kind, Result};
use crate::exported_view::{
    ExportedFile, ExportedReader, ExportedText, TextCache, check_distinct_names, plain_and_bgzf,
};
use crate::hash::hash;
use crate::objects::ObjectSource;
use crate::wire::WireReader;
use blobs::{END, IndexWriter};
use index_table::FileIndex;
pub use kinds::is_original;
use kinds::{find_kind, kind_from_head};
use object_reader::ObjectReader;

/// Text of a group, as far as that is up to us: as in archives.
const GROUP: u64 = crate::profile::GROUP_TEXT as u64;

/// A file that is to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginalFile {
    /// Its name among the objects: its path.
    pub name: String,
    /// When it was changed last, in seconds and nanoseconds since 1970, as its file system says.
    pub changed: (i64, u32),
}

/// What an index says of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexedFile {
    /// The file as it was.
    pub original: OriginalFile,
    /// Its size.
    pub size: u64,
    /// Files that are shown for it, with bytes of text: two of a CRAM of pairs.
    pub texts: Vec<(String, u64)>,
}

/// Files with their index.
#[derive(Debug)]
pub struct OriginalFileSet {
    objects: Arc<dyn ObjectSource>,
    index: String,
    parts: Vec<FileIndex>,
    /// Of each file that is shown, which part it is of, and which of its texts.
    files: Vec<(usize, usize)>,
    /// What was decoded beside what somebody wanted: see [`texts`].
    beside: Mutex<texts::SpareTexts>,
}

/// Reads `originals` with so many threads, and writes their index to `out`. `progress` hears how
/// many bytes of text were there so far. Takes some 16 KiB of memory for each 4 MiB of text of the
/// longest gzip, and what rapidgzip has under way: some 32 MiB for each thread; for each thread two
/// containers of a CRAM.
///
/// # Errors
/// With the file: [`Kind::Input`] if it is damaged or cut off, [`Kind::Request`] if it is of no kind
/// or in no order that can be shown; what `objects` give; `out` refuses.
pub fn build_index(
    objects: &Arc<dyn ObjectSource>,
    originals: &[OriginalFile],
    threads: usize,
    out: &mut dyn Write,
    mut progress: impl FnMut(u64) + Send,
) -> Result<Vec<IndexedFile>> {
    let mut blobs = IndexWriter::begin_index(out)?;
    let (mut parts, mut before) = (Vec::new(), 0);
    for original in originals {
        let at = |error: Error| error.with_context(&original.name);
        let bytes = ObjectReader::open_object(objects, &original.name)?;
        let kind = kind_from_head(&bytes.read_head().map_err(at)?).map_err(at)?;
        let progress: &mut (dyn FnMut(u64) + Send) = &mut |text| progress(before + text);
        let (names, groups) = (kind.index)(&bytes, threads, &mut blobs, progress).map_err(at)?;
        let (original, size) = (original.clone(), bytes.size());
        let part = FileIndex::new(original, kind.id, size, names, groups);
        before += part.named_texts().map(|(_, len)| len).sum::<u64>();
        parts.push(part);
    }
    list_exported_files(&parts)?;
    blobs.finish_index(&parts)?;
    Ok(parts.iter().map(FileIndex::to_indexed).collect())
}

impl OriginalFileSet {
    /// Opens the index `name`, which lies among the objects, too, and looks at each file.
    ///
    /// # Errors
    /// [`Kind::Damaged`] or [`Kind::Unknown`] for the index, [`Kind::Changed`] for a file that has
    /// another size than it had; what the objects give.
    pub fn open(objects: Arc<dyn ObjectSource>, name: &str) -> Result<OriginalFileSet> {
        let at = |error: Error| error.with_context(name);
        let table = read_table(&*objects, name).map_err(at)?;
        let mut wire = WireReader::new(&table);
        let parts = FileIndex::read_all(&mut wire).map_err(at)?;
        for part in &parts {
            find_kind(part.kind).map_err(at)?;
            let size = objects.object_size(&part.original.name)?;
            if size != part.size {
                let (name, was) = (&part.original.name, part.size);
                let words = format!("{name} has {size} bytes, it had {was} when it was read");
                return Err(Error::new(Kind::Changed, words));
            }
        }
        let of = |(nth, part): (usize, &FileIndex)| {
            (0..part.named_texts().count()).map(move |text| (nth, text)).collect::<Vec<_>>()
        };
        let files = parts.iter().enumerate().flat_map(of).collect();
        let (index, beside) = (name.to_owned(), Mutex::default());
        Ok(OriginalFileSet { objects, index, parts, files, beside })
    }

    /// The files as they were.
    pub fn indexed_files(&self) -> impl Iterator<Item = IndexedFile> {
        self.parts.iter().map(FileIndex::to_indexed)
    }

    /// What is shown: each text, and the same as BGZF, with the number of the file that it is of.
    ///
    /// # Errors
    /// [`Kind::Request`] if two would have one name.
    pub fn exported_files(&self) -> Result<Vec<(usize, ExportedFile)>> {
        list_exported_files(&self.parts)
    }

    /// Reads them, with a cache and its threads that others may share.
    #[must_use]
    pub fn into_reader(self, cache: Arc<TextCache>) -> ExportedReader {
        ExportedReader::for_source(Arc::new(self), cache)
    }
}

fn list_exported_files(parts: &[FileIndex]) -> Result<Vec<(usize, ExportedFile)>> {
    let (mut all, mut file) = (Vec::new(), 0);
    for (nth, part) in parts.iter().enumerate() {
        for (text, (name, _)) in part.named_texts().enumerate() {
            let lens: Vec<u64> = part.groups.iter().map(|group| group.lens[text].into()).collect();
            let both = plain_and_bgzf(name.to_owned(), ExportedText::for_whole_file(file, &lens));
            all.extend(both.into_iter().map(|face| (nth, face)));
            file += 1;
        }
    }
    check_distinct_names(all.iter().map(|(_, face)| face.name.as_str())).map_err(|error| {
        let mut seen = BTreeMap::new();
        let twice = all.iter().find_map(|(nth, face)| Some((seen.insert(&face.name, nth)?, nth)));
        let name = |nth: &usize| parts[*nth].original.name.as_str();
        match twice {
            Some((one, other)) => {
                error.with_suffix(format_args!(", {} and {}", name(one), name(other)))
            }
            None => error,
        }
    })?;
    Ok(all)
}

/// Bytes of the table of an index, which are those that were written.
fn read_table(objects: &dyn ObjectSource, name: &str) -> Result<Vec<u8>> {
    let end = objects.object_size(name)?.checked_sub(END as u64);
    let end = end.ok_or_else(|| Error::damaged("it is no index of reads"))?;
    let (len, told) = blobs::parse_trailer(&objects.read_range(name, end, END)?)?;
    let start = end.checked_sub(len).ok_or_else(|| Error::damaged("it is shorter than it was"))?;
    let len = usize::try_from(len).map_err(|_| Error::damaged("a table of no length"))?;
    let table = objects.read_range(name, start, len)?;
    match hash(&table) == told {
        true => Ok(table),
        false => Err(Error::damaged("its table is damaged")),
    }
}
