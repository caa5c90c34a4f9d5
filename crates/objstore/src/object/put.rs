//! Writing an object by one request, and finding out what became of one that was not answered.

use std::io;

use bytes::Bytes;
use object_store::{Attributes, ObjectStore, PutMode, PutOptions, PutResult, UpdateVersion};

use super::{BucketClient, ObjectVersion, RequestError, TAG};

/// When an object is to be written.
#[derive(Debug, Clone, Copy)]
pub enum PutCondition<'a> {
    /// Whatever is there.
    Always,
    /// When nothing is there; else `AlreadyExists`.
    Absent,
    /// When this is what is there; else `StaleNetworkFileHandle`.
    Is(&'a ObjectVersion),
}

impl BucketClient {
    /// Writes an object, all of it or nothing.
    ///
    /// # Errors
    /// Those of the network, and what the bucket refuses.
    pub fn put(&self, name: &str, bytes: Bytes) -> Result<(), RequestError> {
        self.put_when(name, bytes, PutCondition::Always, "").map(drop)
    }

    /// The same, on a condition, with a tag that says which state of it this is; `""`: none. When
    /// an answer was lost and the object has the tag, it was written: `Absent` and `Is` want one
    /// that nobody else has.
    ///
    /// # Errors
    /// Those of the network, what the bucket refuses, and what [`PutCondition`] says.
    pub fn put_when(
        &self,
        name: &str,
        bytes: Bytes,
        when: PutCondition<'_>,
        tag: &str,
    ) -> Result<Option<ObjectVersion>, RequestError> {
        let mode = match when {
            PutCondition::Always => PutMode::Overwrite,
            PutCondition::Absent => PutMode::Create,
            PutCondition::Is(version) => {
                PutMode::Update(UpdateVersion { e_tag: Some(version.0.clone()), version: None })
            }
        };
        let options = PutOptions { mode, attributes: tag_attributes(tag), ..PutOptions::default() };
        let done = self.runtime.block_on(self.store.put_opts(
            &self.object_path(name)?,
            bytes.into(),
            options,
        ));
        match done {
            Ok(put) => Ok(version_from_put(put)),
            Err(error) => self.confirm_written(name, tag, error.into()),
        }
    }

    /// A request can have its effect and lose its answer.
    pub(super) fn confirm_written(
        &self,
        name: &str,
        tag: &str,
        failed: RequestError,
    ) -> Result<Option<ObjectVersion>, RequestError> {
        if tag.is_empty() || failed.is_lasting() && failed.kind != io::ErrorKind::AlreadyExists {
            return Err(failed);
        }
        match self.head(name) {
            Ok(Some(found)) if found.tag.as_deref() == Some(tag) => Ok(found.version),
            _ => Err(failed),
        }
    }
}

pub(super) fn version_from_put(put: PutResult) -> Option<ObjectVersion> {
    put.e_tag.map(ObjectVersion::from_e_tag)
}

pub(super) fn tag_attributes(tag: &str) -> Attributes {
    let mut attributes = Attributes::new();
    if !tag.is_empty() {
        attributes.insert(TAG, tag.to_owned().into());
    }
    attributes
}
