//! Bytes of one object, as the readers of other formats want them: at any place, or in a row.

use std::error::Error as StdError;
use std::io::{Error as IoError, ErrorKind, Read, Result as IoResult, Seek, SeekFrom};
use std::sync::Arc;

use crate::error::{Error, Kind, Result};
use crate::objects::ObjectSource;

/// Bytes that tell what a file is.
const HEAD: u64 = 8;

/// Bytes that are looked at at a time.
const LOOK: u64 = 1 << 20;

/// An object, or the first part of it.
#[derive(Clone, Debug)]
pub(super) struct ObjectReader {
    objects: Arc<dyn ObjectSource>,
    name: Arc<str>,
    size: u64,
    at: u64,
}

impl ObjectReader {
    pub(super) fn open_object(objects: &Arc<dyn ObjectSource>, name: &str) -> Result<ObjectReader> {
        let size = objects.object_size(name)?;
        Ok(ObjectReader { objects: Arc::clone(objects), name: name.into(), size, at: 0 })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    pub(super) fn read_head(&self) -> Result<Vec<u8>> {
        self.objects.read_range(&self.name, 0, self.size.min(HEAD) as usize)
    }

    pub(super) fn read_range(&self, offset: u64, len: usize) -> Result<Vec<u8>> {
        self.objects.read_range(&self.name, offset, len)
    }

    /// The first part of it, up to where nothing but zeros follows; None if something else does, or
    /// nothing.
    pub(super) fn without_padding(&self, end: u64) -> Result<Option<ObjectReader>> {
        if end >= self.size {
            return Ok(None);
        }
        let mut at = end;
        while at < self.size {
            let len = (self.size - at).min(LOOK) as usize;
            if self.read_range(at, len)?.iter().any(|byte| *byte != 0) {
                return Ok(None);
            }
            at += len as u64;
        }
        Ok(Some(ObjectReader { size: end, ..self.clone() }))
    }

    fn read_into(&self, offset: u64, out: &mut [u8]) -> IoResult<usize> {
        let len = self.size.saturating_sub(offset).min(out.len() as u64) as usize;
        if len > 0 {
            let bytes = self.objects.read_range(&self.name, offset, len).map_err(IoError::other)?;
            out[..len].copy_from_slice(&bytes);
        }
        Ok(len)
    }
}

impl rapidgzip_core::ReadAt for ObjectReader {
    fn len(&self) -> IoResult<u64> {
        Ok(self.size)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> IoResult<usize> {
        self.read_into(offset, buffer)
    }
}

impl Read for ObjectReader {
    fn read(&mut self, out: &mut [u8]) -> IoResult<usize> {
        let got = self.read_into(self.at, out)?;
        self.at += got as u64;
        Ok(got)
    }
}

impl Seek for ObjectReader {
    fn seek(&mut self, to: SeekFrom) -> IoResult<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(more) => self.size.checked_add_signed(more),
            SeekFrom::Current(more) => self.at.checked_add_signed(more),
        };
        self.at = at.ok_or(ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

/// What another's reader says of a file: an error of the objects as they gave it, else `kind`.
pub(super) fn to_reads_error(kind: Kind, error: IoError) -> Error {
    if let Some(ours) = objects_error_in(&error) {
        return ours;
    }
    match error.kind() {
        ErrorKind::UnexpectedEof => Error::new(kind, "it is cut off (was it copied whole?)"),
        _ => Error::new(kind, format!("it is damaged: {error} (was it copied whole?)")),
    }
}

/// The error of the objects that another's has in it: they were not read, so nobody knows whether
/// they are damaged.
pub(super) fn objects_error_in(error: &(dyn StdError + 'static)) -> Option<Error> {
    find_error_in(error).map(|ours: &Error| Error::new(ours.kind, ours.message.clone()))
}

/// An error of some type in another, however deep.
pub(super) fn find_error_in<'a, T: StdError + 'static>(
    error: &'a (dyn StdError + 'static),
) -> Option<&'a T> {
    if let Some(found) = error.downcast_ref::<T>() {
        return Some(found);
    }
    // What an error of io is made of is no source of it.
    match error.downcast_ref::<IoError>().and_then(IoError::get_ref) {
        Some(inner) => find_error_in(inner),
        None => error.source().and_then(find_error_in),
    }
}

#[cfg(test)]
mod tests {
    //! A disk that refuses is no damage of the files on it.
    use super::*;

    #[test]
    fn what_objects_say_is_told_as_they_said_it() {
        let refused = || Error::io("x", ErrorKind::PermissionDenied.into());
        let deep = IoError::other(IoError::other(refused()));
        let found = to_reads_error(Kind::Damaged, deep);
        assert_eq!((found.kind, &found.message[..2]), (Kind::Io, "x:"));
        let theirs = to_reads_error(Kind::Damaged, IoError::other("bits"));
        assert_eq!(theirs.kind, Kind::Damaged);
        assert!(
            to_reads_error(Kind::Input, ErrorKind::UnexpectedEof.into())
                .message
                .contains("cut off")
        );
    }
}
