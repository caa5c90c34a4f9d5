//! Tables of a comparison, for a terminal or a document.

use forebay_model::ByteCount;
use forebay_plan::compare::UncertaintyInterval;

use super::Args;
use super::phase_row::PhaseRow;
use super::storage_row::StorageRow;

/// What stands before, between and after cells.
pub(super) type TableFrame = [&'static str; 3];
/// For a terminal, and for a document.
pub(super) const PLAIN: TableFrame = ["", "  ", ""];
pub(super) const MARKDOWN: TableFrame = ["| ", " | ", " |"];

/// More phases are data.
const PHASES_MAX: usize = 10;

fn missing_cell() -> String {
    "-".to_owned()
}

/// Of a tenth of a second hundredths are not enough.
fn decimal_places(seconds: f64) -> usize {
    if seconds < 1.0 { 4 } else { 2 }
}

/// A short run costs little of a cent, and a thousand of them do not.
fn format_dollars(usd: f64) -> String {
    let zeros = if usd > 0.0 { -usd.log10().floor() } else { 0.0 };
    format!("{usd:.*}", (zeros + 1.0).clamp(2.0, 9.0) as usize)
}

fn time_cells(args: &Args, row: &StorageRow, first: &str, priced: bool) -> Vec<String> {
    let span = |span: UncertaintyInterval, digits: usize| {
        format!("{:.digits$} to {:.digits$}", span.low, span.high)
    };
    let digits = row.middle.map_or(2, |middle| decimal_places(middle.median));
    let emulated = match (&row.place.emulated, row.place.as_local.is_empty()) {
        (None, _) => "",
        (Some(_), true) => " (emulated)",
        (Some(_), false) => " (emulated, in part as local)",
    };
    let usd = priced.then(|| row.usd.map_or_else(missing_cell, format_dollars));
    let mut cells = vec![
        format!("{}{emulated}", row.place.name),
        row.good.to_string(),
        row.failed.to_string(),
        row.middle.map_or_else(missing_cell, |middle| format!("{:.digits$}", middle.median)),
        row.middle.map_or_else(missing_cell, |middle| span(middle.span, digits)),
        row.ratio.map_or_else(missing_cell, |r| format!("{:.2} ({})", r.ratio, span(r.span, 2))),
    ];
    cells.extend(usd);
    cells.push(row.ratio.map_or_else(
        || if row.place.name == first { "baseline".to_owned() } else { missing_cell() },
        |ratio| ratio.verdict(args.within).name().to_owned(),
    ));
    cells
}

/// How long it took, and what it cost.
pub(super) fn print_times(args: &Args, rows: &[StorageRow], priced: bool, frame: TableFrame) {
    let first = rows[0].place.name.as_str();
    let mut titles = vec!["on", "runs", "failed", "median, s", "from to, s", "times"];
    titles.extend(priced.then_some("usd"));
    titles.push("verdict");
    let mut lines = vec![titles.into_iter().map(str::to_owned).collect()];
    lines.extend(rows.iter().map(|row| time_cells(args, row, first, priced)));
    print_table(&lines, frame);
}

/// What was done to storages; nothing where nothing was recorded.
pub(super) fn print_storage_use(rows: &[StorageRow], frame: TableFrame) {
    if rows.iter().all(|row| row.did.names.is_none()) {
        return;
    }
    let count = |count: Option<f64>| count.map_or_else(missing_cell, |count| format!("{count:.0}"));
    let bytes = |bytes: Option<f64>| {
        bytes.map_or_else(missing_cell, |bytes| ByteCount(bytes.round() as u64).to_string())
    };
    let share = |share: f64| format!("{:.1} %", share * 100.0);
    let titles = ["on", "names", "data", "read", "written", "waited"];
    let mut lines = vec![titles.map(str::to_owned).to_vec()];
    lines.extend(rows.iter().map(|row| {
        vec![
            row.place.name.clone(),
            count(row.did.names),
            count(row.did.data),
            bytes(row.did.read_bytes),
            bytes(row.did.written_bytes),
            row.did.waited_share.map_or_else(missing_cell, share),
        ]
    }));
    println!();
    print_table(&lines, frame);
}

/// What more at once get done; nothing where there is one size.
pub(super) fn print_throughput(rows: &[StorageRow], frame: TableFrame) {
    let titles = ["on", "nodes", "jobs", "an hour", "efficiency", "waited"];
    let mut lines = vec![titles.map(str::to_owned).to_vec()];
    for row in rows {
        let Some(done) = row.done else { continue };
        lines.push(vec![
            row.place.storage_name().to_owned(),
            done.scale.nodes.to_string(),
            done.scale.jobs.to_string(),
            format!("{:.1}", done.an_hour),
            format!("{:.0} %", done.efficiency * 100.0),
            row.did
                .waited_share
                .map_or_else(missing_cell, |share| format!("{:.1} %", share * 100.0)),
        ]);
    }
    if lines.len() > 1 {
        println!();
        print_table(&lines, frame);
    }
}

/// Where time went; nothing where no engine told.
pub(super) fn print_phases(rows: &[StorageRow], phases: &[PhaseRow], frame: TableFrame) {
    if phases.is_empty() {
        return;
    }
    let mut titles = vec!["phase, s".to_owned()];
    titles.extend(rows.iter().map(|row| row.place.name.clone()));
    let mut lines = vec![titles];
    let seconds = |seconds: f64| format!("{seconds:.*}", decimal_places(seconds));
    lines.extend(phases.iter().take(PHASES_MAX).map(|row| {
        let medians = row.medians.iter().map(|median| median.map_or_else(missing_cell, seconds));
        std::iter::once(row.name.clone()).chain(medians).collect()
    }));
    println!();
    print_table(&lines, frame);
    if phases.len() > PHASES_MAX {
        println!("\n{} phases more: --json has all", phases.len() - PHASES_MAX);
    }
}

/// Titles and rows, as wide as needed; words stand left, numbers right.
fn print_table(lines: &[Vec<String>], [before, between, after]: TableFrame) {
    let wide = |at: usize| lines.iter().map(|cells| cells[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..lines[0].len()).map(wide).collect();
    let is_word = |at: usize| at == 0 || lines[0][at] == "verdict";
    for (number, cells) in lines.iter().enumerate() {
        let padded = cells.iter().zip(&widths).enumerate().map(|(at, (cell, &width))| {
            if is_word(at) { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        let line = padded.collect::<Vec<_>>().join(between);
        println!("{}", format!("{before}{line}{after}").trim_end());
        if number == 0 && !before.is_empty() {
            let rules = widths.iter().map(|width| "-".repeat(width + 2) + "|");
            println!("|{}", rules.collect::<String>());
        }
    }
}
