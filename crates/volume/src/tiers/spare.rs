//! The spare of a volume's book, in the state directory of whoever has it: it says on which tiers files
//! of a directory lie when somebody has removed the book itself. It is called after the directory's
//! identity, so no other directory has it, and a new name does not matter.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::BorrowedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::book::Entry;
use super::pages;
use crate::native::stat_of;
use crate::pack::DirKey;

/// A longer one is none.
const MOST: u64 = 1 << 20;

/// Where the spare of one directory is, or would be.
#[derive(Debug)]
pub(super) struct Spare {
    file: PathBuf,
    /// The file system keeps no time of birth, so another directory may have had the same number.
    is_vague: bool,
}

impl Spare {
    /// The spare of the directory behind `root` in a folder of spares.
    pub(super) fn of(shelf: &Path, root: BorrowedFd<'_>) -> Option<Spare> {
        let key = DirKey::of(&stat_of(root, c"").ok()?);
        let file = shelf.join(format!("{:x}-{:x}.json", key.inode, key.born));
        Some(Spare { file, is_vague: key.born == 0 })
    }

    /// What it says of `directory`.
    pub(super) fn read(&self, directory: &Path) -> Option<Vec<Entry>> {
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let file = File::options().read(true).custom_flags(flags).open(&self.file).ok()?;
        let meta = file.metadata().ok()?;
        if !meta.is_file() || meta.uid() != rustix::process::geteuid().as_raw() {
            return None;
        }
        let mut text = Vec::new();
        file.take(MOST).read_to_end(&mut text).ok()?;
        let (entries, book) = pages::parse_spare(&text)?;
        let same = book.as_deref().and_then(Path::parent).and_then(Path::parent) == Some(directory);
        if self.is_vague && !same {
            return None;
        }
        // Another user's state directory, or another machine's, may have missed the end of a room.
        let may_be = |entry: &Entry| {
            let tier = entry.path.parent().and_then(Path::parent);
            entry.path.exists() || tier.is_some_and(|tier| !tier.exists())
        };
        let entries: Vec<_> = entries.into_iter().filter(may_be).collect();
        (!entries.is_empty()).then_some(entries)
    }

    /// Writes it. `book` is what it is the spare of.
    pub(super) fn write(&self, entries: Vec<Entry>, book: &Path) {
        let text = pages::spare_text(entries, book);
        let fresh = self.file.with_extension("new");
        let write = || -> io::Result<()> {
            let shelf = self.file.parent().unwrap_or(&self.file);
            fs::DirBuilder::new().recursive(true).mode(0o700).create(shelf)?;
            let flags = libc::O_NOFOLLOW;
            let options = &mut File::options();
            options.write(true).create(true).truncate(true).mode(0o600).custom_flags(flags);
            let mut out = options.open(&fresh)?;
            out.write_all(&text)?;
            out.sync_all()?;
            fs::rename(&fresh, &self.file)
        };
        if let Err(error) = write() {
            let _ = fs::remove_file(&fresh);
            tracing::debug!("{} has no spare: {error}", book.display());
        }
    }

    /// Nothing is left on tiers.
    pub(super) fn remove(&self) {
        let _ = fs::remove_file(&self.file);
        if let Some(shelf) = self.file.parent() {
            // It holds others' as a rule.
            let _ = fs::remove_dir(shelf);
        }
    }
}
