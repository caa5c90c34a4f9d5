//! What stands around reads and is none: blank lines at the end of a file, a byte order mark at its
//! front. If these failed, a file that every other tool reads would be refused, or what is made of its
//! reads would be cut short; or bytes of it would be lost.

use std::num::NonZeroU32;

use forebay_reads::{BamHeader, Kind, ReadSelection, TextFormat};

use crate::common::{cat, shown, try_pack};

const BOM: &str = "\u{feff}";

fn reads(count: usize, mate: usize) -> String {
    let read =
        |nth| format!("@r{nth}/{mate}\nACGT{}\n+\nIII#{}\n", "A".repeat(nth), "F".repeat(nth));
    (0..count).map(read).collect()
}

#[test]
fn one_file_has_its_reads_whatever_stands_around_them() {
    let text = reads(20, 1);
    let windows = text.replace('\n', "\r\n");
    let cases = [
        (format!("{text}\n"), 1),
        (format!("{text}\n\n\r\n\n"), 5),
        (format!("{BOM}{text}"), 3),
        (format!("{BOM}{text}\n\n"), 5),
        (format!("{BOM}{windows}\r\n"), 5),
    ];
    for (text, blank) in cases {
        let packed = try_pack(&[text.as_bytes()], false).expect("packed");
        let (archive, what) = (packed.open(), format!("{text:?}"));
        assert_eq!(
            (packed.manifest.spot_count(), packed.manifest.as_text_bytes),
            (20, blank),
            "{what}"
        );
        for view in [ReadSelection::File(0), ReadSelection::Mate(0), ReadSelection::Both] {
            assert!(
                cat(&archive, view, TextFormat::Fastq).expect(&what) == text.as_bytes(),
                "{what}"
            );
        }
        for form in [TextFormat::Bases, TextFormat::Fasta, TextFormat::Tab] {
            let lines = cat(&archive, ReadSelection::Both, form).expect(&what);
            let of_a_read = if form == TextFormat::Fasta { 2 } else { 1 };
            assert_eq!(
                lines.iter().filter(|byte| **byte == b'\n').count(),
                20 * of_a_read,
                "{what}"
            );
        }
        let mut some = Vec::new();
        archive
            .write_spots(18..99, ReadSelection::Both, TextFormat::Bases, 1, &mut some)
            .expect(&what);
        assert_eq!(some.iter().filter(|byte| **byte == b'\n').count(), 2, "{what}");
        let header = BamHeader::new("1", None).expect("a header");
        archive.write_bam(&header, 1, 1, &mut Vec::new()).expect(&what);
        archive.exported_files(NonZeroU32::new(2)).expect("shards");
        assert!(archive.verify(1, |_| ()).expect("looked at").problems.is_empty(), "{what}");
        let own = shown(archive, Some(1));
        assert!(own.iter().all(|(_, shown)| shown == text.as_bytes()), "{what}");
    }
}

#[test]
fn pairs_have_each_their_own_and_both_in_turns_have_none() {
    let (first, second) = (reads(20, 1), reads(20, 2));
    let turns: String = {
        let split = |text: &str| {
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            lines.chunks(4).map(<[&str]>::concat).collect::<Vec<_>>()
        };
        split(&first).into_iter().zip(split(&second)).map(|(a, b)| a + &b).collect()
    };
    let cases = [
        (format!("{first}\n"), format!("{second}\n")),
        (first.clone(), format!("{second}\r\n\n")),
        (format!("{BOM}{first}"), format!("{BOM}{second}")),
        (format!("{BOM}{first}\n"), second.clone()),
        (first.clone(), format!("{BOM}{second}\n\n")),
    ];
    for (first, second) in cases {
        let packed = try_pack(&[first.as_bytes(), second.as_bytes()], false).expect("packed");
        let archive = packed.open();
        for (mate, text) in [&first, &second].into_iter().enumerate() {
            assert!(
                cat(&archive, ReadSelection::Mate(mate), TextFormat::Fastq).expect("it")
                    == text.as_bytes()
            );
        }
        assert!(
            cat(&archive, ReadSelection::Both, TextFormat::Fastq).expect("both")
                == turns.as_bytes()
        );
        let table = cat(&archive, ReadSelection::Both, TextFormat::Tab).expect("a table");
        assert_eq!(table.iter().filter(|byte| **byte == b'\n').count(), 20);
        let mut some = Vec::new();
        archive
            .write_spots(0..1, ReadSelection::Both, TextFormat::Fastq, 1, &mut some)
            .expect("one");
        assert!(turns.as_bytes().starts_with(&some) && !some.is_empty());
        assert!(archive.verify(1, |_| ()).expect("looked at").problems.is_empty());
        let header = BamHeader::new("1", None).expect("a header");
        archive.write_bam(&header, 1, 1, &mut Vec::new()).expect("BAM");
        archive.exported_files(NonZeroU32::new(2)).expect("shards");
    }
}

