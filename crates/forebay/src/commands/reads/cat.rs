//! `forebay reads cat`.

use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use clap::ValueEnum;
use forebay_reads::{Form, View};

use crate::exit::Stop;

/// Options of `forebay reads cat`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    forebay reads cat x.reads | bwa mem -p ref.fa -\n  \
    bwa mem ref.fa <(forebay reads cat x.reads --mate 1) <(forebay reads cat x.reads --mate 2)\n  \
    forebay reads cat x.reads --file x_R1.fastq | md5sum\n  \
    forebay reads cat contigs.reads --fasta > contigs.fasta\n\n\
    What was damaged is not written: it ends with what and where. Nothing is written elsewhere. \
    Memory: about 48 MiB for each thread.\n\n\
    Exit codes: 0, or 1 if not all could be written.")]
pub(super) struct Cat {
    /// An archive
    archive: PathBuf,
    /// The first reads of pairs, the second ones, or both in turns
    #[arg(long, value_enum, default_value = "both", conflicts_with = "file")]
    mate: Mate,
    /// A file of the archive by its name, byte for byte as it was
    #[arg(long, value_name = "NAME")]
    file: Option<String>,
    /// Names and bases only
    #[arg(long)]
    fasta: bool,
    /// Threads that decode [default: as many as there are cores]
    #[arg(short, long)]
    threads: Option<usize>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Mate {
    #[value(name = "1")]
    First,
    #[value(name = "2")]
    Second,
    Both,
}

pub(super) fn run(args: &Cat) -> Result<i32, Stop> {
    let archive = super::open(&args.archive)?;
    let view = match (&args.file, args.mate) {
        (Some(name), _) => {
            let files = &archive.manifest().files;
            let file = files.iter().position(|file| file.name == *name).ok_or_else(|| {
                let names: Vec<&str> = files.iter().map(|file| &file.name[..]).collect();
                let message = format!("{}: it has no file {name}", args.archive.display());
                Stop::new(1, message, format!("there is {}", names.join(" and ")))
            })?;
            View::File(file)
        }
        (None, Mate::First) => View::Mate(0),
        (None, Mate::Second) => View::Mate(1),
        (None, Mate::Both) => View::Both,
    };
    let form = if args.fasta { Form::Fasta } else { Form::Fastq };
    // Groups are megabytes: a buffer that looks for line ends would only be in the way.
    let mut out = std::fs::File::from(stdout()?);
    let done = archive.write(view, form, super::threads(args.threads), &mut out);
    match done {
        // Whoever reads may have seen enough (`| head`).
        Err(error) if error.is_broken_pipe() => Ok(0),
        Err(error) => Err(super::stop(&args.archive, &error)),
        Ok(()) => Ok(0),
    }
}

fn stdout() -> Result<OwnedFd, Stop> {
    std::io::stdout().as_fd().try_clone_to_owned().map_err(|error| {
        Stop::new(1, format!("standard output: {error}"), "give it somewhere to write to")
    })
}
