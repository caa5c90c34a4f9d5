//! An io_uring that carries one command to a device at a time: whoever sends one waits for its end.
//!
//! It belongs to the thread that uses it first, and is made before, so that what it needs is known to
//! be there. What it is not: a queue of reads and writes. Source: io_uring(7), and
//! `include/uapi/linux/io_uring.h` of Linux 6.18.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// `IORING_SETUP_*`: it rests until it is claimed.
const SETUP_DISABLED: u32 = 1 << 6;
/// Each entry has 80 bytes for a device's command.
const SETUP_WIDE_ENTRIES: u32 = 1 << 10;
/// One thread uses it.
const SETUP_SINGLE_ISSUER: u32 = 1 << 12;
/// The kernel works for this thread when the thread waits, and interrupts it never.
const SETUP_DEFERRED_WORK: u32 = 1 << 13;
/// Entries are taken in their order (Linux 6.6).
const SETUP_NO_ARRAY: u32 = 1 << 16;
/// `IORING_REGISTER_ENABLE_RINGS`.
const REGISTER_ENABLE: libc::c_uint = 12;
/// `IORING_ENTER_GETEVENTS`.
const ENTER_WAIT: libc::c_uint = 1;
/// `IORING_OP_URING_CMD`.
const OP_COMMAND: u8 = 46;
/// `IORING_OFF_SQES`; the rings themselves are at 0.
const ENTRIES_AT: libc::off_t = 0x1000_0000;
/// Bytes of a `struct io_uring_cqe`.
const RESULT_SIZE: usize = 16;

/// `struct io_sqring_offsets` and `struct io_cqring_offsets`.
#[repr(C)]
#[derive(Debug, Default, Clone, Copy)]
struct Offsets {
    head: u32,
    tail: u32,
    mask: u32,
    entries: u32,
    /// Of results: how many were lost.
    flags: u32,
    /// Of results: where they begin.
    dropped_or_results: u32,
    more: [u32; 2],
    address: u64,
}

/// `struct io_uring_params`.
#[repr(C)]
#[derive(Debug, Default, Clone, Copy)]
struct Parameters {
    commands: u32,
    results: u32,
    flags: u32,
    thread_cpu: u32,
    thread_idle: u32,
    features: u32,
    other_ring: u32,
    reserved: [u32; 3],
    command_offsets: Offsets,
    result_offsets: Offsets,
}

/// `struct io_uring_sqe` with 128 bytes, as a command to a device fills it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct WideEntry {
    opcode: u8,
    flags: u8,
    priority: u16,
    fd: i32,
    operation: u32,
    padding: u32,
    address: u64,
    length: u32,
    command_flags: u32,
    user_data: u64,
    buffer: u16,
    personality: u16,
    file_index: u32,
    data: [u8; COMMAND_DATA],
}

const _: () = assert!(size_of::<WideEntry>() == 128 && size_of::<Parameters>() == 120);

/// Bytes of a command that are the device's own.
pub const COMMAND_DATA: usize = 80;

/// A command to a device.
#[derive(Debug, Clone, Copy)]
pub struct DeviceCommand {
    /// Which, as the device numbers them.
    pub operation: u32,
    /// What the command points to; may be 0.
    pub address: u64,
    /// How much of it, as the device counts.
    pub length: u32,
    /// What is said besides.
    pub data: [u8; COMMAND_DATA],
}

/// Whether the end of a command is waited for at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandWait {
    /// It is.
    ForEnd,
    /// Something else comes first.
    No,
}

/// Memory that the kernel shares, or that is nobody's but ours.
#[derive(Debug)]
pub struct SharedMemory {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: it is memory of this process, and no thread's own.
unsafe impl Send for SharedMemory {}

impl SharedMemory {
    /// Fresh memory, all 0, at the start of a page; pages are taken as they are used.
    ///
    /// # Errors
    /// ENOMEM.
    pub fn new(length: usize) -> io::Result<SharedMemory> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        SharedMemory::map(length, flags, -1, 0)
    }

