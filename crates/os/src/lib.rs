//! The ground: what the system knows of files, processes, users and time, in plain words.
//!
//! Nothing here knows of tiers, buckets or requests. What it is not: it decides nothing.

pub mod clock;
pub mod command_ring;
pub mod credentials;
pub mod descriptor_path;
pub mod descriptors;
pub mod fast_wake;
pub mod file_identity;
pub mod file_systems;
pub mod forks;
pub mod heap;
pub mod mount_users;
pub mod numbered;
pub mod own_folder;
pub mod predecessor;
pub mod proc;
pub mod real_path;
pub mod seeds;
pub mod short_name;
