//! The clock of a workload: it stands outside of the loop; single operations are only sampled.

use crate::error::{Error, Result};
use crate::stats::quantile;
use serde::{Deserialize, Serialize};
use std::sync::Barrier;
use std::time::Instant;

/// What one workload did and how long it took; the last line of `forebay-bench work`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Operations inside of the clock.
    pub ops: u64,
    /// Operations with those before the clock started (warm-up); divides the requests.
    pub ops_all: u64,
    /// Bytes moved inside of the clock.
    pub bytes: u64,
    /// Wall time of the loop.
    pub seconds: f64,
    /// Median of the sampled operations, microseconds.
    pub p50_us: f64,
    /// 99th percentile of the sampled operations, microseconds.
    pub p99_us: f64,
    /// Number of sampled operations.
    pub samples: u64,
    /// True when the directory was seen to be on FUSE.
    pub on_fuse: bool,
}

/// Runs an operation many times and keeps count.
#[derive(Debug)]
pub struct Meter {
    done: Measurement,
    sample_every: u64,
    sampled_us: Vec<f64>,
}

impl Meter {
    /// Times each `sample_every`-th operation on its own.
    pub fn new(sample_every: u64) -> Self {
        let sampled_us = Vec::with_capacity(1 << 16);
        Self { done: Measurement::default(), sample_every, sampled_us }
    }

    /// Operations before the clock starts: they warm caches and are counted apart.
    pub fn warm_up(&mut self, ops: u64, mut op: impl FnMut(u64) -> Result<u64>) -> Result<()> {
        for at in 0..ops {
            op(at)?;
        }
        self.done.ops_all += ops;
        Ok(())
    }

    /// One pass of `ops` operations; each gets its number and returns the bytes it moved.
    #[inline(always)]
    pub fn measure_pass(&mut self, ops: u64, op: impl FnMut(u64) -> Result<u64>) -> Result<()> {
        self.measure_passes(ops, 0.0, op)
    }

    /// Whole passes of `ops` operations until at least `seconds` are over.
    #[inline(always)]
    pub fn measure_passes(
        &mut self,
        ops: u64,
        seconds: f64,
        mut op: impl FnMut(u64) -> Result<u64>,
    ) -> Result<()> {
        let start = Instant::now();
        let mut bytes = 0;
        let mut passes = 0;
        let mut next_sample = 0;
        loop {
            for at in 0..ops {
                if at == next_sample {
                    let before = Instant::now();
                    bytes += op(at)?;
                    self.sampled_us.push(before.elapsed().as_secs_f64() * 1e6);
                    next_sample += self.sample_every;
                } else {
                    bytes += op(at)?;
                }
            }
            passes += 1;
            next_sample = 0;
            if start.elapsed().as_secs_f64() >= seconds {
                break;
            }
        }
        self.done.seconds += start.elapsed().as_secs_f64();
        self.done.ops += passes * ops;
        self.done.ops_all += passes * ops;
        self.done.bytes += bytes;
        Ok(())
    }

    /// `ops` operations by each of `writers` threads, which begin together; an operation gets the
    /// number of its writer and its own. The clock stands when the last one is done.
    pub fn measure_writers(
        &mut self,
        writers: u64,
        ops: u64,
        op: impl Fn(u64, u64) -> Result<u64> + Sync,
    ) -> Result<()> {
        let (sample_every, begin) = (self.sample_every, Barrier::new(writers as usize + 1));
        let alone = |writer: u64| {
            let mut own = Meter::new(sample_every);
            begin.wait();
            own.measure_pass(ops, |at| op(writer, at)).map(|()| own)
        };
        let (ended, seconds) = std::thread::scope(|scope| {
            let alone = &alone;
            let all: Vec<_> =
                (0..writers).map(|writer| scope.spawn(move || alone(writer))).collect();
            begin.wait();
            let start = Instant::now();
            let ended: Vec<_> = all.into_iter().map(|one| one.join()).collect();
            (ended, start.elapsed().as_secs_f64())
        });
        for own in ended {
            let own = own.map_err(|_| Error::check_failed("a writer panicked"))??;
            self.done.ops += own.done.ops;
            self.done.ops_all += own.done.ops_all;
            self.done.bytes += own.done.bytes;
            self.sampled_us.extend(own.sampled_us);
        }
        self.done.seconds += seconds;
        Ok(())
    }

    /// One operation that belongs to the loop before it, e.g. the close after the writes.
    pub fn include_operation(&mut self, op: impl FnOnce() -> Result<()>) -> Result<()> {
        let start = Instant::now();
        op()?;
        self.done.seconds += start.elapsed().as_secs_f64();
        Ok(())
    }

    /// Makes the one operation that was timed count as `ops`, e.g. the turns of a shell loop.
    pub fn count_as(&mut self, ops: u64) {
        for sampled_us in &mut self.sampled_us {
            *sampled_us /= ops as f64;
        }
        self.done.ops = ops;
        self.done.ops_all = ops;
    }

    /// The result with the quantiles of the sampled operations.
    pub fn finish(mut self) -> Measurement {
        self.done.samples = self.sampled_us.len() as u64;
        if !self.sampled_us.is_empty() {
            self.done.p50_us = quantile(&self.sampled_us, 0.5);
            self.done.p99_us = quantile(&self.sampled_us, 0.99);
        }
        self.done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_operations_bytes_and_samples() {
        let mut meter = Meter::new(10);
        meter.warm_up(5, |_| Ok(1)).expect("the operation cannot fail");
        meter.measure_pass(100, |_| Ok(3)).expect("the operation cannot fail");
        let done = meter.finish();
        assert_eq!((done.ops, done.ops_all, done.bytes, done.samples), (100, 105, 300, 10));
        assert!(done.seconds > 0.0 && done.p50_us <= done.p99_us);
    }

    #[test]
    fn writers_work_together_and_are_counted_together() {
        let mut meter = Meter::new(10);
        let all = std::sync::Mutex::new(Vec::new());
        let note = |writer, at| {
            all.lock().expect("nobody panics").push((writer, at));
            Ok(2)
        };
        meter.measure_writers(3, 20, note).expect("the operation cannot fail");
        let done = meter.finish();
        assert_eq!((done.ops, done.ops_all, done.bytes, done.samples), (60, 60, 120, 6));
        let mut all = all.into_inner().expect("nobody panicked");
        all.sort_unstable();
        let each = (0..3).flat_map(|writer| (0..20).map(move |at| (writer, at)));
        assert!(done.seconds > 0.0 && all.into_iter().eq(each));
        let fails = |writer, _| if writer == 1 { Err(Error::check_failed("no")) } else { Ok(0) };
        assert!(Meter::new(1).measure_writers(2, 1, fails).is_err());
    }

    #[test]
    fn passes_go_on_until_the_time_is_over_and_never_stop_inside_one() {
        let mut meter = Meter::new(1_000);
        meter.measure_passes(7, 0.01, |_| Ok(0)).expect("the operation cannot fail");
        let done = meter.finish();
        assert!(done.seconds >= 0.01);
        assert_eq!(done.ops % 7, 0);
    }
}