    fn map(length: usize, flags: i32, fd: i32, offset: libc::off_t) -> io::Result<SharedMemory> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the kernel chooses an address that nobody has.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), length, access, flags, fd, offset) };
        let start = NonNull::new(start.cast::<u8>()).filter(|_| start != libc::MAP_FAILED);
        let start = start.ok_or_else(io::Error::last_os_error)?;
        Ok(SharedMemory { start, length })
    }

    /// The byte at `offset`, which must be inside.
    pub fn at(&self, offset: usize) -> *mut u8 {
        assert!(offset < self.length, "{offset} of {}", self.length);
        // SAFETY: it is inside.
        unsafe { self.start.as_ptr().add(offset) }
    }

    fn counter(&self, offset: u32) -> &AtomicU32 {
        // SAFETY: the kernel says where it keeps aligned counters, and both sides use them as such.
        unsafe { AtomicU32::from_ptr(self.at(offset as usize).cast()) }
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and nobody has a reference to it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

/// A ring for one command at a time.
#[derive(Debug)]
pub struct CommandRing {
    // Dropped first: what is under way ends with it.
    fd: OwnedFd,
    rings: SharedMemory,
    entries: SharedMemory,
    said: Parameters,
}

impl CommandRing {
    /// A ring that the first thread which claims it has for its own.
    ///
    /// # Errors
    /// ENOSYS, EPERM or EINVAL where io_uring is missing, forbidden (`kernel.io_uring_disabled`,
    /// seccomp) or older than Linux 6.6; EMFILE, ENOMEM.
    pub fn new() -> io::Result<CommandRing> {
        let mut said = Parameters {
            flags: SETUP_DISABLED
                | SETUP_WIDE_ENTRIES
                | SETUP_SINGLE_ISSUER
                | SETUP_DEFERRED_WORK
                | SETUP_NO_ARRAY,
            ..Parameters::default()
        };
        // SAFETY: the kernel reads and writes the struct, which lives across the call.
        let fd = unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, &raw mut said) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `fd` is a fresh, valid descriptor.
        let fd = unsafe { OwnedFd::from_raw_fd(fd as i32) };
        let shared = libc::MAP_SHARED | libc::MAP_POPULATE;
        let all =
            said.result_offsets.dropped_or_results as usize + said.results as usize * RESULT_SIZE;
        let rings = SharedMemory::map(all, shared, fd.as_raw_fd(), 0)?;
        let size = said.commands as usize * size_of::<WideEntry>();
        let entries = SharedMemory::map(size, shared, fd.as_raw_fd(), ENTRIES_AT)?;
        Ok(CommandRing { fd, rings, entries, said })
    }

    /// Whether this process may use such rings: a filter of system calls may let them be made, and
    /// refuse what comes after.
    ///
    /// # Errors
    /// Those of [`CommandRing::new`], and the filter's.
    pub fn probe() -> io::Result<()> {
        let mut ring = CommandRing::new()?;
        ring.claim()?;
        let takes_none = std::fs::File::open("/proc/self/status")?;
        let ask = DeviceCommand { operation: 1, address: 0, length: 0, data: [0; COMMAND_DATA] };
        // SAFETY: nobody reads or writes anything.
        match unsafe { ring.send(takes_none.as_fd(), &ask, CommandWait::ForEnd) } {
            Err(error) if error.raw_os_error() != Some(libc::EOPNOTSUPP) => Err(error),
            _ => Ok(()),
        }
    }

    /// Makes the ring this thread's.
    ///
    /// # Errors
    /// EBADFD when it is somebody's.
    pub fn claim(&self) -> io::Result<()> {
        let (none, fd) = (std::ptr::null::<u8>(), self.fd.as_raw_fd());
        // SAFETY: this registration takes no argument.
        match unsafe { libc::syscall(libc::SYS_io_uring_register, fd, REGISTER_ENABLE, none, 0) } {
            0.. => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Sends a command, whose end is to be waited for before the next one, and waits for its end if
    /// that is said: both are one system call then. Gives what the device says, if it is waited for.
    ///
    /// # Errors
    /// The device's. EBADFD when the ring was not claimed, EEXIST when another thread has it.
    ///
    /// # Safety
    /// What the device reads and writes on this command must be there until it ends, and must not be
    /// used meanwhile.
    pub unsafe fn send(
        &mut self,
        device: BorrowedFd<'_>,
        ask: &DeviceCommand,
        waits: CommandWait,
    ) -> io::Result<Option<i32>> {
        let entry = WideEntry {
            opcode: OP_COMMAND,
            flags: 0,
            priority: 0,
            fd: device.as_raw_fd(),
            operation: ask.operation,
            padding: 0,
            address: ask.address,
            length: ask.length,
            command_flags: 0,
            user_data: 0,
            buffer: 0,
            personality: 0,
            file_index: 0,
            data: ask.data,
        };
        let given = self.rings.counter(self.said.command_offsets.tail);
        // SAFETY: there is one entry, which the kernel has done with: nothing is under way.
        unsafe { self.entries.at(0).cast::<WideEntry>().write(entry) };
        given.store(given.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
        match waits {
            CommandWait::ForEnd => self.wait().map(Some),
            CommandWait::No => self.enter(0).map(|()| None),
        }
    }

    /// Waits for the end of the command that was sent; gives what the device says.
    ///
    /// # Errors
    /// The device's, and those of [`CommandRing::send`].
    pub fn wait(&mut self) -> io::Result<i32> {
        loop {
            match self.take_result() {
                Some(result @ 0..) => return Ok(result),
                Some(error) => return Err(io::Error::from_raw_os_error(-error)),
                None => self.enter(1)?,
            }
        }
    }

    /// Hands over what was not yet, and waits for so many results, or for a signal.
    fn enter(&self, results: libc::c_uint) -> io::Result<()> {
        let Offsets { head, tail, .. } = self.said.command_offsets;
        let (taken, given) = (self.rings.counter(head), self.rings.counter(tail));
        let number = given.load(Ordering::Relaxed);
        let left = number.wrapping_sub(taken.load(Ordering::Acquire));
        let (fd, none) = (self.fd.as_raw_fd(), std::ptr::null::<u8>());
        // SAFETY: what the command needs is there, as the caller of `send` says.
        let entered = unsafe {
            libc::syscall(libc::SYS_io_uring_enter, fd, left, results, ENTER_WAIT, none, 0)
        };
        match io::Error::last_os_error() {
            _ if entered >= 0 => Ok(()),
            error if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            error => {
                // What was not handed over must not go with the next one.
                given.store(taken.load(Ordering::Acquire), Ordering::Release);
                Err(error)
            }
        }
    }

    fn take_result(&self) -> Option<i32> {
        let Offsets { head, tail, mask, .. } = self.said.result_offsets;
        let (taken, given) = (self.rings.counter(head), self.rings.counter(tail));
        let number = taken.load(Ordering::Relaxed);
        if number == given.load(Ordering::Acquire) {
            return None;
        }
        let row = number & self.rings.counter(mask).load(Ordering::Relaxed);
        let first = self.said.result_offsets.dropped_or_results as usize;
        // After `user_data`.
        let place = self.rings.at(first + row as usize * RESULT_SIZE + size_of::<u64>());
        // SAFETY: the kernel has written this row, and does not until it is taken.
        let result = unsafe { place.cast::<i32>().read() };
        taken.store(number.wrapping_add(1), Ordering::Release);
        Some(result)
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_macros)] // A test has a terminal.
mod tests {
    //! If these fail, a mount over io_uring has no answer, or takes one that is another's.
    use std::fs::File;

    use super::*;

    /// Loudly: a machine without io_uring for commands.
    fn skip() {
        use std::io::Write;
        let line = b"\n!!! a test of io_uring DID NOT RUN: the kernel refuses it here\n";
        let _ = std::io::stderr().write_all(line);
    }

    fn refusal(ring: &mut CommandRing, waits: CommandWait) -> Option<i32> {
        let ask = DeviceCommand { operation: 1, address: 0, length: 0, data: [0; COMMAND_DATA] };
        let file = File::open("/proc/self/status").expect("a file that takes no commands");
        // SAFETY: nobody reads or writes anything.
        let done = unsafe { ring.send(file.as_fd(), &ask, waits) };
        let done = done.and_then(|result| result.map_or_else(|| ring.wait(), Ok));
        done.expect_err("it takes no commands").raw_os_error()
    }

    #[test]
    fn a_command_ends_with_what_its_device_says() {
        let Ok(mut ring) = CommandRing::new() else {
            return skip();
        };
        let refused = refusal(&mut ring, CommandWait::ForEnd);
        assert_eq!(refused, Some(libc::EBADFD), "it is nobody's");
        std::thread::spawn(move || {
            ring.claim().expect("it is this thread's");
            for waits in [CommandWait::ForEnd, CommandWait::No, CommandWait::ForEnd] {
                assert_eq!(refusal(&mut ring, waits), Some(libc::EOPNOTSUPP));
            }
            assert!(ring.claim().is_err(), "once");
        })
        .join()
        .expect("the thread");
    }

    #[test]
    fn who_may_make_a_ring_and_use_it_is_told_so() {
        match CommandRing::new() {
            Ok(_) => CommandRing::probe().expect("nothing refuses what comes after"),
            Err(_) => assert!(CommandRing::probe().is_err()),
        }
    }

    #[test]
    fn memory_is_fresh_and_has_an_end() {
        let memory = SharedMemory::new(10_000).expect("memory");
        // SAFETY: it is inside, and nobody else has it.
        assert_eq!(unsafe { memory.at(9_999).read() }, 0);
        assert!(std::panic::catch_unwind(|| memory.at(10_000)).is_err());
    }
}
