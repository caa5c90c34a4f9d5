//! Reads of which mates come one behind the other, as BAM has them and as programs write them,
//! dealt out to a text for each mate. They are what `samtools fastq` makes of them: primary lines
//! alone, in the direction in which they were sequenced, without `/1` and `/2`.

mod bam;
mod bgzf;
mod deal;
mod fastq;
mod read;

use std::io::{BufReader, Read as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::error::{Error, Kind, Result};
use crate::input::{Feed, Input, Source};
use crate::manifest::Shape;
pub(crate) use bam::{BASES, Bam, REST};
use bgzf::Bgzf;
use deal::Deal;
use fastq::Fastq;
pub(crate) use read::{PROGRAM, REVERSE, Read, by_place, ours};

/// Lines of BAM are short: who asked gzip for each field of each would wait for it.
const BUFFER: usize = 64 << 10;

/// Which read of a spot one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Of a pair the first (0) or the second (1).
    Mate(usize),
    /// The first of its name that comes is the first mate.
    InTurn,
    /// No mate of another.
    Alone,
}

enum Reads {
    Bam(Box<Bam<BufReader<Bgzf>>>),
    Fastq(Fastq),
}

impl Reads {
    fn next(&mut self) -> Result<Option<Part>> {
        match self {
            Reads::Bam(bam) => bam.next(),
            Reads::Fastq(fastq) => fastq.next(),
        }
    }

    fn name(&self) -> &[u8] {
        match self {
            Reads::Bam(bam) => bam.name(),
            Reads::Fastq(fastq) => fastq.name(),
        }
    }

    fn put(&self, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Reads::Bam(bam) => bam.put(out),
            Reads::Fastq(fastq) => {
                fastq.put(out);
                Ok(())
            }
        }
    }
}

/// Reads on their way, mate behind mate.
pub struct Spots {
    name: String,
    reads: Reads,
    paired: bool,
    skip: bool,
}

impl std::fmt::Debug for Spots {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spots").field("name", &self.name).field("paired", &self.paired).finish()
    }
}

impl Spots {
    /// Reads of a BAM, aligned or not; its header and first read are read now.
    ///
    /// # Errors
    /// It is no BAM, it is damaged, or reading fails.
    pub fn of_bam(source: Source) -> Result<Spots> {
        let name = source.name;
        let at = |error: Error| error.at(&name);
        let mut bam =
            Bam::open(BufReader::with_capacity(BUFFER, Bgzf::new(source.read))).map_err(at)?;
        let paired = matches!(bam.first().map_err(at)?, Some(Part::Mate(_)));
        Ok(Spots { name, reads: Reads::Bam(Box::new(bam)), paired, skip: false })
    }

    /// Reads of FASTQ in which those of one spot follow each other under one name, up to its first
    /// space, as sra-tools write it.
    ///
    /// # Errors
    /// It is no FASTQ, or reading fails.
    pub fn of_fastq(source: Source) -> Result<Spots> {
        let name = source.name;
        let (fastq, paired) = Fastq::open(source.read).map_err(|error| error.at(&name))?;
        Ok(Spots { name, reads: Reads::Fastq(fastq), paired, skip: false })
    }

    /// Whether the first read is one of a pair.
    #[must_use]
    pub fn paired(&self) -> bool {
        self.paired
    }

    /// Whether it says of itself that it is in the order of a reference, so mates are far apart.
    #[must_use]
    pub fn by_place(&self) -> bool {
        matches!(&self.reads, Reads::Bam(bam) if bam.by_place)
    }

    /// Takes pairs alone: leaves reads out that have no mate beside them.
    #[must_use]
    pub fn pairs_alone(self) -> Spots {
        Spots { skip: true, paired: true, ..self }
    }

    pub(crate) fn shape(&self) -> Shape {
        if self.paired { Shape::Paired } else { Shape::Single }
    }

    /// Begins to read: an input for each mate, and how many reads were left out, once they end.
    pub(crate) fn start(self) -> (Vec<Input>, Arc<AtomicU64>) {
        let fed = (0..self.shape().files()).map(|_| Input::fed(self.name.clone(), false));
        let (feeds, inputs): (Vec<Feed>, Vec<Input>) = fed.unzip();
        let left_out = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&left_out);
        std::thread::spawn(move || self.run(feeds, &count));
        (inputs, left_out)
    }

    fn run(mut self, mut feeds: Vec<Feed>, left_out: &AtomicU64) {
        let mut deal = Deal::new(feeds.len(), self.skip);
        let end = self.all(&mut deal, &mut feeds).map_err(|error| error.at(&self.name));
        left_out.store(deal.left_out, Relaxed);
        for feed in feeds {
            // Whichever is waited for has to hear of it.
            feed.end(end.as_ref().copied().map_err(|e| Error::new(e.kind, e.message.clone())));
        }
    }

    fn all(&mut self, deal: &mut Deal, feeds: &mut [Feed]) -> Result<()> {
        while let Some(part) = self.reads.next()? {
            deal.push(self.reads.name(), part, |out| self.reads.put(out))?;
            // Whoever wanted this may be gone.
            if deal.full() && !deal.send(feeds) {
                return Ok(());
            }
        }
        deal.end()?;
        deal.send(feeds);
        Ok(())
    }
}

/// What went wrong below: a system that refuses, or bytes that are not what they should be.
fn broken(error: std::io::Error) -> Error {
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
fn exactly(from: &mut impl std::io::Read, len: usize, into: &mut Vec<u8>) -> Result<()> {
    into.clear();
    let got = from.take(len as u64).read_to_end(into).map_err(broken)?;
    if got == len { Ok(()) } else { Err(broken(std::io::ErrorKind::UnexpectedEof.into())) }
}
