//! What would happen on other storage, with other rules, on more nodes, in another order: a
//! workload is simulated on a site, candidates are compared, and one is chosen with its reasons.
//!
//! This floor is pure: the same workload, site, choice and seed give the same outcome to the last
//! bit, on every machine. It opens no file, has no thread and knows no clock. What it is not: it
//! prints nothing and moves nothing; the roof writes what it decides, and the volume obeys.

pub mod advise;
pub mod bound;
pub mod calibrate;
pub mod choice;
pub mod compare;
pub mod cost;
pub mod emit;
mod expected_rework;
pub mod fit;
pub mod import;
mod interruptions;
pub mod learn;
mod loaded_run;
pub mod outcome;
pub mod policies;
pub mod prepared_problem;
pub mod replay;
pub mod report;
pub mod search;
pub mod search_space;
mod seeded_rng;
mod share;
pub mod simulate;
pub mod simulated_facts;
pub mod whole_folders;
pub mod write_back_estimate;

pub use choice::{Choice, PolicyId, SpotMachines};
pub use cost::{Cost, Pricer, PurchaseTerms};
pub use expected_rework::{ExpectedRework, simulate_with_rework};
pub use fit::FittedStorage;
pub use interruptions::{Interruption, Interruptions};
pub use learn::{LearntRun, learn_workload};
pub use outcome::{Outcome, Rework, TaskOutcome, TierOutcome};
pub use policies::{POLICIES, Policy};
pub use prepared_problem::{ForebayOverhead, PreparedProblem, SimulationError};
pub use simulate::{simulate, simulate_in_detail, simulate_interrupted, simulate_watched};
pub use write_back_estimate::WriteBackEstimate;
