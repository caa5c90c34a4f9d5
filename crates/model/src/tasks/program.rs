//! The name of a program from its command line, and which programs only start others.

use crate::run_rows::ProcessRow;

/// Programs that start others and do little themselves.
#[rustfmt::skip]
const DRIVERS: &[&str] = &[
    // shells
    "sh", "bash", "dash", "zsh", "ksh", "fish", "csh", "tcsh", "busybox",
    // build tools and lists of commands
    "make", "gmake", "ninja", "just", "xargs", "parallel", "ParaFly", "mpirun", "mpiexec",
    // wrappers
    "env", "time", "nice", "timeout", "sudo", "doas", "su", "stdbuf", "setsid", "nohup", "ionice",
    "taskset", "numactl", "chrt", "strace", "unshare", "setpriv", "tini", "catchsegv", "script",
    "conda", "mamba", "micromamba", "singularity", "apptainer", "starter", "jspawnhelper",
    "forebay run", "forebay mount", "forebay unmount", "forebay bench",
    // workflow engines, and the solver that one asks what to start next
    "cbc", "snakemake", "nextflow", "nextflow.cli.Launcher", "Trinity", "cwltool", "toil", "toil-cwl-runner",
    "toil-wdl-runner", "_toil_worker", "miniwdl",
    // by which engines ask a cluster's queue how their jobs are
    "squeue", "sacct", "sinfo", "scontrol", "scancel", "qstat", "qacct", "bjobs", "condor_q",
];

const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "fish", "csh", "tcsh"];

/// Programs with many trades: the first word after them says which.
#[rustfmt::skip]
const TRADES: &[&str] = &[
    "bwa", "bwa-mem2", "samtools", "bcftools", "bedtools", "seqkit", "salmon", "kallisto", "gatk",
    "git", "minimap2", "sambamba", "freebayes", "vcftools", "rtg", "picard",
    // What it replays is work, what it serves is not.
    "forebay",
];

/// An interpreter: which of its options take the next word, and which hold a program.
struct Interpreter {
    name: &'static str,
    /// Options whose value is the next word.
    valued: &'static [&'static str],
    /// Options that hold the program text: there is no script.
    inline: &'static [&'static str],
    /// Options whose value is the program's name.
    named: &'static [&'static str],
}

#[rustfmt::skip]
const INTERPRETERS: &[Interpreter] = &[
    Interpreter { name: "python", valued: &["-W", "-X"], inline: &["-c"], named: &["-m"] },
    Interpreter { name: "pypy", valued: &["-W", "-X"], inline: &["-c"], named: &["-m"] },
    Interpreter { name: "perl", valued: &["-I", "-M"], inline: &["-e", "-E"], named: &[] },
    Interpreter { name: "ruby", valued: &["-I", "-r"], inline: &["-e"], named: &[] },
    Interpreter { name: "node", valued: &["-r"], inline: &["-e", "-p"], named: &[] },
    Interpreter { name: "Rscript", valued: &[], inline: &["-e"], named: &[] },
    Interpreter { name: "R", valued: &["-f", "--args"], inline: &["-e"], named: &[] },
    Interpreter {
        name: "java",
        valued: &["-cp", "-classpath", "--class-path", "--add-opens", "--add-exports",
            "--add-modules", "--module-path", "-p"],
        inline: &[], named: &["-jar", "-m", "--module"],
    },
];

/// The last part of a path.
pub(crate) fn base_name(path: &[u8]) -> &[u8] {
    let path = path.strip_suffix(b"/").unwrap_or(path);
    path.rsplit(|&b| b == b'/').next().unwrap_or(path)
}

fn lossy_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The bare program: `/usr/bin/python3.11` is `python`, `-bash` is `bash`.
pub(crate) fn program_name(process: &ProcessRow) -> String {
    let first = process.argv.first().map(Vec::as_slice).unwrap_or_default();
    // Some programs write a title over their words: `nginx: worker`.
    let titled = first.is_empty() || first.iter().any(|b| b.is_ascii_whitespace() || *b == b':');
    let path = match &process.exe {
        Some(exe) if titled => exe.strip_suffix(b" (deleted)").unwrap_or(exe),
        _ => first,
    };
    let name = base_name(path);
    let name = name.strip_prefix(b"-").unwrap_or(name);
    if name.is_empty() {
        return "unknown".into();
    }
    let name = lossy_text(name);
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if INTERPRETERS.iter().any(|i| i.name == bare) { bare.to_owned() } else { name }
}

