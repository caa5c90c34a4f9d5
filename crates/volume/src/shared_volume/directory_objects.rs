//! Long files of a shared volume in a directory that all nodes have, as an NFS server, Lustre or
//! EFS shows it: each is one file below `files/`, written whole beside its name and never changed.
//! The directory stays open, so that nothing is written below an empty mount point when the storage
//! goes away.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Write};
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use forebay_objstore::RequestError;
use parking_lot::Mutex;
use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, linkat, mkdirat, openat, renameat, unlinkat};
use rustix::io::Errno;

use super::object_place::ObjectPlace;
use crate::bucket::ReadParts;

/// What says whose place this is, to Forebay and to people.
pub(super) const NOTE: &str = "FOREBAY-SHARED-VOLUME.txt";
/// What it begins with.
pub(super) const NOTE_TEXT: &str = "Nodes share this volume: `forebay mount --book` shows it. Its \
                                    names and small files are in that book, a PostgreSQL database.\n";
/// What is in the note before the volume's name.
const NAMED: &str = "Name: ";
/// What files are called that are not whole yet.
const UNFINISHED: &str = ".new-";
/// Where long files lie.
const FILES: &str = "files";
/// Files that are kept open: an open of another node's file asks the server.
const KEPT_OPEN: usize = 64;
/// Bytes that are copied at a time, and that are read at a time.
const PIECE: usize = 1 << 20;
const READ: usize = 256 << 10;
/// A note that another node has just made may not be seen at once (nfs(5), "Data and metadata
/// coherence").
const LOOKS: u32 = 50;
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);

/// The files below a directory.
#[derive(Debug)]
pub(super) struct DirectoryObjects {
    directory: OwnedFd,
    /// The one that was read last at the end.
    open: Mutex<VecDeque<(String, Arc<File>)>>,
}

impl DirectoryObjects {
    /// Opens the directory, and makes nothing.
    ///
    /// # Errors
    /// Those of open(2).
    pub(super) fn open(path: &Path) -> io::Result<DirectoryObjects> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = openat(CWD, path, flags, Mode::empty())?;
        Ok(DirectoryObjects { directory, open: Mutex::default() })
    }

    /// The name of the volume that has this directory. In an empty one a note is made that gives
    /// it: of nodes that come at the same time, one makes it.
    ///
    /// # Errors
    /// DirectoryNotEmpty: it has something else, which the message names. InvalidData: the note has
    /// no name. Otherwise those of the file system.
    pub(super) fn claim(&self, path: &Path) -> io::Result<String> {
        if let Some(name) = self.noted_name()? {
            return Ok(name);
        }
        if let Some(other) = self.first_other_name()? {
            // The note of another node may have come meanwhile, with its first file.
            return match self.noted_name()? {
                Some(name) => Ok(name),
                None => Err(io::Error::new(io::ErrorKind::DirectoryNotEmpty, other)),
            };
        }
        let mut random = [0; 8];
        File::open("/dev/urandom")?.read_exact(&mut random)?;
        let random: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let name = format!("file://{}?id={random}", path.display());
        let fresh = format!("{UNFINISHED}{random}");
        let mut note = self.create(&fresh)?;
        note.write_all(format!("{NOTE_TEXT}{NAMED}{name}\n").as_bytes())?;
        note.sync_all()?;
        let linked = linkat(&self.directory, &fresh, &self.directory, NOTE, AtFlags::empty());
        unlinkat(&self.directory, &fresh, AtFlags::empty())?;
        match linked {
            Ok(()) => {
                mkdirat(&self.directory, FILES, Mode::RWXU).or_else(allow_existing)?;
                rustix::fs::fsync(&self.directory)?;
                Ok(name)
            }
            Err(Errno::EXIST) => self.await_name(),
            Err(error) => Err(error.into()),
        }
    }

    /// The name that another node has noted a moment ago.
    fn await_name(&self) -> io::Result<String> {
        for _ in 0..LOOKS {
            if let Some(name) = self.noted_name()? {
                return Ok(name);
            }
            std::thread::sleep(BETWEEN_LOOKS);
        }
        Err(io::Error::new(io::ErrorKind::NotFound, format!("{NOTE} is there, and can't be read")))
    }

    fn noted_name(&self) -> io::Result<Option<String>> {
        let note = openat(&self.directory, NOTE, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
        let mut text = String::new();
        match note {
            Ok(note) => File::from(note).take(4096).read_to_string(&mut text)?,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let name = text.lines().find_map(|line| line.strip_prefix(NAMED));
        let missing = || io::Error::new(io::ErrorKind::InvalidData, format!("{NOTE} has no name"));
        name.map(|name| Some(name.to_owned())).ok_or_else(missing)
    }

    /// A name in it that is not of Forebay's making.
    fn first_other_name(&self) -> io::Result<Option<String>> {
        for entry in Dir::read_from(&self.directory)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy();
            if !matches!(&*name, "." | ".." | NOTE) && !name.starts_with(UNFINISHED) {
                return Ok(Some(name.into_owned()));
            }
        }
        Ok(None)
    }

    fn create(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        Ok(openat(&self.directory, name, flags, Mode::RUSR | Mode::WUSR)?.into())
    }

    /// A file to read, opened at most once for many reads.
    fn opened(&self, object: &str) -> io::Result<Arc<File>> {
        let mut open = self.open.lock();
        if let Some(at) = open.iter().position(|(name, _)| name == object)
            && let Some(found) = open.remove(at)
        {
            let file = Arc::clone(&found.1);
            open.push_back(found);
            return Ok(file);
        }
        drop(open);
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = Arc::new(File::from(openat(&self.directory, object, flags, Mode::empty())?));
        let mut open = self.open.lock();
        open.push_back((object.to_owned(), Arc::clone(&file)));
        if open.len() > KEPT_OPEN {
            open.pop_front();
        }
        Ok(file)
    }

    fn read_exact(&self, object: &str, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        match self.opened(object)?.read_exact_at(bytes, offset) {
            // Removed by another node, on a storage that tells so (open(2), ESTALE).
            Err(error) if error.raw_os_error() == Some(Errno::STALE.raw_os_error()) => {
                self.close(object);
                self.opened(object)?.read_exact_at(bytes, offset)
            }
            read => read,
        }
    }

    fn close(&self, object: &str) {
        self.open.lock().retain(|(name, _)| name != object);
    }
}

