//! What faces are called.

use std::num::NonZeroU32;

/// Endings of names of packed files. A file is shown without.
const PACKED: [&str; 5] = [".gz", ".bgz", ".bgzf", ".bz2", ".zst"];
/// Endings before which the number of a shard stands.
const TEXTS: [&str; 4] = [".fastq", ".fq", ".fasta", ".fa"];

/// `x_R1.fastq` of `x_R1.fastq.gz`.
pub(crate) fn strip_packed_suffix(name: &str) -> &str {
    let stem = PACKED.iter().find_map(|end| name.strip_suffix(end));
    stem.filter(|stem| !stem.is_empty()).unwrap_or(name)
}

/// `x_R1.0007-of-0064.fastq`, the seventh of 64.
pub(super) fn shard_name(name: &str, number: usize, of: usize) -> String {
    let end = TEXTS.iter().find(|end| name.len() > end.len() && name.ends_with(**end));
    let (stem, end) = name.split_at(name.len() - end.map_or(0, |end| end.len()));
    format!("{stem}.{number:04}-of-{of:04}{end}")
}

/// How many shards a name speaks of.
pub(super) fn shards_in_name(name: &str) -> Option<NonZeroU32> {
    let mut parts = name.split('.').filter_map(|part| part.split_once("-of-"));
    let digits = |text: &&str| text.len() >= 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    let (_, of) = parts.rfind(|(number, of)| digits(number) && digits(of))?;
    of.parse().ok()
}

#[cfg(test)]
mod tests {
    //! A wrong name is a file that its pipeline does not find.
    use super::*;

    #[test]
    fn names_are_those_that_tools_expect() {
        let cases = [
            ("x_R1.fastq.gz", "x_R1.fastq", "x_R1.0007-of-0064.fastq"),
            ("x.fq.zst", "x.fq", "x.0007-of-0064.fq"),
            ("x.fq.bz2", "x.fq", "x.0007-of-0064.fq"),
            ("reads", "reads", "reads.0007-of-0064"),
            (".gz", ".gz", ".gz.0007-of-0064"),
            (".fq", ".fq", ".fq.0007-of-0064"),
        ];
        for (name, plain, seventh) in cases {
            assert_eq!(strip_packed_suffix(name), plain);
            assert_eq!(shard_name(strip_packed_suffix(name), 7, 64), seventh);
            assert_eq!(shards_in_name(seventh), NonZeroU32::new(64), "{seventh}");
            assert_eq!(shards_in_name(plain), None, "{plain}");
        }
        assert_eq!(shard_name("x.fastq", 12_345, 70_000), "x.12345-of-70000.fastq");
        assert_eq!(shards_in_name("x.0001-of-0000.fastq"), None);
        assert_eq!(shards_in_name("best-of-all.fastq"), None);
    }
}
