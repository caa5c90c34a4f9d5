//! A read as alignments have it (SAM specification, sections 1.3 and 1.4), and as FASTQ.

use super::MatePart;
use crate::error::{Error, Kind, Result};

pub(crate) const REVERSE: u16 = 0x10;
const FIRST: u16 = 0x40;
const SECOND: u16 = 0x80;
/// Secondary and supplementary lines repeat a read.
const REPEATS: u16 = 0x100 | 0x800;
/// Who has written a file is in its header; the tag with rests of names is ours only there.
pub(crate) const PROGRAM: &str = "\tPN:forebay\t";
/// What BAM has where there is no quality, and what `samtools fastq` writes then.
const NO_QUALITY: u8 = 0xff;
const FOR_NONE: u8 = b'B';
const QUALITY_MAX: u8 = 93;

impl MatePart {
    /// Which read of its spot a line has, by its flags; None if it repeats one.
    pub(crate) fn from_flags(flag: u16) -> Option<MatePart> {
        match (flag & REPEATS, flag & FIRST != 0, flag & SECOND != 0) {
            (0, true, false) => Some(MatePart::Mate(0)),
            (0, false, true) => Some(MatePart::Mate(1)),
            (0, _, _) => Some(MatePart::Alone),
            _ => None,
        }
    }
}

/// Whether a header says that lines are in the order of a reference.
pub(crate) fn is_coordinate_sorted(header: &str) -> bool {
    let first = header.lines().next().unwrap_or_default();
    first.starts_with("@HD\t") && first.contains("\tSO:coordinate")
}

/// Whether a header says that we wrote the lines.
pub(crate) fn is_written_by_forebay(header: &str) -> bool {
    header.lines().any(|line| line.starts_with("@PG\t") && line.contains(PROGRAM))
}

/// What is known of a read before its letters.
pub(crate) struct AlignedRead<'a> {
    pub(crate) name: &'a [u8],
    /// What of its name alignments have no place for.
    pub(crate) rest: &'a [u8],
    /// It was sequenced the other way round.
    pub(crate) reverse: bool,
    /// How many bases it has.
    pub(crate) bases: usize,
}

impl AlignedRead<'_> {
    /// Writes it as it was sequenced. `bases` appends its letters, at least as many as it has.
    pub(crate) fn write_fastq(
        &self,
        bases: impl FnOnce(&mut Vec<u8>),
        mut qualities: impl Iterator<Item = u8>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        out.push(b'@');
        out.extend_from_slice(self.name);
        out.extend_from_slice(self.rest);
        out.push(b'\n');
        let start = out.len();
        bases(out);
        out.truncate(start + self.bases);
        if self.reverse {
            out[start..].reverse();
            out[start..].iter_mut().for_each(|base| *base = OPPOSITE[usize::from(*base)]);
        }
        out.extend_from_slice(b"\n+\n");
        let start = out.len();
        match qualities.next() {
            None | Some(NO_QUALITY) => out.resize(start + self.bases, FOR_NONE),
            Some(first) => {
                out.push(first.wrapping_add(b'!'));
                out.extend(qualities.map(|quality| quality.wrapping_add(b'!')));
                let wrong = out[start..].iter().find(|quality| !(b'!'..=b'~').contains(quality));
                if let Some(wrong) = wrong {
                    let (high, name) = (wrong.wrapping_sub(b'!'), self.name.escape_ascii());
                    let words =
                        format!("a quality of {high} in read {name}: {QUALITY_MAX} is most");
                    return Err(Error::new(Kind::Input, format!("it is damaged: {words}")));
                }
            }
        }
        if self.reverse {
            out[start..].reverse();
        }
        out.push(b'\n');
        Ok(())
    }
}

/// The letter on the other strand.
const OPPOSITE: [u8; 256] = {
    let (letters, others) = (b"=ACMGRSVTWYHKDBN", b"=TGKCYSBAWRDMHVN");
    let mut opposite = [b'N'; 256];
    let mut nth = 0;
    while nth < letters.len() {
        opposite[letters[nth] as usize] = others[nth];
        nth += 1;
    }
    opposite
};
