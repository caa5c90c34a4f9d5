//! Files that were there before, shown as plain FASTQ. If these failed, an aligner would read other
//! bytes than `gzip -d` gives, or half a file would be taken for all of it.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

use flate2::{Compression, write::GzEncoder};
use forebay_reads::{
    Error, Kind, MemoryObjects, ObjectSource, OriginalFile, OriginalFileSet, TextCache,
    build_index, is_original,
};

const INDEX: &str = "index";

/// FASTQ of so many bytes; one letter in two is by chance, so blocks are about as long as in real
/// files.
fn fastq(bytes: usize) -> Vec<u8> {
    let (mut text, mut state, mut nth) = (Vec::new(), 7_u64, 0);
    while text.len() < bytes {
        writeln!(text, "@M:{nth} 1:N").expect("memory");
        let mut letters = Vec::new();
        for _ in 0..100 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            text.push(b"ACGT"[(state >> 60) as usize & 3]);
            letters.push(b"FFFF:,F#"[(state >> 40) as usize & 7]);
        }
        text.extend(b"\n+\n");
        text.extend(letters);
        text.push(b'\n');
        nth += 1;
    }
    text.truncate(bytes);
    text
}

fn member(text: &[u8], level: u32) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), Compression::new(level));
    out.write_all(text).expect("memory");
    out.finish().expect("memory")
}

/// BGZF (SAM specification, section 4.1).
fn bgzf(text: &[u8]) -> Vec<u8> {
    let block = |text: &[u8]| {
        let plain = member(text, 6);
        let len = (plain.len() + 8 - 1) as u16;
        let mut out = plain[..10].to_vec();
        out[3] = 4;
        out.extend([6, 0, b'B', b'C', 2, 0]);
        out.extend(len.to_le_bytes());
        out.extend(&plain[10..]);
        out
    };
    text.chunks(0xff00).chain([&[][..]]).flat_map(block).collect()
}

/// Objects with an index of all that they have.
fn indexed(files: BTreeMap<String, Vec<u8>>) -> Result<MemoryObjects, Error> {
    let original = |name: &String| OriginalFile { name: name.clone(), changed: (1_700_000_000, 5) };
    let originals: Vec<OriginalFile> = files.keys().map(original).collect();
    let mut objects = MemoryObjects(files);
    let (mut out, mut told) = (Vec::new(), 0);
    let shared: Arc<dyn ObjectSource> = Arc::new(objects.clone());
    let found = build_index(&shared, &originals, 2, &mut out, |bytes| told = bytes)?;
    let texts: u64 = found.iter().flat_map(|one| &one.texts).map(|(_, len)| len).sum();
    assert_eq!(told, texts);
    objects.0.insert(INDEX.to_owned(), out);
    Ok(objects)
}

fn one(name: &str, bytes: Vec<u8>) -> BTreeMap<String, Vec<u8>> {
    BTreeMap::from([(name.to_owned(), bytes)])
}

/// All that is shown, by name.
fn shown(objects: &MemoryObjects) -> Result<Vec<(String, Vec<u8>)>, Error> {
    let existing = OriginalFileSet::open(Arc::new(objects.clone()), INDEX)?;
    let faces = existing.exported_files()?;
    let reader = existing.into_reader(TextCache::new(32 << 20, 2));
    let all = faces.into_iter().map(|(_, face)| {
        let mut text = vec![0; face.len as usize];
        let mut at = 0;
        while at < text.len() {
            at += reader.read_at(&face, at as u64, &mut text[at..])?;
        }
        Ok((face.name, text))
    });
    all.collect()
}

#[test]
fn any_gzip_is_shown_as_its_text_at_any_place() {
    let text = fastq(11 << 20);
    let (a, rest) = text.split_at(3 << 20);
    let (b, c) = rest.split_at(5);
    let forms = [
        ("fast", member(&text, 1)),
        ("best", member(&text, 9)),
        ("stored", member(&text, 0)),
        ("many", [member(a, 6), member(&[], 6), member(b, 6), member(c, 4)].concat()),
        ("bgzf", bgzf(&text)),
        ("runs", member(&vec![b'A'; text.len()], 6)),
        ("padded", [member(&text, 6), vec![0; 10_240]].concat()),
        ("padded bgzf", [bgzf(&text), vec![0; 1]].concat()),
    ];
    for (form, packed) in forms {
        let text = if form == "runs" { vec![b'A'; text.len()] } else { text.clone() };
        let objects = indexed(one("/data/x_R1.fastq.gz", packed)).expect(form);
        let (index, of) = (objects.0[INDEX].len(), text.len());
        assert!(index < of / 100, "{form}: an index of {index} for {of}");
        let all = shown(&objects).expect(form);
        assert_eq!(all[0].0, "x_R1.fastq");
        assert!(all[0].1 == text, "{form}: other text");
        assert_eq!(all[1].0, "x_R1.fastq.gz");
        let mut back = Vec::new();
        let mut unpacked = flate2::read::MultiGzDecoder::new(&all[1].1[..]);
        std::io::Read::read_to_end(&mut unpacked, &mut back).expect("BGZF");
        assert!(back == text, "{form}: other text in BGZF");

        let existing = OriginalFileSet::open(Arc::new(objects), INDEX).expect("it");
        let (_, face) = existing.exported_files().expect("names").swap_remove(0);
        let reader = existing.into_reader(TextCache::new(8 << 20, 0));
        for nth in 0..40 {
            let at = nth * 7_654_321 % text.len();
            let mut out = vec![0; 4096];
            let got = reader.read_at(&face, at as u64, &mut out).expect("part");
            let end = (at + 4096).min(text.len());
            assert!(out[..got] == text[at..end], "{form} at {at}");
        }
    }
}

