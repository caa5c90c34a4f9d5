//! Times of a joined run: open files in the order in which they were closed, and nodes whose clocks
//! were off.

use rusqlite::{Connection, params};

/// Open files wait here until all are known: a run file has them in the order of closing. So do
/// removals of files that another run file may know.
pub(super) fn make_staging(c: &Connection) -> rusqlite::Result<()> {
    c.execute_batch(
        "CREATE TEMP TABLE staged AS SELECT * FROM opens WHERE 0;
         CREATE TEMP TABLE removed (tree INTEGER, path, gone_us INTEGER, node INTEGER);
         CREATE TEMP TABLE added_by (of_table TEXT, of_row INTEGER, node INTEGER);",
    )
}

/// Puts them into their table.
pub(super) fn sort_opens(c: &Connection) -> rusqlite::Result<()> {
    c.execute_batch(
        "INSERT INTO opens SELECT * FROM temp.staged ORDER BY closed_us IS NULL, closed_us, rowid;
         DROP TABLE temp.staged;",
    )
}

/// Files that are gone because a run removed their name that had not opened them. Who opens a file
/// after that opens another one, of which nobody knows more than the name.
pub(super) fn settle_removals(c: &Connection) -> rusqlite::Result<()> {
    c.execute_batch(
        "WITH gone AS (
           SELECT f.file, max(r.gone_us) AS at
           FROM temp.removed r JOIN files f ON f.tree = r.tree AND f.path = r.path GROUP BY f.file),
         used AS (
           SELECT file, max(opened_us) AS at FROM opens
           WHERE file IN (SELECT file FROM gone) GROUP BY file)
         UPDATE files SET gone_us = gone.at
         FROM gone LEFT JOIN used ON used.file = gone.file
         WHERE files.file = gone.file AND IFNULL(files.gone_us, gone.at - 1) < gone.at
           AND IFNULL(used.at, gone.at) <= gone.at;
         DROP TABLE temp.removed;",
    )
}

/// Columns with times of processes.
const OF_PROCESSES: [(&str, &[&str]); 2] = [
    ("processes", &["started_us", "ended_us", "counted_us"]),
    ("temp.staged", &["opened_us", "closed_us"]),
];

/// Columns with times of the first run, which is never shifted alone.
const OF_FIRST: [(&str, &[&str]); 3] =
    [("samples", &["at_us"]), ("sample_devices", &["at_us"]), ("sample_networks", &["at_us"])];

/// Columns with times of anybody.
const OF_ALL: [(&str, &[&str]); 2] = [("files", &["gone_us"]), ("notes", &["at_us"])];

/// Columns with times of which each row has its node.
const OF_NODE: [(&str, &[&str]); 1] = [("temp.removed", &["gone_us"])];

fn setters(columns: &[&str]) -> String {
    let set: Vec<String> = columns.iter().map(|name| format!("{name} = {name} + ?1")).collect();
    set.join(", ")
}

/// Adds microseconds to the times of a node.
pub(super) fn shift_node(c: &Connection, node: usize, by: i64) -> rusqlite::Result<()> {
    for (table, columns) in OF_PROCESSES {
        let set = setters(columns);
        let update = format!(
            "UPDATE {table} SET {set}
             WHERE process IN (SELECT process FROM process_nodes WHERE node = ?2)"
        );
        c.execute(&update, params![by, node as i64])?;
    }
    for (table, columns) in OF_NODE {
        let set = setters(columns);
        c.execute(&format!("UPDATE {table} SET {set} WHERE node = ?2"), params![by, node as i64])?;
    }
    // No process is known of a note, nor of who removed a file.
    for (table, columns) in OF_ALL {
        let set = setters(columns);
        let update = format!(
            "UPDATE {table} SET {set}
             WHERE rowid IN
               (SELECT of_row FROM temp.added_by WHERE node = ?2 AND of_table = '{table}')"
        );
        c.execute(&update, params![by, node as i64])?;
    }
    Ok(())
}

/// Adds microseconds to all times.
pub(super) fn shift_all(c: &Connection, by: i64) -> rusqlite::Result<()> {
    for (table, columns) in OF_PROCESSES.iter().chain(&OF_FIRST).chain(&OF_ALL).chain(&OF_NODE) {
        // A time is the key of samples: the latest go first out of the way of those before.
        match *table {
            "samples" => {
                let mut times = c.prepare("SELECT at_us FROM samples ORDER BY at_us DESC")?;
                let times: Vec<i64> =
                    times.query_map([], |r| r.get(0))?.collect::<rusqlite::Result<_>>()?;
                let mut update =
                    c.prepare("UPDATE samples SET at_us = at_us + ?1 WHERE at_us = ?2")?;
                for at in times {
                    update.execute(params![by, at])?;
                }
            }
            table => {
                c.execute(&format!("UPDATE {table} SET {}", setters(columns)), [by])?;
            }
        }
    }
    Ok(())
}

/// The earliest time of all.
pub(super) fn earliest(c: &Connection) -> rusqlite::Result<i64> {
    let mut least = 0;
    for (table, columns) in OF_PROCESSES.iter().chain(&OF_FIRST).chain(&OF_ALL).chain(&OF_NODE) {
        for column in *columns {
            let found: Option<i64> =
                c.query_row(&format!("SELECT min({column}) FROM {table}"), [], |r| r.get(0))?;
            least = least.min(found.unwrap_or(0));
        }
    }
    Ok(least)
}
