//! `forebay probe`: what a storage can do, measured gently, as a tier file that Forebay reads.

mod bounds;
mod calls;
mod chains;
mod data;
mod figures;
mod ground;
mod json;
mod memory;
mod refused;
mod rounds;
mod tier_file;
mod together;
mod told;

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use forebay_model::{ByteCount, Seconds};
use forebay_plan::calibrate::calibrate;
use rustix::fs::{CWD, Mode, OFlags, openat};

use super::bench::held::Held;
use crate::exit::Stop;
use crate::say;
use bounds::{Bounds, Halt};
use calls::Caller;
use ground::{Ground, Hidden};
use refused::{gentle, stop};
use told::Probe;

/// Options of `forebay probe`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    forebay probe /data/scratch -o scratch.toml\n  \
    forebay probe --time 20s --bytes 256MiB --json /mnt/nfs/me\n\n\
    It works in a hidden directory in DIR, which is removed at the end, also by Ctrl-C. What it \
    prints is a tier file: a [profile] for a site file, with the interval of each number behind \
    it.\n\n\
    Exit codes: 0; 1 if DIR can't be probed, or FILE not written; 2 wrong usage; 130 or 143 if \
    SIGINT or SIGTERM ended it.")]
pub(crate) struct Args {
    /// A directory on the storage
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
}

pub(crate) fn run(args: &Args) -> Result<i32, Stop> {
    let ground = Ground::of(&args.dir)?;
    gentle(args, &ground)?;
    if let Some(file) = args.output.as_deref().filter(|file| file.exists()) {
        let message = format!("{} is there already", file.display());
        return Err(Stop::new(1, message, "name another file after -o"));
    }
    let held = Held::signals();
    let hidden = Hidden::make(&ground)?;
    let time = Duration::try_from_secs_f64(args.time.get()).unwrap_or(Duration::MAX);
    let bounds = Arc::new(Bounds::new(time, args.bytes, args.operations));
    bounds.heed(held);
    let found = measured(args, &ground, &bounds, &hidden.path);
    say::clear();
    let removed = hidden.remove();
    let found = found.map_err(|halt| stop(halt, &args.dir))?;
    removed?;
    let probe = Probe::of(&ground, &bounds, found);
    let batches = probe.batches();
    let fitted = calibrate(&batches, ground.reach, &probe.source(), 1).map_err(|why| {
        Stop::new(1, format!("the figures fit no profile: {why}"), "try again, with more --time")
    })?;
    let text = tier_file::text(&probe, &fitted);
    match &args.output {
        Some(file) => std::fs::write(file, &text).map_err(|error| {
            let next = "name a place after -o that is yours";
            Stop::new(1, format!("{}: {error}", file.display()), next)
        })?,
        None if args.json => {}
        None => print(&text),
    }
    if args.json {
        print(&format!("{}\n", json::of(&probe, &batches, &fitted)));
    }
    told::tell(&probe, &batches, &fitted);
    Ok(0)
}

fn measured(
    args: &Args,
    ground: &Ground,
    bounds: &Bounds,
    path: &Path,
) -> Result<rounds::Found, Halt> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let dir =
        openat(CWD, path, flags, Mode::empty()).map_err(|errno| Halt::Failed("open", errno))?;
    let shows = std::io::stderr().is_terminal();
    let told = |round: u32| {
        if shows {
            let (operations, bytes) = bounds.used();
            let took = bounds.took().as_secs();
            let line = format!(
                "forebay: probing, round {}: {operations} operations, {bytes}, {took} s of at \
                 most {}",
                round + 1,
                args.time
            );
            say::passing(&line.chars().take(say::width().saturating_sub(1)).collect::<String>());
        }
    };
    let room = (ground.names_known(), args.bytes);
    rounds::measure(bounds, Caller { bounds, dir }, room, &told)
}

fn print(text: &str) {
    // Who reads may have gone.
    let _ = std::io::stdout().write_all(text.as_bytes());
}
