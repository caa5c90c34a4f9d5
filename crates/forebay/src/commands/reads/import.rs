//! `forebay reads import`.

use std::path::PathBuf;

use forebay_reads::{ArchiveLayout, InputFormat, PackOptions, PackProfile, RawInput, pack_spots};

use super::{foreign, pack_report};
use crate::console;
use crate::exit::CommandError;

/// Options of `forebay reads import`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    forebay reads import SRR000001.sra -o SRR000001.reads\n  \
    forebay reads import SRR000001.sralite -o lite.reads         qualities as SRA Lite has them\n  \
    prefetch SRR000001 && forebay reads import SRR000001/SRR000001.sra -o SRR000001.reads\n\n\
    Reads, names and order are those of `fastq-dump --split-3`, of which the archive has the files \
    of pairs, SRR000001_1.fastq and SRR000001_2.fastq, or SRR000001.fastq of single reads. \
    fastq-dump of sra-tools reads it, from PATH: spot by spot, with no temporary files, and \
    nothing is asked of the network but what an archive that refers to another needs. Technical \
    reads are left out.\n\n\
    Memory and what happens when it is interrupted are as in `forebay reads pack`.\n\n\
    Exit codes: 0, or 1 if it was not packed, also where fastq-dump is missing or fails.")]
pub(super) struct Import {
    /// A file of SRA: .sra or .sralite
    input: PathBuf,
    /// The directory that becomes the archive: new, or empty
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Names of reads as they were before SRA, where it has them
    #[arg(long)]
    original_names: bool,
    /// Take pairs alone: leave out reads that have no mate, and say how many
    #[arg(long)]
    skip_unpaired: bool,
    /// What the file is called in the archive; of pairs, give it twice [default: as above]
    #[arg(long = "name", value_name = "NAME")]
    names: Vec<String>,
    /// Threads that encode [default: as many as there are cores]
    #[arg(short, long)]
    threads: Option<usize>,
    /// Print nothing if all is well
    #[arg(short, long)]
    quiet: bool,
}

pub(super) fn run(args: &Import) -> Result<i32, CommandError> {
    let looked = RawInput::open(&args.input).and_then(RawInput::detect_format);
    let (looks, _) = looked.map_err(|error| pack_report::pack_error(&error))?;
    if looks != InputFormat::Sra {
        let message = format!("{} is no archive of SRA", args.input.display());
        return Err(CommandError::new(
            1,
            message,
            "`forebay reads pack` takes FASTQ, BAM and CRAM",
        ));
    }
    let mut spots = foreign::open_sra(&args.input, args.original_names)?;
    if args.skip_unpaired {
        spots = spots.pairs_only();
    }
    let mut names = args.names.clone();
    if names.is_empty() {
        names = foreign::archive_file_names(
            &args.input,
            &[".sra", ".sralite"],
            ["_1", "_2"],
            spots.is_paired(),
        );
    }
    let packing = PackOptions {
        inputs: vec![vec![args.input.clone()]],
        interleaved: false,
        names,
        threads: super::thread_count(args.threads),
        profile: PackProfile::default(),
        layout: ArchiveLayout::default(),
        writer: super::WRITER.to_owned(),
    };
    let packed = pack_spots(&packing, spots, &args.output, pack_report::pack_progress())
        .map_err(|error| foreign::input_error(&error, foreign::SRA))?;
    console::clear_passing_line();
    pack_report::report_packed(&packing.inputs, &args.output, &packed, args.quiet);
    Ok(0)
}
