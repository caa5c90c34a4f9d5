// Archives that somebody made up, with checksums that fit. If these failed, such an archive
// would bring its reader down, or take all memory.
use proptest::prelude::*;
use proptest::sample::Index;

use super::*;
use crate::fuzz::{encode_sample_pair, group_data, seal_archive};
use crate::manifest::{ReadLayout, Stripe};
use crate::objects::MemoryObjects;
use crate::stripe_index::append_group;

/// An archive of one group, whatever is in it.
fn archive(spots: usize, mates: &[EncodedMate], page_mask: &[(Index, u8)]) -> MemoryObjects {
    let mut page = Vec::new();
    append_group(&mut page, spots, mates);
    for (at, mask) in page_mask {
        let at = at.index(page.len());
        page[at] ^= mask;
    }
    let (data, families) = group_data(mates);
    let texts = mates.iter().map(|mate| mate.text_len as u64).collect();
    let stripe = Stripe { groups: 1, spots: spots as u64, texts, families, ..Stripe::default() };
    seal_archive(ReadLayout::Paired, stripe, &page, &data)
}

/// What a reader says of it; that it says anything is what counts.
fn look(objects: MemoryObjects) -> Vec<String> {
    match Archive::open(Box::new(objects)) {
        Ok(archive) => {
            archive.verify(1, |_| ()).map_or_else(|e| vec![e.to_string()], |v| v.problems)
        }
        Err(error) => vec![error.to_string()],
    }
}

#[test]
fn the_whole_one_is_read() {
    let (spots, mates) = encode_sample_pair();
    // Its files have other checksums than this test made up, and that is all.
    let problems = look(archive(spots, &mates, &[]));
    assert!(problems.len() == 1 && problems[0].contains("SHA-256"), "{problems:?}");
}

#[test]
fn a_codec_of_a_newer_forebay_is_no_damage() {
    let (spots, mut mates) = encode_sample_pair();
    mates[1].chunks.last_mut().expect("qualities").codec = 99;
    let archive =
        Archive::open(Box::new(archive(spots, &mates, &[]))).expect("its manifest is known");
    let groups = archive.read_stripe_groups(0).expect("a page");
    let asked = RequestedColumns::all_columns([true, true]);
    let error = archive.read_texts(&groups[0], asked).expect_err("a codec that there is not");
    assert_eq!(error.kind, Kind::Unknown, "{error}");
    let words = error.to_string();
    assert!(words.contains("mate 2") && words.contains("codec 99"), "{words}");
    assert!(words.contains("`test` wrote it"), "{words}");
    // What the codec has no part in is read.
    let asked = RequestedColumns { qualities: false, ..asked };
    archive.read_texts(&groups[0], asked).expect("all but qualities");
}

proptest! {
    #[test]
    fn pages_of_nobody_are_no_danger(mask in proptest::collection::vec((any::<Index>(), 1_u8..), 1..4)) {
        let (spots, mates) = encode_sample_pair();
        prop_assert!(!look(archive(spots, &mates, &mask)).is_empty());
    }

    #[test]
    fn chunks_of_nobody_are_no_danger(
        mate in 0_usize..2,
        chunk in any::<Index>(),
        at in any::<Index>(),
        mask in 1_u8..,
        codec in proptest::option::of(0_u8..9),
        raw_len in proptest::option::of(0_usize..30_000_000),
        cut in any::<bool>(),
    ) {
        let (spots, mut mates) = encode_sample_pair();
        let nth = chunk.index(mates[mate].chunks.len());
        let chunk = &mut mates[mate].chunks[nth];
        let at = at.index(chunk.bytes.len());
        if cut { chunk.bytes.truncate(at) } else { chunk.bytes[at] ^= mask }
        chunk.codec = codec.unwrap_or(chunk.codec);
        chunk.raw_len = raw_len.unwrap_or(chunk.raw_len);
        prop_assert!(!look(archive(spots, &mates, &[])).is_empty());
    }

    #[test]
    fn counts_of_nobody_are_no_danger(
        spots in prop_oneof![0_usize..200, any::<usize>()],
        text_len in prop_oneof![0_usize..20_000, any::<usize>().prop_map(|len| len >> 20)],
        style in any::<u8>(),
        rule in 0_u8..7,
    ) {
        let (_, mut mates) = encode_sample_pair();
        mates[0].text_len = text_len;
        (mates[0].style, mates[1].rule) = (style, rule);
        prop_assert!(!look(archive(spots, &mates, &[])).is_empty());
    }

    #[test]
    fn manifests_of_nobody_are_no_danger(mask in proptest::collection::vec((any::<Index>(), 1_u8..), 1..4)) {
        let (spots, mates) = encode_sample_pair();
        let mut objects = archive(spots, &mates, &[]);
        let manifest = objects.0.get_mut(MANIFEST).expect("it");
        let body = manifest.len() - 16;
        for (at, mask) in &mask {
            manifest[at.index(body)] ^= mask;
        }
        let seal = hash(&manifest[..body]);
        manifest[body..].copy_from_slice(&seal);
        prop_assert!(!look(objects).is_empty());
    }
}
