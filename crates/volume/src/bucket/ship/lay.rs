//! Files that got a name whose rule has them lie in the bucket otherwise, and whose bytes are there
//! alone: these are read there.

use std::io::ErrorKind;

use bytes::Bytes;

use super::super::record::Place;
use super::super::request::of_state_or_any;
use super::super::scan::{Large, Stamp};
use super::super::sums::{Summing, are_right};
use super::super::tree::File;
use super::Ship;
use super::store::Stored;
use forebay_objstore::Failed;

impl Ship {
    /// Tells this state of a file from all others.
    pub(super) fn tag(&self, ino: u64, stamp: &Stamp) -> String {
        format!("{} {ino} {stamp}", self.volume)
    }

    /// Lays a file as it is to lie.
    pub(super) fn lay(&self, large: &Large) -> Result<Stored, Failed> {
        let Some(file) = self.tree.file(large.ino) else { return Ok(Stored::Changed) };
        let bytes = match self.bytes_of(file) {
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
                return Ok(Stored::Left);
            }
            Err(failed) => return Err(failed),
        };
        if !large.is_own {
            return Ok(Stored::Small(bytes.into()));
        }
        let size = bytes.len() as u64;
        // Here it has the time at which it was made, or at which some of its bytes came.
        let tag = self.tag(large.ino, &large.stamp.with_mtime(file.attr.mtime));
        let (key, version) = self.to_new_key(large, |key| {
            let mut left = &bytes[..];
            let mut next = |buffer: &mut [u8]| std::io::Read::read(&mut left, buffer);
            self.bucket.upload(key, &tag, size, &mut next)
        })?;
        let mut sums = Summing::default();
        sums.take(&bytes);
        Ok(Stored::Object(Place::Own { key, version, size }, sums.end()))
    }

    fn bytes_of(&self, file: &File) -> Result<Bytes, Failed> {
        let Place::Own { key, version, size } = &file.place else {
            return self.fetch.packed(&file.place);
        };
        // Of a copy the version is not known.
        if self.bucket.head(key)?.is_none_or(|found| found.size != *size) {
            let why = format!("{key} is not as it was");
            return Err(Failed { kind: ErrorKind::NotFound, why });
        }
        match size {
            0 => Ok(Bytes::new()),
            size => {
                let sums = file.sums.as_ref().map(|sums| self.fetch.packed(sums)).transpose()?;
                let is_right = |bytes: &[u8]| {
                    sums.as_ref().is_none_or(|sums| are_right(sums, &(0..*size), bytes))
                };
                of_state_or_any(version.as_deref(), sums.is_some(), |version| {
                    self.bucket.read_of(key, version, 0..*size, &is_right)
                })
            }
        }
    }
}
