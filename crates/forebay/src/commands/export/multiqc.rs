//! Custom content of MultiQC: files that it picks up by their names, without configuration. Its
//! pages are HTML, into which names of tasks and storages go as text.
//!
//! Source of the form: MultiQC's documentation, "Custom content" (files `*_mqc.json`).

mod general;

use std::collections::BTreeMap;
use std::path::Path;

use forebay_model::Micros;
use forebay_model::summary::Summary;
use serde_json::{Map, Value, json};

use super::{Args, Format, claim_output};
use crate::commands::explain::file_lifetimes::{self, SIZES};
use crate::commands::summary;
use crate::console;
use crate::exit::CommandError;
use crate::name_escaping::escape_name;
use crate::output::{UNSEALED, seal_text};

pub(super) const FORMAT: Format = Format { name: "multiqc", write: export_multiqc };

/// More kinds of tasks are one bar.
const KINDS: usize = 30;

/// A run, and what is told of it.
struct ExportedRun {
    name: String,
    summary: Summary,
    sizes: [(u64, u64); SIZES.len()],
}

fn export_multiqc(args: &Args) -> Result<(), CommandError> {
    let Some(folder) = &args.output else {
        let why = "MultiQC's content is several files";
        return Err(CommandError::new(
            1,
            why,
            "name a directory with -o, below that which MultiQC searches",
        ));
    };
    let told = args
        .what
        .iter()
        .map(|path| read_labelled_run(path, &args.what))
        .collect::<Result<Vec<_>, _>>()?;
    std::fs::create_dir_all(folder).map_err(|error| {
        let message = format!("{}: {error}", folder.display());
        CommandError::new(1, message, "name a directory that you may write")
    })?;
    let sections = [
        ("general_stats", general::general_statistics(&told)),
        ("time_by_task", time_by_task(&told)),
        ("bytes_by_storage", bytes_by_storage(&told)),
        ("file_sizes", file_sizes(&told)),
    ];
    // All or none: a page of two exports would be of no run.
    let places = sections.map(|(name, mut section)| {
        // MultiQC looks at keys that it knows.
        section["made_by"] = json!(format!("forebay export; {UNSEALED}"));
        claim_output(&folder.join(format!("forebay_{name}_mqc.json")), args).map(|to| (to, section))
    });
    let places = places.into_iter().collect::<Result<Vec<_>, _>>()?;
    for (place, section) in places {
        let text = serde_json::to_string_pretty(&section).expect("plain data") + "\n";
        place.write(seal_text(text).as_bytes())?;
    }
    console::note(&format!("{} runs for MultiQC are in {}", told.len(), folder.display()));
    Ok(())
}

/// `all` are there to tell runs of one name apart.
fn read_labelled_run(path: &Path, all: &[std::path::PathBuf]) -> Result<ExportedRun, CommandError> {
    let (run, summary) = summary::summarize_run(path, &[])?;
    let stop =
        |error: forebay_model::Error| CommandError::new(1, error.to_string(), "name run files");
    let lives = file_lifetimes::collect_lives(&run).map_err(stop)?;
    let stem = |path: &Path| path.file_stem().unwrap_or_default().to_owned();
    let namesakes = all.iter().filter(|other| stem(other) == stem(path)).count();
    let name = match namesakes {
        0 | 1 => stem(path),
        _ => path.with_extension("").into_os_string(),
    };
    let name = escape_html(&escape_name(name.as_encoded_bytes()));
    Ok(ExportedRun { name, summary, sizes: file_lifetimes::count_by_size(&lives) })
}

/// Text for a page: MultiQC writes names as they are.
fn escape_html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// A section of the page; `data` has for each run its bars.
fn bar_section(
    id: &str,
    (title, unit, about): (&str, &str, &str),
    data: BTreeMap<String, Map<String, Value>>,
) -> Value {
    let id = format!("forebay_{id}");
    let plot = format!("{id}_plot");
    json!({
        "id": id, "parent_id": "forebay", "parent_name": "Forebay",
        "parent_description": "Where pipelines waited for storage, and what they did to it.",
        "section_name": title, "description": about, "plot_type": "bargraph",
        "pconfig": {"id": plot, "title": format!("Forebay: {title}"), "ylab": unit},
        "data": data,
    })
}

fn time_by_task(told: &[ExportedRun]) -> Value {
    let mut sums: BTreeMap<&str, Micros> = BTreeMap::new();
    let tasks = |told: &'_ ExportedRun| -> Vec<(String, Micros)> {
        let tasks = told.summary.tasks.iter().filter(|task| !task.driver);
        tasks.filter_map(|task| Some((task.name.clone(), task.wall_us?))).collect()
    };
    let all: Vec<(&ExportedRun, Vec<(String, Micros)>)> =
        told.iter().map(|t| (t, tasks(t))).collect();
    for (name, wall) in all.iter().flat_map(|(_, tasks)| tasks) {
        *sums.entry(name).or_default() += *wall;
    }
    let mut order: Vec<_> = sums.into_iter().collect();
    order.sort_by_key(|(name, wall)| (std::cmp::Reverse(*wall), *name));
    let kept: Vec<&str> = order.iter().take(KINDS).map(|(name, _)| *name).collect();
    let mut data = BTreeMap::new();
    for (told, tasks) in &all {
        let mut bars: Map<String, Value> = Map::new();
        for (name, wall) in tasks {
            let is_kept = kept.contains(&name.as_str());
            let bar = if is_kept {
                escape_html(&escape_name(name.as_bytes()))
            } else {
                "(others)".to_owned()
            };
            let before = bars.get(&bar).and_then(Value::as_f64).unwrap_or(0.0);
            bars.insert(bar, json!(before + wall.as_secs()));
        }
        data.insert(told.name.clone(), bars);
    }
    let about = "Wall time of tasks by name, summed over those that ran at a time.";
    bar_section("time_by_task", ("Time by task", "seconds", about), data)
}

fn bytes_by_storage(told: &[ExportedRun]) -> Value {
    let mut data = BTreeMap::new();
    for told in told {
        let mut bars = Map::new();
        for tier in &told.summary.tiers {
            let name = match &tier.tier {
                Some(name) => format!("tier {}", escape_html(&escape_name(name.as_bytes()))),
                None => {
                    escape_html(&format!("in place ({})", escape_name(tier.fs_type.as_bytes())))
                }
            };
            for (what, amount) in [("read", &tier.read), ("written", &tier.written)] {
                let bar = format!("{name}: {what}");
                let before = bars.get(&bar).and_then(Value::as_u64).unwrap_or(0);
                bars.insert(bar, json!(before + amount.at_least.get()));
            }
        }
        data.insert(told.name.clone(), bars);
    }
    let about = "Bytes that are known to have been read and written; what the kernel moved past \
                 Forebay is not all in it.";
    bar_section("bytes_by_storage", ("Bytes by storage", "bytes", about), data)
}

fn file_sizes(told: &[ExportedRun]) -> Value {
    let bars = |told: &ExportedRun| -> Map<String, Value> {
        let all = SIZES.iter().zip(&told.sizes);
        all.map(|((_, name), (files, _))| ((*name).to_owned(), json!(files))).collect()
    };
    let data = told.iter().map(|told| (told.name.clone(), bars(told))).collect();
    let about = "Files that the run made, by size. Thousands of small ones cost more in names than \
                 in bytes.";
    bar_section("file_sizes", ("Sizes of files", "files", about), data)
}
