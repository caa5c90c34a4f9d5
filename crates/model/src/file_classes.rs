//! Classes of file names: `out/map/0007.bwa.sam` is one of `out/map/#.bwa.sam`.
//!
//! A class is what a rule of placement can be written for. Runs of digits become `#`; hashes and
//! random temporary names become `*`; deep or long names are cut in the middle. Pure, and fast
//! enough to be called once for each file.

mod random;

use std::ops::Range;

use random::{
    is_hash, is_hex, is_random_word, is_uuid, random_tail_length, temporary_prefix_length,
};

/// Components kept at each end of a deep path; what lies between becomes `**`.
const ENDS: usize = 4;
/// Bytes of one component after substitution; a longer one is cut in the middle with `*`.
const COMPONENT_BYTES_MAX: usize = 64;

/// The class of a path that is relative to its tree. Bytes that are not UTF-8 appear as `\u{fffd}`.
pub fn class_of(path: &[u8]) -> String {
    let mut parts = path.split(|&b| b == b'/').filter(|part| !part.is_empty()).peekable();
    let count = parts.clone().count();
    let mut out = Vec::with_capacity(path.len().min(256));
    let (mut before, mut last): (&[u8], &[u8]) = (b"", b"");
    let mut number = 0;
    while let Some(part) = parts.next() {
        let skipped = count > 2 * ENDS && (ENDS..count - ENDS).contains(&number);
        if skipped {
            if number == ENDS {
                out.extend_from_slice(b"/**");
            }
        } else {
            if number > 0 {
                out.push(b'/');
            }
            let next = parts.peek().copied().unwrap_or_default();
            let start = out.len();
            if is_snakemake_record(before, last) || is_work_directory(part, next) {
                out.push(b'*');
            } else {
                push_component(&mut out, part);
            }
            shorten_component(&mut out, start);
        }
        // A long Snakemake name is split into directories `@...`: they are all one record.
        if !(part.first() == Some(&b'@') && is_snakemake_record(before, last)) {
            (before, last) = (last, part);
        }
        number += 1;
    }
    match String::from_utf8(out) {
        Ok(class) => class,
        Err(e) => String::from_utf8_lossy(e.as_bytes()).into_owned(),
    }
}

/// Below `.snakemake/metadata` and `.snakemake/incomplete` names are base64 of output files.
fn is_snakemake_record(before: &[u8], last: &[u8]) -> bool {
    before == b".snakemake" && (last == b"metadata" || last == b"incomplete")
}

/// The first half of Nextflow's `xx/<30 hex>`; the second is a hash by itself.
fn is_work_directory(part: &[u8], next: &[u8]) -> bool {
    part.len() == 2 && is_hex(part) && next.len() == 30 && is_hex(next)
}

fn push_component(out: &mut Vec<u8>, part: &[u8]) {
    for piece in Pieces::of_name(part) {
        match piece {
            Piece::Drawn(_) => out.push(b'*'),
            Piece::Word(word) => push_word(out, word),
            Piece::Separator(byte) => out.push(byte),
        }
    }
}

/// Where in a name the first part is that a program drew by lot, as far as the name alone tells.
pub fn drawn_range(part: &[u8]) -> Option<Range<usize>> {
    Pieces::of_name(part).find_map(|piece| match piece {
        Piece::Drawn(range) => Some(range),
        Piece::Word(_) | Piece::Separator(_) => None,
    })
}

/// A piece of a name.
enum Piece<'p> {
    /// It is another one the next time.
    Drawn(Range<usize>),
    Word(&'p [u8]),
    Separator(u8),
}

/// A name, piece by piece.
struct Pieces<'p> {
    part: &'p [u8],
    at: usize,
    /// From here on all is drawn: what Python draws may have separators in it.
    drawn_from: usize,
}

impl<'p> Pieces<'p> {
    fn of_name(part: &'p [u8]) -> Self {
        let drawn_from = match temporary_prefix_length(part) {
            _ if is_uuid(part) => 0,
            Some(kept) => kept,
            None => part.len() - random_tail_length(part).unwrap_or(0),
        };
        Self { part, at: 0, drawn_from }
    }
}

impl<'p> Iterator for Pieces<'p> {
    type Item = Piece<'p>;

    fn next(&mut self) -> Option<Piece<'p>> {
        let start = self.at;
        let &first = self.part.get(start)?;
        if start >= self.drawn_from {
            self.at = self.part.len();
            return Some(Piece::Drawn(start..self.at));
        }
        if !first.is_ascii_alphanumeric() {
            self.at += 1;
            return Some(Piece::Separator(first));
        }
        let text = &self.part[start..self.drawn_from];
        let word = &text[..text.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count()];
        self.at += word.len();
        let is_drawn = is_hash(word) || (start > 0 && is_random_word(word));
        Some(if is_drawn { Piece::Drawn(start..self.at) } else { Piece::Word(word) })
    }
}

