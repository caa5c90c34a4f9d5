//! How fast reads are packed and read again, in this process: MB (10^6 bytes) of FASTQ text for
//! each second of CPU, all threads together, checksums and comparing included; and what the
//! columns take. `bench/reads.py` measures the command beside other tools.
//!
//! ```text
//! cargo run --release -p forebay-reads --example reads_speed -- 1 x_R1.fq.gz x_R2.fq.gz
//! ```
//! The first word is the number of threads; then one file, or the two of a pair. The name of a profile
//! may stand before all; KEEP=DIR keeps the archive there.

use std::io::Write;
use std::path::PathBuf;

use forebay_reads::{
    Archive, ArchiveLayout, DirectoryObjects, PackOptions, PackProfile, ReadSelection, TextFormat,
    pack_files,
};

/// Seconds of CPU that this process took, to a hundredth.
fn cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    let fields = stat.rsplit(") ").next().expect("fields").split(' ');
    let ticks: f64 = fields.skip(11).take(2).map(|t| t.parse::<f64>().expect("ticks")).sum();
    ticks / 100.0
}

/// Seconds of CPU of one of `work`, done again until it took a second.
fn seconds(mut work: impl FnMut()) -> f64 {
    let (start, mut times) = (cpu_s(), 0.0);
    loop {
        work();
        times += 1.0;
        let took = cpu_s() - start;
        if took > 1.0 {
            return took / times;
        }
    }
}

fn main() {
    let mut words = std::env::args().skip(1).peekable();
    let profile = words.peek().and_then(|word| PackProfile::find_by_name(word));
    let profile = profile.inspect(|_| drop(words.next())).unwrap_or_default();
    let threads = words.next().and_then(|n| n.parse().ok()).expect("threads, then files");
    let dir = tempfile::tempdir().expect("a directory");
    // Unpacked before: it is packing that is measured, not gzip.
    let inputs: Vec<Vec<PathBuf>> = words
        .enumerate()
        .map(|(nth, path)| {
            let mut text = Vec::new();
            let file = std::fs::File::open(&path).expect("a file");
            let mut gz = flate2::read::MultiGzDecoder::new(file);
            std::io::Read::read_to_end(&mut gz, &mut text).expect("gzip");
            let plain = dir.path().join(format!("R{}.fq", nth + 1));
            std::fs::write(&plain, text).expect("written");
            vec![plain]
        })
        .collect();
    let out = std::env::var_os("KEEP").map_or_else(|| dir.path().join("a"), PathBuf::from);
    let writer = "reads_speed".to_owned();
    let (names, layout) = (Vec::new(), ArchiveLayout::default());
    let packing =
        PackOptions { inputs, interleaved: false, names, threads, profile, layout, writer };
    let packed_s = seconds(|| {
        let _ = std::fs::remove_dir_all(&out);
        pack_files(&packing, &out, |_| ()).expect("packed");
    });
    let archive = Archive::open(Box::new(DirectoryObjects::new(&out))).expect("an archive");
    let manifest = archive.manifest();
    let text: u64 = manifest.files.iter().map(|file| file.digests.bytes).sum();
    let size: u64 = manifest.objects.iter().map(|(_, len)| *len).sum();
    let mut null = std::fs::File::create("/dev/null").expect("there");
    let read_s = seconds(|| {
        for mate in 0..manifest.shape.mate_count() {
            archive
                .write_view(ReadSelection::Mate(mate), TextFormat::Fastq, threads, &mut null)
                .expect("read");
        }
    });
    let mb = text as f64 / 1e6;
    let mut told =
        format!("{text} bytes of text, {size} in the archive ({:.4})\n", size as f64 / text as f64);
    told += &format!("pack {:.0} MB/CPU-s, read {:.0} MB/CPU-s\n", mb / packed_s, mb / read_s);
    for total in archive.column_totals().expect("an index") {
        let bits = total.bytes as f64 * 8.0 / total.raw_bytes.max(1) as f64;
        let (column, codec) = (total.column.name(), total.codec);
        told += &format!("  {column:<20} {codec:<10} {:>11} {bits:>7.3} bits\n", total.bytes);
    }
    std::io::stdout().write_all(told.as_bytes()).expect("somebody reads");
}
