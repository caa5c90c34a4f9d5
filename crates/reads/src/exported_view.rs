//! What an archive shows: each of its files, the same as BGZF, and shards of both. Names and sizes
//! come from the manifest and the index; nothing is decoded until [`ExportedReader`] is asked for
//! bytes.

mod archive_text;
mod exported_reader;
mod exported_text;
mod grouped_text;
mod index_pages;
mod shard_names;
mod streams;
mod text_cache;

use std::num::NonZeroU32;
use std::sync::Arc;

use crate::archive::{Archive, no_lite_error};
use crate::bgzf;
use crate::error::{Error, Kind, Result};
pub use exported_reader::ExportedReader;
use exported_text::TextEnds;
pub(crate) use exported_text::{ExportedText, wrong_archive_error};
pub(crate) use grouped_text::{GroupPosition, GroupedText};
pub(crate) use shard_names::strip_packed_suffix;
pub use text_cache::TextCache;

/// Shards of a file, at most.
pub const SHARDS_MAX: u32 = 10_000;

/// A file that an archive shows.
#[derive(Clone, Debug)]
pub struct ExportedFile {
    /// Its name, without folders.
    pub name: String,
    /// Its size in bytes.
    pub len: u64,
    lane: ExportedText,
    wrap: TextWrapping,
}

/// What is put around the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TextWrapping {
    /// Nothing.
    Plain,
    /// Blocks of gzip that are not compressed; see [`crate::bgzf`].
    Bgzf,
}

impl Archive {
    /// The files that it shows: each as it was packed (`x_R1.fastq`), and as BGZF
    /// (`x_R1.fastq.gz`). With `shards`, also so many shards of each in both forms
    /// (`x_R1.0007-of-0064.fastq`): shard *k* has the groups *k* - 1, *k* - 1 + `shards`, ... of
    /// about 4 MiB of text, of both mates of a pair the same reads; where there are fewer groups
    /// than shards, some are empty. Each read is in one of them.
    ///
    /// Without shards it fetches nothing, with shards each page of the index once; also without
    /// qualities, where some text is kept as it was.
    ///
    /// # Errors
    /// [`Kind::Request`] if two of them would have one name, if more than [`SHARDS_MAX`] shards are
    /// wanted, or shards of text that has no records of four lines, or such text without qualities; for shards also what reading the index gives.
    pub fn exported_files(&self, shards: Option<NonZeroU32>) -> Result<Vec<ExportedFile>> {
        if shards.is_some_and(|shards| shards.get() > SHARDS_MAX) {
            return Err(Error::new(Kind::Request, format!("{SHARDS_MAX} shards are the most")));
        }
        if self.is_lite() {
            self.check_lite()?;
        }
        let mut faces = Vec::new();
        let texts: Vec<Arc<[u64]>> = match shards {
            Some(_) => self.group_text_lengths()?,
            None => Vec::new(),
        };
        for (file, shown) in self.manifest().files.iter().enumerate() {
            let name = strip_packed_suffix(&shown.name);
            faces.extend(plain_and_bgzf(name.to_owned(), self.whole_lane(file)));
            let shards = shards.map_or(0, |shards| shards.get() as usize);
            for first in 0..shards {
                let lane = ExportedText::for_shard(file, first, shards, &texts[file]);
                faces
                    .extend(plain_and_bgzf(shard_names::shard_name(name, first + 1, shards), lane));
            }
        }
        check_distinct_names(faces.iter().map(|face| face.name.as_str()))?;
        Ok(faces)
    }

    /// The face with a name, also that of a shard, or None if there is none.
    ///
    /// # Errors
    /// As [`Archive::exported_files`].
    pub fn find_exported_file(&self, name: &str) -> Result<Option<ExportedFile>> {
        let faces = self.exported_files(shard_names::shards_in_name(name))?;
        Ok(faces.into_iter().find(|face| face.name == name))
    }

    fn whole_lane(&self, file: usize) -> ExportedText {
        let mut end = 0_u64;
        let ends = self.manifest().stripes.iter().map(|stripe| {
            end = end.saturating_add(stripe.texts[file]);
            end
        });
        ExportedText { file, first: 0, step: 1, ends: TextEnds::OfStripes(ends.collect()) }
    }

    /// Text of which nobody knows what are qualities can't be shown without them.
    fn check_lite(&self) -> Result<()> {
        let stripes = match self.manifest().as_text_bytes {
            0 => 0,
            _ => self.manifest().stripes.len(),
        };
        for stripe in 0..stripes {
            for group in index_pages::read_checked_groups(self, stripe)? {
                if group.spots == 0 && !self.is_blank_group(&group)? {
                    return Err(no_lite_error(group.number));
                }
            }
        }
        Ok(())
    }

    /// For each file the bytes of each group.
    fn group_text_lengths(&self) -> Result<Vec<Arc<[u64]>>> {
        let shape = self.manifest().shape;
        let mut texts = vec![Vec::new(); shape.file_count()];
        for stripe in 0..self.manifest().stripes.len() {
            for group in index_pages::read_checked_groups(self, stripe)? {
                if group.spots == 0 && !self.is_blank_group(&group)? {
                    let words = "its text has no records of four lines, so it has no shards";
                    let words = format!("group {}: {words}", group.number);
                    return Err(Error::new(Kind::Request, words));
                }
                for (file, lens) in texts.iter_mut().enumerate() {
                    lens.push(group.text_len(shape, file));
                }
            }
        }
        Ok(texts.into_iter().map(Arc::from).collect())
    }
}

/// Files of one folder have a name each.
pub(crate) fn check_distinct_names<'a>(names: impl Iterator<Item = &'a str>) -> Result<()> {
    let mut sorted: Vec<&str> = names.collect();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => {
            let words = format!("two of the files that it shows are called {}", pair[0]);
            Err(Error::new(Kind::Request, words))
        }
        None => Ok(()),
    }
}

/// A text as it is, and as BGZF.
pub(crate) fn plain_and_bgzf(name: String, lane: ExportedText) -> [ExportedFile; 2] {
    let len = lane.len();
    let gz = format!("{name}.gz");
    let plain = ExportedFile { name, len, lane: lane.clone(), wrap: TextWrapping::Plain };
    [plain, ExportedFile { name: gz, len: bgzf::encoded_len(len), lane, wrap: TextWrapping::Bgzf }]
}

#[cfg(test)]
mod tests;
