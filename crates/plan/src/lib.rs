//! What would happen on other storage, with other rules, on more nodes, in another order: a
//! workload is simulated on a site, candidates are compared, and one is chosen with its reasons.
//!
//! This floor is pure: the same workload, site, choice and seed give the same outcome to the last
//! bit, on every machine. It opens no file, has no thread and knows no clock. What it is not: it
//! prints nothing and moves nothing; the roof writes what it decides, and the volume obeys.

pub mod advise;
mod again;
pub mod bound;
pub mod calibrate;
pub mod choice;
pub mod compare;
pub mod cost;
mod dice;
pub mod emit;
pub mod fit;
pub mod homecoming;
pub mod import;
pub mod learn;
pub mod outcome;
pub mod policies;
pub mod record;
pub mod replay;
pub mod report;
mod rows;
pub mod scene;
pub mod search;
mod share;
pub mod simulate;
pub mod space;
mod spot;

pub use again::{Again, simulate_with_rework};
pub use choice::{Choice, PolicyId, Spot};
pub use cost::{Cost, Pricer, Terms};
pub use fit::Storage;
pub use homecoming::Homecoming;
pub use learn::{Learnt, learn_workload};
pub use outcome::{Outcome, TaskOutcome, TierOutcome};
pub use policies::{POLICIES, Policy};
pub use scene::{NotPossible, OwnCost, Scene};
pub use simulate::{simulate, simulate_in_detail, simulate_watched};
