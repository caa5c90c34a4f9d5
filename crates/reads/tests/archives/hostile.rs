//! Files that are no nice FASTQ. If these failed, somebody's odd file would be lost, or packed as
//! something that it is not, or a pair would be put together wrongly without a word.

use forebay_reads::{Kind, ReadSelection, TextFormat};

use crate::common::{cat, shown, try_pack};

const GOOD: &[u8] = b"@a\nACGT\n+\nIIII\n@b\nAC\n+\nII\n";

/// What it is, its bytes, and how many reads are seen in it.
fn odd_files() -> Vec<(&'static str, Vec<u8>, u64)> {
    let long = |bases: usize| {
        let mut text = b"@long\n".to_vec();
        text.extend((0..bases).map(|nth| b"ACGT"[nth * nth % 7 % 4]));
        text.extend(b"\n+\n");
        text.extend((0..bases).map(|nth| b'!' + (nth % 40) as u8));
        text.push(b'\n');
        text
    };
    vec![
        ("nothing", b"".to_vec(), 0),
        ("CRLF", b"@a\r\nACGT\r\n+\r\nIIII\r\n@b\r\nA\r\n+\r\nI\r\n".to_vec(), 2),
        ("CRLF now and then", b"@a\r\nACGT\r\n+\r\nIIII\r\n@b\nA\n+\nI\n".to_vec(), 2),
        ("CR in bases only", b"@a\nACGT\r\n+\nIIII\n".to_vec(), 1),
        ("no final newline", b"@a\nACGT\n+\nIIII".to_vec(), 1),
        ("no final newline after CRLF", b"@a\r\nACGT\r\n+\r\nIIII".to_vec(), 1),
        ("names twice", b"@a x\nACGT\n+a x\nIIII\n@b\nA\n+b\nI\n".to_vec(), 2),
        ("names twice now and then", b"@a x\nACGT\n+a x\nIIII\n@b\nA\n+\nI\n".to_vec(), 2),
        ("another name twice", b"@a\nACGT\n+b\nIIII\n".to_vec(), 1),
        ("lower case", b"@a\nacgtACGTnn\n+\nIIIIIIIIII\n".to_vec(), 1),
        ("IUPAC", b"@a\nRYKMSWBDHVN\n+\nIIIIIIIIIII\n".to_vec(), 1),
        ("dots", b"@a\n..ACGT..\n+\nBBIIIIBB\n".to_vec(), 1),
        ("no bases", b"@a\n\n+\n\n@b\n\n+\n\n".to_vec(), 2),
        ("no bases, no final newline", b"@a\n\n+\n".to_vec(), 1),
        ("no name", b"@\nA\n+\nI\n".to_vec(), 1),
        ("Phred+64", b"@a\nACGT\n+\nhhhB\n@b\nACGT\n+\nabcd\n".to_vec(), 2),
        ("a quality that begins with @", b"@a\nACGT\n+\n@@@@\n@b\nACGT\n+\n@III\n".to_vec(), 2),
        ("lengths of all sorts", (0..300).flat_map(|len| long(len * 37 % 301)).collect(), 300),
        ("NUL", b"@a\0b\nAC\0T\n+\nI\0II\n".to_vec(), 1),
        ("all bytes", (0..=255).cycle().take(5000).collect(), 0),
        ("FASTA", b">a\nACGT\nACGT\n>b\nACGT\n".to_vec(), 0),
        ("multi-line", b"@a\nACGT\nACGT\n+\nIIII\nIIII\n@b\nA\n+\nI\n".to_vec(), 0),
        ("a good start, then cut off", b"@a\nACGT\n+\nIIII\n@b\nAC".to_vec(), 1),
        ("cut off in qualities", b"@a\nACGT\n+\nIIII\n@b\nACGT\n+\nII".to_vec(), 1),
        ("a blank line at the end", [GOOD, b"\n"].concat(), 2),
        ("a blank line before", [b"\n", GOOD].concat(), 0),
        ("a read of 3 Mb", [&long(3 << 20)[..], GOOD].concat(), 3),
        ("a read of 9 Mb", [&long(9 << 20)[..], GOOD].concat(), 2),
        ("no line end at all", vec![b'@'; 21 << 20], 0),
    ]
}

#[test]
fn odd_files_come_back_byte_for_byte() {
    for (what, text, spots) in odd_files() {
        let packed = try_pack(&[&text], false).unwrap_or_else(|error| panic!("{what}: {error}"));
        let archive = packed.open();
        let again = cat(&archive, ReadSelection::File(0), TextFormat::Fastq).expect(what);
        assert!(again == text, "{what}: {} bytes, {} went in", again.len(), text.len());
        assert_eq!(archive.verify(1, |_| ()).expect(what).problems, Vec::<String>::new(), "{what}");
        assert_eq!(packed.manifest.spot_count(), spots, "{what}");
        let faces = shown(packed.open(), None);
        assert!(faces.len() == 2 && faces.iter().all(|(_, again)| *again == text), "{what}");
        let columns =
            archive.column_totals().expect(what).iter().any(|t| t.column.name() == "bases");
        let as_text = packed.manifest.as_text_bytes;
        assert_eq!(as_text == text.len() as u64, !columns, "{what}: {as_text} bytes as text");
    }
}

