//! FASTQ to archive: one thread cuts, `threads` encode, one writes in order.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

use crate::cut::{self, Cut};
use crate::error::{Error, Kind, Result};
use crate::group::{self, Lent, Mate};
use crate::hash::Digests;
use crate::in_order::in_order;
use crate::input::{self, Input, Source};
use crate::layout::Layout;
use crate::manifest::{Manifest, Shape, Shown};
use crate::profile::Profile;
use crate::shown::bare;
use crate::spots::Spots;
use crate::window::Window;
use crate::write::Writer;

/// What to pack, and how.
#[derive(Clone, Debug)]
pub struct Packing {
    /// One file, or two that go read by read; `-` is standard input. Files that follow each other,
    /// as lanes do, are one with commas between: `L1_R1.fq,L2_R1.fq`.
    pub inputs: Vec<PathBuf>,
    /// Mates take turns in the one file.
    pub interleaved: bool,
    /// Names of the files that the archive shows, where those of the inputs will not do.
    pub names: Vec<String>,
    /// Threads that encode; each needs some 40 MiB for reads of ordinary length.
    pub threads: usize,
    /// What columns are encoded with.
    pub profile: Profile,
    /// Which objects its parts lie in.
    pub layout: Layout,
    /// What writes this, with its version.
    pub writer: String,
}

impl Packing {
    fn shape(&self) -> Result<Shape> {
        match (self.inputs.len(), self.interleaved) {
            (1, false) => Ok(Shape::Single),
            (1, true) => Ok(Shape::Interleaved),
            (2, false) => Ok(Shape::Paired),
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
pub fn pack(packing: &Packing, dir: &Path, progress: impl FnMut(u64)) -> Result<Manifest> {
    let shape = packing.shape()?;
    let inputs = packing.inputs.iter().map(|path| Input::open(path));
    pack_inputs(packing, shape, inputs.collect::<Result<_>>()?, dir, progress)
}

/// The same where the one input is open already.
///
/// # Errors
/// As [`pack`].
pub fn pack_source(
    packing: &Packing,
    source: Source,
    dir: &Path,
    progress: impl FnMut(u64),
) -> Result<Manifest> {
    pack_inputs(packing, packing.shape()?, vec![Input::new(vec![source])], dir, progress)
}

/// Packs reads of which mates come one behind the other. `inputs` of the packing says where they
/// come from, `names` has to be as many as there are mates. Also how many reads were left out.
///
/// # Errors
/// As [`pack`]; [`Kind::Input`], too, where a read has no mate beside it, if none is to be left out.
pub fn pack_spots(
    packing: &Packing,
    spots: Spots,
    dir: &Path,
    progress: impl FnMut(u64),
) -> Result<(Manifest, u64)> {
    let shape = spots.shape();
    let (inputs, left_out) = spots.start();
    let manifest = pack_inputs(packing, shape, inputs, dir, progress)?;
    Ok((manifest, left_out.load(Relaxed)))
}

fn pack_inputs(
    packing: &Packing,
    shape: Shape,
    inputs: Vec<Input>,
    dir: &Path,
    mut progress: impl FnMut(u64),
) -> Result<Manifest> {
    let mut windows: Vec<Window> = inputs.into_iter().map(Window::new).collect();
    let names = shown_names(packing, shape)?;
    let full = packing.profile.group_text;
    let mut writer = Writer::create(dir, shape, packing.layout, full)?;
    let (mut done, mut as_text_bytes) = (0, 0);
    let mut ended = false;
    let cuts = || {
        let cut = if ended { Ok(None) } else { cut::next(shape, &mut windows, full) };
        ended = !matches!(cut, Ok(Some(_)));
        cut.transpose()
    };
    in_order(
        packing.threads,
        cuts,
        |cut| cut.map(|cut| encode(cut, packing.profile)),
        |encoded| {
            let (spots, mates) = encoded?;
            for mate in &mates {
                done += mate.text_len as u64;
                let as_text = mate.chunks.iter().any(|chunk| chunk.column == group::Column::Text);
                as_text_bytes += if as_text { mate.text_len as u64 } else { 0 };
            }
            writer.group(spots, mates)?;
            progress(done);
            Ok::<(), Error>(())
        },
    )?;
    let digests = windows.iter().map(|window| window.digests.ok_or_else(unread));
    let digests = digests.collect::<Result<Vec<Digests>>>()?;
    // Both mates may come from one file.
    let sources = packing.inputs.iter().cycle().map(|path| path.display().to_string());
    let files = names.into_iter().zip(sources).zip(digests);
    let files = files.map(|((name, source), digests)| Shown { name, source, digests }).collect();
    writer.end(Manifest {
        shape,
        writer: packing.writer.clone(),
        files,
        as_text_bytes,
        objects: Vec::new(),
        stripes: Vec::new(),
    })
}

fn unread() -> Error {
    Error::new(Kind::Io, "an input was not read to its end")
}

/// Encodes all mates of a group.
pub(crate) fn encode(cut: Cut, profile: Profile) -> (usize, Vec<Mate>) {
    let mut first = Lent::default();
    let mut mates = Vec::new();
    for records in &cut.mates {
        let (mate, lent) = group::encode(records, &first, profile);
        first = lent;
        mates.push(mate);
    }
    (cut.spots, mates)
}

/// `dir/x_R1.fastq.gz` shows as `x_R1.fastq`.
fn shown_names(packing: &Packing, shape: Shape) -> Result<Vec<String>> {
    let shown = |path: &PathBuf| {
        let first = input::files(path).swap_remove(0);
        let name = first.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        let bare = bare(&name);
        if bare == "-" { "reads.fastq".to_owned() } else { bare.to_owned() }
    };
    let mut names = packing.names.clone();
    if names.is_empty() {
        names = packing.inputs.iter().map(shown).collect();
    }
    let plain = |name: &String| {
        !(name.is_empty() || name.starts_with('.') || name.contains(['/', '\0', '\n']))
    };
    if names.len() != shape.files() || !names.iter().all(plain) {
        let words = format!("{} plain names of files are needed, not {names:?}", shape.files());
        return Err(Error::new(Kind::Request, words));
    }
    if names.len() == 2 && bare(&names[0]) == bare(&names[1]) {
        let words = format!("both files are called {}; give them names", bare(&names[0]));
        return Err(Error::new(Kind::Request, words));
    }
    Ok(names)
}
