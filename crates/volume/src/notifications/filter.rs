//! What the kernel executes at each system call of the command's tree: a classic BPF program that
//! says which calls wait for us. Calls that never do cost next to nothing: the kernel finds out by
//! itself which these are, and keeps them in a bitmap.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use super::calls::{Call, When, table};

#[cfg(target_arch = "x86_64")]
pub(super) const NATIVE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
pub(super) const NATIVE: u32 = 0xc000_00b7;
/// open, openat, creat and openat2 of programs for 32 bits: i386, ARM.
#[cfg(target_arch = "x86_64")]
const OPENS_OF_32_BITS: [u32; 4] = [5, 295, 8, 437];
#[cfg(target_arch = "aarch64")]
const OPENS_OF_32_BITS: [u32; 4] = [5, 322, 8, 437];
/// Numbers of the x32 kind begin here.
#[cfg(target_arch = "x86_64")]
const X32: u32 = 0x4000_0000;

const ALLOW: u32 = 0x7fff_0000;
const NOTIFY: u32 = 0x7fc0_0000;
const SET_MODE_FILTER: libc::c_uint = 1;
const NEW_LISTENER: libc::c_ulong = 1 << 3;
/// Once we know of a call, a signal that does not kill lets it wait for the answer (Linux 5.19).
const WAIT_KILLABLE: libc::c_ulong = 1 << 5;

/// Offsets in `struct seccomp_data`.
const NUMBER: u32 = 0;
const PROCESSOR: u32 = 4;

const fn low(arg: u8) -> u32 {
    16 + 8 * arg as u32
}

const fn high(arg: u8) -> u32 {
    low(arg) + 4
}

const fn statement(code: u32, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: 0, jf: 0, k }
}

const fn load(offset: u32) -> libc::sock_filter {
    statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset)
}

const fn give(action: u32) -> libc::sock_filter {
    statement(libc::BPF_RET | libc::BPF_K, action)
}

/// Skips `yes` or `no` statements.
const fn jump(kind: u32, k: u32, yes: u8, no: u8) -> libc::sock_filter {
    let code = (libc::BPF_JMP | kind | libc::BPF_K) as u16;
    libc::sock_filter { code, jt: yes, jf: no, k }
}

const fn is(k: u32, yes: u8, no: u8) -> libc::sock_filter {
    jump(libc::BPF_JEQ, k, yes, no)
}

/// Allows, if all of these words are zero; else notifies.
fn unless_zero(words: &[u32]) -> Vec<libc::sock_filter> {
    let mut program = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let to_notify = 2 * (words.len() - at) - 1;
        program.extend([load(*word), is(0, 0, to_notify as u8)]);
    }
    program.extend([give(ALLOW), give(NOTIFY)]);
    program
}

/// Notifies, if the word has one of these values; else allows.
fn if_any(word: u32, values: &[u32]) -> Vec<libc::sock_filter> {
    let mut program = vec![load(word)];
    for (at, value) in values.iter().enumerate() {
        program.push(is(*value, (values.len() - at) as u8, 0));
    }
    program.extend([give(ALLOW), give(NOTIFY)]);
    program
}

/// One of these actions, if the word has one of these bits; else the other one.
fn by_bits(word: u32, bits: u32, set: u32, clear: u32) -> Vec<libc::sock_filter> {
    vec![load(word), jump(libc::BPF_JSET, bits, 0, 1), give(set), give(clear)]
}

