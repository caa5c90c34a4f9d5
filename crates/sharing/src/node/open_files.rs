//! Opening, writing, closing.

use std::time::Duration;

use forebay_book::{FileBytes, FileKind, InodeNumber, NodeId};
use rustix::io::Errno;

use super::SharedNode;
use super::holds::Pins;
use super::state::Body;
use crate::Result;
use crate::messages::{Answer, Question};

/// How long a second writer waits for one on another node.
const WRITER: Duration = Duration::from_secs(3);
/// Between two questions whether it has closed the file.
const PAUSE: Duration = Duration::from_millis(100);

impl SharedNode {
    /// Opens a file. To write it, its folder is taken; no program on another node may be writing it
    /// without locks.
    ///
    /// # Errors
    /// ETXTBSY: a program on another node writes it. EISDIR. Those of
    /// [`SharedNode::set_attributes`].
    pub fn open(&self, number: InodeNumber, writes: bool) -> Result<()> {
        let pins = if writes { self.pin_to_write(number)? } else { None };
        let mut state = self.state.lock();
        let file = state.files.get_mut(&number).ok_or(Errno::STALE)?;
        if file.is_folder() {
            return Err(Errno::ISDIR);
        }
        file.opens += 1;
        file.writers += u32::from(writes);
        drop(state);
        drop(pins);
        Ok(())
    }

    /// Holds a file's folder to write the file, which no program on another node writes meanwhile.
    ///
    /// # Errors
    /// ETXTBSY: one does, after a wait. Those of [`SharedNode::set_attributes`].
    pub(super) fn pin_to_write(&self, number: InodeNumber) -> Result<Option<Pins<'_>>> {
        let deadline = self.deadline(WRITER);
        loop {
            let pins = self.pin_file(number)?;
            let other = {
                let state = self.state.lock();
                let file = state.files.get(&number).ok_or(Errno::STALE)?;
                match (&file.body, &file.record.bytes) {
                    (Body::Published, FileBytes::OnNode(node)) if *node != state.me() => {
                        Some(*node).filter(|_| file.record.kind == FileKind::Regular)
                    }
                    _ => None,
                }
            };
            let Some(node) = other else { return Ok(pins) };
            if !self.is_written_on(node, number)? {
                return Ok(pins);
            }
            drop(pins);
            if self.is_over(deadline) {
                return Err(Errno::TXTBSY);
            }
            self.time.wait(PAUSE);
        }
    }

    /// Whether a program on another node writes a file. One whose lease is over writes nothing that
    /// counts.
    fn is_written_on(&self, node: NodeId, file: InodeNumber) -> Result<bool> {
        let nodes = self.ask_book(|| self.book.nodes(self.volume))?;
        if !nodes.iter().any(|other| other.node == node && other.lease_left.is_some()) {
            return Ok(false);
        }
        Ok(self.ask_node(node, &Question::IsWritten { file })? == Answer::Written(true))
    }

    /// Writes bytes into a file that is open to be written; all of them.
    ///
    /// # Errors
    /// ETXTBSY: a program on another node writes it, too. EIO: it was lost, or locks on it were.
    /// Those of [`SharedNode::set_attributes`], and of the disk.
    pub fn write(&self, number: InodeNumber, offset: u64, bytes: &[u8]) -> Result<()> {
        self.write_at(number, Some(offset), bytes).map(drop)
    }

    /// The same at the end that the file has for all nodes; gives where that was.
    ///
    /// # Errors
    /// As [`SharedNode::write`].
    pub fn append(&self, number: InodeNumber, bytes: &[u8]) -> Result<u64> {
        self.write_at(number, None, bytes)
    }

    fn write_at(&self, number: InodeNumber, offset: Option<u64>, bytes: &[u8]) -> Result<u64> {
        let is_away = self.state.lock().files.get(&number).ok_or(Errno::STALE)?.away;
        let pins = if is_away { None } else { self.pin_to_write(number)? };
        let offset = {
            let state = self.state.lock();
            let file = state.files.get(&number).ok_or(Errno::STALE)?;
            if file.has_lost_locks() {
                return Err(Errno::IO);
            }
            offset.unwrap_or_else(|| file.size())
        };
        self.write_bytes(number, offset, bytes)?;
        let now = self.time.unix_nanos();
        let mut state = self.state.lock();
        let settled = state.settled;
        let file = state.files.get_mut(&number).ok_or(Errno::STALE)?;
        file.unsettled = settled;
        file.note_modified(now);
        if file.links > 0 && !file.away {
            state.note_file_change(number);
        }
        drop(state);
        drop(pins);
        self.dirtied.notify_one();
        Ok(offset)
    }

    /// A program closes one of its descriptors: what it wrote is to be found by all from now on. If
    /// the folder was given up meanwhile, it is taken back.
    ///
    /// # Errors
    /// EIO: it was lost, or locks on it were. Those of [`SharedNode::set_attributes`].
    pub fn flush(&self, number: InodeNumber) -> Result<()> {
        let is_away = {
            let state = self.state.lock();
            let file = state.files.get(&number).ok_or(Errno::STALE)?;
            file.away && file.links > 0
        };
        if is_away {
            drop(self.pin_file(number)?);
        }
        let state = self.state.lock();
        let file = state.files.get(&number).ok_or(Errno::STALE)?;
        match file.is_lost || file.has_lost_locks() {
            true => Err(Errno::IO),
            false => Ok(()),
        }
    }

    /// An open file is closed for good.
    pub fn release(&self, number: InodeNumber, writes: bool) {
        // The program has heard at its close.
        let _ = self.flush(number);
        let mut state = self.state.lock();
        let Some(file) = state.files.get_mut(&number) else { return };
        file.opens = file.opens.saturating_sub(1);
        file.writers = file.writers.saturating_sub(u32::from(writes));
        if file.writers == 0 {
            file.unsettled = 0;
        }
        if file.opens == 0 {
            (file.local, file.locks) = (None, None);
        }
        state.forget_if_unused(number);
    }

    /// The kernel is gone, with whoever had files open: as if all of them had been closed.
    pub fn close_all(&self) {
        let open: Vec<(InodeNumber, u32, u32)> = {
            let state = self.state.lock();
            let open = state.files.iter().filter(|(_, file)| file.opens > 0);
            open.map(|(number, file)| (*number, file.opens, file.writers)).collect()
        };
        for (number, opens, writers) in open {
            for open in 0..opens {
                self.release(number, open < writers);
            }
        }
    }

    /// Makes a file durable: its name and, if it is small, its bytes in the book; else its bytes on
    /// this node's disk, or in the bucket ([`SharedNode::set_syncs_to_store`]).
    ///
    /// # Errors
    /// Those of the disk, of [`SharedNode::flush`] and of [`SharedNode::publish`].
    pub fn fsync(&self, number: InodeNumber) -> Result<()> {
        self.sync_bytes(number)?;
        // What is durable stays so where its folder goes to another node. Who closes one of several
        // descriptors may go on: a child closes all that it has of its parent's.
        if let Some(file) = self.state.lock().files.get_mut(&number) {
            file.unsettled = 0;
        }
        self.flush(number)?;
        self.publish()?;
        self.sync_to_store(number)
    }
}
