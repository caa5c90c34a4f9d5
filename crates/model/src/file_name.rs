//! Names of files that come from outside: out of a log, a book, an archive, a listing, a run. Each
//! becomes a name of a file here only if it passes [`is_file_name`].

/// The longest name of a file, in bytes (`NAME_MAX` of Linux).
pub const NAME_MAX: usize = 255;

/// Whether a directory can have an entry of this name, and that entry is in the directory: no
/// slash and no NUL, neither `.` nor `..`, and neither empty nor longer than [`NAME_MAX`].
#[must_use]
pub fn is_file_name(name: &[u8]) -> bool {
    (1..=NAME_MAX).contains(&name.len())
        && !matches!(name, b"." | b"..")
        && !name.iter().any(|byte| matches!(byte, b'/' | 0))
}

#[cfg(test)]
mod tests {
    //! If this fails, whoever writes a volume writes where its readers keep their own files.
    use super::*;

    #[test]
    fn a_name_stays_in_its_directory() {
        let longest = [b'x'; NAME_MAX];
        for name in [&b"a"[..], b"...", b" ", b"..a", b"a\n\x1b\xff", b"-rf", &longest] {
            assert!(is_file_name(name), "{name:?}");
        }
        let longer = [b'x'; NAME_MAX + 1];
        for no_name in [&b""[..], b".", b"..", b"/", b"a/b", b"../a", b"a/", b"a\0", &longer] {
            assert!(!is_file_name(no_name), "{no_name:?}");
        }
    }
}