fn push_word(out: &mut Vec<u8>, word: &[u8]) {
    let mut in_digits = false;
    for &byte in word {
        let digit = byte.is_ascii_digit();
        if !digit {
            out.push(byte);
        } else if !in_digits {
            out.push(b'#');
        }
        in_digits = digit;
    }
}

fn shorten_component(out: &mut Vec<u8>, start: usize) {
    let length = out.len() - start;
    if length > COMPONENT_BYTES_MAX {
        let half = COMPONENT_BYTES_MAX / 2 - 1;
        out.splice(start + half..start + length - half, *b"*");
    }
}

#[cfg(test)]
mod tests {
    //! If these fail, files that belong together fall apart (a class for each file: the run file
    //! grows without bound) or strangers share a class and no rule can tell them apart.
    use super::*;

    fn class(path: &str) -> String {
        class_of(path.as_bytes())
    }

    #[test]
    fn digits_and_hashes_give_way() {
        for (path, expected) in [
            ("out/map/0007.bwa.sam", "out/map/#.bwa.sam"),
            ("ref/lambda.fa", "ref/lambda.fa"),
            ("reads/SRR0012_1.fastq.gz", "reads/SRR#_#.fastq.gz"),
            ("work/3f/0123456789abcdef0123456789abcd/.command.sh", "work/*/*/.command.sh"),
            ("work/3f/other", "work/#f/other"),
            (".snakemake/metadata/b3V0L21hcA==", ".snakemake/metadata/*"),
            (".snakemake/metadata/@b3V0/@aaa/L21", ".snakemake/metadata/*/*/*"),
            ("a/.snakemake/incomplete/b3V0", "a/.snakemake/incomplete/*"),
            (
                ".snakemake/log/2026-01-02T030405.67.snakemake.log",
                ".snakemake/log/#-#-#T#.#.snakemake.log",
            ),
            (
                "t/read_partitions/Fb_0/CBin_12/c1234.trinity.reads.fa",
                "t/read_partitions/Fb_#/CBin_#/c#.trinity.reads.fa",
            ),
            (
                ".nextflow/cache/0a1b2c3d-0000-4000-8000-0123456789ab/db/LOCK",
                ".nextflow/cache/*/db/LOCK",
            ),
            ("tmp/tmpa1b2_3d4/x", "tmp/tmp*/x"),
            ("tmp/tmp.AbC123xyz/x", "tmp/tmp.*/x"),
            ("tmp/template", "tmp/template"),
            (
                "tmp/construction_rEVvUe/kmers_raw_hDrvWk.12.idx",
                "tmp/construction_*/kmers_raw_*.#.idx",
            ),
            ("a_oGZUYX/b-CpT4ei", "a_*/b-*"),
            ("tmp/sortQzGgqi", "tmp/sort*"),
            ("sort/sorted.bam", "sort/sorted.bam"),
            ("sortie/sort_order", "sortie/sort_order"),
            ("tmp/spades_0rdp3w2_/x_iqUshx.1.y", "tmp/spades_*/x_*.#.y"),
            ("raw_Uqrk3c.2/raw_KYE3QP/x_8bbdmh", "raw_*.#/raw_*/x_*"),
            ("sample_2_sorted/lane_1_part_12.bam", "sample_#_sorted/lane_#_part_#.bam"),
            (
                "a_Tumour/b_DnaSeq/c_normal/d_SAMPLE/e_Rep012",
                "a_Tumour/b_DnaSeq/c_normal/d_SAMPLE/e_Rep#",
            ),
            ("rEVvUe/GRCh38.fa", "rEVvUe/GRCh#.fa"),
            ("lib/libstdc++.so.6", "lib/libstdc++.so.#"),
            ("idx-3f2a91bc44de.bin", "idx-*.bin"),
            ("facade/deadbeef", "facade/deadbeef"),
            ("", ""),
        ] {
            assert_eq!(class(path), expected, "{path}");
        }
    }

    #[test]
    fn length_and_depth_are_bounded() {
        assert_eq!(class("a/b/c/d/e/f/g/h/i/j"), "a/b/c/d/**/g/h/i/j");
        assert_eq!(class("a/b/c/d/e/f/g/h"), "a/b/c/d/e/f/g/h");
        let long = class(&format!("{}.bam", "x".repeat(250)));
        assert!(long.len() <= COMPONENT_BYTES_MAX && long.ends_with("x.bam"), "{long}");
        let worst = class(&vec!["y".repeat(255); 40].join("/"));
        assert!(worst.len() < 10 * (COMPONENT_BYTES_MAX + 1), "{}", worst.len());
    }

    #[test]
    fn any_bytes_are_taken() {
        assert_eq!(class_of(b"a\xff1/\xc3"), "a\u{fffd}#/\u{fffd}");
        assert_eq!(class_of(b"//a//1/"), "a/#");
    }
}
