//! An archive in a directory of its own, from texts.

use std::io::Read;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use forebay_reads::{
    Archive, ArchiveLayout, DirectoryObjects, Error, ExportedReader, Manifest, PackOptions,
    PackProfile, ReadSelection, TextFormat, pack_files,
};

pub(crate) struct Packed {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) manifest: Manifest,
}

/// Packs texts as `R1.fq`, `R2.fq`.
pub(crate) fn try_pack(texts: &[&[u8]], interleaved: bool) -> Result<Packed, Error> {
    try_pack_as(PackProfile::default(), ArchiveLayout::default(), texts, interleaved)
}

pub(crate) fn try_pack_as(
    profile: PackProfile,
    layout: ArchiveLayout,
    texts: &[&[u8]],
    interleaved: bool,
) -> Result<Packed, Error> {
    try_pack_by(2, profile, layout, texts, interleaved)
}

/// A file, by so many threads.
pub(crate) fn try_pack_with(
    profile: PackProfile,
    threads: usize,
    text: &[u8],
) -> Result<Packed, Error> {
    try_pack_by(threads, profile, ArchiveLayout::default(), &[text], false)
}

fn try_pack_by(
    threads: usize,
    profile: PackProfile,
    layout: ArchiveLayout,
    texts: &[&[u8]],
    interleaved: bool,
) -> Result<Packed, Error> {
    let dir = tempfile::tempdir().expect("a directory");
    let write = |(nth, text): (usize, &&[u8])| {
        let path = dir.path().join(format!("R{}.fq", nth + 1));
        std::fs::write(&path, text).expect("an input");
        vec![path]
    };
    let inputs: Vec<Vec<PathBuf>> = texts.iter().enumerate().map(write).collect();
    let writer = "test".to_owned();
    let packing =
        PackOptions { inputs, interleaved, names: Vec::new(), threads, profile, layout, writer };
    let manifest = pack_files(&packing, &dir.path().join("a"), |_| ())?.manifest;
    Ok(Packed { dir, manifest })
}

impl Packed {
    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join("a")
    }

    pub(crate) fn open(&self) -> Archive {
        open(&self.path()).expect("an archive")
    }
}

pub(crate) fn open(dir: &Path) -> Result<Archive, Error> {
    Archive::open(Box::new(DirectoryObjects::new(dir)))
}

pub(crate) fn cat(
    archive: &Archive,
    view: ReadSelection,
    form: TextFormat,
) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    archive.write_view(view, form, 2, &mut out)?;
    Ok(out)
}

/// Bytes of the first file that an archive shows.
pub(crate) fn part(archive: &Arc<Archive>, from: u64, len: usize) -> Vec<u8> {
    let reader = ExportedReader::new(Arc::clone(archive), 16 << 20);
    let mut out = vec![0; len];
    let face = archive.exported_files(None).expect("faces").swap_remove(0);
    let got = reader.read_at(&face, from, &mut out).expect("part");
    out.truncate(got);
    out
}

/// All that an archive shows, by name; `.gz` as text, after a look at its length.
pub(crate) fn shown(archive: Archive, shards: Option<u32>) -> Vec<(String, Vec<u8>)> {
    let archive = Arc::new(archive);
    let faces = archive.exported_files(shards.and_then(NonZeroU32::new)).expect("faces");
    let text = |face: forebay_reads::ExportedFile| {
        let mut bytes = Vec::new();
        ExportedReader::copy_to_writer(Arc::clone(&archive), &face, 1, &mut bytes)
            .expect("all of it");
        assert_eq!(bytes.len() as u64, face.len, "{}", face.name);
        if face.name.ends_with(".gz") {
            let packed = std::mem::take(&mut bytes);
            let mut reader = flate2::read::MultiGzDecoder::new(&packed[..]);
            reader.read_to_end(&mut bytes).expect("gzip");
        }
        (face.name, bytes)
    };
    faces.into_iter().map(text).collect()
}
