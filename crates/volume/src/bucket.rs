//! A volume in a bucket: its tree as a log of segments beside its plain objects, so that another
//! machine sees all that was made durable there. docs/formats/bucket.md draws each byte.

mod block_checksums;
mod commit_upload;
mod dirty_names;
mod evicted_files;
mod evicted_source;
mod extended;
mod fetch;
mod file_blocks;
mod health;
mod local_copy;
mod log;
#[cfg(test)]
#[path = "bucket/tests/memory.rs"]
mod memory;
mod mount_identity;
mod newer_objects;
mod peers;
mod placeholder;
mod placeholder_tree;
mod prefix;
mod read_replica;
mod request;
mod role;
mod scan;
mod segment;
mod state_directory;
mod tree;
mod tree_record;
mod volume_check;
mod volume_opening;
mod writer_note;

pub use health::{UnavailableBucket, find_ailing_bucket};
pub use peers::{OwnPeer, PeerOptions};
pub(crate) use peers::{PART, PeerGroup, PeerSetup, SharedParts};
pub(crate) use prefix::{AttachmentDirectory, Prefix, PreparedPrefix, attach_prefix};
pub use prefix::{BucketAccess, directory_name_for};
pub use read_replica::ReplicaOptions;
pub(crate) use request::ReadParts;
pub use role::BucketRole;
pub(crate) use role::PreparedVolume;
pub use state_directory::is_followed;
pub use volume_check::{BucketCheckReport, BucketFinding, check_volume};
pub use volume_opening::{BucketError, WriterOptions};
pub use writer_note::VolumeWriter;
