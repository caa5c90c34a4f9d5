//! What a daemon does just now, for whoever looks: counted all the time, told when somebody asks at
//! a door of its own. Figures are sums since the daemon began; who asks twice has rates.
//!
//! The door is an abstract socket (unix(7)) that is named after the daemon's process, and is gone
//! with it. It is not the one at which `unmount` waits: who comes there wants the end.

mod counters;
mod door;
mod heat;
mod look;
mod told;

pub(crate) use counters::Counters;
pub(crate) use door::{Door, open};
pub use door::{ask, daemons};
pub(crate) use heat::Flow;
pub(crate) use look::Sources;
pub use told::{BucketNow, FileNow, Group, Kind, Live, SCHEMA, TaskNow, TierNow};
