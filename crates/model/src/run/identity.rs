//! What tells a run from all others, in a form that other tools can keep: the same for each copy of
//! a run file that has ended, and for nothing else.

use std::hash::Hasher;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use siphasher::sip::SipHasher24;
use siphasher::sip128::{Hasher128, SipHasher24 as SipHasher128};

use super::Run;
use crate::Result;

/// 16 bytes of a run. They are drawn from what is in its file alone, so an anonymised copy gives no
/// name away by them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunIdentity([u8; 16]);

impl RunIdentity {
    /// The bytes.
    pub const fn bytes(&self) -> [u8; 16] {
        self.0
    }

    /// 8 bytes for a part of the run: its kind (such as `task`), and its number among its like.
    pub fn part(&self, kind: &str, number: u64) -> [u8; 8] {
        let mut hasher = SipHasher24::new_with_key(&self.0);
        hasher.write(kind.as_bytes());
        hasher.write(&number.to_le_bytes());
        hasher.finish().to_be_bytes()
    }
}

impl Run {
    /// Its identity: of what the header says, and of the names and times of its tasks. It changes
    /// while the run goes on.
    ///
    /// # Errors
    /// [`Kind::Damaged`](crate::Kind::Damaged), [`Kind::Io`](crate::Kind::Io).
    pub fn identity(&self) -> Result<RunIdentity> {
        let mut hasher = SipHasher128::new();
        let mut read = || -> rusqlite::Result<()> {
            for query in [
                "SELECT key, value FROM header ORDER BY key",
                "SELECT task, name, key, started_us, ended_us FROM tasks ORDER BY task",
            ] {
                self.hash_rows(&self.conn, query, &mut hasher)?;
            }
            Ok(())
        };
        read().map_err(|error| self.read_error(error))?;
        let hash = hasher.finish128();
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&hash.h1.to_be_bytes());
        bytes[8..].copy_from_slice(&hash.h2.to_be_bytes());
        Ok(RunIdentity(bytes))
    }

    fn hash_rows(
        &self,
        c: &Connection,
        query: &str,
        hasher: &mut SipHasher128,
    ) -> rusqlite::Result<()> {
        let mut statement = c.prepare(query)?;
        let columns = statement.column_count();
        let (mut rows, mut left) = (statement.query([])?, self.row_limit());
        while let Some(row) = rows.next()? {
            left = left.checked_sub(1).ok_or_else(Self::endless_rows_error)?;
            hash_row(row, columns, hasher)?;
        }
        // Where one table ends and the next begins.
        hasher.write(&[0xff]);
        Ok(())
    }
}

/// Each value with its type and length before it, so that no two rows are written alike.
fn hash_row(row: &Row<'_>, columns: usize, hasher: &mut SipHasher128) -> rusqlite::Result<()> {
    for column in 0..columns {
        let (kind, bytes) = match row.get_ref(column)? {
            ValueRef::Null => (0, Vec::new()),
            ValueRef::Integer(number) => (1, number.to_le_bytes().to_vec()),
            ValueRef::Real(number) => (2, number.to_le_bytes().to_vec()),
            // What is no UTF-8 is a BLOB, unchanged: one kind of text.
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => (3, bytes.to_vec()),
        };
        hasher.write(&[kind]);
        hasher.write(&(bytes.len() as u64).to_le_bytes());
        hasher.write(&bytes);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    //! If these fail, a run that is sent twice is two traces, or two runs are one.
    use super::*;
    use crate::{Header, Micros, RunWriter};

    fn run_file(folder: &std::path::Path, name: &str, header: Header) -> std::path::PathBuf {
        let path = folder.join(name);
        let mut writer = RunWriter::create(&folder.join("state"), header).expect("a run");
        writer.finish_run().expect("folded");
        writer.copy_to(&path).expect("copied");
        writer.remove().expect("removed");
        path
    }

    #[test]
    fn copies_have_one_identity_and_other_runs_another() {
        let folder = tempfile::tempdir().expect("a directory");
        let header = |started| Header { started_unix: Micros(started), ..Header::default() };
        let one = run_file(folder.path(), "one.run", header(1));
        let copy = folder.path().join("copy.run");
        std::fs::copy(&one, &copy).expect("copied");
        let identity = |path: &std::path::Path| {
            Run::open(path).expect("a run").identity().expect("an identity")
        };
        assert_eq!(identity(&one), identity(&copy));
        let other = run_file(folder.path(), "other.run", header(2));
        assert_ne!(identity(&one), identity(&other));
        let parts = RunIdentity([7; 16]);
        // As collectors have kept it, by the hash's definition: another would be another span.
        assert_eq!(u64::from_be_bytes(parts.part("task", 1)), 0xf1ed_cc90_c20c_02a2);
        assert_ne!(parts.part("task", 1), parts.part("task", 2));
        assert_ne!(parts.part("task", 1), parts.part("run", 1));
    }
}
