//! Rows with one flexible column on the left and numbers on the right.

use super::cells::{keep_end, keep_start};
use crate::console;

/// A column.
pub(super) struct TextColumn {
    title: &'static str,
    /// Least width; `None` for the flexible one on the left.
    width: Option<usize>,
}

impl TextColumn {
    /// The flexible column: takes what is left, cut with an ellipsis.
    pub(super) fn left(title: &'static str) -> Self {
        Self { title, width: None }
    }

    /// A column of numbers, at least `width` wide.
    pub(super) fn right(title: &'static str, width: usize) -> Self {
        Self { title, width: Some(width) }
    }
}

/// A table with its titles.
pub(super) struct TextTable {
    columns: Vec<TextColumn>,
    rows: Vec<Vec<String>>,
    cut_at_start: bool,
}

/// Columns that a table has where nothing needs more.
const USUAL: usize = 100;
/// Blanks between columns.
const GAP: usize = 2;
/// The flexible column never gets less, even if lines become too long.
const LEFT_MIN: usize = 12;

impl TextTable {
    pub(super) fn new(columns: Vec<TextColumn>) -> Self {
        Self { columns, rows: Vec::new(), cut_at_start: false }
    }

    /// Cuts long texts at their start, as is best for paths.
    pub(super) fn cut_at_start(mut self) -> Self {
        self.cut_at_start = true;
        self
    }

    pub(super) fn push_row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.columns.len(), "a cell for each column");
        self.rows.push(cells);
    }

    /// The titles and the rows as lines of at most `width` columns.
    pub(super) fn render_lines(&self, width: usize) -> Vec<String> {
        let length = console::display_width;
        let widths: Vec<usize> = self
            .columns
            .iter()
            .enumerate()
            .skip(1)
            .map(|(i, column)| {
                let cells = self.rows.iter().map(|row| length(&row[i]));
                cells.chain([length(column.title), column.width.unwrap_or(0)]).max().unwrap_or(0)
            })
            .collect();
        let right: usize = widths.iter().map(|w| w + GAP).sum();
        // Tables below each other end at one column; only what is long takes more.
        let room = |width: usize| width.saturating_sub(right).max(LEFT_MIN);
        let longest = self.rows.iter().map(|row| length(&row[0])).max().unwrap_or(0);
        let left = room(width).min(longest.max(room(width.min(USUAL))));
        let titles = self.columns.iter().map(|column| column.title.to_owned()).collect();
        std::iter::once(&titles)
            .chain(&self.rows)
            .map(|cells| {
                let first = if self.cut_at_start {
                    keep_end(&cells[0], left)
                } else {
                    keep_start(&cells[0], left)
                };
                let mut line = first.clone() + &" ".repeat(left.saturating_sub(length(&first)));
                for (cell, width) in cells[1..].iter().zip(&widths) {
                    line.push_str(&" ".repeat(GAP + width.saturating_sub(length(cell))));
                    line.push_str(cell);
                }
                line
            })
            .collect()
    }
}
