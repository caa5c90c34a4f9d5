//! Rounds over all that is measured, in an order drawn by lot, until everything is known well enough
//! or the bounds are reached.

mod part_measurement;
mod precision;
mod round_parts;

use std::collections::BTreeMap;
use std::time::Duration;

use forebay_model::ByteCount;
use forebay_plan::compare;

use super::bounds::{ProbeBudget, ProbeStop};
use super::calls::ThreadDirectory;
use super::chains::{self, FigureSums};
use super::file_throughput;
use super::measured_figures::{Figure, FigureSeconds, PIECE, RoundSizes, THREADS};
use super::together::ProbeWorker;
pub(super) use precision::{is_known_precisely, note_early_end};
use round_parts::RoundPart;

/// Nothing becomes known much better after so many rounds.
pub(super) const ROUNDS_MAX: u32 = 40;
/// Files that wait until their names are forgotten: at least, and if there is time.
const LAID_UP: (usize, usize) = (8, 40);
/// The part of the time that laying them up may take.
const LAYING_UP: u32 = 10;
/// Of the bytes that are allowed, what the largest file of a round may have: two times five numbers
/// of threads in seven rounds take about all of them.
pub(super) const PART: u64 = 72;

/// All that was found out.
#[derive(Debug)]
pub(super) struct ProbeFindings {
    pub(super) measured: FigureSeconds,
    pub(super) sizes: RoundSizes,
    pub(super) rounds: u32,
    /// What is missing, and why.
    pub(super) left_out: Vec<String>,
    /// What ended the probe before all was known.
    pub(super) ended: Vec<String>,
}

impl ProbeFindings {
    pub(super) fn new(sizes: RoundSizes) -> Self {
        let (left_out, ended) = (Vec::new(), Vec::new());
        ProbeFindings { measured: FigureSeconds::new(), sizes, rounds: 0, left_out, ended }
    }
}

struct ProbeRounds<'b> {
    bounds: &'b ProbeBudget,
    workers: Vec<ProbeWorker<'b>>,
    laid_up: Vec<String>,
    /// When they were.
    since: Duration,
    found: ProbeFindings,
    /// What one time took, for the parts that have been measured.
    took: BTreeMap<RoundPart, f64>,
    over: BTreeMap<RoundPart, &'static str>,
}

/// Measures; `told` hears of each round.
pub(super) fn measure_directory(
    bounds: &ProbeBudget,
    caller: ThreadDirectory<'_>,
    (forgotten_after, bytes_max): (f64, ByteCount),
    told: &dyn Fn(u32),
) -> Result<ProbeFindings, ProbeStop> {
    let most = bytes_max.get() / PART / PIECE as u64;
    let mut workers = Vec::new();
    for _ in 0..THREADS[THREADS.len() - 1] {
        workers.push(ProbeWorker::new(bounds, &caller, PIECE)?);
    }
    let sizes = file_throughput::estimate_sizes(&mut workers[0], most.clamp(1, 64))?;
    let found = ProbeFindings::new(sizes);
    let (took, over) = (BTreeMap::new(), BTreeMap::new());
    let since = Duration::ZERO;
    let mut all = ProbeRounds { bounds, workers, laid_up: Vec::new(), since, found, took, over };
    all.warm_up()?;
    let mut parts = vec![
        RoundPart::Absent,
        RoundPart::Small,
        RoundPart::Syncs,
        RoundPart::Dirs,
        RoundPart::Links,
        RoundPart::Present,
    ];
    parts.extend(THREADS.map(RoundPart::Names));
    // What takes a megabyte a second is not asked for sixteen at once.
    let enough = |threads: &u32| u64::from(*threads) <= 4 * sizes.pieces;
    parts.extend(THREADS.into_iter().filter(enough).map(RoundPart::Data));
    let forgotten = all.since + Duration::from_secs_f64(forgotten_after);
    for round in 0..ROUNDS_MAX {
        told(round);
        let mut waits = false;
        for at in compare::round_order(parts.len(), round, 1) {
            let part = parts[at];
            if part == RoundPart::Present && bounds.elapsed_time() < forgotten {
                waits = true;
            } else if !all.over.contains_key(&part) {
                all.measure_part(part)?;
            }
        }
        all.found.rounds = round + 1;
        let under_way = parts.len() - all.over.len();
        if under_way == 0 {
            break;
        }
        // Nothing is left to do but to wait until names are forgotten.
        while waits
            && under_way == 1
            && bounds.elapsed_time() < forgotten
            && bounds.check_allowance(1, 0).is_ok()
        {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    Ok(all.into_found(&parts))
}

impl ProbeRounds<'_> {
    /// Does everything once that only the first time is slow, and finds out whether a name that was
    /// looked up is asked for again at once.
    fn warm_up(&mut self) -> Result<(), ProbeStop> {
        let ProbeWorker { caller, bytes } = &mut self.workers[0];
        let (mut sums, name) = (FigureSums::new(), caller.bounds.unused_name());
        chains::measure_small_file(caller, bytes, &mut sums)?;
        drop(caller.create(&name)?.0);
        caller.stat(&name)?;
        let mut again: Vec<f64> = Vec::new();
        for _ in 0..3 {
            chains::measure_absent_name(caller, &mut sums)?;
            again.push(caller.stat(&name)?.1);
        }
        caller.unlink(&name)?;
        again.sort_by(f64::total_cmp);
        let asked = sums[&Figure::Absent].0 / 3.0;
        // Below that both are answered here, by a kernel that takes about as long for each.
        self.found.sizes.asks_again = asked > 50e-6 && again[1] > asked / 2.0;
        let most = self.bounds.time() / LAYING_UP;
        let enough =
            |count| count >= LAID_UP.1 || count >= LAID_UP.0 && self.bounds.elapsed_time() >= most;
        while !enough(self.laid_up.len()) {
            self.laid_up.push(chains::prepare_cold_file(caller, bytes)?);
        }
        self.since = self.bounds.elapsed_time();
        Ok(())
    }
}
