//! Files that are written as a whole or not at all.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::exit::Stop;
use crate::say;

/// A file that has its name when it is whole.
pub(super) struct Whole {
    path: PathBuf,
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
    pub(super) fn create(path: &Path) -> Result<Whole, Stop> {
        if path.exists() {
            let message = format!("{} is there already", path.display());
            return Err(Stop::new(1, message, "remove it, or write elsewhere"));
        }
        let mut part = OsString::from(path);
        part.push(".part");
        let part = PathBuf::from(part);
        let file = File::create(&part).map_err(|error| cannot(&part, &error))?;
        Ok(Whole { path: path.to_owned(), part, file })
    }

    pub(super) fn counted(&mut self) -> Counted<'_, impl FnMut(u64)> {
        Counted { file: &mut self.file, bytes: 0, progress: super::progress("wrote", "") }
    }

    pub(super) fn end(self) -> Result<(), Stop> {
        // samtools may have put another file there.
        let synced = File::open(&self.part).and_then(|file| file.sync_all());
        synced
            .and_then(|()| fs::rename(&self.part, &self.path))
            .map_err(|error| cannot(&self.path, &error))
    }
}

impl Drop for Whole {
    fn drop(&mut self) {
        // Gone where it has its name; in part it is of no use.
        let _ = fs::remove_file(&self.part);
    }
}

pub(super) fn cannot(path: &Path, error: &std::io::Error) -> Stop {
    say::clear();
    let message = format!("{}: {error}", path.display());
    Stop::new(1, message, "nothing in part is left; see that there is room, and ask again")
}
