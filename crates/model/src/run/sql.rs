//! Between Rust and SQLite: bytes as text, words as JSON, and errors with a file name.

use crate::{Error, Kind};
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, ErrorCode};
use std::path::Path;

/// Bytes for a column: TEXT when they are UTF-8, else BLOB.
pub(crate) struct SqlText<'a>(pub &'a [u8]);

impl rusqlite::ToSql for SqlText<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match std::str::from_utf8(self.0) {
            Ok(_) => ValueRef::Text(self.0),
            Err(_) => ValueRef::Blob(self.0),
        }))
    }
}

/// The bytes of a TEXT or BLOB column; `None` for NULL and numbers.
pub(crate) fn bytes_of_value(value: ValueRef<'_>) -> Option<Vec<u8>> {
    match value {
        ValueRef::Text(b) | ValueRef::Blob(b) => Some(b.to_vec()),
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => None,
    }
}

/// A number for a column; SQLite's integers end at 2^63 - 1.
pub(crate) fn to_sql_int(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// A number from a column; negative ones (a foreign hand) become 0.
pub(crate) fn from_sql_int(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

/// The longest command line that is kept, in bytes.
const ARGV_BYTES_MAX: usize = 32 << 10;

/// Words as a JSON array; bytes that are not UTF-8 appear as `\xNN`. A very long line is cut and
/// ends with a word that says so.
pub(crate) fn words_to_json<'a>(words: impl IntoIterator<Item = &'a [u8]>) -> String {
    let (mut out, mut left_out) = (String::from("["), 0usize);
    for word in words {
        if out.len() + word.len() > ARGV_BYTES_MAX && out.len() > 1 {
            left_out += 1;
            continue;
        }
        if out.len() > 1 {
            out.push(',');
        }
        push_json(&mut out, &readable_text(&word[..word.len().min(ARGV_BYTES_MAX)]));
    }
    if left_out > 0 {
        out.push(',');
        push_json(&mut out, &format!("... ({left_out} more words)"));
    }
    out.push(']');
    out
}

fn push_json(out: &mut String, word: &str) {
    out.push_str(&serde_json::to_string(word).expect("a string is always JSON"));
}

/// The words of a JSON array; none for anything else.
pub(crate) fn words_from_json(json: &str) -> Vec<Vec<u8>> {
    let words: Vec<String> = serde_json::from_str(json).unwrap_or_default();
    words.into_iter().map(String::into_bytes).collect()
}

/// Bytes as text for people: what is not UTF-8 appears as `\xNN`.
pub(crate) fn readable_text(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return text.into();
    }
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        for byte in chunk.invalid() {
            out.push_str(&format!("\\x{byte:02x}"));
        }
    }
    out.into()
}

/// Bytes for a [`Value`]-typed parameter.
pub(crate) fn text_value(bytes: Vec<u8>) -> Value {
    match String::from_utf8(bytes) {
        Ok(text) => Value::Text(text),
        Err(e) => Value::Blob(e.into_bytes()),
    }
}

/// Runs a statement that tells nothing back; one that comes again is parsed once.
pub(super) fn execute_cached(
    c: &Connection,
    sql: &str,
    values: impl rusqlite::Params,
) -> rusqlite::Result<()> {
    c.prepare_cached(sql)?.execute(values).map(drop)
}

/// Turns an error of SQLite into ours: which file, what happened, what next.
pub(crate) fn sqlite_error(path: &Path, doing: &str, e: rusqlite::Error) -> Error {
    let file = path.display();
    let code = e.sqlite_error_code();
    let (kind, next) = match code {
        Some(ErrorCode::NotADatabase) => {
            (Kind::NotARun, "it is not a run file; give the file that `forebay run -o FILE` wrote")
        }
        Some(ErrorCode::DatabaseCorrupt) => (
            Kind::Damaged,
            "the file is damaged; copy it again, or save what is left with `sqlite3 FILE .recover`",
        ),
        Some(ErrorCode::OperationInterrupted) => (
            Kind::Damaged,
            "it has more in it than a file of its length has room for, so reading it would not end; \
             copy it again from where it was made",
        ),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            (Kind::Busy, "another process is writing to it; wait until that has ended")
        }
        Some(ErrorCode::DiskFull | ErrorCode::TooBig) => {
            (Kind::Full, "there is no space left there; free some or choose another place")
        }
        Some(ErrorCode::CannotOpen) => {
            (Kind::Io, "it cannot be opened; check that it exists and that you may read it")
        }
        Some(ErrorCode::PermissionDenied | ErrorCode::ReadOnly | ErrorCode::SystemIoFailure) => {
            (Kind::Io, "the operating system refused; check permissions and the disk")
        }
        _ => (Kind::Internal, "this should not happen; please report it"),
    };
    Error::new(kind, format!("cannot {doing} run file {file}: {next}")).with_source(e)
}

#[cfg(test)]
mod tests {
    //! If these fail, command lines are stored wrongly or a strange file name stops a run.
    use super::*;

    #[test]
    fn words_survive_and_strange_bytes_stay_readable() {
        let json = words_to_json([b"bwa".as_slice(), b"a \"b\"", b"x\xffy"]);
        assert_eq!(json, r#"["bwa","a \"b\"","x\\xffy"]"#);
        assert_eq!(words_from_json(&json)[2], b"x\\xffy");
    }

    #[test]
    fn a_very_long_line_is_cut_and_says_so() {
        let long = vec![b'a'; 20 << 10];
        let words = words_from_json(&words_to_json([&long[..], &long, &long]));
        assert_eq!(words.len(), 2);
        assert_eq!(words[1], b"... (2 more words)");
    }
}
