// What archives show. If these failed, programs would read other bytes than were packed, or would
// find no end, or threads and memory would be left behind.
use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::error::Result;
use crate::layout::ArchiveLayout;
use crate::objects::{DirectoryObjects, ObjectSource};
use crate::pack::{PackOptions, pack_files};
use crate::profile::PackProfile;

mod far;

/// Objects that count how often each part is read.
#[derive(Debug)]
struct Counted {
    own: DirectoryObjects,
    reads: Arc<Mutex<Vec<(String, u64)>>>,
    fail: Arc<AtomicUsize>,
}

impl ObjectSource for Counted {
    fn object_size(&self, name: &str) -> Result<u64> {
        self.own.object_size(name)
    }

    fn read_range(&self, name: &str, offset: u64, len: usize) -> Result<Vec<u8>> {
        if self.fail.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok()
        {
            return Err(Error::new(Kind::Io, "as the test wants"));
        }
        self.reads.lock().expect("it").push((name.to_owned(), offset));
        self.own.read_range(name, offset, len)
    }
}

/// Reads with random bases, so that groups are not small; the names of mates go together.
fn reads(bytes: usize, mate: char, len: usize) -> Vec<u8> {
    let (mut text, mut state, mut nth) = (Vec::new(), u64::from(mate), 0);
    while text.len() < bytes {
        text.extend(format!("@M:{}:{nth} {mate}:N\n", nth / 5000).bytes());
        for _ in 0..len {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            text.push(b"ACGT"[(state >> 60) as usize & 3]);
        }
        text.extend(b"\n+\n");
        text.extend(std::iter::repeat_n(b'F', len - nth % 20));
        text.extend(std::iter::repeat_n(b'#', nth % 20));
        text.push(b'\n');
        nth += 1;
    }
    text
}

struct Packed {
    _dir: tempfile::TempDir,
    archive: Arc<Archive>,
    reads: Arc<Mutex<Vec<(String, u64)>>>,
    fail: Arc<AtomicUsize>,
}

fn packed(texts: &[&[u8]], interleaved: bool) -> Packed {
    let dir = tempfile::tempdir().expect("a directory");
    let write = |(nth, text): (usize, &&[u8])| {
        let path = dir.path().join(format!("x_R{}.fastq", nth + 1));
        std::fs::write(&path, text).expect("an input");
        vec![path]
    };
    let inputs = texts.iter().enumerate().map(write).collect();
    let writer = "test".to_owned();
    let profile = PackProfile::default();
    let (names, layout) = (Vec::new(), ArchiveLayout::default());
    let packing = PackOptions { inputs, interleaved, names, threads: 2, profile, layout, writer };
    pack_files(&packing, &dir.path().join("a"), |_| ()).expect("packed");
    let (reads, fail) = (Arc::default(), Arc::default());
    let own = DirectoryObjects::new(Path::new(&dir.path().join("a")));
    let counted = Counted { own, reads: Arc::clone(&reads), fail: Arc::clone(&fail) };
    let archive = Arc::new(Archive::open(Box::new(counted)).expect("open"));
    reads.lock().expect("it").clear();
    Packed { _dir: dir, archive, reads, fail }
}

/// All of a face, in parts of `part` bytes.
fn whole(reader: &ExportedReader, face: &ExportedFile, part: usize) -> Vec<u8> {
    let mut all = Vec::new();
    loop {
        let start = all.len();
        all.resize(start + part, 0);
        let got = reader.read_at(face, start as u64, &mut all[start..]).expect("read");
        all.truncate(start + got);
        if got < part {
            assert_eq!(all.len() as u64, face.len, "{}", face.name);
            return all;
        }
    }
}

/// Reads one part after the other up to there.
fn whole_until(reader: &ExportedReader, face: &ExportedFile, end: u64) {
    let mut out = vec![0; 64 << 10];
    for offset in (0..end).step_by(out.len()) {
        reader.read_at(face, offset, &mut out).expect("read");
    }
}

fn gunzip(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    flate2::read::MultiGzDecoder::new(bytes).read_to_end(&mut text).expect("gzip");
    text
}

