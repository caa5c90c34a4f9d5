//! Bytes by threads: files written and made durable, then read from end to end and at random places,
//! past memory.

use std::os::fd::OwnedFd;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

use super::bounds::ProbeStop;
use super::calls::{SMALL, ThreadDirectory};
use super::measured_figures::{Figure, PIECE, RoundSizes};
use super::memory;
use super::together::{ProbeWorker, run_together};

/// Longer than this a first file is not written.
const TASTE: Duration = Duration::from_millis(300);
/// So long random reads may take in one round.
const RANDOM_SECONDS: f64 = 0.1;
const RANDOM_MAX: u64 = 16;

/// Figures of one round, and whether memory would have answered reads.
#[derive(Debug, Default)]
pub(super) struct ThroughputRound {
    pub(super) seconds: Vec<(Figure, f64)>,
    pub(super) from_memory: bool,
}

/// Writes for a moment, to see how much the storage takes.
pub(super) fn estimate_sizes(
    worker: &mut ProbeWorker<'_>,
    pieces_max: u64,
) -> Result<RoundSizes, ProbeStop> {
    let ProbeWorker { caller, bytes } = worker;
    let name = caller.bounds.unused_name();
    let (file, began) = (caller.create(&name)?.0, Instant::now());
    let mut pieces = 0;
    while pieces < pieces_max && (pieces == 0 || began.elapsed() < TASTE) {
        caller.write(&file, bytes.fresh_bytes(PIECE), pieces * PIECE as u64)?;
        pieces += 1;
        caller.fsync(&file)?;
    }
    drop(file);
    let found = caller.lookup_name(&name)?.0;
    let random_synced = memory::open_direct(caller, &found, OFlags::RDWR)?.is_none();
    let mut random = RANDOM_MAX;
    if let Some(file) = memory::open_past_memory(caller, &name, pieces as usize * PIECE, true)? {
        let (_, seconds) = caller.read(&file, bytes.space_for_read(SMALL), 0)?;
        random = ((RANDOM_SECONDS / seconds.max(1e-6)) as u64).clamp(2, RANDOM_MAX);
    }
    caller.unlink(&name)?;
    Ok(RoundSizes { pieces, random, asks_again: false, random_synced })
}

/// Bytes that a round takes at so many threads.
pub(super) fn bytes_of_round(threads: u32, sizes: &RoundSizes) -> u64 {
    let each =
        2 * sizes.pieces_per_thread(threads) * PIECE as u64 + 2 * sizes.random * SMALL as u64;
    u64::from(threads) * each
}

