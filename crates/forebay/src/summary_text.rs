//! The end of a run for people: a [`Summary`] as text for a terminal. Lays out, adds nothing up.

mod cells;
mod machine_rows;
mod text_table;

use cells::{format_amount, keep_end, keep_start, replace_control, short_count, short_time};
use forebay_model::summary::{
    ByteBounds, OpSummary, Summary, TaskSummary, UnrelatedProcessSummary, format_percent,
};
use forebay_model::{CommandExit, Micros, RunOrigin, tasks};
use std::fmt::Write;
use text_table::{TextColumn, TextTable};

/// Rows of tasks before the rest is told in one line.
const TASKS_MAX: usize = 12;
/// Narrower terminals get lines of this many columns.
const WIDTH_MIN: usize = 60;
/// Wider ones are not filled: long lines are hard to follow.
const WIDTH_MAX: usize = 100;

/// The summary for a terminal of `width` columns; ends with a line break. `colour` adds escape
/// sequences; nothing that comes from the run (names, paths) can.
pub(crate) fn render_summary(s: &Summary, width: usize, colour: bool) -> String {
    let mut page = TextPage {
        out: String::new(),
        width: width.clamp(WIDTH_MIN, WIDTH_MAX),
        columns: width.max(WIDTH_MIN),
        colour,
    };
    page.push_title(s);
    page.push_tasks(s);
    page.push_tiers(s);
    machine_rows::machine_table(s).iter().for_each(|table| page.push_table(table));
    page.push_costliest(s);
    page.push_legend();
    page.push_sentences(s);
    page.out
}

struct TextPage {
    out: String,
    /// Of sentences.
    width: usize,
    /// Of tables, where names may need more.
    columns: usize,
    colour: bool,
}

/// How a piece of text stands out.
#[derive(Clone, Copy)]
enum Style {
    Bold,
    Dim,
    Good,
    Warning,
    Bad,
}

