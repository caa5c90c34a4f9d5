//! Objects as files of a directory. A process may have some hundred files open, and an archive, or what
//! is attached, may have thousands: those that were read last are open. One that is opened again has to
//! be the file that it was.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{File, Metadata};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::{ObjectSource, missing_object_error, short_object_error};
use crate::error::{Error, Kind, Result};

/// Files that are open at a time.
const OPEN: usize = 64;

/// Objects as files of a directory.
#[derive(Debug)]
pub struct DirectoryObjects {
    path: PathBuf,
    /// Open for as long as this lives, under names of their own.
    kept: BTreeMap<String, Arc<File>>,
    /// Whether directories of files that were opened stay open.
    holding: bool,
    files: Mutex<OpenFiles>,
}

#[derive(Debug, Default)]
struct OpenFiles {
    /// The one that was read last is the last.
    open: VecDeque<(String, Arc<File>)>,
    /// All that were ever opened.
    known: BTreeMap<String, FileFingerprint>,
    /// Directories that stay open, and those that can't.
    held: BTreeMap<PathBuf, Option<File>>,
}

/// What a file and no other is: device, number, length, and when it was changed.
type FileFingerprint = (u64, u64, u64, i64, i64);

impl DirectoryObjects {
    /// The directory need not be there yet. Names may be absolute paths.
    #[must_use]
    pub fn new(path: &Path) -> DirectoryObjects {
        let (kept, files) = (BTreeMap::new(), Mutex::default());
        DirectoryObjects { path: path.to_owned(), kept, holding: false, files }
    }

    /// The same, with a file that is open already under a name of its own.
    #[must_use]
    pub fn with_open_file(mut self, name: &str, file: File) -> DirectoryObjects {
        self.kept.insert(name.to_owned(), Arc::new(file));
        self
    }

    /// The same, where a file is found again through the directory in which it was first, whatever
    /// is mounted over its path meanwhile. Needs /proc.
    #[must_use]
    pub fn holding_directories(self) -> DirectoryObjects {
        DirectoryObjects { holding: true, ..self }
    }

    fn open_file(&self, name: &str) -> Result<Arc<File>> {
        if let Some(file) = self.kept.get(name) {
            return Ok(Arc::clone(file));
        }
        let mut files = self.files.lock().expect("nobody panics with it");
        if let Some(nth) = files.open.iter().rposition(|(open, _)| open == name)
            && let Some((name, file)) = files.open.remove(nth)
        {
            files.open.push_back((name, Arc::clone(&file)));
            return Ok(file);
        }
        let path = self.path.join(name);
        let at = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound => missing_object_error(&path.display().to_string()),
            _ => Error::io(path.display(), error),
        };
        let way = if self.holding { files.held_folder_path(&path) } else { path.clone() };
        let file = File::open(way).map_err(at)?;
        let found = file_identity(&file.metadata().map_err(at)?);
        if *files.known.entry(name.to_owned()).or_insert(found) != found {
            let words = format!("{}: another file is there than before", path.display());
            return Err(Error::new(Kind::Changed, words));
        }
        let file = Arc::new(file);
        if files.open.len() >= OPEN {
            files.open.pop_front();
        }
        files.open.push_back((name.to_owned(), Arc::clone(&file)));
        Ok(file)
    }
}

impl OpenFiles {
    fn held_folder_path(&mut self, path: &Path) -> PathBuf {
        let Some((folder, name)) = path.parent().zip(path.file_name()) else {
            return path.to_owned();
        };
        if self.held.len() < OPEN && !self.held.contains_key(folder) {
            self.held.insert(folder.to_owned(), File::open(folder).ok());
        }
        match self.held.get(folder) {
            Some(Some(held)) => {
                PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd())).join(name)
            }
            _ => path.to_owned(),
        }
    }
}

fn file_identity(found: &Metadata) -> FileFingerprint {
    (found.dev(), found.ino(), found.size(), found.mtime(), found.mtime_nsec())
}

impl ObjectSource for DirectoryObjects {
    fn is_near(&self) -> bool {
        true
    }

    fn object_size(&self, name: &str) -> Result<u64> {
        let metadata = self.open_file(name)?.metadata();
        Ok(metadata.map_err(|error| Error::io(self.path.join(name).display(), error))?.len())
    }

    fn read_range(&self, name: &str, offset: u64, len: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; len];
        self.open_file(name)?.read_exact_at(&mut bytes, offset).map_err(|error| {
            match error.kind() {
                std::io::ErrorKind::UnexpectedEof => short_object_error(name, offset, len),
                _ => Error::io(self.path.join(name).display(), error),
            }
        })?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    //! Files beyond what a process may have open, or bytes of one file where another was meant.
    use std::fs;

    use super::*;

    #[test]
    fn any_number_of_files_is_read_and_few_are_open() {
        let dir = tempfile::tempdir().expect("a directory");
        let name = |nth: usize| format!("x{nth}");
        for nth in 0..3 * OPEN {
            fs::write(dir.path().join(name(nth)), nth.to_string()).expect("written");
        }
        let objects = DirectoryObjects::new(dir.path());
        for nth in (0..3 * OPEN).chain(0..3 * OPEN) {
            let text = nth.to_string();
            assert_eq!(objects.object_size(&name(nth)).expect("it"), text.len() as u64);
            assert_eq!(objects.read_range(&name(nth), 0, text.len()).expect("it"), text.as_bytes());
            assert!(objects.files.lock().expect("it").open.len() <= OPEN);
        }
        // The first one is not open any more.
        fs::write(dir.path().join("new"), "7").expect("written");
        fs::rename(dir.path().join("new"), dir.path().join(name(0))).expect("renamed");
        let error = objects.read_range(&name(0), 0, 1).expect_err("another file");
        assert_eq!(error.kind, Kind::Changed, "{error}");
        // The last one is, and has its bytes, whatever lies there now.
        let last = name(3 * OPEN - 1);
        fs::remove_file(dir.path().join(&last)).expect("removed");
        assert_eq!(objects.read_range(&last, 0, 1).expect("open"), b"1");
    }

    #[test]
    fn a_directory_that_is_held_is_found_wherever_it_went() {
        let dir = tempfile::tempdir().expect("a directory");
        let folder = dir.path().join("a");
        fs::create_dir(&folder).expect("made");
        fs::write(folder.join("x"), "x").expect("written");
        fs::write(folder.join("y"), "y").expect("written");
        let objects = DirectoryObjects::new(Path::new("/")).holding_directories();
        let y = folder.join("y").display().to_string();
        assert_eq!(objects.read_range(&y, 0, 1).expect("there"), b"y");
        fs::rename(&folder, dir.path().join("b")).expect("renamed");
        let name = folder.join("x").display().to_string();
        assert_eq!(objects.read_range(&name, 0, 1).expect("held"), b"x");
    }
}
