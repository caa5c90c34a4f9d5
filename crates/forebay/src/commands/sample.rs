//! `forebay sample`: looks at a machine that has no mount, such as the server that others read from.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use forebay_model::run::note_key::SAMPLED_EVERY;
use forebay_model::{
    CommandExit, CommandPrivacy, Fact, Micros, Privacy, RunEnd, RunWriter, Seconds,
};
use forebay_volume::sampler::MachineSampler;

use crate::console;
use crate::exit::CommandError;
use crate::interrupt_signals::InterruptSignals;
use crate::output::{Force, OutputKind, OutputTarget};
use crate::run_start::{TraceLevel, run_header};

/// More samples are not kept in memory while the disk is full.
const MOST_KEPT: usize = 100_000;

/// Options of `forebay sample`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    forebay sample -o filer.run                       on the server, until Ctrl-C\n  \
    forebay sample -o filer.run --every 5s --for 2h\n  \
    forebay explain a.run filer.run                   with the run, by the time of day\n\n\
    What is sampled: CPU, waiting for I/O, memory, disks, network (no RDMA). Nothing else is read,\n\
    no root is needed. FILE is a run file (forebay manual formats), also while it grows and after a kill.\n\n\
    Exit codes: 0, or 1 if FILE can't be written.")]
pub(crate) struct Args {
    /// Where samples go
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Between two samples, such as 500ms or 10s
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_interval)]
    every: Seconds,
    /// When to end, such as 2h; without it, at SIGINT (Ctrl-C), SIGTERM or SIGHUP
    #[arg(long = "for", value_name = "TIME", value_parser = parse_positive_time)]
    lasts: Option<Seconds>,
    #[command(flatten)]
    force: Force,
}

fn parse_positive_time(word: &str) -> Result<Seconds, String> {
    let time: Seconds =
        word.parse().map_err(|why: forebay_model::ParseRealError| why.to_string())?;
    (time.get() > 0.0).then_some(time).ok_or_else(|| "it must be longer than that".to_owned())
}

fn parse_interval(word: &str) -> Result<Seconds, String> {
    let time = parse_positive_time(word)?;
    let fits = (0.1..=3600.0).contains(&time.get());
    fits.then_some(time).ok_or_else(|| "it is from 100ms to 1h".to_owned())
}

pub(crate) fn run(args: &Args) -> Result<i32, CommandError> {
    let ends = InterruptSignals::block_signals();
    let start = Instant::now();
    let privacy = Privacy { commands: CommandPrivacy::Masked, anonymise: None };
    let directory = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    let command: Vec<_> = std::env::args_os().collect();
    let mut header = run_header(&command, &directory, privacy, TraceLevel::Files);
    header.more = vec![SAMPLED_EVERY.to_note(&args.every)];
    let host = header.host.clone().unwrap_or_else(|| "this machine".to_owned());
    let stop = |error: forebay_model::Error| {
        CommandError::new(
            1,
            error.to_string(),
            "give -o a new file in a local directory that you may write",
        )
    };
    let place = OutputTarget::claim(&args.output, OutputKind::Run, args.force)?;
    let file = match &place {
        OutputTarget::File(path) => path.clone(),
        OutputTarget::Stream(_) => place.part_path(),
    };
    // What may be replaced goes when the new one begins: it grows in its place.
    match std::fs::remove_file(&file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            let message = format!("{} can't be replaced: {error}", file.display());
            return Err(CommandError::new(1, message, "name another file after -o"));
        }
        _ => {}
    }
    let mut book = SampleLog {
        writer: RunWriter::create_in_place(&file, header).map_err(stop)?,
        facts: Vec::new(),
        lost: 0,
        trouble: false,
        samples: 0,
    };
    let mut watch = MachineSampler::start();
    let every = Duration::from_secs_f64(args.every.get());
    let last = args.lasts.map(|time| Duration::from_secs_f64(time.get()));
    let mut next = every;
    loop {
        let now = start.elapsed();
        let until = last.map_or(next, |last| next.min(last));
        let ended = ends.wait_for_signal(until.saturating_sub(now));
        let at = start.elapsed();
        if let Some(mut sample) = watch.take_sample() {
            sample.at = Micros::from(at);
            book.facts.push(Fact::Sample(sample));
            book.samples += 1;
        }
        let over = ended || last.is_some_and(|last| at >= last);
        if over {
            let (exit, complete) = (Some(CommandExit::Code(0)), book.lost == 0);
            let (at, cpu_user, cpu_system) = (Micros::from(at), None, None);
            book.facts.push(Fact::Ended(RunEnd { at, exit, cpu_user, cpu_system, complete }));
        }
        let written = book.write_pending();
        if over {
            written.map_err(stop)?;
            let samples = console::group_thousands(book.samples);
            book.writer.close_in_place().map_err(stop)?;
            if let OutputTarget::Stream(_) = place {
                let filled = place.copy_from(&file);
                // Whether it got there or not, it is of no use here.
                let _ = std::fs::remove_file(&file);
                let lost = |error| format!("{}: {error}", args.output.display());
                filled
                    .map_err(|error| CommandError::new(1, lost(error), "name a file after -o"))?;
            }
            console::note(&format!("{samples} samples of {host} are in {}", args.output.display()));
            return Ok(0);
        }
        // A machine that slept, or was stopped, is not sampled for the time that it missed.
        while next <= at {
            next += every;
        }
    }
}

/// Samples on their way to the file.
struct SampleLog {
    writer: RunWriter,
    facts: Vec<Fact>,
    lost: usize,
    trouble: bool,
    samples: u64,
}

impl SampleLog {
    /// Writes what there is; what can't be written now is kept for the next time.
    fn write_pending(&mut self) -> Result<(), forebay_model::Error> {
        let done = self.writer.write_facts(&self.facts);
        match &done {
            Ok(()) => {
                self.facts.clear();
                self.trouble = false;
            }
            Err(error) => {
                if !std::mem::replace(&mut self.trouble, true) {
                    console::error(
                        &error.to_string(),
                        Some("samples are kept in memory meanwhile"),
                    );
                }
                let many = self.facts.len().saturating_sub(MOST_KEPT);
                self.lost += many;
                self.facts.drain(..many);
            }
        }
        done
    }
}
