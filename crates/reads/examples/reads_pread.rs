//! How long parts of what an archive shows take, in this process: 4 KiB at random when their groups
//! are decoded anew and when they are there, and all from end to end, by the clock.
//!
//! ```text
//! cargo run --release -p forebay-reads --example reads_pread -- x.reads x_R1.fastq.gz
//! ```
//! The first word is the archive, the second a file that it shows; without it, the first one.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use forebay_reads::{Archive, DirectoryObjects, ExportedReader};

/// Reads at random of each sort.
const COUNT: u64 = 400;

#[expect(clippy::disallowed_methods, reason = "it measures")]
fn main() {
    let mut words = std::env::args().skip(1);
    let dir = PathBuf::from(words.next().expect("an archive"));
    let archive = Archive::open(Box::new(DirectoryObjects::new(&dir))).expect("an archive");
    let archive = Arc::new(archive);
    let faces = archive.exported_files(None).expect("faces");
    let wanted = words.next();
    let face = match &wanted {
        Some(name) => archive.find_exported_file(name).expect("faces").expect("no such face"),
        None => faces[0].clone(),
    };
    let mut told = format!("{}: {} bytes\n", face.name, face.len);
    let mut out = vec![0; 4096];
    let mut offsets = Vec::new();
    let mut state = 1_u64;
    for _ in 0..COUNT {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        offsets.push((state >> 20) % face.len);
    }
    for (what, cache) in [("each group decoded anew", 0), ("from decoded groups", 4 << 30)] {
        let reader = ExportedReader::new(Arc::clone(&archive), cache);
        if cache > 0 {
            offsets.iter().for_each(|at| drop(reader.read_at(&face, *at, &mut out)));
        }
        let mut times: Vec<Duration> = offsets
            .iter()
            .map(|at| {
                let begun = Instant::now();
                reader.read_at(&face, *at, &mut out).expect("read");
                begun.elapsed()
            })
            .collect();
        times.sort();
        let at = |part: usize| times[times.len() * part / 100].as_secs_f64() * 1e3;
        told += &format!("4 KiB, {what}: median {:.4} ms, 99 % {:.4} ms\n", at(50), at(99));
    }
    let reader = ExportedReader::new(archive, 64 << 20);
    let (begun, mut at) = (Instant::now(), 0);
    let mut out = vec![0; 128 << 10];
    while at < face.len {
        at += reader.read_at(&face, at, &mut out).expect("read") as u64;
    }
    let seconds = begun.elapsed().as_secs_f64();
    told += &format!("one part after the other: {:.0} MB/s\n", face.len as f64 / 1e6 / seconds);
    std::io::stdout().write_all(told.as_bytes()).expect("somebody reads");
}
