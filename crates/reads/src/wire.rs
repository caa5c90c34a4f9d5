//! Numbers and strings as they lie in an archive: varints (7 bits a byte, the lowest first), and
//! bytes with their length before them. Reading checks every length; it allocates nothing that the
//! input does not hold.

use crate::error::{Error, Result};

/// Appends a number.
pub(crate) fn append_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends bytes with their length.
pub(crate) fn append_prefixed_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    append_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Bytes that are read from the front.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WireReader<'a> {
    rest: &'a [u8],
}

fn truncated_error() -> Error {
    Error::damaged("it ends too early")
}

impl<'a> WireReader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> WireReader<'a> {
        WireReader { rest: bytes }
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn read_byte(&mut self) -> Result<u8> {
        let (&first, rest) = self.rest.split_first().ok_or_else(truncated_error)?;
        self.rest = rest;
        Ok(first)
    }

    #[inline]
    pub(crate) fn read_varint(&mut self) -> Result<u64> {
        // Most numbers are small.
        if let Some((&first @ 0..0x80, rest)) = self.rest.split_first() {
            self.rest = rest;
            return Ok(u64::from(first));
        }
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.read_byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Error::damaged("a number is too long"))
    }

    /// A number that may not be above `most`.
    pub(crate) fn read_bounded_varint(&mut self, most: usize) -> Result<usize> {
        let number = usize::try_from(self.read_varint()?).unwrap_or(usize::MAX);
        match number <= most {
            true => Ok(number),
            false => Err(Error::damaged(format!("a number is {number}, at most {most} can be"))),
        }
    }

    pub(crate) fn read_slice(&mut self, len: usize) -> Result<&'a [u8]> {
        let (head, rest) = self.rest.split_at_checked(len).ok_or_else(truncated_error)?;
        self.rest = rest;
        Ok(head)
    }

    pub(crate) fn read_array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let bytes = self.read_slice(N)?;
        Ok(bytes.try_into().expect("as many as were asked for"))
    }

    pub(crate) fn read_prefixed_bytes(&mut self) -> Result<&'a [u8]> {
        let len = self.read_bounded_varint(self.rest.len())?;
        self.read_slice(len)
    }

    pub(crate) fn read_string(&mut self) -> Result<String> {
        let bytes = self.read_prefixed_bytes()?.to_vec();
        String::from_utf8(bytes).map_err(|_| Error::damaged("a name is not UTF-8"))
    }

    pub(crate) fn expect_end(&self) -> Result<()> {
        match self.rest {
            [] => Ok(()),
            rest => Err(Error::damaged(format!("{} bytes too many", rest.len()))),
        }
    }
}
