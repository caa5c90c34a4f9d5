//! An archive of sequencing reads: FASTQ in columns, smaller than its `.gz`, from which every byte
//! comes back, from any offset.
//!
//! ```text
//! pack    input (spots: BAM) -> window -> cut -> group (columns, codecs, decoded again) -> write
//! read    objects -> manifest -> index -> archive -> view (packed: BAM, BGZF) | verify | shown
//! ```
//!
//! docs/formats/archive.md draws the bytes. This crate knows nothing of the rest of Forebay: no volume, no
//! command line, no clock. It prints nothing.

mod archive;
mod archive_writer;
mod bgzf;
mod codecs;
mod columns;
mod error;
mod exported_view;
mod frames;
#[cfg(any(test, feature = "fuzz"))]
pub mod fuzz;
mod group_split;
mod hash;
mod in_order;
mod input;
mod kept_bytes;
mod layout;
mod manifest;
mod mate_mismatch;
mod mates;
mod objects;
mod original_files;
mod pack;
mod profile;
mod rans;
mod row_group;
mod spots;
mod stripe_index;
mod totals;
mod verify;
mod view;
mod window;
mod wire;

pub use archive::Archive;
pub use error::{Error, Kind, Result};
pub use exported_view::{ExportedFile, ExportedReader, SHARDS_MAX, TextCache};
pub use hash::{FileDigests, to_hex};
pub use input::{InputFormat, RawInput, join_lanes, split_lanes};
pub use layout::{ArchiveLayout, LAYOUTS};
pub use manifest::{ArchivedFile, ChunkFamily, INDEX, MANIFEST, Manifest, ReadLayout, Stripe};
pub use mate_mismatch::MateMismatches;
pub use objects::{DirectoryObjects, MemoryObjects, ObjectRange, ObjectSource};
pub use original_files::{IndexedFile, OriginalFile, OriginalFileSet, build_index, is_original};
pub use pack::{PackOptions, PackSummary, pack_files, pack_source, pack_spots};
pub use profile::{GROUP_TEXT, PROFILES, PackProfile};
pub use row_group::{COLUMNS, Column, TEXT_MAX};
pub use spots::SpotReader;
pub use totals::ColumnTotal;
pub use verify::VerifyReport;
pub use view::{BamHeader, ReadSelection, TextFormat};
pub use window::RECORD_MAX;
