//! `forebay reads pack`.

use std::path::PathBuf;

use forebay_reads::{Error, Kind, Manifest, Packing, pack};

use crate::exit::Stop;
use crate::say;

/// Options of `forebay reads pack`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    forebay reads pack x_R1.fastq.gz x_R2.fastq.gz -o x.reads\n  \
    forebay reads pack long.fastq.zst -o long.reads\n  \
    forebay reads pack L1_R1.fq.gz,L2_R1.fq.gz L1_R2.fq.gz,L2_R2.fq.gz -o x.reads   two lanes\n  \
    samtools fastq -n x.bam | forebay reads pack - --interleaved --name x.fastq -o x.reads\n\n\
    Inputs are plain, gzip (also bgzip), bzip2 or zstd, told by their first bytes. Files with \
    commas between are one, in this order. Every byte of the text \
    comes back: each group of reads is decoded again before it is written, and what has no columns \
    is kept as text and told. Of two files, or with --interleaved, records are expected to have \
    four lines, and as many on both sides; else packing ends with file and line.\n\n\
    The archive is written to the directory given with -o, which is an archive only when all of \
    it is on disk: whatever ends this before leaves files that `cat` refuses, and that the next \
    `pack` to the same place writes over. Memory: about 40 MiB for each thread, 128 MiB besides, \
    and more only for reads of more than a million bases.\n\n\
    Exit codes: 0, or 1 if it was not packed.")]
pub(super) struct Pack {
    /// FASTQ: one file, or the two of a pair; lanes of one with commas between; - is standard input
    #[arg(required = true, num_args = 1..=2)]
    inputs: Vec<PathBuf>,
    /// The directory that becomes the archive: new, or empty
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// The two reads of each pair follow each other in one file
    #[arg(long)]
    interleaved: bool,
    /// What the file is called in the archive; of a pair, give it twice [default: the input's
    /// name without .gz, .bz2 or .zst; of several the first]
    #[arg(long = "name", value_name = "NAME")]
    names: Vec<String>,
    /// Threads that encode [default: as many as there are cores]
    #[arg(short, long)]
    threads: Option<usize>,
    /// Print nothing if all is well
    #[arg(short, long)]
    quiet: bool,
}

pub(super) fn run(args: &Pack) -> Result<i32, Stop> {
    let packing = Packing {
        inputs: args.inputs.clone(),
        interleaved: args.interleaved,
        names: args.names.clone(),
        threads: super::threads(args.threads),
        writer: concat!("forebay ", env!("CARGO_PKG_VERSION")).to_owned(),
    };
    let manifest = pack(&packing, &args.output, super::progress("packed")).map_err(|e| stop(&e))?;
    say::clear();
    if !args.quiet {
        tell(args, &manifest);
    }
    Ok(0)
}

fn stop(error: &Error) -> Stop {
    say::clear();
    let next = match error.kind {
        Kind::Input => {
            "nothing was packed; mend the input, or pack a file that is no FASTQ by itself, which \
             keeps it as it is"
        }
        Kind::Request => "nothing was packed; `forebay reads pack --help` shows how to ask",
        _ => "no archive was made; see that there is room, and ask again for the same directory",
    };
    Stop::new(1, error.to_string(), next)
}

fn tell(args: &Pack, manifest: &Manifest) {
    let text: u64 = manifest.files.iter().map(|file| file.digests.bytes).sum();
    let size: u64 = manifest.objects.iter().map(|(_, len)| *len).sum();
    let reads = if manifest.shape.mates() == 2 { "pairs of reads" } else { "reads" };
    let (spots, dir) = (say::grouped(manifest.spots()), args.output.display());
    let (text_words, size_words) = (say::grouped(text), say::grouped(size));
    say::note(&format!("{spots} {reads}, {text_words} bytes of text, are {size_words} in {dir}"));
    let inputs = args.inputs.iter().map(|path| std::fs::metadata(path).map(|file| file.len()));
    if let Ok(source) = inputs.sum::<std::io::Result<u64>>()
        && source > 0
    {
        let part = size as f64 / source as f64;
        say::note(&format!("that is {part:.2} of what the input takes"));
    }
    if manifest.as_text_bytes > 0 {
        let bytes = say::grouped(manifest.as_text_bytes);
        say::note(&format!("{bytes} bytes are no uniform four-line FASTQ: they are kept as text"));
    }
}
