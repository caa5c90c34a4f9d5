//! How many requests the kernel sent to the daemon, by kind, from the run file.

use crate::error::{Error, Result};
use rusqlite::{Connection, OpenFlags};
use std::collections::BTreeMap;
use std::path::Path;

impl From<rusqlite::Error> for Error {
    fn from(source: rusqlite::Error) -> Self {
        Self::wrong(format!("run file: {source}"))
    }
}

/// Counts by kind of operation in the table `ops`; empty if the run file is not there.
pub fn count(run_file: &Path) -> Result<BTreeMap<String, u64>> {
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

/// What would remove each kind of request; `bench/README.md` prints the same table.
pub const REMEDIES: &[(&str, &str)] = &[
    (
        "lookup",
        "a longer time to live (needs a watch on the directory); negative entries for names \
                that are not there; cannot be avoided before create in 6.18 (no atomic open)",
    ),
    (
        "getattr",
        "attributes with the reply before it; no default_permissions (it asks for the \
                 parent after each create and unlink)",
    ),
    ("create", "nothing: it is the operation"),
    ("open", "OPEN answered ENOSYS (loses the open in the trace, and passthrough)"),
    ("read", "passthrough (root); the page cache kept at open (keep_cache)"),
    (
        "write",
        "passthrough (root); the write-back cache (adds two setattr to each file, loses the \
               pid)",
    ),
    (
        "flush",
        "FLUSH answered ENOSYS where no locks are forwarded and no close commits (once, for \
               the whole mount), or FOPEN_NOFLUSH for each file",
    ),
    ("release", "nothing; it is asynchronous"),
    (
        "setattr",
        "no write-back cache; HANDLE_KILLPRIV_V2; O_TRUNC within the open \
                 (ATOMIC_O_TRUNC)",
    ),
    ("getxattr", "HANDLE_KILLPRIV_V2, or one ENOSYS where no attributes are forwarded"),
    ("opendir", "NO_OPENDIR_SUPPORT"),
    (
        "readdir",
        "the kernel's directory cache (FOPEN_CACHE_DIR), valid while the directory is \
                 watched",
    ),
    (
        "readdirplus",
        "the same; plain readdir where nobody asks for attributes \
                     (READDIRPLUS_AUTO)",
    ),
    ("releasedir", "NO_OPENDIR_SUPPORT"),
    ("fsync", "nothing: it is the promise"),
    ("unlink", "nothing: it is the operation"),
    ("rename", "nothing: it is the operation"),
    ("mkdir", "nothing: it is the operation"),
    ("rmdir", "nothing: it is the operation"),
    ("forget", "nothing; many come in one request (BATCH_FORGET)"),
];

/// What would remove requests of `kind`.
pub fn remedy(kind: &str) -> &'static str {
    REMEDIES.iter().find(|(name, _)| *name == kind).map_or("not examined", |(_, how)| how)
}

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
        let counts = count(&path).expect("reading");
        assert_eq!(counts, BTreeMap::from([("lookup".to_owned(), 7), ("write".to_owned(), 2)]));
        std::fs::remove_file(&path).expect("removing");
        assert!(count(&path).expect("no file").is_empty());
        assert_eq!(remedy("nonsense"), "not examined");
    }
}
