//! BAM in and out, and reads of which mates follow each other. If these failed, a read would come
//! back in the wrong direction, beside the mate of another, or not at all.

use std::io::{Cursor, Read, Write};
use std::path::PathBuf;

use forebay_reads::{
    ArchiveLayout, BamHeader, Error, InputFormat, Kind, Manifest, PackOptions, PackProfile,
    RawInput, ReadSelection, SpotReader, TextFormat, pack_source, pack_spots,
};

use crate::common::{cat, open, try_pack};

/// An empty block, as the SAM specification has it in section 4.1.2.
const END: &[u8] = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0\x1b\0\x03\0\0\0\0\0\0\0\0\0";

/// A line of BAM; `bases` are letters, `qualities` as in FASTQ, or none.
fn line(flag: u16, name: &str, bases: &str, qualities: Option<&str>, tags: &[u8]) -> Vec<u8> {
    let mut line = vec![0; 8];
    line.extend([name.len() as u8 + 1, 60, 0, 0, 1, 0]);
    line.extend(flag.to_le_bytes());
    line.extend((bases.len() as u32).to_le_bytes());
    line.extend([0; 12]);
    line.extend(name.as_bytes());
    line.push(0);
    // One operation of CIGAR.
    line.extend([0x40, 0, 0, 0]);
    let nibble = |letter: u8| b"=ACMGRSVTWYHKDBN".iter().position(|base| *base == letter);
    let nibbles: Vec<u8> =
        bases.bytes().map(|letter| nibble(letter).expect("a base") as u8).collect();
    line.extend(nibbles.chunks(2).map(|two| two[0] << 4 | two.get(1).copied().unwrap_or(0)));
    match qualities {
        Some(qualities) => line.extend(qualities.bytes().map(|quality| quality - 33)),
        None => line.extend(std::iter::repeat_n(0xff, bases.len())),
    }
    line.extend(tags);
    [&(line.len() as u32).to_le_bytes()[..], &line].concat()
}

fn header(text: &str) -> Vec<u8> {
    let mut bytes = b"BAM\x01".to_vec();
    bytes.extend((text.len() as u32).to_le_bytes());
    bytes.extend(text.as_bytes());
    // One reference, of 1,000 bases.
    bytes.extend(b"\x01\0\0\0\x02\0\0\0c\0\xe8\x03\0\0");
    bytes
}

/// As a file.
fn bam(lines: &[Vec<u8>]) -> Vec<u8> {
    packed(&[header("@HD\tVN:1.6\n"), lines.concat()].concat())
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut blocks = noodles_bgzf::io::Writer::new(Vec::new());
    blocks.write_all(bytes).expect("packed");
    blocks.finish().expect("packed")
}

fn source(bytes: &[u8]) -> RawInput {
    RawInput::new("x.bam", Box::new(Cursor::new(bytes.to_vec())))
}

type Texts = (Manifest, u64, Vec<Vec<u8>>);

/// Packs, and reads again what is shown.
fn pack(spots: Result<SpotReader, Error>) -> Result<Texts, Error> {
    let (spots, dir) = (spots?, tempfile::tempdir().expect("a directory"));
    let names = if spots.is_paired() { vec!["R1".to_owned(), "R2".to_owned()] } else { Vec::new() };
    let (inputs, writer) = (vec![vec![PathBuf::from("x.bam")]], "test".to_owned());
    let profile = PackProfile::default();
    let packing = PackOptions {
        inputs,
        interleaved: false,
        names,
        threads: 2,
        profile,
        layout: ArchiveLayout::default(),
        writer,
    };
    let packed = pack_spots(&packing, spots, dir.path(), |_| ())?;
    let forebay_reads::PackSummary { manifest, left_out, .. } = packed;
    let archive = open(dir.path()).expect("an archive");
    let file = |nth| cat(&archive, ReadSelection::File(nth), TextFormat::Fastq).expect("a file");
    let texts = (0..manifest.files.len()).map(file).collect();
    Ok((manifest, left_out, texts))
}

