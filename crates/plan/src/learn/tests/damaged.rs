//! A run file may be cut, overwritten, or changed by a foreign hand: it is learnt, or there is an
//! error that names it. It never ends in a panic, and never in a workload that is none.
#![allow(clippy::disallowed_methods)] // Damage is done to files.

use super::round_trip::{Dice, meant, written};
use super::*;
use forebay_model::Run;
use std::path::Path;

fn look(path: &Path) -> bool {
    let learnt = Run::open(path).map_err(|error| error.to_string());
    let learnt = learnt.and_then(|run| learn_workload(&run).map_err(|flaw| flaw.to_string()));
    match learnt {
        Ok(learnt) => {
            assert_eq!(learnt.workload.ensure_valid(), Ok(()));
            let _ = learnt.simulate_rerun();
            let _ = crate::import::to_wfformat_json(&learnt.workload, "");
            true
        }
        Err(flaw) => {
            assert!(flaw.contains("a.run"), "it names the file: {flaw}");
            false
        }
    }
}

#[test]
fn bytes_that_are_not_as_they_were_end_in_no_panic() {
    let directory = tempfile::tempdir().expect("a directory");
    let (whole, path) = (directory.path().join("whole.run"), directory.path().join("a.run"));
    written(&meant(&mut Dice(7)), &whole);
    let conn = rusqlite::Connection::open(&whole).expect("opened");
    conn.pragma_update(None, "journal_mode", "DELETE").expect("one file");
    drop(conn);
    let bytes = std::fs::read(&whole).expect("read");
    let mut learnt = 0;
    for seed in 0..200 {
        let (mut dice, mut bytes) = (Dice(seed), bytes.clone());
        if seed % 8 == 0 {
            bytes.truncate(dice.roll(bytes.len() as u64) as usize);
        }
        for _ in 0..1 + dice.roll(40) {
            let at = dice.roll(bytes.len().max(1) as u64) as usize;
            if let Some(byte) = bytes.get_mut(at) {
                *byte = dice.roll(256) as u8;
            }
        }
        std::fs::write(&path, &bytes).expect("written");
        learnt += usize::from(look(&path));
    }
    assert!(learnt > 5, "{learnt}: most damage is not only found at the first look");
}

#[test]
fn values_of_a_foreign_hand_end_in_no_panic() {
    const VALUES: [&str; 12] = [
        "NULL",
        "-1",
        "0",
        "9223372036854775807",
        "-9223372036854775808",
        "4294967295",
        "1e300",
        "'x'",
        "''",
        "x'ff00'",
        "abs(random() % 5)",
        "rowid * 1000000000000000",
    ];
    let directory = tempfile::tempdir().expect("a directory");
    let (whole, path) = (directory.path().join("whole.run"), directory.path().join("a.run"));
    let mut learnt = 0;
    for seed in 0..200 {
        let mut dice = Dice(seed);
        if seed % 20 == 0 {
            let _ = std::fs::remove_file(&whole);
            written(&meant(&mut dice), &whole);
            let conn = rusqlite::Connection::open(&whole).expect("opened");
            conn.pragma_update(None, "journal_mode", "DELETE").expect("one file");
        }
        std::fs::copy(&whole, &path).expect("copied");
        let conn = rusqlite::Connection::open(&path).expect("opened");
        let columns: Vec<(String, String)> = conn
            .prepare(
                "SELECT m.name, c.name FROM sqlite_schema m, pragma_table_info(m.name) c
                 WHERE m.type = 'table' ORDER BY 1, 2",
            )
            .and_then(|mut select| {
                select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
            })
            .expect("columns");
        for _ in 0..1 + dice.roll(4) {
            let (table, column) = &columns[dice.roll(columns.len() as u64) as usize];
            let value = VALUES[dice.roll(VALUES.len() as u64) as usize];
            let some = if dice.roll(2) == 0 { "" } else { "WHERE abs(random() % 3) = 0" };
            // Not every column takes every value.
            let change = format!("UPDATE OR IGNORE {table} SET {column} = {value} {some}");
            let _ = conn.execute(&change, []);
        }
        drop(conn);
        learnt += usize::from(look(&path));
    }
    assert!(learnt > 50, "{learnt}");
}
