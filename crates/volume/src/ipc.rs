//! What processes of Forebay say to each other: plain data, and the sockets that carry it.
//!
//! What it is not: it starts no process and answers nothing by itself.

mod channel;
mod live_status;
mod messages;
mod socket_names;

use std::ffi::CStr;

pub(crate) use channel::Channel;
pub use live_status::{
    BucketStatus, DaemonKind, FileStatus, LiveStatus, OperationTotals, PeerStatus, PeerTrouble,
    SCHEMA, SharedStatus, TaskStatus, TierStatus,
};
pub use messages::{BucketWaiting, CacheReport, UploadReport, WriteBackProgress, WriteBackReport};
pub(crate) use messages::{ToDaemon, ToLauncher};
pub(crate) use socket_names::{abstract_socket_names, candidate_sockets, find_daemon_sockets};

/// The name of the process that ends the connections of a daemon that was killed.
pub(crate) const RESCUER: &CStr = c"forebay-rescue";
