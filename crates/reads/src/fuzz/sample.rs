//! A small archive to begin with, whole or as somebody would make it up.

use std::collections::BTreeMap;

use crate::group_split::GroupTexts;
use crate::hash::{FileDigests, hash};
use crate::manifest::{
    ArchivedFile, ChunkFamily, DATA_MAGIC, INDEX, INDEX_MAGIC, MANIFEST, Manifest, ReadLayout,
    Stripe,
};
use crate::objects::MemoryObjects;
use crate::pack::{GroupLesson, encode_group};
use crate::profile::PackProfile;
use crate::row_group::{EncodedMate, TextRecords};

/// A group of pairs, encoded.
pub(crate) fn encode_sample_pair() -> (usize, Vec<EncodedMate>) {
    let mate = |mate: u8| {
        let mut records = TextRecords::default();
        for nth in 0..60_u32 {
            let len = (nth * 31 % 90) as usize;
            let bases: String = (0..len).map(|at| char::from(b"ACGTN"[at * at % 5])).collect();
            let qualities: String =
                (0..len).map(|at| char::from(b"F:,#"[(at + nth as usize) % 7 % 4])).collect();
            let record = format!("@M:1:{}/{mate}\n{bases}\n+\n{qualities}\n", nth * 7919 % 1000);
            records.text.extend(record.bytes());
            records.ends.push(records.text.len() as u32);
        }
        records
    };
    let texts = GroupTexts { mates: vec![mate(1), mate(2)], spots: 60 };
    encode_group(texts, PackProfile::default(), GroupLesson::default())
}

/// An archive of one stripe, with checksums that fit whatever is in it.
pub(crate) fn seal_archive(
    shape: ReadLayout,
    stripe: Stripe,
    page: &[u8],
    data: &[u8],
) -> MemoryObjects {
    let shown = |(nth, bytes): (usize, &u64)| ArchivedFile {
        name: format!("R{nth}.fq"),
        source: String::new(),
        digests: FileDigests { bytes: *bytes, ..FileDigests::default() },
    };
    let index = [&INDEX_MAGIC[..], page].concat();
    let data = [&DATA_MAGIC[..], data].concat();
    let objects = vec![
        (INDEX.to_owned(), index.len() as u64),
        ("data-00000.fbr".to_owned(), data.len() as u64),
    ];
    let manifest = Manifest {
        version: 1,
        shape,
        writer: "test".into(),
        files: stripe.texts.iter().enumerate().map(shown).collect(),
        as_text_bytes: 0,
        objects,
        stripes: vec![Stripe { page_len: page.len(), page_hash: hash(page), ..stripe }],
    };
    let named = [(MANIFEST, manifest.to_bytes()), (INDEX, index), ("data-00000.fbr", data)];
    let named = named.into_iter().map(|(name, bytes)| (name.to_owned(), bytes));
    MemoryObjects(named.collect::<BTreeMap<_, _>>())
}

/// The data of a group, and where its families lie.
pub(crate) fn group_data(mates: &[EncodedMate]) -> (Vec<u8>, [ChunkFamily; 3]) {
    let mut data = Vec::new();
    let mut families = [ChunkFamily::default(); 3];
    for (nth, family) in families.iter_mut().enumerate() {
        let start = data.len();
        let chunks = mates.iter().flat_map(|mate| &mate.chunks);
        chunks.filter(|c| c.column.family() == nth).for_each(|c| data.extend(&c.bytes));
        let offset = (DATA_MAGIC.len() + start) as u64;
        *family = ChunkFamily { object: 1, offset, len: (data.len() - start) as u64 };
    }
    (data, families)
}
