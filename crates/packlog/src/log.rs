//! The log of a pack: one file that only grows, each operation one frame, written before its answer
//! is given. What was written whole is found again after a kill; after a power failure, everything
//! up to some moment no earlier than the last sync.

use std::ops::Range;
use std::sync::Arc;

use rustix::io::Errno;

use super::disk::AppendFile;
use super::frame_reader::FrameReader;
use super::pack_index::Index;
use super::record::{FRAME, HEADER, MAGIC, Record, append_frame};

/// An open log.
#[derive(Debug)]
pub(super) struct Log {
    pub(super) disk: Arc<dyn AppendFile>,
    salt: u32,
    pub(super) end: u64,
    buffer: Vec<u8>,
}

/// What is wrong with a log.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LogError {
    /// It is none of ours, or of another format.
    Foreign,
    /// Bytes at this position changed after they were safe.
    Broken { at: u64 },
    /// The file system's word.
    Disk(Errno),
}

impl From<Errno> for LogError {
    fn from(error: Errno) -> LogError {
        LogError::Disk(error)
    }
}

impl Log {
    /// Begins a log in an empty file. `salt` tells its frames from bytes of files that look like
    /// frames.
    pub(super) fn create_empty(disk: Arc<dyn AppendFile>, salt: u32) -> Result<Log, Errno> {
        let mut header = MAGIC.to_vec();
        header.extend_from_slice(&salt.to_le_bytes());
        header.resize(HEADER as usize, 0);
        disk.truncate_to(0)?;
        disk.write_at(0, &header)?;
        Ok(Log { disk, salt, end: HEADER, buffer: Vec::new() })
    }

    /// A log that is only read from.
    pub(super) fn for_reading(disk: Arc<dyn AppendFile>, salt: u32) -> Log {
        Log { disk, salt, end: HEADER, buffer: Vec::new() }
    }

    /// Reads a log again. A frame that was being written when the power went, or all of it was
    /// killed, ends it; what follows is cut off.
    ///
    /// `boot` is this life of the machine: what an earlier one wrote and did not make safe may
    /// have holes, so its data are looked at too.
    ///
    /// # Errors
    /// A log that changed where it was safe.
    pub(super) fn open(
        disk: Arc<dyn AppendFile>,
        boot: [u8; 16],
    ) -> Result<(Log, Index), LogError> {
        let mut header = [0; HEADER as usize];
        if disk.read_at(0, &mut header)? < header.len() || header[..8] != MAGIC {
            return Err(LogError::Foreign);
        }
        let salt = u32::from_le_bytes([header[8], header[9], header[10], header[11]]);
        let mut index = Index::default();
        let mut reader = FrameReader::new(&*disk);
        let mut safe = HEADER;
        let length = disk.file_length()?;
        let end = loop {
            let at = reader.at;
            let Some((head, bytes)) = reader.read_frame()? else { break at };
            let Some(record) = head.decode_record(salt, bytes) else { break at };
            let data_at = at + FRAME as u64 + u64::from(head.record);
            // One that makes no sense by itself (about a file that had no name when the log was
            // written anew) changes nothing, and ends nothing.
            index.apply_record(&record, data_at, head.data_crc, u64::from(head.data));
            if let Record::Safe { below } = record {
                safe = safe.max(below);
            }
            reader.at = at + head.frame_length();
            if reader.at > length {
                break at;
            }
        };
        let reached = reader.at;
        let end = match index.boot == boot {
            true => end,
            false => first_hole(&*disk, salt, safe..end)?.unwrap_or(end),
        };
        if is_durable_after(&*disk, salt, end)? {
            return Err(LogError::Broken { at: end });
        }
        if end < length {
            disk.truncate_to(end)?;
        }
        let mut log = Log { disk, salt, end, buffer: Vec::new() };
        if end < reached {
            // Some records went with the hole: once more, without them.
            index = log.rebuild_index()?;
        }
        log.buffer.clear();
        Ok((log, index))
    }

    fn rebuild_index(&self) -> Result<Index, LogError> {
        let mut index = Index::default();
        let mut reader = FrameReader::new(&*self.disk);
        while reader.at < self.end {
            let at = reader.at;
            let Some((head, bytes)) = reader.read_frame()? else { break };
            let Some(record) = head.decode_record(self.salt, bytes) else { break };
            let data_at = at + FRAME as u64 + u64::from(head.record);
            index.apply_record(&record, data_at, head.data_crc, u64::from(head.data));
            reader.at = at + head.frame_length();
        }
        Ok(index)
    }

    /// Writes a record, and takes it in.
    ///
    /// # Errors
    /// The file system's, ENOSPC above all; the log and the index are as they were then.
    pub(super) fn append_record(
        &mut self,
        index: &mut Index,
        record: &Record<'_>,
        data: &[u8],
    ) -> Result<(), Errno> {
        self.buffer.clear();
        append_frame(self.salt, record, data, &mut self.buffer)?;
        if let Err(error) = self.disk.write_at(self.end, &self.buffer) {
            // The next record is written over it, and a reader stops before what is not whole.
            let _ = self.disk.truncate_to(self.end);
            return Err(error);
        }
        let data_at = self.end + self.buffer.len() as u64 - data.len() as u64;
        let applied = index.apply_record(record, data_at, crc32fast::hash(data), data.len() as u64);
        if !applied {
            // The next record is written over it, and a reader stops before what is not whole.
            let _ = self.disk.truncate_to(self.end);
            return Err(Errno::STALE);
        }
        self.end += self.buffer.len() as u64;
        Ok(())
    }
}

/// The first frame of a part of the log whose data are not what they were.
fn first_hole(disk: &dyn AppendFile, salt: u32, part: Range<u64>) -> Result<Option<u64>, LogError> {
    let mut data = Vec::new();
    let mut reader = FrameReader::new(disk);
    reader.at = part.start;
    while reader.at < part.end {
        let at = reader.at;
        let Some((head, bytes)) = reader.read_frame()? else { break };
        if let Some(Record::Content { .. }) = head.decode_record(salt, bytes) {
            data.resize(head.data as usize, 0);
            let data_at = at + FRAME as u64 + u64::from(head.record);
            if disk.read_at(data_at, &mut data)? < data.len()
                || crc32fast::hash(&data) != head.data_crc
            {
                return Ok(Some(at));
            }
        }
        reader.at = at + head.frame_length();
    }
    Ok(None)
}

/// Whether some whole frame behind `from` says that what is there was safe.
fn is_durable_after(disk: &dyn AppendFile, salt: u32, from: u64) -> Result<bool, LogError> {
    let length = disk.file_length()?;
    let mut reader = FrameReader::new(disk);
    reader.at = from;
    while reader.at < length {
        let at = reader.at;
        if let Some((head, bytes)) = reader.read_frame()?
            && let Some(Record::Safe { below }) = head.decode_record(salt, bytes)
            && below > from
        {
            return Ok(true);
        }
        reader.at = at + 1;
    }
    Ok(false)
}
