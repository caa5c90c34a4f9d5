//! How many requests the kernel sent to the daemon, by kind, from the run file.

use crate::error::{Error, Result};
use rusqlite::{Connection, OpenFlags};
use std::collections::BTreeMap;
use std::path::Path;

impl From<rusqlite::Error> for Error {
    fn from(source: rusqlite::Error) -> Self {
        Self::check_failed(format!("run file: {source}"))
    }
}

/// Counts by kind of operation in the table `ops`; empty if the run file is not there.
pub fn count_requests(run_file: &Path) -> Result<BTreeMap<String, u64>> {
    if !run_file.exists() {
        return Ok(BTreeMap::new());
    }
    let run = Connection::open_with_flags(run_file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let mut select = run.prepare("SELECT op, sum(count) FROM ops GROUP BY op")?;
    let rows = select.query_map([], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?.try_into().unwrap_or(0)))
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// What would remove each kind of request; the names are those of the run file.
pub const REMEDIES: &[(&str, &str)] = &[
    (
        "lookup",
        "a long time to live for entries of a watched directory (in place: after the first)",
    ),
    (
        "lookup_failed",
        "negative entries with a long time to live in a watched directory; before a \
                       create it stays: the kernel (6.18) has no atomic open for FUSE",
    ),
    (
        "getattr",
        "attributes that stay valid: no default_permissions (it asks for the parent after \
                 each create, unlink and rename), watched directories; after a passthrough write \
                 it stays",
    ),
    ("setattr", "no write-back cache; HANDLE_KILLPRIV_V2"),
    ("truncate", "O_TRUNC within the open (ATOMIC_O_TRUNC)"),
    (
        "xattr",
        "HANDLE_KILLPRIV_V2 (else the kernel looks for security.capability at the first \
               write), or one ENOSYS for a mount without attributes",
    ),
    ("open", "OPEN answered ENOSYS once: no open in the trace and no passthrough"),
    ("read", "passthrough (root); the page cache kept at open (keep_cache)"),
    (
        "write",
        "passthrough (root); the write-back cache (adds two setattr to each new file, loses \
               the caller)",
    ),
    (
        "flush",
        "FOPEN_NOFLUSH for files opened for reading, where no lock is forwarded; ENOSYS once \
               where no close commits",
    ),
    ("opendir", "NO_OPENDIR_SUPPORT"),
    (
        "readdir",
        "the kernel's cache of directories (FOPEN_CACHE_DIR) while the directory is \
                 watched; larger replies",
    ),
    ("lock", "locks kept inside of the run (outside programs would not see them)"),
    ("access", "default_permissions, or ENOSYS once"),
    (
        "create, unlink, rename, mkdir, rmdir, link, symlink, fsync",
        "nothing: they are the operation",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_over_tasks_classes_and_sizes() {
        let path = std::env::temp_dir().join(format!("forebay-bench-{}.run", std::process::id()));
        let run = Connection::open(&path).expect("a new file");
        run.execute_batch(
            "CREATE TABLE ops (task, tree, class, op TEXT, size_class, pattern, count INTEGER, \
             failed INTEGER, time_us INTEGER, bytes INTEGER);
             INSERT INTO ops VALUES (1, 1, 1, 'lookup', NULL, NULL, 3, 0, 1, 0);
             INSERT INTO ops VALUES (NULL, 1, 2, 'lookup', NULL, NULL, 4, 4, 1, 0);
             INSERT INTO ops VALUES (1, 1, 1, 'write', '4K', 'sequential', 2, 0, 1, 600);",
        )
        .expect("the table");
        drop(run);
        let counts = count_requests(&path).expect("reading");
        assert_eq!(counts, BTreeMap::from([("lookup".to_owned(), 7), ("write".to_owned(), 2)]));
        std::fs::remove_file(&path).expect("removing");
        assert!(count_requests(&path).expect("no file").is_empty());
    }

    #[test]
    fn the_readme_has_the_same_remedies() {
        let readme = include_str!("../README.md");
        for (kind, how) in REMEDIES {
            assert!(readme.contains(&format!("| {kind} | {how} |")), "{kind} in bench/README.md");
        }
    }
}