impl TextPage {
    fn styled(&self, style: Style, text: &str) -> String {
        let code = match style {
            Style::Bold => "1",
            Style::Dim => "2",
            Style::Good => "36",
            Style::Warning => "33",
            Style::Bad => "31",
        };
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn push_line(&mut self, text: &str) {
        self.out.push_str(text.trim_end());
        self.out.push('\n');
    }

    fn push_title(&mut self, s: &Summary) {
        let (end, style) = match s.exit {
            Some(CommandExit::Code(0)) => ("exit status 0".to_owned(), Style::Dim),
            Some(CommandExit::Code(code)) => (format!("exit status {code}"), Style::Bad),
            Some(CommandExit::Signal(signal)) => (format!("ended by signal {signal}"), Style::Bad),
            None => match s.origin {
                RunOrigin::Measured => ("end not seen".to_owned(), Style::Warning),
                other => (other.name().to_owned(), Style::Dim),
            },
        };
        let wall = s.wall_us.to_string();
        let right = wall.chars().count() + end.chars().count() + 2;
        let room = self.width.saturating_sub(right + 2).max(10);
        let command = keep_start(&replace_control(&s.command.join(" ")), room);
        let command = if command.is_empty() { "run".to_owned() } else { command };
        let gap = self.width.saturating_sub(command.chars().count() + right).max(2);
        let text = format!(
            "{}{:gap$}{wall}, {}",
            self.styled(Style::Bold, &command),
            "",
            self.styled(style, &end)
        );
        self.push_line(&text);
        if !s.complete && s.lost_events == 0 {
            let text = "This run is not complete: what happened after the last record is missing.";
            let text = self.styled(Style::Warning, text);
            self.push_line(&text);
        }
        if s.lost_events > 0 {
            let text = format!(
                "{} were lost while it was recorded: read every count and sum as ≥.",
                counted(s.lost_events, "event", "events")
            );
            let text = self.styled(Style::Warning, &text);
            self.push_line(&text);
        }
    }

    fn push_table(&mut self, table: &TextTable) {
        self.out.push('\n');
        for (number, row) in table.render_lines(self.columns).iter().enumerate() {
            let row =
                if number == 0 { self.styled(Style::Dim, row.trim_end()) } else { row.clone() };
            self.push_line(&row);
        }
    }

    fn push_tasks(&mut self, s: &Summary) {
        if s.tasks.is_empty() && s.others.is_none() {
            return;
        }
        let wide = self.width >= 92;
        // Only records of other tools tell it.
        let with_memory = s.tasks.iter().any(|task| task.memory_bytes.is_some());
        let task_row = |name: &str, tasks: &[&TaskSummary]| {
            let mut row = task_row(name, tasks, wide);
            row.extend(with_memory.then(|| most_memory(tasks)));
            row
        };
        let mut columns = vec![
            TextColumn::left("task"),
            TextColumn::right("count", 5),
            TextColumn::right("wall", 6),
            TextColumn::right("cpu", 6),
            TextColumn::right("waited", 6),
            TextColumn::right("read", 9),
            TextColumn::right("written", 9),
        ];
        if wide {
            columns.extend([TextColumn::right("files", 7), TextColumn::right("ops", 9)]);
        }
        columns.extend(with_memory.then(|| TextColumn::right("memory", 9)));
        let mut table = TextTable::new(columns);
        let (drivers, tasks): (Vec<_>, Vec<_>) = s.tasks.iter().partition(|task| task.driver);
        let cut = if tasks.len() > TASKS_MAX { TASKS_MAX - 1 } else { tasks.len() };
        for task in &tasks[..cut] {
            table.push_row(task_row(&replace_control(&task.name), std::slice::from_ref(task)));
        }
        if tasks.len() > cut {
            let name = format!("({} more kinds)", tasks.len() - cut);
            table.push_row(task_row(&name, &tasks[cut..]));
        }
        if !drivers.is_empty() {
            let names: Vec<String> =
                drivers.iter().map(|task| replace_control(&task.name)).collect();
            table.push_row(task_row(&format!("({})", names.join(", ")), &drivers));
        }
        if let Some(others) = &s.others {
            table.push_row(others_row(others, wide));
        }
        self.push_table(&table);
    }

    fn push_tiers(&mut self, s: &Summary) {
        // Records of other tools name files, not storage.
        if s.tiers.is_empty() || s.origin == RunOrigin::Imported {
            return;
        }
        let mut table = TextTable::new(vec![
            TextColumn::left("storage"),
            TextColumn::right("files", 7),
            TextColumn::right("ops", 9),
            TextColumn::right("time", 6),
            TextColumn::right("read", 9),
            TextColumn::right("written", 9),
        ]);
        for tier in &s.tiers {
            // Programs worked in a whole folder without Forebay.
            let is_in_part = s.whole_folders > 0 && tier.tier.is_some();
            let at_least = |amount: String| match is_in_part {
                true if amount == "0" => "-".to_owned(),
                true if amount != "-" => format!("≥{}", amount.trim_start_matches('≥')),
                _ => amount,
            };
            table.push_row(vec![
                match &tier.tier {
                    // The path of its room is long and nobody's business.
                    Some(name) => format!(
                        "tier {} ({})",
                        replace_control(name),
                        replace_control(&tier.fs_type)
                    ),
                    None => format!(
                        "{} ({})",
                        replace_control(&tier.path),
                        replace_control(&tier.fs_type)
                    ),
                },
                at_least(short_count(tier.files)),
                at_least(short_count(tier.operations)),
                if s.times_not_seen || is_in_part && tier.operations == 0 {
                    "-".to_owned()
                } else {
                    at_least(short_time(tier.time_us))
                },
                at_least(format_amount(&tier.read)),
                at_least(format_amount(&tier.written)),
            ]);
        }
        self.push_table(&table.cut_at_start());
    }

    fn push_costliest(&mut self, s: &Summary) {
        if s.waited_us > Micros::ZERO && !s.classes.is_empty() {
            let mut table = TextTable::new(vec![
                TextColumn::left("most time"),
                TextColumn::right("files", 7),
                TextColumn::right("ops", 9),
                TextColumn::right("time", 6),
                TextColumn::right("mostly", 6),
            ]);
            for class in s.classes.iter().filter(|class| class.time_us > Micros::ZERO) {
                table.push_row(vec![
                    replace_control(&class.pattern),
                    short_count(class.files),
                    short_count(class.operations),
                    short_time(class.time_us),
                    class.mostly.replace('_', " "),
                ]);
            }
            self.push_table(&table.cut_at_start());
        }
        if s.files.is_empty() {
            return;
        }
        let mut table = TextTable::new(vec![
            TextColumn::left("most bytes"),
            TextColumn::right("opens", 7),
            TextColumn::right("tasks", 6),
            TextColumn::right("size", 8),
            TextColumn::right("read", 9),
            TextColumn::right("written", 9),
        ]);
        for file in &s.files {
            table.push_row(vec![
                replace_control(&file.path),
                short_count(file.opens),
                short_count(file.tasks),
                file.size.map_or("-".into(), |size| size.to_string()),
                format_amount(&file.read),
                format_amount(&file.written),
            ]);
        }
        self.push_table(&table.cut_at_start());
    }

    /// Explains the signs that stand in the tables above.
    fn push_legend(&mut self) {
        let has = |sign: &str| self.out.split_whitespace().any(|cell| cell == sign);
        let mut signs = Vec::new();
        if has("-") {
            signs.push("- not seen");
        }
        if self.out.contains('≥') {
            signs.push("≥ at least");
        }
        if self.out.contains('≤') {
            signs.push("≤ at most, pipes included");
        }
        if !signs.is_empty() {
            let text = self.styled(Style::Dim, &signs.join("   "));
            self.push_line(&text);
        }
    }

    fn push_sentences(&mut self, s: &Summary) {
        self.out.push('\n');
        if let Some(text) = waiting_sentence(s) {
            self.push_paragraph("", Style::Bold, &text);
        }
        if let (Some(cpu), Some(lost)) = (s.cpu_us, s.cpu_unattributed_us)
            && lost.0 > cpu.0 / 20
            && lost >= Micros::from_secs(1)
        {
            let part = format_percent(lost.as_secs() / cpu.as_secs());
            let text = format!("{part} of the {cpu} of CPU time belongs to no task that was seen.");
            self.push_paragraph("", Style::Bold, &text);
        }
        if let Some(text) = nodes_sentence(s) {
            self.push_paragraph("", Style::Bold, &text);
        }
        let unseen = [
            jobs_sentence(s),
            outside_sentence(s),
            not_seen_sentence(s),
            whole_folders_sentence(s),
            io_uring_sentence(s),
            foreign_calls_sentence(s),
            strange_descriptors_sentence(s),
            times_sentence(s),
        ];
        for text in unseen.into_iter().flatten() {
            self.push_paragraph("Not seen: ", Style::Warning, &text);
        }
        if let Some(advice) = &s.advice {
            self.push_paragraph("Next: ", Style::Good, &replace_control(&advice.sentence));
        }
    }

    /// Text in lines of the page's width, after a label that stands out.
    fn push_paragraph(&mut self, label: &str, style: Style, text: &str) {
        let indent = label.chars().count();
        let (mut line, mut first) = (String::new(), true);
        let mut lines = Vec::new();
        for word in split_words(text) {
            let room = self.width - indent;
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > room {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(&word);
        }
        lines.push(line);
        for line in lines {
            let start =
                if first && indent > 0 { self.styled(style, label) } else { " ".repeat(indent) };
            first = false;
            self.push_line(&format!("{start}{line}"));
        }
    }
}

/// Nodes that are named before the rest is told in a number.
const NODES_MAX: usize = 8;

/// On how many nodes tasks ran, and how many on each.
fn nodes_sentence(s: &Summary) -> Option<String> {
    let used = s.nodes.iter().filter(|node| node.tasks > 0);
    let mut used: Vec<String> = used
        .map(|node| {
            let tasks = counted(node.tasks, "task", "tasks");
            format!("{} ({tasks})", replace_control(&node.name))
        })
        .collect();
    let count = used.len() as u64;
    if count == 0 {
        return None;
    }
    if used.len() > NODES_MAX {
        let more = used.split_off(NODES_MAX).len();
        used.push(format!("{more} more"));
    }
    Some(format!("Tasks ran on {}: {}.", counted(count, "node", "nodes"), used.join(", ")))
}

/// Jobs of which only their start is known.
fn jobs_sentence(s: &Summary) -> Option<String> {
    let jobs = (s.jobs_not_recorded > 0).then(|| counted(s.jobs_not_recorded, "job", "jobs"))?;
    Some(format!("{jobs} that began on other nodes and left no record."))
}

/// Words of a text; a number and its unit are one.
fn split_words(text: &str) -> Vec<String> {
    const UNITS: &[&str] = &["B", "KiB", "MiB", "GiB", "TiB", "%", "µs", "ms", "s", "min", "h"];
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let unit = UNITS.contains(&word.trim_end_matches([',', '.', ';', ':', ')']));
        match words.last_mut().filter(|last| unit && last.ends_with(|c: char| c.is_ascii_digit())) {
            Some(last) => {
                last.push(' ');
                last.push_str(word);
            }
            None => words.push(word.to_owned()),
        }
    }
    words
}

/// The most that one of these took.
fn most_memory(tasks: &[&TaskSummary]) -> String {
    let most = tasks.iter().filter_map(|task| task.memory_bytes).max();
    most.map_or_else(|| "-".to_owned(), |most| most.to_string())
}

/// Adds up tasks for one row; what is not known of one is not known of all.
fn task_row(name: &str, tasks: &[&TaskSummary], wide: bool) -> Vec<String> {
    let time = |of: fn(&TaskSummary) -> Option<Micros>| {
        let known: Option<Micros> = tasks.iter().filter_map(|task| of(task)).reduce(|a, b| a + b);
        known.map_or("-".into(), short_time)
    };
    let driver = tasks.iter().any(|task| task.driver);
    let mut cells = vec![
        name.to_owned(),
        short_count(tasks.iter().map(|task| task.count).sum()),
        // Drivers mostly wait for tasks: their wall time would only mislead.
        if driver { String::new() } else { time(|task| task.wall_us) },
        time(|task| task.cpu_us),
        time(|task| task.waited_us),
        format_amount(&cells::sum_amounts(tasks.iter().map(|task| &task.read))),
        format_amount(&cells::sum_amounts(tasks.iter().map(|task| &task.written))),
    ];
    if wide {
        // Files that two kinds of task share would count twice in a sum.
        let files = if tasks.len() == 1 { short_count(tasks[0].files) } else { String::new() };
        let seen = tasks.iter().any(|task| task.waited_us.is_some());
        let operations = tasks.iter().map(|task| task.operations).sum();
        cells.extend([files, if seen { short_count(operations) } else { "-".to_owned() }]);
    }
    cells
}

/// What others did: no row of the run, and in none of its sums.
fn others_row(others: &UnrelatedProcessSummary, wide: bool) -> Vec<String> {
    let at_least = |bytes| format_amount(&ByteBounds { at_least: bytes, ..ByteBounds::default() });
    let mut cells = vec![
        tasks::OTHERS.to_owned(),
        short_count(others.processes),
        String::new(),
        String::new(),
        short_time(others.waited_us),
        at_least(others.read),
        at_least(others.written),
    ];
    if wide {
        cells.extend([String::new(), short_count(others.operations)]);
    }
    cells
}

fn waiting_sentence(s: &Summary) -> Option<String> {
    let mut text = replace_control(&s.verdict.as_ref()?.sentence);
    if let Some(op) = &s.costliest
        && s.waited_share.is_some_and(|share| share >= 0.01)
    {
        let _ = write!(
            text,
            " Of the time in operations {} was {}.",
            format_percent(op.share),
            operation_in_words(op)
        );
    }
    if let Some(pressure) = s.pressure_share {
        let _ = write!(
            text,
            " On the machine as a whole, by the kernel, some process waited for storage in {} of \
             the run.",
            format_percent(pressure)
        );
    }
    Some(text)
}

/// An operation in words: `random reads of up to 4 KiB`.
fn operation_in_words(op: &OpSummary) -> String {
    let count = short_count(op.count);
    let name = op.op.replace('_', " ");
    let (Some(size), Some(pattern)) = (&op.size_class, &op.pattern) else {
        return format!("{count} × {name}");
    };
    let size = match size.as_str() {
        "4K" => "up to 4 KiB",
        "64K" => "up to 64 KiB",
        "1M" => "up to 1 MiB",
        _ => "more than 1 MiB",
    };
    format!("{count} {pattern} {name}s of {size}")
}

fn outside_sentence(s: &Summary) -> Option<String> {
    let share = s.outside.share.filter(|_| s.outside.at.is_some())?;
    let places: Vec<String> = s
        .outside
        .directories
        .iter()
        .take(3)
        .map(|d| keep_end(&replace_control(&d.path), 40))
        .collect();
    let mut text = format!(
        "{} of the bytes (at least {}) moved outside, in {}",
        format_percent(share),
        s.outside.bytes,
        places.join(", ")
    );
    if let Some(at) = &s.outside.at {
        let _ = write!(text, "; add `--at {}`", replace_control(at));
    }
    if let (Some(moves @ 1..), Some(all)) = (s.outside.moves, s.outside.moves_all) {
        let _ = write!(
            text,
            "; {} of {} mv, ln and cp crossed the edge",
            short_count(moves),
            short_count(all)
        );
    }
    text.push('.');
    Some(text)
}

fn not_seen_sentence(s: &Summary) -> Option<String> {
    if s.not_seen.is_empty() {
        return None;
    }
    let names: Vec<String> =
        s.not_seen.iter().map(|n| format!("{} ({})", n.program, short_count(n.count))).collect();
    Some(format!("what was handed over by {}.", names.join(", ")))
}

fn whole_folders_sentence(s: &Summary) -> Option<String> {
    match s.whole_folders {
        0 => None,
        1 => Some("what happened in a folder that was on a tier as a whole.".to_owned()),
        folders => {
            Some(format!("what happened in {folders} folders that were on tiers as a whole."))
        }
    }
}

fn io_uring_sentence(s: &Summary) -> Option<String> {
    let rings = Some(s.io_uring_rings).filter(|rings| *rings > 0)?;
    Some(format!("what went through io_uring ({}).", counted(rings, "ring", "rings")))
}

fn foreign_calls_sentence(s: &Summary) -> Option<String> {
    let calls = Some(s.calls_of_32_bits).filter(|calls| *calls > 0)?;
    Some(format!("what 32-bit programs did ({}).", counted(calls, "call", "calls")))
}

fn strange_descriptors_sentence(s: &Summary) -> Option<String> {
    let count = Some(s.strange_descriptors).filter(|count| *count > 0)?;
    let count = counted(count, "descriptor", "descriptors");
    Some(format!("what went through {count} of files that came from elsewhere."))
}

fn times_sentence(s: &Summary) -> Option<String> {
    let text = "how long operations took: this recorder (notify) sees when they begin.";
    s.times_not_seen.then(|| text.to_owned())
}

fn counted(count: u64, one: &str, more: &str) -> String {
    format!("{} {}", short_count(count), if count == 1 { one } else { more })
}

#[cfg(test)]
mod tests;
