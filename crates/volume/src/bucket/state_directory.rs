//! What a machine keeps of a volume in a bucket, in a directory of its own: the local tree, which of
//! its files is which in the bucket, and who we are. docs/formats/bucket.md draws it.

mod journal;
mod session;

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use forebay_os::predecessor::lock_after_predecessor;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use super::scan::ScanUpdates;
use super::tree::VolumeTree;
pub(crate) use journal::Journal;
use journal::{Frame, encode_frame};

const LOCK: &str = "lock";
const VOLUME: &str = "volume.json";
/// The format of the directory; its `volume.json` names none as long as it is the first.
const FORMAT: u32 = 1;
const TREE: &str = "tree";
const JOURNAL: &str = "known";
const ASIDE: &str = "aside";

/// A directory that nobody else uses meanwhile.
#[derive(Debug)]
pub(crate) struct StateDirectory {
    pub(crate) folder: PathBuf,
    pub(crate) volume: StateOwner,
    _lock: File,
}

/// Whose directory it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StateOwner {
    pub(crate) url: String,
    /// A text that no other machine has; of a reader none.
    pub(crate) me: String,
    /// It reads what others write.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_reader: bool,
}

impl StateOwner {
    /// That which has its files in a folder.
    pub(crate) fn read_from_directory(folder: &Path) -> Option<StateOwner> {
        serde_json::from_slice(&std::fs::read(folder.join(VOLUME)).ok()?).ok()
    }
}

/// Whether a local tree is that of a volume in a bucket which others write.
#[must_use]
pub fn is_followed(tree: &Path) -> bool {
    tree.parent().and_then(StateOwner::read_from_directory).is_some_and(|volume| volume.is_reader)
}

/// What the journal comes to.
#[derive(Debug, Default)]
pub(crate) struct ReplayedJournal {
    pub(crate) next: u64,
    pub(crate) clean: bool,
    pub(crate) learnt: ScanUpdates,
}

impl StateDirectory {
    /// Takes a directory, and makes it if it is not there. `me` is who we are in a new one.
    ///
    /// # Errors
    /// Those of the file system. `ResourceBusy`: somebody uses it. `InvalidInput`: it belongs to
    /// another volume.
    pub(crate) fn lock_directory(folder: &Path, url: &str, me: &str) -> io::Result<StateDirectory> {
        let volume = StateOwner { url: url.to_owned(), me: me.to_owned(), is_reader: false };
        StateDirectory::lock_directory_as(folder, volume)
    }

    /// The same in any role.
    ///
    /// # Errors
    /// As `lock_directory`. `InvalidInput`: it was used in another role.
    pub(crate) fn lock_directory_as(
        folder: &Path,
        volume: StateOwner,
    ) -> io::Result<StateDirectory> {
        StateDirectory::lock_directory_by(folder, volume, |lock| lock_after_predecessor(lock))
    }

    /// The same, at once or not at all.
    ///
    /// # Errors
    /// As `lock_directory_as`.
    pub(crate) fn try_lock_directory(
        folder: &Path,
        volume: StateOwner,
    ) -> io::Result<StateDirectory> {
        StateDirectory::lock_directory_by(folder, volume, |lock| {
            flock(lock, FlockOperation::NonBlockingLockExclusive)
                .map_err(|_| io::ErrorKind::ResourceBusy.into())
        })
    }

    fn lock_directory_by(
        folder: &Path,
        wanted: StateOwner,
        lock_file: impl FnOnce(&File) -> io::Result<()>,
    ) -> io::Result<StateDirectory> {
        use std::os::unix::fs::DirBuilderExt;
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let mut how = OpenOptions::new();
        let lock = how.create(true).truncate(false).write(true).open(folder.join(LOCK))?;
        lock_file(&lock)?;
        let file = folder.join(VOLUME);
        let volume = match std::fs::read(&file) {
            Ok(text) => {
                refuse_newer_format(&text)?;
                serde_json::from_slice(&text)?
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                write_atomically(&file, &serde_json::to_vec(&wanted)?)?;
                wanted.clone()
            }
            Err(error) => return Err(error),
        };
        let other = |why: String| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        match (volume.url != wanted.url, volume.is_reader) {
            (true, _) => return other(format!("it belongs to {}", volume.url)),
            (_, true) if !wanted.is_reader => return other("it belongs to a reader".to_owned()),
            (_, false) if wanted.is_reader => return other("it belongs to a writer".to_owned()),
            _ => {}
        }
        Ok(StateDirectory { folder: folder.to_owned(), volume, _lock: lock })
    }

    /// Where the local tree is.
    pub(crate) fn tree_directory(&self) -> PathBuf {
        self.folder.join(TREE)
    }

    /// Where a reader has what is on its way into the tree.
    pub(crate) fn staging_directory(&self) -> PathBuf {
        self.folder.join(ASIDE)
    }

