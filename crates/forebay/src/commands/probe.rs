//! `forebay probe`: what a storage can do, measured gently, as a tier file that Forebay reads.

mod bounds;
mod bucket_probe;
mod calls;
mod chains;
mod file_throughput;
mod json;
mod measured_figures;
mod memory;
mod probe_report;
mod probed_directory;
mod refused;
mod rounds;
mod tier_file;
mod together;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use forebay_model::bucket_url::is_bucket_url;
use forebay_model::{ByteCount, Seconds};
use forebay_plan::calibrate::calibrate_profile;
use rustix::fs::{CWD, Mode, OFlags, openat};

use super::bench::blocked_signals::BlockedSignals;
use crate::exit::CommandError;
use crate::output::{Force, OutputKind, OutputTarget};
use crate::{console, foreign};
use bounds::{ProbeBudget, ProbeStop};
use bucket_probe::ProbedBucket;
use calls::ThreadDirectory;
use probe_report::ProbeReport;
use probed_directory::{HiddenDirectory, ProbedDirectory};
use refused::{explain_halt, refuse_excess};

/// Options of `forebay probe`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    forebay probe /data/scratch -o scratch.toml\n  \
    forebay probe --time 20s --bytes 256MiB --json /mnt/nfs/me\n  \
    forebay probe s3://bucket/prefix -o bucket.toml\n\n\
    It works in a hidden directory in DIR, or a folder of the bucket, which is removed at the end, \
    also by Ctrl-C. A bucket is asked for what a mount of it would ask; settings are \
    those of AWS's tools: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, \
    AWS_ENDPOINT_URL. Requests cost money. What it prints is a tier file: a [profile] for a site \
    file, with the interval of each number behind it.\n\n\
    Exit codes: 0; 1 if DIR can't be probed, or FILE not written; 2 wrong usage; 130 or 143 if \
    SIGINT or SIGTERM ended it.")]
pub(crate) struct Args {
    /// A directory on the storage, or s3://BUCKET/PREFIX
    #[arg(value_name = "DIR|s3://...|az://...")]
    dir: PathBuf,
    /// At most so long, about
    #[arg(long, value_name = "TIME", default_value = "60s")]
    time: Seconds,
    /// At most so much is read and written
    #[arg(long, value_name = "BYTES", default_value = "1GiB")]
    bytes: ByteCount,
    /// At most so many operations
    #[arg(long, value_name = "N", default_value = "20000", value_parser = clap::value_parser!(u64).range(1..))]
    operations: u64,
    /// Take more than 4 GiB, or more than the usual on storage that others use, too
    #[arg(long)]
    yes: bool,
    /// Where the tier file goes instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// All that was measured, as data on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    force: Force,
}

pub(crate) fn run(args: &Args) -> Result<i32, CommandError> {
    foreign::refuse_foreign_url(&args.dir, 1)?;
    let bucket = args.dir.to_str().filter(|dir| is_bucket_url(dir));
    let bucket = bucket.map(ProbedBucket::open).transpose()?;
    let ground = bucket
        .as_ref()
        .map_or_else(|| ProbedDirectory::inspect_directory(&args.dir), |b| Ok(b.ground()))?;
    refuse_excess(args, &ground)?;
    let place = args.output.as_deref();
    let place =
        place.map(|file| OutputTarget::claim(file, OutputKind::Text, args.force)).transpose()?;
    let held = BlockedSignals::block_signals();
    let time = Duration::try_from_secs_f64(args.time.get()).unwrap_or(Duration::MAX);
    let bounds = Arc::new(ProbeBudget::new(time, args.bytes, args.operations));
    bounds.watch_signals(held);
    let found = match &bucket {
        Some(bucket) => probe_bucket(args, bucket, &bounds),
        None => probe_directory(args, &ground, &bounds),
    }?;
    let probe = ProbeReport::from_measurements(&ground, &bounds, found);
    let batches = probe.batches();
    let fitted =
        calibrate_profile(&batches, ground.reach, &probe.source_line(), 1).map_err(|why| {
            CommandError::new(
                1,
                format!("the figures fit no profile: {why}"),
                "try again, with more --time",
            )
        })?;
    let text = tier_file::tier_file_text(&probe, &fitted);
    match &place {
        Some(place) => place.write(text.as_bytes())?,
        None if args.json => {}
        None => print_output(&text),
    }
    if args.json {
        print_output(&format!("{}\n", json::probe_json(&probe, &batches, &fitted)));
    }
    probe_report::report_probe(&probe, &batches, &fitted);
    Ok(0)
}

fn probe_bucket(
    args: &Args,
    bucket: &ProbedBucket,
    bounds: &ProbeBudget,
) -> Result<rounds::ProbeFindings, CommandError> {
    let found = bucket.measure_all(args, bounds);
    console::clear_passing_line();
    let removed = bucket.remove();
    let why =
        |halt| bucket.take_bucket_failure(halt).unwrap_or_else(|| explain_halt(halt, &args.dir));
    let found = found.map_err(why)?;
    removed.and(Ok(found))
}

fn probe_directory(
    args: &Args,
    ground: &ProbedDirectory,
    bounds: &ProbeBudget,
) -> Result<rounds::ProbeFindings, CommandError> {
    let hidden = HiddenDirectory::create_in_directory(ground)?;
    let found = measure_hidden_directory(args, ground, bounds, &hidden.path);
    console::clear_passing_line();
    let removed = hidden.remove();
    let found = found.map_err(|halt| explain_halt(halt, &args.dir))?;
    removed.and(Ok(found))
}

fn measure_hidden_directory(
    args: &Args,
    ground: &ProbedDirectory,
    bounds: &ProbeBudget,
    path: &Path,
) -> Result<rounds::ProbeFindings, ProbeStop> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let dir = openat(CWD, path, flags, Mode::empty())
        .map_err(|errno| ProbeStop::Failed("open", errno))?;
    let room = (ground.name_cache_seconds(), args.bytes);
    rounds::measure_directory(
        bounds,
        ThreadDirectory { bounds, dir },
        room,
        &round_reporter(args, bounds),
    )
}

/// Tells who watches how far it is.
fn round_reporter(args: &Args, bounds: &ProbeBudget) -> impl Fn(u32) {
    let shows = std::io::stderr().is_terminal();
    move |round: u32| {
        if shows {
            let (operations, bytes) = bounds.used_so_far();
            let took = bounds.elapsed_time().as_secs();
            let line = format!(
                "forebay: probing, round {}: {operations} operations, {bytes}, {took} s of at \
                 most {}",
                round + 1,
                args.time
            );
            console::show_passing_line(
                &line.chars().take(console::terminal_width().saturating_sub(1)).collect::<String>(),
            );
        }
    }
}

fn print_output(text: &str) {
    console::print(text);
}
