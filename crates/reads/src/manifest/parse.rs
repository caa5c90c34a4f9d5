//! Reading a manifest that may hold anything.

use super::{Family, MANIFEST_MAGIC, Manifest, PAGE_MAX, Shape, Shown, Stripe};
use crate::error::{Error, Kind, Result};
use crate::hash::{Digests, hash};
use crate::wire::Wire;

/// What stands between the first bytes and the checksum.
pub(super) fn sealed(bytes: &[u8]) -> Result<&[u8]> {
    if bytes.starts_with(&MANIFEST_MAGIC[..4]) && bytes.get(4).is_some_and(|version| *version > 1) {
        let version = bytes[4];
        let words =
            format!("version {version} of the format: a newer Forebay wrote it, or it is damaged");
        return Err(Error::new(Kind::Unknown, words));
    }
    let body = bytes.strip_prefix(&MANIFEST_MAGIC[..]);
    let body = body.ok_or_else(|| Error::damaged("it does not begin as a manifest does"))?;
    let (body, seal) = body.split_last_chunk::<16>().ok_or_else(|| Error::damaged("too short"))?;
    match hash(&bytes[..bytes.len() - 16]) == *seal {
        true => Ok(body),
        false => Err(Error::damaged("its bytes are not those that were written (checksum)")),
    }
}

/// The longest name of a file, in bytes.
const NAME_MAX: usize = 255;

/// A name that stays in its directory.
fn plain(name: String) -> Result<String> {
    let bad = name.is_empty()
        || name.len() > NAME_MAX
        || name.starts_with('.')
        || name.contains(['/', '\0', '\n']);
    if bad {
        Err(Error::damaged(format!("a name that no file may have: {name:?}")))
    } else {
        Ok(name)
    }
}

pub(super) fn take(wire: &mut Wire<'_>) -> Result<Manifest> {
    let shapes = [Shape::Single, Shape::Paired, Shape::Interleaved];
    let shape = *shapes.get(usize::from(wire.byte()?)).ok_or_else(|| Error::damaged("no shape"))?;
    let writer = wire.text()?;
    let mut files = Vec::new();
    for _ in 0..shape.files() {
        let (name, source) = (plain(wire.text()?)?, wire.text()?);
        let digests = Digests { bytes: wire.number()?, md5: wire.array()?, sha256: wire.array()? };
        files.push(Shown { name, source, digests });
    }
    let as_text_bytes = wire.number()?;
    // Counts are not trusted with memory: each entry is read before room for the next is made.
    let mut objects = Vec::new();
    for _ in 0..wire.at_most(wire.rest().len())? {
        objects.push((plain(wire.text()?)?, wire.number()?));
    }
    let mut stripes = Vec::new();
    for _ in 0..wire.at_most(wire.rest().len())? {
        stripes.push(take_stripe(wire, shape, objects.len())?);
    }
    wire.end()?;
    let mut shown = vec![0_u64; files.len()];
    for stripe in &stripes {
        shown.iter_mut().zip(&stripe.texts).for_each(|(sum, len)| *sum = sum.saturating_add(*len));
    }
    if !files.iter().map(|file| file.digests.bytes).eq(shown) {
        return Err(Error::damaged("stripes do not add up to the files"));
    }
    Ok(Manifest { shape, writer, files, as_text_bytes, objects, stripes })
}

fn take_stripe(wire: &mut Wire<'_>, shape: Shape, objects: usize) -> Result<Stripe> {
    let mut stripe = Stripe {
        page_len: wire.at_most(PAGE_MAX)?,
        page_hash: wire.array()?,
        groups: wire.at_most(PAGE_MAX)?,
        spots: wire.number()?,
        ..Stripe::default()
    };
    for _ in 0..shape.files() {
        stripe.texts.push(wire.number()?);
    }
    for family in &mut stripe.families {
        let object = wire.at_most(objects.saturating_sub(1))?;
        *family = Family { object, offset: wire.number()?, len: wire.number()? };
    }
    Ok(stripe)
}
