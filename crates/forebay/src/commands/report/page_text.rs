//! Text for a page: names as they are, with nothing in them that acts.

pub(super) use crate::name_escaping::escape_name;

/// So many characters of a text are shown.
const LONGEST: usize = 300;

/// The words of a command as one line.
pub(super) fn command_text(words: &[Vec<u8>]) -> String {
    let words = words.iter().map(|word| {
        let word = escape_name(word);
        let plain = !word.is_empty() && !word.contains([' ', '\'', '"', '$', '`']);
        if plain { word } else { format!("'{}'", word.replace('\'', r"'\''")) }
    });
    cut_long_text(words.collect::<Vec<_>>().join(" "))
}

/// The beginning of a text that is too long.
pub(super) fn cut_long_text(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(LONGEST) {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// Text between tags, or in an attribute.
pub(super) fn escape_html(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c => safe.push(c),
        }
    }
    safe
}

/// JSON that may stand in a script: the same data, without a character that could end one.
pub(super) fn script_safe(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            // They are in strings only: JSON's own characters are others.
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                safe.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    //! If these fail, a file name can run a script in the browser of whoever reads a report.
    use super::*;

    #[test]
    fn names_in_a_page_are_texts() {
        for (bytes, text) in [
            (&b"a b.bam"[..], "a b.bam"),
            (b"<script>", "<script>"),
            (b"two\nlines\t", r"two\nlines\t"),
            (b"\xffa\xc3", r"\xffa\xc3"),
            (b"C:\\x", r"C:\\x"),
            (b"\x1b[31m\x7f", r"\x1b[31m\x7f"),
            ("é\u{202e}gpj".as_bytes(), r"é\u{202e}gpj"),
            ("\u{85}\u{2028}".as_bytes(), r"\u{85}\u{2028}"),
        ] {
            assert_eq!(escape_name(bytes), text);
        }
        let words = [&b"sh"[..], b"-c", b"echo 'a'", b""].map(<[u8]>::to_vec);
        assert_eq!(command_text(&words), r"sh -c 'echo '\''a'\''' ''");
        assert_eq!(cut_long_text("ä".repeat(400)).chars().count(), LONGEST + 1);
    }

    #[test]
    fn nothing_ends_a_script_or_a_tag() {
        assert_eq!(escape_html(r#"<a b="c'&">"#), "&lt;a b=&quot;c&#39;&amp;&quot;&gt;");
        let json = serde_json::json!(["</script><!--&\u{2028}\u{2029}"]).to_string();
        let safe = script_safe(&json);
        assert!(!safe.contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "{safe}");
        let back: serde_json::Value = serde_json::from_str(&safe).expect("JSON still");
        assert_eq!(back, serde_json::from_str::<serde_json::Value>(&json).expect("JSON"));
    }
}
