//! What a pack came to, in words.

use std::path::{Path, PathBuf};

use forebay_reads::Manifest;

use crate::say;

/// What went in, and what came of it.
pub(super) fn packed(inputs: &[PathBuf], output: &Path, manifest: &Manifest, left_out: u64) {
    let text: u64 = manifest.files.iter().map(|file| file.digests.bytes).sum();
    let size: u64 = manifest.objects.iter().map(|(_, len)| *len).sum();
    let reads = if manifest.shape.mates() == 2 { "pairs of reads" } else { "reads" };
    let (spots, dir) = (say::grouped(manifest.spots()), output.display());
    let (text_words, size_words) = (say::grouped(text), say::grouped(size));
    say::note(&format!("{spots} {reads}, {text_words} bytes of text, are {size_words} in {dir}"));
    let inputs = inputs.iter().map(|path| std::fs::metadata(path).map(|file| file.len()));
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
    if left_out > 0 {
        say::note(&format!("{} reads without a mate were left out", say::grouped(left_out)));
    }
}
