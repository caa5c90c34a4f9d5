//! Files below `/proc/PID`.

use super::{TICK_US, parse_number, split_key_values, split_words};

/// `/proc/PID/stat`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    /// The pid.
    pub pid: u32,
    /// The kernel's name of it, at most 15 bytes; may hold blanks and parentheses.
    pub comm: Vec<u8>,
    /// `R`, `S`, `D` (waits for I/O), `Z` (ended, not waited for), ...
    pub state: u8,
    /// Who started it, or who adopted it.
    pub parent: u32,
    /// Process group.
    pub group: u32,
    /// Session.
    pub session: u32,
    /// CPU in the program.
    pub user_us: u64,
    /// CPU in the kernel.
    pub system_us: u64,
    /// CPU in programs of children that were waited for.
    pub children_user_us: u64,
    /// CPU in the kernel of children that were waited for.
    pub children_system_us: u64,
    /// Threads.
    pub threads: u32,
    /// Start since boot, in whole ticks. Pid and start together name a process for ever.
    pub started_us: u64,
}

/// Parses `/proc/PID/stat`.
pub fn parse_stat(text: &[u8]) -> Option<Stat> {
    // The name may hold anything: it ends at the last `)`.
    let open = text.iter().position(|&b| b == b'(')?;
    let close = text.iter().rposition(|&b| b == b')')?;
    let pid = parse_number(&text[..open])?;
    let comm = text.get(open + 1..close)?.to_vec();
    let rest: Vec<&[u8]> = split_words(text[close + 1..].trim_ascii()).collect();
    // `rest[0]` is field 3 of proc(5).
    let at = |field: usize| rest.get(field - 3).copied();
    let ticks = |field| parse_number::<u64>(at(field)?).map(|n| n.saturating_mul(TICK_US));
    // Waited-for children's times are signed in the kernel's format.
    let signed = |field| {
        let ticks = parse_number::<i64>(at(field)?)?;
        Some(u64::try_from(ticks).unwrap_or(0).saturating_mul(TICK_US))
    };
    // Group and session may be -1 or 0 when they belong to another namespace.
    let id = |field| Some(u32::try_from(parse_number::<i64>(at(field)?)?).unwrap_or(0));
    Some(Stat {
        pid,
        comm,
        state: *at(3)?.first()?,
        parent: id(4)?,
        group: id(5)?,
        session: id(6)?,
        user_us: ticks(14)?,
        system_us: ticks(15)?,
        children_user_us: signed(16)?,
        children_system_us: signed(17)?,
        threads: id(20)?,
        started_us: ticks(22)?,
    })
}

/// `/proc/PID/status`, in part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The process that a thread belongs to.
    pub tgid: u32,
    /// Who started it.
    pub parent: u32,
    /// Real, effective, saved, file system user.
    pub uids: [u32; 4],
    /// Real, effective, saved, file system group.
    pub gids: [u32; 4],
    /// Supplementary groups.
    pub groups: Vec<u32>,
    /// Mode bits that new files do not get; `None` on kernels before 4.7.
    pub umask: Option<u32>,
    /// The most memory that it held at a time, in bytes; `None` for one that has ended.
    pub memory_peak_bytes: Option<u64>,
    /// Signals that wait for the thread, one bit each (signal 1 is bit 0).
    pub pending: u64,
    /// Signals that wait for the whole process.
    pub shared_pending: u64,
    /// Signals that are held back.
    pub blocked: u64,
}

impl Status {
    /// Signals that wait and would be delivered now.
    pub fn deliverable_signals(&self) -> u64 {
        (self.pending | self.shared_pending) & !self.blocked
    }
}

/// Parses `/proc/PID/status`.
pub fn parse_status(text: &[u8]) -> Option<Status> {
    let mut status = Status::default();
    let mut found = 0;
    let radix = |word: &[u8], radix| {
        u64::from_str_radix(std::str::from_utf8(word).ok()?.trim(), radix).ok()
    };
    let four = |value: &[u8]| {
        let mut ids = split_words(value).map(parse_number::<u32>);
        Some([ids.next()??, ids.next()??, ids.next()??, ids.next()??])
    };
    for (key, value) in split_key_values(text) {
        // Missing fields keep their default; strange values are an error.
        match key {
            b"Tgid" => (status.tgid, found) = (parse_number(value)?, found + 1),
            b"PPid" => (status.parent, found) = (parse_number(value)?, found + 1),
            b"Uid" => (status.uids, found) = (four(value)?, found + 1),
            b"Gid" => (status.gids, found) = (four(value)?, found + 1),
            b"Groups" => {
                status.groups = split_words(value).map(parse_number).collect::<Option<_>>()?
            }
            b"VmHWM" => {
                let kib = value.strip_suffix(b"kB").and_then(parse_number::<u64>)?;
                status.memory_peak_bytes = Some(kib.saturating_mul(1024));
            }
            b"Umask" => status.umask = Some(u32::try_from(radix(value, 8)?).ok()?),
            b"SigPnd" => status.pending = radix(value, 16)?,
            b"ShdPnd" => status.shared_pending = radix(value, 16)?,
            b"SigBlk" => status.blocked = radix(value, 16)?,
            _ => {}
        }
    }
    (found == 4).then_some(status)
}

