//! The file system over tiers, as far as it stands: directories covered in place, files sent to
//! other tiers by rules, and the record of what every process did to them. Kernel, threads and
//! descriptors live on this floor and nowhere else; it prints nothing, and where a file goes is
//! decided by `forebay_model::Rules`.

mod backend;
pub mod bucket;
mod counters;
mod daemon;
pub mod daemon_log;
pub mod fuse;
pub mod ipc;
pub mod kernel_events;
pub mod launch;
pub mod live;
pub mod native;
pub mod notifications;
pub mod overmount;
pub mod probe;
pub mod processes;
pub mod reads;
pub mod recorder;
mod rescue;
pub mod sampler;
pub mod shared_volume;
pub mod tiers;
pub mod warm;
