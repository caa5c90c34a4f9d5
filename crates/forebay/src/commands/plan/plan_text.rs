//! A plan for people: the proposal, what it saves, how sure that is, and why others lost.

use forebay_plan::report::{
    Plan, closing_sentences, file_rows, gains_nothing, no_gain_sentences, opening_sentences,
    pareto_rows,
};

/// More choices of time against dollars are no overview.
const FRONT_MAX: usize = 8;

/// The plan and its reasons, wrapped to so many columns; what matters of it, or `all`.
pub(crate) fn render_explanation(plan: &Plan, all: bool, width: usize) -> String {
    let mut text = String::new();
    if gains_nothing(plan) && !all {
        no_gain_sentences(plan).iter().for_each(|line| push_sentence(&mut text, line, width));
        return text;
    }
    for sentence in opening_sentences(plan) {
        push_sentence(&mut text, &sentence, width);
    }
    let rows = file_rows(plan, all);
    if !rows.is_empty() {
        text.push('\n');
        let head = ["files", "live", "number", "size", "waits", "instead of"].map(str::to_owned);
        push_table(&mut text, &[&[head], &rows[..]].concat(), "<<>>>>");
        let note = "Waits are those of all tasks of one pipeline together, at least.";
        text.push_str(&format!("  {note}\n\n"));
    }
    for sentence in closing_sentences(plan, all) {
        push_sentence(&mut text, &sentence, width);
    }
    text
}

/// The same with what else there was to choose from.
pub(super) fn render_plan(plan: &Plan, all: bool, width: usize) -> String {
    let mut text = render_explanation(plan, all, width);
    let mut rows = pareto_rows(plan);
    if rows.len() > 1 && (all || !gains_nothing(plan)) {
        text.push_str(
            "\nTime against dollars; nothing is both faster and cheaper than any of these:\n",
        );
        let more = rows.len().saturating_sub(if all { rows.len() } else { FRONT_MAX });
        rows.truncate(rows.len() - more);
        push_table(&mut text, &rows, ">><");
        if more > 0 {
            text.push_str(&format!("  and {more} more (--all)\n"));
        }
    }
    text
}

/// Rows of cells, each column as wide as it must be; `sides` says where it is flush.
fn push_table<const N: usize>(text: &mut String, rows: &[[String; N]], sides: &str) {
    let wide = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..N).map(|column| wide(column).unwrap_or(0)).collect();
    for row in rows {
        let mut line = String::new();
        for ((cell, side), width) in row.iter().zip(sides.chars()).zip(&widths) {
            let cell = match side {
                '<' => format!("  {cell:<width$}"),
                _ => format!("  {cell:>width$}"),
            };
            line.push_str(&cell);
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

/// One sentence, its further lines set in.
pub(crate) fn push_sentence(text: &mut String, sentence: &str, width: usize) {
    let width = width.clamp(40, 100);
    let mut column = 0;
    for word in sentence.split_whitespace() {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > width {
            text.push_str("\n  ");
            column = 2;
        } else if column > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
    }
    text.push('\n');
}
