//! Bytes of long files go to the bucket: after they were closed, in the background. What is here of
//! them then is a copy that may go.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use forebay_book::{FileBytes, FileRecord, FolderId, InodeNumber};
use rustix::io::Errno;

use super::SharedNode;
use super::owed::{LocalCopy, Owed};
use super::state::{Body, State};
use crate::Result;
use crate::environment::ObjectStore;

/// A file rests so long before it is brought to the bucket: many are written over or removed at once.
const REST: Duration = Duration::from_millis(500);
/// Between two looks for something to do, and after a failure.
const PAUSE: Duration = Duration::from_millis(500);
/// The same for a program that waits with fsync.
const SYNC_PAUSE: Duration = Duration::from_millis(50);
/// An object that no file needs any more is removed so long after it was published: until then
/// programs on other nodes may be reading it.
const GRACE: Duration = Duration::from_secs(60);
/// How often a file is looked for that others move meanwhile.
const TRIES: u32 = 5;

/// What became of a file that was to be brought to the bucket.
enum Brought {
    /// The bucket has it, and the book says so.
    Done,
    /// It need not go there any more.
    NotOwed,
    /// It changes, or others are at work.
    Later,
}

/// Who brings a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sender {
    /// A thread in the background: files that no program writes.
    Background,
    /// A program that waits for it, and may have it open.
    Sync,
}

impl SharedNode {
    /// Where long files go. Without it they stay on this node's disk.
    pub fn set_store(&self, store: Arc<dyn ObjectStore>) {
        let _ = self.store.set(store);
    }

    /// How many bytes copies of files may take on this node's disk that the bucket has, too.
    pub fn set_copy_limit(&self, bytes: u64) {
        self.copy_limit.store(bytes, Relaxed);
    }

    /// Whether fsync returns when the bucket has a file's bytes; else when this node's disk has.
    pub fn set_syncs_to_store(&self, does: bool) {
        self.syncs_to_store.store(does, Relaxed);
    }

    /// Waits until the bucket has a file's bytes, if it is a long one: those that were written until
    /// now, though programs have it open. What is published of it is published.
    ///
    /// # Errors
    /// ETIMEDOUT: the bucket does not take it, or the file does not come to rest.
    pub(super) fn sync_to_store(&self, number: InodeNumber) -> Result<()> {
        if !self.syncs_to_store.load(Relaxed) || self.store.get().is_none() {
            return Ok(());
        }
        let deadline = self.deadline(self.patience());
        loop {
            let is_mine = {
                let mut state = self.state.lock();
                let State { uploads, files, .. } = &mut *state;
                let is_written = files.get(&number).is_some_and(|file| file.writing > 0);
                let is_mine = !uploads.under_way.contains_key(&number);
                if is_mine {
                    uploads.under_way.insert(number, is_written);
                }
                is_mine
            };
            let why = if is_mine {
                let brought = self.try_to_bring(number, Sender::Sync);
                self.state.lock().uploads.under_way.remove(&number);
                match brought {
                    // By this thread or by another one just now. The book may not have heard of it,
                    // or taken other changes for lost.
                    Ok(Brought::NotOwed | Brought::Done) => {
                        self.publish()?;
                        return self.flush(number);
                    }
                    Ok(Brought::Later) => "it changes again and again".to_owned(),
                    Err(error) => error.to_string(),
                }
            } else {
                "another thread sends it".to_owned()
            };
            if self.is_over(deadline) {
                let what = format!("file {number} does not come into the bucket: {why}");
                return Err(self.give_up_waiting(&what));
            }
            self.time.wait(SYNC_PAUSE);
        }
    }

    /// Files that the bucket does not have yet and this node has to bring there, and their bytes.
    #[must_use]
    pub fn owed(&self) -> (u64, u64) {
        let numbers: Vec<InodeNumber> = self.state.lock().uploads.owed.keys().copied().collect();
        let size = |number| std::fs::metadata(self.bodies.path(number)).map_or(0, |on| on.len());
        (numbers.len() as u64, numbers.iter().map(|number| size(*number)).sum())
    }

    /// Files that were brought to the bucket since the node began, and their bytes.
    #[must_use]
    pub fn brought(&self) -> (u64, u64) {
        self.state.lock().uploads.brought
    }

