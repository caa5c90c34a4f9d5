//! What is asked of the machine: its load, its caches, its name.

use crate::error::{ErrorContext, Result};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// True for root.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Seconds since 1970.
pub fn unix_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Load average of the last minute; 0 where the machine does not tell.
pub fn load_average() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0.0)
}

/// CPU time that all processes and the kernel have used since boot, seconds.
pub fn cpu_busy_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    busy_ticks(&text) / 100.0
}

/// User, nice, system, irq, softirq and steal of the first line.
fn busy_ticks(stat: &str) -> f64 {
    let line = stat.lines().next().unwrap_or_default();
    let fields: Vec<f64> = line.split_whitespace().skip(1).map_while(|f| f.parse().ok()).collect();
    [0, 1, 2, 5, 6, 7].iter().filter_map(|at| fields.get(*at)).sum()
}

/// CPU time of all children that were waited for, with theirs, seconds.
pub fn children_cpu_seconds() -> f64 {
    // SAFETY: rusage is plain numbers, for which zeros are valid, and the call only writes it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// Writes what is dirty on the file system of `dir` to its device.
pub fn sync_file_system(dir: &Path) -> Result<()> {
    let file = std::fs::File::open(dir).with_context("open", dir)?;
    rustix::fs::syncfs(&file).with_context("sync", dir)
}

/// Drops the page cache, dentries and inodes of the whole machine; root only.
pub fn drop_caches() -> Result<()> {
    let path = Path::new("/proc/sys/vm/drop_caches");
    std::fs::write(path, "3").with_context("write", path)
}

/// Kernel, cores, memory: the first lines of the conditions.
pub fn describe_machine() -> Vec<String> {
    let name = rustix::system::uname();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib: u64 =
        memory.split_whitespace().nth(1).and_then(|word| word.parse().ok()).unwrap_or_default();
    let release = name.release().to_string_lossy().into_owned();
    let machine = name.machine().to_string_lossy().into_owned();
    vec![format!("Linux {release} {machine}, {cores} cores, {} GiB memory", kib >> 20)]
}

/// File system type and options of the mount that holds `dir`.
pub fn describe_mount(dir: &Path) -> String {
    let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    mounts
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ').skip(1);
            Some((words.next()?, words.next()?, words.next()?))
        })
        .filter(|(at, ..)| dir.starts_with(at))
        .max_by_key(|(at, ..)| at.len())
        .map_or_else(
            || "unknown file system".to_owned(),
            |(_, kind, how)| format!("{kind} ({how})"),
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_leaves_out_idle_and_waiting() {
        let stat = "cpu  100 20 30 4000 500 6 7 8 9 0\ncpu0 1 1 1 1\n";
        assert_eq!(busy_ticks(stat), 100.0 + 20.0 + 30.0 + 6.0 + 7.0 + 8.0);
        assert!(cpu_busy_seconds() > 0.0);
    }

    #[test]
    fn the_root_directory_has_a_mount() {
        assert_ne!(describe_mount(Path::new("/proc")), "unknown file system");
        assert!(describe_mount(Path::new("/proc")).starts_with("proc"));
    }
}
