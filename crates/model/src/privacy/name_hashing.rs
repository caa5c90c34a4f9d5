//! Hashes the names of an anonymised run: each word of a name by itself, so that a sample is the
//! same stranger in a file name, a directory, a command line and a task.

use super::Salt;
use super::siphash::siphash;
use std::collections::BTreeSet;

/// Words that say what a file is, not whose it is.
#[rustfmt::skip]
const KEPT: &[&str] = &[
    // extensions and what stands before them
    "bai", "bam", "bcf", "bed", "bedgraph", "bigwig", "bw", "bwa", "bz2", "c", "cfg", "cmd",
    "cmds", "completed", "conf", "config", "cram", "csi", "csv", "dat", "db", "dict", "done",
    "err", "fa", "fai", "fasta", "fastq", "fq", "gff", "gff3", "gtf", "gz", "html", "idx",
    "index", "jar", "jf", "json", "lock", "log", "md5", "metrics", "ok", "out", "pac", "pdf",
    "pl", "png", "py", "r", "r1", "r2", "rds", "sa", "sai", "sam", "sh", "sorted", "so", "sra",
    "svg", "tar", "tbi", "tmp", "toml", "tsv", "txt", "vcf", "xml", "yaml", "yml", "zip", "zst",
    "amb", "ann", "bwt",
    // usual directories
    "bin", "cache", "data", "dev", "etc", "home", "lib", "lib64", "libexec", "mnt", "opt", "proc",
    "ref", "reads", "results", "sbin", "scratch", "share", "src", "sys", "tmpdir", "usr", "var",
    "work", "map", "qc", "run", "runs",
    // markers of workflow engines
    "command", "exitcode", "begin", "trace", "nextflow", "snakemake", "metadata", "incomplete",
    "locks", "trinity", "read", "partitions", "fb", "cbin", "snakefile", "history",
    // shells and options in scripts
    "set", "euo", "pipefail", "cd", "rm", "mv", "cp", "ln", "cat", "echo", "mkdir", "bash",
    "python", "python3", "perl", "java", "mem", "sort", "view", "call", "mpileup",
];

/// Hashes names under one salt.
#[derive(Debug)]
pub(crate) struct NameHasher {
    salt: Salt,
    programs: BTreeSet<Vec<u8>>,
}

impl NameHasher {
    /// Names under `salt`; `programs` (base names of program files in `bin` directories) are kept.
    pub(crate) fn new(salt: Salt, programs: BTreeSet<Vec<u8>>) -> Self {
        Self { salt, programs }
    }

    /// A name, path or pattern: what separates its words stays, `#` and `*` too.
    pub(crate) fn hash_path(&self, path: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(path.len());
        for component in path.split_inclusive(|&b| b == b'/') {
            let name = component.strip_suffix(b"/").unwrap_or(component);
            if self.programs.contains(name) {
                out.extend_from_slice(component);
            } else {
                self.hash_words(component, &mut out);
            }
        }
        out
    }

