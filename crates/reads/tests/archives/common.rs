//! An archive in a directory of its own, from texts.

use std::path::{Path, PathBuf};

use forebay_reads::{Archive, Directory, Error, Form, Manifest, Packing, View, pack};

pub(crate) struct Packed {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) manifest: Manifest,
}

/// Packs texts as `R1.fq`, `R2.fq`.
pub(crate) fn try_pack(texts: &[&[u8]], interleaved: bool) -> Result<Packed, Error> {
    let dir = tempfile::tempdir().expect("a directory");
    let write = |(nth, text): (usize, &&[u8])| {
        let path = dir.path().join(format!("R{}.fq", nth + 1));
        std::fs::write(&path, text).expect("an input");
        path
    };
    let inputs: Vec<PathBuf> = texts.iter().enumerate().map(write).collect();
    let writer = "test".to_owned();
    let packing = Packing { inputs, interleaved, names: Vec::new(), threads: 2, writer };
    let manifest = pack(&packing, &dir.path().join("a"), |_| ())?;
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
    Archive::open(Box::new(Directory::new(dir)))
}

pub(crate) fn cat(archive: &Archive, view: View, form: Form) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    archive.write(view, form, 2, &mut out)?;
    Ok(out)
}