    /// Brings files to the bucket until the node leaves. A thread's work; there may be several.
    pub fn upload_while_serving(&self) {
        loop {
            if self.state.lock().is_over {
                return;
            }
            let rested = match self.next_owed(REST) {
                Some(number) => self.bring_one(number),
                None => false,
            };
            self.remove_unneeded();
            self.remove_gone_bodies();
            if !rested {
                self.time.wait(PAUSE);
            }
        }
    }

    /// Brings one file to the bucket, or tries to; `false`: there is none, or it does not work now.
    pub fn upload_next(&self) -> bool {
        self.next_owed(Duration::ZERO).is_some_and(|number| self.bring_one(number))
    }

    /// A file that is owed, closed, and that no other thread sends: it is under way from now on.
    fn next_owed(&self, rest: Duration) -> Option<InodeNumber> {
        self.store.get()?;
        let now = self.time.elapsed_nanos();
        let mut state = self.state.lock();
        let State { uploads, files, .. } = &mut *state;
        let mut found = None;
        for (number, owed) in &mut uploads.owed {
            if owed.since == 0 {
                owed.since = now;
            }
            let is_written = files.get(number).is_some_and(|file| file.writers > 0 || file.away);
            let has_rested = now.saturating_sub(owed.since) >= rest.as_nanos() as u64;
            if has_rested && !is_written && !uploads.under_way.contains_key(number) {
                found = Some(*number);
                break;
            }
        }
        if let Some(number) = found {
            state.uploads.under_way.insert(number, false);
        }
        found
    }

    fn bring_one(&self, number: InodeNumber) -> bool {
        let brought = self.try_to_bring(number, Sender::Background);
        let mut state = self.state.lock();
        state.uploads.under_way.remove(&number);
        match brought {
            Ok(Brought::Done) => {}
            Ok(Brought::NotOwed) => {
                state.uploads.owed.remove(&number);
            }
            Ok(Brought::Later) => {
                if let Some(owed) = state.uploads.owed.get_mut(&number) {
                    owed.since = 0;
                }
                return false;
            }
            Err(error) => {
                tracing::warn!("file {number} does not come into the bucket: {error}");
                return false;
            }
        }
        drop(state);
        self.drop_copies();
        true
    }

