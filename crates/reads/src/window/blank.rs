//! What stands around the reads of a file and is none of them.

use memchr::memchr_iter;

use super::RecordWindow;
use crate::error::Result;
use crate::profile::GROUP_TEXT;
use crate::row_group::{BOM, TextRecords};

impl RecordWindow {
    /// Bytes at a place that are of no read, and no text either: a byte order mark at the front of a
    /// file, or blank lines up to the end of one.
    pub(crate) fn blank_len(&mut self, at: usize) -> Result<usize> {
        while self.text.len() < at + BOM.len() && self.read_more()? {}
        let mut lines = self.lines + memchr_iter(b'\n', &self.text[..at]).count() as u64;
        let begins = |files: &[(u64, String)], line| files.iter().any(|(first, _)| *first == line);
        if self.text[at..].starts_with(BOM) && begins(&self.files, lines) {
            return Ok(BOM.len());
        }
        let mut end = at;
        while end == at || !begins(&self.files, lines) {
            let rest = &self.text[end..];
            let blank = match rest {
                [b'\n', ..] => 1,
                [b'\r', b'\n', ..] => 2,
                [] | [b'\r'] => 0,
                _ => return Ok(0),
            };
            if blank == 0 {
                let open = !rest.is_empty();
                match self.read_more()? {
                    true => continue,
                    false if open => return Ok(0),
                    false => break,
                }
            }
            if end - at > GROUP_TEXT {
                return Ok(0);
            }
            (end, lines) = (end + blank, lines + 1);
        }
        Ok(end - at)
    }

    /// Takes so many bytes that have no records.
    pub(crate) fn take_blank(&mut self, len: usize) -> TextRecords {
        TextRecords { text: self.split_front(len), ends: Vec::new() }
    }
}
