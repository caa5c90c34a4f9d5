//! Files of a shared volume come to this node's disk before programs ask for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use forebay_book::{EntryName, FileKind, FolderId, InodeNumber};
use forebay_sharing::{BytesPlace, Seen};
use rustix::io::Errno;

use super::SharedMount;
use crate::warm::{BytesHere, FoundFile, WarmSource};

/// A file that another node alone has is waited for: it goes to the bucket half a second after it was
/// closed, and nobody's disk but its own has it before.
const LOOKS: u32 = 300;
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);

/// Something that was looked up, as the kernel does it; forgotten at the end.
struct Found<'a> {
    mount: &'a SharedMount,
    seen: Seen,
}

impl Drop for Found<'_> {
    fn drop(&mut self) {
        self.mount.node.forget(self.seen.file, 1);
    }
}

impl SharedMount {
    fn look_up(&self, folder: InodeNumber, name: &EntryName) -> Result<Found<'_>, Errno> {
        let seen = self.node.look_up(FolderId(folder.0), name)?.ok_or(Errno::NOENT)?;
        Ok(Found { mount: self, seen })
    }

    /// What is at a path; `None`: the root.
    fn find(&self, path: &[u8]) -> Result<Option<Found<'_>>, Errno> {
        let names = path.split(|byte| *byte == b'/').filter(|name| !name.is_empty());
        let mut at: Option<Found<'_>> = None;
        for name in names {
            let folder = at.as_ref().map_or(FolderId::ROOT.inode(), |found| found.seen.file);
            if at.as_ref().is_some_and(|found| found.seen.kind != FileKind::Folder) {
                return Err(Errno::NOTDIR);
            }
            let name = EntryName::new(name).map_err(|_| Errno::INVAL)?;
            at = Some(self.look_up(folder, &name)?);
        }
        Ok(at)
    }

    /// A file is handed over; of a folder the files are, and its folders returned.
    fn look_at(
        &self,
        path: &[u8],
        found: &mut dyn FnMut(FoundFile),
    ) -> Result<Vec<Vec<u8>>, Errno> {
        let at = self.find(path)?;
        let folder = match &at {
            Some(Found { seen, .. }) if seen.kind == FileKind::Regular => {
                found(FoundFile { path: path.to_vec(), size: seen.size });
                return Ok(Vec::new());
            }
            Some(Found { seen, .. }) if seen.kind != FileKind::Folder => return Ok(Vec::new()),
            Some(Found { seen, .. }) => seen.file,
            None => FolderId::ROOT.inode(),
        };
        let mut below = Vec::new();
        for listed in self.node.list(FolderId(folder.0))? {
            let name = listed.name.as_bytes();
            let inner = if path.is_empty() { name.to_vec() } else { [path, b"/", name].concat() };
            match listed.kind {
                FileKind::Folder => below.push(inner),
                FileKind::Regular => match self.look_up(folder, &listed.name) {
                    Ok(file) => found(FoundFile { path: inner, size: file.seen.size }),
                    // It was removed meanwhile.
                    Err(Errno::NOENT) => {}
                    Err(errno) => return Err(errno),
                },
                _ => {}
            }
        }
        Ok(below)
    }
}

impl WarmSource for SharedMount {
    fn for_each_file(
        &self,
        path: &[u8],
        found: &mut dyn FnMut(FoundFile),
        failed: &mut dyn FnMut(&[u8], Errno),
    ) {
        let names = path.split(|byte| *byte == b'/').filter(|name| !name.is_empty());
        let mut todo = vec![names.collect::<Vec<_>>().join(&b'/')];
        while let Some(path) = todo.pop() {
            match self.look_at(&path, found) {
                Ok(below) => todo.extend(below),
                Err(errno) => failed(&path, errno),
            }
        }
    }

    fn bring_file(&self, path: &[u8], begin: &mut dyn FnMut(BytesHere)) -> Result<(), Errno> {
        for _ in 0..LOOKS {
            let file = self.find(path)?.ok_or(Errno::ISDIR)?;
            match self.node.bytes_place(file.seen.file) {
                BytesPlace::Here => return Ok(()),
                BytesPlace::Object { name, size } => {
                    let came = Arc::new(AtomicU64::new(0));
                    let here = Arc::clone(&came);
                    begin(Arc::new(move || here.load(Relaxed)));
                    return self.objects.warm(&name, size, &came).map_err(|error| {
                        tracing::warn!("{name} does not come to this node: {error}");
                        Errno::from_io_error(&error).unwrap_or(match error.kind() {
                            std::io::ErrorKind::StorageFull => Errno::NOSPC,
                            std::io::ErrorKind::NotFound => Errno::STALE,
                            _ => Errno::IO,
                        })
                    });
                }
                BytesPlace::Elsewhere => {
                    drop(file);
                    std::thread::sleep(BETWEEN_LOOKS);
                }
            }
        }
        Err(Errno::TIMEDOUT)
    }
}
