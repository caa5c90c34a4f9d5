//! What a volume's book says, and its text.

use std::io;
use std::path::{Path, PathBuf};

use forebay_model::TierId;
use serde::{Deserialize, Serialize};

/// The newest format that this program reads. It writes the oldest that says what there is to say.
const FORMAT: u32 = 2;
/// The first that knows whole folders.
const WITH_FOLDERS: u32 = 2;

/// One directory on a tier, as the book has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ManifestEntry {
    pub(super) tier: TierId,
    pub(super) path: PathBuf,
    /// It stands for this folder, relative to the volume, as a whole; `None`: it is a room, flat, one
    /// file for each body.
    pub(super) folder: Option<PathBuf>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ManifestFile {
    /// See docs/formats/tiers.md.
    format: u32,
    rooms: Vec<ManifestLine>,
    /// Of a spare: the book itself, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    book: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ManifestLine {
    tier: String,
    path: PathBuf,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    folder: Option<PathBuf>,
}

pub(super) fn manifest_text(entries: Vec<ManifestEntry>) -> Vec<u8> {
    serialize_pages(entries, None)
}

/// The same, as a spare has it.
pub(super) fn spare_text(entries: Vec<ManifestEntry>, book: &Path) -> Vec<u8> {
    serialize_pages(entries, Some(book.to_string_lossy().into_owned()))
}

fn serialize_pages(entries: Vec<ManifestEntry>, book: Option<String>) -> Vec<u8> {
    let line = |ManifestEntry { tier, path, folder }| ManifestLine {
        tier: tier.to_string(),
        path,
        folder,
    };
    let has_folders = entries.iter().any(|entry| entry.folder.is_some());
    let format = if has_folders { WITH_FOLDERS } else { 1 };
    let pages = ManifestFile { format, rooms: entries.into_iter().map(line).collect(), book };
    let mut text = serde_json::to_vec_pretty(&pages).expect("plain data has a JSON form");
    text.push(b'\n');
    text
}

pub(super) fn parse_manifest(text: &[u8]) -> io::Result<Vec<ManifestEntry>> {
    read_pages(text).map(|(entries, _)| entries)
}

/// What a spare says, and of which book.
pub(super) fn parse_spare(text: &[u8]) -> Option<(Vec<ManifestEntry>, Option<PathBuf>)> {
    read_pages(text).ok().map(|(entries, book)| (entries, book.map(PathBuf::from)))
}

fn read_pages(text: &[u8]) -> io::Result<(Vec<ManifestEntry>, Option<String>)> {
    let pages: ManifestFile = serde_json::from_slice(text)?;
    if pages.format > FORMAT {
        let newer = format!("format {} is newer than this program's {FORMAT}", pages.format);
        return Err(io::Error::other(newer));
    }
    let entry =
        |ManifestLine { tier, path, folder }| ManifestEntry { tier: TierId(tier), path, folder };
    Ok((pages.rooms.into_iter().map(entry).collect(), pages.book))
}
