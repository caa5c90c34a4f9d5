//! A record of FASTQ in its parts, and the name that mates have in common.

use super::bam_limit_error;
use crate::error::Result;

/// A record in its parts.
pub(super) struct RecordParts<'a> {
    /// All that stands in the first line.
    pub(super) line: &'a [u8],
    /// Where in it ends the name that both mates have.
    pub(super) end: usize,
    pub(super) bases: &'a [u8],
    pub(super) qualities: &'a [u8],
    /// Four lines as everybody writes them.
    pub(super) plain: bool,
}

pub(super) fn parse_record(record: &[u8]) -> Option<RecordParts<'_>> {
    let plain = record.ends_with(b"\n");
    let mut lines = record.strip_suffix(b"\n").unwrap_or(record).split(|byte| *byte == b'\n');
    let mut returns = false;
    let mut line = || {
        let line = lines.next()?;
        returns |= line.ends_with(b"\r");
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    };
    let (name, bases, plus, qualities) = (line()?, line()?, line()?, line()?);
    let (line, plus) = (name.strip_prefix(b"@")?, plus.strip_prefix(b"+")?);
    let end = line.iter().position(|byte| matches!(byte, b' ' | b'\t')).unwrap_or(line.len());
    let plain = plain && !returns && plus.is_empty();
    (bases.len() == qualities.len()).then_some(RecordParts { line, end, bases, qualities, plain })
}

/// Mates have one name in BAM: `x/1` and `x/2`, or `x.1` and `x.2`, are `x`.
pub(super) fn unify_mate_names(
    first: &mut RecordParts<'_>,
    second: &mut RecordParts<'_>,
) -> Result<()> {
    let names = [&first.line[..first.end], &second.line[..second.end]];
    if names[0] == names[1] {
        return Ok(());
    }
    let end = first.end.saturating_sub(2);
    let stem = names[0].get(..end).filter(|stem| names[1].starts_with(stem));
    match stem.map(|_| (&names[0][end..], &names[1][end..])) {
        Some((b"/1", b"/2") | (b".1", b".2")) => {
            (first.end, second.end) = (end, end);
            Ok(())
        }
        _ => Err(bam_limit_error(names[0], "has a mate with another name")),
    }
}
