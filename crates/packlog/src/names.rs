//! Names: made, linked, moved, removed, each by one record.

use rustix::io::Errno;

use super::record::{Attr, DirKey, Record, Time};
use super::{Pack, Result, Work};

impl Pack {
    /// Makes an empty file, open; `path` is the directory's, asked for when it is new here.
    ///
    /// # Errors
    /// EEXIST; ENOSPC and the like.
    pub fn make(
        &self,
        dir: DirKey,
        path: impl FnOnce() -> Vec<u8>,
        name: &[u8],
        attr: Attr,
    ) -> Result<(u64, Work)> {
        let work = match self.works.take() {
            Err(Errno::NOSPC) => {
                self.relieve();
                self.works.take()?
            }
            taken => taken?,
        };
        match self.enter(dir, path, name, attr, &work) {
            Ok(ino) => Ok((ino, work)),
            Err(error) => {
                self.works.give(work);
                Err(error)
            }
        }
    }

    fn enter(
        &self,
        dir: DirKey,
        path: impl FnOnce() -> Vec<u8>,
        name: &[u8],
        attr: Attr,
        work: &Work,
    ) -> Result<u64> {
        let mut state = self.state.lock();
        let number = state.dir(dir, path)?;
        if state.index.at(number, name).is_some() {
            return Err(Errno::EXIST);
        }
        let (ino, work) = (state.index.fresh(), work.number);
        let done = state.write(&Record::Make { ino, dir: number, name, attr, work }, &[]);
        if done != Err(Errno::NOSPC) {
            return done.map(|()| ino);
        }
        drop(state);
        self.relieve();
        let mut state = self.state.lock();
        // Directories have other numbers in a new log.
        let (dir, _) = state.index.dir(dir).ok_or(Errno::NOSPC)?;
        state.write(&Record::Make { ino, dir, name, attr, work }, &[]).map(|()| ino)
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
        self.not_early(ino);
        let dir = state.dir(dir, path)?;
        if state.index.at(dir, name).is_some() {
            return Err(Errno::EXIST);
        }
        state.write(&Record::Link { ino, dir, name, ctime }, &[])
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
        let (dir, _) = state.index.dir(dir).ok_or(Errno::NOENT)?;
        let to = state.dir(to, path)?;
        state.write(&Record::Move { dir, name, to, new, ctime, over }, &[])
    }

    /// Lets two packed names change places.
    ///
    /// # Errors
    /// ENOENT; ENOSPC and the like.
    pub fn swap(
        &self,
        (dir, name): (DirKey, &[u8]),
        (to, new): (DirKey, &[u8]),
        ctime: Time,
    ) -> Result<()> {
        let mut state = self.state.lock();
        let (dir, _) = state.index.dir(dir).ok_or(Errno::NOENT)?;
        let (to, _) = state.index.dir(to).ok_or(Errno::NOENT)?;
        state.write(&Record::Swap { dir, name, to, new, ctime }, &[])
    }

    /// Removes a name.
    ///
    /// # Errors
    /// ENOENT; ENOSPC and the like.
    pub fn remove(&self, dir: DirKey, name: &[u8], ctime: Time) -> Result<()> {
        let mut state = self.state.lock();
        let (dir, _) = state.index.dir(dir).ok_or(Errno::NOENT)?;
        state.index.at(dir, name).ok_or(Errno::NOENT)?;
        state.write(&Record::Drop { dir, name, ctime }, &[])
    }

    /// Takes a name away that is home, even where the log takes no more: written or not, the file
    /// in place is the truth.
    pub fn leave(&self, dir: DirKey, name: &[u8]) {
        let ctime = self.now();
        if self.remove(dir, name, ctime).is_err() {
            let mut state = self.state.lock();
            if let Some((dir, _)) = state.index.dir(dir) {
                state.index.apply(&Record::Drop { dir, name, ctime }, 0, 0, 0);
            }
        }
    }

    /// This file in place, made of a packed one, is about to get its name.
    ///
    /// # Errors
    /// ENOENT; ENOSPC and the like.
    pub fn land_on(&self, dir: DirKey, name: &[u8], to: DirKey) -> Result<()> {
        let mut state = self.state.lock();
        let (dir, _) = state.index.dir(dir).ok_or(Errno::NOENT)?;
        state.write(&Record::Land { dir, name, to }, &[])
    }

    /// A file in place is about to be moved over a packed name: from the moment that it is there,
    /// the packed name is gone, even if nobody lives to say so.
    ///
    /// # Errors
    /// ENOENT; ENOSPC and the like.
    pub fn yield_to(&self, dir: DirKey, name: &[u8], to: DirKey) -> Result<()> {
        let mut state = self.state.lock();
        let (dir, _) = state.index.dir(dir).ok_or(Errno::NOENT)?;
        state.write(&Record::Yield { dir, name, to }, &[])
    }
}
