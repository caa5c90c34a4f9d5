//! The verb `bytes`: a peer asks for bytes of a part.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::RwLock;
use serde::{Deserialize, Serialize};

use super::super::file_blocks::BLOCK;
use super::super::request::ReadParts;
use super::PeerCounters;
use super::part::PartReader;
use super::part_id::{PART, PartId, name_below};
use super::part_store::{NoRoom, Origin, PartStore};
use forebay_peers::{AnswerStream, PeerAnswer, PeerRequest, PeerVerb, Refusal, RefusalKind};

/// Its name.
pub(super) const BYTES: &str = "bytes";

/// The question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BytesQuestion {
    pub(super) part: PartId,
    /// The first byte, counted from the start of the part, and the one behind the last.
    pub(super) from: u64,
    pub(super) to: u64,
    /// Only if the part is here: it is not worth fetching for so few bytes.
    pub(super) only_here: bool,
}

/// What this node has mounted: of that alone it gives bytes.
#[derive(Debug, Default)]
pub(super) struct SharedPrefixes(RwLock<Vec<SharedPrefix>>);

#[derive(Debug)]
struct SharedPrefix {
    bucket: String,
    prefix: String,
    requests: Arc<dyn ReadParts>,
}

impl SharedPrefixes {
    /// One more.
    pub(super) fn add(&self, (bucket, prefix): (String, String), requests: Arc<dyn ReadParts>) {
        self.0.write().push(SharedPrefix { bucket, prefix, requests });
    }

    /// The bucket that has a part, and the name of the object there; `None`: it is not mounted.
    fn find(&self, part: &PartId) -> Option<(Arc<dyn ReadParts>, String)> {
        let all = self.0.read();
        all.iter().filter(|one| one.bucket == part.bucket).find_map(|one| {
            let name = name_below(&one.prefix, &part.key)?;
            Some((Arc::clone(&one.requests), name.to_owned()))
        })
    }
}

/// Answers it.
#[derive(Debug)]
pub(super) struct BytesVerb {
    pub(super) store: Arc<PartStore>,
    pub(super) shared: Arc<SharedPrefixes>,
    pub(super) counters: Arc<PeerCounters>,
}

impl BytesVerb {
    fn find_part(&self, question: &BytesQuestion) -> Result<PartReader, Refusal> {
        let BytesQuestion { part, from, to, only_here } = question;
        let is_right = part.is_plain() && from < to && *to <= PART && from.is_multiple_of(BLOCK);
        if !is_right {
            return Err(Refusal::new(RefusalKind::BadQuestion, "this is no part of an object"));
        }
        let Some((bucket, name)) = self.shared.find(part) else {
            let why = format!("{}/{} is not mounted here", part.bucket, part.key);
            return Err(Refusal::new(RefusalKind::NotServed, why));
        };
        if *only_here {
            let why = || Refusal::new(RefusalKind::NotHere, "this part is not here");
            return self.store.find(part).ok_or_else(why);
        }
        self.store
            .find_or_fetch(part, &Origin::bucket(&bucket), &name)
            .map_err(|NoRoom| Refusal::new(RefusalKind::Busy, "there is no room for one more part"))
    }
}

impl PeerVerb for BytesVerb {
    fn answer(&self, question: PeerRequest) -> Result<PeerAnswer, Refusal> {
        let bad = |_| Refusal::new(RefusalKind::BadQuestion, "this is no question for bytes");
        let question: BytesQuestion = serde_json::from_slice(&question.body).map_err(bad)?;
        let reader = self.find_part(&question)?;
        let length =
            reader.length().map_err(|failed| Refusal::new(RefusalKind::Failed, failed.why))?;
        if question.to > length || !(question.to == length || question.to.is_multiple_of(BLOCK)) {
            let why = format!("this part has {length} bytes");
            return Err(Refusal::new(RefusalKind::BadQuestion, why));
        }
        let mut left: Range<u64> = question.from..question.to;
        let (store, counters) = (Arc::clone(&self.store), Arc::clone(&self.counters));
        let length = left.end - left.start;
        Ok(PeerAnswer::Stream(AnswerStream::new(Some(length), move || {
            if left.is_empty() {
                return Ok(None);
            }
            let bytes: Bytes = reader.read_some(&left).map_err(|failed| {
                if failed.kind == std::io::ErrorKind::InvalidData {
                    store.forget_damaged(&question.part);
                }
                std::io::Error::new(failed.kind, failed.why)
            })?;
            left.start += bytes.len() as u64;
            counters.add_to_peers(bytes.len() as u64);
            Ok(Some(bytes))
        })))
    }
}
