//! `forebay reads export`.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use forebay_reads::{Archive, BamHeader, Error};

use super::atomic_output::{AtomicOutput, write_error};
use super::foreign::helper_threads;
use super::programs::{SAMTOOLS, absolute_path, argument_words};
use crate::console;
use crate::exit::CommandError;
use crate::output::Force;

/// Options of `forebay reads export`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    forebay reads export x.reads -o there/            x_R1.fastq.gz and x_R2.fastq.gz in there/\n  \
    forebay reads export x.reads -o x.bam -R '@RG\\tID:lane1\\tSM:tumour'   unaligned BAM\n  \
    forebay reads export x.reads -o x.cram            unaligned CRAM, written by samtools\n  \
    forebay reads export x.reads --to bam -o - | samtools view\n\n\
    FASTQ is byte for byte what was packed, compressed as bgzip does it. BAM has mates one behind \
    the other, under one name without /1 and /2; what else stands behind a name is in the tag fc, \
    and `forebay reads pack` puts it there again. What BAM can't hold (lower case, letters that \
    are no base, names on the + line, CRLF) is written as far as it can, and the reads are \
    counted. Files are there when they are whole, and none is written over without --force. Memory: two groups of reads for each \
    thread, as for `cat`, and what they are compressed to.\n\n\
    Exit codes: 0, or 1 if it was not written, also where \
    samtools is missing or fails.")]
