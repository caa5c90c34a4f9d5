//! Files that are written as a whole or not at all.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::console;
use crate::exit::CommandError;
use crate::output::{Force, OutputKind, OutputTarget};

/// A file that has its name when it is whole.
pub(super) struct AtomicOutput {
    place: OutputTarget,
    /// What is written: of a device or a pipe itself.
    pub(super) part: PathBuf,
    file: File,
}

/// A file that tells how far it is.
pub(super) struct CountingFile<'a, P> {
    file: &'a mut File,
    bytes: u64,
    progress: P,
}

impl<P: FnMut(u64)> Write for CountingFile<'_, P> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let got = self.file.write(bytes)?;
        self.bytes += got as u64;
        (self.progress)(self.bytes);
        Ok(got)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

impl AtomicOutput {
    pub(super) fn create(path: &Path, force: Force) -> Result<AtomicOutput, CommandError> {
        let place = OutputTarget::claim(path, OutputKind::Other, force)?;
        let (part, file) = match &place {
            OutputTarget::Stream(path) => {
                (path.clone(), OpenOptions::new().append(true).open(path))
            }
            OutputTarget::File(path) => {
                let mut part = OsString::from(path);
                part.push(".part");
                let part = PathBuf::from(part);
                let file = File::create(&part);
                (part, file)
            }
        };
        let file = file.map_err(|error| write_error(&part, &error))?;
        Ok(AtomicOutput { place, part, file })
    }

    pub(super) fn counting_writer(&mut self) -> CountingFile<'_, impl FnMut(u64)> {
        CountingFile {
            file: &mut self.file,
            bytes: 0,
            progress: super::progress_reporter("wrote", ""),
        }
    }

    pub(super) fn commit_file(self) -> Result<(), CommandError> {
        let OutputTarget::File(path) = &self.place else { return Ok(()) };
        // samtools may have put another file there.
        let synced = File::open(&self.part).and_then(|file| file.sync_all());
        synced
            .and_then(|()| fs::rename(&self.part, path))
            .map_err(|error| write_error(path, &error))
    }
}

impl Drop for AtomicOutput {
    fn drop(&mut self) {
        if let OutputTarget::File(_) = self.place {
            // Gone where it has its name; in part it is of no use.
            let _ = fs::remove_file(&self.part);
        }
    }
}

pub(super) fn write_error(path: &Path, error: &std::io::Error) -> CommandError {
    console::clear_passing_line();
    let message = format!("{}: {error}", path.display());
    CommandError::new(1, message, "nothing in part is left; see that there is room, and ask again")
}
