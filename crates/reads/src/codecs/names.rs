//! Names: each is told by what differs from the name before. Digits that go on are a number, what
//! lies between is text; each *place* in a name has streams of its own, so like comes to like.
//!
//! ```text
//! streams: id varint (place * 8 + what) | raw length varint | how u8 | length varint | bytes
//! ```
//! The column is names that each end in a line feed.

mod streams;
mod tokens;

use memchr::memchr_iter;

use super::{Codec, ColumnShape, OpenColumn};
use crate::error::{Error, Result};
use streams::{StreamReader, StreamWriter};
use tokens::{Token, split_tokens};

pub(super) const CODEC: Codec =
    Codec { id: 5, since: 1, name: "names", encode: encode_names, open: open_names };

/// The same where nothing else would be smaller, so that nothing else need be tried: zstd makes a
/// fifth of names at best.
pub(super) const SURE: Codec = Codec {
    encode: |raw, shape| encode_names(raw, shape).filter(|bytes| bytes.len() < raw.len() / 5),
    ..CODEC
};

/// What a stream holds.
const KIND: usize = 0;
const STEP: usize = 1;
/// Four streams, one for each byte of a number, the lowest first.
const NUMBER: usize = 2;
const TEXT: usize = 6;
/// How many places at the front are as before; of the whole name, so only place 0 has it.
const LEAD: usize = 7;

/// What stands at a place.
const END: u8 = 0;
const SAME: u8 = 1;
/// The number before and 1 to 255 more.
const MORE: u8 = 2;
const DIGITS: u8 = 3;
const WORD: u8 = 4;

fn encode_names(raw: &[u8], shape: &ColumnShape<'_>) -> Option<Vec<u8>> {
    let mut writer = StreamWriter::default();
    let (mut before, mut now): (Vec<Token<'_>>, Vec<Token<'_>>) = Default::default();
    let (mut start, mut count) = (0, 0);
    for end in memchr_iter(b'\n', raw) {
        split_tokens(&raw[start..end], &mut now);
        let same = now.iter().zip(&before).take_while(|(a, b)| a.text == b.text).count();
        writer.append_to_stream(0, LEAD, &[same as u8]);
        for (place, token) in now.iter().enumerate().skip(same) {
            write_token(&mut writer, place, *token, before.get(place).copied());
        }
        writer.append_to_stream(now.len(), KIND, &[END]);
        std::mem::swap(&mut before, &mut now);
        (start, count) = (end + 1, count + 1);
    }
    (count == shape.lengths.len() && start == raw.len()).then(|| writer.into_bytes())
}

fn write_token(
    writer: &mut StreamWriter,
    place: usize,
    token: Token<'_>,
    before: Option<Token<'_>>,
) {
    if before.is_some_and(|before| before.text == token.text) {
        return writer.append_to_stream(place, KIND, &[SAME]);
    }
    let Some(number) = token.number else {
        writer.append_to_stream(place, KIND, &[WORD]);
        writer.append_to_stream(place, TEXT, token.text);
        return writer.append_to_stream(place, TEXT, b"\n");
    };
    let step = before.and_then(|before| number.checked_sub(before.number?));
    if let Some(step @ 1..=255) = step {
        writer.append_to_stream(place, KIND, &[MORE]);
        return writer.append_to_stream(place, STEP, &[step as u8]);
    }
    writer.append_to_stream(place, KIND, &[DIGITS]);
    for (at, byte) in number.to_le_bytes().into_iter().enumerate() {
        writer.append_to_stream(place, NUMBER + at, &[byte]);
    }
}

/// A place of the name before: where it lies in that name, and its number.
#[derive(Clone, Copy, Debug, Default)]
struct TokenSpan {
    start: usize,
    end: usize,
    number: Option<u32>,
}

fn open_names(bytes: &[u8], shape: &ColumnShape<'_>) -> Result<OpenColumn> {
    let mut streams = StreamReader::new(bytes, shape)?;
    let mut raw = Vec::with_capacity(shape.raw_len);
    let mut places: Vec<TokenSpan> = Vec::new();
    let mut before = 0;
    for _ in shape.lengths {
        let start = raw.len();
        let lead = usize::from(streams.read_byte(0, LEAD)?);
        if lead > places.len() {
            return Err(Error::damaged("a name has more in common than there is"));
        }
        let mut place = lead;
        if let Some(last) = lead.checked_sub(1) {
            raw.extend_from_within(before..before + places[last].end);
        }
        loop {
            let old = places.get(place).copied();
            let from = raw.len() - start;
            let number = match streams.read_byte(place, KIND)? {
                END => break,
                SAME => {
                    let old = old.ok_or_else(|| Error::damaged("nothing to be the same as"))?;
                    raw.extend_from_within(before + old.start..before + old.end);
                    old.number
                }
                MORE => {
                    let old = old.and_then(|old| old.number).unwrap_or(0);
                    Some(old.wrapping_add(u32::from(streams.read_byte(place, STEP)?)))
                }
                DIGITS => {
                    let mut bytes = [0; 4];
                    for (at, byte) in bytes.iter_mut().enumerate() {
                        *byte = streams.read_byte(place, NUMBER + at)?;
                    }
                    Some(u32::from_le_bytes(bytes))
                }
                WORD => {
                    raw.extend_from_slice(streams.read_line(place, TEXT)?);
                    None
                }
                _ => return Err(Error::damaged("a kind of place that there is not")),
            };
            if raw.len() - start == from
                && let Some(number) = number
            {
                tokens::push_digits(number, &mut raw);
            }
            let new = TokenSpan { start: from, end: raw.len() - start, number };
            match places.get_mut(place) {
                Some(slot) => *slot = new,
                None => places.push(new),
            }
            place += 1;
            // An honest name is no longer than the column; this one would never end.
            if raw.len() >= shape.raw_len {
                break;
            }
        }
        places.truncate(place);
        before = start;
        raw.push(b'\n');
        if raw.len() > shape.raw_len {
            return Err(Error::damaged("names are longer than their column"));
        }
    }
    Ok(OpenColumn::whole(raw))
}
