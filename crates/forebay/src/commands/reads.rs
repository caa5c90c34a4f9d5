//! `forebay reads`: archives of sequencing reads.

mod atomic_output;
mod cat;
mod export;
mod foreign;
mod import;
mod info;
mod pack;
mod pack_report;
mod programs;
mod sample_sheet;
mod verify;

use std::io::IsTerminal;
use std::path::Path;

use forebay_model::bucket_url::is_bucket_url;
use forebay_reads::{Archive, DirectoryObjects, Error, Kind};

use crate::exit::CommandError;
use crate::next_steps::reads_next_step;
use crate::{console, placement};

/// What the archives of this program say of it.
const WRITER: &str = concat!("forebay ", env!("CARGO_PKG_VERSION"));

/// Options of `forebay reads`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    forebay reads pack x_R1.fastq.gz x_R2.fastq.gz -o x.reads   checked as it is written\n  \
    forebay reads cat x.reads | bwa mem -p ref.fa -             both mates in turns\n  \
    forebay reads cat x.reads --mate 1 > x_R1.fastq             the file as it was, byte for byte\n  \
    forebay reads verify x.reads                                look at every byte\n  \
    forebay reads export x.reads -o x.bam                       or x.cram, or FASTQ.gz\n  \
    forebay reads import SRR000001.sra -o SRR000001.reads       by sra-tools\n  \
    forebay reads cat s3://lab-data/x.reads --mate 1            straight from a bucket\n\n\
    An archive is a directory, which can be copied or moved as such, also into a bucket \
    (`aws s3 cp --recursive x.reads s3://lab-data/x.reads`), from which `cat`, `info` and `verify` \
    read it; pack locally first. `forebay manual formats` draws its bytes; scripts/unpack-reads.py unpacks it \
    without Forebay.")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Pack reads into an archive: FASTQ, a pair of files, BAM, CRAM, or standard input
    Pack(pack::Pack),
    /// Write reads of an archive to standard output
    Cat(cat::Cat),
    /// Say what an archive holds, and what its columns take
    Info(info::Info),
    /// Look at every byte of an archive, and compare with the checksums of what was packed
    Verify(verify::Verify),
    /// Write an archive as FASTQ.gz, unaligned BAM or CRAM
    Export(Box<export::Export>),
    /// Pack an archive of SRA
    Import(import::Import),
}

pub(crate) fn run(args: &Args) -> Result<i32, CommandError> {
    keep_memory();
    match &args.command {
        Command::Pack(args) => pack::run(args),
        Command::Cat(args) => cat::run(args),
        Command::Info(args) => info::run(args),
        Command::Verify(args) => verify::run(args),
        Command::Export(args) => export::run(args),
        Command::Import(args) => import::run(args),
    }
}

/// Columns of some MiB come and go with each group of reads. The C library would give them back to
/// the kernel each time, and their pages cost nearly as much as decoding; 64 MiB stay here instead.
fn keep_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: numbers for the allocator, which it takes at any time.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 32 << 20);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 64 << 20);
    }
}

fn open_archive(archive: &Path) -> Result<Archive, CommandError> {
    if let Some(url) = archive.to_str().filter(|url| is_bucket_url(url)) {
        let opened = forebay_volume::reads::open_archive_in_bucket(
            url.trim_end_matches('/'),
            placement::bucket_settings(),
        );
        return opened.map_err(|trouble| {
            CommandError::new(1, format!("{url}: {trouble}"), reads_next_step(&trouble))
        });
    }
    crate::foreign::refuse_foreign_url(archive, 1)?;
    if !archive.is_dir() {
        let why = match archive.metadata() {
            Ok(_) => "it is a file, and an archive of reads is a directory".to_owned(),
            Err(error) => format!("no archive of reads is there: {error}"),
        };
        let next = "name the directory that `forebay reads pack ... -o DIR` made";
        return Err(CommandError::new(1, format!("{}: {why}", archive.display()), next));
    }
    Archive::open(Box::new(DirectoryObjects::new(archive))).map_err(|error| match error.kind {
        Kind::Damaged if error.message.ends_with("manifest.fbr is missing") => {
            let message = format!("{}: it is no archive of reads: {error}", archive.display());
            CommandError::new(
                1,
                message,
                "one that was not packed to its end has none: pack it again",
            )
        }
        _ => archive_error(archive, &error),
    })
}

/// An error that an archive gave.
fn archive_error(archive: &Path, error: &Error) -> CommandError {
    let message = format!("{}: {error}", archive.display());
    let next = match error.kind {
        Kind::Damaged if error.message.contains("qualities-") => {
            "bring its qualities back, or do without: `forebay reads cat --lite`"
        }
        Kind::Damaged => {
            "`forebay reads verify` tells all that is damaged; fetch those files again"
        }
        Kind::Unknown => "use a newer Forebay, or `forebay reads verify` elsewhere",
        Kind::Request => "`forebay reads info` says what is in it",
        Kind::Changed => "ask again: another archive is there now, or none",
        Kind::Input | Kind::Io => "see that the archive is there, and yours to read",
    };
    CommandError::new(1, message, next)
}

/// As many threads as were asked for, or as the machine has.
pub(super) fn thread_count(asked: Option<usize>) -> usize {
    let all = || std::thread::available_parallelism().map_or(1, usize::from);
    asked.unwrap_or_else(all).clamp(1, 256)
}

/// Tells now and then how far it is, if somebody looks.
pub(super) fn progress_reporter(what: &'static str, of: &'static str) -> impl FnMut(u64) {
    const EVERY: u64 = 32 << 20;
    let shown = std::io::stderr().is_terminal();
    let mut next = EVERY;
    move |bytes| {
        if shown && bytes >= next {
            next = bytes + EVERY;
            console::show_passing_line(&format!(
                "{what} {} MiB {of}",
                console::group_thousands(bytes >> 20)
            ));
        }
    }
}
