//! The gzip of BAM, read in a row. Whether its last block is there is looked at: without it, a file
//! that was cut between two blocks would look whole.

use std::io::{BufReader, Error, ErrorKind, Read, Result};

use flate2::bufread::GzDecoder;

use crate::bgzf::END as BGZF_END;
use crate::input::members::MemberReader;

/// Bytes that are read at a time.
const BUFFER: usize = 64 << 10;
/// The last block ends in so many zeros; those behind them are none of it.
const ZEROS: usize = 9;

type Source = BufReader<Tail>;

/// What is unpacked.
pub(super) struct BgzfReader(MemberReader<Source, GzDecoder<Source>>);

impl BgzfReader {
    pub(super) fn new(source: Box<dyn Read + Send>) -> BgzfReader {
        let tail = Tail { source, last: Vec::new() };
        BgzfReader(MemberReader::new(BufReader::with_capacity(BUFFER, tail)))
    }
}

impl Read for BgzfReader {
    fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        let got = self.0.read(out)?;
        let ends = || self.0.source().is_some_and(|source| source.get_ref().last == BGZF_END);
        if got == 0 && !out.is_empty() && !ends() {
            return Err(Error::new(ErrorKind::UnexpectedEof, "its last block is not there"));
        }
        Ok(got)
    }
}

/// A source of which the last bytes are known, but for zeros behind them.
struct Tail {
    source: Box<dyn Read + Send>,
    last: Vec<u8>,
}

impl Tail {
    fn note_tail(&mut self, bytes: &[u8]) {
        let zeros = |bytes: &[u8]| bytes.iter().rev().take_while(|byte| **byte == 0).count();
        let more = zeros(bytes);
        let (other, _) = bytes.split_at(bytes.len() - more);
        self.last.extend_from_slice(&other[other.len().saturating_sub(BGZF_END.len())..]);
        let room = ZEROS.saturating_sub(zeros(&self.last));
        self.last.resize(self.last.len() + more.min(room), 0);
        let old = self.last.len().saturating_sub(BGZF_END.len());
        self.last.drain(..old);
    }
}

impl Read for Tail {
    fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        let got = self.source.read(out)?;
        self.note_tail(&out[..got]);
        Ok(got)
    }
}
