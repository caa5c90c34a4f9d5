//! What one row of a run file costs to write: `cargo run --release -p forebay-model --example
//! write_cost [DIR]`. The house promises less than 5 µs; the batch is one second's worth.

#![allow(clippy::disallowed_methods, clippy::disallowed_macros)] // It measures and prints.

use forebay_model::*;
use std::time::Instant;

const BATCH: u32 = 5_000;
const BATCHES: u32 = 40;

type Kind = (&'static str, fn(u32) -> Fact);

const KINDS: &[Kind] = &[
    ("process", process),
    ("counters", counters),
    ("file", file),
    ("open", open),
    ("ops, new row", ops),
    ("ops, same row", |n| ops(n % BATCH)),
    ("outside", outside),
    ("engine file", engine_file),
];

fn main() -> Result<()> {
    let directory = std::env::args().nth(1).unwrap_or_else(|| "/tmp".into());
    println!("{:<14} {:>9} {:>14}", "row", "µs a row", "worst batch");
    for (name, make) in KINDS {
        let path = format!("{directory}/write_cost.{}.db", std::process::id());
        let mut writer = RunWriter::create(path.as_ref(), Header::default())?;
        let (mut total, mut worst) = (0.0, 0.0f64);
        for batch in 0..BATCHES {
            let facts: Vec<Fact> = (0..BATCH).map(|i| make(batch * BATCH + i)).collect();
            let start = Instant::now();
            writer.write_facts(&facts)?;
            let seconds = start.elapsed().as_secs_f64();
            total += seconds;
            worst = worst.max(seconds);
        }
        let micros = total * 1e6 / f64::from(BATCH * BATCHES);
        println!("{name:<14} {micros:>9.2} {:>11.1} ms", worst * 1e3);
        if *name == "process" || *name == "open" {
            let start = Instant::now();
            writer.finish_run()?;
            let finish = start.elapsed();
            let start = Instant::now();
            let copy = format!("{path}.copy");
            writer.copy_to(copy.as_ref())?;
            println!("{:<14} fold {finish:.0?}, copy {:.0?}", "", start.elapsed());
            std::fs::remove_file(copy).expect("just written");
        }
        writer.remove()?;
    }
    Ok(())
}

fn process(n: u32) -> Fact {
    let word = |text: &str| text.as_bytes().to_vec();
    Fact::Process(Process {
        id: ProcessId(n),
        pid: n,
        parent: Some(ProcessId(n / 3)),
        started: Micros(u64::from(n)),
        argv: vec![word("bwa"), word("mem"), word("-t4"), word("ref/genome.fa"), word("a_1.fq.gz")],
        exe: Some(word("/usr/bin/bwa")),
        cwd: Some(word("/data/project/work/3f/0123456789abcdef0123456789abcd")),
    })
}

fn counters(n: u32) -> Fact {
    let us = Micros(u64::from(n));
    Fact::ProcessCounters(ProcessCounters {
        id: ProcessId(n % 1000),
        at: us,
        user: us,
        system: us,
        children_user: us,
        children_system: us,
        io: Some(ProcessIo::default()),
    })
}

fn file(n: u32) -> Fact {
    let path = format!("work/3f/0123456789abcdef0123456789abcd/part_{n}.sorted.bam");
    Fact::File(FileRecord {
        id: FileId(n),
        tree: TreeId(0),
        path: path.into(),
        class: ClassId(n % 50),
        home: None,
    })
}

fn open(n: u32) -> Fact {
    Fact::Open(OpenSession {
        process: ProcessId(n / 10),
        file: FileId(n),
        write: n.is_multiple_of(2),
        created: n.is_multiple_of(4),
        opened: Micros(u64::from(n) * 100),
        closed: Some(Micros(u64::from(n) * 150)),
        read: Some(IoCount { bytes: ByteCount(1 << 20), calls: 16 }),
        wrote: None,
        size_at_open: Some(ByteCount(1 << 20)),
        size_at_close: Some(ByteCount(1 << 20)),
        hidden: false,
        copy: None,
    })
}

fn ops(n: u32) -> Fact {
    let count = OpCount { count: 10, nanos: 12_345, bytes: 4096, failed: 0 };
    let key = OpKey::from_index(n as usize % OpKey::COUNT).expect("below COUNT");
    let class = ClassId(n / 50 % 100);
    Fact::Ops(OpDelta { process: Some(ProcessId(n)), class, tree: TreeId(0), key, count })
}

fn outside(n: u32) -> Fact {
    Fact::Outside(OutsideFile {
        process: ProcessId(n),
        directory: b"/scratch/tmp".to_vec(),
        bytes: ByteCount(4096),
        write: true,
    })
}

fn engine_file(n: u32) -> Fact {
    let content = r#"{"rule": "map", "input": ["a", "b"], "shellcmd": "bwa mem a b > c",
        "record_format_version": 6, "starttime": 1.5, "endtime": 2.5, "incomplete": false}"#;
    Fact::EngineFile(EngineFile {
        tree: TreeId(0),
        path: b".snakemake/metadata/b3V0L3B5LnR4dA==".to_vec(),
        content: content.into(),
        at: Micros(u64::from(n)),
    })
}
