//! The kernel's edge: requests from `/dev/fuse` or io_uring become verbs of [`Native`](crate::native::Native),
//! answers become replies. It translates and counts; it decides nothing.
//!
//! Our own transport, not a crate: what is promised of locks (flock apart from fcntl, waits that
//! a signal ends), of files without a name and of birth times can't be said through fuser 0.18,
//! which drops the lock flags, refuses INTERRUPT and has no TMPFILE or STATX. See docs/adr.

mod abi;
mod device;
mod dispatch;
mod emulated_latency;
mod failed;
mod file_requests;
mod gate;
mod lock_requests;
mod metadata_requests;
mod notifier_threads;
mod opcodes;
mod open_files;
mod queue_entry;
mod rare_requests;
mod reply;
mod reply_path;
mod request_cost;
mod request_threads;
mod session;
mod shared_session;
mod transport;
mod waiters;

pub use device::{Device, open_device};
pub use emulated_latency::EmulatedStorage;
pub use queue_entry::{UringObstacle, check_uring};
pub(crate) use request_cost::measure_request_cost;
pub use session::{ServedTree, Session};
pub(crate) use shared_session::{SharedAccess, SharedSession};
pub use transport::Transport;