fn allow_existing(error: Errno) -> Result<(), Errno> {
    if error == Errno::EXIST { Ok(()) } else { Err(error) }
}

/// Copies `size` bytes of a file from its start.
fn copy_whole(from: &File, to: &mut File, size: u64) -> io::Result<()> {
    let mut buffer = vec![0; PIECE.min(usize::try_from(size).unwrap_or(PIECE)).max(1)];
    let mut at = 0;
    loop {
        match from.read_at(&mut buffer, at)? {
            0 if at == size => return Ok(()),
            0 => break,
            count if at + count as u64 > size => break,
            count => {
                to.write_all(&buffer[..count])?;
                at += count as u64;
            }
        }
    }
    let why = "it is not as long as it was a moment ago";
    Err(io::Error::new(io::ErrorKind::InvalidData, why))
}

impl ReadParts for DirectoryObjects {
    fn stream_range(
        &self,
        name: &str,
        _version: Option<&str>,
        range: Range<u64>,
        take: &mut dyn FnMut(Bytes) -> Result<(), RequestError>,
    ) -> Result<(), RequestError> {
        for start in range.clone().step_by(READ) {
            let length = (range.end - start).min(READ as u64);
            let mut bytes = vec![0; length as usize];
            self.read_exact(name, &mut bytes, start)?;
            take(bytes.into())?;
        }
        Ok(())
    }

    fn stream_up_to(
        &self,
        name: &str,
        version: &str,
        range: Range<u64>,
        begin: &mut dyn FnMut(u64),
        take: &mut dyn FnMut(Bytes) -> Result<(), RequestError>,
    ) -> Result<(), RequestError> {
        let size = self.opened(name)?.metadata()?.len();
        begin(size);
        self.stream_range(name, Some(version), range.start..range.end.min(size), take)
    }
}

