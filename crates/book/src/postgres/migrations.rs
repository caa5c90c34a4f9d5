//! Tables of the book, by version. A file of `migrations/` is never changed after a release; a new
//! version is a new file and a line here. Each is applied once, in one transaction, under a lock that
//! all who would do the same wait for.

use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::connections::in_transaction;
use super::{change, failures, rows};
use crate::error::{Error, ErrorKind, Result};

/// In order. Version N is what the first N make.
const MIGRATIONS: &[&str] = &[
    include_str!("../../migrations/0001-tables.sql"),
    include_str!("../../migrations/0002-wanted.sql"),
];
/// Version of the tables that this Forebay speaks.
pub const SCHEMA: u32 = MIGRATIONS.len() as u32;
/// "forebay" on a telephone: whoever makes tables of ours in this database holds this.
const LOCK: i64 = 3_673_229;

/// The version of the tables that are there; `None`: there are none.
pub(super) async fn found_version(client: &Client) -> Result<Option<u32>> {
    // By a look into the catalogue: what a connection remembers of names (`to_regclass`) may be from
    // before it waited for the lock.
    let there = "SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n \
                 ON n.oid = c.relnamespace \
                 WHERE n.nspname = 'forebay' AND c.relname = 'schema_version'";
    if rows(client, there, &[]).await?.is_empty() {
        return Ok(None);
    }
    let found = rows(client, "SELECT max(version) FROM forebay.schema_version", &[]).await?;
    Ok(found[0].get::<_, Option<i32>>(0).and_then(|version| u32::try_from(version).ok()))
}

/// Makes the tables where there are none, and refuses those of another version.
pub(super) async fn prepare_schema(client: &Client) -> Result<()> {
    if let Some(found) = found_version(client).await? {
        return check_version(found);
    }
    in_transaction(client, async || {
        lock(client).await?;
        match found_version(client).await? {
            Some(found) => check_version(found),
            None => apply_from(client, 0).await,
        }
    })
    .await
}

/// Brings older tables to this version, while nobody uses them.
pub(super) async fn upgrade_schema(client: &Client) -> Result<()> {
    in_transaction(client, async || {
        lock(client).await?;
        let found = found_version(client).await?.unwrap_or(0);
        if found >= SCHEMA {
            return check_version(found);
        }
        if found > 0 {
            let alive =
                "SELECT name FROM forebay.node WHERE expires > clock_timestamp() ORDER BY 1";
            if let Some(node) = rows(client, alive, &[]).await?.first() {
                return Err(Error::new(
                    ErrorKind::Busy,
                    format!("{} and maybe others have the volume mounted", node.get::<_, &str>(0)),
                    "unmount it on all nodes first: an older Forebay can't read the new tables",
                ));
            }
        }
        apply_from(client, found).await
    })
    .await
}

/// Whether this Forebay speaks that version.
pub(super) fn check_version(found: u32) -> Result<()> {
    let refuse = |next: &str| {
        Err(Error::new(
            ErrorKind::OtherSchema,
            format!("its tables have version {found}, and this Forebay speaks version {SCHEMA}"),
            next,
        ))
    };
    match found {
        SCHEMA => Ok(()),
        _ if found > SCHEMA => refuse("install the newer Forebay on this node, too"),
        _ => refuse("unmount the volume on all nodes, then: forebay book upgrade URL"),
    }
}

async fn lock(client: &Client) -> Result<()> {
    rows(client, "SELECT pg_advisory_xact_lock($1)", &[(&LOCK, Type::INT8)]).await.map(drop)
}

async fn apply_from(client: &Client, found: u32) -> Result<()> {
    let send = async |text: &str| {
        client.batch_execute(text).await.map_err(|error| failures::from_client(&error))
    };
    if found == 0 {
        send(
            "CREATE SCHEMA IF NOT EXISTS forebay; CREATE TABLE forebay.schema_version \
             (version integer PRIMARY KEY, forebay text NOT NULL, \
             applied timestamptz NOT NULL DEFAULT clock_timestamp())",
        )
        .await?;
    }
    for (text, version) in MIGRATIONS.iter().zip(1i32..).skip(found as usize) {
        send(text).await?;
        let note = "INSERT INTO forebay.schema_version (version, forebay) VALUES ($1, $2)";
        let us = env!("CARGO_PKG_VERSION");
        change(client, note, &[(&version, Type::INT4), (&us, Type::TEXT)]).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    //! An older Forebay that writes newer tables damages what others count on.
    use super::*;

    #[test]
    fn other_versions_are_refused_with_the_way_out() {
        check_version(SCHEMA).expect("it is ours");
        let newer = check_version(SCHEMA + 1).expect_err("newer");
        assert_eq!(newer.kind, ErrorKind::OtherSchema);
        assert!(newer.next.contains("newer Forebay"), "{}", newer.next);
        let older = check_version(0).expect_err("older");
        assert!(older.next.contains("forebay book upgrade"), "{}", older.next);
    }
}
