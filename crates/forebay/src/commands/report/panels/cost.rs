//! What a run cost, line by line.

use forebay_model::run::note_key::COST;
use forebay_model::{ByteCount, Seconds};
use forebay_plan::cost::{Cost, RecordedUsage};
use serde_json::{Value, json};

use super::{Panel, PanelContent};
use crate::commands::report::indexed_run::IndexedRun;
use crate::commands::report::page_columns::{column, missing_panel};
use crate::commands::report::page_text::escape_name;
use crate::commands::report::price_sheet::ReportPrices;
use crate::commands::report::strings::StringTable;

pub(super) const PANEL: Panel = Panel { name: "cost", draws: PanelContent::Run(panel_data) };

fn panel_data(run: &IndexedRun, strings: &mut StringTable, sheet: Option<&ReportPrices>) -> Value {
    let mut cost = match run_cost(run, sheet) {
        Ok(cost) => cost,
        Err(why) => return missing_panel(&why),
    };
    let predicted = run.header.note(&COST).is_some();
    if let Some(sheet) = sheet.filter(|_| !predicted) {
        let used = run.summary.tiers.iter().zip(&run.trees).filter(|(used, _)| used.operations > 0);
        let unpaid = used
            .map(|(_, tree)| IndexedRun::tier_name(tree))
            .filter(|tier| !sheet.has_price_for(tier));
        cost.unpriced.extend(unpaid.map(str::to_owned));
        cost.unpriced.dedup();
    }
    let texts = |texts: &[String]| column(texts.iter().map(|text| escape_name(text.as_bytes())));
    json!({
        "total_usd": cost.total,
        "per_sample_usd": (cost.pipelines > 1).then_some(cost.per_sample),
        "sheet": escape_name(cost.sheet.as_bytes()),
        "compiled": escape_name(cost.compiled.as_bytes()),
        "lines": {
            "n": cost.lines.len(),
            "what": column(cost.lines.iter().map(|line| strings.intern_name(line.what.as_bytes()))),
            "item": column(cost.lines.iter().map(|line| strings.intern_name(line.item.as_bytes()))),
            "units": column(cost.lines.iter().map(|line| line.units)),
            "usd": column(cost.lines.iter().map(|line| line.usd)),
        },
        "unverified": texts(&cost.unverified),
        "second_hand": texts(&cost.second_hand),
        "unpriced": texts(&cost.unpriced),
        "notes": [if predicted {
            "As it was simulated."
        } else {
            "One machine for as long as the run took; storage by its name: what it can do beyond \
             what comes with it is not counted."
        }],
    })
}

/// As the simulation wrote it, or by the prices that were given; else why it is not known.
pub(super) fn run_cost(run: &IndexedRun, sheet: Option<&ReportPrices>) -> Result<Cost, String> {
    if let Some(cost) = run.header.note(&COST) {
        return serde_json::from_str(&cost).map_err(|_| "Its cost can't be read.".to_owned());
    }
    let sheet = sheet.ok_or(
        "Nobody said what is paid for: --instance ITEM names the machine, --price TIER=ITEM a \
         storage.",
    )?;
    let lasted = Seconds(run.summary.wall_us.as_secs());
    sheet.cost_of_run(lasted, |tier| tier_use(run, tier)).map_err(|why| format!("{why}."))
}

/// What the run did to a tier; `None`: it has no such.
fn tier_use(run: &IndexedRun, tier: &str) -> Option<RecordedUsage> {
    let trees = run.trees.iter().enumerate();
    let at: Vec<usize> =
        trees.filter(|(_, tree)| IndexedRun::tier_name(tree) == tier).map(|(at, _)| at).collect();
    let ops = run.ops.iter().filter(|row| at.contains(&(run.tier_index(row.tree) as usize)));
    let ops = ops.filter_map(|row| Some((row.kind.op()?, row.count)));
    let tiers = || at.iter().filter_map(|at| run.summary.tiers.get(*at));
    let peaks = at.iter().map(|at| super::tiers::peak_on_tier(run, run.trees[*at].id));
    (!at.is_empty()).then(|| RecordedUsage {
        ops: ops.collect(),
        read: tiers().map(|tier| tier.read.at_least).sum(),
        written: tiers().map(|tier| tier.written.at_least).sum(),
        peak: peaks.map(ByteCount).sum(),
    })
}
