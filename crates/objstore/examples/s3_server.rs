//! An S3 server for tests, where each request takes a stated time, and all are counted:
//! `cargo run --release -p forebay-objstore --example s3_server -- FOLDER [--latency MS]
//! [--listen ADDRESS]`. It answers this machine alone unless it is told an address.
//!
//! Directories of FOLDER are buckets. The first line that it prints has what its users need in
//! their environment; each line that it is given is answered by one with what was counted so far, by
//! kind: requests, bytes received, bytes sent. Both are JSON. It ends as its standard input does.
//! Connections are kept open, and a request is late by a timer, so many can be late together.

#![allow(clippy::disallowed_methods, clippy::disallowed_macros)] // It prints.

#[path = "../tests/common/s3.rs"]
mod s3;

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::time::Duration;

use s3::Server;

fn main() {
    let (mut folder, mut late, mut address) = (None, 0.0, String::from("127.0.0.1"));
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--latency" => late = words.next().and_then(|ms| ms.parse().ok()).expect("MS"),
            "--listen" => address = words.next().expect("ADDRESS"),
            _ => folder = Some(PathBuf::from(word)),
        }
    }
    let folder = folder.expect("s3_server FOLDER [--latency MS] [--listen ADDRESS]");
    let server = Server::start_at(&address, &folder, Duration::from_secs_f64(late / 1000.0));
    let settings: BTreeMap<_, _> = server.settings().into_iter().collect();
    let mut out = std::io::stdout().lock();
    let mut say = |line: String| {
        // Who does not listen any more has ended.
        let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    };
    say(serde_json::to_string(&settings).expect("plain data"));
    for line in std::io::stdin().lock().lines() {
        if line.is_err() {
            break;
        }
        let tally = server.tally().into_iter();
        let tally: BTreeMap<_, _> =
            tally.map(|(kind, one)| (kind, (one.requests, one.received, one.sent))).collect();
        say(serde_json::to_string(&tally).expect("plain data"));
    }
}
