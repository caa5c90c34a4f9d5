//! Reads of which mates come one behind the other, as BAM has them and as programs write them,
//! dealt out to a text for each mate. They are what `samtools fastq` makes of them: primary lines
//! alone, in the direction in which they were sequenced, without `/1` and `/2`.

mod aligned_read;
mod bam_reader;
mod bgzf;
mod fastq;
mod mate_texts;

use std::io::Read as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::error::{Error, Kind, Result};
use crate::input::{InputFeed, RawInput, TextInput};
use crate::manifest::ReadLayout;
pub(crate) use aligned_read::{
    AlignedRead, PROGRAM, REVERSE, is_coordinate_sorted, is_written_by_forebay,
};
pub(crate) use bam_reader::{BASES, BamReader, REST};
use bgzf::BgzfReader;
use fastq::FastqReader;
use mate_texts::MateSplitter;

/// Which read of a spot one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MatePart {
    /// Of a pair the first (0) or the second (1).
    Mate(usize),
    /// The first of its name that comes is the first mate.
    InTurn,
    /// No mate of another.
    Alone,
}

enum SpotSource {
    Bam(Box<BamReader<BgzfReader>>),
    Fastq(FastqReader),
}

impl SpotSource {
    fn next_read(&mut self) -> Result<Option<MatePart>> {
        match self {
            SpotSource::Bam(bam) => bam.next_read(),
            SpotSource::Fastq(fastq) => fastq.next_read(),
        }
    }

    fn name(&self) -> &[u8] {
        match self {
            SpotSource::Bam(bam) => bam.name(),
            SpotSource::Fastq(fastq) => fastq.name(),
        }
    }

    fn write_fastq(&self, out: &mut Vec<u8>) -> Result<()> {
        match self {
            SpotSource::Bam(bam) => bam.write_fastq(out),
            SpotSource::Fastq(fastq) => {
                fastq.write_fastq(out);
                Ok(())
            }
        }
    }
}

/// Reads on their way, mate behind mate.
pub struct SpotReader {
    name: String,
    reads: SpotSource,
    paired: bool,
    skip: bool,
}

impl std::fmt::Debug for SpotReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spots").field("name", &self.name).field("paired", &self.paired).finish()
    }
}

impl SpotReader {
    /// Reads of a BAM, aligned or not; its header and first read are read now.
    ///
    /// # Errors
    /// It is no BAM, it is damaged, or reading fails.
    pub fn from_bam(source: RawInput) -> Result<SpotReader> {
        let name = source.name;
        let at = |error: Error| error.with_context(&name);
        let unpacked = BgzfReader::open(source.read).map_err(|error| at(input_error(error)))?;
        let mut bam = BamReader::open(unpacked).map_err(at)?;
        let paired = matches!(bam.peek_first().map_err(at)?, Some(MatePart::Mate(_)));
        Ok(SpotReader { name, reads: SpotSource::Bam(Box::new(bam)), paired, skip: false })
    }

    /// Reads of FASTQ in which those of one spot follow each other under one name, up to its first
    /// space, as sra-tools write it.
    ///
    /// # Errors
    /// It is no FASTQ, or reading fails.
    pub fn from_fastq(source: RawInput) -> Result<SpotReader> {
        let name = source.name;
        let (fastq, paired) =
            FastqReader::open(source.read).map_err(|error| error.with_context(&name))?;
        Ok(SpotReader { name, reads: SpotSource::Fastq(fastq), paired, skip: false })
    }

    /// Whether the first read is one of a pair.
    #[must_use]
    pub fn is_paired(&self) -> bool {
        self.paired
    }

    /// Whether it says of itself that it is in the order of a reference, so mates are far apart.
    #[must_use]
    pub fn is_coordinate_sorted(&self) -> bool {
        matches!(&self.reads, SpotSource::Bam(bam) if bam.by_place)
    }

    /// Takes pairs alone: leaves reads out that have no mate beside them.
    #[must_use]
    pub fn pairs_only(self) -> SpotReader {
        SpotReader { skip: true, paired: true, ..self }
    }

    pub(crate) fn shape(&self) -> ReadLayout {
        if self.paired { ReadLayout::Paired } else { ReadLayout::Single }
    }

    /// Begins to read: an input for each mate, and how many reads were left out, once they end.
    pub(crate) fn into_inputs(self) -> (Vec<TextInput>, Arc<AtomicU64>) {
        let names = vec![self.name.clone(); self.shape().file_count()];
        let (feeds, inputs): (Vec<InputFeed>, Vec<TextInput>) =
            TextInput::with_feeds(names, false).into_iter().unzip();
        let left_out = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&left_out);
        std::thread::spawn(move || self.feed_mates(feeds, &count));
        (inputs, left_out)
    }

    fn feed_mates(mut self, mut feeds: Vec<InputFeed>, left_out: &AtomicU64) {
        let mut deal = MateSplitter::new(feeds.len(), self.skip);
        let end =
            self.deal_all(&mut deal, &mut feeds).map_err(|error| error.with_context(&self.name));
        left_out.store(deal.left_out, Relaxed);
        for feed in feeds {
            // Whichever is waited for has to hear of it.
            feed.finish_feed(
                end.as_ref().copied().map_err(|e| Error::new(e.kind, e.message.clone())),
            );
        }
    }

    fn deal_all(&mut self, deal: &mut MateSplitter, feeds: &mut [InputFeed]) -> Result<()> {
        while let Some(part) = self.reads.next_read()? {
            deal.push_read(self.reads.name(), part, |out| self.reads.write_fastq(out))?;
            // Whoever wanted this may be gone.
            if deal.is_full() && !deal.send_texts(feeds) {
                return Ok(());
            }
        }
        deal.finish_reads()?;
        deal.send_texts(feeds);
        Ok(())
    }
}

/// What went wrong below: a system that refuses, or bytes that are not what they should be.
fn input_error(error: std::io::Error) -> Error {
    use std::io::ErrorKind;
    let words = match error.kind() {
        _ if error.raw_os_error().is_some() => return Error::io("reading", error),
        // A program that fails says so itself.
        ErrorKind::Other => return Error::new(Kind::Input, error.to_string()),
        ErrorKind::UnexpectedEof => "it is cut off (was it copied whole?)".to_owned(),
        _ => format!("it is damaged: {error} (was it copied whole?)"),
    };
    Error::new(Kind::Input, words)
}

/// So many bytes; memory grows as they come, whatever `len` says.
fn read_exactly(from: &mut impl std::io::Read, len: usize, into: &mut Vec<u8>) -> Result<()> {
    into.clear();
    let got = from.take(len as u64).read_to_end(into).map_err(input_error)?;
    if got == len { Ok(()) } else { Err(input_error(std::io::ErrorKind::UnexpectedEof.into())) }
}
