//! Asking for bytes, and looking whether they are those that were written.

use std::io::ErrorKind;
use std::ops::Range;
use std::time::Duration;

use bytes::Bytes;

use super::super::block_checksums::matches_checksums;
use super::super::file_blocks::FileBlocks;
use super::super::request::get_version_or_any;
use super::super::tree_record::ContentLocation;
use super::{EvictedFile, EvictedFiles};
use forebay_objstore::RequestError;
use forebay_objstore::retry_patiently;

/// Until bytes that have got another place are looked for again.
const SHORTLY: Duration = Duration::from_millis(50);

/// How often wrong bytes come before they are taken for what the bucket has.
const WRONG: u32 = 3;

type RangeResult = Result<Bytes, RequestError>;

impl EvictedFiles {
    pub(super) fn request_range(&self, body: &FileBlocks, range: &Range<u64>) -> RangeResult {
        self.retry_patiently(|| {
            self.with_current_place(body, |away| match away.place {
                ContentLocation::Own { .. } => self.read_from_object(body, away, range),
                // It may have had an object when its first parts were asked for.
                _ => self.read_from_segment(away, range),
            })
        })
    }

    /// Asks again while the bucket is away, for as long as is wanted.
    pub(super) fn retry_patiently<T>(
        &self,
        mut ask: impl FnMut() -> Result<T, RequestError>,
    ) -> Result<T, RequestError> {
        let mut wrong = 0;
        retry_patiently(&self.gone, &self.patience, || {
            let asked = ask();
            match &asked {
                Ok(_) => self.health.note_success(),
                // One object, not the bucket.
                Err(failed) if concerns_one_object(failed.kind) => {
                    wrong += u32::from(failed.kind == ErrorKind::InvalidData);
                }
                Err(failed) => self.health.note_failure(failed),
            }
            match asked {
                // Answers are cut off or changed on their way, but not again and again.
                Err(failed) if wrong >= WRONG => Ok(Err(failed)),
                asked => asked.map(Ok),
            }
        })?
    }

    /// Asks for bytes of a file where they are now.
    pub(super) fn with_current_place<T>(
        &self,
        body: &FileBlocks,
        mut ask: impl FnMut(&EvictedFile) -> Result<T, RequestError>,
    ) -> Result<T, RequestError> {
        let behind = self.behind();
        // Its object may have got another name meanwhile, or its bytes another segment.
        for _ in 0..3 {
            let away = self.known.lock().away.get(&body.ino).cloned();
            let Some(away) = away else { break };
            let failed = match ask(&away) {
                Err(failed) if failed.kind == ErrorKind::NotFound => failed,
                Err(failed) if behind.is_some() && concerns_one_object(failed.kind) => failed,
                asked => return asked,
            };
            match &behind {
                None => std::thread::sleep(SHORTLY),
                Some(behind) => {
                    behind.refresh_now();
                    let now = self.known.lock().away.get(&body.ino).map(|now| now.place.clone());
                    if now.as_ref() == Some(&away.place) {
                        return Err(self.explain_missing_bytes(body.ino, failed));
                    }
                }
            }
        }
        let why = format!("the object of file {} is gone", body.ino);
        Err(RequestError { kind: ErrorKind::NotFound, why })
    }

    /// Bytes are where the log says, and are others, or are not there.
    fn explain_missing_bytes(&self, number: u64, failed: RequestError) -> RequestError {
        match self.retired_path(number) {
            Some(_) => {
                let why = "it has been changed or removed since it was opened".to_owned();
                RequestError { kind: ErrorKind::StaleNetworkFileHandle, why }
            }
            None => failed,
        }
    }

    pub(super) fn read_from_segment(&self, away: &EvictedFile, range: &Range<u64>) -> RangeResult {
        let bytes = self.fetch.read_packed(&away.place)?;
        let end = bytes.len().min(range.end as usize);
        Ok(bytes.slice(end.min(range.start as usize)..end))
    }

    /// The checksums of its object, if it has some.
    pub(super) fn object_checksums(
        &self,
        body: &FileBlocks,
        away: &EvictedFile,
    ) -> Result<Option<Bytes>, RequestError> {
        let Some(sums) = &away.sums else { return Ok(None) };
        if let Some(sums) = body.sums.get() {
            return Ok(Some(sums.clone()));
        }
        let sums = self.fetch.read_packed(sums)?;
        Ok(Some(body.sums.get_or_init(|| sums).clone()))
    }

    fn read_from_object(
        &self,
        body: &FileBlocks,
        away: &EvictedFile,
        range: &Range<u64>,
    ) -> RangeResult {
        let ContentLocation::Own { key, version, .. } = &away.place else {
            return Ok(Bytes::new());
        };
        let read = |is_right: &dyn Fn(&[u8]) -> bool| {
            get_version_or_any(version.as_deref(), away.sums.is_some(), |version| {
                self.bucket.get_version_range(key, version, range.clone(), is_right)
            })
        };
        if away.sums.is_none() {
            return read(&|_| true);
        }
        if let Some(sums) = body.sums.get() {
            return read(&|bytes| matches_checksums(sums, range, bytes));
        }
        // At the same time: who reads waits for one round trip less.
        let (sums, bytes) = std::thread::scope(|scope| {
            let sums = scope.spawn(|| self.object_checksums(body, away));
            let bytes = read(&|_| true);
            let lost =
                |_| RequestError { kind: ErrorKind::Other, why: "a thread is gone".to_owned() };
            (sums.join().map_err(lost), bytes)
        });
        let (sums, bytes) = (sums??.unwrap_or_default(), bytes?);
        match matches_checksums(&sums, range, &bytes) {
            true => Ok(bytes),
            false => read(&|bytes| matches_checksums(&sums, range, bytes)),
        }
    }
}

fn concerns_one_object(kind: ErrorKind) -> bool {
    use ErrorKind::{InvalidData, NotFound, StaleNetworkFileHandle};
    matches!(kind, NotFound | StaleNetworkFileHandle | InvalidData)
}
