//! A log that is mostly history is written anew with what still counts: the checkpoint of a pack.
//! Readers of open files are not concerned, for they have working files.

use std::sync::Arc;

use rustix::io::Errno;

use super::log::Log;
use super::pack_index::{ContentLocation, Index, Inode};
use super::record::Record;
use super::{Pack, Result, State};

/// A log shorter than this, in bytes, is not worth the trouble.
const WORTH: u64 = 64 << 20;

/// The length at which a log of so many live bytes is written anew.
pub(super) fn rewrite_threshold(live: u64) -> u64 {
    WORTH.max(live * 2)
}

impl Pack {
    /// Writes the log anew when more than half of it is history. A failure changes nothing: the
    /// old log is whole.
    pub(super) fn rewrite_if_worthwhile(&self, state: &mut State) {
        if state.log.end > state.long && self.rewrite_log(state).is_err() {
            // As in `free_tier_space`.
            let _ = self.ground.discard_new_log();
            // Not at each close again.
            state.long = state.log.end + WORTH;
        }
    }

    pub(super) fn rewrite_log(&self, state: &mut State) -> Result<()> {
        let mut log = Log::create_empty(self.ground.create_new_log()?, (self.world.salt)())?;
        let mut index = Index::continuing_from(&state.index);
        let old = Arc::clone(&state.log.disk);
        log.append_record(&mut index, &Record::Begin { boot: state.index.boot }, &[])?;
        for dir in state.index.dirs.iter().filter(|dir| !dir.names.is_empty()) {
            let number = index.dirs.len() as u32;
            let record = Record::Dir { dir: number, key: dir.key, path: &dir.path };
            log.append_record(&mut index, &record, &[])?;
            for (name, to) in &dir.names {
                let name = name.as_bytes();
                let Some(inode) = state.index.inodes.get(to.ino) else { continue };
                if index.inodes.contains(to.ino) {
                    let (ino, ctime) = (to.ino, inode.attr.ctime);
                    let record = Record::Link { ino, dir: number, name, ctime };
                    log.append_record(&mut index, &record, &[])?;
                } else {
                    copy_inode(&mut log, &mut index, &*old, to.ino, inode, (number, name))?;
                }
                let marks = to.marks();
                if let Some(over) = marks.over {
                    log.append_record(&mut index, &Record::Hide { dir: number, name, over }, &[])?;
                }
                if let Some(to) = marks.lands {
                    log.append_record(&mut index, &Record::Land { dir: number, name, to }, &[])?;
                }
                if let Some(key) = marks.yields {
                    log.append_record(
                        &mut index,
                        &Record::Yield { dir: number, name, to: key },
                        &[],
                    )?;
                }
            }
        }
        log.disk.sync_data()?;
        // From here on the new log is the log.
        let named = self.ground.replace_log()?;
        // Files without a name have no place in a log: their bytes stay where they were.
        for (ino, inode) in state.index.inodes.iter() {
            if inode.links == 0 {
                if matches!(inode.bytes, ContentLocation::Log { .. }) {
                    state.old.entry(ino).or_insert_with(|| Arc::clone(&old));
                }
                index.inodes.insert(ino, inode.clone());
            }
        }
        state.long = rewrite_threshold(log.end);
        state.broken = false;
        state.begin_due = false;
        state.safe = if named { log.end } else { 0 };
        state.generation += 1;
        state.log = log;
        state.index = index;
        Ok(())
    }
}

/// A file with its first name.
fn copy_inode(
    log: &mut Log,
    index: &mut Index,
    old: &dyn super::disk::AppendFile,
    ino: u64,
    inode: &Inode,
    (dir, name): (u32, &[u8]),
) -> Result<()> {
    let Inode { attr, bytes, work, .. } = *inode;
    let working = match bytes {
        ContentLocation::Body { work } => work,
        _ => work.unwrap_or(0),
    };
    log.append_record(index, &Record::Make { ino, dir, name, attr, work: working }, &[])?;
    let (mtime, ctime) = (attr.mtime, attr.ctime);
    match bytes {
        ContentLocation::Body { .. } => {
            let record = Record::Body { ino, size: attr.size, mtime, ctime };
            log.append_record(index, &record, &[])
        }
        ContentLocation::Log { at, size, crc } => {
            let mut content = vec![0; size as usize];
            let count = old.read_at(at, &mut content)?;
            if count < content.len() || crc32fast::hash(&content) != crc {
                // The old log stays as it is, for a repair.
                return Err(Errno::IO);
            }
            let record = Record::Content { ino, mtime, ctime, work: work.unwrap_or(0) };
            log.append_record(index, &record, &content)
        }
        ContentLocation::Empty if work.is_none() => {
            log.append_record(index, &Record::Content { ino, mtime, ctime, work: 0 }, &[])
        }
        ContentLocation::Empty => Ok(()),
    }
}