impl ObjectPlace for DirectoryObjects {
    fn write(&self, object: &str, size: u64, bytes: &File) -> io::Result<()> {
        let fresh = format!("{FILES}/{UNFINISHED}{}", object.rsplit('/').next().unwrap_or(object));
        mkdirat(&self.directory, FILES, Mode::RWXU).or_else(allow_existing)?;
        // Of a write that failed before: nobody else uses this name.
        let _ = unlinkat(&self.directory, &fresh, AtFlags::empty());
        let mut file = self.create(&fresh)?;
        let written = copy_whole(bytes, &mut file, size)
            .and_then(|()| file.sync_all())
            .and_then(|()| Ok(renameat(&self.directory, &fresh, &self.directory, object)?));
        if written.is_err() {
            let _ = unlinkat(&self.directory, &fresh, AtFlags::empty());
            return written;
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = openat(&self.directory, FILES, flags, Mode::empty())?;
        Ok(rustix::fs::fsync(folder)?)
    }

    fn remove(&self, object: &str) -> io::Result<()> {
        self.close(object);
        match unlinkat(&self.directory, object, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    //! If these fail, two nodes take one directory for two volumes, or a file is taken for whole
    //! that is not.
    use std::fs;

    use super::*;

    fn opened(path: &Path) -> DirectoryObjects {
        DirectoryObjects::open(path).expect("opened")
    }

    #[test]
    fn nodes_that_come_at_the_same_time_find_one_name() {
        for _ in 0..20 {
            let folder = tempfile::tempdir().expect("made");
            let claim = || opened(folder.path()).claim(folder.path()).expect("a name");
            let names = std::thread::scope(|scope| {
                let nodes = [(); 4].map(|()| scope.spawn(claim));
                nodes.map(|node| node.join().expect("no panic"))
            });
            assert!(names.iter().all(|name| *name == names[0]), "{names:?}");
            let left: Vec<_> = fs::read_dir(folder.path()).expect("listed").flatten().collect();
            assert_eq!(left.len(), 2, "{left:?}");
        }
    }

    #[test]
    fn a_directory_keeps_its_name_when_it_moves_and_others_are_left_alone() {
        let folder = tempfile::tempdir().expect("made");
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        fs::create_dir(&a).expect("made");
        let name = opened(&a).claim(&a).expect("a name");
        assert!(name.starts_with(&format!("file://{}?id=", a.display())), "{name}");
        fs::rename(&a, &b).expect("moved");
        assert_eq!(opened(&b).claim(&b).expect("a name"), name);
        let refused = opened(folder.path()).claim(folder.path()).expect_err("it has b");
        assert_eq!(
            (refused.kind(), refused.to_string().as_str()),
            (io::ErrorKind::DirectoryNotEmpty, "b")
        );
        fs::write(b.join(NOTE), "something else").expect("written");
        let odd = opened(&b).claim(&b).expect_err("no name");
        assert_eq!(odd.kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn files_come_back_whole_or_not_at_all() {
        let folder = tempfile::tempdir().expect("made");
        let store = opened(folder.path());
        let source = folder.path().join("source");
        let content: Vec<u8> = (0..3_000_001u32).map(|at| (at / 3) as u8).collect();
        fs::write(&source, &content).expect("written");
        let size = content.len() as u64;
        let file = File::open(&source).expect("opened");
        for wrong in [size - 1, size + 1] {
            let torn = store.write("files/1.2", wrong, &file).expect_err("another length");
            assert_eq!(torn.kind(), io::ErrorKind::InvalidData);
        }
        assert_eq!(fs::read_dir(folder.path().join(FILES)).expect("listed").count(), 0);
        store.write("files/1.2", size, &file).expect("written");
        let mode = fs::metadata(folder.path().join("files/1.2")).expect("there").permissions();
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777, 0o600);
        let read = |range: Range<u64>| {
            let (mut all, mut long) = (Vec::new(), 0);
            let mut take = |bytes: Bytes| {
                all.extend_from_slice(&bytes);
                Ok(())
            };
            store.stream_up_to("files/1.2", "1", range, &mut |size| long = size, &mut take)?;
            assert_eq!(long, size);
            Ok::<_, RequestError>(all)
        };
        assert!(read(5..size + 5).expect("read") == content[5..]);
        opened(folder.path()).remove("files/1.2").expect("by another node");
        store.remove("files/1.2").expect("again");
        let gone = read(0..1).expect_err("it is gone");
        assert_eq!(gone.kind, io::ErrorKind::NotFound);
    }
}
