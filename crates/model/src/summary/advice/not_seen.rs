//! Work was handed to where Forebay does not look: what follows is not the whole truth.

use super::{Evidence, Finding, group_thousands};

pub(super) fn finding_for(evidence: &Evidence<'_>) -> Option<Finding> {
    let first = evidence.summary.not_seen.first()?;
    let all: u64 = evidence.summary.not_seen.iter().map(|n| n.count).sum();
    let names: Vec<&str> =
        evidence.summary.not_seen.iter().take(3).map(|n| n.program.as_str()).collect();
    // A call or two may be a side show; many are the run itself.
    let share = if all >= 3 || evidence.summary.tasks.iter().all(|t| t.driver) { 1.0 } else { 0.2 };
    let next = match first.program.as_str() {
        "docker" | "podman-remote" | "nerdctl" => {
            "run the tools without a container daemon (conda, apptainer)"
        }
        "ssh" | "pdsh" | "rsh" => "run the command on the machine that does the work",
        _ => "start `forebay run` inside the job, or let the engine run its tasks locally",
    };
    let times =
        if all == 1 { "once".to_owned() } else { format!("{} times", group_thousands(all)) };
    Some(Finding {
        score_s: evidence.summary.wall_us.as_secs() * share,
        saves: None,
        sentence: format!(
            "Work was handed over {times} ({}) to where this run could not look: {next}.",
            names.join(", ")
        ),
    })
}
