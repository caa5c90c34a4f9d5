//! Writing objects that are too long for one request: parts at the same time, seen when all are there.

use std::hash::{Hash, Hasher};
use std::io;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use object_store::{MultipartUpload, ObjectStore, ObjectStoreExt, PutMultipartOptions, PutResult};
use rustc_hash::FxHasher;
use tokio::task::JoinSet;

use super::put::{tag_attributes, version_from_put};
use super::sieve::only_if_absent;
use super::{BucketClient, ObjectVersion, PutCondition, RequestError};

/// Bytes of a part, unless there would be too many. Up to here an object is one request.
const PART: u64 = 8 << 20;
/// The most parts of an upload (Amazon S3 user guide, "Amazon S3 multipart upload limits").
const MOST_PARTS: u64 = 10_000;
/// Where bytes lie that have no name yet.
const UNFINISHED: &str = ".forebay/unfinished";
/// What parts under way take in memory, of all uploads together.
pub(super) const ROOM_MIB: usize = 96;

impl BucketClient {
    /// Writes an object of `size` bytes, which `next` gives in their order: it fills a buffer and
    /// tells how far; 0 at the end. Nobody sees a part of it. `tag` says which state this is, and
    /// nobody else may have it. Of an object that is there, `when` says whether it is written over:
    /// `Is` looks at single requests alone.
    ///
    /// # Errors
    /// Those of the network, what the bucket refuses, and what `next` and [`PutCondition`] say.
    /// `InvalidData`: there were fewer or more bytes. Nothing is written then, or all of it.
    pub fn upload(
        &self,
        name: &str,
        tag: &str,
        size: u64,
        when: PutCondition<'_>,
        next: &mut dyn FnMut(&mut [u8]) -> io::Result<usize>,
    ) -> Result<Option<ObjectVersion>, RequestError> {
        let part = PART.max(size.div_ceil(MOST_PARTS).next_multiple_of(1 << 20));
        let is_new = matches!(when, PutCondition::Absent);
        if is_new && size > part && self.ends_by_copy {
            return self.upload_and_copy(name, tag, size, next);
        }
        let mut left = size;
        let mut piece = || -> Result<Bytes, RequestError> {
            let mut bytes = BytesMut::zeroed(part.min(left) as usize);
            fill_buffer(&mut bytes, next)?;
            left -= bytes.len() as u64;
            if left == 0 && next(&mut [0])? > 0 {
                return Err(length_changed_error(name));
            }
            Ok(bytes.freeze())
        };
        if size <= part {
            return self.put_when(name, piece()?, when, tag);
        }
        let path = self.object_path(name)?;
        // Rather than after all parts were sent.
        if is_new {
            self.refuse_other(name, tag)?;
        }
        let options = PutMultipartOptions { attributes: tag_attributes(tag), ..Default::default() };
        let mut upload = self.runtime.block_on(self.store.put_multipart_opts(&path, options))?;
        if let Err(failed) = self.send_parts(&mut *upload, size.div_ceil(part), part, &mut piece) {
            // What is left of it nobody sees; the error is that of the upload.
            let _ = self.runtime.block_on(upload.abort());
            return Err(failed);
        }
        let finish = complete_or_abort(&mut *upload);
        let done = match is_new {
            true => self.runtime.block_on(only_if_absent(finish)),
            false => self.runtime.block_on(finish),
        };
        match done {
            Ok(put) => Ok(version_from_put(put)),
            Err(object_store::Error::Precondition { .. }) => {
                self.confirm_written(name, tag, already_exists_error(name))
            }
            // The client takes away what it takes for a failure, so the word may be that of the
            // removal: of parts that are an object already.
            Err(error) => {
                let kind = io::ErrorKind::Other;
                let failed = RequestError { kind, why: RequestError::from(error).why };
                self.confirm_written(name, tag, failed)
            }
        }
    }

    /// An upload that must not write over an object, where the storage takes no condition with the end
    /// of it: the bytes get a name of their own, and are copied on that condition, within the storage.
    fn upload_and_copy(
        &self,
        name: &str,
        tag: &str,
        size: u64,
        next: &mut dyn FnMut(&mut [u8]) -> io::Result<usize>,
    ) -> Result<Option<ObjectVersion>, RequestError> {
        self.refuse_other(name, tag)?;
        let mut hasher = FxHasher::default();
        (name, tag).hash(&mut hasher);
        let own = format!("{UNFINISHED}/{:016x}", hasher.finish());
        self.upload(&own, tag, size, PutCondition::Always, next)?;
        let (from, to) = (self.object_path(&own)?, self.object_path(name)?);
        let copied = self.runtime.block_on(self.store.copy_if_not_exists(&from, &to));
        // Nobody reads it: what is left of it costs its room.
        let _ = self.delete(&own);
        match copied {
            Ok(()) => Ok(self.head(name)?.and_then(|found| found.version)),
            Err(error) => self.confirm_written(name, tag, error.into()),
        }
    }

    /// # Errors
    /// `AlreadyExists`: there is an object, and not this state of it.
    fn refuse_other(&self, name: &str, tag: &str) -> Result<(), RequestError> {
        match self.head(name)?.is_some_and(|found| found.tag.as_deref() != Some(tag)) {
            true => Err(already_exists_error(name)),
            false => Ok(()),
        }
    }

    /// Sends `count` parts. Each waits for room first, so that however many files are on their way,
    /// memory holds no more than [`ROOM_MIB`] of them.
    fn send_parts(
        &self,
        upload: &mut dyn MultipartUpload,
        count: u64,
        part: u64,
        piece: &mut dyn FnMut() -> Result<Bytes, RequestError>,
    ) -> Result<(), RequestError> {
        let mib = (part.div_ceil(1 << 20) as usize).min(ROOM_MIB) as u32;
        let mut sent = JoinSet::new();
        for _ in 0..count {
            let room = self.runtime.block_on(Arc::clone(&self.room).acquire_many_owned(mib));
            let room = room.expect("nobody closes it");
            let going = upload.put_part(piece()?.into());
            sent.spawn_on(
                async {
                    let done = going.await;
                    drop(room);
                    done
                },
                self.runtime.handle(),
            );
            while let Some(done) = sent.try_join_next() {
                done.map_err(io::Error::from)??;
            }
        }
        self.runtime.block_on(async {
            while let Some(done) = sent.join_next().await {
                done.map_err(io::Error::from)??;
            }
            Ok(())
        })
    }
}

/// Nobody sees the object before, and nothing is left of it if that fails.
async fn complete_or_abort(upload: &mut dyn MultipartUpload) -> object_store::Result<PutResult> {
    let done = upload.complete().await;
    if done.is_err() {
        upload.abort().await?;
    }
    done
}

fn fill_buffer(
    bytes: &mut [u8],
    next: &mut dyn FnMut(&mut [u8]) -> io::Result<usize>,
) -> Result<(), RequestError> {
    let mut done = 0;
    while done < bytes.len() {
        match next(&mut bytes[done..]) {
            Ok(0) => return Err(length_changed_error("the source")),
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn already_exists_error(name: &str) -> RequestError {
    RequestError { kind: io::ErrorKind::AlreadyExists, why: format!("{name} is there already") }
}

fn length_changed_error(what: &str) -> RequestError {
    let why = format!("{what} is not as long as it was a moment ago");
    RequestError { kind: io::ErrorKind::InvalidData, why }
}
