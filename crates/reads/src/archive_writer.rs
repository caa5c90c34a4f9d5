//! Writing the objects of an archive: stripes into data objects, pages into the index, and last
//! the manifest, under another name until it is whole and on disk.

mod stale_objects;

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::codecs::codec_version;
use crate::error::{Error, Kind, Result};
use crate::hash::hash;
use crate::layout::{ArchiveLayout, PREFIXES};
use crate::manifest::{
    ChunkFamily, DATA_MAGIC, INDEX, INDEX_MAGIC, MANIFEST, Manifest, ReadLayout, Stripe,
};
use crate::row_group::EncodedMate;
use crate::stripe_index::append_group;
use stale_objects::UNFINISHED;

/// Text of one mate that makes a stripe, in whole groups.
const STRIPE_TEXT: usize = 64 << 20;

/// An archive that is being written.
#[derive(Debug)]
pub(crate) struct ArchiveWriter {
    dir: PathBuf,
    shape: ReadLayout,
    /// Held for as long as this lives, so that nobody else writes here.
    _lock: File,
    layout: ArchiveLayout,
    /// Groups of a stripe.
    groups: usize,
    /// Data objects by name, and their lengths.
    objects: Vec<(String, u64)>,
    /// Those that grow, of each kind one: its number, and its file.
    growing: [Option<(usize, File)>; 2],
    index: (File, u64),
    page: Vec<u8>,
    families: [Vec<u8>; 3],
    stripe: Stripe,
    stripes: Vec<Stripe>,
    /// Of the format: that of the newest codec.
    version: u8,
}

impl ArchiveWriter {
    /// Makes the directory if need be. What an earlier try left there is written over.
    pub(crate) fn create(
        dir: &Path,
        shape: ReadLayout,
        layout: ArchiveLayout,
        group_text: usize,
    ) -> Result<ArchiveWriter> {
        let io = |error| Error::io(dir.display(), error);
        fs::create_dir_all(dir).map_err(io)?;
        let lock = File::open(dir).map_err(io)?;
        lock.try_lock().map_err(|error| match error {
            fs::TryLockError::WouldBlock => {
                Error::new(Kind::Request, format!("{}: another pack writes here", dir.display()))
            }
            fs::TryLockError::Error(error) => io(error),
        })?;
        stale_objects::refuse_other_files(dir)?;
        let mut writer = ArchiveWriter {
            index: (File::create(dir.join(INDEX)).map_err(io)?, 0),
            dir: dir.to_owned(),
            shape,
            _lock: lock,
            layout,
            groups: STRIPE_TEXT / group_text,
            objects: Vec::new(),
            growing: [None, None],
            page: Vec::new(),
            families: Default::default(),
            stripe: Stripe::default(),
            stripes: Vec::new(),
            version: 1,
        };
        append_counted(&mut writer.index, &INDEX_MAGIC).map_err(io)?;
        Ok(writer)
    }

    /// Adds a group.
    pub(crate) fn add_group(&mut self, spots: usize, mates: Vec<EncodedMate>) -> Result<()> {
        append_group(&mut self.page, spots, &mates);
        let lens = mates.iter().map(|mate| mate.text_len as u64);
        let texts: Vec<u64> = match self.shape {
            ReadLayout::Interleaved => vec![lens.sum()],
            _ => lens.collect(),
        };
        self.stripe.texts.resize(texts.len(), 0);
        self.stripe.texts.iter_mut().zip(texts).for_each(|(sum, len)| *sum += len);
        self.stripe.spots += spots as u64;
        self.stripe.groups += 1;
        for chunk in mates.into_iter().flat_map(|mate| mate.chunks) {
            self.version = self.version.max(codec_version(chunk.codec));
            self.families[chunk.column.family()].extend(chunk.bytes);
        }
        if self.stripe.groups == self.groups { self.finish_stripe() } else { Ok(()) }
    }

    fn finish_stripe(&mut self) -> Result<()> {
        let dir = self.dir.clone();
        let io = |error| Error::io(dir.display(), error);
        let mut stripe = std::mem::take(&mut self.stripe);
        for (nth, family) in stripe.families.iter_mut().enumerate() {
            let bytes = std::mem::take(&mut self.families[nth]);
            let kind = self.layout.prefix_index(nth);
            // A stripe of one object stays together.
            let may_end = nth == 0 || kind > 0 || self.layout.full == 0;
            let object = self.growing_object(kind, may_end).map_err(io)?;
            let (at, file) = (&mut self.objects[object].1, &mut self.growing[kind]);
            let file =
                file.as_mut().map(|(_, file)| file).ok_or_else(closed_object_error).map_err(io)?;
            file.write_all(&bytes).map_err(io)?;
            *family = ChunkFamily { object, offset: *at, len: bytes.len() as u64 };
            *at += bytes.len() as u64;
        }
        stripe.page_len = self.page.len();
        stripe.page_hash = hash(&self.page);
        append_counted(&mut self.index, &self.page).map_err(io)?;
        self.page.clear();
        self.stripes.push(stripe);
        Ok(())
    }

    /// The object that takes bytes of this kind: the one that grows, or a new one.
    fn growing_object(&mut self, kind: usize, may_end: bool) -> std::io::Result<usize> {
        if let Some((nth, file)) = &self.growing[kind] {
            if !may_end || self.objects[*nth].1 < self.layout.full {
                return Ok(*nth);
            }
            file.sync_all()?;
        }
        let prefix = PREFIXES[kind];
        let of_kind = |(name, _): &&(String, u64)| name.starts_with(prefix);
        let name = format!("{prefix}-{:05}.fbr", self.objects.iter().filter(of_kind).count());
        let mut object = (File::create(self.dir.join(&name))?, 0);
        append_counted(&mut object, &DATA_MAGIC)?;
        self.objects.push((name, object.1));
        let nth = self.objects.len() - 1;
        self.growing[kind] = Some((nth, object.0));
        Ok(nth)
    }

    /// Makes it an archive: all objects are on disk, then the manifest gets its name.
    pub(crate) fn finish_archive(mut self, mut manifest: Manifest) -> Result<Manifest> {
        if self.stripe.groups > 0 {
            self.finish_stripe()?;
        }
        let io = |error| Error::io(self.dir.display(), error);
        self.index.0.sync_all().map_err(io)?;
        manifest.objects = vec![(INDEX.to_owned(), self.index.1)];
        for (_, file) in self.growing.iter().flatten() {
            file.sync_all().map_err(io)?;
        }
        manifest.objects.extend(std::mem::take(&mut self.objects));
        // The index is the first object, so those of data have one more.
        for family in self.stripes.iter_mut().flat_map(|stripe| &mut stripe.families) {
            family.object += 1;
        }
        manifest.stripes = self.stripes;
        manifest.version = self.version;
        let part = self.dir.join(UNFINISHED);
        let mut file = File::create(&part).map_err(io)?;
        file.write_all(&manifest.to_bytes()).map_err(io)?;
        file.sync_all().map_err(io)?;
        stale_objects::remove_stale_objects(&self.dir, &manifest).map_err(io)?;
        fs::rename(&part, self.dir.join(MANIFEST)).map_err(io)?;
        File::open(&self.dir).and_then(|dir| dir.sync_all()).map_err(io)?;
        Ok(manifest)
    }
}

fn append_counted(to: &mut (File, u64), bytes: &[u8]) -> std::io::Result<()> {
    to.0.write_all(bytes)?;
    to.1 += bytes.len() as u64;
    Ok(())
}

fn closed_object_error() -> std::io::Error {
    std::io::Error::other("its object is closed")
}
