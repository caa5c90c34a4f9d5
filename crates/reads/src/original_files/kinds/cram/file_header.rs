//! What stands in a CRAM before its reads.

use std::io::{BufReader, Read as _, Seek};

use noodles_cram::io::Reader;
use noodles_sam::Header;

use crate::error::{Error, Kind, Result};
use crate::original_files::object_reader::{ObjectReader, to_reads_error};
use crate::spots::{is_coordinate_sorted, is_written_by_forebay};

/// Bytes that are read at a time.
const BUFFER: usize = 256 << 10;

/// What stands at the front of a file.
pub(super) struct CramHeader {
    pub(super) header: Header,
    /// The tag with rests of names is ours.
    pub(super) ours: bool,
    pub(super) by_place: bool,
}

pub(super) type CramStream = Reader<BufReader<ObjectReader>>;

/// Reads up to the first container of reads.
pub(super) fn open_at_reads(bytes: &ObjectReader) -> Result<(CramStream, CramHeader)> {
    let said = |error| to_reads_error(Kind::Input, error);
    let mut reader = Reader::new(BufReader::with_capacity(BUFFER, bytes.clone()));
    let definition = reader.read_file_definition().map_err(said)?;
    if definition.version().major() != 3 {
        let words = format!("it is CRAM of version {}", definition.version().major());
        return Err(Error::new(Kind::Request, words));
    }
    reader.get_mut().rewind().map_err(said)?;
    let mut text = String::new();
    {
        let mut head = reader.header_reader();
        head.read_magic_number().map_err(said)?;
        head.read_format_version().map_err(said)?;
        head.read_file_id().map_err(said)?;
        let mut container = head.container_reader().map_err(said)?;
        let mut lines = container.raw_sam_header_reader().map_err(said)?;
        lines.read_to_string(&mut text).map_err(said)?;
        lines.discard_to_end().map_err(said)?;
        drop(lines);
        container.discard_to_end().map_err(said)?;
    }
    let header = text
        .parse()
        .map_err(|error| Error::new(Kind::Request, format!("its header can't be read: {error}")))?;
    Ok((
        reader,
        CramHeader {
            header,
            ours: is_written_by_forebay(&text),
            by_place: is_coordinate_sorted(&text),
        },
    ))
}
