//! What is safe from power failure, and what may go for good once it is.

use std::sync::Arc;

use rustix::io::Errno;

use super::pack_index::{ContentLocation, Inode};
use super::record::Record;
use super::{MOST_DOOMED, Pack, Result, WorkingFile};

impl Pack {
    /// Nobody holds a file any more: if it has no name either, nothing of it stays.
    pub fn forget_inode(&self, ino: u64) {
        let mut state = self.state.lock();
        if state.index.inodes.get(ino).is_none_or(|inode| inode.links > 0) {
            return;
        }
        self.forget_eager_copy(ino);
        let gone = state.index.forget_inode(ino);
        state.old.remove(&ino);
        drop(state);
        if let Some(Inode { bytes: ContentLocation::Body { work }, .. }) = gone {
            // A power failure may bring its name back, as long as the log is not safe.
            let mut doomed = self.doomed.lock();
            doomed.push(work);
            let many = doomed.len() > MOST_DOOMED;
            drop(doomed);
            if many {
                // What could not be made safe stays, and is tried again.
                let _ = self.sync();
            }
        }
    }

    /// Makes room on a full tier: what waits for a sync goes, and so does history.
    pub(super) fn free_tier_space(&self) {
        // What could not be made safe stays, and is tried again.
        let _ = self.sync();
        self.works.drop_idle();
        let mut state = self.state.lock();
        if state.log.end > state.index.live * 2 && self.rewrite_log(&mut state).is_err() {
            // The old log is whole; what is left of the new one is overwritten by the next.
            let _ = self.ground.discard_new_log();
        }
    }

    /// Makes everything so far safe from power failure, but for bodies.
    ///
    /// # Errors
    /// EIO and the like.
    pub fn sync(&self) -> Result<()> {
        let doomed = std::mem::take(&mut *self.doomed.lock());
        let done = self.sync_log();
        match done {
            Ok(()) => doomed.into_iter().for_each(|work| self.works.remove(work)),
            Err(_) => self.doomed.lock().extend(doomed),
        }
        done
    }

    fn sync_log(&self) -> Result<()> {
        let (asked, life) = {
            let state = self.state.lock();
            (state.log.end, state.generation)
        };
        let _one = self.syncing.lock();
        let (disk, end, is_named) = {
            let state = self.state.lock();
            if state.generation != life || state.safe >= asked {
                return Ok(());
            }
            if state.broken {
                return Err(Errno::IO);
            }
            // Nothing is safe yet, the name of the log neither.
            (Arc::clone(&state.log.disk), state.log.end, state.safe > 0)
        };
        let done = disk
            .sync_data()
            .and_then(|()| if is_named { Ok(()) } else { self.ground.sync_directory() });
        if let Err(error) = done {
            // The next one would succeed, and would be a lie: the kernel tells of a loss once.
            self.state.lock().broken = true;
            return Err(error);
        }
        let mut state = self.state.lock();
        if state.generation == life {
            let is_all = state.log.end == end;
            state.safe = end;
            // Says so in the log, for whoever reads it after a power failure.
            if state.write_record(&Record::Safe { below: end }, &[]).is_ok() && is_all {
                state.safe = state.log.end;
            }
        }
        Ok(())
    }

    /// Makes the bytes of a body safe.
    ///
    /// # Errors
    /// EIO and the like.
    pub fn sync_data_file(&self, ino: u64, work: &WorkingFile) -> Result<()> {
        if !self.is_data_file(ino, work) {
            return Ok(());
        }
        rustix::fs::fdatasync(&work.file)?;
        self.works.sync_names()
    }

    /// Makes the names of bodies safe.
    ///
    /// # Errors
    /// EIO and the like.
    pub fn sync_working_files(&self) -> Result<()> {
        self.works.sync_names()
    }
}
