//! Bytes to be packed, before anything is known of them but their name.

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::Path;

use super::unpack::read_up_to;
use crate::error::{Error, Kind, Result};

/// What has to be read to tell one sort from another: the longest block that BGZF may have.
const LOOK: usize = 64 << 10;

/// Something that is open, and what people call it.
pub struct RawInput {
    pub(crate) name: String,
    pub(crate) read: Box<dyn Read + Send>,
}

/// What a source is by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputFormat {
    /// BAM, packed as it always is.
    Bam,
    /// CRAM.
    Cram,
    /// An archive of SRA.
    Sra,
    /// FASTQ, for all that is known.
    Text,
}

impl std::fmt::Debug for RawInput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source").field("name", &self.name).finish_non_exhaustive()
    }
}

impl RawInput {
    /// Opens a file; `-` is standard input.
    ///
    /// # Errors
    /// It can't be opened, or is a directory.
    pub fn open(path: &Path) -> Result<RawInput> {
        if path == Path::new("-") {
            return Ok(RawInput::new("standard input", Box::new(std::io::stdin())));
        }
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| Error::io(&name, error))?;
        if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
            return Err(Error::new(Kind::Input, format!("{name} is a directory")));
        }
        Ok(RawInput::new(name, Box::new(file)))
    }

    /// Takes what is open.
    pub fn new(name: impl Into<String>, read: Box<dyn Read + Send>) -> RawInput {
        RawInput { name: name.into(), read }
    }

    /// Looks at the first bytes, which stay where they are.
    ///
    /// # Errors
    /// Reading fails.
    pub fn detect_format(self) -> Result<(InputFormat, RawInput)> {
        let RawInput { name, mut read } = self;
        let head = read_up_to(&mut read, LOOK).map_err(|error| Error::io(&name, error))?;
        let mut first = [0; 4];
        let mut gzip = flate2::read::MultiGzDecoder::new(&head[..]);
        let looks = match &head[..] {
            [b'C', b'R', b'A', b'M', ..] => InputFormat::Cram,
            [b'N', b'C', b'B', b'I', b'.', b's', b'r', b'a', ..] => InputFormat::Sra,
            [0x1f, 0x8b, ..] if gzip.read_exact(&mut first).is_ok() && first == *b"BAM\x01" => {
                InputFormat::Bam
            }
            _ => InputFormat::Text,
        };
        Ok((looks, RawInput { name, read: Box::new(Cursor::new(head).chain(read)) }))
    }
}
