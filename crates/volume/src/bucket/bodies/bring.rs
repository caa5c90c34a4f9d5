//! Bringing bytes: by whoever reads them, and by threads that bring all of a file.

use std::io;
use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use bytes::Bytes;
use rustix::io::Errno;

use super::super::body::{Body, Task};
use super::super::local;
use super::super::record::Place;
use super::super::scan::Stamp;
use super::{Bodies, PART, Result};
use crate::store::Failed;
use crate::tiers::{PAUSES, patiently};

/// Threads that bring a whole file, and of all files.
const HANDS: usize = 8;
const ALL_HANDS: usize = 24;
/// Until an object that has got another name is looked for again.
const SHORTLY: Duration = Duration::from_millis(50);

impl Bodies {
    pub(super) fn begin_filling(self: &Arc<Self>, body: &Arc<Body>) {
        if !body.begin_filling() {
            return;
        }
        let hands = HANDS.min(body.size.div_ceil(PART) as usize);
        for _ in 0..hands {
            if self.hands.fetch_add(1, Relaxed) >= ALL_HANDS {
                self.hands.fetch_sub(1, Relaxed);
                break;
            }
            let (this, filled) = (Arc::clone(self), Arc::clone(body));
            let work = move || {
                while let Some(range) = filled.claim_any(PART) {
                    if this.bring(&filled, range).is_err() {
                        break;
                    }
                }
                filled.end_filling();
                this.hands.fetch_sub(1, Relaxed);
            };
            if std::thread::Builder::new().name("forebay-fill".into()).spawn(work).is_err() {
                self.hands.fetch_sub(1, Relaxed);
                body.end_filling();
            }
        }
    }

    pub(super) fn ensure(&self, body: &Body, range: Range<u64>, most: u64) -> Result<()> {
        if body.is_whole() || range.is_empty() {
            return Ok(());
        }
        while let Task::Bring(part) = body.claim(&range, most) {
            self.bring(body, part)?;
        }
        Ok(())
    }

    fn bring(&self, body: &Body, range: Range<u64>) -> Result<()> {
        let put = |bytes: Bytes| body.put(&bytes, range.start).map_err(io::Error::from);
        let brought = self.ask(body, &range).and_then(|bytes| put(bytes).map_err(Failed::from));
        body.settle(&range, brought.is_ok(), || self.is_here(body))?;
        brought.map_err(|failed| {
            log::error!("bytes {range:?} of file {}: {failed}", body.ino);
            match failed.kind {
                io::ErrorKind::StorageFull => Errno::NOSPC,
                _ => Errno::IO,
            }
        })
    }

    fn ask(&self, body: &Body, range: &Range<u64>) -> std::result::Result<Bytes, Failed> {
        patiently(&self.gone, &PAUSES, || {
            // Its object may have got another name meanwhile.
            for _ in 0..3 {
                let place = self.known.lock().away.get(&body.ino).map(|away| away.place.clone());
                match place {
                    Some(Place::Own { key, version, .. }) => {
                        let asked = self.bucket.read_of(&key, version.as_deref(), range.clone());
                        match asked {
                            Err(failed) if failed.kind == io::ErrorKind::NotFound => {
                                std::thread::sleep(SHORTLY);
                            }
                            asked => return asked,
                        }
                    }
                    Some(place) => {
                        // It may have had an object when its first parts were asked for.
                        let bytes = self.fetch.packed(&place)?;
                        let end = bytes.len().min(range.end as usize);
                        return Ok(bytes.slice(end.min(range.start as usize)..end));
                    }
                    None => break,
                }
            }
            let why = format!("the object of file {} is gone", body.ino);
            Err(Failed { kind: io::ErrorKind::NotFound, why })
        })
    }

    /// All bytes are here: it is a file like any other.
    fn is_here(&self, body: &Body) -> Result<()> {
        local::is_here(&body.file, body.mtime)?;
        let stamp = Stamp::of(body.file.as_fd())?;
        let mut known = self.known.lock();
        known.away.remove(&body.ino);
        known.came.push((body.ino, stamp));
        Ok(())
    }
}
