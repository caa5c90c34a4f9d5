//! Who has a volume mounted to write, as a note in the bucket. The log keeps two writers apart; the
//! note is for people, who want to be told before one is shut out.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::request::Bucket;
use forebay_objstore::{BucketClient, ObjectMetadata, PutCondition, RequestError};

const NOTE: &str = ".forebay/writer";

/// Who writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VolumeWriter {
    pub(super) me: String,
    /// The machine, in words.
    pub host: String,
    /// Since when, in seconds since 1970.
    pub since: i64,
}

impl VolumeWriter {
    /// Who writes now, if anybody.
    pub(super) fn read_from_bucket(
        bucket: &dyn Bucket,
    ) -> Result<Option<VolumeWriter>, RequestError> {
        let Some(found) = bucket.head_object(NOTE)? else { return Ok(None) };
        let bytes = bucket.get_range(NOTE, 0..found.size, &|_| true)?;
        let unknown = || VolumeWriter { me: String::new(), host: "somebody".to_owned(), since: 0 };
        Ok(Some(serde_json::from_slice(&bytes).unwrap_or_else(|_| unknown())))
    }

    /// Writes, if nobody else does: tells who does.
    pub(super) fn claim_if_free(
        &self,
        bucket: &dyn Bucket,
    ) -> Result<Option<VolumeWriter>, RequestError> {
        match bucket.put_if_absent(NOTE, self.to_json(), &self.me) {
            Err(failed) if failed.kind == std::io::ErrorKind::AlreadyExists => {
                Ok(Some(VolumeWriter::read_from_bucket(bucket)?.ok_or(failed)?))
            }
            done => done.map(|()| None),
        }
    }

    fn to_json(&self) -> Bytes {
        serde_json::to_vec(self).expect("plain data has a JSON form").into()
    }

    pub(super) fn overwrite_note(&self, objects: &BucketClient) -> Result<(), RequestError> {
        objects.put_when(NOTE, self.to_json(), PutCondition::Always, &self.me).map(drop)
    }

    /// Nobody writes any more, if we still did.
    pub(super) fn release_after_mount(
        me: &str,
        objects: &BucketClient,
    ) -> Result<(), RequestError> {
        VolumeWriter::release_claim(me, objects)
    }

    /// The same, of any bucket.
    pub(super) fn release_claim(me: &str, bucket: &dyn Bucket) -> Result<(), RequestError> {
        // What a store tells with a length spares asking for the note itself.
        let is_ours = match bucket.head_object(NOTE)? {
            Some(ObjectMetadata { tag: Some(tag), .. }) => tag == me,
            Some(_) => {
                VolumeWriter::read_from_bucket(bucket)?.is_some_and(|writer| writer.me == me)
            }
            None => false,
        };
        if is_ours { bucket.delete_object(NOTE) } else { Ok(()) }
    }
}
