//! What a book promises, asked of each that we have. If one of these fails, a node sees names that
//! never were, two nodes write one folder, or what was finished is lost with its maker.
//!
//! Some are what users of other shared file systems suffered from: sessions that were cleaned up
//! while their mount lived (JuiceFS #1774, #7336), leases of different lengths (JuiceFS #1591), older
//! programs on newer tables (JuiceFS #1841), clients that come back with what they had (CephFS
//! #14610, #27435), evictions that nobody needed (CephFS #22645).

// Seeds come from the environment, and what did not run is said.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros)]

#[path = "common/server.rs"]
mod server;

#[path = "contract/faults.rs"]
mod faults;
#[path = "contract/histories.rs"]
mod histories;
#[path = "contract/plans.rs"]
mod plans;
#[path = "contract/suite.rs"]
mod suite;
#[path = "contract/worlds.rs"]
mod worlds;
