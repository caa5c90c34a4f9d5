//! An archive of one stripe: what the manifest says of it, its page, its data. All that is asked
//! of an archive is asked.

use std::num::NonZeroU32;
use std::sync::Arc;

use super::{Target, sample};
use crate::archive::Archive;
use crate::error::Result;
use crate::index::put_group;
use crate::manifest::{Family, Shape, Stripe};
use crate::shown::{Cache, Reader};
use crate::view::{Form, View};
use crate::wire::{Wire, put, put_bytes};

pub(super) const TARGET: Target = Target { name: "whole", feed, seeds };
const SHAPES: [Shape; 3] = [Shape::Single, Shape::Paired, Shape::Interleaved];

fn feed(bytes: &[u8]) {
    let Ok(objects) = archive(&mut Wire::new(bytes)) else { return };
    let Ok(archive) = Archive::open(Box::new(objects)) else { return };
    let _ = archive.totals();
    let _ = archive.verify(1, |_| ());
    for form in [Form::Fastq, Form::Fasta, Form::Tab] {
        let _ = archive.write_spots(3..70, View::Both, form, 1, &mut Vec::new());
    }
    let archive = Arc::new(archive);
    for shards in [None, NonZeroU32::new(2)] {
        let Ok(faces) = archive.faces(shards) else { continue };
        let reader = Reader::sharing(Arc::clone(&archive), Cache::new(1 << 20, 0));
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

fn archive(wire: &mut Wire<'_>) -> Result<crate::objects::Memory> {
    let shape = SHAPES[usize::from(wire.byte()?) % SHAPES.len()];
    let mut stripe =
        Stripe { groups: wire.at_most(1 << 20)?, spots: wire.number()?, ..Stripe::default() };
    for _ in 0..shape.files() {
        stripe.texts.push(wire.number()?);
    }
    for family in &mut stripe.families {
        *family = Family { object: 1, offset: wire.number()?, len: wire.number()? };
    }
    let mut page = wire.bytes()?.to_vec();
    // Chunks have the checksums that they have; those of a seed fit.
    let data = wire.rest();
    page.truncate(1 << 20);
    Ok(sample::archive(shape, stripe, &page, data))
}

fn seeds() -> Vec<Vec<u8>> {
    let (spots, mates) = sample::pair();
    let mut page = Vec::new();
    put_group(&mut page, spots, &mates);
    let (data, families) = sample::data(&mates);
    let lens: Vec<u64> = mates.iter().map(|mate| mate.text_len as u64).collect();
    let seed = |shape: u8, texts: &[u64]| {
        let mut bytes = vec![shape];
        put(&mut bytes, 1);
        put(&mut bytes, spots as u64);
        texts.iter().for_each(|len| put(&mut bytes, *len));
        for family in &families {
            put(&mut bytes, family.offset);
            put(&mut bytes, family.len);
        }
        put_bytes(&mut bytes, &page);
        bytes.extend(&data);
        bytes
    };
    vec![seed(1, &lens), seed(2, &[lens.iter().sum()])]
}
