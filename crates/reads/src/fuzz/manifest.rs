//! The manifest, as its bytes are between magic and checksum.

use super::{FuzzTarget, sample};
use crate::hash::hash;
use crate::manifest::{MANIFEST, MANIFEST_MAGIC, Manifest, ReadLayout, Stripe};
use crate::stripe_index::append_group;

pub(super) const TARGET: FuzzTarget = FuzzTarget { name: "manifest", feed, seeds };

fn feed(bytes: &[u8]) {
    let mut sealed = [&MANIFEST_MAGIC[..], bytes].concat();
    let seal = hash(&sealed);
    sealed.extend(seal);
    if let Ok(manifest) = Manifest::from_bytes(&sealed) {
        let again = Manifest::from_bytes(&manifest.to_bytes()).expect("what was written is read");
        assert_eq!(manifest, again);
    }
    let _ = Manifest::from_bytes(bytes);
}

fn seeds() -> Vec<Vec<u8>> {
    let (spots, mates) = sample::encode_sample_pair();
    let mut page = Vec::new();
    append_group(&mut page, spots, &mates);
    let (data, families) = sample::group_data(&mates);
    let seed = |shape: ReadLayout| {
        let texts = vec![9_000; shape.file_count()];
        let stripe = Stripe { groups: 1, texts, families, ..Stripe::default() };
        let manifest = sample::seal_archive(shape, stripe, &page, &data).0.remove(MANIFEST);
        let manifest = manifest.expect("it");
        manifest[MANIFEST_MAGIC.len()..manifest.len() - 16].to_vec()
    };
    [ReadLayout::Single, ReadLayout::Paired, ReadLayout::Interleaved].map(seed).to_vec()
}
