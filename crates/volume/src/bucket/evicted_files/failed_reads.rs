//! Bytes that programs asked for and did not get, by the object that has them: for whoever is told
//! at the end.

use std::collections::BTreeMap;
use std::io::ErrorKind;

use parking_lot::Mutex;
use rustix::io::Errno;

use forebay_objstore::RequestError;

/// Objects that are named; of more there is no use.
const MOST: usize = 1000;

/// Why the bytes of each could not be had, at first.
#[derive(Debug, Default)]
pub(crate) struct FailedReads(Mutex<BTreeMap<String, (ErrorKind, String)>>);

impl FailedReads {
    /// Notes one; gives what its reader is told.
    pub(in crate::bucket) fn note_failure(&self, key: &str, failed: &RequestError) -> Errno {
        let mut all = self.0.lock();
        if all.len() < MOST && !all.contains_key(key) {
            all.insert(key.to_owned(), (failed.kind, failed.why.clone()));
        }
        match failed.kind {
            ErrorKind::StorageFull => Errno::NOSPC,
            ErrorKind::StaleNetworkFileHandle => Errno::STALE,
            _ => Errno::IO,
        }
    }

    /// All of them, by key.
    pub(in crate::bucket) fn all_by_key(&self) -> BTreeMap<String, (ErrorKind, String)> {
        self.0.lock().clone()
    }
}
