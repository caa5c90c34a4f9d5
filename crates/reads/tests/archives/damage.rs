//! Bits that turn, and archives that were never finished. If these failed, damage would be
//! taken for reads.

use std::collections::BTreeMap;

use forebay_reads::{Archive, Kind, MANIFEST, MemoryObjects, ReadSelection, TextFormat};

use crate::common::{cat, open, try_pack};

fn small() -> (Vec<u8>, MemoryObjects) {
    let mut first = String::new();
    for nth in 0..40 {
        first +=
            &format!("@M:7:{}:{} 1:N:0:ACGT\nACGTNACG\n+\nFFFF#:,F\n", nth / 9, nth * 7919 % 997);
    }
    let second = first.replace(" 1:", " 2:");
    let packed = try_pack(&[first.as_bytes(), second.as_bytes()], false).expect("packed");
    let mut objects = BTreeMap::new();
    for entry in std::fs::read_dir(packed.path()).expect("the archive") {
        let entry = entry.expect("an object");
        let name = entry.file_name().into_string().expect("a name");
        objects.insert(name, std::fs::read(entry.path()).expect("an object"));
    }
    (second.into_bytes(), MemoryObjects(objects))
}

/// What a reader who looks at everything says of an archive.
fn complaints(objects: &MemoryObjects) -> Vec<String> {
    match Archive::open(Box::new(objects.clone())) {
        Ok(archive) => archive.verify(1, |_| ()).expect("looked").problems,
        Err(error) => vec![error.to_string()],
    }
}

#[test]
fn every_bit_that_turns_is_found_and_its_object_named() {
    let (_, whole) = small();
    assert_eq!(complaints(&whole), Vec::<String>::new());
    assert_eq!(whole.0.len(), 3, "{:?}", whole.0.keys());
    for (name, bytes) in &whole.0 {
        for bit in 0..bytes.len() * 8 {
            let mut damaged = whole.clone();
            damaged.0.get_mut(name).expect("it")[bit / 8] ^= 1 << (bit % 8);
            let found = complaints(&damaged);
            let named = found.iter().any(|words| words.contains(name.as_str()));
            assert!(named, "bit {bit} of {name}: {found:?}");
        }
    }
}

#[test]
fn every_cut_is_found_and_named() {
    let (_, whole) = small();
    for (name, bytes) in &whole.0 {
        for len in 0..bytes.len() {
            let mut damaged = whole.clone();
            damaged.0.get_mut(name).expect("it").truncate(len);
            let found = complaints(&damaged);
            assert!(found.iter().any(|words| words.contains(name.as_str())), "{name}: {found:?}");
        }
        let mut damaged = whole.clone();
        damaged.0.remove(name);
        let found = complaints(&damaged);
        assert!(found.iter().any(|words| words.contains(name.as_str())), "{name}: {found:?}");
        let mut longer = whole.clone();
        longer.0.get_mut(name).expect("it").push(0);
        assert!(!complaints(&longer).is_empty(), "a byte too many in {name}");
    }
}

#[test]
fn readers_never_get_damaged_bytes() {
    let (second, whole) = small();
    let name = whole.0.keys().find(|name| name.starts_with("data-")).expect("data").clone();
    for at in 8..whole.0[&name].len() {
        let mut damaged = whole.clone();
        damaged.0.get_mut(&name).expect("it")[at] ^= 0x10;
        let archive = Archive::open(Box::new(damaged)).expect("the manifest is whole");
        match cat(&archive, ReadSelection::Mate(1), TextFormat::Fastq) {
            // What was damaged is not of this mate.
            Ok(text) => assert!(text == second, "byte {at}"),
            Err(error) => assert_eq!(error.kind, Kind::Damaged, "byte {at}: {error}"),
        }
    }
}

#[test]
fn a_newer_format_is_no_damage() {
    let (_, mut objects) = small();
    objects.0.get_mut(MANIFEST).expect("it")[4] = 3;
    let error = Archive::open(Box::new(objects)).expect_err("newer");
    assert_eq!(error.kind, Kind::Unknown, "{error}");
    let words = error.to_string();
    assert!(words.contains("version 3") && words.contains("up to 2"), "{words}");
}

#[test]
fn without_its_manifest_it_is_no_archive_and_is_packed_again() {
    let text = b"@a\nACGT\n+\nIIII\n";
    let packed = try_pack(&[text], false).expect("packed");
    let dir = packed.path();
    // A kill before the end leaves all but the manifest.
    std::fs::rename(dir.join(MANIFEST), dir.join("manifest.part")).expect("renamed");
    std::fs::write(dir.join("data-00001.fbr"), b"more than this time").expect("written");
    assert!(open(&dir).expect_err("no archive").message.contains(MANIFEST));
    let packing = forebay_reads::PackOptions {
        inputs: vec![vec![packed.dir.path().join("R1.fq")]],
        interleaved: false,
        names: Vec::new(),
        threads: 1,
        profile: forebay_reads::PackProfile::default(),
        layout: forebay_reads::ArchiveLayout::default(),
        writer: "test".into(),
    };
    forebay_reads::pack_files(&packing, &dir, |_| ()).expect("packed over what was left");
    let archive = open(&dir).expect("an archive");
    assert_eq!(cat(&archive, ReadSelection::File(0), TextFormat::Fastq).expect("whole"), text);
    let objects = std::fs::read_dir(&dir).expect("the archive").count();
    assert_eq!(objects, 3, "what an earlier try left is gone");
    // A whole archive is never written over.
    let error = forebay_reads::pack_files(&packing, &dir, |_| ()).expect_err("not empty");
    assert_eq!(error.kind, Kind::Request, "{error}");
    assert!(error.message.contains("not empty"), "{error}");
}
