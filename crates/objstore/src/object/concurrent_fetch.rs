//! Many parts of objects at a time, over no more connections than the caller wants.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use object_store::ObjectStore;
use object_store::limit::LimitStore;

use super::{BucketClient, ObjectVersion, RequestError, RequestHedge};

impl BucketClient {
    /// With so many requests under way at most; the others wait. Answers of up to `longest` bytes
    /// that are overdue are asked for a second time.
    #[must_use]
    pub fn with_request_limit(self, requests: usize, longest: u64) -> BucketClient {
        let store: Arc<dyn ObjectStore> = Arc::new(LimitStore::new(self.store, requests));
        BucketClient { store, hedge: Arc::new(RequestHedge::with_longest(longest)), ..self }
    }

    /// Begins to read a part of an object in the state that is pinned, or that this answer pins.
    /// `then` is told what came, on a thread that carries requests: it must not wait.
    ///
    /// # Errors
    /// The name is none.
    pub fn begin_fetch(
        &self,
        name: &str,
        range: Range<u64>,
        pin: &Arc<VersionPin>,
        then: impl FnOnce(Result<Bytes, RequestError>) + Send + 'static,
    ) -> Result<(), RequestError> {
        let part = self.part_of_object(&self.object_path(name)?, range, pin.0.get());
        let (pin, path) = (Arc::clone(pin), part.path().clone());
        self.runtime.spawn(async move {
            let came = part.fetch_hedged().await;
            then(came.and_then(|(bytes, version)| match pin.pins_version(version) {
                true => Ok(bytes),
                false => Err(RequestError::other_version(&path)),
            }));
        });
        Ok(())
    }
}

/// The one state in which an object is read: the listing told it, or, where listings don't (S3 does,
/// some that speak it do not), the first answer does.
#[derive(Debug, Default)]
pub struct VersionPin(OnceLock<ObjectVersion>);

impl VersionPin {
    /// That of a version, where it is known.
    pub fn for_version(version: Option<ObjectVersion>) -> VersionPin {
        VersionPin(version.map_or_else(OnceLock::new, OnceLock::from))
    }

    /// Whether an answer is of this state. One that does not tell its state is not asked for more.
    fn pins_version(&self, version: Option<ObjectVersion>) -> bool {
        version.is_none_or(|version| *self.0.get_or_init(|| version.clone()) == version)
    }
}
