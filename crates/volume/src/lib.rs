//! The file system over tiers, as far as it stands: directories covered in place, files sent to
//! other tiers by rules, and the record of what every process did to them. Kernel, threads and
//! descriptors live on this floor and nowhere else; it prints nothing, and where a file goes is
//! decided by `forebay_model::Rules`.

pub mod bucket;
pub mod clock;
pub mod cover;
pub mod creds;
mod daemon;
pub mod daemon_log;
mod descriptors;
pub mod fuse;
mod heap;
pub mod launch;
pub mod live;
pub mod native;
mod numbered;
mod pack;
pub mod probe;
pub mod proc;
pub mod processes;
pub mod reads;
pub mod real_path;
pub mod recorder;
pub mod sampler;
#[cfg(test)]
mod seeds;
mod short;
pub mod store;
pub mod tiers;
mod watch;
mod whereabouts;