    /// Reads the journal; what is not whole at its end never was.
    ///
    /// # Errors
    /// Those of the file system.
    pub(crate) fn read_journal(&self) -> io::Result<ReplayedJournal> {
        let mut bytes = Vec::new();
        match File::open(self.folder.join(JOURNAL)) {
            Ok(mut file) => drop(file.read_to_end(&mut bytes)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let mut recalled = ReplayedJournal::default();
        let mut rest = bytes.as_slice();
        while let Some((head, more)) = rest.split_at_checked(8) {
            let (length, crc) = head.split_at(4);
            let number = |bytes: &[u8]| bytes.try_into().map(u32::from_le_bytes).unwrap_or(0);
            let Some((frame, more)) = more.split_at_checked(number(length) as usize) else { break };
            let Ok(frame_of) = postcard::from_bytes::<Frame>(frame) else { break };
            if crc32fast::hash(frame) != number(crc) {
                break;
            }
            (recalled.next, recalled.clean) = (frame_of.next, frame_of.clean);
            recalled.learnt.numbers.extend(frame_of.numbers);
            recalled.learnt.stamps.extend(frame_of.stamps);
            rest = more;
        }
        Ok(recalled)
    }

    /// Begins the journal anew, with what is still of use.
    ///
    /// # Errors
    /// Those of the file system.
    pub(crate) fn begin_journal(
        &self,
        next: u64,
        learnt: ScanUpdates,
        tree: &VolumeTree,
    ) -> io::Result<Journal> {
        let ScanUpdates { mut numbers, mut stamps } = learnt;
        numbers.retain(|(ino, _)| tree.file(*ino).is_some());
        stamps.retain(|(ino, _)| tree.file(*ino).is_some());
        let mut frame = Vec::new();
        encode_frame(&mut frame, &Frame { next, clean: false, numbers, stamps })?;
        let path = self.folder.join(JOURNAL);
        write_atomically(&path, &frame)?;
        let file = OpenOptions::new().append(true).open(path)?;
        Ok(Journal::for_file(file, frame.len() as u64))
    }
}

/// Refuses the directory of a newer Forebay, by name.
fn refuse_newer_format(volume: &[u8]) -> io::Result<()> {
    #[derive(Deserialize)]
    struct FormatVersion {
        #[serde(default)]
        format: u32,
    }
    let FormatVersion { format } = serde_json::from_slice(volume)?;
    if format <= FORMAT {
        return Ok(());
    }
    let why = format!("it is of a newer Forebay (format {format}, and this one knows {FORMAT})");
    Err(io::Error::new(io::ErrorKind::InvalidInput, why))
}

/// Writes a file so that after any crash it is there whole or not at all.
pub(super) fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = path.with_extension("new");
    let mut file = File::create(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(new, path)?;
    // Or a power failure may take the new name away, and leave what it replaced.
    match path.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree_record::{Attr, Kind, TreeRecord};
    use super::*;

    fn tree(files: &[u64]) -> VolumeTree {
        let mut tree = VolumeTree::default();
        for ino in files {
            tree.apply_record(&TreeRecord::File {
                ino: *ino,
                kind: Kind::Plain,
                attr: Attr::default(),
            });
        }
        tree
    }

    #[test]
    fn what_was_learnt_is_recalled_and_half_a_frame_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = folder.path().join("state");
        let state = StateDirectory::lock_directory(&at, "s3://b/v", "me").expect("taken");
        assert_eq!(state.read_journal().expect("read").next, 0);
        let learnt = |ino| ScanUpdates { numbers: vec![(ino, (ino, 5))], stamps: Vec::new() };
        let mut journal = state.begin_journal(3, learnt(2), &tree(&[2])).expect("begun");
        journal.append_frame(4, false, learnt(3)).expect("noted");
        journal.append_frame(5, true, learnt(4)).expect("noted");
        let known = state.read_journal().expect("read");
        assert_eq!((known.next, known.clean, known.learnt.numbers.len()), (5, true, 3));
        let path = at.join(JOURNAL);
        let bytes = std::fs::read(&path).expect("read");
        std::fs::write(&path, &bytes[..bytes.len() - 1]).expect("cut");
        let known = state.read_journal().expect("read");
        assert_eq!((known.next, known.clean, known.learnt.numbers.len()), (4, false, 2));
        // Of files that are gone nothing is kept.
        state.begin_journal(6, known.learnt, &tree(&[3])).expect("begun");
        assert_eq!(state.read_journal().expect("read").learnt.numbers, [(3, (3, 5))]);
    }

    #[test]
    fn a_directory_has_one_volume_and_one_user() {
        let folder = tempfile::tempdir().expect("a folder");
        let take = |url, me| {
            StateDirectory::lock_directory(folder.path(), url, me).map_err(|error| error.kind())
        };
        let first = take("s3://b/v", "me").expect("taken");
        assert_eq!(take("s3://b/v", "me").err(), Some(io::ErrorKind::ResourceBusy));
        drop(first);
        assert_eq!(take("s3://b/w", "me").err(), Some(io::ErrorKind::InvalidInput));
        assert_eq!(take("s3://b/v", "another").expect("taken").volume.me, "me");
    }

    #[test]
    fn a_directory_of_a_newer_forebay_is_refused_by_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let newer = "{\"format\": 2, \"url\": \"s3://b/v\", \"me\": \"me\", \"more\": 1}";
        std::fs::write(folder.path().join(VOLUME), newer).expect("written");
        let refused = StateDirectory::lock_directory(folder.path(), "s3://b/v", "me")
            .expect_err("it is newer");
        assert_eq!(refused.kind(), io::ErrorKind::InvalidInput);
        assert!(refused.to_string().contains("newer Forebay (format 2"), "{refused}");
        let kept = std::fs::read_to_string(folder.path().join(VOLUME)).expect("read");
        assert_eq!(kept, newer, "it stays as it was");
    }
}
