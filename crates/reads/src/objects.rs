//! Where the objects of an archive lie: a directory, memory, or wherever else a caller knows to
//! fetch them from. An object is written once and read in ranges, which is all that a bucket has to
//! be able to do.

mod directory;

use std::collections::BTreeMap;

use crate::error::{Error, Kind, Result};
pub use directory::DirectoryObjects;

/// Some bytes of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectRange<'a> {
    /// The object.
    pub name: &'a str,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub len: usize,
}

/// Objects by name.
pub trait ObjectSource: Send + Sync + std::fmt::Debug {
    /// How long an object is.
    ///
    /// # Errors
    /// There is none, or it can't be looked at.
    fn object_size(&self, name: &str) -> Result<u64>;

    /// Exactly `len` bytes of an object.
    ///
    /// # Errors
    /// [`Kind::Damaged`] if it is shorter or missing, [`Kind::Io`] if the storage refuses.
    fn read_range(&self, name: &str, offset: u64, len: usize) -> Result<Vec<u8>>;

    /// Some parts, in their order: what is needed for one group, three of each mate at most. Where
    /// a question takes long, ask for all at a time.
    ///
    /// # Errors
    /// As [`ObjectSource::read_range`].
    fn read_parts(&self, parts: &[ObjectRange<'_>]) -> Result<Vec<Vec<u8>>> {
        parts.iter().map(|part| self.read_range(part.name, part.offset, part.len)).collect()
    }

    /// Parts that are most likely asked for soon, those wanted first in front. Where a question
    /// takes long, begin to fetch them.
    fn prefetch_parts(&self, _parts: &[ObjectRange<'_>]) {}

    /// Whether what was read once is soon read again, as from files of this machine.
    fn is_near(&self) -> bool {
        false
    }

    /// These parts are not what was written: whether asking again may help. On their way bytes
    /// change by chance; where they lie they stay wrong.
    fn can_retry_damaged(&self, _parts: &[ObjectRange<'_>]) -> bool {
        false
    }
}

/// How often bytes are asked for that are not those that were written.
const LOOKS: usize = 4;

/// What `take` makes of parts of objects. Where it finds them damaged they are asked for again, if
/// that may help.
pub(crate) fn read_with_retry<R>(
    objects: &dyn ObjectSource,
    parts: &[ObjectRange<'_>],
    take: impl Fn(Vec<Vec<u8>>) -> Result<R>,
) -> Result<R> {
    for _ in 1..LOOKS {
        let taken = take(objects.read_parts(parts)?);
        let is_wrong = taken.as_ref().is_err_and(|error| error.kind == Kind::Damaged);
        if !is_wrong || !objects.can_retry_damaged(parts) {
            return taken;
        }
    }
    take(objects.read_parts(parts)?)
}

/// Objects in memory.
#[derive(Clone, Debug, Default)]
pub struct MemoryObjects(
    /// All of them.
    pub BTreeMap<String, Vec<u8>>,
);

impl ObjectSource for MemoryObjects {
    fn object_size(&self, name: &str) -> Result<u64> {
        self.0.get(name).map(|bytes| bytes.len() as u64).ok_or_else(|| missing_object_error(name))
    }

    fn read_range(&self, name: &str, offset: u64, len: usize) -> Result<Vec<u8>> {
        let bytes = self.0.get(name).ok_or_else(|| missing_object_error(name))?;
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let range = start..start.saturating_add(len);
        Ok(bytes.get(range).ok_or_else(|| short_object_error(name, offset, len))?.to_vec())
    }
}

fn missing_object_error(name: &str) -> Error {
    Error::new(Kind::Damaged, format!("{name} is missing"))
}

fn short_object_error(name: &str, offset: u64, len: usize) -> Error {
    let end = offset.saturating_add(len as u64);
    Error::new(Kind::Damaged, format!("{name} ends before byte {end}"))
}
