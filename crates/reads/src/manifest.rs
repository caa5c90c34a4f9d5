//! The manifest: what an archive shows, what it consists of, and the upper level of its index.
//! It is written last, so an archive without one is none.

use crate::error::{Error, Kind, Result};
use crate::hash::{Digests, Hash, hash};
use crate::index::PAGE_MAX;
use crate::wire::{Wire, put, put_bytes};

/// The object that makes a directory an archive.
pub const MANIFEST: &str = "manifest.fbr";
/// The object with the pages of the index.
pub(crate) const INDEX: &str = "index.fbr";
/// First bytes of the three sorts of objects; the fifth is the version.
pub(crate) const MANIFEST_MAGIC: [u8; 8] = *b"FBRM\x01\0\0\0";
pub(crate) const INDEX_MAGIC: [u8; 8] = *b"FBRI\x01\0\0\0";
pub(crate) const DATA_MAGIC: [u8; 8] = *b"FBRD\x01\0\0\0";
/// A manifest is never longer than this: some 100 bytes for each 64 MiB of text.
pub(crate) const MANIFEST_MAX: u64 = 256 << 20;

/// How files and mates belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One file of reads.
    Single = 0,
    /// Two files, read by read.
    Paired = 1,
    /// One file, in which mates take turns.
    Interleaved = 2,
}

impl Shape {
    /// Mates of a spot.
    #[must_use]
    pub fn mates(self) -> usize {
        if self == Shape::Single { 1 } else { 2 }
    }

    /// Files that the archive shows.
    #[must_use]
    pub fn files(self) -> usize {
        if self == Shape::Paired { 2 } else { 1 }
    }
}

/// A file that the archive shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Its name, without folders.
    pub name: String,
    /// The file that it was packed from, as it was named then.
    pub source: String,
    /// Length and checksums of the text.
    pub digests: Digests,
}

/// A part of a stripe whose chunks lie one behind the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Family {
    /// Which of the objects.
    pub object: usize,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub len: u64,
}

/// Some groups that are fetched together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stripe {
    pub(crate) page_len: usize,
    pub(crate) page_hash: Hash,
    pub(crate) groups: usize,
    /// Reads of each mate.
    pub spots: u64,
    /// Bytes of each file that the archive shows.
    pub texts: Vec<u64>,
    /// Bases with what they need, names, qualities.
    pub families: [Family; 3],
}

/// What an archive is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// How files and mates belong together.
    pub shape: Shape,
    /// What wrote it.
    pub writer: String,
    /// The files that it shows.
    pub files: Vec<Shown>,
    /// Bytes that had no columns, and are kept as text.
    pub as_text_bytes: u64,
    /// Names and lengths of the objects, but for the manifest.
    pub objects: Vec<(String, u64)>,
    /// In order.
    pub stripes: Vec<Stripe>,
}

impl Manifest {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = MANIFEST_MAGIC.to_vec();
        out.push(self.shape as u8);
        put_bytes(&mut out, self.writer.as_bytes());
        for file in &self.files {
            put_bytes(&mut out, file.name.as_bytes());
            put_bytes(&mut out, file.source.as_bytes());
            put(&mut out, file.digests.bytes);
            out.extend(file.digests.md5);
            out.extend(file.digests.sha256);
        }
        put(&mut out, self.as_text_bytes);
        put(&mut out, self.objects.len() as u64);
        for (name, len) in &self.objects {
            put_bytes(&mut out, name.as_bytes());
            put(&mut out, *len);
        }
        put(&mut out, self.stripes.len() as u64);
        for stripe in &self.stripes {
            put(&mut out, stripe.page_len as u64);
            out.extend(stripe.page_hash);
            put(&mut out, stripe.groups as u64);
            put(&mut out, stripe.spots);
            stripe.texts.iter().for_each(|len| put(&mut out, *len));
            for family in &stripe.families {
                put(&mut out, family.object as u64);
                put(&mut out, family.offset);
                put(&mut out, family.len);
            }
        }
        let hash = hash(&out);
        out.extend(hash);
        out
    }

    pub(crate) fn of_bytes(bytes: &[u8]) -> Result<Manifest> {
        let parsed = sealed(bytes).and_then(|body| take(&mut Wire::new(body)));
        parsed.map_err(|error| error.at(MANIFEST))
    }

    /// Reads of each mate.
    #[must_use]
    pub fn spots(&self) -> u64 {
        self.stripes.iter().map(|stripe| stripe.spots).sum()
    }
}

