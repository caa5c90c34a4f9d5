//! Records of FASTQ as lines of an unaligned BAM (SAM specification, section 4.2).

mod fastq_record;

use crate::error::{Error, Kind, Result};
use crate::row_group::split_record;
use crate::spots::{BASES, PROGRAM, REST};
use fastq_record::{RecordParts, parse_record, unify_mate_names};

/// Bytes of a name at most.
const NAME_MAX: usize = 254;
/// Flags of a single read, and of the two of a pair: unmapped, the mate too, first or second.
const SINGLE: u16 = 0x4;
const MATES: [u16; 2] = [0x1 | 0x4 | 0x8 | 0x40, 0x1 | 0x4 | 0x8 | 0x80];
/// The bin of what has no place.
const BIN: u16 = 4680;

/// What stands at the front of a BAM.
#[derive(Clone, Debug)]
pub struct BamHeader {
    text: String,
    read_group: Option<String>,
}

impl BamHeader {
    /// `version` is that of the program; `read_group` a line as `@RG\tID:x\tSM:y`.
    ///
    /// # Errors
    /// [`Kind::Request`] if that is no such line.
    pub fn new(version: &str, read_group: Option<&str>) -> Result<BamHeader> {
        let mut header = BamHeader {
            text: format!(
                "@HD\tVN:1.6\tSO:unsorted\tGO:query\n@PG\tID:forebay{PROGRAM}VN:{version}\n"
            ),
            read_group: None,
        };
        if let Some(line) = read_group {
            let mut fields = line.split('\t');
            let begins = fields.next() == Some("@RG");
            let id = fields.find_map(|field| field.strip_prefix("ID:"));
            let plain = line.bytes().all(|byte| byte == b'\t' || (b' '..=b'~').contains(&byte));
            let Some(id) = id.filter(|id| begins && plain && !id.is_empty()) else {
                let words = format!("a read group is a line as @RG\\tID:lane1\\tSM:x, not {line}");
                return Err(Error::new(Kind::Request, words));
            };
            header.read_group = Some(id.to_owned());
            header.text += &format!("{line}\n");
        }
        Ok(header)
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut out = b"BAM\x01".to_vec();
        out.extend_from_slice(&(self.text.len() as u32).to_le_bytes());
        out.extend_from_slice(self.text.as_bytes());
        // No references.
        out.extend_from_slice(&[0; 4]);
        out
    }
}

/// Lines of BAM for all records of a text, and how many of those it can't hold as they are. None
/// if the text is no records of four lines.
pub(super) fn encode_lines(
    text: &[u8],
    mates: usize,
    header: &BamHeader,
) -> Result<Option<(Vec<u8>, u64)>> {
    let (mut out, mut changed) = (Vec::with_capacity(text.len()), 0);
    let mut rest = text;
    while !rest.is_empty() {
        let mut spot = Vec::with_capacity(2);
        for _ in 0..mates {
            let Some((record, after)) = split_record(rest) else { return Ok(None) };
            let Some(parts) = parse_record(record) else { return Ok(None) };
            spot.push(parts);
            rest = after;
        }
        if let [first, second] = &mut spot[..] {
            unify_mate_names(first, second)?;
        }
        for (nth, parts) in spot.iter().enumerate() {
            let flag = if mates == 2 { MATES[nth] } else { SINGLE };
            changed += u64::from(!append_line(&mut out, parts, flag, header)?);
        }
    }
    Ok(Some((out, changed)))
}

/// Appends a line: whether it holds all that the record has.
fn append_line(
    out: &mut Vec<u8>,
    parts: &RecordParts<'_>,
    flag: u16,
    header: &BamHeader,
) -> Result<bool> {
    let (name, rest) = parts.line.split_at(parts.end);
    // What SAM writes where there is none.
    let shown = if name.is_empty() { b"*" } else { name };
    if shown.len() > NAME_MAX || !shown.iter().all(u8::is_ascii_graphic) {
        return Err(bam_limit_error(
            name,
            "has a name that BAM can't hold: 254 plain characters at most",
        ));
    }
    let start = out.len();
    // Its length, which is not known yet; no reference, no place in it.
    out.extend_from_slice(&[0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
    out.extend_from_slice(&[shown.len() as u8 + 1, 0]);
    for field in [BIN, 0, flag] {
        out.extend_from_slice(&field.to_le_bytes());
    }
    out.extend_from_slice(&(parts.bases.len() as u32).to_le_bytes());
    // No reference and place of the mate either, no length in between.
    out.extend_from_slice(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
    out.extend_from_slice(shown);
    out.push(0);
    let mut kept = parts.plain && !name.is_empty();
    for pair in parts.bases.chunks(2) {
        let mut byte = 0;
        for (nth, base) in pair.iter().enumerate() {
            let nibble = NIBBLES[usize::from(*base)];
            kept &= BASES[usize::from(nibble)] == *base;
            byte |= nibble << (4 - 4 * nth);
        }
        out.push(byte);
    }
    if !parts.qualities.iter().all(u8::is_ascii_graphic) {
        return Err(bam_limit_error(name, "has a quality that BAM can't hold"));
    }
    out.extend(parts.qualities.iter().map(|quality| quality - b'!'));
    if let Some(group) = &header.read_group {
        append_tag(out, b"RGZ", group.as_bytes());
    }
    if rest.iter().all(|byte| (b' '..=b'~').contains(byte)) {
        if !rest.is_empty() {
            append_tag(out, REST, rest);
        }
    } else {
        kept = false;
    }
    let len = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&len.to_le_bytes());
    Ok(kept)
}

fn append_tag(out: &mut Vec<u8>, head: &[u8; 3], text: &[u8]) {
    out.extend_from_slice(head);
    out.extend_from_slice(text);
    out.push(0);
}

fn bam_limit_error(name: &[u8], words: &str) -> Error {
    Error::new(Kind::Request, format!("read {} {words}", name.escape_ascii()))
}

/// The number of each letter; what is none is N.
const NIBBLES: [u8; 256] = {
    let mut nibbles = [15; 256];
    let mut nth = 0;
    while nth < BASES.len() {
        nibbles[BASES[nth] as usize] = nth as u8;
        nibbles[BASES[nth].to_ascii_lowercase() as usize] = nth as u8;
        nth += 1;
    }
    nibbles
};