#[test]
fn aligned_reads_are_as_they_were_sequenced() {
    let lines = [
        line(65, "r1", "ACGN", Some("IIH#"), b""),
        line(65 | 0x100, "r1", "ACGN", Some("IIH#"), b""),
        // The second mate lies the other way; first here, and behind a supplementary line below.
        line(145, "r1", "ACGTRY", Some("ABCDEF"), b"NMC\x01"),
        line(145, "r2", "AAC", None, b""),
        line(65 | 0x800, "r2", "AAAA", Some("BBBB"), b""),
        line(65, "r2", "=MRSVWYHKDBN", Some("!~!~!~!~!~!~"), b""),
        line(77, "r3", "", Some(""), b""),
        line(141, "r3", "G", Some("I"), b""),
    ];
    let (manifest, left_out, texts) =
        pack(SpotReader::from_bam(source(&bam(&lines)))).expect("packed");
    assert_eq!((manifest.spot_count(), left_out), (3, 0));
    assert_eq!(manifest.files[1].source, "x.bam");
    let first = "@r1\nACGN\n+\nIIH#\n@r2\n=MRSVWYHKDBN\n+\n!~!~!~!~!~!~\n@r3\n\n+\n\n";
    let second = "@r1\nRYACGT\n+\nFEDCBA\n@r2\nGTT\n+\nBBB\n@r3\nG\n+\nI\n";
    assert_eq!(String::from_utf8_lossy(&texts[0]), first);
    assert_eq!(String::from_utf8_lossy(&texts[1]), second);

    let lines = [line(16, "a", "ACGN", Some("IIH#"), b""), line(4, "b", "ACM", Some("ABC"), b"")];
    let (_, _, texts) = pack(SpotReader::from_bam(source(&bam(&lines)))).expect("packed");
    assert_eq!(String::from_utf8_lossy(&texts[0]), "@a\nNCGT\n+\n#HII\n@b\nACM\n+\nABC\n");
    let (manifest, _, texts) = pack(SpotReader::from_bam(source(&bam(&[])))).expect("packed");
    assert_eq!((manifest.spot_count(), &texts[..]), (0, &[Vec::new()][..]));
}

#[test]
fn reads_without_mates_are_refused_or_left_out() {
    let one = |flag, name| line(flag, name, "ACGT", Some("IIII"), b"");
    let lines = [one(77, "a"), one(141, "a"), one(77, "b"), one(77, "c"), one(141, "c")];
    let error = pack(SpotReader::from_bam(source(&bam(&lines)))).expect_err("b");
    assert_eq!(error.kind, Kind::Input);
    assert_eq!(error.message, "x.bam: read b has no mate beside it");
    let spots = SpotReader::from_bam(source(&bam(&lines))).expect("a BAM").pairs_only();
    let (manifest, left_out, texts) = pack(Ok(spots)).expect("packed");
    assert_eq!((manifest.spot_count(), left_out), (2, 1));
    assert!(texts[0] == texts[1] && texts[0] == b"@a\nACGT\n+\nIIII\n@c\nACGT\n+\nIIII\n");
    let mixed = [one(4, "a"), one(77, "b"), one(141, "b")];
    let spots = SpotReader::from_bam(source(&bam(&mixed))).expect("a BAM").pairs_only();
    let (manifest, left_out, _) = pack(Ok(spots)).expect("packed");
    assert_eq!((manifest.spot_count(), left_out, manifest.files.len()), (1, 1, 2));
    let error = pack(SpotReader::from_bam(source(&bam(&mixed)))).expect_err("mixed");
    assert!(error.message.contains("read b is one of a pair"), "{error}");

    let by_place = packed(&header("@HD\tVN:1.6\tSO:coordinate\n@CO\tx\n"));
    assert!(SpotReader::from_bam(source(&by_place)).expect("a BAM").is_coordinate_sorted());
    assert!(!SpotReader::from_bam(source(&bam(&lines))).expect("a BAM").is_coordinate_sorted());
}

#[test]
fn mates_that_lie_apart_are_no_reads_without_mates() {
    let one = |flag, name: &str| line(flag, name, "ACGT", Some("IIII"), b"");
    // By tags, say, in an order that the header does not tell.
    let names: Vec<String> = (0..50).map(|nth| format!("p{}", nth * 7 % 50)).collect();
    let mut apart = vec![one(77, "orphan")];
    apart.extend(names.iter().map(|name| one(77, name)));
    apart.extend(names.iter().rev().map(|name| one(141, name)));
    let spots = || SpotReader::from_bam(source(&bam(&apart)));
    let error = pack(spots()).expect_err("far");
    assert!(error.message.contains("has no mate beside it"), "{error}");
    let error = pack(spots().map(SpotReader::pairs_only)).expect_err("they have mates");
    assert_eq!(error.kind, Kind::Input);
    assert!(error.message.contains("has a mate, but not beside it"), "{error}");
    // Those that have none are left out, though the same mate comes twice.
    let lone = [one(77, "x"), one(77, "a"), one(141, "a"), one(77, "x"), one(141, "y")];
    let (manifest, left_out, _) =
        pack(SpotReader::from_bam(source(&bam(&lone))).map(SpotReader::pairs_only))
            .expect("packed");
    assert_eq!((manifest.spot_count(), left_out), (1, 3));
}

