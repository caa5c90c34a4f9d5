//! A .fastq.gz, as it is: what is shown of it is its text, as another reader has it.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::sync::Arc;

use flate2::{Compression, read::MultiGzDecoder, write::GzEncoder};

use super::FuzzTarget;
use crate::exported_view::TextCache;
use crate::objects::{MemoryObjects, ObjectSource};
use crate::original_files::{OriginalFile, OriginalFileSet, build_index};

pub(super) const TARGET: FuzzTarget = FuzzTarget { name: "existing", feed, seeds };

const FILE: &str = "x.fq.gz";
const INDEX: &str = "index";

fn feed(bytes: &[u8]) {
    // CRAM is noodles', which has no bounds to keep.
    if !bytes.starts_with(b"\x1f\x8b") {
        return;
    }
    let mut files = BTreeMap::from([(FILE.to_owned(), bytes.to_vec())]);
    let objects: Arc<dyn ObjectSource> = Arc::new(MemoryObjects(files.clone()));
    let original = OriginalFile { name: FILE.to_owned(), changed: (0, 0) };
    let mut out = Vec::new();
    if build_index(&objects, &[original], 1, &mut out, |_| ()).is_err() {
        return;
    }
    files.insert(INDEX.to_owned(), out);
    let existing =
        OriginalFileSet::open(Arc::new(MemoryObjects(files)), INDEX).expect("what was written");
    let (_, face) = existing.exported_files().expect("names").swap_remove(0);
    let mut shown = vec![0; face.len as usize];
    let reader = existing.into_reader(TextCache::new(8 << 20, 0));
    let mut at = 0;
    while at < shown.len() {
        at += reader.read_at(&face, at as u64, &mut shown[at..]).expect("what was there");
    }
    let mut text = Vec::new();
    if MultiGzDecoder::new(bytes).read_to_end(&mut text).is_ok() {
        assert!(shown == text, "other text");
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let member = |level: u32, text: &[u8]| {
        let mut out = GzEncoder::new(Vec::new(), Compression::new(level));
        out.write_all(text).expect("memory");
        out.finish().expect("memory")
    };
    let reads = b"@M:1:1\nACGTNACGGT\n+\nFFFF:,F#FF\n@M:1:2\nACGT\n+\nFF#F\n".repeat(40);
    vec![member(0, &reads), member(9, &reads), [member(1, b""), member(6, &reads)].concat()]
}
