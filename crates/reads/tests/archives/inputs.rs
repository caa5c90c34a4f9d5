//! What is read, however it is packed and in however many files. If these failed, reads of a lane
//! would be missing, or an input that is cut off would be taken for a whole one.

use std::io::Write;

use forebay_reads::{
    ArchiveLayout, Error, Kind, Manifest, PackOptions, PackProfile, ReadSelection, TextFormat,
    join_lanes, pack_files, split_lanes,
};

use crate::common::{cat, open};

const A: &[u8] = b"@a\nACGT\n+\nIIII\n@b\nAC\n+\nII\n";
/// A frame of zstd that holds nothing of the text.
const SKIPPED: &[u8] = b"\x50\x2a\x4d\x18\x04\0\0\0size";
const B: &[u8] = b"@c\nACGTT\n+\nIIIII\n";

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(text).expect("packed");
    packer.finish().expect("packed")
}

fn bzip2(text: &[u8]) -> Vec<u8> {
    let mut packer = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    packer.write_all(text).expect("packed");
    packer.finish().expect("packed")
}

fn zstd(text: &[u8]) -> Vec<u8> {
    zstd::encode_all(text, 1).expect("packed")
}

/// Packs files that are written first; names in `inputs` are those of `files`.
fn packed(
    files: &[(&str, Vec<u8>)],
    inputs: &[&str],
) -> (tempfile::TempDir, Result<Manifest, Error>) {
    let dir = tempfile::tempdir().expect("a directory");
    for (name, bytes) in files {
        std::fs::write(dir.path().join(name), bytes).expect("an input");
    }
    let input = |input: &&str| input.split(',').map(|name| dir.path().join(name)).collect();
    let packing = PackOptions {
        inputs: inputs.iter().map(input).collect(),
        interleaved: false,
        names: Vec::new(),
        threads: 1,
        profile: PackProfile::default(),
        layout: ArchiveLayout::default(),
        writer: "test".into(),
    };
    let manifest =
        pack_files(&packing, &dir.path().join("x"), |_| ()).map(|packed| packed.manifest);
    (dir, manifest)
}

#[test]
fn packed_inputs_are_told_by_their_bytes() {
    let long = A.repeat(40_000);
    for (what, bytes) in [
        ("plain", long.clone()),
        ("gzip", gzip(&long)),
        ("gzip in members", [gzip(A), gzip(b""), gzip(&long[A.len()..])].concat()),
        ("bzip2", bzip2(&long)),
        ("bzip2 in streams", [bzip2(A), bzip2(&long[A.len()..])].concat()),
        ("zstd", zstd(&long)),
        ("zstd in frames", [zstd(A), zstd(&long[A.len()..])].concat()),
        ("zstd of pzstd", [SKIPPED, &zstd(A), SKIPPED, &zstd(&long[A.len()..])].concat()),
    ] {
        let (dir, manifest) = packed(&[("reads", bytes.clone())], &["reads"]);
        assert_eq!(manifest.expect(what).spot_count(), 80_000, "{what}");
        let archive = open(&dir.path().join("x")).expect(what);
        assert!(
            cat(&archive, ReadSelection::File(0), TextFormat::Fastq).expect(what) == long,
            "{what}"
        );
        if what != "plain" {
            let cut = bytes[..bytes.len() - 5].to_vec();
            let error = packed(&[("reads", cut)], &["reads"]).1.expect_err(what);
            assert_eq!(error.kind, Kind::Input, "{what}: {error}");
            for words in ["reads: it is", "was it copied whole", ", in line "] {
                assert!(error.message.contains(words), "{what}: {error}");
            }
        }
    }
}

