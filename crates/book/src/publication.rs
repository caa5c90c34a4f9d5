//! What a node publishes: all that changed in its folders since the last time, as one step.

use super::error::{Error, Result};
use super::ids::{EntryName, Epoch, FolderId, InodeNumber, PublicationNumber};
use super::records::{FileBytes, FileRecord};

/// Bodies up to so many bytes lie in the book.
pub const MAX_BODY: usize = 128 << 10;

/// Under what right a folder is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// The node holds it under this epoch.
    Held(Epoch),
    /// The node has made it; it holds it from now on, under epoch 1.
    Made,
}

/// What becomes of the hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// The node goes on holding the folder.
    Keep,
    /// It gives the folder up.
    GiveUp,
    /// The folder is removed; it has no names any more.
    Remove,
}

/// A name that leads elsewhere now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameChange {
    /// It leads to this file.
    Set(EntryName, InodeNumber),
    /// It is gone. One that the book does not have is gone already.
    Remove(EntryName),
}

impl NameChange {
    /// The name.
    #[must_use]
    pub fn name(&self) -> &EntryName {
        match self {
            NameChange::Set(name, _) | NameChange::Remove(name) => name,
        }
    }
}

/// What happened in one folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderChange {
    /// The folder.
    pub folder: FolderId,
    /// By what right.
    pub claim: Claim,
    /// Names that changed, each once.
    pub names: Vec<NameChange>,
    /// What becomes of the hold.
    pub after: After,
}

/// All that changed at a node, as one transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Publication {
    /// One more than that of the publication before.
    pub number: PublicationNumber,
    /// Folders, each once.
    pub folders: Vec<FolderChange>,
    /// Files that are new, or whose bytes or attributes changed, each once. Each has a name in one
    /// of the folders, or is one of them.
    pub files: Vec<FileRecord>,
}

impl Publication {
    /// Looks at what can be wrong without a book, and gives the folders in the order of their
    /// numbers, in which they are locked.
    pub(crate) fn check(&self) -> Result<Vec<&FolderChange>> {
        let mut folders: Vec<&FolderChange> = self.folders.iter().collect();
        folders.sort_unstable_by_key(|change| change.folder);
        if let Some(pair) = folders.windows(2).find(|pair| pair[0].folder == pair[1].folder) {
            return Err(Error::inconsistent(format!("folder {} is there twice", pair[0].folder)));
        }
        for change in &folders {
            let mut names: Vec<&EntryName> = change.names.iter().map(NameChange::name).collect();
            names.sort_unstable();
            if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(Error::inconsistent(format!(
                    "folder {}: {:?} changes twice",
                    change.folder, pair[0]
                )));
            }
            if change.after == After::Remove && change.folder == FolderId::ROOT {
                return Err(Error::inconsistent("the root can't be removed"));
            }
            let sets = change.names.iter().any(|name| matches!(name, NameChange::Set(..)));
            if change.after == After::Remove && sets {
                return Err(Error::inconsistent(format!(
                    "folder {} is removed and gets a name",
                    change.folder
                )));
            }
        }
        let mut files: Vec<InodeNumber> = self.files.iter().map(|file| file.inode).collect();
        files.sort_unstable();
        if let Some(pair) = files.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Error::inconsistent(format!("file {} is there twice", pair[0])));
        }
        for file in &self.files {
            check_file(file)?;
        }
        Ok(folders)
    }
}

fn check_file(file: &FileRecord) -> Result<()> {
    let odd = |what: &str| Err(Error::inconsistent(format!("file {}: {what}", file.inode)));
    if let FileBytes::InBook(body) = &file.bytes {
        if body.len() > MAX_BODY {
            return odd("its body is too long for the book");
        }
        if body.len() as u64 != file.size {
            return odd("its body has another length than it says");
        }
    }
    if file.mode > 0o7777 {
        return odd("its mode has bits that are no permissions");
    }
    if i64::try_from(file.size).is_err() || i64::try_from(file.rdev).is_err() {
        return odd("its size is no length of a file");
    }
    let mut names: Vec<&Vec<u8>> = file.attributes.iter().map(|(name, _)| name).collect();
    names.sort_unstable();
    if names.windows(2).any(|pair| pair[0] == pair[1]) {
        return odd("an extended attribute is there twice");
    }
    Ok(())
}
