//! CRAM 3.0 and 3.1 (hts-specs, CRAMv3) of reads as they were sequenced: those of a pair one behind
//! the other, with all that they need in the file. A group is some containers, which noodles decodes;
//! its blob has a hash of each text. Aligned reads of pairs lie far from their mates, and whoever
//! wants to bring them together needs room for all of them: that is packing, and refused here.

mod container;
mod file_header;
mod mate_pairing;
mod stored_names;

use noodles_cram::io::{Reader, reader::Container};

use super::{FileKind, define_kind};
use crate::error::{Error, Kind, Result};
use crate::hash::{Hash, hash};
use crate::in_order::run_in_order;
use crate::original_files::GROUP;
use crate::original_files::blobs::IndexWriter;
use crate::original_files::index_table::{TEXT_MAX, TEXTS, TextGroup};
use crate::original_files::object_reader::{ObjectReader, to_reads_error};
use container::decode_container;
use file_header::open_at_reads;
use mate_pairing::{ContainerChain, ContainerReads};

pub(super) const KIND: FileKind = define_kind((2, b"CRAM", &[".cram"]), index_cram, decode_cram);

/// Bytes of the container behind all others (CRAMv3, section 9).
const LAST: u64 = 38;

fn index_cram(
    bytes: &ObjectReader,
    threads: usize,
    blobs: &mut IndexWriter<'_>,
    progress: &mut (dyn FnMut(u64) + Send),
) -> Result<(Vec<String>, Vec<TextGroup>)> {
    let (mut reader, front) = open_at_reads(bytes)?;
    let mut ended = false;
    let next = || {
        if std::mem::replace(&mut ended, true) {
            return None;
        }
        let mut container = Container::default();
        let read = reader.position().and_then(|start| {
            let some = reader.read_container(&mut container)? != 0;
            Ok((start, reader.position()? - start, some))
        });
        match read {
            Ok((start, _, false)) if start + LAST == bytes.size() => None,
            Ok((start, _, false)) => {
                let words = format!("it does not end behind its last container, at byte {start}");
                Some(Err(Error::new(Kind::Input, format!("{words} (was it copied whole?)"))))
            }
            Ok((start, len, true)) => {
                ended = false;
                Some(Ok((start, len, container)))
            }
            Err(error) => Some(Err(to_reads_error(Kind::Input, error))),
        }
    };
    let work = |read: Result<(u64, u64, Container)>| {
        let (start, len, container) = read?;
        if !stored_names::has_read_names(bytes, start, len)? {
            let words = "the names of its reads were thrown away (lossy_names), and every program \
                 makes up others";
            return Err(Error::new(Kind::Request, words));
        }
        Ok((start, len, decode_container(&container, &front)?))
    };
    let (mut chain, mut open, mut groups, mut text) =
        (ContainerChain::default(), None, Vec::new(), 0);
    run_in_order(threads, next, work, |dealt: Result<(u64, u64, ContainerReads)>| {
        let (start, len, dealt) = dealt?;
        chain.add_container(&dealt)?;
        let under =
            open.get_or_insert_with(|| OpenGroup { start, len: 0, texts: Default::default() });
        under.len += len;
        for (all, more) in under.texts.iter_mut().zip(&dealt.texts) {
            all.extend_from_slice(more);
            text += more.len() as u64;
        }
        progress(text);
        if under.texts.iter().map(|text| text.len() as u64).sum::<u64>() >= GROUP {
            groups.extend(open.take().map(|open| open.finish_group(blobs)).transpose()?);
        }
        Ok(())
    })?;
    chain.check_complete()?;
    groups.extend(open.take().map(|open| open.finish_group(blobs)).transpose()?);
    Ok((text_names(bytes.name(), chain.is_paired()), groups))
}

/// A group that may become longer.
struct OpenGroup {
    start: u64,
    len: u64,
    texts: [Vec<u8>; TEXTS],
}

impl OpenGroup {
    fn finish_group(self, blobs: &mut IndexWriter<'_>) -> Result<TextGroup> {
        let mut lens = [0; TEXTS];
        for (len, text) in lens.iter_mut().zip(&self.texts) {
            let fits = u32::try_from(text.len()).ok().filter(|len| *len <= TEXT_MAX);
            *len = fits.ok_or_else(|| {
                let words = "it has more than 1 GiB of text in a container";
                Error::new(Kind::Request, words)
            })?;
        }
        blobs.write_group(
            [self.start, self.len, 0],
            lens,
            &self.texts.map(|text| hash(&text)).concat(),
        )
    }
}

fn decode_cram(
    bytes: &ObjectReader,
    group: &TextGroup,
    _: u64,
    blob: &[u8],
) -> Result<Vec<Vec<u8>>> {
    let (_, front) = open_at_reads(bytes)?;
    let [start, len, _] = group.place;
    let len = usize::try_from(len).map_err(|_| Error::damaged("a group of no length"))?;
    let whole = bytes.read_range(start, len)?;
    let mut rest = &whole[..];
    let mut all: [Vec<u8>; TEXTS] = Default::default();
    while !rest.is_empty() {
        let mut container = Container::default();
        let mut reader = Reader::new(rest);
        let read = reader.read_container(&mut container);
        if read.map_err(|error| to_reads_error(Kind::Damaged, error))? == 0 {
            break;
        }
        rest = reader.into_inner();
        let dealt = decode_container(&container, &front);
        let dealt = dealt.map_err(|error| Error::new(Kind::Damaged, error.message))?;
        all.iter_mut().zip(dealt.texts).for_each(|(all, more)| all.extend(more));
    }
    for ((text, len), told) in all.iter().zip(group.lens).zip(blob.chunks(size_of::<Hash>())) {
        if text.len() != len as usize || hash(text) != told {
            let words = "its reads are not what they were when it was attached";
            return Err(Error::damaged(format!("byte {start}: {words}")));
        }
    }
    Ok(all.into())
}

fn text_names(path: &str, paired: bool) -> Vec<String> {
    let name = path.rsplit('/').next().unwrap_or_default();
    let stem = name.strip_suffix(".cram").filter(|stem| !stem.is_empty()).unwrap_or(name);
    match paired {
        true => ["R1", "R2"].map(|mate| format!("{stem}_{mate}.fastq")).to_vec(),
        false => vec![format!("{stem}.fastq")],
    }
}
