//! What `/proc` says about processes and the machine: pure parsers, and [`Proc`], a thin reader.
//!
//! Parsers take the bytes of one file and return plain numbers with their unit in the name; they
//! read nothing, and answer `None` when the text is not what the kernel writes. What it is not: it
//! keeps no history and takes no differences.

mod machine_counters;
mod network;
mod process;

pub use machine_counters::{
    Cpu, Disk, IoPressure, Memory, parse_boot_time, parse_cpu_times, parse_disks,
    parse_io_pressure, parse_memory,
};
pub use network::{Network, parse_networks};
pub use process::{
    FdInfo, Io, Stat, Status, parse_children, parse_command_line, parse_cpu_wait, parse_fd_info,
    parse_io, parse_stat, parse_status,
};

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// Microseconds in a clock tick of `/proc`: USER_HZ is 100 on all architectures that we build for.
pub const TICK_US: u64 = 10_000;

/// Reads `/proc` through one buffer that is used again. Not shared: each thread has its own.
///
/// Every method can fail with `NotFound` or `ESRCH` (the process is gone), `PermissionDenied` (it
/// belongs to somebody else) or `InvalidData` (the text is not as expected).
#[derive(Debug)]
pub struct Proc {
    root: String,
    path: String,
    buffer: Vec<u8>,
}

/// A file that a process holds open, by its descriptor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenFile {
    /// The descriptor.
    pub fd: u32,
    /// What `/proc/PID/fd/N` points at: an absolute path, or `pipe:[1]`, `socket:[2]`. A removed
    /// file ends in ` (deleted)`.
    pub target: Vec<u8>,
    /// Position, flags and mount.
    pub info: FdInfo,
}

impl Default for Proc {
    fn default() -> Self {
        Self::with_root("/proc")
    }
}

impl Proc {
    /// Reads below `root` instead of `/proc` (another namespace's, or a test's directory).
    pub fn with_root(root: impl Into<String>) -> Self {
        Self { root: root.into(), path: String::new(), buffer: Vec::with_capacity(8 << 10) }
    }

    /// `/proc/PID/stat`.
    pub fn read_stat(&mut self, pid: u32) -> io::Result<Stat> {
        self.read_process_file(pid, "stat")?;
        parse_stat(&self.buffer).ok_or_else(|| self.malformed_error())
    }

    /// `/proc/PID/status`. `pid` may be a thread's: `tgid` is then its process.
    pub fn read_status(&mut self, pid: u32) -> io::Result<Status> {
        self.read_process_file(pid, "status")?;
        parse_status(&self.buffer).ok_or_else(|| self.malformed_error())
    }

    /// `/proc/PID/io`.
    pub fn read_io(&mut self, pid: u32) -> io::Result<Io> {
        self.read_process_file(pid, "io")?;
        parse_io(&self.buffer).ok_or_else(|| self.malformed_error())
    }

    /// The words of the command line; none for a kernel thread or a zombie.
    pub fn read_command_line(&mut self, pid: u32) -> io::Result<Vec<Vec<u8>>> {
        self.read_process_file(pid, "cmdline")?;
        Ok(parse_command_line(&self.buffer))
    }

    /// The name that the kernel shows (`comm`, at most 15 bytes).
    pub fn read_comm(&mut self, pid: u32) -> io::Result<Vec<u8>> {
        self.read_process_file(pid, "comm")?;
        Ok(self.buffer.strip_suffix(b"\n").unwrap_or(&self.buffer).to_vec())
    }

    /// Children that one thread of the process started. Empty on kernels without
    /// `CONFIG_PROC_CHILDREN`, where the file is missing.
    pub fn read_children(&mut self, pid: u32, thread: u32) -> io::Result<Vec<u32>> {
        let path = format!("task/{thread}/children");
        self.read_process_file(pid, &path)?;
        parse_children(&self.buffer).ok_or_else(|| self.malformed_error())
    }

    /// The program file.
    pub fn read_exe_link(&mut self, pid: u32) -> io::Result<Vec<u8>> {
        self.read_process_link(pid, "exe")
    }

