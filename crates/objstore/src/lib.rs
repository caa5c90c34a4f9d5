//! Where the bytes of files can live, other than in a directory: objects, which are put whole and
//! read by range.

mod failed;
mod key;
mod object;
mod patience;
mod setting_check;
mod settings;

pub use failed::{Failed, NO_KEYS};
pub use key::key_for_path;
pub use object::{Folder, Found, Listed, Objects, Pin, Version, When};
pub use patience::{Patience, retry_patiently};
pub use settings::{ProfileFile, Settings};
