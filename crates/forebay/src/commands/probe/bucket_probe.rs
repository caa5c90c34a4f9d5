//! A bucket is probed as one that shows its objects as files would ask of it: a new file is a PUT, a
//! first read a GET, and what is renamed is copied and deleted.

mod bucket_rounds;
mod chains;

use std::sync::Mutex;
use std::time::Instant;

use forebay_model::Reach;
use forebay_objstore::{BucketClient, RequestError};
use rustix::io::Errno;

use super::bounds::{ProbeBudget, ProbeStop};
use super::calls::TimedResult;
use super::memory::AlignedBuffer;
use super::probed_directory::ProbedDirectory;
use super::rounds::ProbeFindings;
use super::{Args, round_reporter};
use crate::exit::CommandError;
use crate::next_steps::bucket_next_step;

/// A bucket, a folder of the probe's own in it, and what it said last when it refused something.
#[derive(Debug)]
pub(super) struct ProbedBucket {
    objects: BucketClient,
    url: String,
    folder: String,
    trouble: Mutex<Option<RequestError>>,
}

/// One thread's way to it.
#[derive(Debug)]
struct ProbeClient<'b> {
    bounds: &'b ProbeBudget,
    bucket: &'b ProbedBucket,
    bytes: AlignedBuffer,
}

impl ProbeClient<'_> {
    /// Counts a request and times it.
    fn timed_call<T>(
        &self,
        what: &'static str,
        bytes: usize,
        call: impl FnOnce(&BucketClient) -> Result<T, RequestError>,
    ) -> TimedResult<T> {
        self.bounds.count_operation(bytes as u64)?;
        let began = Instant::now();
        let result = call(&self.bucket.objects);
        let seconds = began.elapsed().as_secs_f64();
        result
            .map(|value| (value, seconds))
            .map_err(|failed| self.bucket.record_failure(what, failed))
    }

    /// A name that was never used before.
    fn unused_name(&self) -> String {
        format!("{}/{}", self.bucket.folder, self.bounds.unused_name())
    }
}

impl ProbedBucket {
    /// Opens it, and asks it for the names in a folder that nobody has: whether it is there, and
    /// whose key this is, is known then.
    pub(super) fn open(url: &str) -> Result<ProbedBucket, CommandError> {
        let objects = BucketClient::open(url, crate::placement::bucket_settings())
            .map_err(|why| bucket_error(url, "", &why))?;
        let folder = format!(".forebay-probe-{}", std::process::id());
        let bucket =
            ProbedBucket { objects, url: url.to_owned(), folder, trouble: Mutex::new(None) };
        let asked = bucket.objects.list_recursive(&bucket.folder);
        asked.map_err(|why| bucket_error(url, "list ", &why))?;
        Ok(bucket)
    }

    pub(super) fn ground(&self) -> ProbedDirectory {
        let (dir, fs_type) = (self.url.clone().into(), "S3".to_owned());
        ProbedDirectory { dir, fs_type, reach: Reach::World, free: None }
    }

    fn record_failure(&self, what: &'static str, failed: RequestError) -> ProbeStop {
        if let Ok(mut trouble) = self.trouble.lock() {
            trouble.get_or_insert(failed);
        }
        ProbeStop::Failed(what, Errno::IO)
    }

    pub(super) fn measure_all(
        &self,
        args: &Args,
        bounds: &ProbeBudget,
    ) -> Result<ProbeFindings, ProbeStop> {
        bucket_rounds::measure_bucket(bounds, self, args.bytes, &round_reporter(args, bounds))
    }

    /// What the bucket itself said, if it ended the probe.
    pub(super) fn take_bucket_failure(&self, halt: ProbeStop) -> Option<CommandError> {
        let ProbeStop::Failed(what, _) = halt else { return None };
        let trouble = self.trouble.lock().ok()?.take()?;
        Some(bucket_error(&self.url, &format!("{what} "), &trouble))
    }

    /// Removes all that the probe wrote.
    pub(super) fn remove(&self) -> Result<(), CommandError> {
        let left = self.objects.list_recursive(&self.folder);
        let removed =
            left.and_then(|left| left.iter().try_for_each(|left| self.objects.delete(&left.name)));
        removed.map_err(|why| {
            let message = format!("{}/{} is left: {why}", self.url, self.folder);
            CommandError::new(1, message, "remove it by hand")
        })
    }
}

fn bucket_error(url: &str, what: &str, failed: &RequestError) -> CommandError {
    let code = if failed.kind == std::io::ErrorKind::InvalidInput { 2 } else { 1 };
    let next = bucket_next_step(failed);
    CommandError::new(code, format!("{url}: {what}failed: {failed}"), next)
}