    /// The working directory.
    pub fn read_cwd_link(&mut self, pid: u32) -> io::Result<Vec<u8>> {
        self.read_process_link(pid, "cwd")
    }

    /// Threads of a process.
    pub fn list_threads(&mut self, pid: u32) -> io::Result<Vec<u32>> {
        self.list_numeric_entries(pid, "task")
    }

    /// How long the threads that it has now were ready to compute while all CPUs were taken, in
    /// microseconds, summed. `None` when the kernel does not account it.
    pub fn read_cpu_wait_us(&mut self, pid: u32) -> Option<u64> {
        let mut all = None;
        for thread in self.list_threads(pid).ok()? {
            // A thread may end meanwhile.
            if self.read_process_file(pid, &format!("task/{thread}/schedstat")).is_ok() {
                *all.get_or_insert(0) += parse_cpu_wait(&self.buffer)?;
            }
        }
        all
    }

    /// Files that a process holds open. Descriptors that are closed meanwhile are left out.
    pub fn list_open_files(&mut self, pid: u32) -> io::Result<Vec<OpenFile>> {
        let mut files = Vec::new();
        for fd in self.list_numeric_entries(pid, "fd")? {
            let Ok(target) = self.read_process_link(pid, &format!("fd/{fd}")) else { continue };
            if self.read_process_file(pid, &format!("fdinfo/{fd}")).is_err() {
                continue;
            }
            let Some(info) = parse_fd_info(&self.buffer) else { continue };
            files.push(OpenFile { fd, target, info });
        }
        Ok(files)
    }

    /// CPU time of all cores since boot.
    pub fn read_cpu_times(&mut self) -> io::Result<Cpu> {
        self.read_machine_file("stat")?;
        parse_cpu_times(&self.buffer).ok_or_else(|| self.malformed_error())
    }

    /// When the machine started, in seconds since 1970.
    pub fn read_boot_time_s(&mut self) -> io::Result<u64> {
        self.read_machine_file("stat")?;
        parse_boot_time(&self.buffer).ok_or_else(|| self.malformed_error())
    }

    /// Memory of the machine.
    pub fn read_memory(&mut self) -> io::Result<Memory> {
        self.read_machine_file("meminfo")?;
        parse_memory(&self.buffer).ok_or_else(|| self.malformed_error())
    }

    /// Block devices since boot, partitions included (their traffic is in their disk's too).
    pub fn read_disks(&mut self) -> io::Result<Vec<Disk>> {
        self.read_machine_file("diskstats")?;
        parse_disks(&self.buffer).ok_or_else(|| self.malformed_error())
    }

    /// Network interfaces of our namespace, since they came up.
    pub fn read_networks(&mut self) -> io::Result<Vec<Network>> {
        self.read_machine_file("net/dev")?;
        parse_networks(&self.buffer).ok_or_else(|| self.malformed_error())
    }