#[test]
fn what_is_behind_a_packed_text_is_zeros_or_refused() {
    for (what, bytes) in [("gzip", gzip(A)), ("bzip2", bzip2(A)), ("zstd", zstd(A))] {
        for zeros in [1, 7, 10_240] {
            let padded = [bytes.clone(), vec![0; zeros]].concat();
            let (dir, manifest) = packed(&[("reads", padded)], &["reads"]);
            assert_eq!(manifest.expect(what).spot_count(), 2, "{what}, {zeros} zeros");
            let archive = open(&dir.path().join("x")).expect(what);
            assert!(
                cat(&archive, ReadSelection::File(0), TextFormat::Fastq).expect(what) == A,
                "{what}"
            );
        }
        for more in [&b"GARBAGE"[..], A, b"\0\0more"] {
            let with_more = [&bytes[..], more].concat();
            let error = packed(&[("reads", with_more)], &["reads"]).1.expect_err(what);
            let words = format!("behind all that is {what} something else follows");
            assert!(error.message.contains(&words), "{what}: {error}");
        }
    }
    let ends = [SKIPPED, &zstd(A), SKIPPED].concat();
    assert_eq!(
        packed(&[("reads", ends)], &["reads"]).1.expect("a table behind it").spot_count(),
        2
    );
}

#[test]
fn what_is_packed_otherwise_is_not_taken_for_text() {
    let others: [(&[u8], &str); 6] = [
        (b"\x04\x22\x4d\x18\x64\x40", "lz4 -dc"),
        (b"LZIP\x01\x0c", "lzip -dc"),
        (b"\x1f\x9d\x90", "gzip -dc"),
        (b"7z\xbc\xaf\x27\x1c\0\x04", "7z x"),
        (&gzip(&gzip(A)), "packed twice"),
        (&zstd(&gzip(A)), "packed twice"),
    ];
    for (bytes, words) in others {
        let error = packed(&[("reads", bytes.to_vec())], &["reads"]).1.expect_err(words);
        assert_eq!(error.kind, Kind::Input, "{error}");
        assert!(error.message.contains(words), "{words}: {error}");
    }
}

#[test]
fn what_stands_around_lanes_is_of_no_read() {
    let bom = b"\xef\xbb\xbf";
    let first = [&bom[..], A, b"\n\n"].concat();
    let second = [&bom[..], B, b"\r\n"].concat();
    let files = [("a", first.clone()), ("b", second.clone()), ("r", [A, B].concat())];
    for inputs in [&["a,b"][..], &["a,b", "r"], &["r", "a,b"]] {
        let (dir, manifest) = packed(&files, inputs);
        assert_eq!(manifest.expect("packed").spot_count(), 3, "{inputs:?}");
        let archive = open(&dir.path().join("x")).expect("an archive");
        let nth = inputs.iter().position(|input| *input == "a,b").expect("it");
        let text = cat(&archive, ReadSelection::Mate(nth), TextFormat::Fastq).expect("it");
        assert!(text == [&first[..], &second].concat(), "{inputs:?}");
        let bases = cat(&archive, ReadSelection::Mate(nth), TextFormat::Bases).expect("reads");
        assert_eq!(bases, b"ACGT\nAC\nACGTT\n", "{inputs:?}");
    }
}

#[test]
fn a_file_with_a_comma_in_its_name_is_a_lane() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = |name: &str| dir.path().join(name);
    std::fs::write(path("a,1.fq"), A).expect("an input");
    std::fs::write(path("b,2.fq"), B).expect("an input");
    let lanes = vec![path("a,1.fq"), path("b,2.fq")];
    let packing = PackOptions {
        inputs: vec![lanes.clone()],
        interleaved: false,
        names: Vec::new(),
        threads: 1,
        profile: PackProfile::default(),
        layout: ArchiveLayout::default(),
        writer: "test".into(),
    };
    let manifest = pack_files(&packing, &path("x"), |_| ()).expect("packed").manifest;
    let file = &manifest.files[0];
    assert_eq!((&file.name[..], &file.source), ("a,1.fq", &join_lanes(&lanes)));
    let archive = open(&path("x")).expect("an archive");
    assert!(
        cat(&archive, ReadSelection::File(0), TextFormat::Fastq).expect("both") == [A, B].concat()
    );
}

