//! Names: made, linked, moved, removed, each by one record.

use rustix::io::Errno;

use super::record::{Attr, DirKey, Record, Time};
use super::{Pack, Result, WorkingFile};

impl Pack {
    /// Makes an empty file, open; `path` is the directory's, asked for when it is new here.
    ///
    /// # Errors
    /// EEXIST; ENOSPC and the like.
    pub fn create_file(
        &self,
        dir: DirKey,
        path: impl FnOnce() -> Vec<u8>,
        name: &[u8],
        attr: Attr,
    ) -> Result<(u64, WorkingFile)> {
        let work = match self.works.take_empty() {
            Err(Errno::NOSPC) => {
                self.free_tier_space();
                self.works.take_empty()?
            }
            taken => taken?,
        };
        match self.record_creation(dir, path, name, attr, &work) {
            Ok(ino) => Ok((ino, work)),
            Err(error) => {
                self.works.give_back(work);
                Err(error)
            }
        }
    }

    fn record_creation(
        &self,
        dir: DirKey,
        path: impl FnOnce() -> Vec<u8>,
        name: &[u8],
        attr: Attr,
        work: &WorkingFile,
    ) -> Result<u64> {
        let mut state = self.state.lock();
        let number = state.ensure_directory(dir, path)?;
        if state.index.name_in_directory(number, name).is_some() {
            return Err(Errno::EXIST);
        }
        let (ino, work) = (state.index.next_inode_number(), work.number);
        let done = state.write_record(&Record::Make { ino, dir: number, name, attr, work }, &[]);
        if done != Err(Errno::NOSPC) {
            return done.map(|()| ino);
        }
        drop(state);
        self.free_tier_space();
        let mut state = self.state.lock();
        // Directories have other numbers in a new log.
        let (dir, _) = state.index.find_directory(dir).ok_or(Errno::NOSPC)?;
        state.write_record(&Record::Make { ino, dir, name, attr, work }, &[]).map(|()| ino)
    }

    /// Gives a file one more name.
    ///
    /// # Errors
    /// EEXIST; ENOSPC and the like.
    pub fn link(
        &self,
        ino: u64,
        dir: DirKey,
        path: impl FnOnce() -> Vec<u8>,
        name: &[u8],
        ctime: Time,
    ) -> Result<()> {
        let mut state = self.state.lock();
        self.forget_eager_copy(ino);
        let dir = state.ensure_directory(dir, path)?;
        if state.index.name_in_directory(dir, name).is_some() {
            return Err(Errno::EXIST);
        }
        state.write_record(&Record::Link { ino, dir, name, ctime }, &[])
    }

    /// Moves a name, over a packed one if there is one; `over` says that a file in place has it.
    ///
    /// # Errors
    /// ENOENT; ENOSPC and the like.
    pub fn rename(
        &self,
        (dir, name): (DirKey, &[u8]),
        (to, path): (DirKey, impl FnOnce() -> Vec<u8>),
        new: &[u8],
        ctime: Time,
        over: Option<DirKey>,
    ) -> Result<()> {
        let mut state = self.state.lock();
        let (dir, _) = state.index.find_directory(dir).ok_or(Errno::NOENT)?;
        let to = state.ensure_directory(to, path)?;
        state.write_record(&Record::Move { dir, name, to, new, ctime, over }, &[])
    }

    /// Lets two packed names change places.
    ///
    /// # Errors
    /// ENOENT; ENOSPC and the like.
    pub fn exchange_names(
        &self,
        (dir, name): (DirKey, &[u8]),
        (to, new): (DirKey, &[u8]),
        ctime: Time,
    ) -> Result<()> {
        let mut state = self.state.lock();
        let (dir, _) = state.index.find_directory(dir).ok_or(Errno::NOENT)?;
        let (to, _) = state.index.find_directory(to).ok_or(Errno::NOENT)?;
        state.write_record(&Record::Swap { dir, name, to, new, ctime }, &[])
    }

    /// Removes a name.
    ///
    /// # Errors
    /// ENOENT; ENOSPC and the like.
    pub fn remove_name(&self, dir: DirKey, name: &[u8], ctime: Time) -> Result<()> {
        let mut state = self.state.lock();
        let (dir, _) = state.index.find_directory(dir).ok_or(Errno::NOENT)?;
        state.index.name_in_directory(dir, name).ok_or(Errno::NOENT)?;
        state.write_record(&Record::Drop { dir, name, ctime }, &[])
    }

    /// Takes a name away that is home, even where the log takes no more: written or not, the file
    /// in place is the truth.
    pub fn remove_written_back_name(&self, dir: DirKey, name: &[u8]) {
        let ctime = self.timestamp_now();
        if self.remove_name(dir, name, ctime).is_err() {
            let mut state = self.state.lock();
            if let Some((dir, _)) = state.index.find_directory(dir) {
                state.index.apply_record(&Record::Drop { dir, name, ctime }, 0, 0, 0);
            }
        }
    }

    /// This file in place, made of a packed one, is about to get its name.
    ///
    /// # Errors
    /// ENOENT; ENOSPC and the like.
    pub fn note_write_back_target(&self, dir: DirKey, name: &[u8], to: DirKey) -> Result<()> {
        let mut state = self.state.lock();
        let (dir, _) = state.index.find_directory(dir).ok_or(Errno::NOENT)?;
        state.write_record(&Record::Land { dir, name, to }, &[])
    }

    /// A file in place is about to be moved over a packed name: from the moment that it is there,
    /// the packed name is gone, even if nobody lives to say so.
    ///
    /// # Errors
    /// ENOENT; ENOSPC and the like.
    pub fn note_replaced_by(&self, dir: DirKey, name: &[u8], to: DirKey) -> Result<()> {
        let mut state = self.state.lock();
        let (dir, _) = state.index.find_directory(dir).ok_or(Errno::NOENT)?;
        state.write_record(&Record::Yield { dir, name, to }, &[])
    }
}