    fn try_to_bring(&self, number: InodeNumber, sender: Sender) -> io::Result<Brought> {
        let Some(store) = self.store.get() else { return Ok(Brought::Later) };
        let (record, object) = {
            let mut state = self.state.lock();
            if state.files.get(&number).is_some_and(|file| file.links == 0) {
                return Ok(Brought::NotOwed);
            }
            let known = state.files.get(&number).map(|file| file.record.clone());
            state.uploads.counter += 1;
            let (member, counter) = (state.member, state.uploads.counter);
            (known, format!("files/{number}.{}.{}.{counter}", member.node, member.term.0))
        };
        let record = match record {
            Some(record) => Some(record),
            None => self.file_in_book(number)?,
        };
        let Some(record) = record else {
            // Somebody has removed it.
            self.bodies.remove(number);
            return Ok(Brought::NotOwed);
        };
        let me = self.state.lock().me();
        if record.bytes != FileBytes::OnNode(me) {
            return Ok(Brought::NotOwed);
        }
        let file = match self.bodies.open_file(number) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // A small file that is written still, or one that somebody took from the directory.
                tracing::debug!("file {number} has no bytes on this disk");
                return Ok(Brought::NotOwed);
            }
            Err(error) => return Err(error),
        };
        let size = file.metadata()?.len();
        if size != record.size {
            return Ok(Brought::Later);
        }
        store.write(&object, size, &file)?;
        match self.note_brought(number, (&object, size), sender) {
            Ok(Brought::Done) => Ok(Brought::Done),
            other => {
                // Nobody was told of it.
                let _ = store.remove(&object);
                Ok(other?)
            }
        }
    }

    /// The bucket has a file's bytes: the book is told, by who holds its folder.
    fn note_brought(
        &self,
        number: InodeNumber,
        (object, size): (&str, u64),
        sender: Sender,
    ) -> Result<Brought> {
        for _ in 0..TRIES {
            let Some(folder) = self.folder_of(number)? else { return Ok(Brought::NotOwed) };
            let pins = match self.pin(&[folder]) {
                Ok(pins) => pins,
                Err(Errno::STALE) => continue,
                Err(error) => return Err(error),
            };
            let mut state = self.state.lock();
            let me = state.me();
            let is_ours = state.files.get(&number).is_some_and(|file| state.is_ours(file));
            let changed = state.uploads.under_way.get(&number).copied().unwrap_or(true);
            let Some(file) = state.files.get_mut(&number).filter(|_| is_ours) else { continue };
            let is_open = sender == Sender::Background && file.writers > 0;
            let is_written = is_open || file.writing > 0 || file.away || file.is_lost || changed;
            if is_written || matches!(file.body, Body::Memory(_)) || file.size() != size {
                return Ok(Brought::Later);
            }
            if file.record.bytes != FileBytes::OnNode(me) {
                return Ok(Brought::NotOwed);
            }
            file.record.bytes = FileBytes::InBucket { object: object.to_owned(), sums: Vec::new() };
            file.body = Body::Published;
            state.uploads.counter += 1;
            let age = state.uploads.counter;
            let copy = LocalCopy { object: object.to_owned(), size, age, may_go: false };
            state.uploads.copies.insert(number, copy);
            state.uploads.owed.remove(&number);
            state.note_file_change(number);
            drop(state);
            drop(pins);
            self.dirtied.notify_one();
            let published = self.publish();
            let mut state = self.state.lock();
            if let Some(copy) = state.uploads.copies.get_mut(&number)
                && copy.object == object
            {
                copy.may_go = published.is_ok();
            }
            match published {
                Ok(()) => {
                    state.uploads.brought.0 += 1;
                    state.uploads.brought.1 += size;
                }
                // What the book has is looked at when it answers again. The object stays: the book
                // may have heard of it.
                Err(_) => {
                    state.uploads.owed.insert(number, Owed::default());
                }
            }
            return Ok(Brought::Done);
        }
        Ok(Brought::Later)
    }

    /// A folder that has a name of a file; `None`: it has none any more.
    fn folder_of(&self, number: InodeNumber) -> Result<Option<FolderId>> {
        {
            let state = self.state.lock();
            let known = state.files.get(&number).filter(|file| state.is_ours(file));
            if let Some((home, _)) = known.and_then(|file| file.home.as_ref()) {
                return Ok(Some(*home));
            }
        }
        let folders = self.ask_book(|| self.book.folders_with(self.volume, number))?;
        Ok(folders.into_iter().next())
    }

    /// Copies of which the bucket has the bytes go, the oldest first, until the rest may stay.
    fn drop_copies(&self) {
        let limit = self.copy_limit.load(Relaxed);
        let mut state = self.state.lock();
        let mut all: u64 = state.uploads.copies.values().map(|copy| copy.size).sum();
        while all > limit {
            let uploads = &state.uploads.copies;
            let idle = uploads.iter().filter(|(_, copy)| copy.may_go);
            let oldest = idle.min_by_key(|(_, copy)| copy.age).map(|(number, _)| *number);
            let Some(number) = oldest else { return };
            if let Some(copy) = state.uploads.copies.remove(&number) {
                all -= copy.size;
            }
            if let Some(file) = state.files.get_mut(&number) {
                file.local = None;
            }
            self.bodies.remove(number);
        }
    }

    /// Removes bytes of files without a name, as far as the book knows that they have none.
    pub fn remove_gone_bodies(&self) {
        let gone = {
            let mut state = self.state.lock();
            let published = state.published;
            let gone = state.uploads.gone.extract_if(.., |(change, _)| *change <= published);
            gone.collect::<Vec<_>>()
        };
        for (_, number) in gone {
            self.bodies.remove(number);
        }
    }

    /// Changes were lost: files of which a name was removed here, in vain, have it still. Their bytes
    /// are owed again, and those of others go. Where the book does not answer the next process looks.
    pub(super) fn take_back_gone(&self, gone: &[InodeNumber]) {
        for number in gone {
            let known = self.book.file(self.volume, *number);
            let taken = known.map_err(io::Error::other);
            let taken = taken.and_then(|known| self.take_over_body(*number, known.as_ref()));
            if let Err(error) = taken {
                tracing::warn!("bytes of file {number} wait for the next mount: {error}");
            }
        }
    }

    /// Removes objects that no file needs any more, some time after the book heard of it.
    pub fn remove_unneeded(&self) {
        let Some(store) = self.store.get() else { return };
        let now = self.time.elapsed_nanos();
        let mut state = self.state.lock();
        let mut old = Vec::new();
        state.uploads.to_remove.retain_mut(|(since, object)| {
            if *since == 0 {
                *since = now;
            }
            let is_old = now.saturating_sub(*since) >= GRACE.as_nanos() as u64;
            if is_old {
                old.push(std::mem::take(object));
            }
            !is_old
        });
        drop(state);
        for object in old {
            if let Err(error) = store.remove(&object) {
                tracing::debug!("{object} is not removed yet: {error}");
                self.state.lock().uploads.to_remove.push((now, object));
            }
        }
    }

    /// Objects that are to be removed later are noted for the next process of this node.
    pub(super) fn keep_unneeded(&self) {
        let state = self.state.lock();
        let all = state.uploads.to_remove.iter().map(|(_, object)| object.as_str());
        let text = all.chain(state.uploads.unneeded.iter().map(String::as_str));
        let text: String = text.map(|object| format!("{object}\n")).collect();
        if let Err(error) = self.bodies.write_note(&text) {
            tracing::warn!("objects that nobody needs stay in the bucket: {error}");
        }
    }

    /// Bytes that an earlier process left: those that the book says are here are owed, the others
    /// go. So do objects that it was about to remove.
    pub(super) fn take_over_bodies(&self) -> io::Result<()> {
        for number in self.bodies.numbers()? {
            let known = self.book.file(self.volume, number).map_err(io::Error::other)?;
            self.take_over_body(number, known.as_ref())?;
        }
        let noted = self.bodies.read_note()?;
        let objects = noted.lines().map(|object| (0, object.to_owned()));
        self.state.lock().uploads.to_remove.extend(objects);
        Ok(())
    }

    fn take_over_body(&self, number: InodeNumber, known: Option<&FileRecord>) -> io::Result<()> {
        let mut state = self.state.lock();
        let me = state.me();
        let Some(known) = known.filter(|known| known.bytes == FileBytes::OnNode(me)) else {
            self.bodies.remove(number);
            return Ok(());
        };
        match self.bodies.open_file(number) {
            // It was longer or shorter for a moment that nobody was told of.
            Ok(file) if file.metadata()?.len() != known.size => file.set_len(known.size)?,
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        state.uploads.owed.insert(number, Owed::default());
        Ok(())
    }

    /// Bytes of an object; where it is gone, its file is looked for again.
    pub(super) fn read_object(
        &self,
        number: InodeNumber,
        object: &str,
        size: u64,
        (offset, length): (u64, usize),
    ) -> Result<Option<Vec<u8>>> {
        let Some(store) = self.store.get() else {
            tracing::warn!("file {number} is in the bucket as {object}, and there is no bucket");
            return Err(Errno::IO);
        };
        match store.read(object, size, offset, length) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => {
                tracing::warn!("file {number} can't be read from the bucket ({object}): {error}");
                Err(Errno::IO)
            }
        }
    }

    /// Another node has moved a file's bytes: where they are now. It is asked once for each read.
    pub(super) fn refresh_place(&self, number: InodeNumber) -> Result<FileRecord> {
        let found = self.file_in_book(number)?.ok_or(Errno::STALE)?;
        let mut state = self.state.lock();
        state.learn(found.clone(), None);
        Ok(found)
    }
}

impl State {
    /// A file's bytes change here: what is sent of them now is not all, and what the bucket has is
    /// not what it is.
    pub(super) fn note_bytes_change(&mut self, number: InodeNumber) {
        if let Some(changed) = self.uploads.under_way.get_mut(&number) {
            *changed = true;
        }
        self.uploads.copies.remove(&number);
    }

    /// A file is gone: so are its bytes here, and the object is not needed once that is published.
    pub(super) fn note_file_gone(&mut self, number: InodeNumber) {
        let Some(file) = self.files.get_mut(&number) else { return };
        let mut objects = std::mem::take(&mut file.replaced);
        if let FileBytes::InBucket { object, .. } = &file.record.bytes
            && !objects.contains(object)
        {
            objects.push(object.clone());
        }
        self.uploads.unneeded.extend(objects);
        self.uploads.owed.remove(&number);
        self.note_bytes_change(number);
    }

    /// Whether this node's disk has the bytes of this object.
    pub(super) fn has_copy(&self, number: InodeNumber, object: &str) -> bool {
        self.uploads.copies.get(&number).is_some_and(|copy| copy.object == object)
    }
}
