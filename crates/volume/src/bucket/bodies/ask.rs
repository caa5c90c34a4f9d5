//! Asking for bytes, and looking whether they are those that were written.

use std::cell::Cell;
use std::io::ErrorKind;
use std::ops::Range;
use std::time::Duration;

use bytes::Bytes;

use super::super::body::Body;
use super::super::record::Place;
use super::super::sums::are_right;
use super::{Away, Bodies};
use crate::store::Failed;
use crate::tiers::patiently;

/// Until an object that has got another name is looked for again.
const SHORTLY: Duration = Duration::from_millis(50);

/// How often wrong bytes come before they are taken for what the bucket has.
const WRONG: u32 = 3;

type Asked = Result<Bytes, Failed>;

impl Bodies {
    pub(super) fn ask(&self, body: &Body, range: &Range<u64>) -> Asked {
        let wrong = Cell::new(0);
        patiently(&self.gone, &self.patience, || {
            let asked = self.ask_once(body, range);
            match &asked {
                Ok(_) => self.health.answered(),
                // One object, not the bucket.
                Err(failed) if is_about_one(failed.kind) => {
                    let is_wrong = failed.kind == ErrorKind::InvalidData;
                    wrong.set(wrong.get() + u32::from(is_wrong));
                }
                Err(failed) => self.health.failed(failed),
            }
            match asked {
                // Answers are cut off or changed on their way, but not again and again.
                Err(failed) if wrong.get() >= WRONG => Ok(Err(failed)),
                asked => asked.map(Ok),
            }
        })?
    }

    fn ask_once(&self, body: &Body, range: &Range<u64>) -> Asked {
        // Its object may have got another name meanwhile.
        for _ in 0..3 {
            let away = self.known.lock().away.get(&body.ino).cloned();
            match away {
                Some(away) if matches!(away.place, Place::Own { .. }) => {
                    match self.of_object(body, &away, range) {
                        Err(failed) if failed.kind == ErrorKind::NotFound => {
                            std::thread::sleep(SHORTLY);
                        }
                        asked => return asked,
                    }
                }
                Some(away) => {
                    // It may have had an object when its first parts were asked for.
                    let bytes = self.fetch.packed(&away.place)?;
                    let end = bytes.len().min(range.end as usize);
                    return Ok(bytes.slice(end.min(range.start as usize)..end));
                }
                None => break,
            }
        }
        let why = format!("the object of file {} is gone", body.ino);
        Err(Failed { kind: ErrorKind::NotFound, why })
    }

    fn of_object(&self, body: &Body, away: &Away, range: &Range<u64>) -> Asked {
        let Place::Own { key, version, .. } = &away.place else { return Ok(Bytes::new()) };
        let read = |is_right: &dyn Fn(&[u8]) -> bool| {
            self.bucket.read_of(key, version.as_deref(), range.clone(), is_right)
        };
        let Some(sums) = &away.sums else { return read(&|_| true) };
        if let Some(sums) = body.sums.get() {
            return read(&|bytes| are_right(sums, range, bytes));
        }
        // At the same time: who reads waits for one round trip less.
        let (sums, bytes) = std::thread::scope(|scope| {
            let sums = scope.spawn(|| self.fetch.packed(sums));
            let bytes = read(&|_| true);
            let lost = |_| Failed { kind: ErrorKind::Other, why: "a thread is gone".to_owned() };
            (sums.join().map_err(lost), bytes)
        });
        let (sums, bytes) = (sums??, bytes?);
        let sums = body.sums.get_or_init(|| sums);
        match are_right(sums, range, &bytes) {
            true => Ok(bytes),
            false => read(&|bytes| are_right(sums, range, bytes)),
        }
    }
}

fn is_about_one(kind: ErrorKind) -> bool {
    use ErrorKind::{InvalidData, NotFound, StaleNetworkFileHandle};
    matches!(kind, NotFound | StaleNetworkFileHandle | InvalidData)
}