/// What stands between the first bytes and the checksum.
fn sealed(bytes: &[u8]) -> Result<&[u8]> {
    if bytes.starts_with(&MANIFEST_MAGIC[..4]) && bytes.get(4).is_some_and(|version| *version > 1) {
        let version = bytes[4];
        let words =
            format!("version {version} of the format: a newer Forebay wrote it, or it is damaged");
        return Err(Error::new(Kind::Unknown, words));
    }
    let body = bytes.strip_prefix(&MANIFEST_MAGIC[..]);
    let body = body.ok_or_else(|| Error::damaged("it does not begin as a manifest does"))?;
    let (body, seal) = body.split_last_chunk::<16>().ok_or_else(|| Error::damaged("too short"))?;
    match hash(&bytes[..bytes.len() - 16]) == *seal {
        true => Ok(body),
        false => Err(Error::damaged("its bytes are not those that were written (checksum)")),
    }
}

/// A name that stays in its directory.
fn plain(name: String) -> Result<String> {
    let bad = name.is_empty() || name.starts_with('.') || name.contains(['/', '\0', '\n']);
    if bad {
        Err(Error::damaged(format!("a name that no file may have: {name:?}")))
    } else {
        Ok(name)
    }
}

fn take(wire: &mut Wire<'_>) -> Result<Manifest> {
    let shapes = [Shape::Single, Shape::Paired, Shape::Interleaved];
    let shape = *shapes.get(usize::from(wire.byte()?)).ok_or_else(|| Error::damaged("no shape"))?;
    let writer = wire.text()?;
    let mut files = Vec::new();
    for _ in 0..shape.files() {
        let (name, source) = (plain(wire.text()?)?, wire.text()?);
        let digests = Digests { bytes: wire.number()?, md5: wire.array()?, sha256: wire.array()? };
        files.push(Shown { name, source, digests });
    }
    let as_text_bytes = wire.number()?;
    // Counts are not trusted with memory: each entry is read before room for the next is made.
    let mut objects = Vec::new();
    for _ in 0..wire.at_most(wire.rest().len())? {
        objects.push((plain(wire.text()?)?, wire.number()?));
    }
    let mut stripes = Vec::new();
    for _ in 0..wire.at_most(wire.rest().len())? {
        stripes.push(take_stripe(wire, shape, objects.len())?);
    }
    wire.end()?;
    let mut shown = vec![0_u64; files.len()];
    for stripe in &stripes {
        shown.iter_mut().zip(&stripe.texts).for_each(|(sum, len)| *sum = sum.saturating_add(*len));
    }
    if !files.iter().map(|file| file.digests.bytes).eq(shown) {
        return Err(Error::damaged("stripes do not add up to the files"));
    }
    Ok(Manifest { shape, writer, files, as_text_bytes, objects, stripes })
}

fn take_stripe(wire: &mut Wire<'_>, shape: Shape, objects: usize) -> Result<Stripe> {
    let mut stripe = Stripe {
        page_len: wire.at_most(PAGE_MAX)?,
        page_hash: wire.array()?,
        groups: wire.at_most(PAGE_MAX)?,
        spots: wire.number()?,
        ..Stripe::default()
    };
    for _ in 0..shape.files() {
        stripe.texts.push(wire.number()?);
    }
    for family in &mut stripe.families {
        let object = wire.at_most(objects.saturating_sub(1))?;
        *family = Family { object, offset: wire.number()?, len: wire.number()? };
    }
    Ok(stripe)
}
