//! Storage is not what the run waits for: say so, and spare people the search.

use super::{Evidence, Finding};

/// Less waiting than this is not worth a change.
const SHARE_MAX: f64 = 0.05;

pub(super) fn judge(evidence: &Evidence<'_>) -> Option<Finding> {
    let summary = evidence.summary;
    let waited = summary.waited_share?;
    // What went past Forebay is not in the share; the kernel's account of waiting is.
    let share = match summary.pressure_share {
        Some(pressure) => waited.max(pressure),
        None if summary.hidden => return None,
        None => waited,
    };
    if share >= SHARE_MAX {
        return None;
    }
    let busiest = summary.tasks.iter().find(|task| !task.driver);
    let next = match busiest {
        Some(task) if task.count > 1 => {
            format!("look at the CPU work of `{}` and at how many run at a time", task.name)
        }
        Some(task) => format!("look at the CPU work of `{}`", task.name),
        None => "look at the CPU work".to_owned(),
    };
    let percent = if share < 0.01 { "less than 1".into() } else { format!("{:.0}", share * 100.0) };
    Some(Finding {
        // Anything that saves more than a twentieth of the run speaks first.
        score_s: summary.wall_us.as_secs() * SHARE_MAX,
        saves: None,
        sentence: format!(
            "Storage is not the bottleneck: tasks waited for it {percent} % of the time; {next}."
        ),
    })
}
