//! Parts of names that a program drew by lot: they are others the next time.

/// A run of at least so many hexadecimal digits, with letters and digits, is a hash.
const HASH_BYTES_MIN: usize = 12;

pub(super) fn is_hex(bytes: &[u8]) -> bool {
    bytes.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

pub(super) fn is_hash(word: &[u8]) -> bool {
    word.len() >= HASH_BYTES_MIN
        && is_hex(word)
        && word.iter().any(u8::is_ascii_digit)
        && word.iter().any(u8::is_ascii_alphabetic)
}

/// Six letters and digits, as `mkstemp` and `mkdtemp` put them in place of `XXXXXX`: `rEVvUe` of
/// `construction_rEVvUe`. What reads as words, like `DnaSeq`, is taken for words.
pub(super) fn is_random_word(word: &[u8]) -> bool {
    let mixed =
        word.iter().any(u8::is_ascii_lowercase) && word.iter().skip(1).any(u8::is_ascii_uppercase);
    let reads = |part: &[u8]| {
        let vowel = part.iter().any(|byte| b"aeiouyAEIOUY".contains(byte));
        vowel && part.len() > 2 && part.iter().all(u8::is_ascii_alphabetic)
    };
    let words = || word.chunk_by(|_, next| !next.is_ascii_uppercase()).all(reads);
    word.len() == 6 && (has_number_before_letter(word) || mixed && !words())
}

/// Names that people give seldom go on after a number without a separator.
fn has_number_before_letter(word: &[u8]) -> bool {
    word.windows(2).any(|pair| pair[0].is_ascii_digit() && pair[1].is_ascii_alphabetic())
}

/// The eight characters that Python's `tempfile` draws for the end of a name: `0rdp3w2_` of
/// `spades_0rdp3w2_`.
pub(super) fn random_tail_length(part: &[u8]) -> Option<usize> {
    const DRAWN: usize = 8;
    let (before, tail) = part.split_at_checked(part.len().checked_sub(DRAWN)?)?;
    let fits = tail.iter().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_'));
    let apart = before.last().is_some_and(|b| matches!(b, b'_' | b'-' | b'.'));
    (apart && fits && has_number_before_letter(tail)).then_some(DRAWN)
}

pub(super) fn is_uuid(part: &[u8]) -> bool {
    part.len() == 36
        && part.iter().enumerate().all(|(i, b)| match i {
            8 | 13 | 18 | 23 => *b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

/// How much of a random temporary name stays: `tmp` of Python's `tmpa1b2c3d4`, `tmp.` of
/// `mktemp`'s `tmp.AbC123`, `sort` of GNU sort's `sortQzGgqi`.
pub(super) fn temporary_prefix_length(part: &[u8]) -> Option<usize> {
    if let Some(random) = part.strip_prefix(b"sort") {
        return is_random_word(random).then_some(4);
    }
    let rest = part.strip_prefix(b"tmp")?;
    if let Some(random) = rest.strip_prefix(b".") {
        let mixed = random.iter().any(u8::is_ascii_uppercase);
        let fits = matches!(random.len(), 6..=12) && random.iter().all(u8::is_ascii_alphanumeric);
        return (fits && mixed).then_some(4);
    }
    let python =
        rest.len() == 8 && rest.iter().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_'));
    (python && rest.iter().any(|b| b.is_ascii_digit() || *b == b'_')).then_some(3)
}
