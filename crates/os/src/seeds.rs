//! How many histories a test tells, and which: a failure prints what replays it.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// `FOREBAY_SEEDS`: a number of seeds, or FROM..TO; these if it is not set.
#[allow(clippy::disallowed_methods)] // How long to go on, and the seed of a failure, come from there.
pub fn seeds_from_env(few: Range<u64>) -> Range<u64> {
    let Ok(text) = std::env::var("FOREBAY_SEEDS") else { return few };
    let seeds = match text.split_once("..") {
        Some((from, to)) => from.parse().ok().zip(to.parse().ok()),
        None => text.parse().ok().map(|count: u64| (1, count + 1)),
    };
    let (from, to) = seeds.expect("FOREBAY_SEEDS is a number, or FROM..TO");
    from..to
}

/// Histories between two words of how far it is.
const STEP: u64 = 50;

/// How a failure names what replays it.
pub fn replay_instruction(seed: u64) -> String {
    format!("seed {seed} (FOREBAY_SEEDS={seed}..{})", seed + 1)
}

/// Says which history it was, whatever fails in it; and how far it is, where many were asked for.
#[allow(clippy::disallowed_macros)] // A test has a terminal.
pub fn run_reporting_seed(seed: u64, what: impl FnOnce()) {
    if let Err(cause) = catch_unwind(AssertUnwindSafe(what)) {
        eprintln!("failed: {}", replay_instruction(seed));
        resume_unwind(cause);
    }
    if seed.is_multiple_of(STEP) {
        eprintln!("no failure up to seed {seed}");
    }
}
