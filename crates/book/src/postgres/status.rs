//! How the database is, for people: also one that takes no writes, or has no book yet.

use forebay_os::clock::{Clock, SystemClock};
use std::time::Duration;
use tokio_postgres::Client;

use super::migrations::{SCHEMA, found_version};
use super::{nodes, rows};
use crate::book::{BookStatus, TableSize, VolumeState};
use crate::error::Result;
use crate::ids::{VolumeId, VolumeName};

/// Files are counted up to here; beyond, the planner's estimate is told.
const COUNTED: i64 = 1_000_000;

pub(super) async fn status(client: &Client) -> Result<BookStatus> {
    let clock = SystemClock::start();
    let text = "SELECT version(), pg_is_in_recovery(), \
                current_setting('default_transaction_read_only') = 'on', \
                (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'), \
                current_setting('max_connections')::int4";
    let found = rows(client, text, &[]).await?;
    let round_trip = Duration::from_nanos(clock.elapsed_nanos());
    let row = &found[0];
    let version: String = row.get(0);
    let read_only = match (row.get::<_, bool>(1), row.get::<_, bool>(2)) {
        (true, _) => Some("it is a standby".to_owned()),
        (_, true) => Some("default_transaction_read_only is on".to_owned()),
        _ => None,
    };
    let used = row.get::<_, i64>(3) as u32;
    let connections = (used, row.get::<_, i32>(4).unsigned_abs());
    let schema = found_version(client).await?;
    let mut status = BookStatus {
        server: version.split(" on ").next().unwrap_or_default().to_owned(),
        schema: schema.unwrap_or(0),
        read_only,
        round_trip,
        connections,
        tables: Vec::new(),
        volumes: Vec::new(),
        nodes: Vec::new(),
    };
    if schema != Some(SCHEMA) {
        return Ok(status);
    }
    let tables = "SELECT c.relname::text, pg_total_relation_size(c.oid) FROM pg_class c \
                  JOIN pg_namespace s ON s.oid = c.relnamespace \
                  WHERE s.nspname = 'forebay' AND c.relkind = 'r' ORDER BY 2 DESC, 1";
    status.tables = rows(client, tables, &[])
        .await?
        .iter()
        .map(|row| TableSize { table: row.get(0), bytes: row.get::<_, i64>(1).unsigned_abs() })
        .collect();
    let many =
        "SELECT greatest(reltuples, 0)::int8 FROM pg_class WHERE oid = 'forebay.file'::regclass";
    let many: i64 = rows(client, many, &[]).await?[0].get(0);
    let files = match many > COUNTED {
        // One volume has nearly all of them, usually.
        true => format!("{many}::int8"),
        false => "(SELECT count(*) FROM forebay.file f WHERE f.volume = v.id)".to_owned(),
    };
    let volumes = format!(
        "SELECT id, name, (SELECT count(*) FROM forebay.folder d WHERE d.volume = v.id), \
         (SELECT count(*) FROM forebay.folder d WHERE d.volume = v.id AND holder IS NOT NULL), \
         {files} FROM forebay.volume v ORDER BY id"
    );
    for row in rows(client, &volumes, &[]).await? {
        let count = |at: usize| row.get::<_, i64>(at).unsigned_abs();
        status.volumes.push(VolumeState {
            volume: VolumeId(row.get(0)),
            name: VolumeName::new(row.get(1))?,
            folders: count(2),
            held: count(3),
            files: count(4),
        });
    }
    status.nodes = nodes::states(client, None).await?;
    Ok(status)
}
