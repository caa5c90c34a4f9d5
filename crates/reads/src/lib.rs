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
#[cfg(any(test, feature = "fuzz"))]
pub mod fuzz;
mod group_split;
mod hash;
mod in_order;
mod input;
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
pub use exported_view::{Cache, Face, Reader, SHARDS_MAX};
pub use hash::{Digests, to_hex};
pub use input::{Looks, Source, join_lanes, split_lanes};
pub use layout::{LAYOUTS, Layout};
pub use manifest::{Family, INDEX, MANIFEST, Manifest, Shape, Shown, Stripe};
pub use mate_mismatch::Unlike;
pub use objects::{Directory, Memory, Objects, Part};
pub use original_files::{Existing, Indexed, Original, build_index, is_original};
pub use pack::{Packed, Packing, pack_files, pack_source, pack_spots};
pub use profile::{GROUP_TEXT, PROFILES, Profile};
pub use row_group::{COLUMNS, Column, TEXT_MAX};
pub use spots::Spots;
pub use totals::Total;
pub use verify::Verdict;
pub use view::{BamHeader, Form, View};
pub use window::RECORD_MAX;