#[test]
fn a_bam_may_be_filled_up_with_zeros() {
    let lines = [line(4, "a", "ACGT", Some("IIII"), b"")];
    let whole = bam(&lines);
    for zeros in [1, 20, 100_000] {
        let padded = [&whole[..], &vec![0; zeros]].concat();
        let (manifest, _, texts) = pack(SpotReader::from_bam(source(&padded))).expect("packed");
        assert_eq!((manifest.spot_count(), &texts[0][..]), (1, &b"@a\nACGT\n+\nIIII\n"[..]));
        // What is missing is not made good by zeros.
        let cut = [&whole[..whole.len() - END.len()], &vec![0; zeros]].concat();
        let error =
            pack(SpotReader::from_bam(source(&cut))).expect_err("its last block is not there");
        assert!(error.message.contains("cut off"), "{error}");
    }
}

#[test]
fn a_bam_that_is_cut_or_damaged_is_never_packed_in_part() {
    let mut lines = Vec::new();
    for nth in 0..300 {
        let bases: String = (0..50).map(|at| ['A', 'C', 'G', 'T'][(nth * at / 3) % 4]).collect();
        for flag in [77, 141] {
            lines.push(line(flag, &format!("r{nth}"), &bases, Some(&"I".repeat(50)), b""));
        }
    }
    let whole = bam(&lines);
    assert_eq!(pack(SpotReader::from_bam(source(&whole))).expect("packed").0.spot_count(), 300);
    let cuts = (0..whole.len()).step_by(whole.len() / 40).chain(whole.len() - 29..whole.len());
    for end in cuts {
        let error = pack(SpotReader::from_bam(source(&whole[..end]))).expect_err("cut off");
        assert_eq!(error.kind, Kind::Input, "{end}: {error}");
        assert!(error.message.starts_with("x.bam: it is "), "{end}: {error}");
    }
    // A line that claims more than it has, a quality that FASTQ can't have, a line of no length.
    let long = {
        let mut long = lines[0].clone();
        long[20] = 255;
        long
    };
    let high = line(4, "q", "A", Some("\u{7f}"), b"");
    for (bad, words) in [
        (long, "shorter than its fields"),
        (high, "a quality of 94 in read q"),
        (vec![1, 0, 0, 0], "a line of 1 bytes"),
    ] {
        let error = pack(SpotReader::from_bam(source(&bam(&[bad])))).expect_err(words);
        assert!(error.kind == Kind::Input && error.message.contains(words), "{error}");
    }
    assert!(SpotReader::from_bam(source(&packed(b"@r\nA\n+\nI\n"))).is_err());
    // Behind the last block stands something else than zeros.
    for rest in [&b"x"[..], &[0, 0, 1], &[0; 100_000], &whole[..40]] {
        let rest = [&whole[..], rest, b"x"].concat();
        let error = pack(SpotReader::from_bam(source(&rest))).expect_err("something else");
        assert!(error.message.starts_with("x.bam: it is "), "{error}");
    }
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&header("@HD\tVN:1.6\n")).expect("packed");
    let gzip = gzip.finish().expect("packed");
    let error = SpotReader::from_bam(source(&gzip)).expect_err("no BGZF");
    assert!(error.message.contains("its gzip is not BGZF"), "{error}");
}

/// Archive to BAM: its bytes, unpacked, and how many reads it can't hold as they are.
fn to_bam(
    texts: &[&[u8]],
    header: &BamHeader,
    level: u32,
) -> Result<(Vec<u8>, Vec<u8>, u64), Error> {
    let archive = try_pack(texts, false).expect("packed");
    let mut file = Vec::new();
    let changed = archive.open().write_bam(header, level, 2, &mut file)?;
    let mut bytes = Vec::new();
    flate2::read::MultiGzDecoder::new(&file[..]).read_to_end(&mut bytes).expect("gzip");
    Ok((file, bytes, changed))
}

