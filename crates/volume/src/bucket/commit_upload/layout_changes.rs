//! Files that got a name whose rule has them lie in the bucket otherwise, and whose bytes are there
//! alone: these are read there.

use std::io::ErrorKind;

use bytes::Bytes;

use super::super::block_checksums::{BlockChecksummer, matches_checksums};
use super::super::request::get_version_or_any;
use super::super::scan::{FileStamp, PendingFile};
use super::super::tree::VolumeFile;
use super::super::tree_record::ContentLocation;
use super::CommitUploader;
use super::object_writes::StoreOutcome;
use forebay_objstore::RequestError;

impl CommitUploader {
    /// Tells this state of a file from all others.
    pub(super) fn state_tag(&self, ino: u64, stamp: &FileStamp) -> String {
        format!("{} {ino} {stamp}", self.volume)
    }

    /// Lays a file as it is to lie.
    pub(super) fn store_from_bucket(
        &self,
        large: &PendingFile,
    ) -> Result<StoreOutcome, RequestError> {
        let Some(file) = self.tree.file(large.ino) else { return Ok(StoreOutcome::Changed) };
        let bytes = match self.read_bucket_bytes(file) {
            Ok(bytes) => bytes,
            // Somebody has removed or changed it: who reads the file is told, and all else goes on.
            Err(failed)
                if matches!(
                    failed.kind,
                    ErrorKind::NotFound
                        | ErrorKind::InvalidData
                        | ErrorKind::StaleNetworkFileHandle
                ) =>
            {
                return Ok(StoreOutcome::Left);
            }
            Err(failed) => return Err(failed),
        };
        if !large.is_own {
            return Ok(StoreOutcome::Small(bytes.into()));
        }
        let size = bytes.len() as u64;
        // Here it has the time at which it was made, or at which some of its bytes came.
        let tag = self.state_tag(large.ino, &large.stamp.with_mtime(file.attr.mtime));
        let (key, version) = self.write_to_new_key(large, |key| {
            let mut left = &bytes[..];
            let mut next = |buffer: &mut [u8]| std::io::Read::read(&mut left, buffer);
            self.bucket.upload_if_absent(key, &tag, size, &mut next)
        })?;
        let mut sums = BlockChecksummer::default();
        sums.add_bytes(&bytes);
        Ok(StoreOutcome::Object(ContentLocation::Own { key, version, size }, sums.into_checksums()))
    }

    fn read_bucket_bytes(&self, file: &VolumeFile) -> Result<Bytes, RequestError> {
        let ContentLocation::Own { key, version, size } = &file.place else {
            return self.fetch.read_packed(&file.place);
        };
        // Of a copy the version is not known.
        if self.bucket.head_object(key)?.is_none_or(|found| found.size != *size) {
            let why = format!("{key} is not as it was");
            return Err(RequestError { kind: ErrorKind::NotFound, why });
        }
        match size {
            0 => Ok(Bytes::new()),
            size => {
                let sums =
                    file.sums.as_ref().map(|sums| self.fetch.read_packed(sums)).transpose()?;
                let is_right = |bytes: &[u8]| {
                    sums.as_ref().is_none_or(|sums| matches_checksums(sums, &(0..*size), bytes))
                };
                get_version_or_any(version.as_deref(), sums.is_some(), |version| {
                    self.bucket.get_version_range(key, version, 0..*size, &is_right)
                })
            }
        }
    }
}