#[test]
fn shards_have_each_read_of_an_odd_file_once_or_there_are_none() {
    for (what, text, _) in odd_files() {
        let packed = try_pack(&[&text], false).expect(what);
        let archive = packed.open();
        // All text that has records is cut between them, also where it is kept as it is.
        match archive.exported_files(std::num::NonZeroU32::new(3)) {
            Ok(_) => {
                let faces = shown(archive, Some(3));
                let part = |nth: usize| &faces[2 * nth].1[..];
                let parts = [part(1), part(2), part(3)].concat();
                assert!(parts == text, "{what}");
            }
            Err(error) => {
                assert!(error.kind == Kind::Request && !text.is_empty(), "{what}: {error}")
            }
        }
    }
}

#[test]
fn reads_behind_an_odd_place_are_seen_again() {
    // 6 MiB of reads, a line that does not belong, 6 MiB more.
    let reads = b"@a\nACGTACGT\n+\nIIIIIIII\n".repeat(6 << 20 >> 5);
    let text = [&reads[..], b"what is this?\n", &reads].concat();
    let packed = try_pack(&[&text], false).expect("packed");
    assert!(cat(&packed.open(), ReadSelection::File(0), TextFormat::Fastq).expect("whole") == text);
    let as_text = packed.manifest.as_text_bytes;
    assert!((1 << 20..2 << 20).contains(&as_text), "{as_text} bytes are kept as text");
}

#[test]
fn pairs_that_do_not_fit_are_refused_with_the_line() {
    let cases: &[(&str, &[u8], &[u8], &str)] = &[
        ("the second ends", GOOD, b"@a\nACGT\n+\nIIII\n", "R2.fq, line 5: the file ends here"),
        ("the first ends", b"@a\nA\n+\nI\n", GOOD, "R1.fq, line 5: the file ends here"),
        ("the second is empty", GOOD, b"", "R2.fq, line 1: the file ends here"),
        ("no @", GOOD, b"@a\nA\n+\nI\nb\nA\n+\nI\n", "R2.fq, line 5: a record begins with @"),
        ("no +", b"@a\nACGT\nACGT\n+\n", GOOD, "R1.fq, line 3: the third line"),
        ("short", GOOD, b"@a\nACGT\n+\nIII\n", "R2.fq, line 4: as many qualities"),
        ("cut off", GOOD, b"@a\nACGT\n+\nIIII\n@b\nAC", "R2.fq, line 6: the file ends within"),
    ];
    for (what, first, second, words) in cases {
        let error = try_pack(&[first, second], false).err().unwrap_or_else(|| panic!("{what}"));
        assert_eq!(error.kind, Kind::Input, "{what}");
        assert!(error.message.contains(words), "{what}: {error}");
    }
    let odd = [GOOD, b"@c\nA\n+\nI\n"].concat();
    let error = try_pack(&[&odd], true).err().expect("an odd number of reads");
    assert!(error.message.contains("R1.fq, line 13: the file ends between"), "{error}");
}

#[test]
fn strangers_are_named() {
    for (bytes, words) in [
        (&b"CRAM\x03\x01"[..], "samtools view"),
        (b"NCBI.sra\x05", "reads import"),
        (b"PK\x03\x04", "unzip"),
    ] {
        let error = try_pack(&[bytes], false).err().expect("no reads");
        assert_eq!((error.kind, error.message.contains(words)), (Kind::Input, true), "{error}");
    }
}

#[test]
fn what_is_not_there_is_refused() {
    let single = try_pack(&[GOOD], false).expect("packed");
    let error =
        cat(&single.open(), ReadSelection::Mate(1), TextFormat::Fastq).expect_err("one mate");
    assert_eq!(error.kind, Kind::Request);
    assert_eq!(cat(&single.open(), ReadSelection::Both, TextFormat::Fastq).expect("the one"), GOOD);
    let fasta = cat(&single.open(), ReadSelection::Mate(0), TextFormat::Fasta).expect("records");
    assert_eq!(fasta, b">a\nACGT\n>b\nAC\n");
    let text = try_pack(&[b"words\n"], false).expect("packed");
    let error =
        cat(&text.open(), ReadSelection::Mate(0), TextFormat::Fasta).expect_err("no records");
    assert_eq!(error.kind, Kind::Request);
}
