//! The comparison as data.

use forebay_plan::compare::UncertaintyInterval;
use serde_json::{Value, json};

use super::Args;
use super::phase_row::PhaseRow;
use super::result_log::{BenchRun, ComparisonHeader};
use super::run_prices::BenchPrices;
use super::storage_row::StorageRow;

pub(super) fn comparison_json(
    args: &Args,
    header: &ComparisonHeader,
    rows: &[StorageRow<'_>],
    phases: &[PhaseRow],
    sheet: Option<&BenchPrices>,
    runs: &[BenchRun],
) -> Value {
    let data: Vec<Value> =
        (0..).zip(rows).map(|(at, row)| row_json(args, row, at, phases)).collect();
    let run = |run: &BenchRun| {
        let mut data = json!(run);
        data["usd"] = json!(run_cost_usd(rows, sheet, run));
        data
    };
    let runs: Vec<Value> = runs.iter().map(run).collect();
    let costs: Vec<_> = rows.iter().flat_map(|row| row.costs.clone()).collect();
    let prices = sheet.map(|sheet| sheet.price_data(&costs));
    json!({
        "compared": header, "within": args.within, "prices": prices, "on": data, "runs": runs,
    })
}

fn row_json(args: &Args, row: &StorageRow<'_>, at: usize, phases: &[PhaseRow]) -> Value {
    let span = |span: UncertaintyInterval| json!({ "low": span.low, "high": span.high, "range": span.range });
    let outside = row.outside.as_ref().map(|(outside, matters)| {
        let mut data = json!(outside);
        data["matters"] = json!(matters);
        data
    });
    let phase = |row: &PhaseRow| {
        let median = row.medians.get(at).copied().flatten()?;
        Some(json!({ "name": row.name, "engine": row.engine, "median_s": median }))
    };
    json!({
        "on": row.place.name,
        "emulated": row.place.emulated,
        "as_local": row.place.as_local,
        "vary": row.place.vary,
        "scale": row.place.scale,
        "commands_per_hour": row.done.map(|done| done.an_hour),
        "efficiency": row.done.map(|done| done.efficiency),
        "runs": row.good,
        "failed": row.failed,
        "filled_up": row.filled_up,
        "median_s": row.middle.map(|middle| middle.median),
        "median_span_s": row.middle.map(|middle| span(middle.span)),
        "failure_rate": row.failures.map(|f| json!({ "share": f.share, "low": f.low, "high": f.high })),
        "ratio": row.ratio.map(|ratio| ratio.ratio),
        "ratio_span": row.ratio.map(|ratio| span(ratio.span)),
        "verdict": row.ratio.map(|ratio| ratio.verdict(args.within).name()),
        "trend": row.trend.map(|trend| json!({ "rising": trend.rising, "p": trend.p })),
        "outlier_rounds": row.outliers,
        "detectable": row.detectable,
        "names": row.did.names,
        "data": row.did.data,
        "read_bytes": row.did.read_bytes,
        "written_bytes": row.did.written_bytes,
        "waited_share": row.did.waited_share,
        "usd": row.usd,
        "outside": outside,
        "phases": phases.iter().filter_map(phase).collect::<Vec<_>>(),
    })
}

fn run_cost_usd(
    rows: &[StorageRow<'_>],
    sheet: Option<&BenchPrices>,
    run: &BenchRun,
) -> Option<f64> {
    let row = rows.iter().find(|row| row.place.name == run.on)?;
    Some(sheet?.cost_of_run(row.place, run)?.total.get())
}

pub(super) fn print_csv(rows: &[StorageRow<'_>], sheet: Option<&BenchPrices>, runs: &[BenchRun]) {
    println!(
        "round,on,emulated,seconds,user_seconds,system_seconds,exit,signal,timed_out,names,data,\
         read_bytes,written_bytes,waited_share,outside_bytes,usd"
    );
    fn csv_cell(value: Option<impl ToString>) -> String {
        value.map_or(String::new(), |value| value.to_string())
    }
    for run in runs {
        let place = rows.iter().find(|row| row.place.name == run.on);
        let seen = run.recorded.as_ref();
        let cells = [
            run.round.to_string(),
            run.on.clone(),
            place.is_some_and(|row| row.place.emulated.is_some()).to_string(),
            run.seconds.to_string(),
            run.user_seconds.to_string(),
            run.system_seconds.to_string(),
            csv_cell(run.exit),
            csv_cell(run.signal),
            run.timed_out.to_string(),
            csv_cell(seen.map(|seen| seen.names)),
            csv_cell(seen.map(|seen| seen.data)),
            csv_cell(seen.map(|seen| seen.read_bytes)),
            csv_cell(seen.map(|seen| seen.written_bytes)),
            csv_cell(seen.and_then(|seen| seen.waited_share)),
            csv_cell(seen.and_then(|seen| Some(seen.outside.as_ref()?.bytes))),
            csv_cell(run_cost_usd(rows, sheet, run)),
        ];
        println!("{}", cells.join(","));
    }
}
