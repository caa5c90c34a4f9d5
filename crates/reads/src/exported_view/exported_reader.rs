//! Any part of a face, by many threads at a time, without a scratch file.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::archive_text::ArchiveText;
use super::exported_text::{ExportedText, wrong_archive_error};
use super::grouped_text::{GroupPosition, GroupedText};
use super::streams::{StreamProgress, StreamTracker};
use super::text_cache::TextCache;
use super::{ExportedFile, TextWrapping};
use crate::archive::Archive;
use crate::bgzf;
use crate::error::{Error, Result};
use crate::profile::GROUP_TEXT;

/// Bytes in a row after which the next group is decoded ahead, which is looked at as often; and
/// for each how many more another group is.
const IN_A_ROW: u64 = 256 << 10;
const ANOTHER: u64 = 2 << 20;
/// What is less than this part of a group may be decoded alone.
const PART: usize = 8;
/// Groups that are fetched before they are decoded, where they lie far away: those of two stripes.
/// There is no new request for less than half of them, so requests are long.
const FAR: u64 = 32;

/// Reads faces of an archive, or of files that were there before ([`crate::OriginalFileSet`]). A
/// group is decoded once for all who want it at a time, and again only when the cache has let go of
/// it. Pages of the index are fetched once and kept: 1 KiB for some 4 MiB of text.
#[derive(Debug)]
pub struct ExportedReader {
    source: Arc<dyn GroupedText>,
    cache: Arc<TextCache>,
    streams: StreamTracker,
    /// What tells its groups from those of others in the cache.
    number: u64,
}

impl ExportedReader {
    /// A reader with a cache of its own of `cache_bytes`, and as many threads that decode ahead as
    /// the machine has cores, 8 at most.
    #[must_use]
    pub fn new(archive: Arc<Archive>, cache_bytes: usize) -> ExportedReader {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        ExportedReader::with_shared_cache(archive, TextCache::new(cache_bytes, cores.min(8)))
    }

    /// A reader that shares a cache and its threads with others.
    #[must_use]
    pub fn with_shared_cache(archive: Arc<Archive>, cache: Arc<TextCache>) -> ExportedReader {
        ExportedReader::for_source(Arc::new(ArchiveText::new(archive)), cache)
    }

    /// A reader of whatever has text in groups.
    pub(crate) fn for_source(
        source: Arc<dyn GroupedText>,
        cache: Arc<TextCache>,
    ) -> ExportedReader {
        let number = cache.register_reader();
        ExportedReader { source, cache, streams: StreamTracker::default(), number }
    }

    /// Fills `out` with bytes of a face from `offset` on, and says how many there were: fewer only
    /// at its end. Groups that it touches are decoded whole, but for a first look at a small part.
    ///
    /// # Errors
    /// [`crate::Kind::Damaged`] with the place, what the objects give, and
    /// [`crate::Kind::Request`] for a face of another archive.
    pub fn read_at(&self, face: &ExportedFile, offset: u64, out: &mut [u8]) -> Result<usize> {
        let lane = &face.lane;
        if lane.file >= self.source.file_count() {
            return Err(wrong_archive_error());
        }
        match face.wrap {
            TextWrapping::Bgzf => bgzf::read_encoded(lane.len(), offset, out, |offset, out| {
                self.read_text(lane, offset, out)
            }),
            TextWrapping::Plain => {
                let len = usize::try_from(lane.len().saturating_sub(offset)).unwrap_or(usize::MAX);
                let len = len.min(out.len());
                self.read_text(lane, offset, &mut out[..len])?;
                Ok(len)
            }
        }
    }

    /// Writes all of a face, decoding with `threads` threads besides this one.
    ///
    /// # Errors
    /// As [`ExportedReader::read_at`], or `out` refuses.
    pub fn copy_to_writer(
        archive: Arc<Archive>,
        face: &ExportedFile,
        threads: usize,
        out: &mut impl Write,
    ) -> Result<()> {
        // Room for what each thread decodes and as much that waits, in the half that they have.
        let reader = ExportedReader::with_shared_cache(
            archive,
            TextCache::new(4 * threads * GROUP_TEXT, threads),
        );
        let (mut piece, mut at) = (vec![0; 1 << 20], 0);
        while at < face.len {
            let got = reader.read_at(face, at, &mut piece)?;
            out.write_all(&piece[..got]).map_err(|error| Error::io("writing", error))?;
            at += got as u64;
        }
        Ok(())
    }

