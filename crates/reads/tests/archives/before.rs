//! Archives that were written before, as they lie in `fixtures`. If these failed, somebody who threw
//! the FASTQ away would have lost it.

use std::path::{Path, PathBuf};

use forebay_reads::{Archive, ReadSelection, TextFormat};

use crate::common::{cat, open};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn archive(name: &str) -> Archive {
    let archive = open(&fixture(name)).expect("an archive");
    assert_eq!(archive.verify(2, |_| ()).expect("looked at").problems, Vec::<String>::new());
    archive
}

fn text(name: &str) -> Vec<u8> {
    std::fs::read(fixture(name)).expect("a text")
}

#[test]
fn archives_of_version_1_are_read_back_byte_for_byte() {
    let pair = archive("version-1/pair-apart.reads");
    for (mate, name) in ["version-1/R1.fq", "version-1/R2.fq"].into_iter().enumerate() {
        assert!(
            cat(&pair, ReadSelection::File(mate), TextFormat::Fastq).expect(name) == text(name),
            "{name}"
        );
    }
    let both = cat(&pair, ReadSelection::Both, TextFormat::Fastq).expect("both");
    let turns = cat(&archive("version-1/turns.reads"), ReadSelection::File(0), TextFormat::Fastq)
        .expect("turns");
    assert!(turns == both);
    // Text and records, and blank lines that were kept as text.
    let odd = archive("version-1/odd.reads");
    assert!(
        cat(&odd, ReadSelection::File(0), TextFormat::Fastq).expect("odd")
            == text("version-1/odd.fq")
    );
}

#[test]
fn an_archive_of_version_2_is_read_back_byte_for_byte() {
    // Packed by `fast`, which made a dictionary of its qualities.
    let levels = archive("version-2/levels.reads");
    assert_eq!(levels.manifest().version, 2);
    let again = cat(&levels, ReadSelection::File(0), TextFormat::Fastq).expect("levels");
    assert!(again == text("version-2/levels.fq"));
}
