//! The table of a comparison, for a terminal or a document.

use forebay_plan::compare::Span;

use super::Args;
use super::told::Row;

const TITLES: [&str; 7] = ["on", "runs", "failed", "median, s", "from to, s", "times", "verdict"];

fn cells(args: &Args, row: &Row, first: &str) -> [String; 7] {
    let dash = || "-".to_owned();
    let span =
        |span: Span, digits: usize| format!("{:.digits$} to {:.digits$}", span.low, span.high);
    // Of a tenth of a second hundredths are not enough.
    let digits = row.middle.map_or(2, |middle| if middle.median < 1.0 { 4 } else { 2 });
    let emulated = if row.place.emulated.is_some() { " (emulated)" } else { "" };
    [
        format!("{}{emulated}", row.place.name),
        row.good.to_string(),
        row.failed.to_string(),
        row.middle.map_or_else(dash, |middle| format!("{:.digits$}", middle.median)),
        row.middle.map_or_else(dash, |middle| span(middle.span, digits)),
        row.ratio.map_or_else(dash, |r| format!("{:.2} ({})", r.ratio, span(r.span, 2))),
        row.ratio.map_or_else(
            || if row.place.name == first { "baseline".to_owned() } else { dash() },
            |ratio| ratio.verdict(args.within).name().to_owned(),
        ),
    ]
}

/// Titles and rows, with what stands before, between and after cells: as wide as needed.
pub(super) fn table(args: &Args, rows: &[Row], [before, between, after]: [&str; 3]) {
    let first = rows[0].place.name.as_str();
    let mut lines = vec![TITLES.map(str::to_owned)];
    lines.extend(rows.iter().map(|row| cells(args, row, first)));
    let wide = |at: usize| lines.iter().map(|cells| cells[at].chars().count()).max().unwrap_or(0);
    let widths: [usize; 7] = std::array::from_fn(wide);
    for (number, cells) in lines.iter().enumerate() {
        let padded = cells.iter().zip(widths).enumerate().map(|(at, (cell, width))| match at {
            0 | 6 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        let line = padded.collect::<Vec<_>>().join(between);
        println!("{}", format!("{before}{line}{after}").trim_end());
        if number == 0 && !before.is_empty() {
            println!("|{}", widths.map(|width| "-".repeat(width + 2) + "|").concat());
        }
    }
}
