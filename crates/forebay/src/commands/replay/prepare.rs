//! A directory for a replay, and what must be in it before.

use std::os::fd::OwnedFd;
use std::path::Path;

use forebay_plan::replay::ReplayScript;
use rustix::fs::{self, Mode, OFlags};
use rustix::io::Errno;

use super::step_execution::StepExecutor;
use crate::exit::{CommandError, NOTHING_RUN};

/// Says of a directory that it was prepared, and for which run.
const MARK: &str = ".forebay-replay";

fn directory_error(directory: &Path, why: impl std::fmt::Display, next: &str) -> CommandError {
    CommandError::new(NOTHING_RUN, format!("{}: {why}", directory.display()), next)
}

/// Opens the directory, in which nothing may be that a replay could write over.
pub(super) fn open_empty_directory(
    path: &Path,
    prepared: bool,
    run: &Path,
) -> Result<OwnedFd, CommandError> {
    let next = "name a directory with nothing in it by -C; nothing was done";
    let failed = |error: std::io::Error| directory_error(path, error, next);
    if prepared {
        let next = "`forebay replay --prepare` with the same run and directory goes before";
        let mark = path.join(MARK);
        let of = std::fs::read(&mark).map_err(|error| directory_error(path, error, next))?;
        if of != mark_content(run) {
            return Err(directory_error(path, "it was prepared for another run, or is used", next));
        }
        std::fs::remove_file(&mark).map_err(failed)?;
    } else {
        for entry in std::fs::read_dir(path).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            // The folder of `forebay run`, which may record the replay.
            if name != ".forebay" && path.join(&name).canonicalize().ok() != run.canonicalize().ok()
            {
                let why = format!("{name:?} is in it, and a replay could write over it");
                return Err(directory_error(path, why, next));
            }
        }
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    fs::open(path, flags, Mode::empty()).map_err(|error| directory_error(path, error, next))
}

/// Makes directories and inputs, and waits until storage has them.
pub(super) fn prepare_inputs(
    doer: &StepExecutor,
    script: &ReplayScript,
    path: &Path,
) -> Result<(), CommandError> {
    let next = "name another directory by -C; what was made is there";
    let there = fs::fstatvfs(&doer.root).map_err(|error| directory_error(path, error, next))?;
    let (free, need) = (there.f_bavail.saturating_mul(there.f_frsize), script.room);
    if free < need.get() {
        let free = forebay_model::ByteCount(free);
        let why = format!("the replay takes up to {need}, and {free} are free there");
        return Err(directory_error(
            path,
            why,
            "name a directory with more room by -C; nothing was done",
        ));
    }
    let failed = |path: &[u8], error: Errno| {
        CommandError::new(1, format!("{}: {error}", String::from_utf8_lossy(path)), next)
    };
    for folder in &script.directories {
        doer.create_directory(folder).map_err(|error| failed(folder, error))?;
    }
    for (input, bytes) in &script.inputs {
        doer.create_input(input, bytes.get()).map_err(|error| failed(input, error))?;
    }
    doer.reset_counters();
    fs::syncfs(&doer.root).map_err(|error| directory_error(path, error, next))
}

/// Says that it is prepared.
pub(super) fn write_mark(doer: &StepExecutor, run: &Path) -> Result<(), CommandError> {
    let write = || {
        let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::EXCL | OFlags::CLOEXEC;
        let file = fs::openat(&doer.root, MARK, flags, Mode::from(0o600))?;
        rustix::io::write(&file, &mark_content(run)).map(drop)
    };
    write()
        .map_err(|error| CommandError::new(1, format!("{MARK}: {error}"), "is the storage full?"))
}

/// What is written there: which run it was.
fn mark_content(run: &Path) -> Vec<u8> {
    let run = run.canonicalize().unwrap_or_else(|_| run.to_owned());
    run.into_os_string().into_encoded_bytes()
}
