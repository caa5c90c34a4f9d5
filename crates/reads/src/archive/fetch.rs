//! Chunks of a group from their objects: asked for all at a time, those side by side as one, and
//! each compared with its checksum.

use super::{Archive, CHECKSUM};
use crate::error::{Error, Result};
use crate::hash::hash;
use crate::objects::{ObjectRange, read_with_retry};
use crate::row_group::{EncodedChunk, TEXT_MAX};
use crate::stripe_index::{LocatedChunk, LocatedGroup};

/// Encoded bytes of a group, at most: two texts and some framing.
const BYTES_MAX: usize = 2 * TEXT_MAX + (1 << 20);
/// What lies between two chunks and is fetched along: a first mate's lengths and exceptions, say,
/// of which the second needs bases alone.
const NEAR: u64 = 16 << 10;

/// Parts to ask for, and for each chunk its part and where in it the chunk begins. What lies side by
/// side is one part, or nearly so.
pub(super) fn merge_adjacent_chunks<'a>(
    archive: &'a Archive,
    wanted: &[(usize, &LocatedChunk)],
) -> (Vec<ObjectRange<'a>>, Vec<(usize, usize)>) {
    let objects = &archive.manifest.objects;
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by_key(|nth| (wanted[*nth].1.object, wanted[*nth].1.offset));
    let mut parts: Vec<ObjectRange<'_>> = Vec::new();
    let mut places = vec![(0, 0); wanted.len()];
    for nth in order {
        let LocatedChunk { object, offset, len, .. } = *wanted[nth].1;
        let name = &objects[object].0;
        let gap =
            |part: &ObjectRange<'_>| offset.checked_sub(part.offset.checked_add(part.len as u64)?);
        match parts.last_mut() {
            Some(part) if part.name == name && gap(part).is_some_and(|gap| gap <= NEAR) => {
                part.len = (offset - part.offset) as usize + len;
            }
            _ => parts.push(ObjectRange { name, offset, len }),
        }
        let part = parts.len() - 1;
        places[nth] = (part, (offset - parts[part].offset) as usize);
    }
    (parts, places)
}

/// Chunks, each with the mate that it is of, in their order.
pub(super) fn fetch_chunks(
    archive: &Archive,
    group: &LocatedGroup,
    wanted: &[(usize, &LocatedChunk)],
) -> Result<Vec<EncodedChunk>> {
    if wanted.iter().map(|(_, chunk)| chunk.len).sum::<usize>() > BYTES_MAX {
        let words = format!("group {}: its chunks are longer than they can be", group.number);
        return Err(Error::damaged(words));
    }
    let objects = &archive.manifest.objects;
    let (parts, places) = merge_adjacent_chunks(archive, wanted);
    read_with_retry(&*archive.objects, &parts, |bytes| {
        let chunks = wanted.iter().zip(&places).map(|((mate, at), (part, start))| {
            let found = bytes.get(*part).and_then(|bytes| bytes.get(*start..start + at.len));
            let found = found.filter(|bytes| hash(bytes) == at.hash);
            let wrong = || checksum_error(&objects[at.object].0, group, *mate, at);
            let bytes = found.ok_or_else(wrong)?.to_vec();
            Ok(EncodedChunk { column: at.column, codec: at.codec, raw_len: at.raw_len, bytes })
        });
        chunks.collect()
    })
}

fn checksum_error(name: &str, group: &LocatedGroup, mate: usize, at: &LocatedChunk) -> Error {
    let end = at.offset.saturating_add(at.len as u64);
    Error::damaged(format!(
        "{name}, bytes {} to {end} ({} of mate {}, group {}): {CHECKSUM}",
        at.offset,
        at.column.name(),
        mate + 1,
        group.number
    ))
}
