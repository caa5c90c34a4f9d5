//! Network interfaces of samples: a table that older files of this version lack.

use super::sql::{execute_cached, from_sql_int, to_sql_int};
use crate::event::{MachineSample, NetworkSample};
use crate::{ByteCount, Micros};
use rusqlite::{Connection, params};

pub(super) fn write_networks(c: &Connection, sample: &MachineSample) -> rusqlite::Result<()> {
    for network in &sample.networks {
        let (received, sent) = (to_sql_int(network.received.0), to_sql_int(network.sent.0));
        execute_cached(
            c,
            "INSERT INTO sample_networks VALUES (?1, ?2, ?3, ?4)",
            params![to_sql_int(sample.at.0), network.name, received, sent],
        )?;
    }
    Ok(())
}

/// Adds to each sample, in the order of time and from this one on, what its interfaces did.
pub(super) fn read_networks(
    c: &Connection,
    from: i64,
    samples: &mut [MachineSample],
) -> rusqlite::Result<()> {
    if !c.table_exists(None, "sample_networks")? {
        return Ok(());
    }
    let mut select = c.prepare_cached(
        "SELECT at_us, name, received_bytes, sent_bytes FROM sample_networks
         WHERE at_us >= ?1 ORDER BY at_us, rowid",
    )?;
    let mut rows = select.query([from])?;
    while let Some(row) = rows.next()? {
        let bytes = |column| row.get::<_, i64>(column).map(|bytes| ByteCount(from_sql_int(bytes)));
        let at = Micros(from_sql_int(row.get(0)?));
        let (name, received, sent) = (row.get(1)?, bytes(2)?, bytes(3)?);
        if let Ok(found) = samples.binary_search_by_key(&at, |sample| sample.at) {
            samples[found].networks.push(NetworkSample { name, received, sent });
        }
    }
    Ok(())
}
