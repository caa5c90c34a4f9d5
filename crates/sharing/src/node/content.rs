//! Bytes of files: in memory, on this node's disk, in the book, or on another node.

use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use forebay_book::{FileBytes, FileKind, InodeNumber, NodeId};
use rustix::io::Errno;

use super::SharedNode;
use super::state::{Body, File, State};
use crate::Result;
use crate::bodies::{read_at, slice};
use crate::messages::{Answer, BYTES_MOST, Question};

/// Bodies up to so many bytes stay in memory until they are published, and go into the book. Longer
/// ones lie on the disk of the node that wrote them.
pub const IN_MEMORY_MOST: usize = 32 << 10;

/// How often bytes are looked for that are brought elsewhere meanwhile.
const MOVES: u32 = 4;

/// Where the bytes of a file are, for whoever keeps some of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BytesPlace {
    /// In memory, in the book, or on this node's disk.
    Here,
    /// In the bucket.
    Object {
        /// The object's name.
        name: String,
        /// Its bytes.
        size: u64,
    },
    /// On another node alone.
    Elsewhere,
}

/// Where bytes are to be read.
enum Place {
    Here(Vec<u8>),
    Disk(Arc<std::fs::File>),
    Node(NodeId),
    Bucket(String, u64),
}

impl SharedNode {
    /// Bytes of a file; fewer than asked for where it ends.
    ///
    /// # Errors
    /// EIO: the node that has them does not answer, or they were lost. ESTALE.
    pub fn read(&self, number: InodeNumber, offset: u64, length: usize) -> Result<Vec<u8>> {
        for _ in 0..MOVES {
            let place = {
                let mut state = self.state.lock();
                self.place_of(&mut state, number, offset, length)?
            };
            let read = match place {
                Place::Here(bytes) => return Ok(bytes),
                Place::Disk(file) => {
                    return read_at(&file, offset, length).map_err(|error| disk_error(&error));
                }
                Place::Node(node) => self.read_from(node, number, offset, length)?,
                Place::Bucket(object, size) => {
                    self.read_object(number, &object, size, (offset, length))?
                }
            };
            if let Some(bytes) = read {
                return Ok(bytes);
            }
            // They were brought elsewhere since this node heard of it.
            self.refresh_place(number)?;
        }
        tracing::warn!("nobody has the bytes of file {number} that the book speaks of");
        Err(Errno::IO)
    }

    /// Where the bytes of a file are now. As long as they are in one object, they are the same.
    #[must_use]
    pub fn bytes_place(&self, number: InodeNumber) -> BytesPlace {
        let state = self.state.lock();
        let Some(file) = state.files.get(&number) else { return BytesPlace::Elsewhere };
        match (&file.body, &file.record.bytes) {
            (Body::Published, FileBytes::InBucket { object, .. })
                if !file.is_lost && !state.has_copy(number, object) =>
            {
                BytesPlace::Object { name: object.clone(), size: file.record.size }
            }
            (Body::Published, FileBytes::OnNode(node)) if *node != state.me() => {
                BytesPlace::Elsewhere
            }
            _ => BytesPlace::Here,
        }
    }

    /// The same of bytes that are on this node.
    pub(super) fn read_here(
        &self,
        number: InodeNumber,
        offset: u64,
        length: usize,
    ) -> Result<Vec<u8>> {
        let place = {
            let mut state = self.state.lock();
            match state.files.contains_key(&number) {
                true => self.place_of(&mut state, number, offset, length)?,
                // They may have gone to the bucket since the other node heard of them.
                false => {
                    Place::Disk(Arc::new(self.bodies.open_file(number).map_err(|_| Errno::NODATA)?))
                }
            }
        };
        match place {
            Place::Here(bytes) => Ok(bytes),
            Place::Disk(file) => read_at(&file, offset, length).map_err(|error| disk_error(&error)),
            Place::Node(_) | Place::Bucket(..) => Err(Errno::NODATA),
        }
    }