#[test]
fn mates_with_other_names_are_counted_and_the_first_is_named() {
    let read = |name: &str| format!("@{name}\nACGT\n+\nIIII\n");
    let text = |names: &[&str]| names.iter().map(|name| read(name)).collect::<String>();
    let unlike = |first: &[&str], second: &[&str]| {
        let dir = tempfile::tempdir().expect("a directory");
        let write = |(nth, names): (usize, &&[&str])| {
            let path = dir.path().join(format!("R{nth}.fq"));
            std::fs::write(&path, text(names)).expect("an input");
            vec![path]
        };
        let packing = PackOptions {
            inputs: [first, second].iter().enumerate().map(write).collect(),
            interleaved: false,
            names: Vec::new(),
            threads: 1,
            profile: PackProfile::default(),
            layout: ArchiveLayout::default(),
            writer: "test".into(),
        };
        pack_files(&packing, &dir.path().join("x"), |_| ()).expect("packed").unlike
    };
    let fits = unlike(&["a 1:N", "b/1", "c.1"], &["a 2:N", "b/2", "c.2"]);
    assert_eq!((fits.pairs, fits.first), (0, None));
    let shifted = unlike(&["a", "b", "c", "d"], &["a", "c", "d", "b"]);
    assert_eq!(shifted.pairs, 3);
    assert_eq!(shifted.first, Some((2, ["b".to_owned(), "c".to_owned()])));
}

#[test]
fn lanes_follow_each_other() {
    let files = [("a_1.fq.gz", gzip(A)), ("b_1.fq.bz2", bzip2(B)), ("r_2.fq", [A, B].concat())];
    let (dir, manifest) = packed(&files, &["a_1.fq.gz,b_1.fq.bz2", "r_2.fq"]);
    let manifest = manifest.expect("packed");
    assert_eq!((manifest.spot_count(), &manifest.files[0].name[..]), (3, "a_1.fq"));
    let archive = open(&dir.path().join("x")).expect("an archive");
    let first = cat(&archive, ReadSelection::Mate(0), TextFormat::Fastq).expect("first");
    assert_eq!(first, [A, B].concat());

    // A name with a comma is one where there is such a file.
    let path = dir.path().join("a,b.fq");
    std::fs::write(&path, B).expect("an input");
    let (inputs, writer) = (vec![split_lanes(&path)], "test".to_owned());
    assert_eq!(inputs, [[path]]);
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
    let manifest = pack_files(&packing, &dir.path().join("y"), |_| ()).expect("packed").manifest;
    assert_eq!(manifest.files[0].name, "a,b.fq");
}

#[test]
fn what_is_wrong_in_a_lane_is_told_with_its_own_lines() {
    let open = A[..A.len() - 1].to_vec();
    let odd = b"@c\nACGTT\n-\nIIIII\n".to_vec();
    let cases: &[(&str, &[u8], &[u8], &str)] = &[
        ("no line end", &open, B, "a.fq: its last line has no end, and "),
        ("odd", A, &odd, "b.fq, line 3: the third line"),
        ("odd before", &odd, A, "a.fq, line 3: the third line"),
        ("short", A, b"", "b.fq, line 1: the file ends here"),
        ("a stranger", A, b"CRAM\x03", "b.fq: it is CRAM"),
        ("cut off", A, &gzip(B)[..20], "b.fq: it is cut off"),
    ];
    for (what, first, second, words) in cases {
        let pair = [A, B].concat();
        let files = [("a.fq", first.to_vec()), ("b.fq", second.to_vec()), ("r.fq", pair)];
        let error = packed(&files, &["a.fq,b.fq", "r.fq"]).1.expect_err(what);
        assert_eq!(error.kind, Kind::Input, "{what}: {error}");
        assert!(error.message.contains(words), "{what}: {error}");
    }
}
