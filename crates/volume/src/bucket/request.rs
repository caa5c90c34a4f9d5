//! What a volume asks of its bucket.

use std::io;
use std::ops::Range;

use bytes::Bytes;

use forebay_objstore::{Failed, Folder, Found, Objects, Version, When};

/// Requests at a time.
pub(super) const AT_ONCE: usize = 8;

/// Requests, so that tests can stop at every request.
pub(crate) trait Bucket: std::fmt::Debug + Send + Sync {
    /// Writes an object that is not there.
    fn put_if_absent(&self, name: &str, bytes: Bytes, tag: &str) -> Result<(), Failed>;
    /// Reads a part of one.
    fn get_range(
        &self,
        name: &str,
        range: Range<u64>,
        is_right: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Bytes, Failed>;
    /// Reads a part of one that is in this state, if the state is known.
    fn get_version_range(
        &self,
        name: &str,
        version: Option<&str>,
        range: Range<u64>,
        is_right: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Bytes, Failed>;
    /// The same, each byte handed over as it comes, in their order: perhaps not all before an
    /// error.
    fn stream_range(
        &self,
        name: &str,
        version: Option<&str>,
        range: Range<u64>,
        take: &mut dyn FnMut(Bytes) -> Result<(), Failed>,
    ) -> Result<(), Failed>;
    /// Writes a long object that is not there; tells its state. The bytes come from `next`.
    fn upload_if_absent(
        &self,
        name: &str,
        tag: &str,
        size: u64,
        next: &mut dyn FnMut(&mut [u8]) -> io::Result<usize>,
    ) -> Result<Option<String>, Failed>;
    /// Copies one over another.
    fn copy_object(&self, from: &str, to: &str) -> Result<(), Failed>;
    /// Removes one, if it is there.
    fn delete_object(&self, name: &str) -> Result<(), Failed>;
    /// What is known of one, with its tag; `None`: it is not there.
    fn head_object(&self, name: &str) -> Result<Option<Found>, Failed>;
    /// Names in a folder.
    fn list_objects(&self, folder: &str) -> Result<Vec<Found>, Failed>;
    /// What is in a folder, without what is below.
    fn list_with_delimiter(&self, folder: &str) -> Result<Folder, Failed>;
}

/// Asks for bytes of one state of an object, or, where it is said to be in another, of any: `ask` is
/// told of which. An object that was copied to another bucket has another ETag and the same bytes,
/// so who has their checksums (`has_sums`) goes by these.
pub(super) fn get_version_or_any<T>(
    version: Option<&str>,
    has_sums: bool,
    mut ask: impl FnMut(Option<&str>) -> Result<T, Failed>,
) -> Result<T, Failed> {
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

impl Bucket for Objects {
    fn put_if_absent(&self, name: &str, bytes: Bytes, tag: &str) -> Result<(), Failed> {
        self.put_when(name, bytes, When::Absent, tag).map(drop)
    }

    fn get_range(
        &self,
        name: &str,
        range: Range<u64>,
        is_right: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Bytes, Failed> {
        self.fetch_verified(name, range, None, is_right)
    }

    fn get_version_range(
        &self,
        name: &str,
        version: Option<&str>,
        range: Range<u64>,
        is_right: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Bytes, Failed> {
        let version = version.map(|version| Version(version.to_owned()));
        self.fetch_verified(name, range, version.as_ref(), is_right)
    }

    fn stream_range(
        &self,
        name: &str,
        version: Option<&str>,
        range: Range<u64>,
        take: &mut dyn FnMut(Bytes) -> Result<(), Failed>,
    ) -> Result<(), Failed> {
        let version = version.map(|version| Version(version.to_owned()));
        self.stream_part(name, range, version.as_ref(), take)
    }

    fn upload_if_absent(
        &self,
        name: &str,
        tag: &str,
        size: u64,
        next: &mut dyn FnMut(&mut [u8]) -> io::Result<usize>,
    ) -> Result<Option<String>, Failed> {
        let put = Objects::upload(self, name, tag, size, When::Absent, next)?;
        Ok(put.map(|version| version.0))
    }

    fn copy_object(&self, from: &str, to: &str) -> Result<(), Failed> {
        Objects::copy(self, from, to)
    }

    fn delete_object(&self, name: &str) -> Result<(), Failed> {
        Objects::delete(self, name)
    }

    fn head_object(&self, name: &str) -> Result<Option<Found>, Failed> {
        Objects::head(self, name)
    }

    fn list_objects(&self, folder: &str) -> Result<Vec<Found>, Failed> {
        self.list_recursive(folder)
    }

    fn list_with_delimiter(&self, folder: &str) -> Result<Folder, Failed> {
        Objects::list_folder(self, folder)
    }
}
