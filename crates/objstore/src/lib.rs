//! Where the bytes of files can live, other than in a directory: objects, which are put whole and
//! read by range.

mod failed;
mod key;
mod object;
mod patience;
mod setting_check;
mod settings;

pub use failed::{NO_KEYS, RequestError};
pub use key::key_for_path;
pub use object::{
    BucketClient, FolderListing, ListedObject, ObjectMetadata, ObjectVersion, PutCondition,
    VersionPin,
};
pub use patience::{RetryWindow, retry_patiently};
pub use settings::{BucketSettings, ProfileFile};