#[test]
fn what_went_out_as_bam_comes_in_again() {
    let group = BamHeader::new("1", Some("@RG\tID:lane1\tSM:x")).expect("a read group");
    let plain = BamHeader::new("1", None).expect("a header");
    let names = [
        ("@M1:7 1:N:0:AC", "@M1:7 2:N:0:AC"),
        ("@x/1", "@x/2"),
        ("@s.5.1 5 length=3", "@s.5.2 5 length=3"),
        ("@same", "@same"),
        ("@two  spaces ", "@two  words"),
    ];
    let text = |mate: usize, bases: &str| -> String {
        let names = names.iter().map(|pair| if mate == 0 { pair.0 } else { pair.1 });
        names
            .map(|name| format!("{name}\n{bases}\n+\n{}\n", "I!~".repeat(bases.len() / 3)))
            .collect()
    };
    let (first, second) = (text(0, "ACGTRYSWKMBDHVN"), text(1, "ACG"));
    for (header, level) in [(&plain, 0), (&group, 6)] {
        let pair = [first.as_bytes(), second.as_bytes()];
        let (file, bytes, changed) = to_bam(&pair, header, level).expect("a BAM");
        assert_eq!(changed, 0);
        assert!(file.ends_with(END));
        let count = |words: &[u8]| bytes.windows(words.len()).filter(|at| *at == words).count();
        let groups = (count(b"@RG\tID:lane1\tSM:x\n"), count(b"RGZlane1\0"));
        assert_eq!(groups, if level == 0 { (0, 0) } else { (1, 10) });
        let (_, _, texts) = pack(SpotReader::from_bam(source(&file))).expect("packed");
        assert!(texts[0] == first.as_bytes() && texts[1] == second.as_bytes());
    }
    let single = text(1, "ACGTAC");
    let (file, _, _) = to_bam(&[single.as_bytes()], &plain, 1).expect("a BAM");
    assert_eq!(pack(SpotReader::from_bam(source(&file))).expect("packed").2[0], single.as_bytes());
}

#[test]
fn what_bam_can_not_hold_is_counted_or_refused() {
    let header = BamHeader::new("1", None).expect("a header");
    let changed = [
        ("lower case", "@a\nacgt\n+\nIIII\n", "@a\nACGT\n+\nIIII\n"),
        ("dots", "@a\nAC.T\n+\nIIII\n", "@a\nACNT\n+\nIIII\n"),
        ("a second name", "@a\nACGT\n+a\nIIII\n", "@a\nACGT\n+\nIIII\n"),
        ("CRLF", "@a\r\nACGT\r\n+\r\nIIII\r\n", "@a\nACGT\n+\nIIII\n"),
        ("no last end", "@a\nACGT\n+\nIIII", "@a\nACGT\n+\nIIII\n"),
        ("tabs", "@a\tBC:Z:A\nACGT\n+\nIIII\n", "@a\nACGT\n+\nIIII\n"),
        ("no name", "@\nACGT\n+\nIIII\n", "@*\nACGT\n+\nIIII\n"),
    ];
    for (what, text, again) in changed {
        let (file, _, changed) = to_bam(&[text.as_bytes()], &header, 6).expect(what);
        assert_eq!(changed, 1, "{what}");
        let (_, _, texts) = pack(SpotReader::from_bam(source(&file))).expect(what);
        assert_eq!(String::from_utf8_lossy(&texts[0]), again, "{what}");
    }
    let long = format!("@{}\nA\n+\nI\n", "n".repeat(255));
    let refused: &[(&[&str], &str)] = &[
        (&[&long], "a name that BAM can't hold"),
        (&["@a\nA\n+\n\u{1}\n"], "a quality that BAM can't hold"),
        (&["words\n"], "no records of four lines"),
        (&["@a/1\nA\n+\nI\n", "@b/2\nA\n+\nI\n"], "a mate with another name"),
        (&["@a/2\nA\n+\nI\n", "@a/1\nA\n+\nI\n"], "a mate with another name"),
    ];
    for (texts, words) in refused {
        let texts: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).collect();
        let error = to_bam(&texts, &header, 6).expect_err(words);
        assert!(error.kind == Kind::Request && error.message.contains(words), "{error}");
    }
    for line in ["ID:x", "@RG\tSM:x", "@RG\tID:", "@RG\tID:x\n@CO\ty"] {
        assert!(BamHeader::new("1", Some(line)).is_err(), "{line}");
    }
}

#[test]
fn a_tag_of_others_is_no_part_of_a_name() {
    let tags = b"NMC\x01BCZACGT\0XBBs\x02\0\0\0\x01\0\x02\0fcZ 1:N:0\0";
    let lines = line(4, "a", "A", Some("I"), tags);
    let ours = "@HD\tVN:1.6\n@PG\tID:forebay\tPN:forebay\tVN:1\n";
    for (text, name) in [("@HD\tVN:1.6\n", "@a\n"), (ours, "@a 1:N:0\n")] {
        let file = packed(&[header(text), lines.clone()].concat());
        let (_, _, texts) = pack(SpotReader::from_bam(source(&file))).expect("packed");
        assert!(texts[0].starts_with(name.as_bytes()), "{}", String::from_utf8_lossy(&texts[0]));
    }
}

