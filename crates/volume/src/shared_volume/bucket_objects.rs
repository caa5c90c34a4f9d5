//! Long files of a shared volume as objects of a bucket.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use bytes::Bytes;
use forebay_objstore::{BucketClient, PutCondition, RequestError};

use super::object_place::{ObjectPlace, as_io_error};
use crate::bucket::ReadParts;

/// The objects below a shared volume's prefix. No object is ever changed, so a version says nothing.
#[derive(Debug)]
pub(super) struct BucketObjects(pub(super) BucketClient);

impl ReadParts for BucketObjects {
    fn stream_range(
        &self,
        name: &str,
        _version: Option<&str>,
        range: Range<u64>,
        take: &mut dyn FnMut(Bytes) -> Result<(), RequestError>,
    ) -> Result<(), RequestError> {
        self.0.stream_part(name, range, None, take)
    }

    fn stream_up_to(
        &self,
        name: &str,
        _version: &str,
        range: Range<u64>,
        begin: &mut dyn FnMut(u64),
        take: &mut dyn FnMut(Bytes) -> Result<(), RequestError>,
    ) -> Result<(), RequestError> {
        self.0.stream_up_to(name, range, None, begin, take)
    }
}

impl ObjectPlace for BucketObjects {
    fn write(&self, object: &str, size: u64, bytes: &File) -> io::Result<()> {
        let mut at = 0;
        let mut next = |into: &mut [u8]| {
            let read = bytes.read_at(into, at)?;
            at += read as u64;
            Ok(read)
        };
        let when = PutCondition::Always;
        let written = self.0.upload(object, object, size, when, &mut next);
        written.map(drop).map_err(as_io_error)
    }

    fn remove(&self, object: &str) -> io::Result<()> {
        self.0.delete(object).map_err(as_io_error)
    }
}
