//! The screen: which part has which lines, at any size.

use ratatui::backend::TestBackend;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Text};
use ratatui::widgets::Paragraph;
use ratatui::{Frame, Terminal};

use super::display_state::DisplayState;
use super::view::DaemonView;
use super::{cells, hosts, queues, section_lines};
use crate::name_escaping::escape_name;

/// Fewer rows are a small screen.
const SMALL: usize = 20;

/// What the keys do.
const HELP: [&str; 8] = [
    "q, Esc, Ctrl-C   end it (what it shows goes on)",
    "up, down, pages  scroll through files",
    "tab, left, right the next run or mount",
    "s                sort files: hottest, most opens, by name",
    "?, h             this, and back",
    "names: look-ups, creates, renames and so on; data: reads and writes; sync: fsync.",
    "`of 1.2 ms` is what one took lately. `now` is read and written together.",
    "Bytes that the kernel moves past Forebay (passthrough) are not seen.",
];

/// Draws all of it.
pub(super) fn draw_screen(frame: &mut Frame<'_>, state: &DisplayState) {
    let area = frame.area();
    let (columns, height) = (usize::from(area.width), usize::from(area.height));
    let lines = if state.help {
        HELP.iter().map(|line| Line::raw(*line)).collect()
    } else {
        match state.views.get(state.shown) {
            Some(view) => screen_lines(view, state, columns, height),
            None => machine_lines(state, columns),
        }
    };
    frame.render_widget(Paragraph::new(Text::from(lines)), area);
}

fn screen_lines(
    view: &DaemonView,
    state: &DisplayState,
    columns: usize,
    height: usize,
) -> Vec<Line<'static>> {
    let strong = Style::new().add_modifier(Modifier::BOLD);
    let colour = |colour: Color| if state.colour { strong.fg(colour) } else { strong };
    let of = match state.views.len() {
        0 | 1 => String::new(),
        all => format!("  [{}/{all}]", state.shown + 1),
    };
    let title = format!("{}{of}", section_lines::daemon_title(view));
    let clip = |text: &str| cells::clip_end(text, columns);
    let plain = |text: String| Line::raw(clip(&text));
    let mut top = Vec::new();
    if state.keys && state.views.len() > 1 && height >= SMALL {
        // As many as leave room for the one that is shown.
        let all = section_lines::daemon_rows(&state.views, Some(state.shown), columns);
        let first = state.shown.saturating_sub(height / 5);
        let rows = all[1..].iter().skip(first).take(height / 5 + 1);
        top.extend([&all[0]].into_iter().chain(rows).map(|line| plain(line.clone())));
        top.push(Line::default());
    }
    top.push(Line::styled(clip(&title), colour(Color::Cyan)));
    top.extend(section_lines::total_lines(view).into_iter().map(plain));
    // On a small screen one line of each kind is all that there is room for.
    let (warnings, most) = if height < SMALL { (1, 1) } else { (3, usize::MAX) };
    for warning in view.now.warnings.iter().take(warnings) {
        let warning = format!("! {}", escape_name(warning.as_bytes()));
        top.push(Line::styled(clip(&warning), colour(Color::Yellow)));
    }
    top.extend(queues::queue_lines(view).into_iter().take(most).map(plain));
    if height >= SMALL {
        top.extend(machine_lines(state, columns));
    }
    let keys = "q ends   arrows scroll   tab next   s sorts   ? explains";
    let foot =
        state.keys.then(|| Line::styled(clip(keys), Style::new().add_modifier(Modifier::DIM)));
    let room = height.saturating_sub(top.len() + usize::from(foot.is_some()));
    let part = |lines: Vec<String>| {
        lines.into_iter().enumerate().map(move |(number, line)| {
            if number == 0 { Line::styled(line, strong) } else { Line::raw(line) }
        })
    };
    // Tiers have a quarter of what is left, tasks as much, files the rest.
    let cut = |mut lines: Vec<String>, most: usize| {
        let more = lines.len().saturating_sub(most);
        if more > 0 {
            lines.truncate(most.saturating_sub(1));
            lines.push(format!("  and {} more", more + 1));
        }
        lines
    };
    let tiers = cut(section_lines::tier_rows(view, columns), (room / 4).max(3));
    let tasks = cut(section_lines::task_rows(view, columns), (room / 3).max(3));
    let left = room.saturating_sub(tiers.len() + tasks.len());
    let mut files = section_lines::file_rows(view, state.sort, columns);
    let scroll = state.scroll.min(files.len().saturating_sub(left.max(2)));
    files.drain(1..=scroll.min(files.len() - 1));
    files.truncate(left);
    let mut all = top;
    all.extend(part(tiers).chain(part(tasks)).chain(part(files)));
    all.resize_with(height.saturating_sub(usize::from(foot.is_some())), Line::default);
    all.extend(foot);
    all
}

/// A line for each machine.
fn machine_lines(state: &DisplayState, columns: usize) -> Vec<Line<'static>> {
    if state.hosts.is_empty() {
        return Vec::new();
    }
    let lines = hosts::host_lines(&state.hosts, columns).into_iter().map(Line::raw);
    let strong = Style::new().add_modifier(Modifier::BOLD);
    lines.enumerate().map(|(at, line)| if at == 0 { line.style(strong) } else { line }).collect()
}

/// The same as text, without what is empty at its end.
pub(super) fn screen_text(state: &DisplayState, columns: u16, rows: u16) -> String {
    let mut terminal =
        Terminal::new(TestBackend::new(columns, rows)).expect("memory can be drawn on");
    terminal.draw(|frame| draw_screen(frame, state)).expect("memory can be drawn on");
    let buffer = terminal.backend().buffer();
    let row = |y: u16| -> String {
        let mut skip = 0;
        let mut line = String::new();
        for x in 0..columns {
            let symbol = buffer[(x, y)].symbol();
            if skip == 0 {
                line.push_str(symbol);
                skip = ratatui::text::Span::raw(symbol).width().saturating_sub(1);
            } else {
                skip -= 1;
            }
        }
        line.trim_end().to_owned()
    };
    let lines: Vec<String> = (0..rows).map(row).collect();
    lines.join("\n").trim_end().to_owned() + "\n"
}
