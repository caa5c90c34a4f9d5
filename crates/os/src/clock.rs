//! Time, handed in from outside, so that a test decides what it is.

use std::fmt::Debug;
use std::time::Instant;

use forebay_model::Micros;

/// Tells how long the run has lasted.
pub trait Clock: Debug + Send + Sync {
    /// Nanoseconds since the start of the run, never going back.
    fn elapsed_nanos(&self) -> u64;

    /// The same in microseconds.
    fn now(&self) -> Micros {
        Micros(self.elapsed_nanos() / 1000)
    }
}

/// The machine's monotonic clock.
#[derive(Debug)]
pub struct SystemClock(Instant);

impl SystemClock {
    /// A run starts now.
    #[allow(clippy::disallowed_methods)] // The one place where this floor asks the machine.
    pub fn start() -> SystemClock {
        SystemClock(Instant::now())
    }
}

impl Clock for SystemClock {
    #[allow(clippy::disallowed_methods)]
    fn elapsed_nanos(&self) -> u64 {
        self.0.elapsed().as_nanos() as u64
    }
}

/// The machine's monotonic clock, from its own start: all processes of a machine see one time.
#[derive(Debug)]
pub struct MachineClock;

impl Clock for MachineClock {
    fn elapsed_nanos(&self) -> u64 {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
    }
}

/// A clock that a test moves by hand.
#[derive(Debug, Default)]
pub struct ManualClock(std::sync::atomic::AtomicU64);

impl ManualClock {
    /// Lets `nanos` nanoseconds pass.
    pub fn advance(&self, nanos: u64) {
        self.0.fetch_add(nanos, std::sync::atomic::Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn elapsed_nanos(&self) -> u64 {
        self.0.load(std::sync::atomic::Ordering::Relaxed)
    }
}
