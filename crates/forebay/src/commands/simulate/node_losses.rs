//! `--interrupt` and `--detection`: nodes that are taken away while a simulated run goes on.

use forebay_model::Seconds;
use forebay_plan::{Interruption, Interruptions, SimulationError, SpotMachines};
use std::str::FromStr;

/// When nodes are taken away, as typed.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct NodeLosses {
    /// Take a node away at this time after the start: 3@40s is node 3, counted from 1, with another
    /// in its place two minutes later; 3@40s+10m ten minutes later, 3@40s+never not at all (may be
    /// given several times)
    #[arg(long, value_name = "NODE@TIME[+TIME]")]
    interrupt: Vec<TypedInterruption>,
    /// From the loss of a node until the engine begins its tasks again
    #[arg(long, value_name = "TIME", default_value = "0s", requires = "interrupt")]
    detection: Seconds,
}

impl NodeLosses {
    /// What a simulation with so many nodes is given.
    pub(super) fn on_nodes(&self, nodes: u32) -> Result<Interruptions, SimulationError> {
        let given: Vec<Interruption> = self.interrupt.iter().map(|typed| typed.0).collect();
        Interruptions::at_times(&given, nodes)?.detected_after(self.detection)
    }

    /// How often somebody takes a node away.
    pub(super) fn count(&self) -> usize {
        self.interrupt.len()
    }
}

/// `NODE@TIME[+TIME]`, `NODE@TIME+never`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct TypedInterruption(Interruption);

impl FromStr for TypedInterruption {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = "write NODE@TIME[+TIME], such as 3@40s, 3@40s+10m or 3@40s+never";
        let (node, times) = text.split_once('@').ok_or_else(|| form.to_owned())?;
        let node: u32 = node.trim().parse().map_err(|_| format!("{node:?} is no node; {form}"))?;
        let node = node.checked_sub(1).ok_or("nodes are counted from 1")?;
        let (at, replaced) = match times.split_once('+') {
            None => (times, Some(SpotMachines::USUALLY_REPLACED)),
            Some((at, "never")) => (at, None),
            Some((at, wait)) => (at, Some(time(wait)?)),
        };
        Ok(Self(Interruption { node, at: time(at)?, replaced }))
    }
}

fn time(text: &str) -> Result<Seconds, String> {
    if text.trim_start().starts_with('-') {
        return Err(format!("{text:?} is before the start: times are counted from there"));
    }
    text.parse::<Seconds>().map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    //! If these fail, another node is taken away than the one that somebody typed, or at another time.
    use super::*;

    #[test]
    fn a_node_a_time_and_a_return_are_typed() {
        let typed = |text: &str| {
            let TypedInterruption(one) = text.parse().expect("it can be read");
            (one.node, one.at.get(), one.replaced.map(Seconds::get))
        };
        assert_eq!(typed("3@40s"), (2, 40.0, Some(120.0)));
        assert_eq!(typed("1@0s+10m"), (0, 0.0, Some(600.0)));
        assert_eq!(typed("12@2.5 h+never"), (11, 9000.0, None));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, words) in [
            ("40s", "NODE@TIME"),
            ("n3@40s", "\"n3\" is no node"),
            ("0@40s", "counted from 1"),
            ("3@-40s", "before the start"),
            ("3@40", "\"40\" is no time"),
            ("3@40s+", "\"\" is no time"),
            ("3@40s+later", "\"later\" is no time"),
        ] {
            let why = text.parse::<TypedInterruption>().expect_err(text);
            assert!(why.contains(words), "{text}: {why}");
        }
    }
}
