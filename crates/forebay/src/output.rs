//! Where results go that are named with `-o`: one policy for all commands.
//!
//! A file that is there is replaced where nothing of anybody's is lost: it is empty, or Forebay
//! wrote its like and nobody has changed it since. All else takes `--force`. Of a symbolic link the
//! target is written and the link stays; devices and pipes are written to as they are.

mod seal;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use forebay_model::{Run, RunWriter};
use forebay_os::real_path::resolve_path;
use rustix::fs::{Access, access};

use crate::exit::CommandError;
pub(crate) use seal::{UNSEALED, seal_text};

/// How a file of figures for Prometheus begins.
pub(crate) const METRICS_BEGIN: &str = "# HELP forebay_";

/// Links that lead to links; the kernel follows as many.
const LINKS_MAX: usize = 40;

/// What a command writes: its like may be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputKind {
    /// A run file: nobody edits one.
    Run,
    /// A text with a seal, which breaks when somebody edits it.
    Text,
    /// Figures for Prometheus: each time the latest take the place of those before.
    Metrics,
    /// What can't be told from what others write.
    Other,
}

/// The option that replaces what is there.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct Force {
    /// Replace what is there also where Forebay did not write it, or somebody changed it since
    #[arg(long)]
    force: bool,
}

/// A place that may be written.
#[derive(Debug)]
pub(crate) enum OutputTarget {
    /// A file, or the name for one; no link.
    File(PathBuf),
    /// A device, a pipe, or a descriptor such as `/dev/stdout`.
    Stream(PathBuf),
}

impl OutputTarget {
    /// Asks before anything is done: nobody should wait for hours for a result with nowhere to go.
    pub(crate) fn claim(
        path: &Path,
        made: OutputKind,
        force: Force,
    ) -> Result<OutputTarget, CommandError> {
        let elsewhere = "name another file";
        let refuse = |why: &str, next: &str| {
            Err(CommandError::new(1, format!("{}: {why}", path.display()), next.to_owned()))
        };
        let real = match resolve_place(path) {
            Ok(OutputTarget::File(real)) => real,
            Ok(stream) => return Ok(stream),
            Err(why) => return refuse(&why, elsewhere),
        };
        let found = match fs::metadata(&real) {
            Ok(found) if found.is_dir() => return refuse("it is a directory", elsewhere),
            Ok(found) if found.file_type().is_block_device() => {
                return refuse("it is a disk", elsewhere);
            }
            Ok(found) if !found.is_file() => return Ok(OutputTarget::Stream(real)),
            Ok(found) => Some(found),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return refuse(&error.to_string(), elsewhere),
        };
        let folder = parent_or_here(&real);
        if !folder.is_dir() || real.as_os_str().as_bytes().ends_with(b"/") {
            return refuse(
                "its directory is not there",
                "make the directory, or name another file",
            );
        }
        if let Err(error) = access(folder, Access::WRITE_OK) {
            let why = format!("nothing can be written to its directory: {error}");
            return refuse(&why, elsewhere);
        }
        let is_free = found.is_none_or(|found| found.len() == 0);
        if !is_free && !force.force && !made.is_own(&real) {
            return refuse(
                made.loss_warning(),
                "name another file, or replace this one with --force",
            );
        }
        let folder = match resolve_path(folder) {
            Ok(folder) => folder,
            Err(error) => return refuse(&error.to_string(), elsewhere),
        };
        Ok(OutputTarget::File(folder.join(real.file_name().unwrap_or_default())))
    }

    /// Refuses to take the place of what the result is made from.
    pub(crate) fn apart_from(self, inputs: &[PathBuf]) -> Result<OutputTarget, CommandError> {
        let same = |input: &PathBuf| {
            let real = input.canonicalize().ok();
            real.is_some() && real == self.path().canonicalize().ok()
        };
        match inputs.iter().find(|input| same(input)) {
            Some(input) => {
                let why =
                    format!("{} would take the place of what it is made from", input.display());
                Err(CommandError::new(1, why, "name another file"))
            }
            None => Ok(self),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        let (OutputTarget::File(path) | OutputTarget::Stream(path)) = self;
        path
    }

    /// Where a file is put together before it comes here.
    pub(crate) fn part_path(&self) -> PathBuf {
        let name = format!(".forebay.{}.part", std::process::id());
        match self {
            OutputTarget::File(path) => parent_or_here(path).join(name),
            OutputTarget::Stream(_) => std::env::temp_dir().join(name),
        }
    }

    /// Writes it: a file is whole, or as it was.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<(), CommandError> {
        let written = match self {
            OutputTarget::Stream(path) => append_to(path, |mut to| to.write_all(bytes)),
            OutputTarget::File(path) => {
                let part = self.part_path();
                let made = File::create_new(&part)
                    .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
                    .and_then(|()| fs::rename(&part, path));
                if made.is_err() {
                    // Of no use in part, if it is there.
                    let _ = fs::remove_file(&part);
                }
                made
            }
        };
        written.map_err(|error| {
            let message = format!("{} can't be written: {error}", self.path().display());
            CommandError::new(1, message, "see that there is room, or name another place")
        })
    }

