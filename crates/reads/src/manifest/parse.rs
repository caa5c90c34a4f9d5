//! Reading a manifest that may hold anything.

use super::{
    ArchivedFile, ChunkFamily, MANIFEST_MAGIC, Manifest, PAGE_MAX, ReadLayout, Stripe, VERSION,
};
use crate::error::{Error, Kind, Result};
use crate::hash::{FileDigests, hash};
use crate::wire::WireReader;

/// The version, and what stands between the first bytes and the checksum.
pub(super) fn verify_seal(bytes: &[u8]) -> Result<(u8, &[u8])> {
    let begins_wrong = || Error::damaged("it does not begin as a manifest does");
    let (head, body) = bytes.split_first_chunk::<8>().ok_or_else(begins_wrong)?;
    let version = head[4];
    if head[..4] == MANIFEST_MAGIC[..4] && version > VERSION {
        let words = format!(
            "version {version} of the format, and this Forebay reads up to {VERSION}: a newer one \
             wrote it, or it is damaged"
        );
        return Err(Error::new(Kind::Unknown, words));
    }
    let expected = MANIFEST_MAGIC[..4] == head[..4] && MANIFEST_MAGIC[5..] == head[5..];
    if !expected || version == 0 {
        return Err(begins_wrong());
    }
    let (body, seal) = body.split_last_chunk::<16>().ok_or_else(|| Error::damaged("too short"))?;
    match hash(&bytes[..bytes.len() - 16]) == *seal {
        true => Ok((version, body)),
        false => Err(Error::damaged("its bytes are not those that were written (checksum)")),
    }
}

/// The longest name of a file, in bytes.
const NAME_MAX: usize = 255;

/// A name that stays in its directory.
fn check_file_name(name: String) -> Result<String> {
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

pub(super) fn read_manifest(version: u8, wire: &mut WireReader<'_>) -> Result<Manifest> {
    let shapes = [ReadLayout::Single, ReadLayout::Paired, ReadLayout::Interleaved];
    let shape =
        *shapes.get(usize::from(wire.read_byte()?)).ok_or_else(|| Error::damaged("no shape"))?;
    let writer = wire.read_string()?;
    let mut files = Vec::new();
    for _ in 0..shape.file_count() {
        let (name, source) = (check_file_name(wire.read_string()?)?, wire.read_string()?);
        let digests = FileDigests {
            bytes: wire.read_varint()?,
            md5: wire.read_array()?,
            sha256: wire.read_array()?,
        };
        files.push(ArchivedFile { name, source, digests });
    }
    let as_text_bytes = wire.read_varint()?;
    // Counts are not trusted with memory: each entry is read before room for the next is made.
    let mut objects = Vec::new();
    for _ in 0..wire.read_bounded_varint(wire.rest().len())? {
        objects.push((check_file_name(wire.read_string()?)?, wire.read_varint()?));
    }
    let mut stripes = Vec::new();
    for _ in 0..wire.read_bounded_varint(wire.rest().len())? {
        stripes.push(read_stripe(wire, shape, objects.len())?);
    }
    wire.expect_end()?;
    let mut shown = vec![0_u64; files.len()];
    for stripe in &stripes {
        shown.iter_mut().zip(&stripe.texts).for_each(|(sum, len)| *sum = sum.saturating_add(*len));
    }
    if !files.iter().map(|file| file.digests.bytes).eq(shown) {
        return Err(Error::damaged("stripes do not add up to the files"));
    }
    Ok(Manifest { version, shape, writer, files, as_text_bytes, objects, stripes })
}

fn read_stripe(wire: &mut WireReader<'_>, shape: ReadLayout, objects: usize) -> Result<Stripe> {
    let mut stripe = Stripe {
        page_len: wire.read_bounded_varint(PAGE_MAX)?,
        page_hash: wire.read_array()?,
        groups: wire.read_bounded_varint(PAGE_MAX)?,
        spots: wire.read_varint()?,
        ..Stripe::default()
    };
    for _ in 0..shape.file_count() {
        stripe.texts.push(wire.read_varint()?);
    }
    for family in &mut stripe.families {
        let object = wire.read_bounded_varint(objects.saturating_sub(1))?;
        *family = ChunkFamily { object, offset: wire.read_varint()?, len: wire.read_varint()? };
    }
    Ok(stripe)
}
