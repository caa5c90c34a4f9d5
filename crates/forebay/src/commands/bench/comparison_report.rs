//! The comparison, as tables, as data or in words.

use forebay_plan::cost::Cost;

use super::compared_storages::ComparedStorage;
use super::comparison_tables::{self, MARKDOWN, PLAIN};
use super::phase_row::phase_rows;
use super::phases::TIMING;
use super::result_log::{BenchRun, ComparisonHeader, times_by_round};
use super::run_prices::BenchPrices;
use super::storage_row::storage_rows;
use super::{Args, comparison_data, comparison_notes};

pub(super) fn print_comparison(
    args: &Args,
    header: &ComparisonHeader,
    places: &[ComparedStorage],
    sheet: Option<&BenchPrices>,
    runs: &[BenchRun],
) {
    let rows = storage_rows(args, places, sheet, runs);
    let names: Vec<&str> = places.iter().map(|place| place.name.as_str()).collect();
    let phases = phase_rows(&names, runs);
    let frame = if args.markdown { MARKDOWN } else { PLAIN };
    match (args.json, args.csv) {
        (true, _) => {
            println!(
                "{:#}",
                comparison_data::comparison_json(args, header, &rows, &phases, sheet, runs)
            )
        }
        (_, true) => comparison_data::print_csv(&rows, sheet, runs),
        _ => {
            if !args.markdown {
                comparison_notes::print_header(args, times_by_round(runs, &places[0].name).len());
            }
            comparison_tables::print_times(args, &rows, sheet.is_some(), frame);
            comparison_tables::print_throughput(&rows, frame);
            comparison_tables::print_storage_use(&rows, frame);
            comparison_tables::print_phases(&rows, &phases, frame);
            let mut lines = Vec::new();
            if let Some(sheet) = sheet {
                let costs: Vec<Cost> = rows.iter().flat_map(|row| row.costs.clone()).collect();
                lines.extend(sheet.price_notes(places, &costs));
            }
            if phases.iter().any(|row| row.engine == TIMING) {
                lines
                    .push(format!("{TIMING}: in some versions only the sum of its phases is sure"));
            }
            lines.extend(rows.iter().filter_map(comparison_notes::outside_note));
            let dash = if args.markdown { "- " } else { "" };
            println!();
            lines.iter().for_each(|line| println!("{dash}{line}"));
            if !args.markdown {
                comparison_notes::print_caveats(args, &rows);
            }
        }
    }
}