#[test]
fn what_stands_among_reads_is_no_end() {
    let (first, second) = (reads(3, 1), reads(3, 2));
    let middle = format!("{first}\n{first}");
    let twice = format!("{second}{second}");
    let cases = [
        (&middle, &twice, "R1.fq, line 13: a record begins with @, this line is blank"),
        (&twice, &middle, "R2.fq, line 13: a record begins with @, this line is blank"),
        (
            &format!("{first}{BOM}{first}"),
            &twice,
            "line 13: a record begins with @, this line with a",
        ),
        (&format!("{first}\n"), &twice, "R1.fq, line 14: the file ends here"),
    ];
    for (first, second, words) in cases {
        let error = try_pack(&[first.as_bytes(), second.as_bytes()], false).err().expect(words);
        assert_eq!(error.kind, Kind::Input);
        assert!(error.message.contains(words), "{error}");
    }
    // One file may have anything in it.
    let packed = try_pack(&[middle.as_bytes()], false).expect("packed");
    let whole = cat(&packed.open(), ReadSelection::File(0), TextFormat::Fastq).expect("it");
    assert!(whole == middle.as_bytes());
    // Mates in turns lie in groups of pairs: their archives have no place for it.
    let error = try_pack(&[format!("{first}{second}\n").as_bytes()], true).err().expect("blank");
    assert!(
        error.message.contains("line 25: a record begins with @, this line is blank"),
        "{error}"
    );
}

#[test]
fn reads_that_are_kept_as_text_have_no_qualities_without_them() {
    // Names stand twice in some records only, so they have no columns.
    let (first, second) = (reads(6, 1), reads(6, 2));
    let mixed = format!("{first}{}", first.replace("+\n", "+again\n"));
    let plain = format!("{second}{second}");
    let packed = try_pack(&[mixed.as_bytes(), plain.as_bytes()], false).expect("packed");
    assert!(packed.manifest.as_text_bytes > 0);
    let hidden = |text: &str| -> String {
        let lines = text.split_inclusive('\n').enumerate();
        let hide = |line: &str| "?".repeat(line.len() - 1) + "\n";
        lines.map(|(nth, line)| if nth % 4 == 3 { hide(line) } else { line.to_owned() }).collect()
    };
    for (mate, text) in [&mixed, &plain].into_iter().enumerate() {
        let lite = packed.open().into_lite();
        assert!(
            cat(&lite, ReadSelection::Mate(mate), TextFormat::Fastq).expect("it")
                == hidden(text).as_bytes()
        );
        let faces = shown(lite, Some(1));
        let own = faces.iter().filter(|(name, _)| name.starts_with(&format!("R{}", mate + 1)));
        assert!(
            own.clone().count() == 4
                && own.clone().all(|(_, face)| face == hidden(text).as_bytes())
        );
    }
    // Of text without records nobody knows which are qualities.
    for text in ["@a\nAC\nGT\n+\nIII\nI\n", ">a\nACGT\n"] {
        let packed = try_pack(&[text.as_bytes()], false).expect("packed");
        let lite = packed.open().into_lite();
        let told = cat(&lite, ReadSelection::File(0), TextFormat::Fastq).expect_err("nobody knows");
        assert_eq!(told.kind, Kind::Request, "{told}");
        assert!(told.message.contains("without --lite"), "{told}");
        assert_eq!(lite.exported_files(None).expect_err("nor here").kind, Kind::Request);
        assert!(
            cat(&packed.open(), ReadSelection::File(0), TextFormat::Fastq).expect("as it is")
                == text.as_bytes()
        );
    }
}
