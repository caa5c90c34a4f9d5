//! Folders that rules want on a tier as a whole. While the run lasts it sees, in the folder's place,
//! a directory of the tier (`overmount::whole_folders` binds it there): programs work at the tier's
//! own speed, and nothing comes by here. In place the folder is empty meanwhile.
//!
//! Afterwards each file becomes one of those that lie on the tier by themselves ([`adoption`]), and is
//! written back, published, kept or discarded as they are. The book says which directories on tiers
//! stand for folders, so that a later run and `forebay restore` find them after a kill.

mod adoption;
mod in_use;
mod made_name;

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use forebay_model::WholeFolder;
use rustix::fs::{Dir, Mode, OFlags, mkdirat, openat};
use rustix::io::Errno;

use super::beneath::hold_directory;
use super::{PlacementOptions, TierError, Tiers};
use forebay_os::file_identity::{device_number, statx_nofollow};

/// A folder, and what a run is to see in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderOnTier {
    /// Where the folder is, absolute.
    pub point: PathBuf,
    /// The directory on its tier.
    pub directory: PathBuf,
}

/// The folders of one volume, and those that can't be had as a whole.
#[derive(Debug, Default)]
pub(crate) struct WholeFolders {
    /// Those that can.
    pub(crate) ready: Vec<FolderOnTier>,
    /// In words, why the files of others are placed one by one.
    pub(crate) refused: Vec<String>,
}

impl Tiers {
    /// Makes a directory on its tier for each folder that rules want there as a whole. Where that can't
    /// be, its files go there one by one, as the same rule says.
    ///
    /// # Errors
    /// The book can't be written: without it nobody would find the files after a kill.
    pub(crate) fn prepare_whole_folders(
        &self,
        volume: &Path,
        wanted: &PlacementOptions,
    ) -> Result<WholeFolders, TierError> {
        let mut folders = WholeFolders::default();
        for folder in wanted.rules.whole_folders() {
            match self.prepare_whole_folder(volume, folder, wanted) {
                Ok(directory) => {
                    let point = volume.join(&folder.path);
                    folders.ready.push(FolderOnTier { point, directory });
                }
                Err(why) => folders.refused.push(format!(
                    "{} is no whole folder on {} (rule {}), so its files are placed one by one: {why}",
                    folder.path.display(),
                    folder.tier,
                    folder.rule
                )),
            }
        }
        if !folders.ready.is_empty() {
            self.book.save()?;
        }
        Ok(folders)
    }

    /// The directory on the tier; why there can't be one, in words.
    fn prepare_whole_folder(
        &self,
        volume: &Path,
        folder: &WholeFolder,
        wanted: &PlacementOptions,
    ) -> Result<PathBuf, String> {
        let in_place = self.open_empty_folder(&folder.path)?;
        let tier = wanted.site.tier(&folder.tier).ok_or("its tier is not there")?;
        let room = self.rooms.iter().find(|room| room.tier == folder.tier && room.writable);
        if room.ok_or("its tier is not there")?.is_full() {
            return Err("its tier is full".to_owned());
        }
        let entry = self
            .book
            .add_whole_folder(volume, tier, &folder.path)
            .map_err(|trouble| trouble.to_string())?;
        let make = || {
            let directory = openat(rustix::fs::CWD, &entry.path, LIST, Mode::empty())?;
            adoption::copy_directory_attributes(&in_place, &directory)
        };
        match make() {
            Ok(()) => Ok(entry.path),
            Err(error) => {
                self.book.remove_whole_folder(&entry);
                Err(error.to_string())
            }
        }
    }

    /// The folder in place, made if it is not there.
    fn open_empty_folder(&self, path: &Path) -> Result<OwnedFd, String> {
        let word = |error: Errno| error.to_string();
        let root = self.book.root();
        let mut dir = hold_directory(root, ".".as_ref()).map_err(word)?;
        for part in path.components() {
            let Component::Normal(name) = part else { return Err("it has no name".to_owned()) };
            match mkdirat(&dir, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.to_string()),
            }
            dir = hold_directory(&dir, name).map_err(|error| match error {
                Errno::NOTDIR | Errno::LOOP => "a file or link has its name".to_owned(),
                error => error.to_string(),
            })?;
        }
        let device = |dir: &OwnedFd| {
            statx_nofollow(dir.as_fd(), c"").map(|stat| device_number(&stat)).map_err(word)
        };
        if device(&dir)? != device(root)? {
            return Err("another file system is mounted there".to_owned());
        }
        if !is_empty(&dir).map_err(word)? {
            return Err("there are files in it already".to_owned());
        }
        let holds_packed = self.pack().is_some_and(|pack| {
            pack.packed_directories().iter().any(|packed| {
                let at = Path::new(std::ffi::OsStr::from_bytes(&packed.path));
                at.starts_with(path) && !packed.names.is_empty()
            })
        });
        if holds_packed {
            return Err("there are packed files in it already".to_owned());
        }
        openat(&dir, c".", LIST, Mode::empty()).map_err(word)
    }
}

/// Whether a directory holds no name.
fn is_empty(dir: &OwnedFd) -> Result<bool, Errno> {
    let mut names = Dir::read_from(openat(dir, c".", LIST, Mode::empty())?)?;
    let is_name = |name: &[u8]| !matches!(name, b"." | b"..");
    Ok(!names.any(|entry| entry.is_ok_and(|entry| is_name(entry.file_name().to_bytes()))))
}

/// How a directory is opened whose names are listed, and which gets attributes.
const LIST: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

#[cfg(test)]
mod tests;
