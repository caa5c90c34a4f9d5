//! The gzip of BAM, read in a row. Whether its last block is there is looked at: without it, a file
//! that was cut between two blocks would look whole.

use std::io::{Error, ErrorKind, Read, Result};

use crate::shown::BGZF_END;

/// What is unpacked.
pub(super) struct Bgzf {
    gzip: flate2::read::MultiGzDecoder<Tail>,
}

impl Bgzf {
    pub(super) fn new(source: Box<dyn Read + Send>) -> Bgzf {
        Bgzf { gzip: flate2::read::MultiGzDecoder::new(Tail { source, last: Vec::new() }) }
    }
}

impl Read for Bgzf {
    fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        let got = self.gzip.read(out)?;
        if got == 0 && !out.is_empty() && self.gzip.get_ref().last != BGZF_END {
            return Err(Error::new(ErrorKind::UnexpectedEof, "its last block is not there"));
        }
        Ok(got)
    }
}

/// A source of which the last bytes are known.
struct Tail {
    source: Box<dyn Read + Send>,
    last: Vec<u8>,
}

impl Read for Tail {
    fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        let got = self.source.read(out)?;
        let new = &out[got.saturating_sub(BGZF_END.len())..got];
        let old = (self.last.len() + new.len()).saturating_sub(BGZF_END.len());
        self.last.drain(..old);
        self.last.extend_from_slice(new);
        Ok(got)
    }
}
