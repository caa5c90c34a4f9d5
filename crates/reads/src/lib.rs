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
mod bgzf;
mod codecs;
mod columns;
mod cut;
mod error;
mod existing;
#[cfg(any(test, feature = "fuzz"))]
pub mod fuzz;
mod group;
mod hash;
mod in_order;
mod index;
mod input;
mod layout;
mod manifest;
mod mates;
mod objects;
mod pack;
mod profile;
mod rans;
mod shown;
mod spots;
mod totals;
mod unlike;
mod verify;
mod view;
mod window;
mod wire;
mod write;

pub use archive::Archive;
pub use error::{Error, Kind, Result};
pub use existing::{Existing, Indexed, Original, build_index, is_original};
pub use group::{COLUMNS, Column, TEXT_MAX};
pub use hash::{Digests, to_hex};
pub use input::{Looks, Source, join_lanes, split_lanes};
pub use layout::{LAYOUTS, Layout};
pub use manifest::{Family, INDEX, MANIFEST, Manifest, Shape, Shown, Stripe};
pub use objects::{Directory, Memory, Objects, Part};
pub use pack::{Packed, Packing, pack_files, pack_source, pack_spots};
pub use profile::{GROUP_TEXT, PROFILES, Profile};
pub use shown::{Cache, Face, Reader, SHARDS_MAX};
pub use spots::Spots;
pub use totals::Total;
pub use unlike::Unlike;
pub use verify::Verdict;
pub use view::{BamHeader, Form, View};
pub use window::RECORD_MAX;