#[test]
fn an_empty_file_and_a_small_one_are_shown() {
    for text in [&b""[..], b"\n", b"@a\nACGT\n+\nFFFF\n"] {
        let objects = indexed(one("x.fq.gz", member(text, 6))).expect("gzip");
        assert_eq!(shown(&objects).expect("it")[0], ("x.fq".to_owned(), text.to_vec()));
    }
}

#[test]
fn a_file_that_is_cut_damaged_or_no_gzip_is_refused() {
    let text = fastq(6 << 20);
    let packed = member(&text, 6);
    let refused = |bytes: Vec<u8>, kind: Kind, words: &str| {
        let error = indexed(one("x.fastq.gz", bytes)).map(drop).expect_err(words);
        assert_eq!(error.kind, kind, "{error}");
        let told = error.to_string();
        assert!(told.starts_with("x.fastq.gz: ") && told.contains(words), "{words}: {told}");
    };
    for keep in [11, 1000, packed.len() / 2, packed.len() - 9, packed.len() - 1] {
        refused(packed[..keep].to_vec(), Kind::Input, "cut off");
    }
    for at in [packed.len() / 3, packed.len() - 6, packed.len() - 2] {
        let mut damaged = packed.clone();
        damaged[at] ^= 0x10;
        refused(damaged, Kind::Input, "damaged");
    }
    for more in [&b"more"[..], b"\0\0\0more", &[&[0; 3 << 20][..], b"x"].concat()] {
        refused([&packed[..], more].concat(), Kind::Input, "something else follows");
    }
    refused(text, Kind::Request, "neither gzip nor CRAM");
    refused(b"CRAM\x03\x01".to_vec(), Kind::Input, "cut off");
    refused(Vec::new(), Kind::Request, "neither gzip nor CRAM");
}

#[test]
fn no_damage_gives_other_bytes() {
    let text = fastq(5 << 20);
    let objects = indexed(one("x.fastq.gz", member(&text, 6))).expect("gzip");
    let mut met = 0;
    for (name, step) in [("x.fastq.gz", 40_009), (INDEX, 101)] {
        for at in (0..objects.0[name].len()).step_by(step) {
            let mut damaged = objects.clone();
            damaged.0.get_mut(name).expect("it")[at] ^= 1 << (at % 8);
            match shown(&damaged) {
                Ok(all) => assert!(all[0].1 == text, "{name} {at}: other bytes"),
                Err(error) => {
                    met += 1;
                    let expected = matches!(error.kind, Kind::Damaged | Kind::Unknown);
                    assert!(expected || error.kind == Kind::Changed, "{name} {at}: {error}");
                    let named = error.message.contains(name) || name == INDEX;
                    assert!(named, "{name} {at}: {error}");
                }
            }
        }
    }
    assert!(met > 50, "{met} damages were met");
}

#[test]
fn a_file_that_is_another_now_is_told() {
    let mut objects = indexed(one("x.fastq.gz", member(&fastq(1000), 6))).expect("gzip");
    let other = member(&fastq(2000), 6);
    objects.0.insert("x.fastq.gz".to_owned(), other);
    let error = shown(&objects).expect_err("another");
    assert_eq!(error.kind, Kind::Changed, "{error}");
}

#[test]
fn files_have_names_of_their_own() {
    let packed = member(b"@a\nA\n+\nF\n", 6);
    let two = BTreeMap::from([("a/x.fq.gz".into(), packed.clone()), ("b/x.fq.gz".into(), packed)]);
    let error = indexed(two).map(drop).expect_err("one name");
    assert_eq!(error.kind, Kind::Request);
    assert!(error.message.ends_with("called x.fq, a/x.fq.gz and b/x.fq.gz"), "{error}");
    assert!(is_original("x.fq.gz") && !is_original("._x.fq.gz") && !is_original("x.fq"));
}

mod cram {
    use noodles_sam::{
        self as sam,
        alignment::{RecordBuf, io::Write as _, record::Flags},
    };

    use super::*;

    const FIRST: u16 = 0x4d;
    const SECOND: u16 = 0x8d;

    /// A read's name, flags, bases and qualities.
    type Row = (String, u16, Vec<u8>, Vec<u8>);

    fn file(header: &str, reads: &[Row]) -> Vec<u8> {
        written(noodles_cram::io::writer::Builder::default(), header, reads)
    }

