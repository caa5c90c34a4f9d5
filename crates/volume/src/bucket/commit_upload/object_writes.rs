//! Reading files whose bytes a cut has not taken, and writing their objects.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustc_hash::FxHashMap;

use super::super::block_checksums::BlockChecksummer;
use super::super::scan::{FileStamp, PendingFile, ScanResult};
use super::super::tree_record::{ContentLocation, TreeRecord};
use super::new_object_keys::wanted_object_key;
use super::{CommitUploader, FileOpener};
use forebay_objstore::RequestError;

/// A segment that has become so long, in bytes, is written before the cut is complete.
const LONGEST: usize = 16 << 20;
/// Objects that are written at a time.
const AT_ONCE: usize = 16;

/// What became of a file that was to be read.
pub(super) enum StoreOutcome {
    /// An object, and its checksums.
    Object(ContentLocation, Vec<u8>),
    Small(Vec<u8>),
    /// It can't be read, and lies as it lay.
    Left,
    /// It is not as it was, and is dirty again.
    Changed,
}

impl CommitUploader {
    /// Everything that the segment will speak of; tells how many objects were written.
    pub(super) fn prepare_segment(
        &mut self,
        found: &mut ScanResult,
        open: FileOpener<'_>,
    ) -> Result<u64, RequestError> {
        let mut objects = 0;
        // A cut of which a part is in the log already must not be ended by another one.
        if !found.is_begun {
            let readers = &*self.readers;
            objects += self.moves.settle_object_keys(
                &*self.bucket,
                &mut self.log,
                &mut self.tree,
                readers,
            )?;
        }
        while !found.large.is_empty() || found.overflow.is_some() {
            if found.overflow.is_none() && found.draft.encoded_length() > LONGEST {
                let draft = std::mem::take(&mut found.draft);
                found.overflow = Some((draft, std::mem::take(&mut found.packed)));
            }
            if let Some((draft, packed)) = &found.overflow {
                let number = self.log.next_segment();
                self.log.write_segment(draft.encode_segment(number).into())?;
                self.tree.assign_segment(number, packed);
                (found.overflow, found.is_begun) = (None, true);
            }
            objects += self.store_next_files(found, open)?;
        }
        self.compact_segments(found);
        Ok(objects)
    }

    /// A few of the files that are still to be read; those that fail are the last ones then.
    fn store_next_files(
        &mut self,
        found: &mut ScanResult,
        open: FileOpener<'_>,
    ) -> Result<u64, RequestError> {
        let (mut some, mut wait) = (Vec::<PendingFile>::new(), Vec::new());
        while some.len() < AT_ONCE
            && let Some(large) = found.next_large()
        {
            // One with several names was found by each.
            match some.iter().any(|other| other.ino == large.ino) {
                _ if found.stored.contains(&large.ino) => {}
                true => wait.push(large),
                false => some.push(large),
            }
        }
        found.large.append(&mut wait);
        let (this, held) = (&*self, &found.held);
        let stored: Vec<_> = std::thread::scope(|scope| {
            let begin = |large| scope.spawn(move || this.store_file(large, held, open));
            let begun: Vec<_> = some.iter().map(begin).collect();
            begun.into_iter().map(|one| one.join().unwrap_or(Ok(StoreOutcome::Changed))).collect()
        });
        let (mut objects, mut trouble) = (0, None);
        for (large, stored) in some.into_iter().zip(stored) {
            let (place, sums) = match stored {
                Ok(StoreOutcome::Object(place, sums)) => {
                    objects += 1;
                    (place, (!sums.is_empty()).then(|| found.pack_bytes(large.ino, &sums)))
                }
                Ok(StoreOutcome::Small(bytes)) => (found.pack_bytes(large.ino, &bytes), None),
                Ok(StoreOutcome::Left) => {
                    self.scan.mark_stored(&large);
                    continue;
                }
                Ok(StoreOutcome::Changed) => {
                    self.defer_file(large.ino, &large.path, &mut found.draft);
                    continue;
                }
                Err(failed) => {
                    found.large.push(large);
                    trouble = trouble.or(Some(failed));
                    continue;
                }
            };
            let ino = large.ino;
            let sums = sums.map(|place| TreeRecord::Sums { ino, place });
            for record in std::iter::once(TreeRecord::Bytes { ino, place }).chain(sums) {
                self.tree.apply_record(&record);
                found.draft.append_record(&record);
            }
            self.scan.mark_stored(&large);
            if large.is_away {
                found.laid.push(large.ino);
            }
            self.moves.note_stored(&self.tree, large.ino, wanted_object_key(&large));
            found.stored.insert(large.ino);
        }
        trouble.map_or(Ok(objects), Err)
    }

    /// Reads a file, and writes its object if it is to have one.
    fn store_file(
        &self,
        large: &PendingFile,
        held: &FxHashMap<u64, OwnedFd>,
        open: FileOpener<'_>,
    ) -> Result<StoreOutcome, RequestError> {
        if large.is_away {
            return self.store_from_bucket(large);
        }
        let file = match held.get(&large.ino) {
            Some(file) => file.try_clone()?,
            None => match open(&large.path) {
                Ok(file) => file,
                Err(_) => return Ok(StoreOutcome::Changed),
            },
        };
        let now = || FileStamp::from_file(file.as_fd()).ok().filter(|now| *now == large.stamp);
        if now().is_none() {
            return Ok(StoreOutcome::Changed);
        }
        let size = large.stamp.size();
        let mut from = std::fs::File::from(file.try_clone()?);
        // It may have been read before.
        io::Seek::rewind(&mut from)?;
        if !large.is_own {
            let mut bytes = Vec::with_capacity(size as usize);
            io::Read::read_to_end(&mut from, &mut bytes)?;
            return Ok(if now().is_some() {
                StoreOutcome::Small(bytes)
            } else {
                StoreOutcome::Changed
            });
        }
        let tag = self.state_tag(large.ino, &large.stamp);
        let sent = self.write_to_new_key(large, |key| {
            io::Seek::rewind(&mut from)?;
            let (mut left, mut sums) = (size, BlockChecksummer::default());
            let mut next = |buffer: &mut [u8]| {
                let count = io::Read::read(&mut from, buffer)?;
                left = left.saturating_sub(count as u64);
                sums.add_bytes(&buffer[..count]);
                // Now, or the object would be seen that is neither the old nor the new.
                match left > 0 || now().is_some() {
                    true => Ok(count),
                    false => Err(io::ErrorKind::InvalidData.into()),
                }
            };
            let version = self.bucket.upload_if_absent(key, &tag, size, &mut next)?;
            Ok((version, sums))
        });
        match sent {
            Ok((key, (version, sums))) => Ok(StoreOutcome::Object(
                ContentLocation::Own { key, version, size },
                sums.into_checksums(),
            )),
            // It was cut or has grown meanwhile.
            Err(failed) if failed.kind == io::ErrorKind::InvalidData => Ok(StoreOutcome::Changed),
            Err(failed) => Err(failed),
        }
    }
}
