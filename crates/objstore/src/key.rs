//! Names of objects. A file's object has the file's own path for a name, so that every tool finds
//! it; paths that no object can be named after are spelt another way, no two of them the same.

/// The longest name of an object, in bytes (Amazon S3 user guide, "Naming Amazon S3 objects").
const LONGEST: usize = 1024;

/// The name for the object of the file at `path`, relative to the volume. Names in UTF-8 without
/// control characters stay as they are. In others each such byte is `%` and two capital
/// hexadecimal digits, and so is a `%` that could be taken for one of those. `None`: too long.
#[must_use]
pub fn key_for_path(path: &[u8]) -> Option<String> {
    let mut key = String::with_capacity(path.len());
    for chunk in path.utf8_chunks() {
        let mut rest = chunk.valid();
        while let Some(first) = rest.chars().next() {
            let after = &rest[first.len_utf8()..];
            match first {
                '%' if is_escape(after) => key.push_str("%25"),
                _ if first.is_ascii_control() => push_escaped(&mut key, first as u8),
                _ => key.push(first),
            }
            rest = after;
        }
        chunk.invalid().iter().for_each(|byte| push_escaped(&mut key, *byte));
    }
    (key.len() <= LONGEST).then_some(key)
}

fn push_escaped(key: &mut String, byte: u8) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    key.push('%');
    key.push(char::from(DIGITS[usize::from(byte >> 4)]));
    key.push(char::from(DIGITS[usize::from(byte & 15)]));
}

/// Whether what follows a `%` could be one of our own spellings.
fn is_escape(after: &str) -> bool {
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'A'..=b'F');
    after.as_bytes().get(..2).is_some_and(|two| two.iter().all(is_digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_as_they_are_or_are_spelt_so_that_no_two_meet() {
        let same = ["a/b.bam", "100%", "reads [1] {x}~#?.fq", "é/日本", "a%4", "50%zz"];
        for name in same {
            assert_eq!(key_for_path(name.as_bytes()).as_deref(), Some(name));
        }
        assert_eq!(key_for_path(b"a\xff\n").as_deref(), Some("a%FF%0A"));
        assert_eq!(key_for_path(b"a%FF%0A").as_deref(), Some("a%25FF%250A"));
        assert_eq!(key_for_path(b"a%25FF").as_deref(), Some("a%2525FF"));
        assert_eq!(key_for_path(&[b'x'; 1025]), None);
    }
}