fn names(text: &[u8]) -> Vec<&[u8]> {
    text.split(|byte| *byte == b'\n').step_by(4).filter(|name| !name.is_empty()).collect()
}

#[test]
fn a_pair_is_shown_plain_packed_and_in_shards() {
    let (first, second) = (reads(11 << 20, '1', 100), reads(11 << 20, '2', 100));
    // As many reads on both sides.
    let count = names(&first).len().min(names(&second).len());
    let cut = |text: &[u8]| -> Vec<u8> {
        text.split_inclusive(|byte| *byte == b'\n').take(4 * count).flatten().copied().collect()
    };
    let texts = [cut(&first), cut(&second)];
    let packed = packed(&[&texts[0], &texts[1]], false);
    let shards = NonZeroU32::new(5);
    let faces = packed.archive.exported_files(shards).expect("faces");
    let reader = ExportedReader::new(Arc::clone(&packed.archive), 64 << 20);
    let face = |name: &str| {
        let face = faces.iter().find(|face| face.name == name);
        whole(&reader, face.unwrap_or_else(|| panic!("no {name}")), 300_001)
    };
    assert_eq!(faces.len(), 2 * 2 * (1 + 5));
    for (file, text) in texts.iter().enumerate() {
        let name = format!("x_R{}", file + 1);
        assert!(face(&format!("{name}.fastq")) == *text);
        assert!(gunzip(&face(&format!("{name}.fastq.gz"))) == *text);
        let shard = |nth: usize, end| face(&format!("{name}.{nth:04}-of-0005.fastq{end}"));
        let parts: Vec<Vec<u8>> = (1..=5).map(|nth| shard(nth, "")).collect();
        assert!(parts[0].starts_with(&text[..1000]) && parts[4].is_empty());
        assert!(gunzip(&shard(2, ".gz")) == parts[1] && gunzip(&shard(5, ".gz")).is_empty());
        let dealt: BTreeSet<&[u8]> = parts.iter().flat_map(|part| names(part)).collect();
        assert_eq!(parts.iter().map(Vec::len).sum::<usize>(), text.len());
        assert!(dealt == names(text).into_iter().collect::<BTreeSet<_>>());
    }
    for nth in 1..=5 {
        let [one, other] = [1, 2].map(|mate| face(&format!("x_R{mate}.000{nth}-of-0005.fastq")));
        let swapped: Vec<Vec<u8>> = names(&one)
            .iter()
            .map(|name| String::from_utf8_lossy(name).replace(" 1:", " 2:").into_bytes())
            .collect();
        assert!(swapped == names(&other), "mates of shard {nth} were parted");
    }
    let found = packed.archive.find_exported_file("x_R2.0003-of-0007.fastq.gz").expect("faces");
    assert!(found.is_some_and(|face| face.len > 0));
    assert!(packed.archive.find_exported_file("x_R3.fastq").expect("faces").is_none());
}

#[test]
fn mates_in_turns_and_text_without_records_are_shown() {
    let turns = reads(9 << 20, '1', 80);
    let even = 2 * (names(&turns).len() / 2);
    let turns: Vec<u8> =
        turns.split_inclusive(|byte| *byte == b'\n').take(4 * even).flatten().copied().collect();
    let own = packed(&[&turns], true);
    let reader = ExportedReader::new(Arc::clone(&own.archive), 1 << 20);
    let faces = own.archive.exported_files(NonZeroU32::new(2)).expect("faces");
    assert!(whole(&reader, &faces[0], 1 << 20) == turns);
    assert!(names(&whole(&reader, &faces[2], 1 << 20)).len().is_multiple_of(2));

    let odd = vec![0_u8; 5 << 20];
    let own = packed(&[&odd], false);
    let reader = ExportedReader::new(Arc::clone(&own.archive), 64 << 20);
    let faces = own.archive.exported_files(None).expect("faces");
    assert!(whole(&reader, &faces[0], 70_000) == odd);
    assert!(gunzip(&whole(&reader, &faces[1], 70_000)) == odd);
    let error = own.archive.exported_files(NonZeroU32::new(2)).expect_err("no shards");
    assert!(error.kind == Kind::Request && error.message.contains("no shards"), "{error}");

    let empty = packed(&[b""], false);
    let reader = ExportedReader::new(Arc::clone(&empty.archive), 64 << 20);
    for face in empty.archive.exported_files(NonZeroU32::new(2)).expect("faces") {
        let bytes = whole(&reader, &face, 100);
        assert_eq!(bytes.len(), if face.name.ends_with(".gz") { 28 } else { 0 }, "{}", face.name);
    }
}

