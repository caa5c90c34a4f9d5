//! When nodes are taken away, and when others are in their place: by chance, or at times that
//! somebody names. A simulation is given one of these and does what it says.
//!
//! What it is not: it knows no task; the simulation begins again what was lost.

mod chance;

use crate::choice::SpotMachines;
use crate::prepared_problem::SimulationError;
use chance::InterruptionChance;
use forebay_model::Seconds;

/// What happens to a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct NodeChange {
    pub(crate) at: f64,
    pub(crate) node: u32,
    /// It is taken away; otherwise another one is in its place.
    pub(crate) away: bool,
}

/// A node is taken away at a known time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interruption {
    /// Which, from 0.
    pub node: u32,
    /// So long after the start.
    pub at: Seconds,
    /// So long after that another is in its place; `None`: never.
    pub replaced: Option<Seconds>,
}

/// All that will happen to nodes.
#[derive(Clone, Debug)]
pub struct Interruptions {
    /// What is known to happen next: by chance, one change for each node; else all there will be.
    changes: Vec<NodeChange>,
    chance: Option<InterruptionChance>,
    detection: Seconds,
}

impl Interruptions {
    /// Nothing happens.
    pub fn none() -> Self {
        Self { changes: Vec::new(), chance: None, detection: Seconds::ZERO }
    }

    /// As often as machines of this kind are taken away; the same seed, the same moments.
    pub fn by_chance(spot: Option<SpotMachines>, nodes: u32, seed: u64) -> Self {
        let Some(spot) = spot.filter(|spot| spot.per_hour > 0.0) else { return Self::none() };
        let mut chance = InterruptionChance::new(spot, seed);
        let changes = (0..nodes).map(|node| chance.first_change(node)).collect();
        Self { changes, chance: Some(chance), ..Self::none() }
    }

    /// At these times, of so many nodes.
    ///
    /// # Errors
    /// There is no such node or time, or the node is away by then; it says which.
    pub fn at_times(given: &[Interruption], nodes: u32) -> Result<Self, SimulationError> {
        let mut given = given.to_vec();
        given.sort_by(|a, b| a.at.get().total_cmp(&b.at.get()));
        let mut changes = Vec::new();
        for (number, one) in given.iter().enumerate() {
            one.check(nodes)?;
            let before = given[..number].iter().rev().find(|other| other.node == one.node);
            if let Some(why) = before.and_then(|other| other.overlaps(one)) {
                return Err(SimulationError(why));
            }
            let (at, node) = (one.at.get(), one.node);
            changes.push(NodeChange { at, node, away: true });
            if let Some(wait) = one.replaced {
                changes.push(NodeChange { at: at + wait.get(), node, away: false });
            }
        }
        Ok(Self { changes, ..Self::none() })
    }

    /// The same, where the engine takes so long to notice: only then does it begin the tasks of a
    /// lost node again.
    ///
    /// # Errors
    /// There is no such time.
    #[must_use = "it is another value"]
    pub fn detected_after(self, detection: Seconds) -> Result<Self, SimulationError> {
        if !(0.0..1e9).contains(&detection.get()) {
            let took = detection.get();
            return Err(SimulationError(format!("no engine notices a loss after {took} s")));
        }
        Ok(Self { detection, ..self })
    }

    /// From the loss of a node until the engine begins its tasks again, in seconds.
    pub(crate) fn detection(&self) -> f64 {
        self.detection.get()
    }

    /// Whether nothing will ever happen.
    pub(crate) fn are_none(&self) -> bool {
        self.changes.is_empty()
    }

    /// When something happens next; infinity: never.
    pub(crate) fn next_change_time(&self) -> f64 {
        self.changes.iter().map(|change| change.at).fold(f64::INFINITY, f64::min)
    }

    /// What happens by then, if anything does: the earliest first, of several at once the first.
    pub(crate) fn take_due_change(&mut self, now: f64) -> Option<NodeChange> {
        let due = self.changes.iter().enumerate().filter(|(_, change)| change.at <= now);
        let (place, _) = due.min_by(|(_, a), (_, b)| a.at.total_cmp(&b.at))?;
        match &mut self.chance {
            Some(chance) => {
                let next = chance.change_after(&self.changes[place]);
                Some(std::mem::replace(&mut self.changes[place], next))
            }
            None => Some(self.changes.remove(place)),
        }
    }
}

