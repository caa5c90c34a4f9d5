//! Files by what they cost: who wrote and read them, where they lived, where they should live.

mod advised_location;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use forebay_model::FileId;
use serde_json::{Value, json};

use super::{Panel, PanelContent};
use crate::commands::report::indexed_run::{FileTotals, IndexedRun};
use crate::commands::report::page_columns::{column, missing_panel};
use crate::commands::report::price_sheet::ReportPrices;
use crate::commands::report::strings::StringTable;

pub(super) const PANEL: Panel = Panel { name: "files", draws: PanelContent::Run(panel_data) };

/// Nobody reads more.
const MOST: usize = 200;

/// Who used a file.
#[derive(Clone, Debug, Default)]
struct Users {
    /// Bytes by task name.
    wrote: BTreeMap<i64, u64>,
    read: BTreeMap<i64, u64>,
}

fn panel_data(run: &IndexedRun, strings: &mut StringTable, _: Option<&ReportPrices>) -> Value {
    let files = &run.opened.files;
    if files.is_empty() {
        return missing_panel("No open file was recorded in this run.");
    }
    let times = estimate_file_times(run);
    let known = !times.is_empty();
    let time = |id: &FileId| times.get(id).copied().unwrap_or(0.0);
    // What went past Forebay was about the size of the file.
    let moved = |file: &FileTotals| {
        let past = if file.read_hidden && file.read == 0 { file.size.unwrap_or(0) } else { 0 };
        file.read + file.written + past
    };
    let mut ranked: Vec<&(FileId, FileTotals)> = files.iter().collect();
    ranked.sort_by(|(a, one), (b, other)| {
        let by_time = time(b).total_cmp(&time(a));
        by_time.then(moved(other).cmp(&moved(one))).then(a.cmp(b))
    });
    ranked.truncate(MOST);
    let users = users_of_files(run, &ranked);
    let lives = || ranked.iter().map(|(id, _)| run.lives.get(id));
    let crowds = advised_location::count_small_files(run);
    let most = |bytes: &BTreeMap<i64, u64>| {
        bytes
            .iter()
            .max_by_key(|(name, bytes)| (**bytes, Reverse(**name)))
            .map_or(-1, |most| *most.0)
    };
    let path = |id: &FileId| run.file_by_id(*id).map(|file| &*file.path);
    let lived = |id: &FileId| {
        run.file_by_id(*id).map_or(-1, |file| run.tier_index(file.home.unwrap_or(file.tree)))
    };
    let advised: Vec<(&str, String)> = ranked
        .iter()
        .map(|(id, file)| advised_location::advise_location(run, *id, file, &crowds))
        .collect();
    json!({
        "of": files.len(),
        "ranked_by": if known { "time" } else { "bytes" },
        "rows": {
            "n": ranked.len(),
            "path": column(ranked.iter().map(|(id, _)| strings.intern_optional(path(id)))),
            "class": column(ranked.iter().map(|(id, _)| {
                run.file_by_id(*id).map_or(-1, |file| run.class_index(file.class))
            })),
            "size_bytes": column(ranked.iter().map(|(_, file)| file.size)),
            "time_us": column(ranked.iter().map(|(id, _)| known.then(|| time(id) as u64))),
            "opens": column(ranked.iter().map(|(_, file)| file.opens)),
            "read_bytes": column(ranked.iter().map(|(_, f)| (!f.read_hidden).then_some(f.read))),
            "written_bytes":
                column(ranked.iter().map(|(_, f)| (!f.write_hidden).then_some(f.written))),
            "read_at_least_bytes":
                column(ranked.iter().map(|(_, f)| (f.read_hidden && f.read > 0).then_some(f.read))),
            "written_at_least_bytes": column(ranked.iter().map(|(_, f)| {
                (f.write_hidden && f.written > 0).then_some(f.written)
            })),
            "hidden": column(ranked.iter().map(|(_, f)| u8::from(f.read_hidden || f.write_hidden))),
            "writers": column(lives().map(|life| life.map(|life| life.writers.len()))),
            "readers": column(lives().map(|life| life.map(|life| life.readers.len()))),
            "wrote": column(users.iter().map(|users| most(&users.wrote))),
            "read": column(users.iter().map(|users| most(&users.read))),
            "lived": column(ranked.iter().map(|(id, _)| lived(id))),
            "gone_us": column(ranked.iter().map(|(id, _)| run.gone.get(id))),
            "should": column(advised.iter().map(|(should, _)| strings.intern_text(should))),
            "why": column(advised.iter().map(|(_, why)| strings.intern_text(why))),
        },
        "notes": [
            "The time of a file is estimated: that of all operations of a task on files of its \
             class, shared by opens and calls.",
            "Where a file should live is told by what became of it in this run; `forebay plan` \
             simulates it.",
        ],
    })
}

/// How long each file was waited for, in microseconds, as far as opens tell.
fn estimate_file_times(run: &IndexedRun) -> HashMap<FileId, f64> {
    let mut whole: HashMap<_, f64> = HashMap::new();
    for row in &run.ops {
        *whole.entry((row.task, row.class)).or_default() += row.time.0 as f64;
    }
    let class = |file| Some(run.file_by_id(file)?.class);
    let mut weights: HashMap<_, f64> = HashMap::new();
    for (task, class, _, pair) in run.opened.pairs_with_class(class) {
        let Some(class) = class else { continue };
        *weights.entry((task, class)).or_default() += pair.weight();
    }
    let mut times: HashMap<FileId, f64> = HashMap::new();
    for (task, class, file, pair) in run.opened.pairs_with_class(class) {
        let Some(key) = class.map(|class| (task, class)) else { continue };
        if let (Some(time), Some(weight)) = (whole.get(&key), weights.get(&key)) {
            *times.entry(file).or_default() += time * pair.weight() / weight.max(1.0);
        }
    }
    times
}

fn users_of_files(run: &IndexedRun, ranked: &[&(FileId, FileTotals)]) -> Vec<Users> {
    let wanted: BTreeSet<FileId> = ranked.iter().map(|(id, _)| *id).collect();
    let mut users: HashMap<FileId, Users> = HashMap::new();
    for ((task, file), pair) in &run.opened.pairs {
        if !wanted.contains(file) {
            continue;
        }
        let users = users.entry(*file).or_default();
        let name = run.name_index(*task);
        if pair.wrote {
            *users.wrote.entry(name).or_default() += pair.written;
        }
        if pair.reads {
            *users.read.entry(name).or_default() += pair.read;
        }
    }
    ranked.iter().map(|(id, _)| users.remove(id).unwrap_or_default()).collect()
}
