//! The seal of a text: a checksum in it that tells whether anybody changed it since. It guards
//! against a mistake, not against malice.

use std::ops::Range;

use flate2::Crc;

const MARK: &str = "forebay-seal:";
const DIGITS: usize = 8;
/// What stands in a text for its seal until it has one.
pub(crate) const UNSEALED: &str = "forebay-seal:00000000";

/// The text with the seal in its place, which is the first there is.
pub(crate) fn seal_text(mut text: String) -> String {
    if let Some(place) = find_seal(text.as_bytes()) {
        let sum = seal_checksum(text.as_bytes(), &place);
        text.replace_range(place, &sum);
    }
    text
}

/// Whether there is a seal, and it is whole.
pub(super) fn is_sealed(text: &[u8]) -> bool {
    find_seal(text)
        .is_some_and(|place| text[place.clone()] == *seal_checksum(text, &place).as_bytes())
}

fn find_seal(text: &[u8]) -> Option<Range<usize>> {
    let mark = text.windows(MARK.len()).position(|part| part == MARK.as_bytes())?;
    let start = mark + MARK.len();
    (start + DIGITS <= text.len()).then_some(start..start + DIGITS)
}

/// Of all but the seal itself.
fn seal_checksum(text: &[u8], seal: &Range<usize>) -> String {
    let mut sum = Crc::new();
    sum.update(&text[..seal.start]);
    sum.update(&text[seal.end..]);
    format!("{:08x}", sum.sum())
}

#[cfg(test)]
mod tests {
    //! If these fail, what somebody wrote by hand is taken for Forebay's and lost.
    use super::*;

    #[test]
    fn a_seal_breaks_with_any_change() {
        let text = seal_text(format!("# {UNSEALED}\n[[rules]]\nhome = \"nvme\"\n"));
        assert!(is_sealed(text.as_bytes()) && !text.contains(UNSEALED), "{text}");
        for at in 0..text.len() {
            let mut other = text.clone().into_bytes();
            other[at] ^= 1;
            assert!(!is_sealed(&other), "{}", String::from_utf8_lossy(&other));
            assert!(!is_sealed(&text.as_bytes()[..at]));
        }
        assert!(!is_sealed((text + "\n").as_bytes()));
        assert!(!is_sealed(b"notes of mine") && !is_sealed(MARK.as_bytes()) && !is_sealed(b""));
    }

    #[test]
    fn a_text_without_a_place_stays_as_it_is() {
        assert_eq!(seal_text("{}".to_owned()), "{}");
    }
}
