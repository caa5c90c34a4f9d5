//! A job script that begins with its own record. Pure.

/// Shells that understand what is put into their scripts.
const SHELLS: [&str; 6] = ["sh", "bash", "dash", "ksh", "zsh", "ash"];

/// What a job is told.
#[derive(Debug, Clone, Copy)]
pub(super) struct JobWords<'a> {
    /// Forebay's binary, by a path that nodes have.
    pub(super) forebay: &'a str,
    /// The folder of the run.
    pub(super) folder: &'a str,
    /// What the job was sent as.
    pub(super) token: &'a str,
}

impl JobWords<'_> {
    /// `forebay run` for the job, before its command; for a shell.
    fn recorder(&self) -> String {
        let [forebay, folder, token] = [self.forebay, self.folder, self.token].map(quoted);
        format!("{forebay} run --job-of {folder} --job {token} --")
    }

    /// What has the script run once more, below a recorder; it stands before the script's first
    /// command, in the same line, so that all lines keep their numbers. Nothing happens where Forebay
    /// is not there.
    fn beginning(&self, interpreter: &str) -> String {
        let own = "\"${SLURM_JOB_ID-}.${SLURM_RESTART_COUNT-0}\"";
        format!(
            "if [ \"${{FOREBAY_IN_JOB-}}\" != {own} ] && [ -x {} ]; then FOREBAY_IN_JOB={own}; \
             export FOREBAY_IN_JOB; exec {} {interpreter} \"$0\" \"$@\"; fi; ",
            quoted(self.forebay),
            self.recorder(),
        )
    }

    /// A command of `--wrap`, which Slurm gives to a shell.
    pub(super) fn wrapped(&self, command: &str) -> String {
        self.beginning("/bin/sh") + command
    }

    /// A script; `None`: it is for no shell, or there is nothing to do in it.
    pub(super) fn script(&self, script: &[u8]) -> Option<Vec<u8>> {
        let first = script.split(|byte| *byte == b'\n').next()?;
        let interpreter = shell_of(std::str::from_utf8(first).ok()?)?;
        // It asks Slurm which file it was sent from, and would find itself elsewhere.
        if contains(script, b"scontrol") && contains(script, b"Command") {
            return None;
        }
        // Slurm reads options up to the first line that is no comment.
        let mut at = 0;
        for line in script.split_inclusive(|byte| *byte == b'\n') {
            let text = line.trim_ascii();
            if !text.is_empty() && !text.starts_with(b"#") {
                break;
            }
            at += line.len();
        }
        if at >= script.len() {
            return None;
        }
        Some([&script[..at], self.beginning(&interpreter).as_bytes(), &script[at..]].concat())
    }

    /// Words that run a program below a recorder where Forebay is there, and as it is elsewhere.
    pub(super) fn before_program(&self) -> Vec<String> {
        let forebay = quoted(self.forebay);
        let run = self.recorder();
        let text = format!("[ -x {forebay} ] || exec \"$@\"; exec {run} \"$@\"");
        ["/bin/sh", "-c", &text, "sh"].map(str::to_owned).to_vec()
    }
}

fn contains(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|part| part == word)
}

/// The words of a shell in a script's first line, for a shell.
fn shell_of(first: &str) -> Option<String> {
    let words: Vec<&str> = first.strip_prefix("#!")?.split_whitespace().collect();
    let name = |word: &str| word.rsplit('/').next().unwrap_or_default().to_owned();
    let shell = match words.as_slice() {
        [env, shell, ..] if name(env) == "env" => shell,
        [shell, ..] => shell,
        [] => return None,
    };
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    SHELLS.contains(&&*name(shell)).then(|| words.join(" "))
}

