//! What would happen on other storage, with other rules, on more nodes, in another order: a
//! workload is simulated on a site, candidates are compared, and one is chosen with its reasons.
//!
//! This floor is pure: the same workload, site, choice and seed give the same outcome to the last
//! bit, on every machine. It opens no file, has no thread and knows no clock. What it is not: it
//! prints nothing and moves nothing; the roof writes what it decides, and the volume obeys.

pub mod choice;
pub mod outcome;
pub mod policies;
pub mod record;
pub mod scene;
mod share;
pub mod simulate;
mod spot;

pub use choice::{Choice, PolicyId, Spot};
pub use outcome::{Outcome, TaskOutcome, TierOutcome};
pub use policies::{POLICIES, Policy};
pub use scene::{NotPossible, Scene};
pub use simulate::{judge, simulate, simulate_watched};
