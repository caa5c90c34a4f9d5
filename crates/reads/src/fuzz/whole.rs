//! An archive of one stripe: what the manifest says of it, its page, its data. All that is asked
//! of an archive is asked.

use std::num::NonZeroU32;
use std::sync::Arc;

use super::{FuzzTarget, sample};
use crate::archive::Archive;
use crate::error::Result;
use crate::exported_view::{ExportedReader, TextCache};
use crate::manifest::{ChunkFamily, ReadLayout, Stripe};
use crate::stripe_index::append_group;
use crate::view::{ReadSelection, TextFormat};
use crate::wire::{WireReader, append_prefixed_bytes, append_varint};

pub(super) const TARGET: FuzzTarget = FuzzTarget { name: "whole", feed, seeds };
const SHAPES: [ReadLayout; 3] = [ReadLayout::Single, ReadLayout::Paired, ReadLayout::Interleaved];

fn feed(bytes: &[u8]) {
    let Ok(objects) = read_archive(&mut WireReader::new(bytes)) else { return };
    let Ok(archive) = Archive::open(Box::new(objects)) else { return };
    let _ = archive.column_totals();
    let _ = archive.verify(1, |_| ());
    for form in [TextFormat::Fastq, TextFormat::Fasta, TextFormat::Tab] {
        let _ = archive.write_spots(3..70, ReadSelection::Both, form, 1, &mut Vec::new());
    }
    let archive = Arc::new(archive);
    for shards in [None, NonZeroU32::new(2)] {
        let Ok(faces) = archive.exported_files(shards) else { continue };
        let reader =
            ExportedReader::with_shared_cache(Arc::clone(&archive), TextCache::new(1 << 20, 0));
        for face in faces {
            let mut out = vec![0; 5000];
            for offset in [0, 7, face.len / 2, face.len.saturating_sub(9), face.len, u64::MAX] {
                if let Ok(got) = reader.read_at(&face, offset, &mut out) {
                    let rest = face.len.saturating_sub(offset).min(out.len() as u64);
                    assert_eq!(got as u64, rest, "{} at {offset}", face.name);
                }
            }
        }
    }
}

fn read_archive(wire: &mut WireReader<'_>) -> Result<crate::objects::MemoryObjects> {
    let shape = SHAPES[usize::from(wire.read_byte()?) % SHAPES.len()];
    let mut stripe = Stripe {
        groups: wire.read_bounded_varint(1 << 20)?,
        spots: wire.read_varint()?,
        ..Stripe::default()
    };
    for _ in 0..shape.file_count() {
        stripe.texts.push(wire.read_varint()?);
    }
    for family in &mut stripe.families {
        *family = ChunkFamily { object: 1, offset: wire.read_varint()?, len: wire.read_varint()? };
    }
    let mut page = wire.read_prefixed_bytes()?.to_vec();
    // Chunks have the checksums that they have; those of a seed fit.
    let data = wire.rest();
    page.truncate(1 << 20);
    Ok(sample::seal_archive(shape, stripe, &page, data))
}

fn seeds() -> Vec<Vec<u8>> {
    let (spots, mates) = sample::encode_sample_pair();
    let mut page = Vec::new();
    append_group(&mut page, spots, &mates);
    let (data, families) = sample::group_data(&mates);
    let lens: Vec<u64> = mates.iter().map(|mate| mate.text_len as u64).collect();
    let seed = |shape: u8, texts: &[u64]| {
        let mut bytes = vec![shape];
        append_varint(&mut bytes, 1);
        append_varint(&mut bytes, spots as u64);
        texts.iter().for_each(|len| append_varint(&mut bytes, *len));
        for family in &families {
            append_varint(&mut bytes, family.offset);
            append_varint(&mut bytes, family.len);
        }
        append_prefixed_bytes(&mut bytes, &page);
        bytes.extend(&data);
        bytes
    };
    vec![seed(1, &lens), seed(2, &[lens.iter().sum()])]
}
