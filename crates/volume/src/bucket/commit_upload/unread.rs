//! Files that the user who ships may not read: everything else is shipped, and they are told by
//! their names.

use std::collections::BTreeMap;

use super::super::scan::UnreadableFile;
use super::super::tree::join_path;
use super::{CommitUploader, DirtyNames};
use forebay_os::file_identity::FileIdentity;

/// Names in a message; of more the number is told.
const TOLD: usize = 3;

/// All that can't, as it was seen last.
#[derive(Debug, Default)]
pub(super) struct UnreadableFiles(BTreeMap<Vec<u8>, FileIdentity>);

impl UnreadableFiles {
    /// What a look at these names has found; `None`: at all.
    pub(super) fn note_found(&mut self, dirty: Option<&DirtyNames>, found: Vec<UnreadableFile>) {
        let before = match dirty {
            None => std::mem::take(&mut self.0),
            Some(dirty) => {
                let names = dirty.iter().map(|(path, name)| join_path(path, name.to_bytes()));
                names.filter_map(|name| self.0.remove_entry(&name)).collect()
            }
        };
        for UnreadableFile { path, identity } in found {
            if !before.contains_key(&path) {
                tracing::error!("{} can't be read", String::from_utf8_lossy(&path));
            }
            self.0.insert(path, identity);
        }
    }
}

impl CommitUploader {
    /// Why not all can be in the bucket.
    pub(crate) fn unread_message(&self) -> Option<String> {
        let all = &self.unread.0;
        let names = all.keys().take(TOLD).map(|path| String::from_utf8_lossy(path));
        let told = names.collect::<Vec<_>>().join(", ");
        match all.len().saturating_sub(TOLD) {
            _ if all.is_empty() => None,
            0 => Some(format!("this user may not read {told}")),
            more => Some(format!("this user may not read {told} and {more} more")),
        }
    }

    /// Which they are.
    pub(crate) fn unread_files(&self) -> impl Iterator<Item = FileIdentity> {
        self.unread.0.values().copied()
    }
}
