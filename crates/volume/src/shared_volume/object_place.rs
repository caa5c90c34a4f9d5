//! What a place for long files of a shared volume can do, and how they are read from there: a chunk
//! at a time by way of peers, the next ones ahead of a program that reads on.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use bytes::{Bytes, BytesMut};
use forebay_objstore::RequestError;
use forebay_sharing::ObjectStore;
use parking_lot::Mutex;

use crate::bucket::{PART, ReadParts, SharedParts};

/// Bytes that are asked for at once: what the kernel asks for at most.
const CHUNK: u64 = 1 << 20;
/// Chunks that are kept in memory.
const KEPT: usize = 96;
/// Chunks that come ahead of who reads on: three parts of eight, so that four requests to the bucket are
/// under way for one program. A file's second chunk brings fewer: many a program reads no more.
const AHEAD: u64 = 24;
/// Chunks on their way ahead of all readers, at most.
const AHEAD_OF_ALL: usize = 48;
/// Parts of one file that are brought at a time.
const WARMED_AT_ONCE: usize = 4;
/// What peers call the state of an object: none ever has another.
const VERSION: &str = "1";

/// Where objects lie. They are written once, whole, and never changed.
pub(super) trait ObjectPlace: ReadParts {
    /// As [`ObjectStore::write`].
    fn write(&self, object: &str, size: u64, bytes: &File) -> io::Result<()>;
    /// As [`ObjectStore::remove`].
    fn remove(&self, object: &str) -> io::Result<()>;
}

pub(super) fn as_io_error(failed: RequestError) -> io::Error {
    io::Error::new(failed.kind, failed.why)
}

/// Objects of a place, read by way of peers.
#[derive(Debug)]
pub(super) struct SharedObjects {
    place: Arc<dyn ObjectPlace>,
    reader: Arc<ObjectReader>,
}

impl SharedObjects {
    pub(super) fn new(place: Arc<dyn ObjectPlace>, parts: Arc<SharedParts>) -> SharedObjects {
        let (chunks, ahead) = (Mutex::default(), AtomicUsize::new(0));
        SharedObjects { place, reader: Arc::new(ObjectReader { parts, chunks, ahead }) }
    }
}

impl SharedObjects {
    /// Brings all parts of an object of `size` bytes to this node's disk, and counts bytes as they come.
    ///
    /// # Errors
    /// As [`ObjectStore::read`]; StorageFull.
    pub(super) fn warm(&self, object: &str, size: u64, came: &AtomicU64) -> io::Result<()> {
        let next = AtomicU64::new(0);
        let bring = || {
            loop {
                let number = next.fetch_add(1, Relaxed);
                let Some(left) = size.checked_sub(number * PART).filter(|left| *left > 0) else {
                    return Ok(());
                };
                self.reader.parts.keep((object, VERSION), size, number).map_err(as_io_error)?;
                came.fetch_add(left.min(PART), Relaxed);
            }
        };
        std::thread::scope(|scope| {
            let all: Vec<_> = (0..WARMED_AT_ONCE).map(|_| scope.spawn(bring)).collect();
            all.into_iter()
                .try_for_each(|one| one.join().unwrap_or(Err(io::ErrorKind::Other.into())))
        })
    }
}

impl ObjectStore for SharedObjects {
    fn write(&self, object: &str, size: u64, bytes: &File) -> io::Result<()> {
        self.place.write(object, size, bytes)
    }

    fn read(&self, object: &str, size: u64, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let end = size.min(offset.saturating_add(length as u64));
        let mut read = Vec::with_capacity(usize::try_from(end.saturating_sub(offset)).unwrap_or(0));
        let mut at = offset;
        while at < end {
            let number = at / CHUNK;
            let chunk = self.reader.read_chunk(object, size, number).map_err(as_io_error)?;
            self.reader.read_ahead(object, size, number);
            let from = (at % CHUNK) as usize;
            let to = chunk.len().min(from + (end - at) as usize);
            let piece = chunk.get(from..to).filter(|piece| !piece.is_empty());
            let piece = piece.ok_or(io::ErrorKind::UnexpectedEof)?;
            read.extend_from_slice(piece);
            at += piece.len() as u64;
        }
        Ok(read)
    }

    fn remove(&self, object: &str) -> io::Result<()> {
        self.place.remove(object)
    }
}

/// A chunk of an object: filled by who asks first, while others wait.
type Chunk = Arc<Mutex<Option<Bytes>>>;

#[derive(Debug)]
struct ObjectReader {
    parts: Arc<SharedParts>,
    /// By object and number of the chunk, the one that was read last at the end.
    chunks: Mutex<VecDeque<((String, u64), Chunk)>>,
    /// How many are on their way before somebody asked.
    ahead: AtomicUsize,
}

impl ObjectReader {
    fn is_known(&self, object: &str, number: u64) -> bool {
        self.chunks.lock().iter().any(|((name, at), _)| *at == number && name == object)
    }

    fn chunk(&self, object: &str, number: u64) -> Chunk {
        let mut chunks = self.chunks.lock();
        let known = chunks.iter().position(|((name, at), _)| *at == number && name == object);
        let found = known.and_then(|at| chunks.remove(at));
        let found = found.unwrap_or_else(|| ((object.to_owned(), number), Chunk::default()));
        let chunk = Arc::clone(&found.1);
        chunks.push_back(found);
        if chunks.len() > KEPT {
            chunks.pop_front();
        }
        chunk
    }

    fn read_chunk(&self, object: &str, size: u64, number: u64) -> Result<Bytes, RequestError> {
        let chunk = self.chunk(object, number);
        let mut chunk = chunk.lock();
        if let Some(bytes) = &*chunk {
            return Ok(bytes.clone());
        }
        let start = number * CHUNK;
        let mut read = BytesMut::with_capacity(CHUNK.min(size - start) as usize);
        let range = start..size.min(start + CHUNK);
        self.parts.stream(object, VERSION, range, &mut |bytes| {
            read.extend_from_slice(&bytes);
            Ok(())
        })?;
        let bytes = read.freeze();
        *chunk = Some(bytes.clone());
        Ok(bytes)
    }

    /// Who read the chunk before this one reads on, most likely. What does not come ahead comes when it
    /// is asked for, or fails then.
    fn read_ahead(self: &Arc<Self>, object: &str, size: u64, number: u64) {
        let reads_on = number > 0 && self.is_known(object, number - 1);
        let last = number + if reads_on { AHEAD.min(2 * number) } else { 0 };
        for next in (number + 1..=last).take_while(|next| next * CHUNK < size) {
            if self.is_known(object, next) {
                continue;
            }
            if self.ahead.fetch_add(1, Relaxed) >= AHEAD_OF_ALL {
                self.ahead.fetch_sub(1, Relaxed);
                return;
            }
            // So that nobody else begins to bring it.
            drop(self.chunk(object, next));
            let (reader, object) = (Arc::clone(self), object.to_owned());
            let bring = move || {
                // Who needs it asks again, and hears why.
                let _ = reader.read_chunk(&object, size, next);
                reader.ahead.fetch_sub(1, Relaxed);
            };
            if std::thread::Builder::new().name("forebay-ahead".into()).spawn(bring).is_err() {
                self.ahead.fetch_sub(1, Relaxed);
            }
        }
    }
}
