//! Round by round, until there are enough.

use std::time::Instant;

use forebay_model::Seconds;
use forebay_plan::compare::{self, ComparisonVerdict, RatioEstimate};

use super::Args;
use super::blocked_signals::BlockedSignals;
use super::compared_storages::ComparedStorage;
use super::page_cache::PageCacheMode;
use super::result_log::{self, BenchRun, ResultLog};
use super::single_run::{self, BenchOutcome};
use crate::console;
use crate::exit::{CommandError, NOTHING_RUN};

/// Runs what is missing.
pub(super) fn run_rounds(
    args: &Args,
    places: &[ComparedStorage],
    kept: &mut ResultLog,
    held: &BlockedSignals,
) -> Result<(), CommandError> {
    let warm = |place: &ComparedStorage| place.cache_policy(args.cache) != PageCacheMode::Warm;
    let mut warm: Vec<bool> = places.iter().map(warm).collect();
    let until = RoundLimit::for_options(args, kept);
    let mut rounds = 0;
    while rounds < result_log::ROUNDS_MAX && until.needs_more_rounds(args, places, kept, rounds) {
        for at in compare::round_order(places.len(), rounds, args.seed) {
            let place = &places[at];
            if kept.runs.iter().any(|run| (run.round, &run.on) == (rounds, &place.name)) {
                continue;
            }
            let log = args.output.join(format!("{rounds}-{}.log", place.name));
            if !std::mem::replace(&mut warm[at], true) {
                let (_, trouble) = take_finished_run(
                    single_run::run_once(args, place, rounds, &log, held)?,
                    kept,
                )?;
                trouble.map_or(Ok(()), Err)?;
            }
            place.cache_policy(args.cache).prepare_caches()?;
            let (run, trouble) =
                take_finished_run(single_run::run_once(args, place, rounds, &log, held)?, kept)?;
            if let Some(why) = run.failure() {
                let full = if run.filled_up() { "; no room was left there" } else { "" };
                let (name, log) = (&place.name, log.display());
                console::note(&format!("round {rounds} on {name} {why}{full}: {log}"));
            }
            // First it is kept, whatever became of its directory.
            kept.append_run(run)?;
            trouble.map_or(Ok(()), Err)?;
        }
        rounds += 1;
    }
    if args.r#for.is_some() && rounds == result_log::ROUNDS_MAX {
        console::note(&format!("ended after {rounds} rounds, which is the most"));
    }
    Ok(())
}

/// What ends it.
enum RoundLimit {
    /// So much time, of which some was spent before, and rounds that had begun then.
    Time {
        began: Instant,
        left: Seconds,
        begun: u32,
    },
    Rounds,
}

impl RoundLimit {
    fn for_options(args: &Args, kept: &ResultLog) -> RoundLimit {
        let Some(time) = args.r#for else { return RoundLimit::Rounds };
        let spent = Seconds(kept.runs.iter().map(|run| run.seconds).sum());
        let begun = kept.runs.iter().map(|run| run.round + 1).max().unwrap_or(0);
        RoundLimit::Time { began: Instant::now(), left: time - spent, begun }
    }

    fn needs_more_rounds(
        &self,
        args: &Args,
        places: &[ComparedStorage],
        kept: &ResultLog,
        rounds: u32,
    ) -> bool {
        match self {
            Self::Time { began, left, begun } => {
                rounds < *begun || began.elapsed().as_secs_f64() < left.get()
            }
            Self::Rounds => {
                rounds < args.repeat
                    || rounds < args.up_to && has_undecided_storage(args, places, kept)
            }
        }
    }
}

/// Is there a storage of which not enough can be said yet?
fn has_undecided_storage(args: &Args, places: &[ComparedStorage], kept: &ResultLog) -> bool {
    let times = |place: &ComparedStorage| result_log::times_by_round(&kept.runs, &place.name);
    let base = times(&places[0]);
    places[1..].iter().any(|place| {
        let ratio = compare::ratio_of_times(&times(place), &base, args.seed);
        ratio.is_none_or(|ratio| match args.until {
            Some(width) => !is_known_within(&ratio, width),
            None => ratio.verdict(args.within) == ComparisonVerdict::Undecided,
        })
    })
}

/// Is it known to so much of itself? A range is no interval, however narrow.
fn is_known_within(ratio: &RatioEstimate, width: f64) -> bool {
    !ratio.span.range && ratio.span.high - ratio.span.low < width * ratio.ratio
}

/// A run that somebody ended by a signal ends the bench, and does not count.
fn take_finished_run(
    outcome: BenchOutcome,
    kept: &ResultLog,
) -> Result<(BenchRun, Option<CommandError>), CommandError> {
    match outcome {
        BenchOutcome::Ran(run, trouble) => Ok((*run, trouble)),
        BenchOutcome::Interrupted(signal) => Err(CommandError::new(
            128 + signal,
            format!("interrupted; {} runs are in {}", kept.runs.len(), kept.file.display()),
            "the same command line goes on from there",
        )),
        BenchOutcome::NotStarted(why) => {
            Err(CommandError::new(NOTHING_RUN, why, "name a program that this machine can run"))
        }
    }
}

#[cfg(test)]
mod tests {
    //! If this fails, a comparison ends before it is as sure as it was asked to be.
    use super::*;
    use forebay_plan::compare::UncertaintyInterval;

    #[test]
    fn a_range_is_no_narrow_interval() {
        let ratio = |low, high, range| RatioEstimate {
            ratio: 2.0,
            span: UncertaintyInterval { low, high, range },
            rounds: 6,
        };
        assert!(is_known_within(&ratio(1.96, 2.04, false), 0.05));
        assert!(!is_known_within(&ratio(1.94, 2.06, false), 0.05));
        assert!(!is_known_within(&ratio(2.0, 2.0, true), 0.05));
    }
}
