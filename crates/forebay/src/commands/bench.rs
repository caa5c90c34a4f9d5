//! `forebay bench`: the same command on several storages, round by round, and what may be said of
//! the difference.

mod cache;
mod fresh;
mod held;
mod keep;
mod once;
mod places;
mod replay;
mod table;
mod told;

use std::ffi::OsString;
use std::path::PathBuf;

use forebay_model::Seconds;
use forebay_plan::compare::{self, Verdict};

use crate::exit::{NOTHING_RUN, Stop};
use crate::say;
use cache::Cache;
use held::Held;
use keep::{Header, Kept};
use once::Outcome;
use places::Place;

/// Options of `forebay bench`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    forebay bench --on local,nfs=/mnt/nfs/me -- bowtie2 -x /ref/hg38 -U /data/a.fq -S a.sam\n  \
    forebay bench --on local,slow --emulate slow=5ms,125MiB/s -- ./pipeline.sh\n  \
    forebay bench --on local,nfs=/mnt/nfs/me --replay day1.run --speed 20\n\n\
    COMMAND is run in a fresh directory each time, which is removed afterwards: name inputs by \
    absolute paths, or by $FOREBAY_BENCH_FROM, the directory where the bench was started. Its \
    output goes to DIR/ROUND-NAME.log. Each run is saved as it ends; the same command line goes \
    on where it was cut short.\n\n\
    Exit codes: 0; 1 if a run failed (all is told) or results can't be kept; 2 wrong usage; 125 \
    nothing was run; 130 or 143 if SIGINT or SIGTERM ended it.")]
pub(crate) struct Args {
    /// Where: NAME=DIR, or `local` for the current directory's file system; the first is what the
    /// others are compared with
    #[arg(long, value_name = "NAME[=DIR],...", value_delimiter = ',', required = true)]
    on: Vec<String>,
    /// Make one of them as slow as another storage: what each operation on names takes longer,
    /// and what all reads and writes get, such as slow=5ms,125MiB/s
    #[arg(long, value_name = "NAME=LATENCY,BANDWIDTH")]
    emulate: Vec<String>,
    /// Rounds: in each, the command runs once on each storage, in an order drawn by lot
    #[arg(long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u32).range(1..=i64::from(keep::ROUNDS_MAX)))]
    repeat: u32,
    /// Go on while a verdict is undecided, up to so many rounds
    #[arg(long, value_name = "N", default_value = "0", value_parser = clap::value_parser!(u32).range(0..=i64::from(keep::ROUNDS_MAX)))]
    up_to: u32,
    /// Differences below so many per cent do not matter
    #[arg(long, value_name = "PERCENT", default_value = "2", value_parser = percent)]
    within: f64,
    /// Caches before each run: dropped (needs root), warmed by one run that does not count, or left
    #[arg(long, value_enum, default_value = "as-is")]
    cache: Cache,
    /// A run that takes longer is ended, and has failed; such as 100s or 2h
    #[arg(long, value_name = "TIME")]
    timeout: Option<Seconds>,
    /// For the order of storages in rounds, and for intervals
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
    /// Where results and outputs are kept
    #[arg(short, long, value_name = "DIR", default_value = "bench")]
    output: PathBuf,
    /// The comparison as data
    #[arg(long, group = "form")]
    json: bool,
    /// Each run as a line of comma-separated values
    #[arg(long, group = "form")]
    csv: bool,
    /// The table for a document
    #[arg(long, group = "form")]
    markdown: bool,
    /// Instead of a command: do again what this recorded run did to storage (see forebay replay)
    #[arg(long, value_name = "RUN", conflicts_with = "command")]
    replay: Option<PathBuf>,
    /// Of a replay: the time between its operations is divided by this
    #[arg(long, value_name = "N", requires = "replay")]
    speed: Option<f64>,
    /// Of a replay: no time between its operations, I/O alone
    #[arg(long, requires = "replay", conflicts_with = "speed")]
    no_think: bool,
    /// The command and its arguments
    #[arg(last = true, required_unless_present = "replay", value_name = "COMMAND")]
    command: Vec<OsString>,
}

fn percent(text: &str) -> Result<f64, String> {
    match text.trim_end_matches(['%', ' ']).parse::<f64>() {
        Ok(number) if (0.0..=100.0).contains(&number) => Ok(number / 100.0),
        _ => Err("per cent, from 0 to 100".to_owned()),
    }
}

pub(crate) fn run(args: &Args) -> Result<i32, Stop> {
    let args = &replay::resolved(args)?;
    let places = places::all(&args.on, &args.emulate)?;
    let words = args.command.iter().map(|word| word.to_string_lossy().into_owned());
    let header = Header {
        schema: keep::SCHEMA,
        forebay: env!("CARGO_PKG_VERSION").to_owned(),
        command: words.collect(),
        on: places.clone(),
        seed: args.seed,
        cache: args.cache,
        timeout_s: args.timeout.map(Seconds::get),
        replay: args.replay.clone(),
    };
    args.cache.check()?;
    let mut kept = Kept::open(&args.output, &header)?;
    let held = Held::signals();
    if !kept.runs.is_empty() {
        let (runs, file) = (kept.runs.len(), kept.file.display());
        say::note(&format!("{runs} runs are in {file} already"));
    }
    let mut warm = vec![args.cache != Cache::Warm; places.len()];
    let mut rounds = 0;
    while rounds < args.repeat || rounds < args.up_to && undecided(args, &places, &kept) {
        for at in compare::order(places.len(), rounds, args.seed) {
            let place = &places[at];
            if kept.runs.iter().any(|run| (run.round, &run.on) == (rounds, &place.name)) {
                continue;
            }
            let log = args.output.join(format!("{rounds}-{}.log", place.name));
            if !std::mem::replace(&mut warm[at], true) {
                interrupted(once::run(args, place, rounds, &log, &held)?, &kept)?;
            }
            args.cache.prepare()?;
            let run = interrupted(once::run(args, place, rounds, &log, &held)?, &kept)?;
            if let Some(why) = run.failure() {
                say::note(&format!("round {rounds} on {} {why}: {}", place.name, log.display()));
            }
            kept.add(run)?;
        }
        rounds += 1;
    }
    told::tell(args, &header, &places, &kept.runs);
    Ok(i32::from(kept.runs.iter().any(|run| run.failure().is_some())))
}

/// Is there a storage of which nothing can be said yet?
fn undecided(args: &Args, places: &[Place], kept: &Kept) -> bool {
    let times = |place: &Place| keep::times(&kept.runs, &place.name);
    let base = times(&places[0]);
    places[1..].iter().any(|place| {
        let ratio = compare::ratio(&times(place), &base, args.seed);
        ratio.is_none_or(|ratio| ratio.verdict(args.within) == Verdict::Undecided)
    })
}

/// A run that somebody ended by a signal ends the bench, and does not count.
fn interrupted(outcome: Outcome, kept: &Kept) -> Result<keep::Run, Stop> {
    match outcome {
        Outcome::Ran(run) => Ok(run),
        Outcome::Interrupted(signal) => Err(Stop::new(
            128 + signal,
            format!("interrupted; {} runs are in {}", kept.runs.len(), kept.file.display()),
            "the same command line goes on from there",
        )),
        Outcome::NotStarted(why) => {
            Err(Stop::new(NOTHING_RUN, why, "name a program that this machine can run"))
        }
    }
}
