//! The protocol of shared volumes as a model that stateright searches: every order of closes, looks,
//! publications, renames, deaths and leases that end, within limits. If these fail, some order of
//! events loses what another node has seen, or shows a program less than was closed; or the model no
//! longer finds a fault that it was made to find.
//!
//! `FOREBAY_MODEL=large` searches the large configurations to their end (minutes).

// How large the search is comes from the environment, and how many states there were is said.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros)]

#[path = "protocol/faults.rs"]
mod faults;
#[path = "protocol/locks.rs"]
mod locks;
#[path = "protocol/model.rs"]
mod model;
#[path = "protocol/nodes.rs"]
mod nodes;
#[path = "protocol/requests.rs"]
mod requests;
#[path = "protocol/state.rs"]
mod state;

use faults::{ANSWERED, FAULTS, Fault};
use model::{Limits, NO_LIMITS, Protocol};
use stateright::{Checker, HasDiscoveries, Model};

/// Searched to the end by each run of the tests.
const SMALL: &[(&str, Limits)] = &[
    ("one folder", Limits { writes: 2, looks: 1, deaths: 1, cuts: 1, nodes: 2, ..NO_LIMITS }),
    ("renames", Limits { moves: 1, looks: 1, deaths: 1, cuts: 1, nodes: 2, ..NO_LIMITS }),
    ("common", Limits { writes: 1, moves: 1, looks: 1, switches: 1, nodes: 2, ..NO_LIMITS }),
    ("bytes", Limits { writes: 2, looks: 1, deaths: 1, uploads: 1, nodes: 2, ..NO_LIMITS }),
    ("locks", Limits { locks: 3, deaths: 1, cuts: 1, ..NO_LIMITS }),
];
/// Searched to the end where there is time.
const LARGE: &[(&str, Limits)] = &[
    ("one folder", Limits { writes: 2, looks: 2, deaths: 1, cuts: 1, ..NO_LIMITS }),
    ("renames", Limits { moves: 2, looks: 1, deaths: 1, cuts: 1, nodes: 2, ..NO_LIMITS }),
    (
        "common",
        Limits { writes: 1, moves: 1, looks: 1, switches: 2, cuts: 1, nodes: 2, ..NO_LIMITS },
    ),
    ("bytes", Limits { writes: 2, looks: 1, deaths: 1, cuts: 1, uploads: 2, ..NO_LIMITS }),
    ("locks", Limits { locks: 4, writes: 1, deaths: 1, cuts: 1, ..NO_LIMITS }),
];

/// States that were looked at, and the first property that does not hold, with the events before it.
fn search(limits: Limits, fault: Option<Fault>) -> (usize, Option<(&'static str, String)>) {
    let checker = Protocol { limits, fault }.checker().threads(2);
    let checker = checker.finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
    let mut found = checker.discoveries().into_iter();
    let found = found.find(|(name, _)| *name != ANSWERED).map(|(name, path)| {
        let events = path.into_actions();
        let words = events.iter().map(|event| format!("{} {}", event.node, event.words));
        (name, words.collect::<Vec<_>>().join("\n"))
    });
    (checker.unique_state_count(), found)
}

#[test]
fn no_order_of_events_breaks_the_protocol() {
    let is_large = std::env::var("FOREBAY_MODEL").is_ok_and(|value| value == "large");
    for (name, limits) in if is_large { LARGE } else { SMALL } {
        let (states, found) = search(*limits, None);
        println!("{name}: {states} states, to the end");
        if let Some((property, events)) = found {
            panic!("{name}: not so: {property}, after\n{events}");
        }
        assert!(states > 1_000, "{name}: {states} states only: the model stands still");
    }
}

#[test]
fn each_seeded_fault_is_found() {
    for (fault, limits, properties) in FAULTS {
        let (states, found) = search(*limits, Some(*fault));
        let Some((property, _)) = found else {
            panic!("{fault:?} was not found in {states} states");
        };
        println!("{fault:?}: {states} states until not so: {property}");
        assert!(properties.contains(&property), "{fault:?} breaks another one: {property}");
    }
}
