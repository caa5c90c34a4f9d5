//! A volume in a bucket: its tree as a log of segments beside its plain objects, so that another
//! machine sees all that was made durable there. docs/formats/bucket.md draws each byte.

mod adopt;
mod bodies;
mod body;
mod check;
mod extended;
mod fetch;
mod follow;
mod health;
mod life;
mod local;
mod log;
mod marks;
#[cfg(test)]
#[path = "bucket/tests/memory.rs"]
mod memory;
mod mirror;
mod opening;
mod placeholder;
mod prefix;
mod record;
mod request;
mod role;
mod scan;
mod segment;
mod ship;
mod source;
mod state;
mod sums;
mod tree;
mod writer;

pub use check::{Checked, Finding, check_volume};
pub use follow::Following;
pub use health::{Ailing, find_ailing_bucket};
pub use opening::{BucketError, Wanted};
pub(crate) use prefix::{Held, Lent, Prefix, attach_prefix};
pub use prefix::{Ways, directory_name_for};
pub(crate) use role::Ready;
pub use role::Role;
pub use state::is_followed;
pub use writer::Writer;