    fn place_of(
        &self,
        state: &mut State,
        number: InodeNumber,
        offset: u64,
        length: usize,
    ) -> Result<Place> {
        let me = state.me();
        let known = state.files.get(&number).ok_or(Errno::STALE)?;
        let is_copied = match &known.record.bytes {
            FileBytes::InBucket { object, .. } => state.has_copy(number, object),
            _ => false,
        };
        let file = state.files.get_mut(&number).ok_or(Errno::STALE)?;
        if file.is_lost {
            return Err(Errno::IO);
        }
        Ok(match (&file.body, &file.record.bytes) {
            (Body::Memory(body), _) => Place::Here(slice(body, offset, length)),
            (Body::Published, FileBytes::None) => Place::Here(Vec::new()),
            (Body::Published, FileBytes::InBook(body)) => Place::Here(slice(body, offset, length)),
            (Body::Published, FileBytes::InBucket { object, .. }) if !is_copied => {
                Place::Bucket(object.clone(), file.record.size)
            }
            (Body::Published, FileBytes::OnNode(node)) if *node != me => Place::Node(*node),
            (Body::Local | Body::Published, _) => {
                let left = file.record.size.saturating_sub(offset);
                match left {
                    0 => Place::Here(Vec::new()),
                    _ => Place::Disk(self.local_file(file)?),
                }
            }
        })
    }

    /// The descriptor of a file's bytes on this disk; kept while somebody has it open.
    fn local_file(&self, file: &mut File) -> Result<Arc<std::fs::File>> {
        if let Some(open) = &file.local {
            return Ok(Arc::clone(open));
        }
        let opened =
            self.bodies.open_file(file.record.inode).map_err(|error| disk_error(&error))?;
        let opened = Arc::new(opened);
        if file.opens > 0 {
            file.local = Some(Arc::clone(&opened));
        }
        Ok(opened)
    }

    fn read_from(
        &self,
        node: NodeId,
        number: InodeNumber,
        offset: u64,
        length: usize,
    ) -> Result<Option<Vec<u8>>> {
        let length = u32::try_from(length).unwrap_or(u32::MAX).min(BYTES_MOST);
        match self.ask_node(node, &Question::Bytes { file: number, offset, length })? {
            Answer::Bytes(mut bytes) => {
                // Whoever sends more than was asked for is not believed in that.
                bytes.truncate(length as usize);
                Ok(Some(bytes))
            }
            _ => Ok(None),
        }
    }

    /// Makes the bytes of a file ones that can be changed here; its folder is held. Those that are
    /// elsewhere come first, up to `keep`.
    fn bring(&self, number: InodeNumber, keep: u64) -> Result<()> {
        {
            let mut state = self.state.lock();
            let me = state.me();
            let known = state.files.get(&number).ok_or(Errno::STALE)?;
            let is_copied = match &known.record.bytes {
                FileBytes::InBucket { object, .. } => state.has_copy(number, object),
                _ => false,
            };
            state.note_bytes_change(number);
            let file = state.files.get_mut(&number).ok_or(Errno::STALE)?;
            if file.is_lost {
                return Err(Errno::IO);
            }
            if matches!(file.body, Body::Published)
                && let FileBytes::InBucket { object, .. } = &file.record.bytes
                && !file.replaced.contains(object)
            {
                file.replaced.push(object.clone());
            }
            match (&file.body, &mut file.record.bytes) {
                (Body::Local | Body::Published, bytes)
                    if keep == 0 && !matches!(bytes, FileBytes::None | FileBytes::InBook(_)) =>
                {
                    // What the disk has of it stays: the book may lead to it still.
                    (file.body, file.local) = (Body::Memory(Vec::new()), None);
                    return Ok(());
                }
                (Body::Memory(_) | Body::Local, _) => return Ok(()),
                (Body::Published, FileBytes::None) => {
                    file.body = Body::Memory(Vec::new());
                    return Ok(());
                }
                (Body::Published, FileBytes::InBook(body)) => {
                    file.body = Body::Memory(body.clone());
                    return Ok(());
                }
                (Body::Published, FileBytes::InBucket { .. }) if is_copied => {
                    file.body = Body::Local;
                    return Ok(());
                }
                (Body::Published, FileBytes::OnNode(node)) if *node == me => {
                    file.body = Body::Local;
                    return Ok(());
                }
                (Body::Published, _) => {}
            }
        }
        let made = self.bodies.create(number, b"").map_err(|error| disk_error(&error))?;
        let mut have = 0;
        while have < keep {
            let want = usize::try_from(keep - have).unwrap_or(usize::MAX).min(BYTES_MOST as usize);
            let bytes = self.read(number, have, want)?;
            if bytes.is_empty() {
                break;
            }
            made.write_all_at(&bytes, have).map_err(|error| disk_error(&error))?;
            have += bytes.len() as u64;
        }
        let mut state = self.state.lock();
        let file = state.files.get_mut(&number).ok_or(Errno::STALE)?;
        file.record.size = have;
        (file.body, file.local) = (Body::Local, Some(Arc::new(made)));
        Ok(())
    }