pub(super) struct Export {
    /// An archive
    archive: PathBuf,
    /// Where it goes: of FASTQ a directory, else a file; BAM also to standard output (-)
    #[arg(short, long, value_name = "PLACE")]
    output: PathBuf,
    /// What is written [default: what PLACE ends with, else fastq.gz]
    #[arg(long, value_enum)]
    to: Option<ReadFormat>,
    /// How much time goes into compression of FASTQ and BAM, 0 to 9
    #[arg(long, default_value = "6", value_parser = clap::value_parser!(u32).range(0..=9))]
    level: u32,
    /// The read group of all reads, as `bwa mem -R` takes it; of BAM and CRAM
    #[arg(short = 'R', long, value_name = "LINE")]
    read_group: Option<String>,
    /// Threads that decode and compress [default: as many as there are cores]
    #[arg(short, long)]
    threads: Option<usize>,
    /// Print nothing if all is well
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    force: Force,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ReadFormat {
    #[value(name = "fastq.gz")]
    Fastq,
    Bam,
    Cram,
}

pub(super) fn run(args: &Export) -> Result<i32, CommandError> {
    let form = output_form(args)?;
    let archive = super::open_archive(&args.archive)?;
    if form == ReadFormat::Fastq && args.read_group.is_some() {
        return Err(CommandError::new(
            1,
            "FASTQ has no read groups",
            "write BAM or CRAM with --to",
        ));
    }
    let changed = match form {
        ReadFormat::Fastq => write_fastq_files(args, &archive)?,
        ReadFormat::Bam if args.output == Path::new("-") => {
            let mut out = std::io::stdout().lock();
            write_bam(args, &archive, args.level, &mut out)
                .map_err(|error| export_error(args, &error))?
        }
        ReadFormat::Bam => {
            let mut file = AtomicOutput::create(&args.output, args.force)?;
            let end = write_bam(args, &archive, args.level, &mut file.counting_writer());
            let changed = end.map_err(|error| export_error(args, &error))?;
            file.commit_file()?;
            changed
        }
        ReadFormat::Cram => write_cram(args, &archive)?,
    };
    console::clear_passing_line();
    if changed > 0 {
        console::note(&format!(
            "{} reads are not as they were, since BAM has no place for it: letters other than \
             bases, lower case, names on the + line, CRLF, tabs in names",
            console::group_thousands(changed)
        ));
    }
    if !args.quiet && args.output != Path::new("-") {
        let reads = archive.manifest().spot_count() * archive.manifest().shape.mate_count() as u64;
        console::note(&format!(
            "{} reads are in {}",
            console::group_thousands(reads),
            args.output.display()
        ));
    }
    Ok(0)
}

/// What is written: as was asked, or as the place ends.
fn output_form(args: &Export) -> Result<ReadFormat, CommandError> {
    let end = args.output.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    let refuse = |why: &str, next: &str| {
        Err(CommandError::new(1, format!("{}: {why}", args.output.display()), next))
    };
    match (args.to, &end[..]) {
        (Some(form), _) => Ok(form),
        (None, "bam") => Ok(ReadFormat::Bam),
        (None, "cram") => Ok(ReadFormat::Cram),
        (None, "sam") => refuse(
            "SAM is not written",
            "BAM and CRAM are (-o x.bam), of which `samtools view -h` makes SAM",
        ),
        (None, "fastq" | "fq" | "gz") if !args.output.is_dir() => refuse(
            "FASTQ goes into a directory, where each file has the name that was packed",
            "name a directory, or take `forebay reads cat ARCHIVE > x.fastq`",
        ),
        (None, _) if args.output == Path::new("-") => refuse(
            "FASTQ goes into a directory",
            "`forebay reads cat` writes it to standard output, --to bam writes BAM there",
        ),
        (None, _) => Ok(ReadFormat::Fastq),
    }
}

/// The archive can't give it, or the place does not take it.
fn export_error(args: &Export, error: &Error) -> CommandError {
    console::clear_passing_line();
    super::archive_error(&args.archive, error)
}

fn bam_header(args: &Export) -> Result<BamHeader, Error> {
    // As it comes from a shell, whose quotes leave `\t` as it is.
    let group = args.read_group.as_ref().map(|line| line.replace("\\t", "\t"));
    BamHeader::new(env!("CARGO_PKG_VERSION"), group.as_deref())
}

fn write_bam(
    args: &Export,
    archive: &Archive,
    level: u32,
    out: &mut impl Write,
) -> Result<u64, Error> {
    archive.write_bam(&bam_header(args)?, level, super::thread_count(args.threads), out)
}

fn write_fastq_files(args: &Export, archive: &Archive) -> Result<u64, CommandError> {
    fs::create_dir_all(&args.output).map_err(|error| write_error(&args.output, &error))?;
    for (nth, shown) in archive.manifest().files.iter().enumerate() {
        let name = shown.name.strip_suffix(".gz").unwrap_or(&shown.name);
        let mut file = AtomicOutput::create(&args.output.join(format!("{name}.gz")), args.force)?;
        let threads = super::thread_count(args.threads);
        let end = archive.write_gzip(nth, args.level, threads, &mut file.counting_writer());
        end.map_err(|error| export_error(args, &error))?;
        file.commit_file()?;
    }
    Ok(0)
}

fn write_cram(args: &Export, archive: &Archive) -> Result<u64, CommandError> {
    if args.output == Path::new("-") {
        return Err(CommandError::new(1, "CRAM goes to files only", "write it with -o x.cram"));
    }
    bam_header(args).map_err(|error| export_error(args, &error))?;
    let file = AtomicOutput::create(&args.output, args.force)?;
    let mut words = argument_words(["view", "-C", "--no-PG", "-@"]);
    words.extend([
        helper_threads(super::thread_count(args.threads)),
        "-o".into(),
        absolute_path(&file.part),
    ]);
    words.push("-".into());
    let mut samtools = SAMTOOLS.spawn_for_input(&words)?;
    let end = write_bam(args, archive, 0, &mut samtools);
    // A program that went away has said why.
    let pipe = end.as_ref().is_err_and(Error::is_broken_pipe);
    if pipe || end.is_ok() {
        let next = "see that there is room; BAM needs no samtools";
        samtools.finish_input().map_err(|error| CommandError::new(1, error.to_string(), next))?;
    }
    let changed = end.map_err(|error| export_error(args, &error))?;
    file.commit_file()?;
    Ok(changed)
}
