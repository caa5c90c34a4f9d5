//! Lines of each part of the screen, as text.

use super::cells::{clip_end, format_bytes, format_rate, format_row};
use super::view::DaemonView;
use crate::console::group_thousands;
use crate::name_escaping::escape_name;
use forebay_model::Micros;
use forebay_volume::live::OperationTotals;

pub(super) fn daemon_title(view: &DaemonView) -> String {
    let live = &view.now;
    let what = match live.lasting {
        true => format!(
            "mount at {}",
            live.points
                .first()
                .map(|p| escape_name(p.as_os_str().as_encoded_bytes()))
                .unwrap_or_default()
        ),
        false => {
            let words: Vec<String> =
                live.command.iter().map(|word| escape_name(word.as_bytes())).collect();
            words.join(" ")
        }
    };
    let end = if view.ended { ", ended" } else { "" };
    format!("{what}  (pid {}, {}{end})", live.pid, Micros(live.at_us))
}

/// All that is at work, a row for each; the one that is shown has a mark.
pub(super) fn daemon_rows(
    views: &[DaemonView],
    shown: Option<usize>,
    columns: usize,
) -> Vec<String> {
    let cells =
        |names: String, read: String, written: String| [(names, 9), (read, 11), (written, 11)];
    let titles = cells("names".into(), "read".into(), "written".into());
    let mut lines = vec![format_row("  run or mount", &titles, columns)];
    for (number, view) in views.iter().enumerate() {
        let names = view.rate_per_second(|live| live.names.count);
        let cells = cells(
            names.map_or("-".to_owned(), |rate| {
                format!("{}/s", group_thousands(rate.round() as u64))
            }),
            format_rate(view.rate_per_second(|live| live.read)),
            format_rate(view.rate_per_second(|live| live.written)),
        );
        let mark = if shown == Some(number) { ">" } else { " " };
        // Of a command the start says most, and `format_row` cuts there.
        let name =
            clip_end(&format!("{mark} {}", daemon_title(view)), columns.saturating_sub(40).max(20));
        lines.push(format_row(&name, &cells, columns));
    }
    lines
}

/// Operations and bytes a second.
pub(super) fn total_lines(view: &DaemonView) -> Vec<String> {
    let group = |name: &str, of: fn(&forebay_volume::live::LiveStatus) -> OperationTotals| {
        let rate = view.rate_per_second(|live| of(live).count);
        let rate = rate
            .map_or("-".to_owned(), |rate| format!("{}/s", group_thousands(rate.round() as u64)));
        let each = view.mean_time_us(of).map(|us| format!(" of {}", Micros(us.round() as u64)));
        format!("{name} {rate}{}", each.unwrap_or_default())
    };
    let live = &view.now;
    let mut bytes_line = format!(
        "read {}, written {}, so far {}, {}",
        format_rate(view.rate_per_second(|live| live.read)),
        format_rate(view.rate_per_second(|live| live.written)),
        format_bytes(live.read),
        format_bytes(live.written)
    );
    if live.passthrough {
        bytes_line.push_str("   (+ passthrough)");
    }
    let operations = [
        group("names", |live| live.names),
        group("data", |live| live.data),
        group("sync", |live| live.syncs),
    ];
    vec![operations.join("   "), bytes_line]
}

pub(super) fn tier_rows(view: &DaemonView, columns: usize) -> Vec<String> {
    let cells = |used: String, limit: String, free: String| [(used, 9), (limit, 9), (free, 9)];
    let titles = cells("used".into(), "limit".into(), "free".into());
    let mut lines = vec![format_row("tier", &titles, columns)];
    for tier in &view.now.tiers {
        let name = match &tier.tier {
            Some(name) => escape_name(name.as_bytes()),
            None => escape_name(tier.path.as_os_str().as_encoded_bytes()),
        };
        let known = |amount: Option<u64>| amount.map_or("-".to_owned(), format_bytes);
        let cells = cells(known(tier.used), known(tier.limit), known(tier.free));
        lines.push(format_row(&name, &cells, columns));
    }
    lines
}

pub(super) fn task_rows(view: &DaemonView, columns: usize) -> Vec<String> {
    let live = &view.now;
    if live.lasting && !live.recorded {
        return vec!["tasks: not looked up (mount with -o RUN to know them)".to_owned()];
    }
    let cells = |processes: String, waiting: String, cpu: String, read: String, written: String| {
        [(processes, 5), (waiting, 7), (cpu, 11), (read, 11), (written, 11)]
    };
    let titles =
        cells("procs".into(), "waiting".into(), "cpu".into(), "read".into(), "written".into());
    let mut lines = vec![format_row("task", &titles, columns)];
    for task in &live.tasks {
        let rates = view.task_rates(&task.name);
        let cells = cells(
            task.processes.to_string(),
            task.waiting.to_string(),
            Micros(task.cpu_us).to_string(),
            format_rate(rates.0),
            format_rate(rates.1),
        );
        lines.push(format_row(&escape_name(task.name.as_bytes()), &cells, columns));
    }
    lines
}

pub(super) fn file_rows(
    view: &DaemonView,
    order: super::display_state::FileOrder,
    columns: usize,
) -> Vec<String> {
    let cells = |open: String, opens: String, read: String, written: String, rate: String| {
        [(open, 4), (opens, 6), (read, 9), (written, 9), (rate, 11)]
    };
    let titles =
        cells("open".into(), "opens".into(), "read".into(), "written".into(), "now".into());
    let mut lines = vec![format_row(order.column_title(), &titles, columns)];
    let mut files = view.now.files.clone();
    order.sort_files(&mut files);
    for file in &files {
        let rates = view.file_rates(&file.path);
        let cells = cells(
            file.open.to_string(),
            group_thousands(file.opens),
            format_bytes(file.read),
            format_bytes(file.written),
            format_rate(rates.map(|(read, written)| read + written)),
        );
        let name = if file.path.is_empty() { "." } else { &file.path };
        lines.push(format_row(&escape_name(name.as_bytes()), &cells, columns));
    }
    lines
}
