//! What a daemon does just now, for whoever looks: counted all the time, told when somebody asks at
//! a door of its own. Figures are sums since the daemon began; who asks twice has rates.
//!
//! The door is an abstract socket (unix(7)) that is named after the daemon's process, and is gone
//! with it. It is not the one at which `unmount` waits: who comes there wants the end.

mod door;
mod live_snapshot;

pub use crate::ipc::{
    BucketStatus, DaemonKind, FileStatus, LiveStatus, OperationTotals, PeerStatus, PeerTrouble,
    SCHEMA, SharedStatus, TaskStatus, TierStatus,
};
pub(crate) use door::{LiveSocket, open_live_socket};
pub use door::{list_daemons, query_daemon};
pub(crate) use live_snapshot::StatusSources;
pub(crate) use live_snapshot::mount_kind;
