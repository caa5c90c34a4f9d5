//! Writing the objects of an archive: stripes into data objects, pages into the index, and last
//! the manifest, under another name until it is whole and on disk.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::{Error, Kind, Result};
use crate::group::Mate;
use crate::hash::hash;
use crate::index::put_group;
use crate::manifest::{DATA_MAGIC, Family, INDEX, INDEX_MAGIC, MANIFEST, Manifest, Shape, Stripe};

/// Groups of a stripe: 64 MiB of text.
const STRIPE_GROUPS: usize = 16;
/// A data object is full when it has this many bytes.
const OBJECT_FULL: u64 = 1 << 30;
/// The manifest before it is whole.
const UNFINISHED: &str = "manifest.part";

/// An archive that is being written.
#[derive(Debug)]
pub(crate) struct Writer {
    dir: PathBuf,
    shape: Shape,
    /// Held for as long as this lives, so that nobody else writes here.
    _lock: File,
    objects: Vec<(String, File, u64)>,
    index: (File, u64),
    page: Vec<u8>,
    families: [Vec<u8>; 3],
    stripe: Stripe,
    stripes: Vec<Stripe>,
}

impl Writer {
    /// Makes the directory if need be. What an earlier try left there is written over.
    pub(crate) fn create(dir: &Path, shape: Shape) -> Result<Writer> {
        let io = |error| Error::io(dir.display(), error);
        fs::create_dir_all(dir).map_err(io)?;
        let lock = File::open(dir).map_err(io)?;
        lock.try_lock().map_err(|error| match error {
            fs::TryLockError::WouldBlock => {
                Error::new(Kind::Request, format!("{}: another pack writes here", dir.display()))
            }
            fs::TryLockError::Error(error) => io(error),
        })?;
        for entry in fs::read_dir(dir).map_err(io)? {
            let name = entry.map_err(io)?.file_name().to_string_lossy().into_owned();
            let left = name == INDEX || name == UNFINISHED || is_data(&name);
            if !left {
                let words = format!("{} is not empty: it has {name}", dir.display());
                return Err(Error::new(Kind::Request, words));
            }
        }
        let mut writer = Writer {
            index: (File::create(dir.join(INDEX)).map_err(io)?, 0),
            dir: dir.to_owned(),
            shape,
            _lock: lock,
            objects: Vec::new(),
            page: Vec::new(),
            families: Default::default(),
            stripe: Stripe::default(),
            stripes: Vec::new(),
        };
        append(&mut writer.index, &INDEX_MAGIC).map_err(io)?;
        Ok(writer)
    }

    /// Adds a group.
    pub(crate) fn group(&mut self, spots: usize, mates: Vec<Mate>) -> Result<()> {
        put_group(&mut self.page, spots, &mates);
        let lens = mates.iter().map(|mate| mate.text_len as u64);
        let texts: Vec<u64> = match self.shape {
            Shape::Interleaved => vec![lens.sum()],
            _ => lens.collect(),
        };
        self.stripe.texts.resize(texts.len(), 0);
        self.stripe.texts.iter_mut().zip(texts).for_each(|(sum, len)| *sum += len);
        self.stripe.spots += spots as u64;
        self.stripe.groups += 1;
        for chunk in mates.into_iter().flat_map(|mate| mate.chunks) {
            self.families[chunk.column.family()].extend(chunk.bytes);
        }
        if self.stripe.groups == STRIPE_GROUPS { self.end_stripe() } else { Ok(()) }
    }

    fn end_stripe(&mut self) -> Result<()> {
        let dir = self.dir.clone();
        let io = |error| Error::io(dir.display(), error);
        let mut stripe = std::mem::take(&mut self.stripe);
        if self.objects.last().is_none_or(|(_, _, len)| *len >= OBJECT_FULL) {
            let name = format!("data-{:05}.fbr", self.objects.len());
            let mut object = (File::create(dir.join(&name)).map_err(io)?, 0);
            append(&mut object, &DATA_MAGIC).map_err(io)?;
            self.objects.push((name, object.0, object.1));
        }
        let object = self.objects.len() - 1;
        let (_, file, at) = &mut self.objects[object];
        for (family, bytes) in stripe.families.iter_mut().zip(&mut self.families) {
            file.write_all(bytes).map_err(io)?;
            *family = Family { object, offset: *at, len: bytes.len() as u64 };
            *at += bytes.len() as u64;
            bytes.clear();
        }
        stripe.page_len = self.page.len();
        stripe.page_hash = hash(&self.page);
        append(&mut self.index, &self.page).map_err(io)?;
        self.page.clear();
        self.stripes.push(stripe);
        Ok(())
    }

    /// Makes it an archive: all objects are on disk, then the manifest gets its name.
    pub(crate) fn end(mut self, mut manifest: Manifest) -> Result<Manifest> {
        if self.stripe.groups > 0 {
            self.end_stripe()?;
        }
        let io = |error| Error::io(self.dir.display(), error);
        self.index.0.sync_all().map_err(io)?;
        manifest.objects = vec![(INDEX.to_owned(), self.index.1)];
        for (name, file, len) in &self.objects {
            file.sync_all().map_err(io)?;
            manifest.objects.push((name.clone(), *len));
        }
        // The index is the first object, so those of data have one more.
        for family in self.stripes.iter_mut().flat_map(|stripe| &mut stripe.families) {
            family.object += 1;
        }
        manifest.stripes = self.stripes;
        let part = self.dir.join(UNFINISHED);
        let mut file = File::create(&part).map_err(io)?;
        file.write_all(&manifest.to_bytes()).map_err(io)?;
        file.sync_all().map_err(io)?;
        remove_stale(&self.dir, &manifest).map_err(io)?;
        fs::rename(&part, self.dir.join(MANIFEST)).map_err(io)?;
        File::open(&self.dir).and_then(|dir| dir.sync_all()).map_err(io)?;
        Ok(manifest)
    }
}

/// `data-00000.fbr`: nobody else's file is taken for ours.
fn is_data(name: &str) -> bool {
    let number = name.strip_prefix("data-").and_then(|rest| rest.strip_suffix(".fbr"));
    number.is_some_and(|n| n.len() >= 5 && n.bytes().all(|byte| byte.is_ascii_digit()))
}

/// An earlier try may have left more objects than this one has.
fn remove_stale(dir: &Path, manifest: &Manifest) -> std::io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if is_data(&name) && !manifest.objects.iter().any(|(own, _)| *own == name) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn append(to: &mut (File, u64), bytes: &[u8]) -> std::io::Result<()> {
    to.0.write_all(bytes)?;
    to.1 += bytes.len() as u64;
    Ok(())
}
