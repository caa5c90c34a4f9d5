//! Bytes in large files: sequential and random, cold and warm.

use super::{FigureUnit, FileLayout, WorkDirectory, Workload, do_nothing};
use crate::error::{Error, Result};
use crate::measure::Meter;
use crate::shuffle::SeededRng;
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use rustix::io::{pread, pwrite, read, write};

const MIB: usize = 1 << 20;
/// Size of the sequential files: far above the caches of the CPU, small against memory.
const SEQUENTIAL_MIB: u64 = 512;
/// Size of the file with random access.
const RANDOM_MIB: u64 = 256;
const PAGE: usize = 4096;

const BASE: Workload = Workload {
    name: "",
    operation: "",
    unit: FigureUnit::MibPerSecond,
    cold: false,
    starts_runs: false,
    over_uring: false,
    layout: FileLayout::Plain,
    setup: do_nothing,
    run: |_, _| Ok(()),
    verify: do_nothing,
    sample_every: 1,
};

/// The data workloads.
pub(super) static WORKLOADS: &[Workload] = &[
    Workload {
        name: "write-seq",
        setup: |place| touch_memory(place, SEQUENTIAL_MIB),
        operation: "1 MiB write to a new file of 512 MiB, closed, not synced",
        run: |place, meter| write_file(place, meter, MIB, SEQUENTIAL_MIB, false),
        verify: |place| check_file(place, SEQUENTIAL_MIB),
        ..BASE
    },
    Workload {
        name: "write-seq-fsync",
        setup: |place| touch_memory(place, SEQUENTIAL_MIB),
        operation: "the same, with an fsync before the close",
        run: |place, meter| write_file(place, meter, MIB, SEQUENTIAL_MIB, true),
        verify: |place| check_file(place, SEQUENTIAL_MIB),
        ..BASE
    },
    Workload {
        name: "write-seq-4k",
        setup: |place| touch_memory(place, RANDOM_MIB),
        operation: "4 KiB write to a new file of 256 MiB, closed, not synced",
        run: |place, meter| write_file(place, meter, PAGE, RANDOM_MIB, false),
        verify: |place| check_file(place, RANDOM_MIB),
        sample_every: 64,
        ..BASE
    },
    Workload {
        name: "read-seq-cold",
        operation: "1 MiB read of 512 MiB, all caches of the kernel dropped",
        cold: true,
        setup: |place| create_data_file(place, SEQUENTIAL_MIB),
        run: |place, meter| read_file(place, meter, false),
        ..BASE
    },
    Workload {
        name: "read-seq-first",
        operation: "1 MiB read of 512 MiB, in the cache of the backing file, new to the run",
        setup: |place| create_data_file(place, SEQUENTIAL_MIB),
        run: |place, meter| read_file(place, meter, false),
        ..BASE
    },
    Workload {
        name: "read-seq-again",
        operation: "1 MiB read of 512 MiB that this run has read before, file opened anew",
        setup: |place| create_data_file(place, SEQUENTIAL_MIB),
        run: |place, meter| read_file(place, meter, true),
        ..BASE
    },
    Workload {
        name: "read-rand-4k",
        operation: "4 KiB pread at random pages of 256 MiB, cached by one pass before",
        unit: FigureUnit::OpsPerSecond,
        setup: |place| create_data_file(place, RANDOM_MIB),
        run: read_random,
        sample_every: 64,
        ..BASE
    },
    Workload {
        name: "write-rand-4k",
        operation: "4 KiB pwrite over random pages of a file of 256 MiB, not synced",
        unit: FigureUnit::OpsPerSecond,
        setup: |place| create_data_file(place, RANDOM_MIB),
        run: write_random,
        verify: |place| check_size(place, RANDOM_MIB),
        sample_every: 64,
        ..BASE
    },
];

const NAME: &str = "data.bin";

fn open_data_file(place: &WorkDirectory<'_>, flags: OFlags) -> Result<OwnedFd> {
    let mode = Mode::RUSR | Mode::WUSR;
    Ok(rustix::fs::openat(&place.dir, NAME, flags | OFlags::CLOEXEC, mode)?)
}

/// A block whose first bytes in each page tell its MiB; the rest does not compress to nothing.
fn random_block(number: u64) -> Vec<u8> {
    let mut random = SeededRng::new(number, "block");
    let mut bytes: Vec<u8> = (0..MIB / 8).flat_map(|_| random.next_u64().to_le_bytes()).collect();
    for page in bytes.chunks_mut(PAGE) {
        page[..8].copy_from_slice(&number.to_le_bytes());
    }
    bytes
}

fn stamp_pages(block: &mut [u8], number: u64) {
    for page in block.chunks_mut(PAGE) {
        page[..8].copy_from_slice(&number.to_le_bytes());
    }
}

fn read_stamp(bytes: &[u8]) -> Option<u64> {
    bytes.get(..8).and_then(|head| head.try_into().ok()).map(u64::from_le_bytes)
}

fn write_all(file: &OwnedFd, mut bytes: &[u8]) -> Result<u64> {
    let whole = bytes.len() as u64;
    while !bytes.is_empty() {
        let done = write(file, bytes)?;
        bytes = &bytes[done..];
    }
    Ok(whole)
}

fn create_data_file(place: &WorkDirectory<'_>, mib: u64) -> Result<()> {
    let file = open_data_file(place, OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY)?;
    let mut bytes = random_block(0);
    for number in 0..place.scale.scaled_ops(mib) {
        stamp_pages(&mut bytes, number);
        write_all(&file, &bytes)?;
    }
    Ok(())
}

