//! A plan for people: the proposal, what it saves, how sure that is, and why others lost.

use forebay_plan::told::{Plan, explain, front};

/// All of it, wrapped to so many columns.
pub(super) fn plan(plan: &Plan, width: usize) -> String {
    let mut text = String::new();
    for sentence in explain(plan) {
        push(&mut text, &sentence, width);
    }
    let rows = front(plan);
    if rows.len() > 1 {
        text.push_str(
            "\nTime against dollars; nothing is both faster and cheaper than any of these:\n",
        );
        let wide = |column: usize| {
            let cells = rows.iter().map(|row| row[column].chars().count());
            cells.max().unwrap_or(0)
        };
        let (time, usd) = (wide(0), wide(1));
        for [a, b, what] in &rows {
            text.push_str(&format!("  {a:>time$}  {b:>usd$}  {what}\n"));
        }
    }
    text
}

/// One sentence, its further lines set in.
pub(crate) fn push(text: &mut String, sentence: &str, width: usize) {
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
