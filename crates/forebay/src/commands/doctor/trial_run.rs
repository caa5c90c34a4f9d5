//! The proof: a run of `true`, by the door that users take.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::finding::Finding;
use super::machine_facts::MachineFacts;

/// How long a run of next to nothing may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// From here on a start is worth a word.
const SLOW: Duration = Duration::from_secs(1);

pub(super) fn run_check(here: &MachineFacts) -> Finding {
    match &here.scratch {
        Ok(scratch) => finding_for(&run_in_fresh_directory(scratch, "true", &["true"])),
        Err(why) => Finding::missing(format!("nothing could be tried: {why}"))
            .fix_by_user("set TMPDIR to a directory that you may write"),
    }
}

/// Runs a command under Forebay in a fresh directory; the run file is `scratch`/`name`.run.
pub(super) fn run_in_fresh_directory(
    scratch: &Path,
    name: &str,
    command: &[&str],
) -> Result<Duration, String> {
    let directory = scratch.join(name);
    std::fs::create_dir(&directory).map_err(|error| error.to_string())?;
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let start = Instant::now();
    let mut run = Command::new(program)
        .args(["run", "--quiet", "--output"])
        .arg(scratch.join(format!("{name}.run")))
        .arg("--")
        .args(command)
        .current_dir(&directory)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let status = loop {
        match run.try_wait().map_err(|error| error.to_string())? {
            Some(status) => break status,
            None if start.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(1)),
            None => {
                let _ = run.kill();
                let _ = run.wait();
                return Err(format!("it did not end within {} s", PATIENCE.as_secs()));
            }
        }
    };
    let took = start.elapsed();
    if status.success() {
        return Ok(took);
    }
    let mut said = String::new();
    if let Some(mut stderr) = run.stderr.take() {
        let _ = std::io::Read::read_to_string(&mut stderr, &mut said);
    }
    let line = said.lines().next().unwrap_or_default();
    match line.strip_prefix("forebay: ").unwrap_or(line) {
        "" => Err(status.to_string()),
        line => Err(line.to_owned()),
    }
}

fn finding_for(tried: &Result<Duration, String>) -> Finding {
    match tried {
        Ok(took) if *took > SLOW => {
            let took = took.as_secs_f64();
            Finding::limited(format!("`forebay run -- true` works, but took {took:.1} s"))
                .fix_by_user("ask again when the machine is less busy")
        }
        Ok(took) => Finding::ok(format!("`forebay run -- true` took {} ms", took.as_millis())),
        Err(why) => Finding::missing(format!("`forebay run -- true` failed: {why}"))
            .fix_by_user("mend what is missing above; if nothing is, please report this line"),
    }
}

#[cfg(test)]
mod tests {
    //! The exit code of the doctor hangs on this answer.
    use super::super::finding::CheckStatus;
    use super::*;

    #[test]
    fn fast_slow_and_failed() {
        let fast = finding_for(&Ok(Duration::from_millis(84)));
        assert_eq!(
            (fast.standing, fast.means.as_str()),
            (CheckStatus::Ok, "`forebay run -- true` took 84 ms")
        );
        assert_eq!(finding_for(&Ok(Duration::from_millis(2500))).standing, CheckStatus::Limited);
        assert_eq!(
            finding_for(&Err("opening /dev/fuse failed".into())).standing,
            CheckStatus::Missing
        );
    }
}
