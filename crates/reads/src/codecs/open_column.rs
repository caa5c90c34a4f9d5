//! A column that is decoded as far as can be before somebody says where its letters go: bases as
//! bits, qualities as units. A text is put together of those in one pass.

use std::fmt::Debug;
use std::sync::Arc;

use super::ColumnShape;
use crate::error::{Error, Result};
use crate::kept_bytes::KeptBytes;

/// Bytes behind a read that are written, too, whatever they were.
pub(crate) const SLACK: usize = 8;

/// What becomes letters only when they are written.
pub(crate) trait LetterSource: Debug {
    /// Puts the next read, which has `len` letters, at the front of `to`, which has room for
    /// [`SLACK`] bytes more; these are anything then.
    ///
    /// # Errors
    /// There are no such letters.
    fn write_read(&mut self, to: &mut [u8], len: usize) -> Result<()>;

    /// Passes over the first reads, which have so many letters each.
    ///
    /// # Errors
    /// There are no such letters.
    fn skip_reads(&mut self, lengths: &[u32]) -> Result<()>;

    /// The bits of all bases, if that is what they are made of.
    fn share_bits(&self) -> Option<Arc<KeptBytes>> {
        None
    }
}

/// A column, read by read.
#[derive(Debug)]
pub(crate) enum OpenColumn {
    /// All bytes, and how many were taken.
    Whole(Vec<u8>, usize),
    /// One byte, again and again.
    Same(u8),
    Letters(Box<dyn LetterSource>),
}

impl OpenColumn {
    pub(super) fn whole(bytes: Vec<u8>) -> OpenColumn {
        OpenColumn::Whole(bytes, 0)
    }

    pub(super) fn letters(source: impl LetterSource + 'static) -> OpenColumn {
        OpenColumn::Letters(Box::new(source))
    }

    /// The bits of all bases, if it is made of such.
    pub(crate) fn share_bits(&self) -> Option<Arc<KeptBytes>> {
        match self {
            OpenColumn::Letters(source) => source.share_bits(),
            _ => None,
        }
    }

    /// Whether it has as many bytes as were promised.
    pub(super) fn check_len(&self, shape: &ColumnShape<'_>) -> Result<()> {
        let found = match self {
            OpenColumn::Whole(bytes, _) => bytes.len(),
            OpenColumn::Same(_) => shape.raw_len,
            _ => shape.lengths.iter().map(|len| *len as usize).sum(),
        };
        match found == shape.raw_len {
            true => Ok(()),
            false => Err(Error::damaged(format!("{found} bytes, {} were promised", shape.raw_len))),
        }
    }

    /// As [`LetterSource::write_read`].
    #[inline]
    pub(crate) fn write_read(&mut self, to: &mut [u8], len: usize) -> Result<()> {
        match self {
            OpenColumn::Whole(bytes, at) => {
                let letters = bytes.get(*at..*at + len);
                let letters = letters.ok_or_else(|| Error::damaged("a column ends too early"))?;
                to[..len].copy_from_slice(letters);
                *at += len;
            }
            OpenColumn::Same(byte) => to[..len].fill(*byte),
            OpenColumn::Letters(source) => source.write_read(to, len)?,
        }
        Ok(())
    }

    /// As [`LetterSource::skip_reads`].
    pub(crate) fn skip_reads(&mut self, lengths: &[u32]) -> Result<()> {
        match self {
            OpenColumn::Whole(_, at) => {
                *at += lengths.iter().map(|len| *len as usize).sum::<usize>();
                Ok(())
            }
            OpenColumn::Same(_) => Ok(()),
            OpenColumn::Letters(source) => source.skip_reads(lengths),
        }
    }

    /// All of it.
    pub(crate) fn into_bytes(mut self, shape: &ColumnShape<'_>) -> Result<Vec<u8>> {
        match self {
            OpenColumn::Whole(bytes, _) => return Ok(bytes),
            OpenColumn::Same(byte) => return Ok(vec![byte; shape.raw_len]),
            _ => {}
        }
        let (mut raw, mut at) = (vec![0; shape.raw_len + SLACK], 0);
        for len in shape.lengths {
            self.write_read(&mut raw[at..], *len as usize)?;
            at += *len as usize;
        }
        raw.truncate(shape.raw_len);
        Ok(raw)
    }
}
