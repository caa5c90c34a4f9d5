//! What a pack came to, or why it did not, in words.

use std::path::{Path, PathBuf};

use forebay_reads::{Error, Kind, PackSummary};

use crate::console;
use crate::exit::CommandError;

/// What went in, and what came of it; `quiet` leaves what is as it should be.
pub(super) fn report_packed(
    inputs: &[Vec<PathBuf>],
    output: &Path,
    packed: &PackSummary,
    quiet: bool,
) {
    let PackSummary { manifest, left_out, unlike } = packed;
    if let Some((nth, [first, second])) = &unlike.first {
        let (pairs, of) = (
            console::group_thousands(unlike.pairs),
            console::group_thousands(manifest.spot_count()),
        );
        let (nth, dir) = (console::group_thousands(*nth), output.display());
        console::error(
            &format!(
                "{dir}: in {pairs} of {of} pairs the mates have different names, first in pair \
                 {nth}: {} and {}",
                printable_name(first),
                printable_name(second)
            ),
            Some(
                "every byte is packed, but programs that take them for pairs will be wrong, if these \
                 files are in different orders: `repair.sh` or `seqkit pair` mends that",
            ),
        );
    }
    if quiet {
        return;
    }
    let text: u64 = manifest.files.iter().map(|file| file.digests.bytes).sum();
    let size: u64 = manifest.objects.iter().map(|(_, len)| *len).sum();
    let reads = if manifest.shape.mate_count() == 2 { "pairs of reads" } else { "reads" };
    let (spots, dir) = (console::group_thousands(manifest.spot_count()), output.display());
    let (text_words, size_words) = (console::group_thousands(text), console::group_thousands(size));
    console::note(&format!(
        "{spots} {reads}, {text_words} bytes of text, are {size_words} in {dir}"
    ));
    let inputs = inputs.iter().flatten().map(|path| std::fs::metadata(path).map(|file| file.len()));
    if let Ok(source) = inputs.sum::<std::io::Result<u64>>()
        && source > 0
    {
        let part = size as f64 / source as f64;
        console::note(&format!("that is {part:.2} of what the input takes"));
    }
    if manifest.as_text_bytes > 0 {
        let bytes = console::group_thousands(manifest.as_text_bytes);
        console::note(&format!(
            "{bytes} bytes are no uniform four-line FASTQ: they are kept as text"
        ));
    }
    if *left_out > 0 {
        console::note(&format!(
            "{} reads without a mate were left out",
            console::group_thousands(*left_out)
        ));
    }
}

/// Tells while it packs how far it is.
pub(super) fn pack_progress() -> impl FnMut(u64) {
    super::progress_reporter("packed", "of text")
}

/// More files than an archive has.
pub(super) fn refuse_more_files(files: usize) -> CommandError {
    CommandError::new(
        1,
        format!("{files} files: an archive has one file of reads, or the two of a pair"),
        "nothing was packed; make an archive of the pair, and one of what goes with it: `pack \
         x_R1.fq.gz x_R2.fq.gz -o x.reads`, then `pack x_I1.fq.gz x_I2.fq.gz -o x.index.reads`; lanes \
         are one file with commas between: L1_R1.fq.gz,L2_R1.fq.gz",
    )
}

/// Reads that were not packed.
pub(super) fn pack_error(error: &Error) -> CommandError {
    console::clear_passing_line();
    let next = match error.kind {
        Kind::Input => {
            "nothing was packed; mend the input, or pack a file that is no FASTQ by itself, which \
             keeps it as it is"
        }
        Kind::Request => "nothing was packed; `forebay reads pack --help` shows how to ask",
        _ => "no archive was made; see that there is room, and ask again for the same directory",
    };
    CommandError::new(1, error.to_string(), next)
}

/// A name of a read, as far as a line has room, without what a terminal would take for orders.
fn printable_name(name: &str) -> String {
    const MOST: usize = 60;
    let (start, more) = match name.char_indices().nth(MOST) {
        Some((end, _)) => (&name[..end], "..."),
        None => (name, ""),
    };
    format!("{}{more}", start.escape_debug())
}