#[test]
fn many_threads_get_their_bytes_and_each_group_is_decoded_once() {
    let text = reads(17 << 20, '1', 100);
    let own = packed(&[&text], false);
    let faces = own.archive.exported_files(None).expect("faces");
    let reader = ExportedReader::new(Arc::clone(&own.archive), 256 << 20);
    std::thread::scope(|scope| {
        for thread in 0..6_u64 {
            let (reader, face, text) = (&reader, &faces[0], &text);
            scope.spawn(move || {
                let mut out = vec![0; 4096];
                for nth in 0..200_u64 {
                    let offset = (nth * 7919 + thread) * 104_729 % face.len;
                    let got = reader.read_at(face, offset, &mut out).expect("read");
                    assert!(out[..got] == text[offset as usize..][..got], "at {offset}");
                }
                assert!(whole(reader, face, 128 << 10) == *text);
            });
        }
    });
    let mut parts = own.reads.lock().expect("it").clone();
    let all = parts.len();
    parts.sort();
    parts.dedup();
    assert_eq!(parts.len(), all, "a page or a chunk was fetched twice");
    // One page; bases with lengths, names, qualities of each group, fewer where they lie near.
    let groups = own.archive.group_count();
    assert!((1 + groups..=1 + 3 * groups).contains(&all), "{all} for {groups} groups");
}

#[test]
fn a_small_part_is_had_alone_first_and_of_its_whole_group_then() {
    let texts = ['1', '2'].map(|mate| {
        let mut text = reads(9 << 20, mate, 100);
        // Exceptions of bases, of which no part may get those of another.
        let lines = text.split_mut(|byte| *byte == b'\n').skip(1).step_by(4);
        lines
            .enumerate()
            .filter(|(nth, _)| nth % 7 == 0)
            .for_each(|(nth, line)| line[nth % 90..][..5].fill(b'N'));
        text
    });
    let packed = packed(&[&texts[0], &texts[1]], false);
    let faces = packed.archive.exported_files(None).expect("faces");
    let near = DirectoryObjects::new(&packed._dir.path().join("a"));
    let archive = Arc::new(Archive::open(Box::new(near)).expect("open"));
    for (nth, text) in texts.iter().enumerate() {
        let name = format!("x_R{}.fastq", nth + 1);
        let face = faces.iter().find(|face| face.name == name).expect("a face");
        // Nothing is kept, so each part is decoded alone.
        let none = ExportedReader::new(Arc::clone(&archive), 0);
        for at in (0..60).map(|nth| nth * 7_919_111 % (text.len() - 5000)) {
            let mut part = vec![0; 1 + at % 5000];
            none.read_at(face, at as u64, &mut part).expect("read");
            assert!(part == text[at..at + part.len()], "{} bytes at {at} of {name}", part.len());
        }
        let cache = TextCache::new(32 << 20, 0);
        let some = ExportedReader::with_shared_cache(Arc::clone(&archive), Arc::clone(&cache));
        for (look, kept) in [(0, 0), (1, 1), (2, 1)] {
            let mut part = [0; 100];
            some.read_at(face, 1_000_003, &mut part).expect("read");
            assert!(part == text[1_000_003..1_000_103], "look {look} at {name}");
            assert_eq!(cache.bytes() / (4 << 20), kept, "after look {look}");
        }
    }
}

