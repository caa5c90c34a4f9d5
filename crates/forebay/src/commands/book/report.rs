//! What is told of a book: text for people, JSON for scripts.

use std::fmt::Write as _;
use std::time::Duration;

use forebay_book::{BookStatus, BookUrl, NodeState};
use forebay_model::ByteCount;
use serde_json::{Value, json};

use crate::console::group_thousands;

/// The version of the tables that this Forebay speaks.
const SCHEMA: u32 = forebay_book::SCHEMA;

/// Why nodes can't use it.
pub(super) fn problem(found: &BookStatus) -> Option<String> {
    match (&found.read_only, found.schema) {
        (Some(why), _) => Some(format!("it takes no writes: {why}")),
        (None, 0 | SCHEMA) => None,
        (None, other) if other > SCHEMA => {
            Some(format!("its tables are newer than this Forebay (version {other})"))
        }
        (None, other) => {
            Some(format!("its tables are old (version {other}): forebay book upgrade"))
        }
    }
}

pub(super) fn as_json(found: &BookStatus) -> String {
    let seconds = |time: Duration| (time.as_secs_f64() * 1000.0).round() / 1000.0;
    let node = |node: &NodeState| {
        json!({
            "node": node.node.0,
            "volume": node.volume.0,
            "name": node.name,
            "address": node.address,
            "registrations": node.term.0,
            "lease_left_s": node.lease_left.map(seconds),
            "renewed_ago_s": seconds(node.renewed_ago),
            "holds": node.holds,
            "publications": node.published.0,
        })
    };
    let volumes = found.volumes.iter().map(|volume| {
        json!({
            "volume": volume.volume.0,
            "name": volume.name.as_str(),
            "files": volume.files,
            "folders": volume.folders,
            "held": volume.held,
        })
    });
    let tables =
        found.tables.iter().map(|table| json!({ "table": table.table, "bytes": table.bytes }));
    let told = json!({
        "schema": 1,
        "problem": problem(found),
        "server": found.server,
        "tables_version": found.schema,
        "round_trip_ms": (found.round_trip.as_secs_f64() * 1e6).round() / 1000.0,
        "connections": { "open": found.connections.0, "most": found.connections.1 },
        "tables": tables.collect::<Vec<Value>>(),
        "volumes": volumes.collect::<Vec<Value>>(),
        "nodes": found.nodes.iter().map(node).collect::<Vec<Value>>(),
    });
    told.to_string() + "\n"
}

pub(super) fn as_text(url: &BookUrl, found: &BookStatus) -> String {
    let mut text = format!("{url}\n");
    let health = match (problem(found), found.schema) {
        (Some(problem), _) => problem,
        (None, 0) => "well; it has no tables yet, which the first mount makes".to_owned(),
        (None, _) => "well".to_owned(),
    };
    let round_trip = found.round_trip.as_secs_f64() * 1000.0;
    let bytes: u64 = found.tables.iter().map(|table| table.bytes).sum();
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "  {name:<12} {value}"); // Into a string: it can't fail.
    };
    line("health", health);
    line("server", format!("{}, answers in {round_trip:.1} ms", found.server));
    line("connections", format!("{} of {}", found.connections.0, found.connections.1));
    let largest: Vec<String> = found
        .tables
        .iter()
        .take(3)
        .map(|table| format!("{} {}", table.table, ByteCount(table.bytes)))
        .collect();
    line("size", format!("{} ({})", ByteCount(bytes), largest.join(", ")));
    for volume in &found.volumes {
        let _ = writeln!(
            text,
            "\n{}\n  {} files, {} folders, of which {} are held",
            volume.name,
            group_thousands(volume.files),
            group_thousands(volume.folders),
            group_thousands(volume.held)
        ); // Into a string: it can't fail.
        for node in found.nodes.iter().filter(|node| node.volume == volume.volume) {
            text.push_str(&node_line(node));
        }
    }
    text
}

fn node_line(node: &NodeState) -> String {
    let lease = match node.lease_left {
        Some(left) => format!("lease {:>2} s", left.as_secs()),
        None => "away".to_owned(),
    };
    let address = if node.address.is_empty() { "-" } else { node.address.as_str() };
    format!(
        "  {:<24} {:<22} {lease:<10} renewed {} ago, holds {}, {} publications\n",
        node.name,
        address,
        long_time(node.renewed_ago),
        group_thousands(node.holds),
        group_thousands(node.published.0.unsigned_abs())
    )
}

fn long_time(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} min", seconds / 60),
        seconds @ 7200..172_800 => format!("{} h", seconds / 3600),
        seconds => format!("{} days", seconds / 86_400),
    }
}
