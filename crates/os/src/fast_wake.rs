//! Idle CPUs that wake up fast while requests follow each other. Each request wakes a thread of the
//! daemon, and each reply the program that waits: a CPU that sleeps deeply, or that a virtual
//! machine has given back, takes ten times as long for that as one that does not.
//!
//! Linux lets root bound how long CPUs take to wake up, as long as a descriptor of
//! `/dev/cpu_dma_latency` is open (Documentation/power/pm_qos_interface.rst). All CPUs of the
//! machine then sleep less deeply and take more power, so it is held only while there is much to
//! gain, and whoever dies lets it go.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::thread::{self, Builder, Thread};
use std::time::Duration;

/// What bounds the time, and what kind of machine this is.
const DEVICE: &str = "/dev/cpu_dma_latency";
const IDLE_DRIVER: &str = "/sys/devices/system/cpu/cpuidle/current_driver";

/// So many requests within [`WINDOW_NANOS`] are worth it: thousands of wake-ups each second. Small
/// operations took a fifth to a third less time so (a virtual machine with two CPUs, November 2026).
const MANY: u32 = 20;
const WINDOW_NANOS: u64 = 10_000_000;
/// With fewer than [`MANY`] in such a time, it is given up.
const QUIET: Duration = Duration::from_millis(50);

/// Microseconds that a CPU may take to wake up.
///
/// On real hardware 2 allow the first sleeping state (C1), which costs little power and leaves busy
/// cores their higher clock; it is what `tuned` takes for low latency. In a virtual machine with the
/// `haltpoll` driver that state is a way to the hypervisor and back, although it says 1: there CPUs
/// stay awake.
fn wake_latency_micros(idle_driver: &str) -> i32 {
    if idle_driver.trim() == "haltpoll" { 0 } else { 2 }
}

/// Bounds the time while many requests come.
#[derive(Debug, Default)]
pub struct FastWake {
    flow: RequestRate,
    thread: OnceLock<Thread>,
}

/// How many requests come.
#[derive(Debug, Default)]
struct RequestRate {
    began: AtomicU64,
    count: AtomicU32,
    is_much: AtomicBool,
}

impl RequestRate {
    /// A request comes at `now`, nanoseconds of any clock. True of the one from which on there are
    /// many. Two that come at once may be counted as one: nothing depends on it.
    fn count_request(&self, now: u64) -> bool {
        let is_much = self.is_much.load(Relaxed);
        if !is_much && now.saturating_sub(self.began.load(Relaxed)) > WINDOW_NANOS {
            self.began.store(now, Relaxed);
            self.count.store(1, Relaxed);
            return false;
        }
        let count = self.count.fetch_add(1, Relaxed) + 1;
        count >= MANY && !is_much && !self.is_much.swap(true, Relaxed)
    }

    /// Whether many have come since this was asked last; if not, there are no longer many.
    fn check_still_busy(&self) -> bool {
        let goes_on = self.count.swap(0, Relaxed) >= MANY;
        self.is_much.store(goes_on, Relaxed);
        goes_on
    }
}

impl FastWake {
    /// Begins to watch for many requests, for as long as this process lives.
    ///
    /// # Errors
    /// Why the time can't be bounded here: only root may, and not in most containers.
    pub fn start() -> io::Result<Arc<FastWake>> {
        let driver = std::fs::read_to_string(IDLE_DRIVER).unwrap_or_default();
        FastWake::start_on_device(Path::new(DEVICE), wake_latency_micros(&driver))
    }

    /// Whether this process may bound the time.
    ///
    /// # Errors
    /// Why it may not.
    pub fn check_permission() -> io::Result<()> {
        open_latency_device(Path::new(DEVICE)).map(drop)
    }

    fn start_on_device(device: &Path, microseconds: i32) -> io::Result<Arc<FastWake>> {
        // Opening it without a number bounds nothing.
        drop(open_latency_device(device)?);
        let wake = Arc::new(FastWake::default());
        let (worker, device) = (Arc::clone(&wake), device.to_owned());
        let work = move || worker.hold_latency_while_busy(&device, microseconds);
        let thread = Builder::new().name("forebay-awake".into()).spawn(work)?;
        let _ = wake.thread.set(thread.thread().clone());
        Ok(wake)
    }

    /// A request comes at `now`, nanoseconds of one clock.
    pub fn count_request(&self, now: u64) {
        if self.flow.count_request(now) {
            self.thread.get().iter().for_each(|thread| thread.unpark());
        }
    }

    fn hold_latency_while_busy(&self, device: &Path, microseconds: i32) {
        loop {
            while !self.flow.is_much.load(Relaxed) {
                thread::park();
            }
            let held = open_latency_device(device).and_then(|mut file| {
                file.write_all(&microseconds.to_ne_bytes())?;
                Ok(file)
            });
            let _held = match held {
                Ok(file) => file,
                Err(error) => {
                    tracing::warn!("CPUs may sleep deeply again: {}: {error}", device.display());
                    return;
                }
            };
            thread::sleep(QUIET);
            while self.flow.check_still_busy() {
                thread::sleep(QUIET);
            }
        }
    }
}

fn open_latency_device(device: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).open(device)
}

#[cfg(test)]
mod tests {
    //! If these fail, small operations take twice as long, or a machine never sleeps again.
    use std::io::Read;

    use rustix::fs::Mode;

    use super::*;

    const MILLISECOND: u64 = 1_000_000;

    #[test]
    fn many_requests_in_a_short_time_are_noticed_once_until_they_end() {
        let flow = RequestRate::default();
        let slow = (0..1000).any(|number| flow.count_request((number + 100) * MILLISECOND));
        assert!(!slow, "one each millisecond");
        let begin = 5000 * MILLISECOND;
        let noticed: Vec<u64> =
            (0..100).filter(|n| flow.count_request(begin + n * 50_000)).collect();
        assert_eq!(noticed, [u64::from(MANY) - 1]);
        assert!(flow.check_still_busy(), "100 have come");
        assert!(!flow.count_request(begin + 9000 * MILLISECOND), "it is known");
        assert!(!flow.check_still_busy(), "one has come");
        let again = (0..100).filter(|n| flow.count_request(2 * begin + n * 50_000)).count();
        assert_eq!(again, 1);
    }

    #[test]
    fn the_bound_is_written_while_there_are_many_and_then_let_go() {
        let folder = tempfile::tempdir().expect("a folder");
        let pipe = folder.path().join("device");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, Mode::RWXU).expect("a pipe");
        // Whoever reads a pipe meets its end when nobody holds it any more.
        let reader = || {
            let pipe = pipe.clone();
            thread::spawn(move || {
                let mut bytes = Vec::new();
                File::open(pipe).and_then(|mut file| file.read_to_end(&mut bytes)).expect("read");
                bytes
            })
        };
        let looked_at = reader();
        let wake = FastWake::start_on_device(&pipe, 7).expect("it can be opened");
        assert!(looked_at.join().expect("it ended").is_empty());
        let held = reader();
        for number in 0..u64::from(MANY) {
            wake.count_request(1000 * MILLISECOND + number);
        }
        assert_eq!(held.join().expect("it ended"), 7i32.to_ne_bytes());
    }

    #[test]
    fn a_halt_of_a_virtual_machine_is_no_light_sleep() {
        assert_eq!(
            (wake_latency_micros("haltpoll\n"), wake_latency_micros("intel_idle\n")),
            (0, 2)
        );
    }
}
