//! Packed texts that follow each other in one file, as bgzip, pzstd and joined lanes have them. What
//! is behind the last one may be zeros, which tapes, dd and tar put there: they are none of the text.

use std::io::{BufRead, Error, ErrorKind, Read, Result};

use bzip2::bufread::BzDecoder;
use flate2::bufread::GzDecoder;
use zstd::stream::read::Decoder;

/// What unpacks one of them, and leaves its source behind its end.
pub(crate) trait MemberDecoder<R>: Read + Sized {
    /// What it is called, and the first bytes that it may have.
    const CALLED: (&'static str, &'static [u8]);

    fn from_source(source: R) -> Result<Self>;
    fn into_source(self) -> R;
}

impl<R: BufRead> MemberDecoder<R> for GzDecoder<R> {
    const CALLED: (&'static str, &'static [u8]) = ("gzip", b"\x1f");

    fn from_source(source: R) -> Result<Self> {
        Ok(GzDecoder::new(source))
    }

    fn into_source(self) -> R {
        self.into_inner()
    }
}

impl<R: BufRead> MemberDecoder<R> for BzDecoder<R> {
    const CALLED: (&'static str, &'static [u8]) = ("bzip2", b"B");

    fn from_source(source: R) -> Result<Self> {
        Ok(BzDecoder::new(source))
    }

    fn into_source(self) -> R {
        self.into_inner()
    }
}

impl<R: BufRead> MemberDecoder<R> for Decoder<'static, R> {
    // Frames, and those that are skipped.
    const CALLED: (&'static str, &'static [u8]) = ("zstd", b"\x28PQRSTUVWXYZ[\\]^_");

    fn from_source(source: R) -> Result<Self> {
        Ok(Decoder::with_buffer(source)?.single_frame())
    }

    fn into_source(self) -> R {
        self.finish()
    }
}

/// All of them, one behind the other.
pub(crate) struct MemberReader<R, M> {
    /// None while one is open, and behind what can't be unpacked.
    source: Option<R>,
    open: Option<M>,
    begun: bool,
}

impl<R: BufRead, M: MemberDecoder<R>> MemberReader<R, M> {
    pub(crate) fn new(source: R) -> MemberReader<R, M> {
        MemberReader { source: Some(source), open: None, begun: false }
    }

    /// Opens the next one: whether there is one.
    fn open_next(&mut self) -> Result<bool> {
        let Some(source) = &mut self.source else { return Ok(false) };
        // The first one may be anything: its decoder says what is wrong with it.
        let ended = match std::mem::replace(&mut self.begun, true) {
            true => is_at_end(source, M::CALLED)?,
            false => source.fill_buf()?.is_empty(),
        };
        if !ended && let Some(source) = self.source.take() {
            self.open = Some(M::from_source(source)?);
        }
        Ok(!ended)
    }
}

impl<R: BufRead, M: MemberDecoder<R>> Read for MemberReader<R, M> {
    fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        while self.open.is_some() || self.open_next()? {
            let Some(open) = &mut self.open else { break };
            let got = open.read(out)?;
            if got > 0 || out.is_empty() {
                return Ok(got);
            }
            self.source = self.open.take().map(M::into_source);
        }
        Ok(0)
    }
}

/// Whether nothing follows but zeros.
fn is_at_end(source: &mut impl BufRead, (name, first): (&str, &[u8])) -> Result<bool> {
    let mut zeros = 0_u64;
    loop {
        let bytes = match source.fill_buf() {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            bytes => bytes?,
        };
        let Some(begins) = bytes.first() else { return Ok(true) };
        if zeros == 0 && first.contains(begins) {
            return Ok(false);
        }
        if bytes.iter().any(|byte| *byte != 0) {
            let words = format!("behind all that is {name} something else follows");
            return Err(Error::new(ErrorKind::InvalidData, words));
        }
        let len = bytes.len();
        zeros += len as u64;
        source.consume(len);
    }
}

#[cfg(test)]
mod tests {
    //! Text of a second member that is left out, or a file that is refused for zeros at its end.
    use std::io::{BufReader, Write};

    use super::*;

    fn read(bytes: &[u8]) -> Result<Vec<u8>> {
        let mut text = Vec::new();
        // Small, so that what follows is cut anywhere.
        let source = BufReader::with_capacity(3, bytes);
        MemberReader::<_, GzDecoder<_>>::new(source).read_to_end(&mut text).map(|_| text)
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(text).expect("memory");
        packer.finish().expect("memory")
    }

    #[test]
    fn zeros_end_a_file_and_nothing_else_does() {
        let whole = [gzip(b"one "), gzip(b""), gzip(b"two")].concat();
        for zeros in [0, 1, 2, 3, 4, 100, 10_240] {
            let padded = [&whole[..], &vec![0; zeros]].concat();
            let text = read(&padded);
            assert_eq!(text.expect("padded"), b"one two", "{zeros} zeros");
            for rest in [&b"x"[..], b"@plain\n", b"\x1f\x8b"] {
                let wrong = [&padded[..], rest].concat();
                let error = read(&wrong).expect_err("something else");
                assert!(zeros == 0 || error.to_string().contains("behind all that is gzip"));
            }
        }
        assert!(read(&whole[..whole.len() - 1]).is_err(), "cut off");
        assert!(read(&[0; 100]).is_err(), "nothing but zeros");
        assert_eq!(read(b"").expect("nothing"), b"");
    }
}
