//! Files that are not as they were when they were found.

use std::ffi::CString;

use super::super::segment::SegmentDraft;
use super::super::tree_record::{ContentLocation, TreeRecord};
use super::CommitUploader;

impl CommitUploader {
    /// A file is not as it was when it was found. It keeps the bytes that the bucket knows; without
    /// any, it gets its name later.
    pub(super) fn defer_file(&mut self, ino: u64, path: &[u8], draft: &mut SegmentDraft) {
        let (folder, name) = match path.iter().rposition(|byte| *byte == b'/') {
            Some(at) => (&path[..at], &path[at + 1..]),
            None => (&b""[..], path),
        };
        if self.tree.file(ino).is_some_and(|file| file.place == ContentLocation::Empty)
            && let Some(folder) = self.tree.lookup_path(folder)
            && self.tree.lookup_name(folder, name) == Some(ino)
        {
            let record = TreeRecord::Gone { folder, name };
            self.tree.apply_record(&record);
            draft.append_record(&record);
        }
        if let Ok(name) = CString::new(name) {
            self.again.insert((folder.to_vec(), name));
        }
    }
}
