//! What processes of Forebay say to each other: plain data, and the sockets that carry it.
//!
//! What it is not: it starts no process and answers nothing by itself.

mod channel;
mod doors;
mod figures;
mod messages;

use std::ffi::CStr;

pub(crate) use channel::Channel;
pub(crate) use doors::{abstract_socket_names, candidate_sockets, find_daemon_sockets};
pub use figures::{BucketNow, FileNow, Group, Kind, Live, SCHEMA, TaskNow, TierNow};
pub use messages::{BucketWaiting, CacheReport, UploadReport, WriteBackProgress, WriteBackReport};
pub(crate) use messages::{ToDaemon, ToFront};

/// The name of the process that ends the connections of a daemon that was killed.
pub(crate) const RESCUER: &CStr = c"forebay-rescue";
