//! FASTQ to archive: one thread cuts, `threads` encode, one writes in order.

mod exported_names;
mod group_models;

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

use crate::archive_writer::ArchiveWriter;
use crate::error::{Error, Kind, Result};
use crate::group_split::{self, GroupTexts};
use crate::hash::FileDigests;
use crate::in_order::run_in_order;
use crate::input::{RawInput, TextInput, join_lanes};
use crate::layout::ArchiveLayout;
use crate::manifest::{ArchivedFile, Manifest, ReadLayout};
use crate::mate_mismatch::MateMismatches;
use crate::profile::PackProfile;
use crate::row_group::{self, ColumnModel, EncodedMate, MateReference};
use crate::spots::SpotReader;
use crate::window::RecordWindow;
use exported_names::exported_file_names;
pub(crate) use group_models::GroupLesson;
use group_models::GroupLessons;

/// What to pack, and how.
#[derive(Clone, Debug)]
pub struct PackOptions {
    /// One file, or two that go read by read; `-` is standard input. Of each those that follow each
    /// other, as lanes do.
    pub inputs: Vec<Vec<PathBuf>>,
    /// Mates take turns in the one file.
    pub interleaved: bool,
    /// Names of the files that the archive shows, where those of the inputs will not do.
    pub names: Vec<String>,
    /// Threads that encode; each needs some 40 MiB for reads of ordinary length.
    pub threads: usize,
    /// What columns are encoded with.
    pub profile: PackProfile,
    /// Which objects its parts lie in.
    pub layout: ArchiveLayout,
    /// What writes this, with its version.
    pub writer: String,
}

/// What packing came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackSummary {
    /// The archive.
    pub manifest: Manifest,
    /// Reads without a mate that were left out, as was asked for.
    pub left_out: u64,
    /// Pairs of which the two reads have different names.
    pub unlike: MateMismatches,
}

impl PackOptions {
    fn input_shape(&self) -> Result<ReadLayout> {
        match (self.inputs.len(), self.interleaved) {
            (1, false) => Ok(ReadLayout::Single),
            (1, true) => Ok(ReadLayout::Interleaved),
            (2, false) => Ok(ReadLayout::Paired),
            (2, true) => {
                Err(Error::new(Kind::Request, "interleaved reads are in one file, not in two"))
            }
            (count, _) => {
                Err(Error::new(Kind::Request, format!("one file or two are packed, not {count}")))
            }
        }
    }
}

/// Packs reads into a directory, which becomes an archive at the very end.
///
/// `progress` is told from time to time how many bytes of text are done.
///
/// # Errors
/// [`Kind::Input`] with file and line where the input can't be packed as was asked;
/// [`Kind::Request`] where the directory has something in it; [`Kind::Io`].
pub fn pack_files(
    packing: &PackOptions,
    dir: &Path,
    progress: impl FnMut(u64),
) -> Result<PackSummary> {
    let shape = packing.input_shape()?;
    pack_inputs(packing, shape, TextInput::open_all(&packing.inputs)?, dir, progress)
}

/// The same where the one input is open already.
///
/// # Errors
/// As [`pack_files`].
pub fn pack_source(
    packing: &PackOptions,
    source: RawInput,
    dir: &Path,
    progress: impl FnMut(u64),
) -> Result<PackSummary> {
    let inputs = TextInput::start_all(vec![vec![source]]);
    pack_inputs(packing, packing.input_shape()?, inputs, dir, progress)
}

/// Packs reads of which mates come one behind the other. `inputs` of the packing says where they
/// come from, `names` has to be as many as there are mates.
///
/// # Errors
/// As [`pack_files`]; [`Kind::Input`], too, where a read has no mate beside it, if none is to be
/// left out.
pub fn pack_spots(
    packing: &PackOptions,
    spots: SpotReader,
    dir: &Path,
    progress: impl FnMut(u64),
) -> Result<PackSummary> {
    let shape = spots.shape();
    let (inputs, left_out) = spots.into_inputs();
    let packed = pack_inputs(packing, shape, inputs, dir, progress)?;
    Ok(PackSummary { left_out: left_out.load(Relaxed), ..packed })
}

fn pack_inputs(
    packing: &PackOptions,
    shape: ReadLayout,
    inputs: Vec<TextInput>,
    dir: &Path,
    mut progress: impl FnMut(u64),
) -> Result<PackSummary> {
    let mut windows: Vec<RecordWindow> = inputs.into_iter().map(RecordWindow::new).collect();
    let names = exported_file_names(packing, shape)?;
    let full = packing.profile.group_text;
    let mut writer = ArchiveWriter::create(dir, shape, packing.layout, full)?;
    let (mut done, mut as_text_bytes, mut unlike) = (0, 0, MateMismatches::default());
    let mut ended = false;
    let mut lessons = GroupLessons::default();
    let cuts = || {
        let cut = if ended { Ok(None) } else { group_split::next_group(shape, &mut windows, full) };
        ended = !matches!(cut, Ok(Some(_)));
        Some(cut.transpose()?.map(|cut| (cut, lessons.next_lesson())))
    };
    run_in_order(
        packing.threads,
        cuts,
        |cut| {
            cut.map(|(cut, lesson)| {
                let unlike = MateMismatches::find_in_group(&cut.mates);
                (unlike, encode_group(cut, packing.profile, lesson))
            })
        },
        |encoded| {
            let (others, (spots, mates)) = encoded?;
            unlike.add_group(others, spots);
            for mate in &mates {
                done += mate.text_len as u64;
                let as_text =
                    mate.chunks.iter().any(|chunk| chunk.column == row_group::Column::Text);
                as_text_bytes += if as_text { mate.text_len as u64 } else { 0 };
            }
            writer.add_group(spots, mates)?;
            progress(done);
            Ok::<(), Error>(())
        },
    )?;
    let digests = windows.iter().map(|window| window.digests.ok_or_else(unread_input_error));
    let digests = digests.collect::<Result<Vec<FileDigests>>>()?;
    // Both mates may come from one file.
    let sources = packing.inputs.iter().cycle().map(|lanes| join_lanes(lanes));
    let files = names.into_iter().zip(sources).zip(digests);
    let files =
        files.map(|((name, source), digests)| ArchivedFile { name, source, digests }).collect();
    let manifest = writer.finish_archive(Manifest {
        version: 1,
        shape,
        writer: packing.writer.clone(),
        files,
        as_text_bytes,
        objects: Vec::new(),
        stripes: Vec::new(),
    })?;
    Ok(PackSummary { manifest, left_out: 0, unlike })
}

fn unread_input_error() -> Error {
    Error::new(Kind::Io, "an input was not read to its end")
}

/// Encodes all mates of a group.
pub(crate) fn encode_group(
    cut: GroupTexts,
    profile: PackProfile,
    mut lesson: GroupLesson,
) -> (usize, Vec<EncodedMate>) {
    let models = lesson.models();
    let mut first = MateReference::default();
    let mut mates = Vec::new();
    for (nth, records) in cut.mates.iter().enumerate() {
        let like = models.as_ref().and_then(|models| models.get(nth)?.as_ref());
        let (mate, lent) = row_group::encode_mate(records, &first, profile, like);
        first = lent;
        mates.push(mate);
    }
    lesson.teach(|| mates.iter().map(ColumnModel::of_mate).collect());
    (cut.spots, mates)
}