    /// Text of a lane, which has all that is asked for.
    fn read_text(&self, lane: &ExportedText, offset: u64, out: &mut [u8]) -> Result<()> {
        let len = out.len() as u64;
        let way = self.streams.note_read(lane.id(), offset, len);
        let run = way.run;
        let mut done = 0;
        while done < out.len() {
            let at = offset + done as u64;
            let place = lane.find_group(&*self.source, at)?;
            if run >= IN_A_ROW && run / IN_A_ROW != run.saturating_sub(len) / IN_A_ROW {
                self.decode_ahead(lane, place, &way);
            }
            let from = (at - place.start) as usize;
            if let Some(part) = self.part_of_group(lane, place, from, out.len() - done)? {
                out[done..done + part.len()].copy_from_slice(&part);
                done += part.len();
                continue;
            }
            let text = self.decoded_group(lane, place)?;
            let rest = text.get(from..).unwrap_or_default();
            let part = rest.len().min(out.len() - done);
            if part == 0 {
                return Err(wrong_archive_error());
            }
            out[done..done + part].copy_from_slice(&rest[..part]);
            done += part;
        }
        Ok(())
    }

    /// A small part of a group that nobody looked at lately, decoded alone. Who begins at the front of
    /// a group goes on from the one before.
    fn part_of_group(
        &self,
        lane: &ExportedText,
        place: GroupPosition,
        from: usize,
        most: usize,
    ) -> Result<Option<Vec<u8>>> {
        let len = self.source.group_len(lane.file, place.group)?;
        let part = from..len.min(from + most);
        let key = (self.number, place.group, lane.file);
        if from == 0
            || part.is_empty()
            || part.len() > len / PART
            || !self.cache.is_first_look(key, len)
        {
            return Ok(None);
        }
        self.source.decode_part(lane.file, place.group, part)
    }

    fn decoded_group(&self, lane: &ExportedText, place: GroupPosition) -> Result<Arc<Vec<u8>>> {
        let source = &self.source;
        let len = source.group_len(lane.file, place.group)?;
        let key = (self.number, place.group, lane.file);
        self.cache.get_or_decode(key, len, || source.decode_group(lane.file, place.group))
    }

    /// Says which groups will be wanted, at least as many as are decoded ahead.
    fn prefetch_groups(
        &self,
        lane: &ExportedText,
        place: GroupPosition,
        way: &StreamProgress,
        decoded: usize,
    ) {
        let far = (1 + way.run / ANOTHER).min(FAR) as usize;
        let end = (place.group + far * lane.step + 1).min(self.source.group_count(lane.file));
        if way.told.load(Relaxed) <= place.group + decoded.max(far / 2) * lane.step {
            let told = way.told.fetch_max(end, Relaxed);
            let groups = (place.group..end).step_by(lane.step).skip(1);
            let groups: Vec<usize> = groups.skip_while(|group| *group < told).collect();
            self.source.prefetch_groups(lane.file, &groups);
        }
    }

    /// Has the next groups decoded.
    fn decode_ahead(&self, lane: &ExportedText, place: GroupPosition, way: &StreamProgress) {
        let most = (1 + way.run / ANOTHER).min(2 * self.cache.thread_count() as u64) as usize;
        self.prefetch_groups(lane, place, way, most);
        let groups = (1..=most).map(|nth| place.group + nth * lane.step);
        let all = self.source.group_count(lane.file);
        for group in groups.take_while(|group| *group < all) {
            let (source, file) = (Arc::clone(&self.source), lane.file);
            // The page may not be here yet; whoever decodes the group fetches it.
            let len = source.estimated_group_len(file, group);
            let decode = Box::new(move || source.decode_group(file, group));
            self.cache.decode_ahead((self.number, group, file), len, decode);
        }
    }
}

impl Drop for ExportedReader {
    fn drop(&mut self) {
        self.cache.forget_reader(self.number);
    }
}
