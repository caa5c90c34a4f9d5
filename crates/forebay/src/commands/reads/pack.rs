//! `forebay reads pack`.

use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use forebay_reads::{
    ArchiveLayout, InputFormat, LAYOUTS, PROFILES, PackOptions, PackProfile, PackSummary, RawInput,
    pack_files, pack_source, pack_spots, split_lanes,
};

use super::foreign::{self, AlignmentInput};
use super::{pack_report, sample_sheet};
use crate::console;
use crate::exit::CommandError;

/// Options of `forebay reads pack`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    forebay reads pack x_R1.fastq.gz x_R2.fastq.gz -o x.reads\n  \
    forebay reads pack long.fastq.zst -o long.reads\n  \
    forebay reads pack L1_R1.fq.gz,L2_R1.fq.gz L1_R2.fq.gz,L2_R2.fq.gz -o x.reads   two lanes\n  \
    forebay reads pack --samples samples.csv -o reads    each sample: reads/SAMPLE.reads\n  \
    forebay reads pack x.bam -o x.reads                  aligned or not; x.cram as well\n  \
    samtools view -u -f 2 x.bam | forebay reads pack - --skip-unpaired -o proper.reads\n\n\
    Inputs are plain, gzip (also bgzip), bzip2 or zstd, told by their first bytes. Files with \
    commas between are one, in this order. Every byte of the text \
    comes back: each group of reads is decoded again before it is written, and what has no columns \
    is kept as text and told. Of two files, or with --interleaved, records are expected to have \
    four lines, and as many on both sides; else packing ends with file and line. Where the two of a \
    pair have different names, it is told, also with --quiet. A set of three or four (I1, I2, R1, R2 of \
    10x) is packed as two archives, R1 with R2 and I1 with I2.\n\n\
    Of BAM and CRAM the archive has what `samtools fastq -1 x_R1.fastq -2 x_R2.fastq` writes: each \
    read once, as it was sequenced, of pairs two files, else one. Mates have to be side by side; \
    of a file in the order of a reference they are brought together by `samtools collate`, which \
    needs room for all of it beside the archive (DIR.collate). CRAM is read by samtools, too, which \
    has to be in PATH, and finds the reference as ever or takes --reference. Reads without a mate \
    among pairs are refused, or left out with --skip-unpaired.\n\n\
    The archive is written to the directory given with -o, which is an archive only when all of \
    it is on disk: whatever ends this before leaves files that `cat` refuses, and that the next \
    `pack` to the same place writes over. Memory: about 40 MiB for each thread, 128 MiB besides, \
    and more only for reads of more than a million bases.\n\n\
    Exit codes: 0, or 1 if it was not packed.")]
pub(super) struct Pack {
    /// FASTQ: one file, or the two of a pair; lanes of one with commas between; or a BAM or CRAM; -
    /// is standard input
    #[arg(required_unless_present = "samples")]
    inputs: Vec<PathBuf>,
    /// A sheet with the columns sample, fastq_1 and fastq_2: each sample becomes DIR/SAMPLE.reads,
    /// its lines are lanes; samples that are there already are passed over
    #[arg(long, value_name = "SHEET",
          conflicts_with_all = ["inputs", "names", "interleaved", "skip_unpaired", "reference"])]
    samples: Option<PathBuf>,
    /// The directory that becomes the archive: new, or empty
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// The two reads of each pair follow each other in one file
    #[arg(long)]
    interleaved: bool,
    /// What the file is called in the archive; of a pair, give it twice [default: the input's
    /// name without .gz, .bz2 or .zst, of several the first; of BAM x_R1.fastq and x_R2.fastq]
    #[arg(long = "name", value_name = "NAME")]
    names: Vec<String>,
    /// Of BAM and CRAM: take pairs alone, leave out reads that have no mate, and say how many
    #[arg(long)]
    skip_unpaired: bool,
    /// Of CRAM: the sequences that it was written against
    #[arg(long, value_name = "FASTA")]
    reference: Option<PathBuf>,
    /// `default` is as small as pays; `fast` is read sooner and 2 to 10 % larger on what was tried;
    /// `random` has groups of an eighth, for who reads here and there: 2 to 8 % larger, and 4 KiB
    /// come in an eighth of the time
    #[arg(long, default_value = "default", hide_default_value = true,
          value_parser = PossibleValuesParser::new(PROFILES.iter().map(|profile| profile.name)))]
    profile: String,
    /// `together` makes few large objects; `apart` keeps qualities in objects of their own, which can
    /// go to cheaper storage, or away; `each` makes an object of each part that is fetched at a time
    #[arg(long, value_name = "HOW", default_value = "together", hide_default_value = true,
          value_parser = PossibleValuesParser::new(LAYOUTS.iter().map(|layout| layout.name)))]
    objects: String,
    /// Threads that encode [default: as many as there are cores]
    #[arg(short, long)]
    threads: Option<usize>,
    /// Print nothing if all is well
    #[arg(short, long)]
    quiet: bool,
}