/// Writes and removes a file of the same size: in a virtual machine the first use of a page of
/// memory costs a fault in the host, seven times the price of the write itself.
fn touch_memory(place: &WorkDirectory<'_>, mib: u64) -> Result<()> {
    create_data_file(place, mib)?;
    Ok(rustix::fs::unlinkat(&place.dir, NAME, rustix::fs::AtFlags::empty())?)
}

fn write_file(
    place: &WorkDirectory<'_>,
    meter: &mut Meter,
    step: usize,
    mib: u64,
    sync: bool,
) -> Result<()> {
    let mut bytes = random_block(0);
    let total = place.scale.scaled_ops(mib) * MIB as u64;
    let steps = total / step as u64;
    let mut file = None;
    meter.include_operation(|| {
        file = Some(open_data_file(place, OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY)?);
        Ok(())
    })?;
    let file = file.expect("opened just above");
    meter.measure_pass(steps, |at| {
        let number = at * step as u64 / MIB as u64;
        stamp_pages(&mut bytes[..step], number);
        write_all(&file, &bytes[..step])
    })?;
    meter.include_operation(|| {
        if sync {
            rustix::fs::fsync(&file)?;
        }
        drop(file);
        Ok(())
    })
}

fn check_size(place: &WorkDirectory<'_>, mib: u64) -> Result<()> {
    let file = open_data_file(place, OFlags::RDONLY)?;
    let size = rustix::fs::fstat(&file)?.st_size as u64;
    let expected = place.scale.scaled_ops(mib) * MIB as u64;
    if size == expected {
        return Ok(());
    }
    Err(Error::check_failed(format!("{NAME} has {size} bytes instead of {expected}")))
}

fn check_file(place: &WorkDirectory<'_>, mib: u64) -> Result<()> {
    check_size(place, mib)?;
    let file = open_data_file(place, OFlags::RDONLY)?;
    let mut page = [0; PAGE];
    for number in 0..place.scale.scaled_ops(mib) {
        // The first and the last page of each MiB.
        for within in [0, MIB - PAGE] {
            let got = pread(&file, &mut page, number * MIB as u64 + within as u64)?;
            if got != PAGE || read_stamp(&page) != Some(number) {
                return Err(Error::check_failed(format!(
                    "{NAME}: MiB {number} does not hold its bytes"
                )));
            }
        }
    }
    Ok(())
}

/// Reads the whole file in 1 MiB steps and checks each step's stamp.
fn read_step(file: &OwnedFd, buffer: &mut [u8], number: u64) -> Result<u64> {
    let mut got = 0;
    while got < buffer.len() {
        match read(file, &mut buffer[got..])? {
            0 => return Err(Error::check_failed(format!("{NAME} ends within MiB {number}"))),
            more => got += more,
        }
    }
    if read_stamp(buffer) != Some(number) || read_stamp(&buffer[MIB - PAGE..]) != Some(number) {
        return Err(Error::check_failed(format!("{NAME}: MiB {number} came with other bytes")));
    }
    Ok(got as u64)
}

fn read_file(place: &WorkDirectory<'_>, meter: &mut Meter, again: bool) -> Result<()> {
    let mib = place.scale.scaled_ops(SEQUENTIAL_MIB);
    let mut buffer = vec![0; MIB];
    if again {
        let file = open_data_file(place, OFlags::RDONLY)?;
        meter.warm_up(mib, |at| read_step(&file, &mut buffer, at))?;
    }
    let mut file = None;
    meter.include_operation(|| {
        file = Some(open_data_file(place, OFlags::RDONLY)?);
        Ok(())
    })?;
    let file = file.expect("opened just above");
    meter.measure_pass(mib, |at| read_step(&file, &mut buffer, at))?;
    meter.include_operation(|| {
        drop(file);
        Ok(())
    })
}

/// Page numbers in random order, drawn before the clock starts.
fn random_pages(place: &WorkDirectory<'_>) -> Vec<u64> {
    let mut random = SeededRng::new(11, "pages");
    let bound = place.scale.scaled_ops(RANDOM_MIB) * (MIB / PAGE) as u64;
    (0..20_000).map(|_| random.next_below(bound)).collect()
}

fn read_random(place: &WorkDirectory<'_>, meter: &mut Meter) -> Result<()> {
    let file = open_data_file(place, OFlags::RDONLY)?;
    let mut buffer = vec![0; MIB];
    meter.warm_up(place.scale.scaled_ops(RANDOM_MIB), |at| read_step(&file, &mut buffer, at))?;
    let pages = random_pages(place);
    let mut buffer = [0; PAGE];
    meter.measure_passes(pages.len() as u64, place.scale.scaled_seconds(0.5), |at| {
        let page = pages[at as usize];
        let got = pread(&file, &mut buffer, page * PAGE as u64)?;
        if got != PAGE || read_stamp(&buffer) != Some(page / (MIB / PAGE) as u64) {
            return Err(Error::check_failed(format!("{NAME}: page {page} came with other bytes")));
        }
        Ok(got as u64)
    })
}

fn write_random(place: &WorkDirectory<'_>, meter: &mut Meter) -> Result<()> {
    let file = open_data_file(place, OFlags::RDWR)?;
    let pages = random_pages(place);
    let mut bytes = random_block(0);
    bytes.truncate(PAGE);
    meter.measure_passes(pages.len() as u64, place.scale.scaled_seconds(0.5), |at| {
        let page = pages[at as usize];
        stamp_pages(&mut bytes, page / (MIB / PAGE) as u64);
        match pwrite(&file, &bytes, page * PAGE as u64)? {
            PAGE => Ok(PAGE as u64),
            got => Err(Error::check_failed(format!("{NAME}: wrote {got} of 4096 bytes"))),
        }
    })?;
    meter.include_operation(|| {
        drop(file);
        Ok(())
    })
}
