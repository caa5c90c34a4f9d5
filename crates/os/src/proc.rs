//! What `/proc` says about processes and the machine: pure parsers, and [`Proc`], a thin reader.
//!
//! Parsers take the bytes of one file and return plain numbers with their unit in the name; they
//! read nothing, and answer `None` when the text is not what the kernel writes. What it is not: it
//! keeps no history and takes no differences.

mod machine;
mod network;
mod process;

pub use machine::{
    Cpu, Disk, IoPressure, Memory, parse_boot_time, parse_cpu, parse_disks, parse_io_pressure,
    parse_memory,
};
pub use network::{Network, parse_networks};
pub use process::{
    FdInfo, Io, Stat, Status, parse_children, parse_cpu_wait, parse_fd_info, parse_io, parse_stat,
    parse_status, parse_words,
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
        Self::at("/proc")
    }
}

impl Proc {
    /// Reads below `root` instead of `/proc` (another namespace's, or a test's directory).
    pub fn at(root: impl Into<String>) -> Self {
        Self { root: root.into(), path: String::new(), buffer: Vec::with_capacity(8 << 10) }
    }

    /// `/proc/PID/stat`.
    pub fn stat(&mut self, pid: u32) -> io::Result<Stat> {
        self.read_of(pid, "stat")?;
        parse_stat(&self.buffer).ok_or_else(|| self.strange())
    }

    /// `/proc/PID/status`. `pid` may be a thread's: `tgid` is then its process.
    pub fn status(&mut self, pid: u32) -> io::Result<Status> {
        self.read_of(pid, "status")?;
        parse_status(&self.buffer).ok_or_else(|| self.strange())
    }

    /// `/proc/PID/io`.
    pub fn io(&mut self, pid: u32) -> io::Result<Io> {
        self.read_of(pid, "io")?;
        parse_io(&self.buffer).ok_or_else(|| self.strange())
    }

    /// The words of the command line; none for a kernel thread or a zombie.
    pub fn words(&mut self, pid: u32) -> io::Result<Vec<Vec<u8>>> {
        self.read_of(pid, "cmdline")?;
        Ok(parse_words(&self.buffer))
    }

    /// The name that the kernel shows (`comm`, at most 15 bytes).
    pub fn comm(&mut self, pid: u32) -> io::Result<Vec<u8>> {
        self.read_of(pid, "comm")?;
        Ok(self.buffer.strip_suffix(b"\n").unwrap_or(&self.buffer).to_vec())
    }

    /// Children that one thread of the process started. Empty on kernels without
    /// `CONFIG_PROC_CHILDREN`, where the file is missing.
    pub fn children(&mut self, pid: u32, thread: u32) -> io::Result<Vec<u32>> {
        let path = format!("task/{thread}/children");
        self.read_of(pid, &path)?;
        parse_children(&self.buffer).ok_or_else(|| self.strange())
    }

    /// The program file.
    pub fn exe(&mut self, pid: u32) -> io::Result<Vec<u8>> {
        self.link_of(pid, "exe")
    }

    /// The working directory.
    pub fn cwd(&mut self, pid: u32) -> io::Result<Vec<u8>> {
        self.link_of(pid, "cwd")
    }

    /// Threads of a process.
    pub fn threads(&mut self, pid: u32) -> io::Result<Vec<u32>> {
        self.numbers_in(pid, "task")
    }

    /// How long the threads that it has now were ready to compute while all CPUs were taken, in
    /// microseconds, summed. `None` when the kernel does not account it.
    pub fn cpu_wait_us(&mut self, pid: u32) -> Option<u64> {
        let mut all = None;
        for thread in self.threads(pid).ok()? {
            // A thread may end meanwhile.
            if self.read_of(pid, &format!("task/{thread}/schedstat")).is_ok() {
                *all.get_or_insert(0) += parse_cpu_wait(&self.buffer)?;
            }
        }
        all
    }

    /// Files that a process holds open. Descriptors that are closed meanwhile are left out.
    pub fn open_files(&mut self, pid: u32) -> io::Result<Vec<OpenFile>> {
        let mut files = Vec::new();
        for fd in self.numbers_in(pid, "fd")? {
            let Ok(target) = self.link_of(pid, &format!("fd/{fd}")) else { continue };
            if self.read_of(pid, &format!("fdinfo/{fd}")).is_err() {
                continue;
            }
            let Some(info) = parse_fd_info(&self.buffer) else { continue };
            files.push(OpenFile { fd, target, info });
        }
        Ok(files)
    }

    /// CPU time of all cores since boot.
    pub fn cpu(&mut self) -> io::Result<Cpu> {
        self.read("stat")?;
        parse_cpu(&self.buffer).ok_or_else(|| self.strange())
    }

