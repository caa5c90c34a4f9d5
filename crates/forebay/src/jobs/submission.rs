//! In the place of `sbatch` and `srun`: has the job begin with its record, and becomes Slurm's own
//! program. Whatever can't be done, that is started as if nobody had been here.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use super::folder::JobFolder;
use super::options::find_places;
use super::script::JobWords;
use super::token::FOLDER_VARIABLE;

/// Sends a job; comes back only if Slurm's program can't be started, with the exit code.
pub(crate) fn submit_job(program: &'static str, words: &[OsString]) -> i32 {
    let Some(real) = find_real(program) else {
        console_line(&format!("{program}: command not found"));
        return 127;
    };
    let mut error = None;
    if let Some(recorded) = recorded_words(program, words) {
        error = Some(Command::new(&real).arg0(program).args(recorded).exec());
    }
    // Also where only the words that Forebay adds were too many for the system.
    if error.as_ref().is_none_or(|error| error.raw_os_error() == Some(libc::E2BIG)) {
        error = Some(Command::new(&real).arg0(program).args(words).exec());
    }
    let why = error.map(|error| error.to_string()).unwrap_or_default();
    console_line(&format!("{}: {why}", real.display()));
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

/// The words with which a job is recorded; `None`: it is to be sent as it is.
fn recorded_words(program: &'static str, words: &[OsString]) -> Option<Vec<OsString>> {
    let folder = JobFolder::of_job(&PathBuf::from(std::env::var_os(FOLDER_VARIABLE)?));
    let forebay = std::env::current_exe().ok()?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_nanos();
    let token = format!("{program}-{now:x}-{}", std::process::id());
    let job =
        JobWords { forebay: forebay.to_str()?, folder: folder.path().to_str()?, token: &token };
    // Names of options are text, whatever their values are.
    let texts: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
    let places = find_places(program, &texts)?;
    let mut made = words.to_vec();
    if program == "srun" {
        let first = places.first?;
        // Parts of a job that are of several kinds.
        if texts.contains(&":") {
            return None;
        }
        made.splice(first..first, job.before_program().into_iter().map(OsString::from));
        return Some(made);
    }
    if let Some((word, from)) = places.wrap {
        let text = words.get(word)?.to_str()?;
        made[word] = format!("{}{}", &text[..from], job.wrapped(&text[from..])).into();
        return Some(made);
    }
    let Some(first) = places.first else {
        record_stream(0, &job)?;
        return Some(made);
    };
    if let Some(stream) = descriptor_of_path(&words[first]) {
        record_stream(stream, &job)?;
        return Some(made);
    }
    // What is read from a pipe is not there again.
    if !fs::metadata(&words[first]).ok()?.is_file() {
        return None;
    }
    let script = job.script(&fs::read(&words[first]).ok()?)?;
    // Slurm names a job by its script.
    let name = Path::new(&words[first]).file_name()?;
    let place = folder.script_folder(&token);
    fs::create_dir(&place).ok()?;
    let path = place.join(name);
    fs::write(&path, script).ok()?;
    made[first] = path.into_os_string();
    Some(made)
}

/// The number of an open file that is named as a path, as `/dev/stdin` and `<(...)` of a shell are.
fn descriptor_of_path(path: &OsStr) -> Option<i32> {
    let path = path.to_str()?;
    if path == "/dev/stdin" {
        return Some(0);
    }
    ["/dev/fd/", "/proc/self/fd/"].iter().find_map(|start| path.strip_prefix(start)?.parse().ok())
}

/// Puts the script that comes from an open file into its place, with the job's record; all of what
/// was read, whatever it is.
fn record_stream(descriptor: i32, job: &JobWords<'_>) -> Option<()> {
    // First the file: what was read from a pipe is nowhere else.
    let mut file: fs::File =
        rustix::fs::memfd_create("script", rustix::fs::MemfdFlags::empty()).ok()?.into();
    let mut script = Vec::new();
    fs::File::open(format!("/proc/self/fd/{descriptor}")).ok()?.read_to_end(&mut script).ok()?;
    let text = job.script(&script).unwrap_or(script);
    file.write_all(&text).and_then(|()| file.rewind()).ok()?;
    // SAFETY: two numbers; the file behind the second is not used any more.
    (unsafe { libc::dup2(file.as_raw_fd(), descriptor) } == descriptor).then_some(())
}

#[cfg(test)]
mod tests {
    //! If these fail, a script is read twice from where it is only once.
    use super::*;

    #[test]
    fn scripts_that_are_no_files_of_their_own_are_known() {
        for (path, number) in
            [("/dev/stdin", Some(0)), ("/dev/fd/63", Some(63)), ("/proc/self/fd/7", Some(7))]
        {
            assert_eq!(descriptor_of_path(OsStr::new(path)), number);
        }
        for path in ["job.sh", "/dev/fd/x", "dev/fd/6"] {
            assert_eq!(descriptor_of_path(OsStr::new(path)), None);
        }
    }
}
