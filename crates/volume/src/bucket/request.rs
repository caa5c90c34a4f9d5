//! What a volume asks of its bucket.

use std::io;
use std::ops::Range;

use bytes::Bytes;

use forebay_objstore::{
    BucketClient, FolderListing, ObjectMetadata, ObjectVersion, PutCondition, RequestError,
};

/// Requests at a time.
pub(super) const AT_ONCE: usize = 8;

/// Long reads of objects, as nodes do them for each other.
pub(crate) trait ReadParts: std::fmt::Debug + Send + Sync {
    /// Reads a part of one that is in this state, if the state is known: each byte is handed over as
    /// it comes, in their order, perhaps not all before an error.
    fn stream_range(
        &self,
        name: &str,
        version: Option<&str>,
        range: Range<u64>,
        take: &mut dyn FnMut(Bytes) -> Result<(), RequestError>,
    ) -> Result<(), RequestError>;
    /// The same of an object in this state that may end within the range: `begin` is told how long
    /// it is, before the first byte.
    fn stream_up_to(
        &self,
        name: &str,
        version: &str,
        range: Range<u64>,
        begin: &mut dyn FnMut(u64),
        take: &mut dyn FnMut(Bytes) -> Result<(), RequestError>,
    ) -> Result<(), RequestError>;
}

/// Requests, so that tests can stop at every request.
pub(crate) trait Bucket: ReadParts {
    /// Writes an object that is not there.
    fn put_if_absent(&self, name: &str, bytes: Bytes, tag: &str) -> Result<(), RequestError>;
    /// Reads a part of one.
    fn get_range(
        &self,
        name: &str,
        range: Range<u64>,
        is_right: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Bytes, RequestError>;
    /// Reads a part of one that is in this state, if the state is known.
    fn get_version_range(
        &self,
        name: &str,
        version: Option<&str>,
        range: Range<u64>,
        is_right: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Bytes, RequestError>;
    /// Writes a long object that is not there; tells its state. The bytes come from `next`.
    fn upload_if_absent(
        &self,
        name: &str,
        tag: &str,
        size: u64,
        next: &mut dyn FnMut(&mut [u8]) -> io::Result<usize>,
    ) -> Result<Option<String>, RequestError>;
    /// Copies one over another.
    fn copy_object(&self, from: &str, to: &str) -> Result<(), RequestError>;
    /// Removes one, if it is there.
    fn delete_object(&self, name: &str) -> Result<(), RequestError>;
    /// What is known of one, with its tag; `None`: it is not there.
    fn head_object(&self, name: &str) -> Result<Option<ObjectMetadata>, RequestError>;
    /// Names in a folder.
    fn list_objects(&self, folder: &str) -> Result<Vec<ObjectMetadata>, RequestError>;
    /// What is in a folder, without what is below.
    fn list_with_delimiter(&self, folder: &str) -> Result<FolderListing, RequestError>;
}

/// Asks for bytes of one state of an object, or, where it is said to be in another, of any: `ask` is
/// told of which. An object that was copied to another bucket has another ETag and the same bytes,
/// so who has their checksums (`has_sums`) goes by these.
pub(super) fn get_version_or_any<T>(
    version: Option<&str>,
    has_sums: bool,
    mut ask: impl FnMut(Option<&str>) -> Result<T, RequestError>,
) -> Result<T, RequestError> {
    match ask(version) {
        Err(failed)
            if failed.kind == io::ErrorKind::StaleNetworkFileHandle
                && has_sums
                && version.is_some() =>
        {
            // Bytes that are others are no news then: it is in another state.
            ask(None).map_err(|other| match other.kind {
                io::ErrorKind::InvalidData => failed,
                _ => other,
            })
        }
        asked => asked,
    }
}

/// Asks for each, several at a time.
pub(super) fn map_in_parallel<T: Sync, R: Send>(all: &[T], ask: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let mut told = Vec::with_capacity(all.len());
    let ask = &ask;
    for some in all.chunks(AT_ONCE) {
        std::thread::scope(|scope| {
            let begin = |one| scope.spawn(move || ask(one));
            let begun: Vec<_> = some.iter().map(begin).collect();
            told.extend(begun.into_iter().map(|one| one.join().expect("it does not panic")));
        });
    }
    told
}

impl ReadParts for BucketClient {
    fn stream_range(
        &self,
        name: &str,
        version: Option<&str>,
        range: Range<u64>,
        take: &mut dyn FnMut(Bytes) -> Result<(), RequestError>,
    ) -> Result<(), RequestError> {
        let version = version.map(|version| ObjectVersion(version.to_owned()));
        self.stream_part(name, range, version.as_ref(), take)
    }

    fn stream_up_to(
        &self,
        name: &str,
        version: &str,
        range: Range<u64>,
        begin: &mut dyn FnMut(u64),
        take: &mut dyn FnMut(Bytes) -> Result<(), RequestError>,
    ) -> Result<(), RequestError> {
        let version = ObjectVersion(version.to_owned());
        BucketClient::stream_up_to(self, name, range, Some(&version), begin, take)
    }
}

impl Bucket for BucketClient {
    fn put_if_absent(&self, name: &str, bytes: Bytes, tag: &str) -> Result<(), RequestError> {
        self.put_when(name, bytes, PutCondition::Absent, tag).map(drop)
    }

    fn get_range(
        &self,
        name: &str,
        range: Range<u64>,
        is_right: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Bytes, RequestError> {
        self.fetch_verified(name, range, None, is_right)
    }

    fn get_version_range(
        &self,
        name: &str,
        version: Option<&str>,
        range: Range<u64>,
        is_right: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Bytes, RequestError> {
        let version = version.map(|version| ObjectVersion(version.to_owned()));
        self.fetch_verified(name, range, version.as_ref(), is_right)
    }

    fn upload_if_absent(
        &self,
        name: &str,
        tag: &str,
        size: u64,
        next: &mut dyn FnMut(&mut [u8]) -> io::Result<usize>,
    ) -> Result<Option<String>, RequestError> {
        let put = BucketClient::upload(self, name, tag, size, PutCondition::Absent, next)?;
        Ok(put.map(|version| version.0))
    }

    fn copy_object(&self, from: &str, to: &str) -> Result<(), RequestError> {
        BucketClient::copy(self, from, to)
    }

    fn delete_object(&self, name: &str) -> Result<(), RequestError> {
        BucketClient::delete(self, name)
    }

    fn head_object(&self, name: &str) -> Result<Option<ObjectMetadata>, RequestError> {
        BucketClient::head(self, name)
    }

    fn list_objects(&self, folder: &str) -> Result<Vec<ObjectMetadata>, RequestError> {
        self.list_recursive(folder)
    }

    fn list_with_delimiter(&self, folder: &str) -> Result<FolderListing, RequestError> {
        BucketClient::list_folder(self, folder)
    }
}
