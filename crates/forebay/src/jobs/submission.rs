//! In the place of `sbatch` and `srun`: has the job begin with its record, and becomes Slurm's own
//! program. Whatever can't be done, that is started as if nobody had been here.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{Read, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use super::folder::{JobFolder, STAND_INS};
use super::options::find_places;
use super::script::JobWords;

/// Names the folder of the run in the environment of its command.
pub(super) const FOLDER_VARIABLE: &str = "FOREBAY_JOBS";

/// The program of Slurm's in whose place this one was started.
pub(crate) fn find_stand_in(called: &OsStr) -> Option<&'static str> {
    let name = Path::new(called).file_name()?;
    STAND_INS.into_iter().find(|known| name == *known)
}

/// Which program sent the job of this token.
pub(super) fn program_of_token(token: &str) -> Option<&'static str> {
    let name = token.split('-').next()?;
    let plain = token.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    STAND_INS.into_iter().find(|known| plain && name == *known)
}

/// Sends a job; comes back only if Slurm's program can't be started, with the exit code.
pub(crate) fn submit_job(program: &'static str, words: Vec<OsString>) -> i32 {
    let Some(real) = find_real(program) else {
        console_line(&format!("{program}: command not found"));
        return 127;
    };
    let (words, input) = recorded_words(program, &words).unwrap_or((words, None));
    let mut command = Command::new(&real);
    command.arg0(program).args(words);
    if let Some(input) = input {
        command.stdin(input);
    }
    let error = command.exec();
    console_line(&format!("{}: {error}", real.display()));
    126
}

fn console_line(text: &str) {
    crate::console::write_stderr(&format!("{text}\n"));
}

/// The next program of this name on the path that is not Forebay.
fn find_real(program: &str) -> Option<PathBuf> {
    let own = std::env::current_exe().ok();
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|candidate| {
        let real = candidate.canonicalize().ok();
        real.is_some() && real != own && candidate.is_file()
    })
}

type RecordedWords = (Vec<OsString>, Option<Stdio>);

/// The words with a job that is recorded, and its script if that came through standard input.
fn recorded_words(program: &'static str, words: &[OsString]) -> Option<RecordedWords> {
    let folder = JobFolder::of_job(&PathBuf::from(std::env::var_os(FOLDER_VARIABLE)?));
    let forebay = std::env::current_exe().ok()?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_nanos();
    let token = format!("{program}-{now:x}-{}", std::process::id());
    let job =
        JobWords { forebay: forebay.to_str()?, folder: folder.path().to_str()?, token: &token };
    let texts: Vec<&str> = words.iter().map(|word| word.to_str()).collect::<Option<_>>()?;
    let places = find_places(program, &texts)?;
    let mut made = words.to_vec();
    if program == "srun" {
        let first = places.first?;
        // Parts of a job that are of several kinds.
        if texts.contains(&":") {
            return None;
        }
        made.splice(first..first, job.before_program().into_iter().map(OsString::from));
        return Some((made, None));
    }
    if let Some((word, from)) = places.wrap {
        let text = texts.get(word)?;
        made[word] = format!("{}{}", &text[..from], job.wrapped(&text[from..])).into();
        return Some((made, None));
    }
    let Some(first) = places.first else {
        // First the file: what was read from standard input is nowhere else.
        let flags = rustix::fs::MemfdFlags::empty();
        let mut file: fs::File = rustix::fs::memfd_create("script", flags).ok()?.into();
        let mut script = Vec::new();
        std::io::stdin().lock().read_to_end(&mut script).ok()?;
        let text = job.script(&script).unwrap_or(script);
        file.write_all(&text).and_then(|()| file.rewind()).ok()?;
        return Some((made, Some(file.into())));
    };
    let script = job.script(&fs::read(&words[first]).ok()?)?;
    // Slurm names a job by its script.
    let name = Path::new(&words[first]).file_name()?;
    let place = folder.script_folder(&token);
    fs::create_dir(&place).ok()?;
    let path = place.join(OsStr::from_bytes(name.as_bytes()));
    fs::write(&path, script).ok()?;
    made[first] = path.into_os_string();
    Some((made, None))
}

#[cfg(test)]
mod tests {
    //! If these fail, the stand-in is taken for something else, or something else for it.
    use super::*;

    #[test]
    fn only_names_of_slurms_programs_are_stood_in_for() {
        assert_eq!(find_stand_in(OsStr::new("/x/bin/sbatch")), Some("sbatch"));
        assert_eq!(find_stand_in(OsStr::new("srun")), Some("srun"));
        assert_eq!(find_stand_in(OsStr::new("/usr/bin/forebay")), None);
        assert_eq!(program_of_token("sbatch-18a-7"), Some("sbatch"));
        assert_eq!(program_of_token("srun-18a-7"), Some("srun"));
        for token in ["", "x-1", "sbatch/../x-1", "forebay"] {
            assert_eq!(program_of_token(token), None, "{token}");
        }
    }
}