/// Parses `/proc/PID/task/TID/schedstat`: for how many microseconds the thread was ready to compute
/// and had no CPU.
pub fn parse_cpu_wait(text: &[u8]) -> Option<u64> {
    // Nanoseconds on a CPU, nanoseconds in a queue for one, and how often.
    let nanos: u64 = split_words(text.trim_ascii()).nth(1).and_then(parse_number)?;
    Some(nanos / 1000)
}

/// `/proc/PID/io`, in bytes and calls since the process started (ended threads included).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Io {
    /// Bytes from read calls, pipes and terminals included.
    pub rchar: u64,
    /// Bytes to write calls, pipes and terminals included.
    pub wchar: u64,
    /// Read calls.
    pub read_calls: u64,
    /// Write calls.
    pub write_calls: u64,
    /// Bytes fetched from storage.
    pub read_bytes: u64,
    /// Bytes sent to storage (or that will be).
    pub write_bytes: u64,
    /// Of these, bytes whose file was cut or removed before they were sent.
    pub cancelled_write_bytes: u64,
}

/// Parses `/proc/PID/io`.
pub fn parse_io(text: &[u8]) -> Option<Io> {
    let mut io = Io::default();
    let mut found = 0;
    for (key, value) in split_key_values(text) {
        let field = match key {
            b"rchar" => &mut io.rchar,
            b"wchar" => &mut io.wchar,
            b"syscr" => &mut io.read_calls,
            b"syscw" => &mut io.write_calls,
            b"read_bytes" => &mut io.read_bytes,
            b"write_bytes" => &mut io.write_bytes,
            b"cancelled_write_bytes" => &mut io.cancelled_write_bytes,
            _ => continue,
        };
        // The last one is signed in old kernels.
        *field = u64::try_from(parse_number::<i64>(value)?).unwrap_or(0);
        found += 1;
    }
    (found >= 4).then_some(io)
}

/// Parses `/proc/PID/cmdline`: words that each end in NUL. A process may have overwritten it.
pub fn parse_command_line(text: &[u8]) -> Vec<Vec<u8>> {
    // An overwritten title is padded with NULs.
    let end = text.iter().rposition(|&b| b != 0).map_or(0, |last| last + 1);
    // But empty words before the last NUL are words, when others follow.
    if end == 0 { Vec::new() } else { text[..end].split(|&b| b == 0).map(<[u8]>::to_vec).collect() }
}

/// Parses `/proc/PID/task/TID/children`.
pub fn parse_children(text: &[u8]) -> Option<Vec<u32>> {
    split_words(text.trim_ascii()).map(parse_number).collect()
}

/// `/proc/PID/fdinfo/N`, in part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FdInfo {
    /// Where the next read or write begins, in bytes.
    pub position_bytes: u64,
    /// Flags of open(2).
    pub flags: u32,
    /// The mount it was opened on; as in `/proc/PID/mountinfo`.
    pub mount: Option<u64>,
}

impl FdInfo {
    /// It may be written through this descriptor.
    pub fn is_writable(&self) -> bool {
        // O_ACCMODE is 3: 1 is O_WRONLY, 2 is O_RDWR; O_PATH (0o10000000) moves no bytes.
        self.flags & 3 != 0 && self.flags & 0o10_000_000 == 0
    }
}

/// Parses `/proc/PID/fdinfo/N`.
pub fn parse_fd_info(text: &[u8]) -> Option<FdInfo> {
    let mut info = FdInfo::default();
    let mut found = 0;
    for (key, value) in split_key_values(text) {
        match key {
            b"pos" => {
                // A position beyond 2^63 is how a few devices count; it is of no use here.
                info.position_bytes = parse_number::<i64>(value).and_then(|n| n.try_into().ok())?;
                found += 1;
            }
            b"flags" => {
                let octal = std::str::from_utf8(value).ok()?;
                info.flags = u32::from_str_radix(octal, 8).ok()?;
                found += 1;
            }
            b"mnt_id" => info.mount = parse_number(value),
            _ => {}
        }
    }
    (found == 2).then_some(info)
}

#[cfg(test)]
mod tests {
    //! If these fail, work is put down to the wrong process, or permissions to the wrong groups.
    use super::*;