impl Interruption {
    fn check(&self, nodes: u32) -> Result<(), SimulationError> {
        let (node, at) = (self.node.saturating_add(1), self.at.get());
        if self.node >= nodes {
            return Err(SimulationError(format!(
                "node {node} can't be taken away: the simulation has nodes 1 to {nodes}"
            )));
        }
        let replaced = self.replaced.map_or(0.0, Seconds::get);
        if !(0.0..1e9).contains(&at) || !(0.0..1e9).contains(&replaced) {
            return Err(SimulationError(format!(
                "node {node} can't be taken away at {at} s and be back {replaced} s later"
            )));
        }
        Ok(())
    }

    /// Why a later one of the same node can't be, if it can't.
    fn overlaps(&self, later: &Self) -> Option<String> {
        let (node, at) = (self.node + 1, later.at);
        let until = match self.replaced {
            None => "for good".to_owned(),
            Some(wait) if later.at < self.at + wait => format!("until {}", self.at + wait),
            Some(_) => return None,
        };
        Some(format!(
            "node {node} can't be taken away at {at}: it is away from {} {until}",
            self.at
        ))
    }
}

#[cfg(test)]
mod tests {
    //! If these fail, nodes are taken away more or less often than said, or at other times.
    use super::*;

    #[test]
    fn interruptions_come_as_often_as_said() {
        let spot = SpotMachines { per_hour: 0.5, replaced: Seconds(60.0) };
        let mut all = Interruptions::by_chance(Some(spot), 10, 7);
        let mut count = 0;
        while all.next_change_time() < 3.6e6 {
            let now = all.next_change_time();
            count += u32::from(all.take_due_change(now).is_some_and(|change| change.away));
        }
        assert!((4700..5300).contains(&count), "{count} of about 5000 in 10 x 1000 h");
    }

    fn taken(node: u32, at: f64, replaced: Option<f64>) -> Interruption {
        Interruption { node, at: Seconds(at), replaced: replaced.map(Seconds) }
    }

    #[test]
    fn given_times_come_in_their_order_and_once() {
        let given = [taken(2, 50.0, None), taken(1, 40.0, Some(5.0)), taken(1, 45.0, Some(20.0))];
        let mut all = Interruptions::at_times(&given, 3).expect("they can be");
        let mut seen = Vec::new();
        assert_eq!(all.take_due_change(39.0), None);
        while let Some(change) = all.take_due_change(all.next_change_time().min(1e6)) {
            seen.push((change.at, change.node, change.away));
        }
        let (away, back) = (true, false);
        assert_eq!(
            seen,
            [(40.0, 1, away), (45.0, 1, back), (45.0, 1, away), (50.0, 2, away), (65.0, 1, back)]
        );
        assert_eq!(all.next_change_time(), f64::INFINITY);
    }

    #[test]
    fn what_cannot_happen_is_named() {
        let why = |given: &[Interruption]| {
            Interruptions::at_times(given, 4).expect_err("it can't be").to_string()
        };
        assert!(why(&[taken(4, 1.0, None)]).contains("node 5 can't be taken away"));
        assert!(why(&[taken(4, 1.0, None)]).contains("nodes 1 to 4"));
        assert!(why(&[taken(0, -1.0, None)]).contains("at -1 s"));
        assert!(why(&[taken(0, 1.0, Some(-2.0))]).contains("-2 s later"));
        assert!(why(&[taken(0, f64::NAN, None)]).contains("NaN"));
        let twice = why(&[taken(0, 9.0, None), taken(0, 5.0, Some(10.0))]);
        assert!(twice.contains("node 1 can't be taken away at 9.0 s"), "{twice}");
        assert!(twice.contains("away from 5.0 s until 15.0 s"), "{twice}");
        assert!(why(&[taken(0, 5.0, None), taken(0, 9.0, None)]).contains("from 5.0 s for good"));
        for wrong in [-1.0, f64::INFINITY] {
            let never = Interruptions::none().detected_after(Seconds(wrong));
            assert!(never.is_err(), "{wrong}");
        }
    }
}