fn what_to_do(when: When, every_read: bool) -> Option<Vec<libc::sock_filter>> {
    Some(match when {
        When::Always => vec![give(NOTIFY)],
        When::EveryRead if every_read => vec![give(NOTIFY)],
        When::EveryRead => return None,
        When::NotZero(args) => {
            let words: Vec<u32> = args.iter().flat_map(|arg| [low(*arg), high(*arg)]).collect();
            unless_zero(&words)
        }
        When::Seeks => {
            let mut program = vec![load(low(2)), is(libc::SEEK_CUR as u32, 1, 0), give(NOTIFY)];
            program.extend(unless_zero(&[low(1), high(1)]));
            program
        }
        When::MapsFile => {
            // Of a library the first part is enough; the others are mapped behind it.
            let bits = |bits: i32, yes, no| jump(libc::BPF_JSET, bits as u32, yes, no);
            vec![
                load(low(3)),
                bits(libc::MAP_ANONYMOUS, 2, 0),
                bits(libc::MAP_DENYWRITE, 0, 2),
                bits(libc::MAP_FIXED, 0, 1),
                give(ALLOW),
                give(NOTIFY),
            ]
        }
        When::Controls => {
            let mut commands = vec![libc::F_DUPFD as u32, libc::F_DUPFD_CLOEXEC as u32];
            if every_read {
                commands.extend([5, 6, 7, 36, 37, 38]);
            }
            if_any(low(1), &commands)
        }
        When::Listens => {
            let mut program = vec![load(low(0)), is(SET_MODE_FILTER, 1, 0), give(ALLOW)];
            program.extend(by_bits(low(1), NEW_LISTENER as u32, NOTIFY, ALLOW));
            program
        }
    })
}

/// The program.
fn program(every_read: bool) -> Vec<libc::sock_filter> {
    let foreign = if_any(NUMBER, &OPENS_OF_32_BITS);
    let mut program = vec![load(PROCESSOR), is(NATIVE, foreign.len() as u8, 0)];
    program.extend(foreign);
    program.push(load(NUMBER));
    #[cfg(target_arch = "x86_64")]
    program.extend([jump(libc::BPF_JGE, X32, 0, 1), give(NOTIFY)]);
    for Call { number, when, .. } in table() {
        let Some(then) = what_to_do(when, every_read) else { continue };
        program.push(is(number as u32, 0, then.len() as u8));
        program.extend(then);
    }
    program.push(give(ALLOW));
    program
}

/// Why no listener is to be had.
#[derive(Debug)]
pub(crate) enum InstallError {
    /// A program further up looks on already: the kernel allows one listener.
    Taken,
    Refused(io::Error),
}

impl InstallError {
    /// As the system says it.
    pub(crate) fn into_io(self) -> io::Error {
        match self {
            InstallError::Taken => io::Error::from_raw_os_error(libc::EBUSY),
            InstallError::Refused(error) => error,
        }
    }
}

/// From now on calls of this process, and of all that it starts, wait at the listener. Who may not
/// do that with the right to gain privileges gives that right up.
pub(crate) fn install(every_read: bool) -> Result<OwnedFd, InstallError> {
    install_program(&program(every_read))
}

/// The same for one call alone, to try it.
pub(super) fn install_trial(number: i64) -> Result<OwnedFd, InstallError> {
    install_program(&if_any(NUMBER, &[number as u32]))
}

fn install_program(program: &[libc::sock_filter]) -> Result<OwnedFd, InstallError> {
    let all = libc::sock_fprog {
        len: program.len() as libc::c_ushort,
        filter: program.as_ptr().cast_mut(),
    };
    let try_flags = |flags: libc::c_ulong| -> io::Result<OwnedFd> {
        let (mode, program) = (SET_MODE_FILTER, &raw const all);
        // SAFETY: the program lives until the kernel has copied it.
        let fd = unsafe { libc::syscall(libc::SYS_seccomp, mode, flags, program) };
        match i32::try_from(fd) {
            // SAFETY: a new descriptor, which is nobody else's.
            Ok(fd) if fd >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
            _ => Err(io::Error::last_os_error()),
        }
    };
    let try_all = || match try_flags(NEW_LISTENER | WAIT_KILLABLE) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => try_flags(NEW_LISTENER),
        done => done,
    };
    let made = match try_all() {
        Err(error) if error.raw_os_error() == Some(libc::EACCES) => {
            rustix::thread::set_no_new_privs(true)
                .map_err(|error| InstallError::Refused(error.into()))?;
            try_all()
        }
        done => done,
    };
    made.map_err(|error| match error.raw_os_error() {
        Some(libc::EBUSY) => InstallError::Taken,
        _ => InstallError::Refused(error),
    })
}

#[cfg(test)]
mod tests {
    //! If these fail, calls wait that need not, or happen unseen.
    use super::*;