    /// Time that tasks waited for I/O since boot; `None` when the kernel does not account it.
    pub fn read_io_pressure(&mut self) -> io::Result<Option<IoPressure>> {
        match self.read_machine_file("pressure/io") {
            // Kernels with `psi=0` have the file but refuse to open or read it.
            Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::Unsupported) => {
                Ok(None)
            }
            Err(e) => Err(e),
            Ok(()) => Ok(parse_io_pressure(&self.buffer)),
        }
    }

    fn set_process_path(&mut self, pid: u32, file: &str) {
        use std::fmt::Write;
        self.path.clear();
        write!(self.path, "{}/{pid}/{file}", self.root).expect("a String takes everything");
    }

    fn read_process_file(&mut self, pid: u32, file: &str) -> io::Result<()> {
        self.set_process_path(pid, file);
        self.read_path()
    }

    fn read_machine_file(&mut self, file: &str) -> io::Result<()> {
        self.path.clear();
        self.path.push_str(&self.root);
        self.path.push('/');
        self.path.push_str(file);
        self.read_path()
    }

    fn read_path(&mut self) -> io::Result<()> {
        self.buffer.clear();
        // Without `read_to_end`, which asks for a size that /proc does not tell and probes.
        let mut file = File::open(&self.path)?;
        let mut filled = 0;
        loop {
            if self.buffer.len() < filled + 4096 {
                self.buffer.resize(filled + (8 << 10), 0);
            }
            match file.read(&mut self.buffer[filled..]) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        self.buffer.truncate(filled);
        Ok(())
    }

    fn read_process_link(&mut self, pid: u32, file: &str) -> io::Result<Vec<u8>> {
        self.set_process_path(pid, file);
        let target: PathBuf = std::fs::read_link(&self.path)?;
        Ok(OsString::from(target).into_vec())
    }

    fn list_numeric_entries(&mut self, pid: u32, directory: &str) -> io::Result<Vec<u32>> {
        self.set_process_path(pid, directory);
        let mut numbers = Vec::new();
        for entry in std::fs::read_dir(&self.path)? {
            numbers.extend(entry?.file_name().to_str().and_then(|n| n.parse::<u32>().ok()));
        }
        Ok(numbers)
    }

    fn malformed_error(&self) -> io::Error {
        let message = format!("{} is not as the kernel writes it", self.path);
        io::Error::new(io::ErrorKind::InvalidData, message)
    }
}

/// The next words of a line, apart by blanks.
fn split_words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|b| matches!(b, b' ' | b'\t')).filter(|word| !word.is_empty())
}

fn parse_number<T: std::str::FromStr>(word: &[u8]) -> Option<T> {
    std::str::from_utf8(word).ok()?.trim_ascii().parse().ok()
}

fn split_lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&b| b == b'\n').filter(|line| !line.is_empty())
}

/// `Key:   value` lines.
fn split_key_values(text: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    split_lines(text).filter_map(|line| {
        let colon = line.iter().position(|&b| b == b':')?;
        Some((&line[..colon], line[colon + 1..].trim_ascii()))
    })
}

#[cfg(test)]
mod tests {
    //! If these fail, the real kernel here writes something that the literal samples do not show.
    use super::*;

    #[test]
    fn this_very_process_can_be_read() {
        let (mut proc, me) = (Proc::default(), std::process::id());
        let stat = proc.read_stat(me).expect("stat");
        assert_eq!(stat.pid, me);
        assert_eq!(proc.read_status(me).expect("status").tgid, me);
        assert!(!proc.read_command_line(me).expect("cmdline").is_empty());
        assert!(proc.read_comm(me).expect("comm").len() <= 15);
        assert!(proc.read_io(me).expect("io").rchar > 0);
        assert!(proc.read_exe_link(me).expect("exe").starts_with(b"/"));
        assert!(proc.read_cwd_link(me).expect("cwd").starts_with(b"/"));
        assert!(proc.list_threads(me).expect("task").contains(&me));
        assert!(proc.read_cpu_times().expect("stat").idle_us > 0);
        assert!(proc.read_boot_time_s().expect("stat") > 1_000_000_000);
        assert!(proc.read_memory().expect("meminfo").total_bytes > 1 << 20);
        proc.read_disks().expect("diskstats");
        proc.read_io_pressure().expect("pressure");
        let open = proc.list_open_files(me).expect("fd");
        assert!(open.iter().any(|f| f.fd == 1), "{open:?}");
    }

    #[test]
    fn a_child_is_among_the_children_of_the_thread_that_started_it() {
        let mut child = std::process::Command::new("sleep").arg("10").spawn().expect("sleep");
        let (mut proc, me) = (Proc::default(), std::process::id());
        let threads = proc.list_threads(me).expect("task");
        let children: Vec<u32> =
            threads.iter().flat_map(|&t| proc.read_children(me, t).unwrap_or_default()).collect();
        child.kill().expect("kill");
        child.wait().expect("wait");
        assert!(children.contains(&child.id()));
    }

    #[test]
    fn a_process_that_is_gone_is_not_found() {
        let error = Proc::default().read_stat(u32::MAX).expect_err("no such pid");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
