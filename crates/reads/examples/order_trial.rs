//! A trial that is no part of the product: puts reads in the order of their least k-mer, so that those of
//! one place of a genome come to lie beside each other, and writes them as `X.ordered.fq` beside `X.fq`,
//! mates by their first ones. `forebay reads pack` of both says what an archive would win by an order of
//! its own; docs/internals/reads.md has what came of it.
//!
//! ```text
//! cargo run --release -p forebay-reads --example order_trial -- x_R1.fq x_R2.fq
//! ```
//! The order is that of minimizers (Roberts et al., Bioinformatics 20(18):3363, 2004).

#![allow(clippy::disallowed_methods, reason = "times are what this is for")]
#![allow(clippy::disallowed_macros, reason = "a program of its own")]

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::time::Instant;

/// Letters of a k-mer: long enough to stand at one place of a genome.
const LETTERS: u32 = 20;
const MASK: u64 = (1 << (2 * LETTERS)) - 1;

/// Name, bases and qualities, each with its end of line.
type Record = [Vec<u8>; 3];

fn read_records(path: &str) -> io::Result<Vec<Record>> {
    let mut lines = BufReader::with_capacity(1 << 20, File::open(path)?);
    let mut records = Vec::new();
    loop {
        let mut record = Record::default();
        if lines.read_until(b'\n', &mut record[0])? == 0 {
            return Ok(records);
        }
        lines.read_until(b'\n', &mut record[1])?;
        lines.skip_until(b'\n')?;
        lines.read_until(b'\n', &mut record[2])?;
        records.push(record);
    }
}

/// Mixes the bits of a k-mer, so that poly-A is not the least of all.
fn mixed(kmer: u64) -> u64 {
    let mixed = kmer.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// Where a read goes: its least k-mer of both strands, then how far inside the read that stands.
fn sort_key(bases: &[u8]) -> (u64, usize) {
    let (mut forth, mut back, mut known) = (0_u64, 0_u64, 0_u32);
    let mut least = (u64::MAX, 0);
    for (at, base) in bases.iter().enumerate() {
        let Some(letter) = b"ACGT".iter().position(|one| one == base) else {
            known = 0;
            continue;
        };
        let letter = letter as u64;
        forth = (forth << 2 | letter) & MASK;
        back = back >> 2 | (3 - letter) << (2 * (LETTERS - 1));
        known += 1;
        if known >= LETTERS {
            let place = if forth <= back { bases.len() - at } else { at };
            least = least.min((mixed(forth.min(back)), place));
        }
    }
    least
}

fn main() -> io::Result<()> {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    let files = paths.iter().map(|path| read_records(path)).collect::<io::Result<Vec<_>>>()?;
    let Some(first) = files.first() else {
        println!("order_trial X_R1.fq [X_R2.fq]");
        return Ok(());
    };
    let began = Instant::now();
    let mut order: Vec<usize> = (0..first.len()).collect();
    order.sort_by_cached_key(|read| sort_key(first[*read][1].trim_ascii_end()));
    println!("{} reads in order after {:?}", order.len(), began.elapsed());
    for (path, records) in paths.iter().zip(&files) {
        let to = format!("{}.ordered.fq", path.trim_end_matches(".fq"));
        let mut out = BufWriter::with_capacity(1 << 20, File::create(to)?);
        for read in &order {
            let [name, bases, qualities] = &records[*read];
            for part in [name, bases, &b"+\n"[..], qualities] {
                out.write_all(part)?;
            }
        }
        out.flush()?;
    }
    Ok(())
}
