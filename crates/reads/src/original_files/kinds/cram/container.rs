//! Texts of a container, which noodles decodes.

use std::panic::{AssertUnwindSafe, catch_unwind};

use noodles_cram::io::reader::Container;
use noodles_fasta::repository::{Adapter, Repository};
use noodles_sam::alignment::Record;

use super::file_header::CramHeader;
use super::mate_pairing::ContainerReads;
use crate::error::{Error, Kind, Result};
use crate::original_files::object_reader::to_reads_error;
use crate::spots::{AlignedRead, MatePart, REST, REVERSE};

/// Texts of a container, one of them for each mate.
pub(super) fn decode_container(
    container: &Container,
    front: &CramHeader,
) -> Result<ContainerReads> {
    // What noodles does not expect of a damaged file is told as all other damage.
    let dealt = catch_unwind(AssertUnwindSafe(|| decode_records(container, front)));
    dealt.unwrap_or_else(|_| Err(Error::new(Kind::Input, "it is damaged")))
}

fn decode_records(container: &Container, front: &CramHeader) -> Result<ContainerReads> {
    let said = |error| to_reads_error(Kind::Input, error);
    let compression = container.compression_header().map_err(said)?;
    let mut dealt = ContainerReads::default();
    for slice in container.slices() {
        let slice = slice.map_err(said)?;
        let (core, external) = slice.decode_blocks().map_err(said)?;
        let none = Repository::new(NoReference);
        let records = slice.records(none, &front.header, &compression, &core, &external);
        for record in records.map_err(undecodable_error)? {
            let flag = record.flags().map_err(said)?.bits();
            if front.by_place && matches!(MatePart::from_flags(flag), Some(MatePart::Mate(_))) {
                let words = "its reads are in the order of a reference, so mates are far apart";
                return Err(Error::new(Kind::Request, words));
            }
            let Some(name) = record.name() else {
                return Err(Error::new(Kind::Request, "its reads have no names"));
            };
            let name: &[u8] = name.as_ref();
            let data = record.data();
            let rest = front.ours.then(|| data.get(&[REST[0], REST[1]].into())).flatten();
            let rest = match rest.transpose().map_err(said)? {
                Some(noodles_sam::alignment::record::data::field::Value::String(rest)) => {
                    rest.to_vec()
                }
                _ => Vec::new(),
            };
            let sequence = record.sequence();
            let scores = record.quality_scores();
            let qualities = scores.iter().collect::<std::io::Result<Vec<u8>>>().map_err(said)?;
            let (bases, reverse) = (sequence.len(), flag & REVERSE != 0);
            let read = AlignedRead { name, rest: &rest, reverse, bases };
            dealt.push_read(name, flag, |out| {
                read.write_fastq(|out| out.extend(sequence.iter()), qualities.into_iter(), out)
            })?;
        }
    }
    dealt.end_container();
    Ok(dealt)
}

/// Where noodles looks for a reference: there is none, and that has to be said, for it panics if it
/// hears nothing. Of slices with reads of several sequences it also asks for one that it does not
/// need.
struct NoReference;

impl Adapter for NoReference {
    fn get(&mut self, name: &[u8]) -> Option<std::io::Result<noodles_fasta::Record>> {
        let name = String::from_utf8_lossy(name);
        Some(Err(std::io::Error::other(format!("they may need the reference of {name}"))))
    }
}

/// Reads whose container is whole, by its checksums, and that can't be had of it.
fn undecodable_error(error: std::io::Error) -> Error {
    Error::new(Kind::Request, format!("its reads can't be had: {error}"))
}
