//! Files of the whole machine: counters since boot.

use super::{TICK_US, parse_number, split_key_values, split_lines, split_words};

/// CPU time of all cores since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cpu {
    /// In programs, low priority and guests included.
    pub user_us: u64,
    /// In the kernel, interrupts included.
    pub system_us: u64,
    /// Idle while a request to storage was under way.
    pub iowait_us: u64,
    /// Idle.
    pub idle_us: u64,
    /// Taken by other machines on the host.
    pub steal_us: u64,
}

/// Parses the first line of `/proc/stat`.
pub fn parse_cpu_times(text: &[u8]) -> Option<Cpu> {
    let line = split_lines(text).find_map(|line| line.strip_prefix(b"cpu "))?;
    let ticks: Vec<u64> = split_words(line).map(parse_number).collect::<Option<_>>()?;
    // Old kernels write fewer columns; user, nice, system and idle are always there.
    let at = |column: usize| ticks.get(column).copied().unwrap_or(0).saturating_mul(TICK_US);
    (ticks.len() >= 4).then(|| Cpu {
        user_us: at(0) + at(1),
        system_us: at(2) + at(5) + at(6),
        idle_us: at(3),
        iowait_us: at(4),
        steal_us: at(7),
    })
}

/// Parses the line `btime` of `/proc/stat`: the start of the machine in seconds since 1970.
pub fn parse_boot_time(text: &[u8]) -> Option<u64> {
    split_lines(text).find_map(|line| parse_number(line.strip_prefix(b"btime ")?))
}

/// Memory of the machine, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// All of it.
    pub total_bytes: u64,
    /// What programs could still get.
    pub available_bytes: u64,
    /// Written, not yet sent to storage.
    pub dirty_bytes: u64,
    /// On its way to storage.
    pub writeback_bytes: u64,
    /// Page cache.
    pub cached_bytes: u64,
}

/// Parses `/proc/meminfo`.
pub fn parse_memory(text: &[u8]) -> Option<Memory> {
    let mut memory = Memory::default();
    let mut found = 0;
    for (key, value) in split_key_values(text) {
        let field = match key {
            b"MemTotal" => &mut memory.total_bytes,
            b"MemAvailable" => &mut memory.available_bytes,
            b"Dirty" => &mut memory.dirty_bytes,
            b"Writeback" => &mut memory.writeback_bytes,
            b"Cached" => &mut memory.cached_bytes,
            _ => continue,
        };
        // Always in kB, which the kernel means as KiB.
        *field = parse_number::<u64>(value.strip_suffix(b" kB")?)?.saturating_mul(1024);
        found += 1;
    }
    (found == 5).then_some(memory)
}

/// A block device since boot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Disk {
    /// Major number, as in `st_dev`.
    pub major: u32,
    /// Minor number.
    pub minor: u32,
    /// Kernel name.
    pub name: String,
    /// Read requests completed.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Write requests completed.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Time with at least one request under way.
    pub busy_us: u64,
}

impl Disk {
    /// Nothing ever went through it (idle loop and RAM devices).
    pub fn is_idle(&self) -> bool {
        self.reads == 0 && self.writes == 0
    }
}

/// Parses `/proc/diskstats`.
pub fn parse_disks(text: &[u8]) -> Option<Vec<Disk>> {
    /// The kernel's sector in this file, whatever the device's is.
    const SECTOR: u64 = 512;
    split_lines(text)
        .map(|line| {
            let words: Vec<&[u8]> = split_words(line).collect();
            let at = |column: usize| parse_number::<u64>(words.get(column)?);
            Some(Disk {
                major: parse_number(words.first()?)?,
                minor: parse_number(words.get(1)?)?,
                name: String::from_utf8_lossy(words.get(2)?).into_owned(),
                reads: at(3)?,
                read_bytes: at(5)?.saturating_mul(SECTOR),
                writes: at(7)?,
                written_bytes: at(9)?.saturating_mul(SECTOR),
                busy_us: at(12)?.saturating_mul(1_000),
            })
        })
        .collect()
}

/// Time that tasks waited for I/O since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoPressure {
    /// Some task waited.
    pub some_us: u64,
    /// All tasks waited.
    pub full_us: u64,
}

/// Parses `/proc/pressure/io`.
pub fn parse_io_pressure(text: &[u8]) -> Option<IoPressure> {
    let total = |kind: &[u8]| {
        let line = split_lines(text).find_map(|line| line.strip_prefix(kind))?;
        parse_number(split_words(line).find_map(|word| word.strip_prefix(b"total="))?)
    };
    Some(IoPressure { some_us: total(b"some ")?, full_us: total(b"full ")? })
}

#[cfg(test)]
mod tests {
    //! If these fail, the report blames storage for what the CPU did, or the other way round.
    use super::*;

    #[test]
    fn cpu_of_all_cores_not_of_the_first() {
        let text = b"cpu  100 5 30 1000 20 1 2 7 50 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n\
            intr 5 6\nctxt 9\nbtime 1700000000\nprocesses 5\n";
        let cpu = parse_cpu_times(text).expect("a cpu line");
        let expected = Cpu {
            user_us: 1_050_000,
            system_us: 330_000,
            iowait_us: 200_000,
            idle_us: 10_000_000,
            steal_us: 70_000,
        };
        assert_eq!(cpu, expected);
        assert_eq!(parse_boot_time(text), Some(1_700_000_000));
        assert_eq!(parse_cpu_times(b"cpu0 1 2 3 4\n"), None);
    }

    #[test]
    fn memory_in_bytes() {
        let text = b"MemTotal:       24689408 kB\nMemFree:  1 kB\nMemAvailable:   20000000 kB\n\
            Buffers:  9 kB\nCached:          300 kB\nSwapCached:            7 kB\n\
            Dirty:               12 kB\nWriteback:             0 kB\nWritebackTmp: 5 kB\n\
            HugePages_Total:       0\n";
        let memory = parse_memory(text).expect("a meminfo");
        assert_eq!(memory.total_bytes, 24_689_408 * 1024);
        assert_eq!((memory.cached_bytes, memory.dirty_bytes), (300 * 1024, 12 * 1024));
        assert_eq!(memory.writeback_bytes, 0);
        assert_eq!(parse_memory(b"MemTotal: 1 kB\n"), None);
    }

    #[test]
    fn disks_old_and_new() {
        let text = b"   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0\n \
            259       1 nvme0n1 10 0 16 5 20 1 800 9 0 1234 14 0 0 0 0 3 2\n";
        let disks = parse_disks(text).expect("diskstats");
        assert!(disks[0].is_idle());
        let nvme = &disks[1];
        assert_eq!((nvme.major, nvme.minor, nvme.name.as_str()), (259, 1, "nvme0n1"));
        assert_eq!((nvme.reads, nvme.read_bytes), (10, 8192));
        assert_eq!((nvme.writes, nvme.written_bytes, nvme.busy_us), (20, 409_600, 1_234_000));
        assert_eq!(parse_disks(b"7 0 loop0 1 2\n"), None);
        assert_eq!(parse_disks(b""), Some(vec![]));
    }

    #[test]
    fn pressure_takes_totals() {
        let text = b"some avg10=0.12 avg60=0.00 avg300=0.00 total=42424242\n\
            full avg10=0.00 avg60=0.00 avg300=0.00 total=4242\n";
        let expected = IoPressure { some_us: 42_424_242, full_us: 4_242 };
        assert_eq!(parse_io_pressure(text), Some(expected));
        assert_eq!(parse_io_pressure(b""), None);
    }
}
