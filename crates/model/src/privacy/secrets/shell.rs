//! The words of a shell's text, with their places: as far as it takes to find secrets. What it is
//! not: a shell; nothing is expanded.

use std::ops::Range;

/// The simple commands of a text, each as the places of its words without their quotes.
pub(super) fn split_commands(text: &[u8]) -> Vec<Vec<Range<usize>>> {
    let (mut all, mut words) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'\n' | b';' | b'|' | b'&' | b'(' | b')' | b'`' => {
                all.push(std::mem::take(&mut words));
                at += 1;
            }
            byte if byte.is_ascii_whitespace() => at += 1,
            _ => {
                let end = word_end(text, at);
                words.push(unquoted_range(text, at..end));
                at = end;
            }
        }
    }
    all.push(words);
    all
}

/// Where the word that begins at `at` ends. A quote that nobody closes goes to the end.
fn word_end(text: &[u8], mut at: usize) -> usize {
    while at < text.len() {
        match text[at] {
            b'\\' => at += 2,
            quote @ (b'"' | b'\'') => {
                at += 1;
                while at < text.len() && text[at] != quote {
                    at += if text[at] == b'\\' && quote == b'"' { 2 } else { 1 };
                }
                at += 1;
            }
            b';' | b'|' | b'&' | b'(' | b')' | b'`' => break,
            byte if byte.is_ascii_whitespace() => break,
            _ => at += 1,
        }
    }
    at.min(text.len())
}

fn unquoted_range(text: &[u8], word: Range<usize>) -> Range<usize> {
    let bytes = &text[word.clone()];
    match bytes {
        [first @ (b'"' | b'\''), .., last] if first == last => word.start + 1..word.end - 1,
        _ => word,
    }
}