    #[test]
    fn stat_with_a_wicked_name() {
        let text = b"4242 (a) b (c) S 17 4242 17 34816 4242 4194304 1013 2004 0 3 250 31 7 2 20 0 \
            5 0 987654 12345 678 18446744073709551615 1 2 3 4 5 0 0 0 65536 0 0 0 17 1 0 0 0 0 0\n";
        let stat = parse_stat(text).expect("a stat line");
        assert_eq!(
            stat,
            Stat {
                pid: 4242,
                comm: b"a) b (c".to_vec(),
                state: b'S',
                parent: 17,
                group: 4242,
                session: 17,
                user_us: 2_500_000,
                system_us: 310_000,
                children_user_us: 70_000,
                children_system_us: 20_000,
                threads: 5,
                started_us: 9_876_540_000,
            }
        );
        assert_eq!(parse_stat(b"4242 (cut"), None);
        assert_eq!(parse_stat(b"4242 (cut) S 1 2 3"), None);
        assert_eq!(parse_stat(b""), None);
        assert_eq!(parse_stat(b") ("), None);
    }

    #[test]
    fn status_with_groups_and_signals() {
        let text = b"Name:\tbwa\nUmask:\t0027\nState:\tS (sleeping)\nTgid:\t41\nNgid:\t0\n\
            Pid:\t42\nPPid:\t7\nTracerPid:\t0\nUid:\t1000\t1000\t1000\t1001\n\
            Gid:\t100\t100\t100\t101\nFDSize:\t64\nGroups:\t4 24 100 \nNStgid:\t41\n\
            SigQ:\t0/95\nSigPnd:\t0000000000000100\nShdPnd:\t0000000000000002\n\
            VmHWM:\t    6976 kB\nSigBlk:\t0000000000000002\nSigIgn:\t0000000000001000\n";
        let status = parse_status(text).expect("a status");
        assert_eq!((status.tgid, status.parent), (41, 7));
        assert_eq!(status.uids, [1000, 1000, 1000, 1001]);
        assert_eq!(status.gids[3], 101);
        assert_eq!(status.groups, [4, 24, 100]);
        assert_eq!(status.umask, Some(0o027));
        assert_eq!(status.memory_peak_bytes, Some(6976 << 10));
        assert_eq!(status.deliverable_signals(), 0x100, "SIGINT waits but is held back");
        assert_eq!(parse_status(b"Tgid:\t41\n"), None);
        assert_eq!(parse_status(b"Tgid:\tx\n"), None);
    }

    #[test]
    fn no_groups_is_an_empty_list() {
        let text = b"Tgid:\t1\nPPid:\t0\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nGroups:\t \n";
        assert!(parse_status(text).expect("a status").groups.is_empty());
    }

    #[test]
    fn io_in_bytes() {
        let text = b"rchar: 1700000\nwchar: 20\nsyscr: 3\nsyscw: 4\nread_bytes: 4096\n\
            write_bytes: 8192\ncancelled_write_bytes: -5\n";
        let io = parse_io(text).expect("an io");
        assert_eq!((io.rchar, io.wchar, io.read_calls), (1_700_000, 20, 3));
        assert_eq!((io.write_bytes, io.cancelled_write_bytes), (8192, 0));
        assert_eq!(parse_io(b""), None);
    }

    #[test]
    fn the_queue_for_a_cpu() {
        assert_eq!(parse_cpu_wait(b"8135207 2000999 41\n"), Some(2000));
        assert_eq!(parse_cpu_wait(b"0 0 0\n"), Some(0));
        assert_eq!(parse_cpu_wait(b""), None);
    }

    #[test]
    fn words_keep_empty_ones_and_any_bytes() {
        assert_eq!(parse_command_line(b"a\0\0b\xff\0"), [b"a".to_vec(), vec![], b"b\xff".to_vec()]);
        assert_eq!(parse_command_line(b"postgres: writer\0\0\0\0"), [b"postgres: writer".to_vec()]);
        assert!(parse_command_line(b"").is_empty());
    }

    #[test]
    fn children_and_descriptors() {
        assert_eq!(parse_children(b"12 345 6 "), Some(vec![12, 345, 6]));
        assert_eq!(parse_children(b""), Some(vec![]));
        let info = parse_fd_info(b"pos:\t4096\nflags:\t0100001\nmnt_id:\t29\nino:\t5\n");
        let info = info.expect("an fdinfo");
        assert_eq!((info.position_bytes, info.mount, info.is_writable()), (4096, Some(29), true));
        assert!(!parse_fd_info(b"pos:\t0\nflags:\t012000000\n").expect("O_PATH").is_writable());
    }
}