/// What a process is called: its script or module under an interpreter, program and trade for
/// tools with several, else the program.
pub(crate) fn process_name(process: &ProcessRow) -> String {
    let program = program_name(process);
    let words = process.argv.get(1..).unwrap_or_default();
    if is_shell(&program) {
        return shell_script(words).map_or(program, |script| lossy_text(base_name(script)));
    }
    if let Some(interpreter) = INTERPRETERS.iter().find(|i| i.name == program) {
        return interpreter_script(interpreter, words).unwrap_or(program);
    }
    let trade = words.first().filter(|word| {
        TRADES.contains(&program.as_str())
            && word.len() < 24
            && word.first().is_some_and(u8::is_ascii_alphabetic)
            && word.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_' || *b == b'-')
    });
    trade.map_or_else(|| program.clone(), |trade| format!("{program} {}", lossy_text(trade)))
}

/// Does it only start others?
pub(crate) fn is_driver(process: &ProcessRow) -> bool {
    DRIVERS.contains(&program_name(process).as_str())
        || DRIVERS.contains(&process_name(process).as_str())
}

/// Is this the name of a shell?
pub(crate) fn is_shell(program: &str) -> bool {
    SHELLS.contains(&program)
}

/// The command of `sh -c COMMAND`.
pub(crate) fn shell_command(process: &ProcessRow) -> Option<&[u8]> {
    if !is_shell(&program_name(process)) {
        return None;
    }
    let words = process.argv.get(1..)?;
    let at = words.iter().position(|w| is_inline_shell_option(w))?;
    words.get(at + 1).map(Vec::as_slice)
}

/// `-c`, `-ec`, `-uec`: short options with a `c` among them.
fn is_inline_shell_option(word: &[u8]) -> bool {
    word.len() > 1
        && word[0] == b'-'
        && word[1..].iter().all(u8::is_ascii_alphabetic)
        && word.contains(&b'c')
}

fn shell_script(words: &[Vec<u8>]) -> Option<&[u8]> {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_slice() {
            w if is_inline_shell_option(w) => return None,
            b"-o" | b"-O" | b"+o" | b"+O" => drop(words.next()),
            [b'-' | b'+', ..] => {}
            script => return Some(script),
        }
    }
    None
}

fn interpreter_script(interpreter: &Interpreter, words: &[Vec<u8>]) -> Option<String> {
    let is = |list: &[&str], word: &[u8]| list.iter().any(|option| option.as_bytes() == word);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if is(interpreter.named, word) {
            return words.next().map(|name| lossy_text(base_name(name)));
        }
        if is(interpreter.inline, word) {
            return None;
        }
        if let Some(file) = word.strip_prefix(b"--file=") {
            return Some(lossy_text(base_name(file)));
        }
        if is(interpreter.valued, word) {
            words.next();
        } else if word.first() != Some(&b'-') {
            return Some(lossy_text(base_name(word)));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    //! If these fail, the table at the end of a run is full of `bash` and `python`.
    use super::*;
    use crate::tasks::tests::process;

    #[test]
    fn names() {
        for (line, expected) in [
            ("/usr/bin/bwa mem -t 4 ref.fa", "bwa mem"),
            ("samtools --version", "samtools"),
            ("sort -k1,1 file", "sort"),
            ("python3.11 -W ignore /x/call.py --a b", "call.py"),
            ("python -u -m multiqc .", "multiqc"),
            ("python -c print(1)", "python"),
            ("/usr/bin/perl -w -I lib /opt/bin/Trinity --seqType fq", "Trinity"),
            ("bash -ue -o pipefail run.sh x", "run.sh"),
            ("bash -ec x;y", "bash"),
            ("sh", "sh"),
            ("-bash", "bash"),
            (
                "java -Xmx4g -cp a:b --add-opens x=y nextflow.cli.Launcher run m.nf",
                "nextflow.cli.Launcher",
            ),
            ("java -jar /opt/picard.jar MarkDuplicates", "picard.jar"),
            ("/usr/lib/R/bin/exec/R --no-echo --no-restore --file=plot.R", "plot.R"),
            ("", "unknown"),
        ] {
            assert_eq!(process_name(&process(1, None, line)), expected, "{line}");
        }
    }

    #[test]
    fn a_title_gives_way_to_the_program_file() {
        let mut p = process(1, None, "");
        p.argv = vec![b"nginx: worker process".to_vec()];
        p.exe = Some(b"/usr/sbin/nginx".to_vec());
        assert_eq!(process_name(&p), "nginx");
    }

    #[test]
    fn drivers_start_others() {
        for line in [
            "sh -c x",
            "time x",
            "python /v/bin/snakemake -c 2",
            "perl /x/Trinity --x y",
            "/usr/bin/squeue --noheader -o %i -u root",
        ] {
            assert!(is_driver(&process(1, None, line)), "{line}");
        }
        for line in ["bwa mem", "python call.py", "perl sort.pl"] {
            assert!(!is_driver(&process(1, None, line)), "{line}");
        }
    }
}
