//! Saving what can be saved of a damaged log: frames are independent, so those behind a damaged
//! place still say what happened. The damaged log is kept beside the new one.

use std::path::Path;

use rustix::io::Errno;

use super::disk::{AppendFile, LogDirectory, LogStorage};
use super::frame_reader::FrameReader;
use super::log::{Log, LogError};
use super::pack_index::Index;
use super::record::{FRAME, HEADER, MAGIC, Record};
use super::working_files::WorkingFiles;
use super::{Pack, PackEnvironment};

/// The damaged log.
const DAMAGED: &str = "log.damaged";

impl Pack {
    /// Opens a damaged pack, with a new log of all frames that are whole. Tells how many bytes of
    /// the old one, which is kept as `log.damaged`, say nothing.
    ///
    /// # Errors
    /// A log of another format; a damaged one that is kept there already; the file system's.
    pub fn open_salvaged(path: &Path, world: PackEnvironment) -> std::io::Result<(Pack, u64)> {
        let kept = path.join(DAMAGED);
        if kept.exists() {
            let why = format!("{} is there from an earlier repair: move it away", kept.display());
            return Err(std::io::Error::other(why));
        }
        std::fs::copy(path.join("log"), &kept)?;
        let folder = LogDirectory::open(path)?;
        let root = rustix::io::fcntl_dupfd_cloexec(folder.root(), 0)?;
        Pack::salvage_with_ground(Box::new(folder), root, world).map_err(|damage| match damage {
            LogError::Disk(error) => error.into(),
            _ => std::io::Error::other("its log is of another format"),
        })
    }

    pub(super) fn salvage_with_ground(
        ground: Box<dyn LogStorage>,
        root: std::os::fd::OwnedFd,
        world: PackEnvironment,
    ) -> Result<(Pack, u64), LogError> {
        let disk = ground.open_log()?;
        let mut header = [0; HEADER as usize];
        if disk.read_at(0, &mut header)? < header.len() || header[..8] != MAGIC {
            return Err(LogError::Foreign);
        }
        let salt = u32::from_le_bytes([header[8], header[9], header[10], header[11]]);
        let (index, lost) = read_whole_frames(&*disk, salt)?;
        let (same_life, next) = (index.boot == world.boot, index.next_working_file_number());
        // Never written to: the rewriting puts another in its place.
        let damaged = Log::for_reading(disk, salt);
        let pack = Pack::from_parts(index, damaged, ground, WorkingFiles::new(root, next), world);
        let mut state = pack.state.lock();
        pack.rewrite_log(&mut state)?;
        drop(state);
        pack.recover_after_kill(same_life)?;
        Ok((pack, lost))
    }
}

/// What all whole frames come to, and how many bytes are between them.
fn read_whole_frames(disk: &dyn AppendFile, salt: u32) -> Result<(Index, u64), Errno> {
    let mut index = Index::default();
    let (length, mut lost) = (disk.file_length()?, 0);
    let mut reader = FrameReader::new(disk);
    let mut data = Vec::new();
    while reader.at < length {
        let at = reader.at;
        let mut taken = 1;
        if let Some((head, bytes)) = reader.read_frame()?
            && at + head.frame_length() <= length
            && let Some(record) = head.decode_record(salt, bytes)
        {
            let data_at = at + FRAME as u64 + u64::from(head.record);
            data.resize(head.data as usize, 0);
            let count = disk.read_at(data_at, &mut data)?;
            let whole = count == data.len() && crc32fast::hash(&data) == head.data_crc;
            // Bytes that changed leave the older ones of their file.
            if whole || !matches!(record, Record::Content { .. }) {
                index.apply_record(&record, data_at, head.data_crc, u64::from(head.data));
            }
            taken = head.frame_length();
            lost += if whole { 0 } else { taken };
        } else {
            lost += 1;
        }
        reader.at = at + taken;
    }
    Ok((index, lost))
}
