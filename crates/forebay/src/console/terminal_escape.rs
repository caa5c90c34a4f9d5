//! The last door before a terminal: whatever a file, a program or a server is called or says, what
//! would move the cursor, change the title or turn the direction of the text is told, not done. Who
//! writes the name of a file into words makes it harmless before (`name_escaping`); here nothing is
//! missed.

use std::borrow::Cow;

/// Colours that we use ourselves, where there are any.
const OURS: [&str; 9] = ["0", "1", "2", "4", "31", "32", "33", "36", "39"];

/// Text without control characters, but for lines, tabs and, with `colours`, our own colours. What
/// is not an ASCII character is told as JSON tells it, so that JSON stays what it was.
pub(super) fn escape_harmful(text: &str, colours: bool) -> Cow<'_, str> {
    if !text.chars().any(is_harmful) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let length = match own_colour_length(rest).filter(|_| colours) {
            Some(length) => {
                out.push_str(&rest[..length]);
                length
            }
            None => {
                push_escaped(&mut out, next);
                next.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    out.into()
}

fn push_escaped(out: &mut String, next: char) {
    let code = u32::from(next);
    match next {
        _ if !is_harmful(next) => out.push(next),
        _ if code < 0x20 => out.push_str(&format!("\\x{code:02x}")),
        _ => out.push_str(&format!("\\u{code:04x}")),
    }
}

/// The length of one of our own colours at the beginning.
fn own_colour_length(text: &str) -> Option<usize> {
    let (code, _) = text.strip_prefix("\x1b[")?.split_once('m')?;
    OURS.contains(&code).then_some(code.len() + 3)
}

/// Control characters of C0 and C1; marks and overrides of direction; ends of lines that terminals
/// need not know.
fn is_harmful(next: char) -> bool {
    let is_mark = matches!(
        next,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    is_mark || next.is_control() && !matches!(next, '\n' | '\t')
}

#[cfg(test)]
mod tests {
    //! If these fail, what a server answers can write to the terminal of whoever mounts its bucket.
    use super::*;

    #[test]
    fn nothing_but_words_lines_and_our_own_colours_passes() {
        let said = "\x1b[31mforebay:\x1b[0m a\x1b]0;PWN\x07b\r\x1b[8mx\x7f\u{9b}2J\u{202e}t\n\tö";
        let plain = "\\x1b[31mforebay:\\x1b[0m a\\x1b]0;PWN\\x07b\\x0d\\x1b[8mx\\u007f\\u009b2J\\u202et\n\tö";
        assert_eq!(escape_harmful(said, false), plain);
        let coloured = plain.replace("\\x1b[31m", "\x1b[31m").replace("\\x1b[0m", "\x1b[0m");
        assert_eq!(escape_harmful(said, true), coloured);
        assert!(
            matches!(escape_harmful("größe\n", false), Cow::Borrowed(_)),
            "words are not copied"
        );
        assert_eq!(escape_harmful("\x1b[31", true), "\\x1b[31");
    }

    #[test]
    fn json_stays_what_it_was() {
        let value = serde_json::json!({"name": "a\x1b\u{9b}\u{7f}\u{2067}\n\t\\\"ö"});
        let text = escape_harmful(&value.to_string(), false).into_owned();
        assert!(!text.chars().any(is_harmful), "{text}");
        let again: serde_json::Value = serde_json::from_str(&text).expect("JSON still");
        assert_eq!(again, value);
    }
}
