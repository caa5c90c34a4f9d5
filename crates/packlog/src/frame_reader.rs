//! Reading the frames of a log, one after the other.

use rustix::io::Errno;

use super::disk::AppendFile;
use super::record::{FRAME, FrameHeader, HEADER};

/// Bytes read at once.
const WINDOW: usize = 1 << 20;

/// Reads frames in large pieces; data are read only when they happen to lie in one.
pub(super) struct FrameReader<'a> {
    disk: &'a dyn AppendFile,
    pub(super) at: u64,
    window: Vec<u8>,
    from: u64,
}

impl<'a> FrameReader<'a> {
    /// At the first frame.
    pub(super) fn new(disk: &'a dyn AppendFile) -> FrameReader<'a> {
        FrameReader { disk, at: HEADER, window: Vec::new(), from: 0 }
    }

    /// The frame at `at`, with the bytes of its record; `None` when there is no whole record.
    pub(super) fn read_frame(&mut self) -> Result<Option<(FrameHeader, &[u8])>, Errno> {
        let at = self.at;
        if !self.fill_window(at, FRAME)? {
            return Ok(None);
        }
        let start = (at - self.from) as usize;
        let bytes: &[u8; FRAME] = self.window[start..start + FRAME].try_into().expect("a head");
        let Some(head) = FrameHeader::parse(bytes) else { return Ok(None) };
        let whole = FRAME + head.record as usize;
        if !self.fill_window(at, whole)? {
            return Ok(None);
        }
        let start = (at - self.from) as usize;
        Ok(Some((head, &self.window[start + FRAME..start + whole])))
    }

    fn fill_window(&mut self, at: u64, length: usize) -> Result<bool, Errno> {
        let end = at + length as u64;
        if at >= self.from && end <= self.from + self.window.len() as u64 {
            return Ok(true);
        }
        self.window.resize(WINDOW.max(length), 0);
        let count = self.disk.read_at(at, &mut self.window)?;
        self.window.truncate(count);
        self.from = at;
        Ok(count >= length)
    }
}
