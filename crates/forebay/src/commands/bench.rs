//! `forebay bench`: the same command on several storages, round by round, and what may be said of
//! the difference.

mod bias;
pub(super) mod blocked_signals;
mod compared_storages;
mod comparison_data;
mod comparison_notes;
mod comparison_report;
mod comparison_tables;
mod outside_writes;
mod page_cache;
mod phase_row;
mod phases;
mod recorded;
mod replayed_run;
mod result_log;
mod rounds;
mod run_directory;
mod run_prices;
mod scale;
mod single_run;
mod storage_row;
mod throughput;
mod vary;

use std::ffi::OsString;
use std::path::PathBuf;

use forebay_model::Seconds;

use crate::console;
use crate::exit::CommandError;
use blocked_signals::BlockedSignals;
use page_cache::PageCacheMode;
use result_log::{ComparisonHeader, ResultLog};

/// Options of `forebay bench`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    forebay bench --on local,nfs=/mnt/nfs/me -- bowtie2 -x /ref/hg38 -U /data/a.fq -S a.sam\n  \
    forebay bench --on local,ebs-gp3,efs-elastic -- ./pipeline.sh\n  \
    forebay bench --on local,slow --emulate slow=5ms,125MiB/s -- ./pipeline.sh\n  \
    forebay bench --on local,efs=/mnt/efs --price efs=efs.elastic --instance ec2.m6i.large -- ./x\n  \
    forebay bench --on efs-elastic --vary lib=env:LD_LIBRARY_PATH=: -- ./pipeline.sh\n  \
    forebay bench --on nfs=/mnt/nfs/me --for 4d --timeout 100s -- fasterq-dump SRR1234567\n  \
    forebay bench --on local,nfs=/mnt/nfs/me --replay day1.run --speed 20\n\n\
    COMMAND is run in a fresh directory each time, which is removed afterwards: name inputs by \
    absolute paths, or by $FOREBAY_BENCH_FROM, the directory where the bench was started. Its \
    output goes to DIR/ROUND-NAME.log. Each run is saved as it ends; the same command line goes \
    on where it was cut short.\n\n\
    Exit codes: 0; 1 if a run failed (all is told) or results can't be kept; 2 wrong usage; 125 \
    nothing was run; 130 or 143 if SIGINT or SIGTERM ended it.")]
pub(crate) struct Args {
    /// Where: NAME=DIR; `local` for the current directory's file system, `bare` for the same without
    /// Forebay in between; or a profile's name, such as ebs-gp3, which is emulated there; the first
    /// is what the others are compared with
    #[arg(long, value_name = "NAME[=DIR],...", value_delimiter = ',', required = true)]
    on: Vec<String>,
    /// Make one of them as slow as another storage: a profile's name or FILE.toml, SITE.toml#TIER,
    /// or what an operation on names takes and what reads, and writes, get: slow=5ms,125MiB/s
    #[arg(long, value_name = "NAME=PROFILE")]
    emulate: Vec<String>,
    /// The first storage again with one thing changed, to see its effect: NAME=env:VARIABLE=VALUE,
    /// NAME=env:VARIABLE (without it), NAME=cache:cold, NAME=rules:RULES.toml[,SITE.toml]
    #[arg(long, value_name = "NAME=CHANGE")]
    vary: Vec<String>,
    #[command(flatten)]
    scale: scale::ScaleOptions,
    /// Rounds: in each, the command runs once on each storage, in an order drawn by lot
    #[arg(long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u32).range(1..=i64::from(result_log::ROUNDS_MAX)))]
    repeat: u32,
    /// Go on while a verdict is undecided, up to so many rounds
    #[arg(long, value_name = "N", default_value = "0", value_parser = clap::value_parser!(u32).range(0..=i64::from(result_log::ROUNDS_MAX)))]
    up_to: u32,
    /// Go on, with --up-to, until each ratio is known to so many per cent of itself
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent, requires = "up_to")]
    until: Option<f64>,
    /// Instead of --repeat: until so much time has passed, such as 30m or 4d, for rare failures
    #[arg(long, value_name = "TIME", conflicts_with = "up_to", value_parser = parse_positive_time)]
    r#for: Option<Seconds>,
    /// Differences below so many per cent do not matter
    #[arg(long, value_name = "PERCENT", default_value = "2", value_parser = parse_percent)]
    within: f64,
    /// Caches before each run: dropped (needs root), warmed by one run that does not count, or left
    #[arg(long, value_enum, default_value = "as-is")]
    cache: PageCacheMode,
    /// A run that takes longer is ended, and has failed; such as 100s or 2h
    #[arg(long, value_name = "TIME")]
    timeout: Option<Seconds>,
    /// Serve storages by Forebay, all alike, and record what is done to them in DIR/ROUND-NAME.run
    #[arg(long, value_enum, default_value = "yes")]
    record: RecordRuns,
    #[command(flatten)]
    prices: run_prices::Options,
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

/// Whether runs are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum RecordRuns {
    /// What is done to each storage is known: operations, bytes, waits, phases, bytes elsewhere
    Yes,
    /// Storages that are not emulated are used as they are
    No,
}

fn parse_percent(text: &str) -> Result<f64, String> {
    match text.trim_end_matches(['%', ' ']).parse::<f64>() {
        Ok(number) if (0.0..=100.0).contains(&number) => Ok(number / 100.0),
        _ => Err("per cent, from 0 to 100".to_owned()),
    }
}

fn parse_positive_time(text: &str) -> Result<Seconds, String> {
    let time: Seconds = text.parse().map_err(|error| format!("{error}"))?;
    if time > Seconds::ZERO { Ok(time) } else { Err("in no time nothing is run".to_owned()) }
}

pub(crate) fn run(args: &Args) -> Result<i32, CommandError> {
    let args = &replayed_run::resolve_replay_args(args)?;
    let mut places = compared_storages::parse_storages(&args.on, &args.emulate)?;
    compared_storages::add_varied(&args.vary, &mut places)?;
    compared_storages::add_sizes(&args.scale, &mut places)?;
    let words = args.command.iter().map(|word| word.to_string_lossy().into_owned());
    let header = ComparisonHeader {
        schema: result_log::SCHEMA,
        forebay: env!("CARGO_PKG_VERSION").to_owned(),
        command: words.collect(),
        on: places.clone(),
        seed: args.seed,
        cache: args.cache,
        timeout_s: args.timeout.map(Seconds::get),
        record: args.record == RecordRuns::Yes,
        replay: args.replay.clone(),
    };
    let sheet = run_prices::load_price_sheet(&args.prices, &mut places)?;
    places.iter().try_for_each(|place| place.cache_policy(args.cache).ensure_possible())?;
    let mut kept = ResultLog::open_or_create(&args.output, &header)?;
    let held = BlockedSignals::block_signals();
    if !kept.runs.is_empty() {
        let (runs, file) = (kept.runs.len(), kept.file.display());
        console::note(&format!("{runs} runs are in {file} already"));
    }
    bias::note_local_limits(&mut places, &held)?;
    rounds::run_rounds(args, &places, &mut kept, &held)?;
    comparison_report::print_comparison(args, &header, &places, sheet.as_ref(), &kept.runs);
    Ok(i32::from(kept.runs.iter().any(|run| run.failure().is_some())))
}
