//! What a container says that it kept of its reads (CRAMv3, sections 7 and 8.4). Where it kept no
//! names, who decodes it makes some up, and no two programs the same.

use std::io::Read;

use flate2::read::GzDecoder;

use crate::error::Result;
use crate::original_files::object_reader::ObjectReader;

/// A container's compression header is mostly shorter than this.
const FRONT: u64 = 4 << 10;
/// Ways in which a block may lie there that are read here.
const RAW: u8 = 0;
const GZIP: u8 = 1;

/// Whether a container has names of its reads. Of one that can't be read that is not known, and left
/// to who decodes it.
pub(super) fn has_read_names(bytes: &ObjectReader, start: u64, len: u64) -> Result<bool> {
    let front = bytes.read_range(start, len.min(FRONT) as usize)?;
    let found = header_keeps_names(&front);
    if found.is_none() && len > FRONT {
        return Ok(header_keeps_names(&bytes.read_range(start, len as usize)?) != Some(false));
    }
    Ok(found != Some(false))
}

fn header_keeps_names(container: &[u8]) -> Option<bool> {
    let mut rest = container.get(4..)?;
    // Reference, place, length, reads.
    for _ in 0..4 {
        read_itf8(&mut rest)?;
    }
    // Reads and bases before it: longer numbers.
    for _ in 0..2 {
        let more = rest.first()?.leading_ones() as usize;
        rest = rest.get(1 + more..)?;
    }
    read_itf8(&mut rest)?;
    for _ in 0..read_itf8(&mut rest)? {
        read_itf8(&mut rest)?;
    }
    rest = rest.get(4..)?;
    let (method, mut rest) = (*rest.first()?, rest.get(2..)?);
    read_itf8(&mut rest)?;
    let (packed, len) = (read_itf8(&mut rest)? as usize, read_itf8(&mut rest)? as usize);
    let block = rest.get(..packed)?;
    match method {
        RAW => map_keeps_names(block),
        GZIP => {
            let mut text = Vec::new();
            GzDecoder::new(block).take(len as u64).read_to_end(&mut text).ok()?;
            map_keeps_names(&text)
        }
        _ => None,
    }
}

/// The preservation map: keys of two letters, and what belongs to each.
fn map_keeps_names(mut map: &[u8]) -> Option<bool> {
    read_itf8(&mut map)?;
    for _ in 0..read_itf8(&mut map)? {
        let (key, rest) = map.split_first_chunk::<2>()?;
        map = rest;
        let len = match key {
            b"RN" => return map.first().map(|kept| *kept != 0),
            b"SM" => 5,
            b"TD" => read_itf8(&mut map)? as usize,
            _ => 1,
        };
        map = map.get(len..)?;
    }
    // The specification's word for a map without it.
    Some(true)
}

/// A number of the format's own kind (ITF8): ones in front say how many bytes follow.
fn read_itf8(from: &mut &[u8]) -> Option<u32> {
    let first = *from.first()?;
    let more = first.leading_ones().min(4) as usize;
    let rest = from.get(1..=more)?;
    *from = from.get(1 + more..)?;
    let head = u32::from(first) & if more == 4 { 0x0f } else { 0x7f >> more };
    let tail = |bytes: &[u8]| bytes.iter().fold(head, |sum, byte| sum << 8 | u32::from(*byte));
    Some(match (more, rest) {
        // The last of five has four bits.
        (4, [start @ .., last]) => tail(start) << 4 | u32::from(last & 0x0f),
        _ => tail(rest),
    })
}

#[cfg(test)]
mod tests {
    //! Numbers that are read wrongly would lead anywhere in a header.
    use super::*;

    #[test]
    fn numbers_are_those_of_the_specification() {
        let cases: [(&[u8], u32); 7] = [
            (&[0x00], 0),
            (&[0x7f], 127),
            (&[0x80, 0x80], 128),
            (&[0xbf, 0xff], 0x3fff),
            (&[0xc0, 0x40, 0x00], 0x4000),
            (&[0xe4, 0x44, 0xfe, 0x01], 0x0444_fe01),
            (&[0xff, 0xff, 0xff, 0xff, 0x0f], u32::MAX),
        ];
        for (bytes, expected) in cases {
            let mut rest = bytes;
            assert_eq!((read_itf8(&mut rest), rest.len()), (Some(expected), 0), "{bytes:?}");
            assert_eq!(read_itf8(&mut &bytes[..bytes.len() - 1]), None, "{bytes:?}");
        }
        assert_eq!(map_keeps_names(b"\x0a\x03SM\0\0\0\0\0TD\x02ab\0"), None, "cut");
        assert_eq!(map_keeps_names(b"\x0a\x03SM\0\0\0\0\0TD\x02ab"), None, "cut");
        assert_eq!(map_keeps_names(b"\x0a\x03SM\0\0\0\0\0TD\x02abRN\0"), Some(false));
        assert_eq!(map_keeps_names(b"\x0a\x02AP\x01RN\x01"), Some(true));
        assert_eq!(map_keeps_names(b"\x03\x01AP\x01"), Some(true));
    }
}
