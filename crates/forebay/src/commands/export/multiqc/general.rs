//! The row of each run in MultiQC's general statistics.

use std::collections::BTreeMap;

use forebay_model::summary::{ByteBounds, TierSummary};
use serde_json::{Map, json};

use super::ExportedRun;

/// One row for each run; what was not seen is left out.
pub(super) fn general_statistics(told: &[ExportedRun]) -> serde_json::Value {
    let column = |title: &str, about: &str, suffix: &str, scale: &str, format: &str| {
        json!({"title": title, "description": about, "suffix": suffix, "scale": scale,
               "format": format, "min": 0})
    };
    let (plain, whole) = ("{:,.1f}", "{:,.0f}");
    let headers = json!([
        {"forebay_wall_min": column("Wall", "From start to end", " min", "Blues", plain)},
        {"forebay_tasks": column("Tasks", "Tasks, without those that only start others", "", "Greys", whole)},
        {"forebay_failed": column("Failed", "Tasks known to have failed", "", "Reds", whole)},
        {"forebay_waited_percent": column("Waited", "Share of their time that tasks waited for storage", "%", "OrRd", plain)},
        {"forebay_read_gib": column("Read", "At least so much was read", " GiB", "Purples", plain)},
        {"forebay_written_gib": column("Written", "At least so much was written", " GiB", "Greens", plain)},
        {"forebay_files_made": column("Files made", "Files that the run made", "", "Oranges", whole)},
    ]);
    let row = |told: &ExportedRun| {
        let summary = &told.summary;
        let tasks = summary.tasks.iter().filter(|task| !task.driver);
        let gib = |of: fn(&TierSummary) -> ByteBounds| {
            let bytes: u64 = summary.tiers.iter().map(|tier| of(tier).at_least.get()).sum();
            bytes as f64 / f64::from(1 << 30)
        };
        let mut row = Map::new();
        row.insert("forebay_wall_min".into(), json!(summary.wall_us.as_secs() / 60.0));
        row.insert(
            "forebay_tasks".into(),
            json!(tasks.clone().map(|task| task.count).sum::<u64>()),
        );
        row.insert("forebay_failed".into(), json!(tasks.map(|task| task.failed).sum::<u64>()));
        if let Some(share) = summary.waited_share {
            row.insert("forebay_waited_percent".into(), json!(share * 100.0));
        }
        if !summary.tiers.is_empty() {
            row.insert("forebay_read_gib".into(), json!(gib(|tier| tier.read)));
            row.insert("forebay_written_gib".into(), json!(gib(|tier| tier.written)));
        }
        let made: u64 = told.sizes.iter().map(|(files, _)| files).sum();
        row.insert("forebay_files_made".into(), json!(made));
        row
    };
    let data: BTreeMap<&str, _> = told.iter().map(|told| (&*told.name, row(told))).collect();
    json!({
        "id": "forebay_general_stats", "plot_type": "generalstats", "pconfig": headers,
        "data": data,
    })
}