    /// A command line. Names of options and small numbers stay.
    pub(crate) fn hash_command<'a>(
        &self,
        words: impl IntoIterator<Item = &'a [u8]>,
    ) -> Vec<Vec<u8>> {
        let small = |word: &[u8]| word.len() <= 3 && word.iter().all(u8::is_ascii_digit);
        words
            .into_iter()
            .map(|word| {
                if small(word) {
                    return word.to_vec();
                }
                let option = word.first() == Some(&b'-');
                let kept = match word.iter().position(|&b| b == b'=') {
                    _ if !option => 0,
                    Some(equals) => equals + 1,
                    None => word.len(),
                };
                // A blank ends an option: what follows is a script in one word.
                let blank = word.iter().position(u8::is_ascii_whitespace).unwrap_or(word.len());
                let kept = kept.min(blank);
                let mut out = word[..kept].to_vec();
                if !small(&word[kept..]) {
                    out.extend(self.hash_path(&word[kept..]));
                } else {
                    out.extend_from_slice(&word[kept..]);
                }
                out
            })
            .collect()
    }

    fn hash_words(&self, text: &[u8], out: &mut Vec<u8>) {
        // Bytes above 127 belong to words: names are not only English.
        let in_word = |b: &u8| b.is_ascii_alphanumeric() || *b >= 0x80;
        let mut at = 0;
        while at < text.len() {
            let length = text[at..].iter().take_while(|b| in_word(b)).count();
            self.hash_word(&text[at..at + length], out);
            at += length;
            let between = text[at..].iter().take_while(|b| !in_word(b)).count();
            out.extend_from_slice(&text[at..at + between]);
            at += between;
        }
    }

    fn hash_word(&self, word: &[u8], out: &mut Vec<u8>) {
        let lower = word.to_ascii_lowercase();
        let known = std::str::from_utf8(&lower).is_ok_and(|w| KEPT.contains(&w));
        if word.is_empty() || known || self.programs.contains(word) {
            return out.extend_from_slice(word);
        }
        // Nine letters: no digits, so that a class of names keeps its `#`.
        let mut hash = siphash(&self.salt.0, word);
        for _ in 0..9 {
            out.push(b'a' + (hash % 26) as u8);
            hash /= 26;
        }
    }
}

#[cfg(test)]
mod tests {
    //! If these fail, an "anonymous" run names a patient.
    use super::*;

    fn names() -> NameHasher {
        NameHasher::new(
            Salt([7; 16]),
            BTreeSet::from([b"samtools".to_vec(), b"fastqc.sh".to_vec()]),
        )
    }

    fn path(text: &str) -> String {
        String::from_utf8(names().hash_path(text.as_bytes())).expect("ASCII in, ASCII out")
    }

    #[test]
    fn names_go_kinds_stay() {
        let hidden = path("/home/miller/out/Smith_12.sorted.bam");
        assert!(hidden.starts_with("/home/") && hidden.ends_with(".sorted.bam"), "{hidden}");
        for word in ["miller", "Smith", "12"] {
            assert!(!hidden.contains(word), "{hidden}");
        }
        assert_eq!(path("/usr/bin/samtools"), "/usr/bin/samtools");
        assert_eq!(path("/opt/bin/fastqc.sh"), "/opt/bin/fastqc.sh");
        assert_eq!(path("work/*/*/.command.sh"), "work/*/*/.command.sh");
        assert_eq!(path("#.bwa.sam"), "#.bwa.sam");
    }

    #[test]
    fn one_name_is_one_stranger_everywhere() {
        let in_path = path("data/Smith.bam");
        let stranger = in_path.trim_start_matches("data/").trim_end_matches(".bam");
        let words = [b"-o".as_slice(), b"--in=x/Smith_R1.fq", b"12", b"Smith", b"--n=8"];
        let words = names().hash_command(words);
        let text: Vec<_> = words.iter().map(|w| String::from_utf8_lossy(w)).collect();
        assert_eq!(text[0], "-o");
        assert!(text[1].starts_with("--in=") && text[1].ends_with(&format!("{stranger}_R1.fq")));
        assert_eq!((&*text[2], &*text[3], &*text[4]), ("12", stranger, "--n=8"));
    }

    #[test]
    fn a_script_in_one_word_is_no_option() {
        let words =
            names().hash_command([b"-x Smith".as_slice(), b"cd /data/Smith && samtools view"]);
        for word in &words {
            assert!(!String::from_utf8_lossy(word).contains("Smith"));
        }
        assert!(words[1].ends_with(b" && samtools view"));
    }

    #[test]
    fn another_salt_is_another_stranger_and_any_bytes_are_taken() {
        let other = NameHasher::new(Salt([8; 16]), BTreeSet::new());
        assert_ne!(other.hash_path(b"Smith"), names().hash_path(b"Smith"));
        assert!(!names().hash_path("M\u{fc}ller\u{ff}".as_bytes()).contains(&0xc3));
        names().hash_path(b"\xff/\xfe-\xfd");
    }
}
