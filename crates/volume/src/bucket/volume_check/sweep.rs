//! Removing what nothing needs, while nobody else writes the volume.

use std::io::ErrorKind;

use super::super::request::{AT_ONCE, Bucket, map_in_parallel};
use super::super::volume_opening::{BucketError, WriterOptions};
use super::super::writer_note::VolumeWriter;
use forebay_objstore::{ObjectMetadata, RequestError};

/// A volume that nobody mounts meanwhile: the note of a writer is there, and is ours.
#[derive(Debug)]
pub(super) struct ExclusiveVolume<'a> {
    bucket: &'a dyn Bucket,
    me: String,
}

impl<'a> ExclusiveVolume<'a> {
    pub(super) fn claim_volume(
        bucket: &'a dyn Bucket,
        wanted: &WriterOptions,
    ) -> Result<ExclusiveVolume<'a>, BucketError> {
        let WriterOptions { me, host, now, .. } = wanted;
        let host = format!("{host} (`forebay check --repair`)");
        let writer = VolumeWriter { me: me.clone(), host, since: *now };
        match writer.claim_if_free(bucket)? {
            Some(other) => Err(BucketError::Taken(other)),
            None => Ok(ExclusiveVolume { bucket, me: writer.me }),
        }
    }

    pub(super) fn remove_unneeded(
        &self,
        orphans: &[ObjectMetadata],
        unneeded: &[(String, u64)],
    ) -> Result<(), BucketError> {
        for some in orphans.chunks(AT_ONCE) {
            self.ensure_still_ours()?;
            self.fail_on_first(map_in_parallel(some, |orphan| {
                // As it was when nobody had it.
                let now = self.bucket.head_object(&orphan.name)?;
                let is_same = now.is_some_and(|now| now.tag == orphan.tag);
                if is_same { self.bucket.delete_object(&orphan.name) } else { Ok(()) }
            }))?;
        }
        for some in unneeded.chunks(AT_ONCE) {
            self.ensure_still_ours()?;
            self.fail_on_first(map_in_parallel(some, |(name, _)| self.bucket.delete_object(name)))?;
        }
        Ok(())
    }

    fn fail_on_first(&self, done: Vec<Result<(), RequestError>>) -> Result<(), BucketError> {
        Ok(done.into_iter().collect::<Result<(), RequestError>>()?)
    }

    /// Who takes over is not asked; it says so here first.
    fn ensure_still_ours(&self) -> Result<(), BucketError> {
        match VolumeWriter::read_from_bucket(self.bucket)? {
            Some(writer) if writer.me == self.me => Ok(()),
            Some(writer) => Err(BucketError::Taken(writer)),
            None => {
                let why = "the note of who writes it was taken away".to_owned();
                Err(BucketError::Bucket(RequestError { kind: ErrorKind::Other, why }))
            }
        }
    }

    pub(super) fn release_claim(self) -> Result<(), RequestError> {
        VolumeWriter::release_claim(&self.me, self.bucket)
    }
}
