//! Groups of files that were there before, decoded and compared with what they were.

use std::collections::VecDeque;

use super::OriginalFileSet;
use super::index_table::{FileIndex, TextGroup};
use super::kinds::find_kind;
use super::object_reader::ObjectReader;
use crate::error::{Error, Result};
use crate::exported_view::{GroupPosition, GroupedText, wrong_archive_error};
use crate::hash::hash;

/// Texts of mates that were decoded with others', at most: who reads both side by side is a little
/// ahead with one of them.
const BESIDE: usize = 6;

/// Texts that nobody asked for yet: part, text, group.
pub(super) type SpareTexts = VecDeque<((usize, usize, usize), Vec<u8>)>;

impl OriginalFileSet {
    fn part_of_file(&self, file: usize) -> Result<(&FileIndex, usize, usize)> {
        let (nth, text) = *self.files.get(file).ok_or_else(wrong_archive_error)?;
        Ok((self.parts.get(nth).ok_or_else(wrong_archive_error)?, nth, text))
    }

    fn group_of_file(&self, file: usize, group: usize) -> Result<(&FileIndex, &TextGroup)> {
        let (part, _, _) = self.part_of_file(file)?;
        Ok((part, part.groups.get(group).ok_or_else(wrong_archive_error)?))
    }

    fn read_blob(&self, group: &TextGroup) -> Result<Vec<u8>> {
        let blob = self.objects.read_range(&self.index, group.blob, group.blob_len as usize)?;
        match hash(&blob) == group.hash {
            true => Ok(blob),
            false => Err(Error::damaged(format!("{}: byte {}", self.index, group.blob))),
        }
    }

    fn take_cached_text(&self, key: (usize, usize, usize)) -> Option<Vec<u8>> {
        let mut beside = self.beside.lock().expect("nobody panics with it");
        let nth = beside.iter().position(|(of, _)| *of == key)?;
        beside.remove(nth).map(|(_, text)| text)
    }

    fn cache_text(&self, key: (usize, usize, usize), text: Vec<u8>) {
        let mut beside = self.beside.lock().expect("nobody panics with it");
        beside.retain(|(of, _)| *of != key);
        while beside.len() >= BESIDE {
            beside.pop_front();
        }
        beside.push_back((key, text));
    }
}

impl GroupedText for OriginalFileSet {
    fn file_count(&self) -> usize {
        self.files.len()
    }

    fn group_count(&self, file: usize) -> usize {
        self.part_of_file(file).map_or(0, |(part, _, _)| part.groups.len())
    }

    fn locate_in_stripe(&self, _: usize, _: usize, _: u64, _: u64) -> Result<GroupPosition> {
        // There are no stripes.
        Err(wrong_archive_error())
    }

    fn group_len(&self, file: usize, group: usize) -> Result<usize> {
        let (_, _, text) = self.part_of_file(file)?;
        Ok(self.group_of_file(file, group)?.1.lens[text] as usize)
    }

    fn estimated_group_len(&self, file: usize, group: usize) -> usize {
        self.group_len(file, group).unwrap_or_default()
    }

    fn prefetch_groups(&self, _: usize, _: &[usize]) {}

    fn decode_group(&self, file: usize, group: usize) -> Result<Vec<u8>> {
        let (part, nth, text) = self.part_of_file(file)?;
        if let Some(text) = self.take_cached_text((nth, text, group)) {
            return Ok(text);
        }
        let (_, at) = self.group_of_file(file, group)?;
        let blob = self.read_blob(at)?;
        let bytes = ObjectReader::open_object(&self.objects, &part.original.name)?;
        let decode = find_kind(part.kind)?.decode;
        let texts = decode(&bytes, at, part.group_start(group), &blob);
        let texts = texts.map_err(|error| error.with_context(&part.original.name))?;
        let mut wanted = None;
        for (of, bytes) in texts.into_iter().enumerate() {
            match of == text {
                true => wanted = Some(bytes),
                false => self.cache_text((nth, of, group), bytes),
            }
        }
        wanted.ok_or_else(wrong_archive_error)
    }
}
