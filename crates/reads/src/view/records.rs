//! Texts record by record: two in turns, some of them, as FASTA, as a table.

use std::ops::Range;

use memchr::memchr;

use crate::row_group::split_record;

/// Names and bases of a text.
pub(super) fn to_fasta(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 2 + 2);
    let mut rest = text;
    while !rest.is_empty() {
        let (record, after) = split_record(rest)?;
        let name = record.strip_prefix(b"@")?;
        let bases = memchr(b'\n', name)? + 1;
        let end = bases + memchr(b'\n', &name[bases..])? + 1;
        out.push(b'>');
        out.extend_from_slice(&name[..end]);
        rest = after;
    }
    Some(out)
}

/// Bases of a text, a line for each read.
pub(super) fn to_base_lines(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 2);
    let mut rest = text;
    while !rest.is_empty() {
        let (record, after) = split_record(rest)?;
        let line = record.split(|byte| *byte == b'\n').nth(1)?;
        out.extend_from_slice(line.strip_suffix(b"\r").unwrap_or(line));
        out.push(b'\n');
        rest = after;
    }
    Some(out)
}

/// Some records of a text, which has at least as many.
pub(super) fn select_records(mut text: Vec<u8>, records: Range<u64>) -> Option<Vec<u8>> {
    let mut ends = [0; 2];
    let mut rest = &text[..];
    for nth in 0..records.end {
        if nth == records.start {
            ends[0] = text.len() - rest.len();
        }
        rest = split_record(rest)?.1;
    }
    ends[1] = text.len() - rest.len();
    text.truncate(ends[1]);
    text.drain(..ends[0]);
    Some(text)
}

/// Name, bases and qualities, tabs between; `mates` records in a line.
pub(super) fn to_tab_lines(text: &[u8], mates: u64) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let (mut rest, mut nth) = (text, 0);
    while !rest.is_empty() {
        let (record, after) = split_record(rest)?;
        let mut lines = record.strip_prefix(b"@")?.split(|byte| *byte == b'\n');
        for place in 0..4 {
            let line = lines.next()?;
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            match place {
                0 => out.extend(line.iter().map(|byte| if *byte == b'\t' { b' ' } else { *byte })),
                2 => continue,
                _ => out.extend_from_slice(line),
            }
            out.push(b'\t');
        }
        nth += 1;
        *out.last_mut()? = if nth % mates == 0 { b'\n' } else { b'\t' };
        rest = after;
    }
    Some(out)
}
