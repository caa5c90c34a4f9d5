//! Qualities of reads that are kept as text, such as those of which some have their name twice: they
//! lie among all else, so they are hidden where they are read.

use super::requested_columns::QUALITY;
use crate::error::{Error, Kind};
use crate::row_group::{is_blank_text, split_record};

/// Puts what stands in for a quality in place of each; None if it is not known which they are.
pub(super) fn mask_qualities(text: &mut [u8], spots: usize) -> Option<()> {
    if spots == 0 {
        return is_blank_text(text).then_some(());
    }
    let mut start = 0;
    while start < text.len() {
        let (whole, _) = split_record(&text[start..])?;
        let end = start + whole.len();
        let line = whole.strip_suffix(b"\n").unwrap_or(whole);
        let from = start + line.iter().rposition(|byte| *byte == b'\n')? + 1;
        let to = start + line.strip_suffix(b"\r").unwrap_or(line).len();
        text.get_mut(from..to)?.fill(QUALITY);
        start = end;
    }
    Some(())
}

/// What whoever wants such text without qualities is told.
pub(crate) fn no_lite_error(group: usize) -> Error {
    let words = "its text has no records of four lines, so nobody knows which are qualities";
    let words = format!("group {group}: {words}; without --lite it can be had as it is");
    Error::new(Kind::Request, words)
}

#[cfg(test)]
mod tests {
    //! Qualities that somebody may not see.
    use super::*;

    fn hidden(text: &str, spots: usize) -> Option<String> {
        let mut bytes = text.as_bytes().to_vec();
        mask_qualities(&mut bytes, spots)?;
        String::from_utf8(bytes).ok()
    }

    #[test]
    fn qualities_are_hidden_and_nothing_else() {
        let text = "@a\nAC\n+a\nIF\n@b\r\nACG\r\n+\r\n@@@\r\n@c\n\n+\n\n@d\nT\n+\n#";
        let expected = "@a\nAC\n+a\n??\n@b\r\nACG\r\n+\r\n???\r\n@c\n\n+\n\n@d\nT\n+\n?";
        assert_eq!(hidden(text, 4).as_deref(), Some(expected));
        assert_eq!(hidden("\n\r\n", 0).as_deref(), Some("\n\r\n"));
        assert_eq!(hidden(">a\nACGT\n", 0), None);
    }
}