    /// Cuts a file, or makes it longer by zeros; its folder is held.
    pub(super) fn truncate(&self, number: InodeNumber, size: u64) -> Result<()> {
        let kind = self.state.lock().files.get(&number).ok_or(Errno::STALE)?.record.kind;
        match kind {
            FileKind::Regular => {}
            FileKind::Folder => return Err(Errno::ISDIR),
            _ => return Err(Errno::INVAL),
        }
        self.bring(number, size)?;
        let mut state = self.state.lock();
        let file = state.files.get_mut(&number).ok_or(Errno::STALE)?;
        if let Body::Memory(body) = &mut file.body {
            if size <= IN_MEMORY_MOST as u64 {
                body.resize(size as usize, 0);
                return Ok(());
            }
            self.spill(file)?;
        }
        let open = self.local_file(file)?;
        open.set_len(size).map_err(|error| disk_error(&error))?;
        file.record.size = size;
        Ok(())
    }

    /// Writes bytes; the file's folder is held, or it is away.
    pub(super) fn write_bytes(&self, number: InodeNumber, offset: u64, bytes: &[u8]) -> Result<()> {
        self.bring(number, u64::MAX)?;
        let end = offset.checked_add(bytes.len() as u64).ok_or(Errno::FBIG)?;
        let open = {
            let mut state = self.state.lock();
            let file = state.files.get_mut(&number).ok_or(Errno::STALE)?;
            if let Body::Memory(body) = &mut file.body {
                if end <= IN_MEMORY_MOST as u64 {
                    let (start, end) = (offset as usize, end as usize);
                    if body.len() < end {
                        body.resize(end, 0);
                    }
                    body[start..end].copy_from_slice(bytes);
                    return Ok(());
                }
                self.spill(file)?;
            }
            let open = self.local_file(file)?;
            // Who sends its bytes to the bucket meanwhile sends them again.
            file.writing += 1;
            open
        };
        let written = open.write_all_at(bytes, offset).map_err(|error| disk_error(&error));
        let mut state = self.state.lock();
        let file = state.files.get_mut(&number).ok_or(Errno::STALE)?;
        file.writing = file.writing.saturating_sub(1);
        written?;
        file.record.size = file.record.size.max(end);
        Ok(())
    }

    /// Brings a body that grew too long from memory to the disk.
    fn spill(&self, file: &mut File) -> Result<()> {
        let Body::Memory(body) = &file.body else { return Ok(()) };
        let made =
            self.bodies.create(file.record.inode, body).map_err(|error| disk_error(&error))?;
        file.record.size = body.len() as u64;
        (file.body, file.local) = (Body::Local, Some(Arc::new(made)));
        Ok(())
    }

    /// Makes the bytes of a file safe on this node's disk, if they are there.
    pub(super) fn sync_bytes(&self, number: InodeNumber) -> Result<()> {
        let open = {
            let mut state = self.state.lock();
            let file = state.files.get_mut(&number).ok_or(Errno::STALE)?;
            match file.body {
                Body::Local => self.local_file(file)?,
                Body::Memory(_) | Body::Published => return Ok(()),
            }
        };
        open.sync_data().map_err(|error| disk_error(&error))
    }
}

/// What a program is told when this node's disk fails. Bytes that should be there and are not are no
/// missing name.
fn disk_error(error: &io::Error) -> Errno {
    tracing::warn!("bytes of a file on this node's disk, below --state: {error}");
    match error.kind() {
        io::ErrorKind::NotFound => Errno::IO,
        _ => Errno::from_io_error(error).unwrap_or(Errno::IO),
    }
}
