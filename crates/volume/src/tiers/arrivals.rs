//! The list of files on their way home: what a killed homecoming may have left behind, a copy beside
//! its link or a body whose link was replaced already, is found by it and taken away. Losing the
//! list leaves litter and loses nothing.
//!
//! A file that moves while a run goes on may have another name, or none, when it is looked for: of
//! those the list says which they are, and whether they got their names at all.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use forebay_os::file_identity::FileIdentity;

/// The list's name in Forebay's own folder.
pub(super) const LIST: &str = "volume.arrivals";

/// In the place of a link: what became of the file, which is told by its identity. No link below a
/// directory has such a path.
#[derive(Debug, Clone, Copy)]
pub(super) struct WriteBackMark(&'static [u8]);

/// The file is about to get its name; its body is left behind then.
pub(super) const LANDS: WriteBackMark = WriteBackMark(b"/+");
/// It never will; nor will its body have a link, if there is one.
pub(super) const FAILED: WriteBackMark = WriteBackMark(b"/-");

impl WriteBackMark {
    /// The mark of a file.
    pub(super) fn mark_for(self, file: &FileIdentity) -> Vec<u8> {
        let name = format!("{:x}.{:x}", file.inode, file.born);
        [self.0, name.as_bytes()].concat()
    }

    /// Which file has this mark in an entry.
    pub(super) fn marked_file(self, arrival: &PendingWriteBack) -> Option<&[u8]> {
        arrival.link.as_os_str().as_bytes().strip_prefix(self.0)
    }
}

/// An entry of the list.
pub(super) fn format_entry(body: &[u8], link: &[u8]) -> Vec<u8> {
    [body, &[0], link, &[0]].concat()
}

/// One file on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PendingWriteBack {
    /// Its body.
    pub(super) body: PathBuf,
    /// Its link, below the covered directory.
    pub(super) link: PathBuf,
}

/// The list: each entry two paths, each ended by a NUL.
#[derive(Debug)]
pub(super) struct WriteBackJournal {
    path: PathBuf,
    file: Option<File>,
    /// Those of an earlier homecoming.
    pub(super) old: Vec<PendingWriteBack>,
}

impl WriteBackJournal {
    pub(super) fn open(path: PathBuf) -> WriteBackJournal {
        let old = fs::read(&path).map(|text| parse_entries(&text)).unwrap_or_default();
        WriteBackJournal { path, file: None, old }
    }

    /// Notes a file before its copy is begun.
    pub(super) fn append_entry(&mut self, body: &Path, link: &Path) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            empty => empty.insert(File::options().append(true).create(true).open(&self.path)?),
        };
        file.write_all(&format_entry(body.as_os_str().as_bytes(), link.as_os_str().as_bytes()))
    }

    /// All have arrived.
    pub(super) fn remove_list(self) {
        let _ = fs::remove_file(self.path);
    }
}

/// An entry that a kill cut short is left out: its copy was not begun.
fn parse_entries(text: &[u8]) -> Vec<PendingWriteBack> {
    let whole = text.iter().rposition(|byte| *byte == 0).map_or(&[][..], |end| &text[..end]);
    let parts: Vec<&[u8]> = whole.split(|byte| *byte == 0).collect();
    let path = |bytes| PathBuf::from(OsStr::from_bytes(bytes));
    parts
        .chunks_exact(2)
        .map(|two| PendingWriteBack { body: path(two[0]), link: path(two[1]) })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_kill_cut_short_is_left_out() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("arrivals");
        let mut list = WriteBackJournal::open(path.clone());
        assert_eq!(list.old, []);
        list.append_entry(Path::new("/t/1.a"), Path::new("d/a")).expect("noted");
        list.append_entry(Path::new("/t/2.b"), Path::new("b\n")).expect("noted");
        let text = fs::read(&path).expect("written");
        let all = WriteBackJournal::open(path.clone()).old;
        assert_eq!(all.len(), 2);
        assert_eq!(all[1], PendingWriteBack { body: "/t/2.b".into(), link: "b\n".into() });
        for cut in 0..text.len() {
            let found = parse_entries(&text[..cut]);
            assert!(found.len() < 2 && all.starts_with(&found), "cut at {cut}: {found:?}");
        }
        list.remove_list();
        assert!(!path.exists());
    }
}
