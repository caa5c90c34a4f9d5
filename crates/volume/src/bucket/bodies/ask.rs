//! Asking for bytes, and looking whether they are those that were written.

use std::io::ErrorKind;
use std::ops::Range;
use std::time::Duration;

use bytes::Bytes;

use super::super::body::Body;
use super::super::record::Place;
use super::super::request::of_state_or_any;
use super::super::sums::are_right;
use super::{Away, Bodies};
use forebay_objstore::Failed;
use forebay_objstore::patiently;

/// Until bytes that have got another place are looked for again.
const SHORTLY: Duration = Duration::from_millis(50);

/// How often wrong bytes come before they are taken for what the bucket has.
const WRONG: u32 = 3;

type Asked = Result<Bytes, Failed>;

impl Bodies {
    pub(super) fn ask(&self, body: &Body, range: &Range<u64>) -> Asked {
        self.patiently(|| {
            self.where_it_is(body, |away| match away.place {
                Place::Own { .. } => self.of_object(body, away, range),
                // It may have had an object when its first parts were asked for.
                _ => self.of_segment(away, range),
            })
        })
    }

    /// Asks again while the bucket is away, for as long as is wanted.
    pub(super) fn patiently<T>(
        &self,
        mut ask: impl FnMut() -> Result<T, Failed>,
    ) -> Result<T, Failed> {
        let mut wrong = 0;
        patiently(&self.gone, &self.patience, || {
            let asked = ask();
            match &asked {
                Ok(_) => self.health.answered(),
                // One object, not the bucket.
                Err(failed) if is_about_one(failed.kind) => {
                    wrong += u32::from(failed.kind == ErrorKind::InvalidData);
                }
                Err(failed) => self.health.failed(failed),
            }
            match asked {
                // Answers are cut off or changed on their way, but not again and again.
                Err(failed) if wrong >= WRONG => Ok(Err(failed)),
                asked => asked.map(Ok),
            }
        })?
    }

    /// Asks for bytes of a file where they are now.
    pub(super) fn where_it_is<T>(
        &self,
        body: &Body,
        mut ask: impl FnMut(&Away) -> Result<T, Failed>,
    ) -> Result<T, Failed> {
        let behind = self.behind();
        // Its object may have got another name meanwhile, or its bytes another segment.
        for _ in 0..3 {
            let away = self.known.lock().away.get(&body.ino).cloned();
            let Some(away) = away else { break };
            let failed = match ask(&away) {
                Err(failed) if failed.kind == ErrorKind::NotFound => failed,
                Err(failed) if behind.is_some() && is_about_one(failed.kind) => failed,
                asked => return asked,
            };
            match &behind {
                None => std::thread::sleep(SHORTLY),
                Some(behind) => {
                    behind.look();
                    let now = self.known.lock().away.get(&body.ino).map(|now| now.place.clone());
                    if now.as_ref() == Some(&away.place) {
                        return Err(self.lost_behind(body.ino, failed));
                    }
                }
            }
        }
        let why = format!("the object of file {} is gone", body.ino);
        Err(Failed { kind: ErrorKind::NotFound, why })
    }

    /// Bytes are where the log says, and are others, or are not there.
    fn lost_behind(&self, number: u64, failed: Failed) -> Failed {
        match self.retired(number) {
            Some(_) => {
                let why = "it has been changed or removed since it was opened".to_owned();
                Failed { kind: ErrorKind::StaleNetworkFileHandle, why }
            }
            None => failed,
        }
    }

    pub(super) fn of_segment(&self, away: &Away, range: &Range<u64>) -> Asked {
        let bytes = self.fetch.packed(&away.place)?;
        let end = bytes.len().min(range.end as usize);
        Ok(bytes.slice(end.min(range.start as usize)..end))
    }

    /// The checksums of its object, if it has some.
    pub(super) fn sums_of(&self, body: &Body, away: &Away) -> Result<Option<Bytes>, Failed> {
        let Some(sums) = &away.sums else { return Ok(None) };
        if let Some(sums) = body.sums.get() {
            return Ok(Some(sums.clone()));
        }
        let sums = self.fetch.packed(sums)?;
        Ok(Some(body.sums.get_or_init(|| sums).clone()))
    }

    fn of_object(&self, body: &Body, away: &Away, range: &Range<u64>) -> Asked {
        let Place::Own { key, version, .. } = &away.place else { return Ok(Bytes::new()) };
        let read = |is_right: &dyn Fn(&[u8]) -> bool| {
            of_state_or_any(version.as_deref(), away.sums.is_some(), |version| {
                self.bucket.read_of(key, version, range.clone(), is_right)
            })
        };
        if away.sums.is_none() {
            return read(&|_| true);
        }
        if let Some(sums) = body.sums.get() {
            return read(&|bytes| are_right(sums, range, bytes));
        }
        // At the same time: who reads waits for one round trip less.
        let (sums, bytes) = std::thread::scope(|scope| {
            let sums = scope.spawn(|| self.sums_of(body, away));
            let bytes = read(&|_| true);
            let lost = |_| Failed { kind: ErrorKind::Other, why: "a thread is gone".to_owned() };
            (sums.join().map_err(lost), bytes)
        });
        let (sums, bytes) = (sums??.unwrap_or_default(), bytes?);
        match are_right(&sums, range, &bytes) {
            true => Ok(bytes),
            false => read(&|bytes| are_right(&sums, range, bytes)),
        }
    }
}

fn is_about_one(kind: ErrorKind) -> bool {
    use ErrorKind::{InvalidData, NotFound, StaleNetworkFileHandle};
    matches!(kind, NotFound | StaleNetworkFileHandle | InvalidData)
}
