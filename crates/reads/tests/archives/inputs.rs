//! What is read, however it is packed and in however many files. If these failed, reads of a lane
//! would be missing, or an input that is cut off would be taken for a whole one.

use std::io::Write;
use std::path::PathBuf;

use forebay_reads::{Error, Form, Kind, Layout, Manifest, Packing, Profile, View, pack};

use crate::common::{cat, open};

const A: &[u8] = b"@a\nACGT\n+\nIIII\n@b\nAC\n+\nII\n";
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
    let path = |name: &str| dir.path().join(name).display().to_string();
    let input = |input: &&str| input.split(',').map(path).collect::<Vec<_>>().join(",");
    let packing = Packing {
        inputs: inputs.iter().map(|names| PathBuf::from(input(names))).collect(),
        interleaved: false,
        names: Vec::new(),
        threads: 1,
        profile: Profile::default(),
        layout: Layout::default(),
        writer: "test".into(),
    };
    let manifest = pack(&packing, &dir.path().join("x"), |_| ());
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
    ] {
        let (dir, manifest) = packed(&[("reads", bytes.clone())], &["reads"]);
        assert_eq!(manifest.expect(what).spots(), 80_000, "{what}");
        let archive = open(&dir.path().join("x")).expect(what);
        assert!(cat(&archive, View::File(0), Form::Fastq).expect(what) == long, "{what}");
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
fn lanes_follow_each_other() {
    let files = [("a_1.fq.gz", gzip(A)), ("b_1.fq.bz2", bzip2(B)), ("r_2.fq", [A, B].concat())];
    let (dir, manifest) = packed(&files, &["a_1.fq.gz,b_1.fq.bz2", "r_2.fq"]);
    let manifest = manifest.expect("packed");
    assert_eq!((manifest.spots(), &manifest.files[0].name[..]), (3, "a_1.fq"));
    let archive = open(&dir.path().join("x")).expect("an archive");
    let first = cat(&archive, View::Mate(0), Form::Fastq).expect("first");
    assert_eq!(first, [A, B].concat());

    // A name with a comma is one where there is such a file.
    let path = dir.path().join("a,b.fq");
    std::fs::write(&path, B).expect("an input");
    let (inputs, writer) = (vec![path], "test".to_owned());
    let profile = Profile::default();
    let packing = Packing {
        inputs,
        interleaved: false,
        names: Vec::new(),
        threads: 1,
        profile,
        layout: Layout::default(),
        writer,
    };
    let manifest = pack(&packing, &dir.path().join("y"), |_| ()).expect("packed");
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
