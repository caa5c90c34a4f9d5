//! A bucket of which nodes fetch each part once; all but long reads is the bucket's own.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::super::file_blocks::BLOCK;
use super::super::request::{Bucket, ReadParts};
use super::shared_parts::SharedParts;
use forebay_objstore::{FolderListing, ObjectMetadata, RequestError};

#[derive(Debug)]
pub(super) struct SharedBucket {
    inner: Arc<dyn Bucket>,
    parts: Arc<SharedParts>,
}

impl SharedBucket {
    pub(super) fn new(inner: Arc<dyn Bucket>, parts: Arc<SharedParts>) -> SharedBucket {
        SharedBucket { inner, parts }
    }
}

impl ReadParts for SharedBucket {
    fn stream_range(
        &self,
        name: &str,
        version: Option<&str>,
        range: Range<u64>,
        take: &mut dyn FnMut(Bytes) -> Result<(), RequestError>,
    ) -> Result<(), RequestError> {
        match version.filter(|_| range.start.is_multiple_of(BLOCK)) {
            Some(state) => self.parts.stream(name, state, range, take),
            None => self.inner.stream_range(name, version, range, take),
        }
    }

    fn stream_up_to(
        &self,
        name: &str,
        version: &str,
        range: Range<u64>,
        begin: &mut dyn FnMut(u64),
        take: &mut dyn FnMut(Bytes) -> Result<(), RequestError>,
    ) -> Result<(), RequestError> {
        self.inner.stream_up_to(name, version, range, begin, take)
    }
}

impl Bucket for SharedBucket {
    fn put_if_absent(&self, name: &str, bytes: Bytes, tag: &str) -> Result<(), RequestError> {
        self.inner.put_if_absent(name, bytes, tag)
    }

    fn get_range(
        &self,
        name: &str,
        range: Range<u64>,
        is_right: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Bytes, RequestError> {
        self.inner.get_range(name, range, is_right)
    }

    fn get_version_range(
        &self,
        name: &str,
        version: Option<&str>,
        range: Range<u64>,
        is_right: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Bytes, RequestError> {
        if let Some(state) = version.filter(|_| range.start.is_multiple_of(BLOCK))
            && let Some(bytes) = self.parts.read_if_kept(name, state, range.clone(), is_right)
        {
            return Ok(bytes);
        }
        let bytes = self.inner.get_version_range(name, version, range, is_right)?;
        self.parts.count_from_bucket(bytes.len() as u64);
        Ok(bytes)
    }

    fn upload_if_absent(
        &self,
        name: &str,
        tag: &str,
        size: u64,
        next: &mut dyn FnMut(&mut [u8]) -> io::Result<usize>,
    ) -> Result<Option<String>, RequestError> {
        self.inner.upload_if_absent(name, tag, size, next)
    }

    fn copy_object(&self, from: &str, to: &str) -> Result<(), RequestError> {
        self.inner.copy_object(from, to)
    }

    fn delete_object(&self, name: &str) -> Result<(), RequestError> {
        self.inner.delete_object(name)
    }

    fn head_object(&self, name: &str) -> Result<Option<ObjectMetadata>, RequestError> {
        self.inner.head_object(name)
    }

    fn list_objects(&self, folder: &str) -> Result<Vec<ObjectMetadata>, RequestError> {
        self.inner.list_objects(folder)
    }

    fn list_with_delimiter(&self, folder: &str) -> Result<FolderListing, RequestError> {
        self.inner.list_with_delimiter(folder)
    }
}
