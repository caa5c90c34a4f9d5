//! `forebay reads cat`.

use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;

use clap::ValueEnum;
use forebay_reads::{Archive, Error, ExportedFile, ExportedReader, ReadSelection};

use crate::exit::CommandError;

/// Options of `forebay reads cat`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    forebay reads cat x.reads | bwa mem -p ref.fa -\n  \
    bwa mem ref.fa <(forebay reads cat x.reads --mate 1) <(forebay reads cat x.reads --mate 2)\n  \
    forebay reads cat x.reads --file x_R1.fastq | md5sum\n  \
    forebay reads cat x.reads --file x_R1.fastq.gz > x_R1.fastq.gz        BGZF, not compressed\n  \
    forebay reads cat x.reads --file x_R1.0007-of-0064.fastq              a part, see below\n  \
    forebay reads cat x.reads --spots 100-200 --form tab                  101 pairs, a line each\n  \
    forebay reads cat contigs.reads --form fasta > contigs.fasta\n\n\
    Shard K of N (K-of-N, four digits or more) has the groups K, K+N, K+2N, ... of about 4 MiB of \
    text, the same reads of both mates. Tables are what `bowtie2 --tab6` reads: name, bases and \
    qualities, of pairs both in one line.\n\n\
    What was damaged is not written: it ends with what and where. Nothing is written elsewhere. \
    Memory: about 48 MiB for each thread; of an archive in a bucket 48 MiB besides, over 8 \
    connections at most. A bucket that does not answer is asked again for five minutes.\n\n\
    Exit codes: 0, or 1 if not all could be written.")]
pub(super) struct Cat {
    /// An archive: a directory, or s3://BUCKET/PREFIX
    archive: PathBuf,
    /// The first reads of pairs, the second ones, or both in turns
    #[arg(long, value_enum, default_value = "both")]
    mate: Mate,
    /// A file of the archive by its name, byte for byte as it was; with .gz as BGZF; or a shard
    #[arg(long, value_name = "NAME", conflicts_with_all = ["mate", "form", "spots"])]
    file: Option<String>,
    /// As FASTQ, as FASTA (names and bases), as lines with tabs, or bases alone, a line a read
    #[arg(long, value_enum, default_value = "fastq")]
    form: CatFormat,
    /// Without qualities: each is `?`, and none is fetched
    #[arg(long)]
    lite: bool,
    /// The reads FIRST to LAST only, counted from 1; of pairs both mates of each
    #[arg(long, value_name = "FIRST-LAST", value_parser = parse_spot_range)]
    spots: Option<Range<u64>>,
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

#[derive(Clone, Copy, Debug, ValueEnum)]
enum CatFormat {
    Fastq,
    Fasta,
    Tab,
    Bases,
}

/// `100-200`, or one number.
fn parse_spot_range(text: &str) -> Result<Range<u64>, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.parse::<u64>(), last.parse::<u64>()) {
        (Ok(first @ 1..), Ok(last)) if first <= last => Ok(first - 1..last),
        _ => Err("two numbers are needed, the first 1 or more, as in 100-200".into()),
    }
}

pub(super) fn run(args: &Cat) -> Result<i32, CommandError> {
    let mut archive = super::open_archive(&args.archive)?;
    if args.lite {
        archive = archive.into_lite();
    }
    let threads = super::thread_count(args.threads);
    // Groups are megabytes: a buffer that looks for line ends would only be in the way.
    let mut out = std::fs::File::from(duplicate_stdout()?);
    let view = match args.mate {
        Mate::First => ReadSelection::Mate(0),
        Mate::Second => ReadSelection::Mate(1),
        Mate::Both => ReadSelection::Both,
    };
    let form = match args.form {
        CatFormat::Fastq => forebay_reads::TextFormat::Fastq,
        CatFormat::Fasta => forebay_reads::TextFormat::Fasta,
        CatFormat::Tab => forebay_reads::TextFormat::Tab,
        CatFormat::Bases => forebay_reads::TextFormat::Bases,
    };
    let done = match (&args.file, &args.spots) {
        (Some(name), _) => {
            let face = find_exported_file(args, &archive, name)?;
            ExportedReader::copy_to_writer(Arc::new(archive), &face, threads, &mut out)
        }
        (None, Some(spots)) => archive.write_spots(spots.clone(), view, form, threads, &mut out),
        (None, None) => archive.write_view(view, form, threads, &mut out),
    };
    match done {
        // Whoever reads may have seen enough (`| head`).
        Err(error) if error.is_broken_pipe() => Ok(0),
        Err(error) => Err(super::archive_error(&args.archive, &error)),
        Ok(()) => Ok(0),
    }
}

/// The file that was asked for.
fn find_exported_file(
    args: &Cat,
    archive: &Archive,
    name: &str,
) -> Result<ExportedFile, CommandError> {
    let stop = |error: Error| super::archive_error(&args.archive, &error);
    if let Some(face) = archive.find_exported_file(name).map_err(stop)? {
        return Ok(face);
    }
    let faces = archive.exported_files(None).map_err(stop)?;
    let names: Vec<&str> = faces.iter().map(|face| &face.name[..]).collect();
    let message = format!("{}: it has no file {name}", args.archive.display());
    Err(CommandError::new(1, message, format!("there is {}", names.join(", "))))
}

fn duplicate_stdout() -> Result<OwnedFd, CommandError> {
    std::io::stdout().as_fd().try_clone_to_owned().map_err(|error| {
        CommandError::new(1, format!("standard output: {error}"), "give it somewhere to write to")
    })
}
