//! A name in pieces: numbers, and what lies between.

/// Places that a name can have; what comes after them is one piece.
pub(super) const PLACES_MAX: usize = 48;

/// A piece of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) text: &'a [u8],
    /// Its value, if digits of the value are the piece: no zeros in front, at most nine digits.
    pub(super) number: Option<u32>,
}

/// Cuts a name up.
pub(super) fn split_tokens<'a>(name: &'a [u8], found: &mut Vec<Token<'a>>) {
    found.clear();
    let mut rest = name;
    while let Some(first) = rest.first() {
        if let Some((text, after)) = leading_uuid(rest).filter(|_| found.len() + 1 < PLACES_MAX) {
            found.push(Token { text, number: None });
            rest = after;
            continue;
        }
        let digits = first.is_ascii_digit();
        let end = rest.iter().position(|byte| byte.is_ascii_digit() != digits);
        let end = end.filter(|_| found.len() + 1 < PLACES_MAX).unwrap_or(rest.len());
        let (text, after) = rest.split_at(end);
        found.push(Token { text, number: parse_number(text) });
        rest = after;
    }
}

/// A UUID at the front (RFC 9562), as nanopores name reads: its digits and letters are one piece.
fn leading_uuid(text: &[u8]) -> Option<(&[u8], &[u8])> {
    const DASHES: [usize; 4] = [8, 13, 18, 23];
    let (uuid, after) = text.split_at_checked(36)?;
    let is_one = uuid.iter().enumerate().all(|(at, byte)| match DASHES.contains(&at) {
        true => *byte == b'-',
        false => byte.is_ascii_hexdigit(),
    });
    is_one.then_some((uuid, after))
}

fn parse_number(text: &[u8]) -> Option<u32> {
    let plain = text.len() <= 9 && text.iter().all(u8::is_ascii_digit);
    if !plain || text.len() > 1 && text[0] == b'0' {
        return None;
    }
    Some(text.iter().fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0')))
}

/// 00 to 99.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8];
        number += 1;
    }
    pairs
};

/// Writes a number as [`split_tokens`] reads it.
pub(super) fn push_digits(mut number: u32, out: &mut Vec<u8>) {
    let mut text = [0; 10];
    let mut at = text.len();
    while number >= 10 {
        at -= 2;
        text[at..at + 2].copy_from_slice(&PAIRS[(number % 100) as usize]);
        number /= 100;
    }
    if number > 0 || at == text.len() {
        at -= 1;
        text[at] = b'0' + number as u8;
    }
    out.extend_from_slice(&text[at..]);
}
