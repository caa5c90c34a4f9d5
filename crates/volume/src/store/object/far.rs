//! Many parts of objects at a time, over no more connections than the caller wants.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use object_store::ObjectStore;
use object_store::limit::LimitStore;

use super::{Failed, Hedge, Objects, Version};

impl Objects {
    /// With so many requests under way at most; the others wait. Answers of up to `longest` bytes
    /// that are overdue are asked for a second time.
    #[must_use]
    pub(crate) fn at_most(self, requests: usize, longest: u64) -> Objects {
        let store: Arc<dyn ObjectStore> = Arc::new(LimitStore::new(self.store, requests));
        Objects { store, hedge: Arc::new(Hedge::up_to(longest)), ..self }
    }

    /// Begins to read a part of an object, of this state of it if one is given. `then` is told what
    /// came, on a thread that carries requests: it must not wait.
    ///
    /// # Errors
    /// The name is none.
    pub(crate) fn begin(
        &self,
        name: &str,
        range: Range<u64>,
        version: Option<&Version>,
        then: impl FnOnce(Result<Bytes, Failed>) + Send + 'static,
    ) -> Result<(), Failed> {
        let part = self.part(&self.at(name)?, range, version);
        self.runtime.spawn(async { then(part.fetch().await) });
        Ok(())
    }
}