    fn written(builder: noodles_cram::io::writer::Builder, header: &str, reads: &[Row]) -> Vec<u8> {
        let header: sam::Header = header.parse().expect("a header");
        let mut writer = builder.build_from_writer(Vec::new());
        writer.write_header(&header).expect("memory");
        for (name, flags, bases, qualities) in reads {
            let record = RecordBuf::builder()
                .set_name(name.as_bytes())
                .set_flags(Flags::from(*flags))
                .set_sequence(bases.clone().into())
                .set_quality_scores(qualities.clone().into())
                .build();
            writer.write_alignment_record(&header, &record).expect("memory");
        }
        writer.try_finish(&header).expect("memory");
        writer.into_inner()
    }

    /// `flags` of the reads of each spot, and what FASTQ is made of them.
    fn reads(spots: usize, flags: &[u16]) -> (Vec<Row>, [Vec<u8>; 2]) {
        let (mut all, mut texts) = (Vec::new(), [Vec::new(), Vec::new()]);
        for spot in 0..spots {
            for (nth, flags) in flags.iter().enumerate() {
                let name = format!("run:{}:{spot}", spot / 1000);
                let len = 30 + (spot + nth) % 40;
                let base = |at: usize| b"ACGTN"[(spot * 31 + at * at + nth) % 5];
                let bases: Vec<u8> = (0..len).map(base).collect();
                let qualities: Vec<u8> = (0..len).map(|at| ((spot + at) % 41) as u8).collect();
                let text = &mut texts[usize::from(flags & 0x80 != 0)];
                let letters = String::from_utf8_lossy(&bases).into_owned();
                let shown: String = qualities.iter().map(|one| char::from(one + 33)).collect();
                writeln!(text, "@{name}\n{letters}\n+\n{shown}").expect("memory");
                all.push((name, *flags, bases, qualities));
            }
        }
        (all, texts)
    }

    #[test]
    fn pairs_and_single_reads_are_shown() {
        let (all, texts) = reads(40_000, &[FIRST, SECOND]);
        let objects = indexed(one("/data/x.cram", file("@HD\tVN:1.6\n", &all))).expect("CRAM");
        let got = shown(&objects).expect("it");
        let names: Vec<&str> = got.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["x_R1.fastq", "x_R1.fastq.gz", "x_R2.fastq", "x_R2.fastq.gz"]);
        assert!(got[0].1 == texts[0], "other first mates");
        assert!(got[2].1 == texts[1], "other second mates");

        let (all, texts) = reads(25_000, &[4]);
        let objects = indexed(one("y.cram", file("@HD\tVN:1.6\n", &all))).expect("CRAM");
        let got = shown(&objects).expect("it");
        assert_eq!(got[0].0, "y.fastq");
        assert!(got[0].1 == texts[0], "other reads");
    }

    #[test]
    fn what_has_to_be_packed_is_refused() {
        let refused = |header: &str, reads: &[Row], words: &str| {
            let error = indexed(one("x.cram", file(header, reads))).map(drop).expect_err(words);
            let told = error.to_string();
            assert!(told.contains(words) && error.kind == Kind::Request, "{told}");
        };
        let (mut all, _) = reads(100, &[FIRST, SECOND]);
        refused("@HD\tVN:1.6\tSO:coordinate\n", &all, "mates are far apart");
        let lossy = noodles_cram::io::writer::Builder::default().preserve_read_names(false);
        let error = indexed(one("x.cram", written(lossy, "@HD\tVN:1.6\n", &all)));
        let error = error.map(drop).expect_err("names that nobody wrote");
        assert_eq!(error.kind, Kind::Request);
        assert!(error.message.contains("names of its reads were thrown away"), "{error}");
        all.swap(3, 5);
        refused("@HD\tVN:1.6\n", &all, "has no mate beside it");
        all[7].1 = 4;
        refused("@HD\tVN:1.6\n", &all[6..], "reads of pairs and others");
    }

    #[test]
    fn damage_is_found() {
        let (all, texts) = reads(3000, &[FIRST, SECOND]);
        let whole = file("@HD\tVN:1.6\n", &all);
        for keep in [100, whole.len() / 2, whole.len() - 1] {
            let error = indexed(one("x.cram", whole[..keep].to_vec())).map(drop);
            assert_eq!(error.expect_err("cut").kind, Kind::Input, "{keep}");
        }
        let objects = indexed(one("x.cram", whole)).expect("CRAM");
        let mut met = 0;
        for at in (0..objects.0["x.cram"].len()).step_by(509) {
            let mut damaged = objects.clone();
            damaged.0.get_mut("x.cram").expect("it")[at] ^= 4;
            match shown(&damaged) {
                Ok(all) => assert!(all[0].1 == texts[0] && all[2].1 == texts[1], "{at}: others"),
                Err(error) => met += usize::from(error.message.contains("x.cram")),
            }
        }
        assert!(met > 50, "{met} damages were met");
    }
}