#[test]
fn gzip_goes_out_as_it_came_in() {
    let texts = [b"@a\r\nacgt\n+a\nIIII\n".repeat(9000), b"@b\nA\n+\nI\n".repeat(9000)];
    let packed = try_pack(&[&texts[0], &texts[1]], false).expect("packed");
    let archive = packed.open();
    for (nth, text) in texts.iter().enumerate() {
        let mut file = Vec::new();
        archive.write_gzip(nth, 6, 2, &mut file).expect("written");
        assert!(file.ends_with(END) && file.len() < text.len() / 4);
        let mut again = Vec::new();
        flate2::read::MultiGzDecoder::new(&file[..]).read_to_end(&mut again).expect("gzip");
        assert!(again == *text);
    }
    assert_eq!(archive.write_gzip(2, 6, 1, &mut Vec::new()).expect_err("two").kind, Kind::Request);
}

#[test]
fn reads_of_a_program_are_paired_by_their_names() {
    let fastq = |text: &str| {
        SpotReader::from_fastq(RawInput::new(
            "x.sra",
            Box::new(Cursor::new(text.as_bytes().to_vec())),
        ))
    };
    let read = |name: &str| format!("@{name}\nAC\n+{name}\nII\n");
    let text = ["s.1 1 length=2", "s.1 1 length=2", "s.2 2 length=2", "s.2 2 length=2"].map(read);
    let (manifest, _, texts) = pack(fastq(&text.concat())).expect("packed");
    assert_eq!((manifest.spot_count(), manifest.files.len()), (2, 2));
    assert_eq!(texts[0], [&text[0][..], &text[2]].concat().as_bytes());
    let single = [read("s.1 x"), read("s.2 x"), read("s.3 x")].concat();
    assert_eq!(pack(fastq(&single)).expect("packed").2[0], single.as_bytes());
    assert_eq!(pack(fastq(&read("s.1"))).expect("packed").0.spot_count(), 1);
    assert_eq!(pack(fastq("")).expect("packed").0.spot_count(), 0);
    let torn = [&text[0][..], &text[1], &text[2]].concat();
    let error = pack(fastq(&torn)).expect_err("torn");
    assert_eq!(error.message, "x.sra: read s.2 has no mate beside it");
    let late = [read("s.1 x"), text[2].clone(), text[3].clone()].concat();
    let error = pack(fastq(&late)).expect_err("a pair that comes late");
    assert!(error.message.contains("read s.2 is one of a pair"), "{error}");
    for bad in ["words\n", "@a\nA\n-\nI\n", "@a\nA\n+\nI", "@a\nA\n"] {
        assert_eq!(fastq(bad).expect_err(bad).kind, Kind::Input);
    }
}

#[test]
fn sources_are_told_by_their_first_bytes() {
    let text = b"@a\nA\n+\nI\n";
    let plain_gzip = packed(text);
    let cases: &[(&[u8], InputFormat)] = &[
        (&bam(&[]), InputFormat::Bam),
        (b"CRAM\x03\x01", InputFormat::Cram),
        (b"NCBI.sra\x05", InputFormat::Sra),
        (&plain_gzip, InputFormat::Text),
        (text, InputFormat::Text),
        (b"\x1f\x8b", InputFormat::Text),
        (b"", InputFormat::Text),
    ];
    for (bytes, looks) in cases {
        assert_eq!(source(bytes).detect_format().expect("looked").0, *looks, "{bytes:?}");
    }
    // Nothing is lost by looking.
    let dir = tempfile::tempdir().expect("a directory");
    let (inputs, writer) = (vec![vec![PathBuf::from("-")]], "test".to_owned());
    let profile = PackProfile::default();
    let packing = PackOptions {
        inputs,
        interleaved: false,
        names: Vec::new(),
        threads: 1,
        profile,
        layout: ArchiveLayout::default(),
        writer,
    };
    let (_, source) = source(&plain_gzip).detect_format().expect("looked");
    pack_source(&packing, source, dir.path(), |_| ()).expect("packed");
    let archive = open(dir.path()).expect("an archive");
    assert_eq!(cat(&archive, ReadSelection::File(0), TextFormat::Fastq).expect("a file"), text);
}
