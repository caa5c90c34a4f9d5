//! One figure of a simulated setting, by the name that a study has for it.

use crate::commands::simulate::SimulationReport;
use crate::exit::CommandError;
use crate::scenario::Scenario;
use forebay_plan::Outcome;

/// How many bytes are a GiB.
const GIB: f64 = (1_u64 << 30) as f64;

pub(super) fn figure_of_outcome(
    scenario: &Scenario,
    outcome: &Outcome,
    what: &str,
) -> Result<f64, CommandError> {
    let simulated = SimulationReport::from_outcome(scenario, outcome, 0);
    let unknown = |what: &str| {
        CommandError::new(
            1,
            format!("a study asks for {what:?}, which no outcome has"),
            "`forebay manual formats study` has them",
        )
    };
    let tier = |name: &str| simulated.tiers.get(name).ok_or_else(|| unknown(what));
    if let Some(name) = what.strip_prefix("gib_per_node.") {
        return Ok(tier(name)?.peak_bytes_per_node / GIB);
    }
    if let Some(name) = what.strip_prefix("gib_read.") {
        return Ok(tier(name)?.read_bytes.get() as f64 / GIB);
    }
    if let Some(name) = what.strip_prefix("operations.") {
        return Ok(tier(name)?.operations);
    }
    if let Some((how, kind)) = what.split_once("_s.") {
        let kinds = &scenario.workload.kinds;
        let of = outcome.tasks.iter().filter(|task| {
            kinds[scenario.workload.tasks[task.task.index()].kind.index()].name == kind
        });
        let times: Vec<f64> = of.map(|task| (task.ended - task.started).get()).collect();
        return match how {
            "mean" if !times.is_empty() => Ok(times.iter().sum::<f64>() / times.len() as f64),
            "slowest" if !times.is_empty() => Ok(times.into_iter().fold(0.0, f64::max)),
            _ => Err(unknown(what)),
        };
    }
    match what {
        "seconds" => Ok(simulated.makespan_s),
        "hours" => Ok(simulated.makespan_s / 3600.0),
        "samples_per_hour" => Ok(simulated.samples_per_hour),
        "utilisation_pct" => Ok(simulated.utilisation * 100.0),
        "waited_pct" => Ok(simulated.waited_share * 100.0),
        "usd" => simulated.cost_usd.ok_or_else(|| unknown(what)),
        "first_sample_hours" => Ok(first_pipeline_seconds(outcome) / 3600.0),
        _ => Err(unknown(what)),
    }
}

/// When the first pipeline is done.
fn first_pipeline_seconds(outcome: &Outcome) -> f64 {
    let of = outcome.tasks.iter().filter(|task| task.pipeline == 0);
    of.map(|task| task.ended.get()).fold(0.0, f64::max)
}
