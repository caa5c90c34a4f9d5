//! Chunks of a group from their objects: asked for all at a time, those side by side as one, and
//! each compared with its checksum.

use super::{Archive, CHECKSUM};
use crate::error::{Error, Result};
use crate::group::{Chunk, TEXT_MAX};
use crate::hash::hash;
use crate::index::{ChunkAt, GroupAt};
use crate::objects::Part;

/// Encoded bytes of a group, at most: two texts and some framing.
const BYTES_MAX: usize = 2 * TEXT_MAX + (1 << 20);

/// Chunks, each with the mate that it is of, in their order.
pub(super) fn fetch(
    archive: &Archive,
    group: &GroupAt,
    wanted: &[(usize, &ChunkAt)],
) -> Result<Vec<Chunk>> {
    if wanted.iter().map(|(_, chunk)| chunk.len).sum::<usize>() > BYTES_MAX {
        let words = format!("group {}: its chunks are longer than they can be", group.number);
        return Err(Error::damaged(words));
    }
    let objects = &archive.manifest.objects;
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by_key(|nth| (wanted[*nth].1.object, wanted[*nth].1.offset));
    let mut parts: Vec<Part<'_>> = Vec::new();
    // For each chunk its part, and where in it the chunk begins.
    let mut places = vec![(0, 0); wanted.len()];
    for nth in order {
        let chunk = wanted[nth].1;
        let name = &objects[chunk.object].0;
        let end = |part: &Part<'_>| part.offset.saturating_add(part.len as u64);
        match parts.last_mut() {
            Some(part) if part.name == name && end(part) == chunk.offset => part.len += chunk.len,
            _ => parts.push(Part { name, offset: chunk.offset, len: chunk.len }),
        }
        let part = parts.len() - 1;
        places[nth] = (part, (chunk.offset - parts[part].offset) as usize);
    }
    let bytes = archive.objects.read_many(&parts)?;
    let chunks = wanted.iter().zip(places).map(|((mate, at), (part, start))| {
        let found = bytes.get(part).and_then(|bytes| bytes.get(start..start + at.len));
        let found = found.filter(|bytes| hash(bytes) == at.hash);
        let bytes = found.ok_or_else(|| damaged(&objects[at.object].0, group, *mate, at))?.to_vec();
        Ok(Chunk { column: at.column, codec: at.codec, raw_len: at.raw_len, bytes })
    });
    chunks.collect()
}

fn damaged(name: &str, group: &GroupAt, mate: usize, at: &ChunkAt) -> Error {
    let end = at.offset.saturating_add(at.len as u64);
    Error::damaged(format!(
        "{name}, bytes {} to {end} ({} of mate {}, group {}): {CHECKSUM}",
        at.offset,
        at.column.name(),
        mate + 1,
        group.number
    ))
}
