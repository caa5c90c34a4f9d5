//! Bytes of files on this node's disk, one file each, named by its number.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};

use forebay_book::InodeNumber;

/// Objects of the bucket that are to be removed, a line each.
const NOTE: &str = "unneeded";

/// A directory with the bytes of files that are on this node.
#[derive(Debug)]
pub struct BodyDirectory(PathBuf);

impl BodyDirectory {
    /// Takes a directory, which is made if it is not there. Nobody but its owner looks into it: the
    /// files in it have no permissions of their own.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn open(path: &Path) -> io::Result<BodyDirectory> {
        std::fs::create_dir_all(path)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700))?;
        Ok(BodyDirectory(path.to_owned()))
    }

    /// Files of which there are bytes.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn numbers(&self) -> io::Result<Vec<InodeNumber>> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&self.0)? {
            let name = entry?.file_name();
            found.extend(name.to_str().and_then(|name| name.parse().ok()).map(InodeNumber));
        }
        Ok(found)
    }

    /// Where the bytes of a file are.
    #[must_use]
    pub fn path(&self, file: InodeNumber) -> PathBuf {
        self.0.join(file.to_string())
    }

    /// What was left for the next process of this node; empty if nothing was.
    pub(crate) fn read_note(&self) -> io::Result<String> {
        match std::fs::read_to_string(self.0.join(NOTE)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
            read => read,
        }
    }

    pub(crate) fn write_note(&self, text: &str) -> io::Result<()> {
        std::fs::write(self.0.join(NOTE), text)
    }

    pub(crate) fn create(&self, file: InodeNumber, bytes: &[u8]) -> io::Result<File> {
        let mut how = File::options();
        let made = how.read(true).write(true).create(true).truncate(true).open(self.path(file))?;
        made.write_all_at(bytes, 0)?;
        Ok(made)
    }

    pub(crate) fn open_file(&self, file: InodeNumber) -> io::Result<File> {
        File::options().read(true).write(true).open(self.path(file))
    }

    pub(crate) fn remove(&self, file: InodeNumber) {
        // One that was never made is gone already.
        let _ = std::fs::remove_file(self.path(file));
    }
}

/// Reads as much as there is.
pub(crate) fn read_at(file: &File, offset: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    let mut have = 0;
    while have < length {
        match file.read_at(&mut bytes[have..], offset + have as u64) {
            Ok(0) => break,
            Ok(more) => have += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(have);
    Ok(bytes)
}

/// The part of a body that is asked for.
pub(crate) fn slice(body: &[u8], offset: u64, length: usize) -> Vec<u8> {
    let start = usize::try_from(offset).unwrap_or(usize::MAX).min(body.len());
    body[start..body.len().min(start.saturating_add(length))].to_vec()
}
