//! Files of an archive of reads: no descriptor has their bytes, which are decoded as they are read.
//! All else of them (names, owner, mode, times, locks) is that of an empty file.

use std::sync::Arc;

use forebay_reads::Face;
use rustix::fs::Statx;

use super::{Handle, Native, Result};
use crate::reads::Shown;

impl Native {
    /// Says that the directory shows an archive of reads.
    #[must_use]
    pub(crate) fn with_reads(mut self, reads: Option<Arc<Shown>>) -> Native {
        self.reads = reads;
        self
    }

    pub(crate) fn reads(&self) -> Option<&Arc<Shown>> {
        self.reads.as_ref()
    }

    /// What a file that was opened is decoded from.
    pub(super) fn face_of(&self, stat: &Statx) -> Option<Arc<Face>> {
        self.reads.as_ref()?.face(stat.stx_ino).cloned()
    }

    /// Gives a file the length that its bytes will have.
    pub(super) fn as_long_as_shown(&self, stat: &mut Statx) {
        self.reads.iter().for_each(|reads| reads.dress(stat));
    }

    /// Decodes bytes of a file; `None`: it is one of the others.
    pub(super) fn decode(
        &self,
        handle: &Handle,
        buffer: &mut [u8],
        offset: u64,
    ) -> Option<Result<usize>> {
        let (reads, face) = (self.reads.as_ref()?, handle.face.as_ref()?);
        Some(self.credentials.as_daemon(|| reads.read(face, offset, buffer)))
    }
}
