//! The kernel's edge: requests from `/dev/fuse` become verbs of [`Native`](crate::native::Native),
//! answers become replies. It translates and counts; it decides nothing.
//!
//! Our own transport, not a crate: what is promised of locks (flock apart from fcntl, waits that
//! a signal ends), of files without a name and of birth times can't be said through fuser 0.18,
//! which drops the lock flags, refuses INTERRUPT and has no TMPFILE or STATX. See docs/adr.

mod abi;
mod cost;
mod crew;
mod data;
mod device;
mod dispatch;
mod emulated_latency;
mod failed;
mod gate;
mod lock;
mod meta;
mod opcodes;
mod opened;
mod rare;
mod reply;
mod session;
mod tellers;
mod waiters;

pub(crate) use cost::measure_request_cost;
pub use device::{Device, open_device};
pub use emulated_latency::Emulated;
pub use session::{Session, Tree};