/// One round.
pub(super) fn measure_round(
    workers: &mut [ProbeWorker<'_>],
    sizes: &RoundSizes,
) -> Result<ThroughputRound, ProbeStop> {
    let each = sizes.pieces_per_thread(workers.len() as u32);
    let size = each as usize * PIECE;
    let names: Vec<String> =
        workers.iter().map(|worker| worker.caller.bounds.unused_name()).collect();
    let mut round = ThroughputRound::default();
    let files = open_each(workers, |caller, number| Ok(Some(caller.create(&names[number])?.0)))?;
    let files = files.expect("each was made");
    let unsynced = Mutex::new(0.0_f64);
    let written = run_together(workers, |worker, number| {
        let began = Instant::now();
        for piece in 0..each {
            let bytes = worker.bytes.fresh_bytes(PIECE);
            worker.caller.write(&files[number], bytes, piece * PIECE as u64)?;
        }
        let seconds = began.elapsed().as_secs_f64();
        if let Ok(mut longest) = unsynced.lock() {
            *longest = longest.max(seconds);
        }
        worker.caller.fsync(&files[number]).map(drop)
    })?;
    drop(files);
    round.seconds.push((Figure::Write, written));
    round.seconds.push((Figure::IntoMemory, *unsynced.lock().expect("nobody panics with it")));
    match open_each_past_memory(workers, &names, size, false)? {
        Some(files) => {
            let read = run_together(workers, |worker, number| {
                (0..each).try_for_each(|piece| {
                    let space = worker.bytes.space_for_read(PIECE);
                    worker.caller.read(&files[number], space, piece * PIECE as u64).map(drop)
                })
            })?;
            round.seconds.push((Figure::Read, read));
        }
        None => round.from_memory = true,
    }
    match open_each_past_memory(workers, &names, size, true)? {
        Some(files) => {
            let read = run_together(workers, |worker, number| {
                random_offsets(&mut worker.bytes, sizes.random, each).into_iter().try_for_each(
                    |at| {
                        worker
                            .caller
                            .read(&files[number], worker.bytes.space_for_read(SMALL), at)
                            .map(drop)
                    },
                )
            })?;
            round.seconds.push((Figure::RandomRead, read));
        }
        None => round.from_memory = true,
    }
    let files = open_each(workers, |caller, number| {
        let found = caller.lookup_name(&names[number])?.0;
        match sizes.random_synced {
            true => Ok(Some(caller.open(&found, OFlags::RDWR)?.0)),
            false => memory::open_direct(caller, &found, OFlags::RDWR),
        }
    })?;
    if let Some(files) = files {
        let written = run_together(workers, |worker, number| {
            for at in random_offsets(&mut worker.bytes, sizes.random, each) {
                worker.caller.write(&files[number], worker.bytes.fresh_bytes(SMALL), at)?;
            }
            match sizes.random_synced {
                true => worker.caller.fsync(&files[number]).map(drop),
                false => Ok(()),
            }
        })?;
        round.seconds.push((Figure::RandomWrite, written));
    }
    for (worker, name) in workers.iter().zip(&names) {
        worker.caller.unlink(name)?;
    }
    Ok(round)
}

/// Everybody's file, opened one after the other; `None`: one could not be opened so.
fn open_each(
    workers: &[ProbeWorker<'_>],
    open: impl Fn(&ThreadDirectory<'_>, usize) -> Result<Option<OwnedFd>, ProbeStop>,
) -> Result<Option<Vec<OwnedFd>>, ProbeStop> {
    let all = workers.iter().enumerate().map(|(number, worker)| open(&worker.caller, number));
    all.collect()
}

fn open_each_past_memory(
    workers: &[ProbeWorker<'_>],
    names: &[String],
    bytes: usize,
    random: bool,
) -> Result<Option<Vec<OwnedFd>>, ProbeStop> {
    open_each(workers, |caller, number| {
        memory::open_past_memory(caller, &names[number], bytes, random)
    })
}

/// Places of so many pages in a file, no two of them the same: each in a part of its own, in no order.
fn random_offsets(bytes: &mut memory::AlignedBuffer, count: u64, pieces: u64) -> Vec<u64> {
    let pages = pieces * (PIECE / SMALL) as u64;
    let part = (pages / count).max(1);
    let mut parts: Vec<u64> = (0..count.min(pages)).collect();
    for last in (1..parts.len()).rev() {
        parts.swap(last, (bytes.next_random() % (last as u64 + 1)) as usize);
    }
    parts.into_iter().map(|at| (at * part + bytes.next_random() % part) * SMALL as u64).collect()
}

#[cfg(test)]
mod tests {
    //! Places that come twice, or in order, would be read from memory or read ahead.
    use super::*;

    #[test]
    fn places_are_all_over_the_file_and_never_twice() {
        let mut bytes = memory::AlignedBuffer::new(SMALL, 7);
        for pieces in [1, 3, 14] {
            let found = random_offsets(&mut bytes, 16, pieces);
            let mut sorted = found.clone();
            sorted.sort_unstable();
            sorted.dedup();
            assert_eq!(sorted.len(), 16);
            assert_ne!(sorted, found, "they come in no order");
            let end = pieces * PIECE as u64;
            assert!(found.iter().all(|at| at % SMALL as u64 == 0 && at + SMALL as u64 <= end));
            assert!(sorted[15] > end / 2 && sorted[0] < end / 2);
        }
    }
}
