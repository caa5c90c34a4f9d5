//! Bytes of small files: each segment that has some is read once, from its beginning to its end, and
//! each file's checksum is looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind::{InvalidData, NotFound};

use bytes::Bytes;

use super::super::log::{History, segment_key};
use super::super::request::{Bucket, map_in_parallel};
use super::super::segment::{HEADER, SegmentHeader};
use super::super::tree_record::ContentLocation;
use super::ContentDamage;
use forebay_objstore::RequestError;

/// Bytes of a segment that are in memory at once.
const WINDOW: u64 = 4 << 20;
/// How often a segment is asked for whose answer was cut off.
const LOOKS: usize = 3;

/// What is gone with a part, and what can be done.
type DamageAdvice = (&'static str, &'static str);

const BYTES: DamageAdvice = (
    "its bytes are gone",
    "write the file anew in a mount, from wherever it came: these bytes are nowhere else",
);
const SUMS: DamageAdvice = (
    "its object can't be looked at any more, since its checksums are gone",
    "read the object with any client, look whether it is right, and write the file anew in a mount",
);

/// Bytes of a file, or checksums of its object, in the data of a segment.
#[derive(Debug, Clone)]
struct Part {
    ino: u64,
    what: DamageAdvice,
    at: u64,
    end: u64,
    crc: u32,
}

/// Bytes in a segment.
///
/// # Errors
/// Those of the bucket. `InvalidData`: they are not what was written.
pub(super) fn read_packed(
    bucket: &dyn Bucket,
    place: &ContentLocation,
) -> Result<Bytes, RequestError> {
    let &ContentLocation::Packed { segment: number, at, length, crc } = place else {
        return Ok(Bytes::new());
    };
    let name = segment_key(number);
    let head =
        bucket.get_range(&name, 0..HEADER as u64, &|bytes| SegmentHeader::parse(bytes).is_ok())?;
    let damaged = |_| RequestError { kind: InvalidData, why: format!("{name}: it is damaged") };
    let at = SegmentHeader::parse(&head).map_err(damaged)?.data_offset().saturating_add(at);
    let is_right = |bytes: &[u8]| crc32fast::hash(bytes) == crc;
    bucket.get_range(&name, at..at.saturating_add(u64::from(length)), &is_right)
}

/// Files whose bytes are not what was written; and all segments that have bytes of files.
pub(super) fn find_bad_packed_files(
    bucket: &dyn Bucket,
    history: &History,
) -> Result<(Vec<ContentDamage>, BTreeSet<u64>), RequestError> {
    let mut segments = BTreeMap::<u64, Vec<Part>>::new();
    for (ino, file) in history.tree.files() {
        for (place, what) in [(Some(&file.place), BYTES), (file.sums.as_deref(), SUMS)] {
            if let Some(&ContentLocation::Packed { segment, at, length, crc }) = place {
                let end = at.saturating_add(u64::from(length));
                segments.entry(segment).or_default().push(Part { ino, what, at, end, crc });
            }
        }
    }
    let live = segments.keys().copied().collect();
    let mut all: Vec<_> = segments.into_iter().collect();
    all.iter_mut().for_each(|(_, parts)| parts.sort_by_key(|part| part.at));
    let read = |(number, parts): &(u64, Vec<Part>)| {
        let name = segment_key(*number);
        let size = history.segments.get(number).copied();
        let wrong = match size.map(|size| find_damaged_parts(bucket, &name, size, parts)) {
            None => Err(format!("{name} is missing")),
            Some(Ok(wrong)) => Ok(wrong),
            Some(Err(failed)) => match failed.kind {
                NotFound => Err(format!("{name} is missing")),
                InvalidData => Err(format!("{name} is damaged at its beginning")),
                _ => return Err(failed),
            },
        };
        let told = |part: &Part, why: &str| {
            let (what, next) = part.what;
            ContentDamage { ino: part.ino, what: format!("{what}: {why}"), next }
        };
        let damaged = format!("they are damaged in {name}");
        Ok(match wrong {
            Ok(parts) => parts.iter().map(|part| told(part, &damaged)).collect::<Vec<_>>(),
            Err(what) => parts.iter().map(|part| told(part, &what)).collect(),
        })
    };
    let mut bad = Vec::new();
    for found in map_in_parallel(&all, read) {
        bad.extend(found?);
    }
    Ok((bad, live))
}

/// The files of one segment that are not what was written.
fn find_damaged_parts(
    bucket: &dyn Bucket,
    name: &str,
    size: u64,
    parts: &[Part],
) -> Result<Vec<Part>, RequestError> {
    let start = 0..size.min(HEADER as u64);
    let start = bucket.get_range(name, start, &|bytes| SegmentHeader::parse(bytes).is_ok())?;
    let wrong = |_| RequestError { kind: InvalidData, why: name.to_owned() };
    let data_at = SegmentHeader::parse(&start).map_err(wrong)?.data_offset();
    let there = size.saturating_sub(data_at);
    let (mut left, beyond): (Vec<&Part>, Vec<&Part>) =
        parts.iter().partition(|part| part.end <= there);
    let mut found: Vec<Part> = beyond.into_iter().cloned().collect();
    while let Some(first) = left.first() {
        let from = first.at;
        let count = left.iter().take_while(|part| part.end <= from + WINDOW).count().max(1);
        let some: Vec<&Part> = left.drain(..count).collect();
        let end = some.iter().map(|part| part.end).max().unwrap_or(from);
        let bytes = match bucket.get_range(name, data_at + from..data_at + end, &|_| true) {
            // They come one by one then.
            Err(failed) if failed.kind == InvalidData => bytes::Bytes::new(),
            bytes => bytes?,
        };
        for part in some {
            let range = (part.at - from) as usize..(part.end - from) as usize;
            let is_right = |bytes: &[u8]| crc32fast::hash(bytes) == part.crc;
            if !bytes.get(range).is_some_and(is_right)
                && !is_intact_alone(bucket, name, data_at, part)?
            {
                found.push(part.clone());
            }
        }
    }
    Ok(found)
}

/// Whether the bytes are right when they are asked for alone: on the way they change, too.
fn is_intact_alone(
    bucket: &dyn Bucket,
    name: &str,
    data_at: u64,
    part: &Part,
) -> Result<bool, RequestError> {
    let is_right = |bytes: &[u8]| crc32fast::hash(bytes) == part.crc;
    for _ in 0..LOOKS {
        match bucket.get_range(name, data_at + part.at..data_at + part.end, &is_right) {
            Err(failed) if failed.kind == InvalidData => {}
            done => return done.map(|_| true),
        }
    }
    Ok(false)
}
