//! Classes of file names: `out/map/0007.bwa.sam` is one of `out/map/#.bwa.sam`.
//!
//! A class is what a rule of placement can be written for. Runs of digits become `#`; hashes and
//! random temporary names become `*`; deep or long names are cut in the middle. Pure, and fast
//! enough to be called once for each file.

/// Components kept at each end of a deep path; what lies between becomes `**`.
const ENDS: usize = 4;
/// Bytes of one component after substitution; a longer one is cut in the middle with `*`.
const COMPONENT_BYTES_MAX: usize = 64;
/// A run of at least so many hexadecimal digits, with letters and digits, is a hash.
const HASH_BYTES_MIN: usize = 12;

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
            cut(&mut out, start);
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

fn is_hex(bytes: &[u8]) -> bool {
    bytes.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

fn push_component(out: &mut Vec<u8>, part: &[u8]) {
    if is_uuid(part) {
        return out.push(b'*');
    }
    if let Some(kept) = temporary_prefix(part) {
        out.extend_from_slice(&part[..kept]);
        return out.push(b'*');
    }
    let mut at = 0;
    while at < part.len() {
        let word = part[at..].iter().take_while(|b| b.is_ascii_alphanumeric()).count();
        let text = &part[at..at + word];
        if is_hash(text) {
            out.push(b'*');
        } else {
            push_word(out, text);
        }
        at += word;
        if let Some(&separator) = part.get(at) {
            out.push(separator);
            at += 1;
        }
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

fn is_hash(word: &[u8]) -> bool {
    word.len() >= HASH_BYTES_MIN
        && is_hex(word)
        && word.iter().any(u8::is_ascii_digit)
        && word.iter().any(u8::is_ascii_alphabetic)
}

fn is_uuid(part: &[u8]) -> bool {
    part.len() == 36
        && part.iter().enumerate().all(|(i, b)| match i {
            8 | 13 | 18 | 23 => *b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

/// How much of a random temporary name stays: `tmp` of Python's `tmpa1b2c3d4`, `tmp.` of
/// `mktemp`'s `tmp.AbC123`.
fn temporary_prefix(part: &[u8]) -> Option<usize> {
    let rest = part.strip_prefix(b"tmp")?;
    if let Some(random) = rest.strip_prefix(b".") {
        let mixed = random.iter().any(u8::is_ascii_uppercase);
        let fits = matches!(random.len(), 6..=12) && random.iter().all(u8::is_ascii_alphanumeric);
        return (fits && mixed).then_some(4);
    }
    let python =
        rest.len() == 8 && rest.iter().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_'));
    (python && rest.iter().any(|b| b.is_ascii_digit() || *b == b'_')).then_some(3)
}

fn cut(out: &mut Vec<u8>, start: usize) {
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
