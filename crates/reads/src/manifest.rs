//! The manifest: what an archive shows, what it consists of, and the upper level of its index.
//! It is written last, so an archive without one is none.

mod parse;

use crate::error::Result;
use crate::hash::{FileDigests, Hash, hash};
use crate::wire::{WireReader, append_prefixed_bytes, append_varint};

/// The object that makes a directory an archive.
pub const MANIFEST: &str = "manifest.fbr";
/// The object with the pages of the index.
pub const INDEX: &str = "index.fbr";
/// The newest version of the format that is read here. An archive has the lowest that has all of its
/// codecs ([`crate::codecs::Codec::since`]), so that older readers refuse it only if they must.
pub(crate) const VERSION: u8 = 2;
/// First bytes of the three sorts of objects; of a manifest the fifth is its version.
pub(crate) const MANIFEST_MAGIC: [u8; 8] = *b"FBRM\x01\0\0\0";
pub(crate) const INDEX_MAGIC: [u8; 8] = *b"FBRI\x01\0\0\0";
pub(crate) const DATA_MAGIC: [u8; 8] = *b"FBRD\x01\0\0\0";
/// A page of the index is never longer than this, whatever a manifest says: 128 groups of some 500 bytes at most.
pub(crate) const PAGE_MAX: usize = 1 << 20;
/// A manifest is never longer than this: some 100 bytes for each 64 MiB of text.
pub(crate) const MANIFEST_MAX: u64 = 256 << 20;

/// How files and mates belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadLayout {
    /// One file of reads.
    Single = 0,
    /// Two files, read by read.
    Paired = 1,
    /// One file, in which mates take turns.
    Interleaved = 2,
}

impl ReadLayout {
    /// Mates of a spot.
    #[must_use]
    pub fn mate_count(self) -> usize {
        if self == ReadLayout::Single { 1 } else { 2 }
    }

    /// Files that the archive shows.
    #[must_use]
    pub fn file_count(self) -> usize {
        if self == ReadLayout::Paired { 2 } else { 1 }
    }
}

/// A file that the archive shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchivedFile {
    /// Its name, without folders.
    pub name: String,
    /// The file that it was packed from, as it was named then.
    pub source: String,
    /// Length and checksums of the text.
    pub digests: FileDigests,
}

/// A part of a stripe whose chunks lie one behind the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChunkFamily {
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
    pub families: [ChunkFamily; 3],
}

/// What an archive is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// The version of the format.
    pub version: u8,
    /// How files and mates belong together.
    pub shape: ReadLayout,
    /// What wrote it.
    pub writer: String,
    /// The files that it shows.
    pub files: Vec<ArchivedFile>,
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
        out[4] = self.version;
        out.push(self.shape as u8);
        append_prefixed_bytes(&mut out, self.writer.as_bytes());
        for file in &self.files {
            append_prefixed_bytes(&mut out, file.name.as_bytes());
            append_prefixed_bytes(&mut out, file.source.as_bytes());
            append_varint(&mut out, file.digests.bytes);
            out.extend(file.digests.md5);
            out.extend(file.digests.sha256);
        }
        append_varint(&mut out, self.as_text_bytes);
        append_varint(&mut out, self.objects.len() as u64);
        for (name, len) in &self.objects {
            append_prefixed_bytes(&mut out, name.as_bytes());
            append_varint(&mut out, *len);
        }
        append_varint(&mut out, self.stripes.len() as u64);
        for stripe in &self.stripes {
            append_varint(&mut out, stripe.page_len as u64);
            out.extend(stripe.page_hash);
            append_varint(&mut out, stripe.groups as u64);
            append_varint(&mut out, stripe.spots);
            stripe.texts.iter().for_each(|len| append_varint(&mut out, *len));
            for family in &stripe.families {
                append_varint(&mut out, family.object as u64);
                append_varint(&mut out, family.offset);
                append_varint(&mut out, family.len);
            }
        }
        let hash = hash(&out);
        out.extend(hash);
        out
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Manifest> {
        let parsed = parse::verify_seal(bytes)
            .and_then(|(version, body)| parse::read_manifest(version, &mut WireReader::new(body)));
        parsed.map_err(|error| error.with_context(MANIFEST))
    }

    /// Reads of each mate.
    #[must_use]
    pub fn spot_count(&self) -> u64 {
        self.stripes.iter().fold(0, |sum, stripe| sum.saturating_add(stripe.spots))
    }
}
