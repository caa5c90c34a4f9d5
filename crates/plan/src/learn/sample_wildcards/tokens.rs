//! Words of a file name, and what stands between them.

/// Whether this is part of a word: `hs` and `#` are the words of `hs_#`, `fq` that of `.fq`.
pub(super) fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '#' | '*' | '\u{fffd}')
}

/// Where the words of a text begin and end, in bytes.
pub(super) fn word_ranges(text: &str) -> Vec<std::ops::Range<usize>> {
    let mut words: Vec<std::ops::Range<usize>> = Vec::new();
    for (at, c) in text.char_indices().filter(|(_, c)| is_word_char(*c)) {
        let end = at + c.len_utf8();
        match words.last_mut() {
            Some(word) if word.end == at => word.end = end,
            _ => words.push(at..end),
        }
    }
    words
}

/// Beginnings of a text that end with a word, the shortest first; none if it begins with no word.
pub(super) fn word_prefixes(text: &str) -> impl Iterator<Item = &str> {
    let starts_with_word = text.chars().next().is_some_and(is_word_char);
    let words = if starts_with_word { word_ranges(text) } else { Vec::new() };
    words.into_iter().map(move |word| &text[..word.end])
}

/// What is before the ending of a file name, `hs_#` of `hs_#.fastq.gz`, and the ending.
pub(super) fn stem_and_extension(name: &str) -> (&str, &str) {
    const PRESSED: [&str; 4] = ["gz", "bz#", "xz", "zst"];
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    match stem.rsplit_once('.') {
        Some((stem, ending)) if PRESSED.contains(&extension_of(name)) => (stem, ending),
        _ => (stem, ending),
    }
}

fn extension_of(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(_, ending)| ending)
}
