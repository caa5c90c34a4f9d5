//! How much a probe may ask of a storage, and what it has asked so far.

use std::sync::atomic::{AtomicI32, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use forebay_model::ByteCount;
use rustix::io::Errno;

use crate::commands::bench::blocked_signals::{BlockedSignals, ENDS};

/// Why a measurement ends before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProbeStop {
    /// Somebody sent this signal.
    Signal(i32),
    /// The time, the bytes or the operations are used up.
    Over(&'static str),
    /// A call failed.
    Failed(&'static str, Errno),
}

/// What is allowed, and what was used.
#[derive(Debug)]
pub(super) struct ProbeBudget {
    began: Instant,
    time: Duration,
    most: (u64, ByteCount),
    operations: AtomicU64,
    bytes: AtomicU64,
    signal: AtomicI32,
    names: AtomicU64,
}

impl ProbeBudget {
    pub(super) fn new(time: Duration, bytes: ByteCount, operations: u64) -> Self {
        Self {
            began: Instant::now(),
            time,
            most: (operations, bytes),
            operations: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            signal: AtomicI32::new(0),
            names: AtomicU64::new(0),
        }
    }

    /// Takes signals that would end this process for as long as it lives; a call that has begun is
    /// waited for.
    pub(super) fn watch_signals(self: &std::sync::Arc<Self>, held: BlockedSignals) {
        let bounds = std::sync::Arc::downgrade(self);
        std::thread::spawn(move || {
            loop {
                let signal = held.next_signal(Duration::from_millis(200));
                let Some(bounds) = bounds.upgrade() else { return };
                if let Some(signal) = signal.filter(|signal| ENDS.contains(signal)) {
                    bounds.signal.store(signal, Relaxed);
                }
            }
        });
    }

    /// Counts an operation that is about to begin, with its bytes, if it may.
    pub(super) fn count_operation(&self, bytes: u64) -> Result<(), ProbeStop> {
        self.check_allowance(1, bytes)?;
        self.operations.fetch_add(1, Relaxed);
        self.bytes.fetch_add(bytes, Relaxed);
        Ok(())
    }

    /// Whether so much more is within bounds.
    pub(super) fn check_allowance(&self, operations: u64, bytes: u64) -> Result<(), ProbeStop> {
        let signal = self.signal.load(Relaxed);
        let (used, moved) = self.used_so_far();
        match () {
            () if signal != 0 => Err(ProbeStop::Signal(signal)),
            () if self.elapsed_time() >= self.time => Err(ProbeStop::Over("--time")),
            () if used + operations > self.most.0 => Err(ProbeStop::Over("--operations")),
            () if moved.get() + bytes > self.most.1.get() => Err(ProbeStop::Over("--bytes")),
            () => Ok(()),
        }
    }

    /// Operations and bytes so far.
    pub(super) fn used_so_far(&self) -> (u64, ByteCount) {
        (self.operations.load(Relaxed), ByteCount(self.bytes.load(Relaxed)))
    }

    /// How long it may take.
    pub(super) fn time(&self) -> Duration {
        self.time
    }

    pub(super) fn elapsed_time(&self) -> Duration {
        self.began.elapsed()
    }

    /// A name that was never used before: what a cache knows of names says nothing of it.
    pub(super) fn unused_name(&self) -> String {
        format!("n{}", self.names.fetch_add(1, Relaxed))
    }
}

#[cfg(test)]
mod tests {
    //! If these fail, a shared file system is asked for more than its users were told.
    use super::*;

    #[test]
    fn nothing_is_done_beyond_what_is_allowed() {
        let bounds = ProbeBudget::new(Duration::from_secs(60), ByteCount(10), 3);
        assert_eq!(bounds.count_operation(8), Ok(()));
        assert_eq!(bounds.count_operation(3), Err(ProbeStop::Over("--bytes")));
        assert_eq!(bounds.count_operation(2), Ok(()));
        assert_eq!(bounds.check_allowance(2, 0), Err(ProbeStop::Over("--operations")));
        assert_eq!(bounds.used_so_far(), (2, ByteCount(10)), "what was refused does not count");
        bounds.signal.store(libc::SIGTERM, Relaxed);
        assert_eq!(bounds.count_operation(0), Err(ProbeStop::Signal(libc::SIGTERM)));
        let late = ProbeBudget::new(Duration::ZERO, ByteCount(10), 3);
        assert_eq!(late.count_operation(0), Err(ProbeStop::Over("--time")));
        assert_ne!(late.unused_name(), late.unused_name());
    }
}
