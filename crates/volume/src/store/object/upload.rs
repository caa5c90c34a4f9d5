//! Writing objects that are too long for one request: parts at the same time, seen when all are there.

use std::io;

use bytes::BytesMut;
use object_store::{ObjectStore, PutMultipartOptions, WriteMultipart};

use super::put::{tagged, version_of};
use super::{Failed, Objects, Version, When};

/// Bytes of a part, unless there would be too many. Up to here an object is one request.
const PART: u64 = 8 << 20;
/// The most parts of an upload (Amazon S3 user guide, "Amazon S3 multipart upload limits").
const MOST_PARTS: u64 = 10_000;
/// Parts of one upload under way: 64 MiB in memory.
const AT_ONCE: usize = 8;

impl Objects {
    /// Writes an object of `size` bytes, which `next` gives in their order: it fills a buffer and
    /// tells how far; 0 at the end. Nobody sees a part of it. `tag` says which state this is, and
    /// nobody else may have it.
    ///
    /// # Errors
    /// Those of the network, what the bucket refuses, and what `next` says. `InvalidData`: there
    /// were fewer or more bytes. Nothing is written then, or all of it.
    pub fn upload(
        &self,
        name: &str,
        tag: &str,
        size: u64,
        next: &mut dyn FnMut(&mut [u8]) -> io::Result<usize>,
    ) -> Result<Option<Version>, Failed> {
        let part = PART.max(size.div_ceil(MOST_PARTS).next_multiple_of(1 << 20));
        let mut left = size;
        let mut piece = || -> Result<bytes::Bytes, Failed> {
            let mut bytes = BytesMut::zeroed(part.min(left) as usize);
            fill(&mut bytes, next)?;
            left -= bytes.len() as u64;
            if left == 0 && next(&mut [0])? > 0 {
                return Err(differs(name));
            }
            Ok(bytes.freeze())
        };
        if size <= part {
            return self.put_when(name, piece()?, When::Always, tag);
        }
        let path = self.at(name)?;
        let options = PutMultipartOptions { attributes: tagged(tag), ..Default::default() };
        let upload = self.runtime.block_on(self.store.put_multipart_opts(&path, options))?;
        let _here = self.runtime.enter();
        let mut writer = WriteMultipart::new_with_chunk_size(upload, part as usize);
        for _ in 0..size.div_ceil(part) {
            let room = self.runtime.block_on(writer.wait_for_capacity(AT_ONCE));
            match room.map_err(Failed::from).and_then(|()| piece()) {
                Ok(bytes) => writer.put(bytes),
                Err(failed) => {
                    let _ = self.runtime.block_on(writer.abort());
                    return Err(failed);
                }
            }
        }
        match self.runtime.block_on(writer.finish()) {
            Ok(put) => Ok(version_of(put)),
            // The client takes away what it takes for a failure, so the word may be that of the
            // removal: of parts that are an object already.
            Err(error) => {
                let kind = io::ErrorKind::Other;
                let failed = Failed { kind, why: Failed::from(error).why };
                self.is_there_after_all(name, tag, failed)
            }
        }
    }
}

fn fill(
    bytes: &mut [u8],
    next: &mut dyn FnMut(&mut [u8]) -> io::Result<usize>,
) -> Result<(), Failed> {
    let mut done = 0;
    while done < bytes.len() {
        match next(&mut bytes[done..]) {
            Ok(0) => return Err(differs("the source")),
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn differs(what: &str) -> Failed {
    let why = format!("{what} is not as long as it was a moment ago");
    Failed { kind: io::ErrorKind::InvalidData, why }
}
