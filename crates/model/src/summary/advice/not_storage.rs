//! Storage is not what the run waits for: say so, and spare people the search.

use super::{Evidence, Finding};
use crate::summary::format_percent;

/// Less waiting than this is not worth a change.
const SHARE_MAX: f64 = 0.05;

pub(super) fn finding_for(evidence: &Evidence<'_>) -> Option<Finding> {
    let summary = evidence.summary;
    let waited = summary.waited_share?;
    // What went past Forebay is not in the share; the kernel's account of the machine bounds it.
    let most = match summary.pressure_share {
        _ if !summary.hidden => waited,
        Some(pressure) => waited.max(pressure),
        None => return None,
    };
    if most >= SHARE_MAX {
        return None;
    }
    let busiest = summary.tasks.iter().find(|task| !task.driver);
    let split = &summary.time;
    let computing = split.computing_us.unwrap_or_default();
    let cpu_wait = split.cpu_wait_us.unwrap_or_default();
    let next = match busiest {
        // Whatever took most of the time that is known.
        Some(task) if split.elsewhere_us > computing.max(cpu_wait) => {
            format!("look at what `{}` sleeps or waits for", task.name)
        }
        _ if cpu_wait > computing => {
            "tasks wait for CPUs: more cores, or fewer at a time, help".to_owned()
        }
        Some(task) if task.count > 1 => {
            format!("look at the CPU work of `{}` and at how many run at a time", task.name)
        }
        Some(task) => format!("look at the CPU work of `{}`", task.name),
        None => "look at the CPU work".to_owned(),
    };
    Some(Finding {
        // Anything that saves more than a twentieth of the run speaks first.
        score_s: summary.wall_us.as_secs() * SHARE_MAX,
        saves: None,
        sentence: format!(
            "Storage is not the bottleneck: tasks waited for it {} of their time; {next}.",
            format_percent(waited)
        ),
    })
}