pub(super) fn run(args: &Pack) -> Result<i32, CommandError> {
    let mut packing = PackOptions {
        inputs: args.inputs.iter().map(|path| split_lanes(path)).collect(),
        interleaved: args.interleaved,
        names: args.names.clone(),
        threads: super::thread_count(args.threads),
        profile: PackProfile::find_by_name(&args.profile).expect("the parser knows all names"),
        layout: ArchiveLayout::find_by_name(&args.objects).expect("the parser knows all names"),
        writer: super::WRITER.to_owned(),
    };
    if let Some(sheet) = &args.samples {
        return sample_sheet::pack_samples(sheet, &args.output, &packing, args.quiet);
    }
    let output = args.output.display();
    console::when_interrupted(
        &format!("{output} is no archive yet"),
        "pack to the same place again, which writes over it, or remove it",
    );
    if args.inputs.len() > 2 {
        return Err(pack_report::refuse_more_files(args.inputs.len()));
    }
    let packed = match open_single_input(args)? {
        Some((path, looks @ (InputFormat::Bam | InputFormat::Cram), source)) => {
            pack_alignments(args, &mut packing, path, looks, source)?
        }
        _ if args.skip_unpaired => {
            let next = "two files of FASTQ go read by read, or they are refused";
            return Err(CommandError::new(1, "--skip-unpaired is for BAM and CRAM", next));
        }
        Some((_, _, source)) => {
            let packed = pack_source(&packing, source, &args.output, pack_report::pack_progress());
            packed.map_err(|error| pack_report::pack_error(&error))?
        }
        None => pack_files(&packing, &args.output, pack_report::pack_progress())
            .map_err(|error| pack_report::pack_error(&error))?,
    };
    console::clear_passing_line();
    pack_report::report_packed(&packing.inputs, &args.output, &packed, args.quiet);
    Ok(0)
}

/// The one input, and what it looks like; None if there are several, or it is not there.
fn open_single_input(args: &Pack) -> Result<Option<(&Path, InputFormat, RawInput)>, CommandError> {
    match &args.inputs[..] {
        [path] if path == Path::new("-") || split_lanes(path).len() == 1 => {
            let looked = RawInput::open(path).and_then(RawInput::detect_format);
            let (looks, source) = looked.map_err(|error| pack_report::pack_error(&error))?;
            Ok(Some((path, looks, source)))
        }
        _ => Ok(None),
    }
}

fn pack_alignments(
    args: &Pack,
    packing: &mut PackOptions,
    path: &Path,
    looks: InputFormat,
    source: RawInput,
) -> Result<PackSummary, CommandError> {
    if args.interleaved {
        let message = format!("{}: BAM and CRAM say which mate a read is", path.display());
        return Err(CommandError::new(1, message, "leave out --interleaved"));
    }
    let (reference, threads) = (args.reference.as_deref(), packing.threads);
    let from = AlignmentInput { path, output: &args.output, reference, threads };
    let mut collated =
        if looks == InputFormat::Cram { from.open_cram()? } else { from.open_bam(source)? };
    if args.skip_unpaired {
        collated.spots = collated.spots.pairs_only();
    }
    if packing.names.is_empty() {
        let paired = collated.spots.is_paired();
        packing.names =
            foreign::archive_file_names(path, &[".bam", ".cram"], ["_R1", "_R2"], paired);
    }
    let packed = pack_spots(packing, collated.spots, &args.output, pack_report::pack_progress());
    packed.map_err(|error| foreign::input_error(&error, foreign::ALIGNMENTS))
}
