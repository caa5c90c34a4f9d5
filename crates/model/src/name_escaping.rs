//! Names of files, tasks and programs as people may see them: what would move a cursor, change a
//! colour, or turn the direction of the text is told, not done.

use std::fmt::Write;

/// Bytes as text: control characters and what is not UTF-8 as `\n`, `\x1b`, `\xff`, characters that
/// are not seen as `\u{202e}`.
#[must_use]
pub fn escape_name(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        chunk.valid().chars().for_each(|c| push_escaped(&mut out, c));
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

/// Text of ours, in which names may stand: the same, but for backslashes, which stay as they are.
#[must_use]
pub fn escape_unprintable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '\\' { out.push(c) } else { push_escaped(&mut out, c) }
    }
    out
}

fn push_escaped(out: &mut String, c: char) {
    let code = u32::from(c);
    let _ = match c {
        '\n' => out.write_str("\\n"),
        '\t' => out.write_str("\\t"),
        '\r' => out.write_str("\\r"),
        '\\' => out.write_str("\\\\"),
        _ if code < 0x20 || code == 0x7f => write!(out, "\\x{code:02x}"),
        // A byte that is no UTF-8 is told otherwise: different names are shown differently.
        _ if c.is_control() || is_invisible_char(code) => write!(out, "\\u{{{code:x}}}"),
        _ => out.write_char(c),
    };
}

/// Joiners, marks of direction, line and paragraph ends, invisible operators, the byte order mark.
fn is_invisible_char(code: u32) -> bool {
    matches!(
        code,
        0xad | 0x61c
            | 0x180e
            | 0x200b..=0x200f
            | 0x2028..=0x202e
            | 0x2060..=0x206f
            | 0xfeff
            | 0xfff9..=0xfffb
            | 0xe0000..=0xe007f
    )
}

#[cfg(test)]
mod tests {
    //! If this fails, the name of a file can write to the terminal of whoever reads about it.
    use super::*;

    #[test]
    fn names_are_shown_and_do_nothing() {
        for (bytes, shown) in [
            (&b"out/map/1.bam"[..], "out/map/1.bam"),
            (b"a\x1b[2J\r\nb", "a\\x1b[2J\\r\\nb"),
            (b"<script>\"'&", "<script>\"'&"),
            (b"x\xffy\\", "x\\xffy\\\\"),
            ("r\u{202e}txt.exe \u{85}".as_bytes(), "r\\u{202e}txt.exe \\u{85}"),
            ("größe_日本".as_bytes(), "größe_日本"),
        ] {
            assert_eq!(escape_name(bytes), shown);
        }
    }

    #[test]
    fn what_was_escaped_is_not_escaped_again() {
        let name = escape_name(b"a\n\\b");
        assert_eq!(escape_unprintable(&format!("{name}: no\x1b[2J")), "a\\n\\\\b: no\\x1b[2J");
    }
}