    /// When the machine started, in seconds since 1970.
    pub fn boot_time_s(&mut self) -> io::Result<u64> {
        self.read("stat")?;
        parse_boot_time(&self.buffer).ok_or_else(|| self.strange())
    }

    /// Memory of the machine.
    pub fn memory(&mut self) -> io::Result<Memory> {
        self.read("meminfo")?;
        parse_memory(&self.buffer).ok_or_else(|| self.strange())
    }

    /// Block devices since boot, partitions included (their traffic is in their disk's too).
    pub fn disks(&mut self) -> io::Result<Vec<Disk>> {
        self.read("diskstats")?;
        parse_disks(&self.buffer).ok_or_else(|| self.strange())
    }

    /// Network interfaces of our namespace, since they came up.
    pub fn networks(&mut self) -> io::Result<Vec<Network>> {
        self.read("net/dev")?;
        parse_networks(&self.buffer).ok_or_else(|| self.strange())
    }

    /// Time that tasks waited for I/O since boot; `None` when the kernel does not account it.
    pub fn io_pressure(&mut self) -> io::Result<Option<IoPressure>> {
        match self.read("pressure/io") {
            // Kernels with `psi=0` have the file but refuse to open or read it.
            Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::Unsupported) => {
                Ok(None)
            }
            Err(e) => Err(e),
            Ok(()) => Ok(parse_io_pressure(&self.buffer)),
        }
    }

    fn name(&mut self, pid: u32, file: &str) {
        use std::fmt::Write;
        self.path.clear();
        write!(self.path, "{}/{pid}/{file}", self.root).expect("a String takes everything");
    }

    fn read_of(&mut self, pid: u32, file: &str) -> io::Result<()> {
        self.name(pid, file);
        self.read_path()
    }

    fn read(&mut self, file: &str) -> io::Result<()> {
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

    fn link_of(&mut self, pid: u32, file: &str) -> io::Result<Vec<u8>> {
        self.name(pid, file);
        let target: PathBuf = std::fs::read_link(&self.path)?;
        Ok(OsString::from(target).into_vec())
    }

    fn numbers_in(&mut self, pid: u32, directory: &str) -> io::Result<Vec<u32>> {
        self.name(pid, directory);
        let mut numbers = Vec::new();
        for entry in std::fs::read_dir(&self.path)? {
            numbers.extend(entry?.file_name().to_str().and_then(|n| n.parse::<u32>().ok()));
        }
        Ok(numbers)
    }

    fn strange(&self) -> io::Error {
        let message = format!("{} is not as the kernel writes it", self.path);
        io::Error::new(io::ErrorKind::InvalidData, message)
    }
}

/// The next words of a line, apart by blanks.
fn words_of(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|b| matches!(b, b' ' | b'\t')).filter(|word| !word.is_empty())
}

fn number<T: std::str::FromStr>(word: &[u8]) -> Option<T> {
    std::str::from_utf8(word).ok()?.trim_ascii().parse().ok()
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&b| b == b'\n').filter(|line| !line.is_empty())
}

/// `Key:   value` lines.
fn fields(text: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    lines(text).filter_map(|line| {
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
        let stat = proc.stat(me).expect("stat");
        assert_eq!(stat.pid, me);
        assert_eq!(proc.status(me).expect("status").tgid, me);
        assert!(!proc.words(me).expect("cmdline").is_empty());
        assert!(proc.comm(me).expect("comm").len() <= 15);
        assert!(proc.io(me).expect("io").rchar > 0);
        assert!(proc.exe(me).expect("exe").starts_with(b"/"));
        assert!(proc.cwd(me).expect("cwd").starts_with(b"/"));
        assert!(proc.threads(me).expect("task").contains(&me));
        assert!(proc.cpu().expect("stat").idle_us > 0);
        assert!(proc.boot_time_s().expect("stat") > 1_000_000_000);
        assert!(proc.memory().expect("meminfo").total_bytes > 1 << 20);
        proc.disks().expect("diskstats");
        proc.io_pressure().expect("pressure");
        let open = proc.open_files(me).expect("fd");
        assert!(open.iter().any(|f| f.fd == 1), "{open:?}");
    }

    #[test]
    fn a_child_is_among_the_children_of_the_thread_that_started_it() {
        let mut child = std::process::Command::new("sleep").arg("10").spawn().expect("sleep");
        let (mut proc, me) = (Proc::default(), std::process::id());
        let threads = proc.threads(me).expect("task");
        let children: Vec<u32> =
            threads.iter().flat_map(|&t| proc.children(me, t).unwrap_or_default()).collect();
        child.kill().expect("kill");
        child.wait().expect("wait");
        assert!(children.contains(&child.id()));
    }

    #[test]
    fn a_process_that_is_gone_is_not_found() {
        let error = Proc::default().stat(u32::MAX).expect_err("no such pid");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
