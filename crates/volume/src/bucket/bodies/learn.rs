//! Files that become known while others are read, and which state of its object one has where no
//! listing told it.

use std::io::ErrorKind;

use std::sync::atomic::Ordering::Relaxed;

use super::super::body::Body;
use super::{Away, Bodies, Place, Result};
use crate::native::Identity;
use crate::store::Failed;

impl Bodies {
    /// More files whose bytes are away.
    pub(in crate::bucket) fn learn(&self, more: impl IntoIterator<Item = (Identity, u64, Away)>) {
        let mut known = self.known.lock();
        for (identity, ino, away) in more {
            known.numbers.insert(identity, ino);
            known.away.insert(ino, away);
        }
    }

    /// From now on bytes that came in an earlier run are not asked for again.
    pub(in crate::bucket) fn keep_parts(&self) {
        self.keeps_parts.store(true, Relaxed);
    }

    pub(super) fn recall(&self, body: &Body) {
        for range in body.kept() {
            // With the last one it is whole, or is asked for by the next run as it was by this.
            let _ = body.settle(&range, true, || self.is_here(body));
        }
    }

    /// Before a file is read: its bytes are to be those of one state of the object.
    ///
    /// # Errors
    /// ESTALE: it is another object already. EIO: nobody knows.
    pub(in crate::bucket) fn pin(&self, identity: &Identity) -> Result<()> {
        let unknown = {
            let known = self.known.lock();
            let ino = known.numbers.get(identity).copied();
            ino.and_then(|ino| match known.away.get(&ino).map(|away| away.place.clone()) {
                Some(Place::Own { key, version: None, size }) => Some((ino, key, size)),
                _ => None,
            })
        };
        let Some((ino, key, size)) = unknown else { return Ok(()) };
        let failed = match self.bucket.head(&key) {
            Ok(Some(found)) if found.size == size => {
                let version = found.version.map(|version| version.0);
                if let Some(away) = self.known.lock().away.get_mut(&ino) {
                    away.place = Place::Own { key, version, size };
                }
                return Ok(());
            }
            Ok(Some(_)) => {
                let why = format!("{key}: it is another object now");
                Failed { kind: ErrorKind::StaleNetworkFileHandle, why }
            }
            Ok(None) => Failed { kind: ErrorKind::NotFound, why: format!("{key} is not there") },
            Err(failed) => failed,
        };
        Err(self.lost.note(&key, &failed))
    }
}
