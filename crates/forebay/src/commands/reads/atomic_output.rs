//! Files that are written as a whole or not at all.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::console;
use crate::exit::Stop;
use crate::output::{Force, Made, Place};

/// A file that has its name when it is whole.
pub(super) struct Whole {
    place: Place,
    /// What is written: of a device or a pipe itself.
    pub(super) part: PathBuf,
    file: File,
}

/// A file that tells how far it is.
pub(super) struct Counted<'a, P> {
    file: &'a mut File,
    bytes: u64,
    progress: P,
}

impl<P: FnMut(u64)> Write for Counted<'_, P> {
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

impl Whole {
    pub(super) fn create(path: &Path, force: Force) -> Result<Whole, Stop> {
        let place = Place::claim(path, Made::Other, force)?;
        let (part, file) = match &place {
            Place::Stream(path) => (path.clone(), OpenOptions::new().append(true).open(path)),
            Place::File(path) => {
                let mut part = OsString::from(path);
                part.push(".part");
                let part = PathBuf::from(part);
                let file = File::create(&part);
                (part, file)
            }
        };
        let file = file.map_err(|error| write_error(&part, &error))?;
        Ok(Whole { place, part, file })
    }

    pub(super) fn counting_writer(&mut self) -> Counted<'_, impl FnMut(u64)> {
        Counted { file: &mut self.file, bytes: 0, progress: super::progress_reporter("wrote", "") }
    }

    pub(super) fn commit_file(self) -> Result<(), Stop> {
        let Place::File(path) = &self.place else { return Ok(()) };
        // samtools may have put another file there.
        let synced = File::open(&self.part).and_then(|file| file.sync_all());
        synced
            .and_then(|()| fs::rename(&self.part, path))
            .map_err(|error| write_error(path, &error))
    }
}

impl Drop for Whole {
    fn drop(&mut self) {
        if let Place::File(_) = self.place {
            // Gone where it has its name; in part it is of no use.
            let _ = fs::remove_file(&self.part);
        }
    }
}

pub(super) fn write_error(path: &Path, error: &std::io::Error) -> Stop {
    console::clear_passing_line();
    let message = format!("{}: {error}", path.display());
    Stop::new(1, message, "nothing in part is left; see that there is room, and ask again")
}