#[test]
fn memory_stays_within_the_bound() {
    let text = reads(17 << 20, '1', 100);
    let own = packed(&[&text], false);
    let faces = own.archive.exported_files(None).expect("faces");
    for bytes_max in [1 << 20, 10 << 20] {
        let cache = TextCache::new(bytes_max, 3);
        let reader =
            ExportedReader::with_shared_cache(Arc::clone(&own.archive), Arc::clone(&cache));
        let other = ExportedReader::with_shared_cache(Arc::clone(&own.archive), Arc::clone(&cache));
        let mut out = vec![0; 256 << 10];
        for offset in (0..faces[1].len).step_by(out.len()) {
            reader.read_at(&faces[1], offset, &mut out).expect("read");
            other.read_at(&faces[0], offset, &mut out).expect("read");
            // A group that is larger than the cache is there alone.
            assert!(cache.bytes() <= bytes_max.max(5 << 20), "{} bytes", cache.bytes());
        }
        drop(reader);
        drop(other);
        assert_eq!(cache.settled(), 0, "bytes of readers that are gone");
    }
}

#[test]
fn an_error_is_told_and_the_next_reads_again() {
    let text = reads(13 << 20, '1', 100);
    let own = packed(&[&text], false);
    let faces = own.archive.exported_files(None).expect("faces");
    let reader = ExportedReader::new(Arc::clone(&own.archive), 64 << 20);
    let mut out = vec![0; 4096];
    for _ in 0..3 {
        own.fail.store(1, Ordering::SeqCst);
        let error = reader.read_at(&faces[0], 9 << 20, &mut out).expect_err("refused");
        assert!(error.message.contains("as the test wants"), "{error}");
    }
    reader.read_at(&faces[0], 9 << 20, &mut out).expect("read");
    assert!(out == text[9 << 20..][..4096]);
    // Errors of what is decoded ahead are nobody's but of who wants it.
    let reader = ExportedReader::new(Arc::clone(&own.archive), 64 << 20);
    own.fail.store(3, Ordering::SeqCst);
    let (mut done, mut errors) = (0, 0);
    while done < 13 << 20 {
        match reader.read_at(&faces[0], done as u64, &mut out) {
            Ok(got) => {
                assert!(out[..got] == text[done..done + got], "at {done}");
                done += got;
            }
            Err(_) => errors += 1,
        }
    }
    assert!(errors <= 3, "{errors} errors of 3");
    // Nor do they hold up anybody, however many they are.
    let reader = ExportedReader::new(Arc::clone(&own.archive), 64 << 20);
    whole_until(&reader, &faces[0], 3 << 20);
    own.fail.store(usize::MAX, Ordering::SeqCst);
    // What was decoded ahead before is there; of the rest nothing comes.
    let ends = (3 << 20..13 << 20).step_by(64 << 10);
    let came = ends.take_while(|at| reader.read_at(&faces[0], *at, &mut out).is_ok()).count();
    assert!(came < 160, "all came");
    own.fail.store(0, Ordering::SeqCst);
    assert!(whole(&reader, &faces[0], 300_000) == text);
}

#[test]
fn a_face_of_another_archive_is_refused() {
    let (large, small) =
        (packed(&[&reads(9 << 20, '1', 100)], false), packed(&[b"@a\nA\n+\nF\n"], false));
    let faces = large.archive.exported_files(None).expect("faces");
    let reader = ExportedReader::new(Arc::clone(&small.archive), 1 << 20);
    let error = reader.read_at(&faces[0], 5 << 20, &mut [0; 10]).expect_err("refused");
    assert_eq!(error.kind, Kind::Request);
}

#[test]
fn names_that_would_be_one_are_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let inputs = ["a.fq", "a.fq.gz"].map(|name| dir.path().join(name));
    for input in &inputs {
        std::fs::write(input, "@a\nA\n+\nF\n").expect("an input");
    }
    let mut packing = PackOptions {
        inputs: inputs.map(|input| vec![input]).to_vec(),
        interleaved: false,
        names: Vec::new(),
        threads: 1,
        profile: PackProfile::default(),
        layout: ArchiveLayout::default(),
        writer: String::new(),
    };
    let error = pack_files(&packing, &dir.path().join("x"), |_| ()).expect_err("one name");
    assert!(error.message.contains("both files are called a.fq"), "{error}");
    packing.names = vec!["a.fq".into(), "b.fq".into()];
    pack_files(&packing, &dir.path().join("x"), |_| ()).expect("packed");
}