/// A word that a shell takes as it is.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    //! If these fail, a job does something else than its script says.
    use super::*;
    use std::io::Write;
    use std::process::Command;

    fn words() -> JobWords<'static> {
        JobWords {
            forebay: "/opt/it's here/forebay",
            folder: "/shared/jobs/a b",
            token: "sbatch-1",
        }
    }

    #[test]
    fn it_stands_behind_all_that_slurm_reads_and_lines_keep_their_numbers() {
        let script =
            b"#!/bin/bash -ue\n#SBATCH -n 4\n\n# words\n#SBATCH -J x\nset -e\n#SBATCH no\n";
        let made = String::from_utf8(words().script(script).expect("a shell's")).expect("text");
        let lines: Vec<&str> = made.lines().collect();
        let kept = ["#!/bin/bash -ue", "#SBATCH -n 4", "", "# words", "#SBATCH -J x"];
        assert_eq!(lines[..5], kept);
        assert!(lines[5].starts_with("if [ ") && lines[5].contains("'/bin/bash' '-ue' \"$0\""));
        assert!(lines[5].ends_with("; fi; set -e"), "{}", lines[5]);
        assert_eq!(lines[6..], ["#SBATCH no"]);
    }

    #[test]
    fn scripts_of_other_languages_and_of_nothing_stay() {
        for script in [
            "#!/usr/bin/env python3\nprint()\n",
            "#!/bin/csh\nls\n",
            "echo\n",
            "",
            "#!\nx",
            "#!/bin/sh\nscontrol show job $SLURM_JOB_ID | grep Command=\n",
        ] {
            assert_eq!(words().script(script.as_bytes()), None, "{script:?}");
        }
        assert_eq!(words().script(b"#!/bin/sh\n#SBATCH -n 1\n"), None);
        assert!(words().script(b"#!/usr/bin/env bash\nls\n").is_some());
    }

    #[test]
    fn a_job_runs_once_below_its_recorder_and_as_it_is_without() {
        let place = tempfile::tempdir().expect("a directory");
        let forebay = place.path().join("it's forebay");
        let folder = place.path().join("f").to_string_lossy().into_owned();
        let told = forebay.to_string_lossy().into_owned();
        let words = JobWords { forebay: &told, folder: &folder, token: "sbatch-9" };
        let script = place.path().join("job");
        let text = b"#!/bin/bash\n# x\necho \"ran $1 $FOREBAY_IN_JOB\"\nexit 3\n";
        std::fs::write(&script, words.script(text).expect("a shell's")).expect("written");
        let run = |command: &mut Command| {
            let out = command.env("SLURM_JOB_ID", "12").output().expect("started");
            (String::from_utf8_lossy(&out.stdout).into_owned(), out.status.code())
        };
        let bare = run(Command::new("bash").arg(&script).arg("a b"));
        assert_eq!(bare, ("ran a b \n".to_owned(), Some(3)));
        // It says what it was given, and runs what follows.
        let mut file = std::fs::File::create(&forebay).expect("made");
        file.write_all(b"#!/bin/bash\necho \"$1 $2 $3 $4 $5 $6\"\nshift 6\nexec \"$@\"\n")
            .expect("w");
        drop(file);
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&forebay, std::fs::Permissions::from_mode(0o755)).expect("set");
        let below = run(Command::new("bash").arg(&script).arg("a b"));
        let first = format!("run --job-of {folder} --job sbatch-9 --\n");
        assert_eq!(below, (format!("{first}ran a b 12.0\n"), Some(3)));
        let mut step = Command::new("/bin/sh");
        step.args(&words.before_program()[1..]).args(["printf", "<%s>", "a b", "c"]);
        assert_eq!(run(&mut step), (format!("{first}<a b><c>"), Some(0)));
        let wrapped = run(Command::new("sh").arg("-c").arg(words.wrapped("echo wrapped")));
        assert!(wrapped.0.starts_with(&first), "{wrapped:?}");
        std::fs::remove_file(&forebay).expect("removed");
        assert_eq!(run(&mut step), ("<a b><c>".to_owned(), Some(0)));
    }
}
