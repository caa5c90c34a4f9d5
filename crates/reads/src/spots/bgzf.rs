//! The gzip of BAM (SAM specification, section 4.1), block behind block. Whether its last block is
//! there is looked at: without it, a file that was cut between two blocks would look whole.

use std::io::{BufRead as _, BufReader, Error, ErrorKind, Read, Result};

use noodles_bgzf::io::Reader;

use crate::bgzf::END;

/// Bytes that are read at a time.
const BUFFER: usize = 64 << 10;
/// The last block, but for the zeros in which it ends.
const END_BEFORE_ZEROS: &[u8] = END.split_at(19).0;
/// Those zeros.
const ZEROS_OF_END: u64 = (END.len() - END_BEFORE_ZEROS.len()) as u64;

/// What is unpacked.
pub(super) struct BgzfReader(Reader<BufReader<Tail>>);

impl BgzfReader {
    /// Looks whether it begins as such a gzip.
    pub(super) fn open(source: Box<dyn Read + Send>) -> Result<BgzfReader> {
        let tail = Tail { source, last: Vec::new(), zeros: 0, seen: 0 };
        let mut source = BufReader::with_capacity(BUFFER, tail);
        let begins = source.fill_buf()?;
        let same = begins.iter().zip(&END).take(4).all(|(byte, other)| byte == other);
        if !same {
            let words = "its gzip is not BGZF, which BAM has; `samtools view -b` makes that of it";
            return Err(Error::other(words));
        }
        Ok(BgzfReader(Reader::new(source)))
    }

    /// What stands behind the blocks that were read.
    fn look_behind(&mut self) -> Result<Behind> {
        std::io::copy(self.0.get_mut(), &mut std::io::sink())?;
        let (tail, read) = (self.0.get_ref().get_ref(), self.0.position());
        Ok(match tail.end_of_last_block() {
            Some(end) if end == read => Behind::End,
            _ if tail.seen - tail.zeros <= read => Behind::Zeros,
            _ => Behind::Other,
        })
    }
}

/// What stands behind some blocks.
enum Behind {
    /// Nothing, or zeros; and the last block is there.
    End,
    /// The same without it.
    Zeros,
    Other,
}

impl Read for BgzfReader {
    fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        let read = self.0.read(out);
        let ends = match &read {
            Ok(got) => *got == 0 && !out.is_empty(),
            // Zeros are no block.
            Err(error) => matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::UnexpectedEof),
        };
        if !ends {
            return read;
        }
        match (self.look_behind()?, read) {
            (Behind::End, _) => Ok(0),
            (Behind::Other, Err(error)) => Err(error),
            _ => Err(Error::new(ErrorKind::UnexpectedEof, "its last block is not there")),
        }
    }
}

/// A source of which the last bytes are known.
struct Tail {
    source: Box<dyn Read + Send>,
    /// The last ones up to one that is not zero.
    last: Vec<u8>,
    /// Zeros behind them.
    zeros: u64,
    seen: u64,
}

impl Tail {
    fn note(&mut self, bytes: &[u8]) {
        const KEPT: usize = END_BEFORE_ZEROS.len();
        self.seen += bytes.len() as u64;
        let Some(at) = bytes.iter().rposition(|byte| *byte != 0) else {
            self.zeros += bytes.len() as u64;
            return;
        };
        let (text, zeros) = bytes.split_at(at + 1);
        self.last.extend(std::iter::repeat_n(0, self.zeros.min(KEPT as u64) as usize));
        self.last.extend_from_slice(&text[text.len().saturating_sub(KEPT)..]);
        self.last.drain(..self.last.len().saturating_sub(KEPT));
        self.zeros = zeros.len() as u64;
    }

    /// The byte behind the last block, whatever zeros follow; none if it is not there.
    fn end_of_last_block(&self) -> Option<u64> {
        let whole = self.last == END_BEFORE_ZEROS && self.zeros >= ZEROS_OF_END;
        whole.then(|| self.seen - self.zeros + ZEROS_OF_END)
    }
}

impl Read for Tail {
    fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        let got = self.source.read(out)?;
        self.note(&out[..got]);
        Ok(got)
    }
}
