//! Objects that were copied from another bucket have other ETags, and are told from those that
//! somebody changed by their checksums.

use std::io::ErrorKind;

use super::super::block_checksums::BlockChecksummer;
use super::super::log::History;
use super::super::request::Bucket;
use super::segment_content;
use forebay_objstore::RequestError;

/// Whether an object has the bytes that were written, as their checksums say.
pub(super) fn has_bytes_of(
    bucket: &dyn Bucket,
    history: &History,
    ino: u64,
    key: &str,
    size: u64,
) -> Result<bool, RequestError> {
    let sums = history.tree.file(ino).and_then(|file| file.sums.as_deref());
    let Some(sums) = sums else { return Ok(false) };
    let sums = match segment_content::read_packed(bucket, sums) {
        Err(failed) if matches!(failed.kind, ErrorKind::InvalidData | ErrorKind::NotFound) => {
            return Ok(false);
        }
        sums => sums?,
    };
    let mut summing = BlockChecksummer::default();
    let done = bucket.stream_range(key, None, 0..size, &mut |bytes| {
        summing.add_bytes(&bytes);
        Ok(())
    });
    match done {
        Err(failed) if failed.kind == ErrorKind::InvalidData => Ok(false),
        done => done.map(|()| summing.into_checksums() == sums[..]),
    }
}