    /// Writes a run whose record is in its workshop.
    pub(crate) fn commit_run(&self, writer: &RunWriter) -> forebay_model::Result<()> {
        let OutputTarget::Stream(stream) = self else { return writer.copy_to(self.path()) };
        let whole = self.part_path().with_extension("whole");
        writer.copy_to(&whole)?;
        let filled = self.copy_from(&whole);
        // It was made for this alone.
        let _ = fs::remove_file(&whole);
        filled.map_err(|error| {
            let why = format!("{} did not take the run", stream.display());
            forebay_model::Error::new(forebay_model::Kind::Io, why).with_source(error)
        })
    }

    /// Writes all of a file into it.
    pub(crate) fn copy_from(&self, from: &Path) -> io::Result<()> {
        let mut from = File::open(from)?;
        append_to(self.path(), |mut to| io::copy(&mut from, &mut to).map(|_| ()))
    }
}

/// Behind what is there, if it is a file that standard output was redirected to.
fn append_to(path: &Path, write: impl FnOnce(File) -> io::Result<()>) -> io::Result<()> {
    OpenOptions::new().append(true).open(path).and_then(write)
}

fn parent_or_here(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The place that a name leads to.
fn resolve_place(path: &Path) -> Result<OutputTarget, String> {
    let mut at = std::path::absolute(path).map_err(|error| error.to_string())?;
    for _ in 0..LINKS_MAX {
        // Their links name things that are not in any directory.
        if at.starts_with("/proc") || at.starts_with("/dev/fd") {
            return Ok(OutputTarget::Stream(at));
        }
        let Some(link) = fs::symlink_metadata(&at).ok().filter(fs::Metadata::is_symlink) else {
            return Ok(OutputTarget::File(at));
        };
        if is_foreign_link(&at, link.uid()) {
            return Err(format!("{} is a link of somebody else's", at.display()));
        }
        let to = fs::read_link(&at).map_err(|error| error.to_string())?;
        at = parent_or_here(&at).join(to);
    }
    Err("its links lead round in a circle".to_owned())
}

/// Whether a link is not to be followed: for root, another user's; for others, as the kernel has it,
/// one in a directory that all may write, such as /tmp, that is of neither us nor the directory's
/// owner.
fn is_foreign_link(link: &Path, owner: u32) -> bool {
    const STICKY_AND_OPEN: u32 = 0o1002;
    let me = rustix::process::geteuid().as_raw();
    if me == 0 && owner != 0 {
        return true;
    }
    let folder = fs::metadata(parent_or_here(link)).ok();
    folder.is_some_and(|folder| {
        folder.mode() & STICKY_AND_OPEN == STICKY_AND_OPEN && ![me, folder.uid()].contains(&owner)
    })
}

impl OutputKind {
    /// Whether Forebay wrote what is there, and nobody changed it.
    fn is_own(self, path: &Path) -> bool {
        match self {
            OutputKind::Run => Run::is_run_file(path),
            OutputKind::Text => fs::read(path).is_ok_and(|text| seal::is_sealed(&text)),
            OutputKind::Metrics => {
                fs::read(path).is_ok_and(|text| text.starts_with(METRICS_BEGIN.as_bytes()))
            }
            OutputKind::Other => false,
        }
    }

    fn loss_warning(self) -> &'static str {
        match self {
            OutputKind::Run => "what is there is no run file, and would be lost",
            OutputKind::Text => {
                "what is there was not written by Forebay, or was changed since, and would be lost"
            }
            OutputKind::Metrics => "what is there are no figures of Forebay's, and would be lost",
            OutputKind::Other => "it is there already",
        }
    }
}

#[cfg(test)]
mod tests;