    /// Executes a program as the kernel does.
    fn run(program: &[libc::sock_filter], number: i64, processor: u32, args: [u64; 6]) -> u32 {
        let mut data = Vec::new();
        data.extend((number as u32).to_le_bytes());
        data.extend(processor.to_le_bytes());
        data.extend([0; 8]);
        args.iter().for_each(|arg| data.extend(arg.to_le_bytes()));
        let (mut at, mut word) = (0, 0u32);
        loop {
            let step = program[at];
            at += 1;
            let code = u32::from(step.code);
            let met = match code & 0xf0 {
                libc::BPF_JEQ => word == step.k,
                libc::BPF_JGE => word >= step.k,
                _ => word & step.k != 0,
            };
            match code & 0x07 {
                libc::BPF_RET => return step.k,
                libc::BPF_LD => {
                    let bytes = &data[step.k as usize..][..4];
                    word = u32::from_le_bytes(bytes.try_into().expect("four"));
                }
                _ => at += usize::from(if met { step.jt } else { step.jf }),
            }
        }
    }

    #[test]
    fn only_calls_that_tell_something_wait() {
        let asks = |every, number, args| run(&program(every), number, NATIVE, args);
        let none = [0; 6];
        for number in [libc::SYS_openat, libc::SYS_close, libc::SYS_renameat2, libc::SYS_exit_group]
        {
            assert_eq!(asks(false, number, none), NOTIFY);
        }
        for number in [libc::SYS_read, libc::SYS_writev, libc::SYS_statx, libc::SYS_readlinkat] {
            assert_eq!(asks(false, number, none), ALLOW);
            assert_eq!(asks(true, number, none), NOTIFY);
        }
        for number in
            [libc::SYS_clone, libc::SYS_futex, libc::SYS_brk, libc::SYS_recvmsg, libc::SYS_sendmsg]
        {
            assert_eq!(asks(true, number, none), ALLOW);
        }
    }

    #[test]
    fn arguments_decide_where_a_call_is_mostly_harmless() {
        let asks = |number, args| run(&program(false), number, NATIVE, args);
        let seek = |offset: i64, whence| asks(libc::SYS_lseek, [3, offset as u64, whence, 0, 0, 0]);
        assert_eq!((seek(0, 1), seek(0, 0), seek(0, 2)), (ALLOW, NOTIFY, NOTIFY));
        assert_eq!((seek(-1, 1), seek(1 << 32, 1)), (NOTIFY, NOTIFY));
        let maps = |flags: i32| asks(libc::SYS_mmap, [0, 0, 1, flags as u64, 3, 0]);
        assert_eq!(maps(libc::MAP_PRIVATE), NOTIFY);
        assert_eq!(maps(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS), ALLOW);
        assert_eq!(maps(libc::MAP_PRIVATE | libc::MAP_FIXED), NOTIFY);
        let library = libc::MAP_PRIVATE | libc::MAP_DENYWRITE;
        assert_eq!((maps(library), maps(library | libc::MAP_FIXED)), (NOTIFY, ALLOW));
        let controls = |command: i32| asks(libc::SYS_fcntl, [3, command as u64, 0, 0, 0, 0]);
        assert_eq!(controls(libc::F_DUPFD_CLOEXEC), NOTIFY);
        assert_eq!((controls(libc::F_GETFL), controls(libc::F_SETLK)), (ALLOW, ALLOW));
        let splices = |from, to| asks(libc::SYS_splice, [3, from, 4, to, 0, 0]);
        assert_eq!((splices(0, 0), splices(1, 0), splices(0, 1 << 40)), (ALLOW, NOTIFY, NOTIFY));
        let filters = |flags| asks(libc::SYS_seccomp, [1, flags, 0, 0, 0, 0]);
        assert_eq!((filters(0), filters(NEW_LISTENER)), (ALLOW, NOTIFY));
    }

    #[test]
    fn opens_of_32_bits_are_told_and_nothing_else_of_theirs() {
        let asks = |number, processor| run(&program(true), number, processor, [0; 6]);
        assert_eq!(asks(5, 0x4000_0003), NOTIFY);
        assert_eq!((asks(3, 0x4000_0003), asks(257, 0x4000_0003)), (ALLOW, ALLOW));
        #[cfg(target_arch = "x86_64")]
        assert_eq!(asks(i64::from(X32) + 2, NATIVE), NOTIFY);
    }
}
