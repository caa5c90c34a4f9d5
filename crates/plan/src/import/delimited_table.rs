//! Tables with a line of names on top, as tools write them: one record a line.

use super::{ImportError, ImportSource, utf8_text};

/// A table: names of columns, and lines.
#[derive(Clone, Debug)]
pub(super) struct DelimitedTable<'a> {
    source: &'a ImportSource,
    names: Vec<&'a str>,
    lines: Vec<(usize, &'a str)>,
    between: &'a str,
}

/// One line of a table.
#[derive(Clone, Debug)]
pub(super) struct TableLine<'a> {
    source: &'a ImportSource,
    /// Its number in the file.
    pub(super) number: usize,
    names: &'a [&'a str],
    cells: Vec<&'a str>,
}

impl<'a> DelimitedTable<'a> {
    /// # Errors
    /// Not a text, empty, or without the column `needed`: it is another tool's file.
    pub(super) fn parse_with_column(
        source: &'a ImportSource,
        between: &'a str,
        needed: &str,
        whose: &str,
    ) -> Result<Self, ImportError> {
        let lines = utf8_text(source)?.lines().enumerate().map(|(at, line)| (at + 1, line));
        let mut lines = lines.filter(|(_, line)| !line.trim().is_empty());
        let (number, first) =
            lines.next().ok_or_else(|| ImportError::new(source, None, "it is empty"))?;
        let names: Vec<&str> = first.split(between).map(str::trim).collect();
        if !names.contains(&needed) {
            let why = format!("it is not {whose}: the first line names no column {needed:?}");
            return Err(ImportError::new(source, number, why));
        }
        Ok(Self { source, names, lines: lines.collect(), between })
    }

    /// Whether there is a column of this name.
    pub(super) fn has_column(&self, name: &str) -> bool {
        self.names.contains(&name)
    }

    /// All lines below the names.
    ///
    /// # Errors
    /// A line with more or fewer cells than names: the file was cut short, or is damaged.
    pub(super) fn lines(&'a self) -> impl Iterator<Item = Result<TableLine<'a>, ImportError>> {
        self.lines.iter().map(|&(number, line)| {
            let cells: Vec<&str> = line.split(self.between).map(str::trim).collect();
            let count = (cells.len(), self.names.len());
            if count.0 != count.1 {
                let why = format!("{} cells, but the first line names {}", count.0, count.1);
                return Err(ImportError::new(self.source, number, why));
            }
            Ok(TableLine { source: self.source, number, names: &self.names, cells })
        })
    }
}

/// What is between the names of the first line, whoever chose it: all that is in no name.
pub(super) fn detect_separator(source: &ImportSource) -> Result<&str, ImportError> {
    let first = utf8_text(source)?.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let in_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '%');
    let rest = first.trim_start().trim_start_matches(in_name);
    let end = rest.find(in_name).unwrap_or(0);
    Ok(if end > 0 { &rest[..end] } else { "\t" })
}

impl<'a> TableLine<'a> {
    /// The cell of a column; `None` if there is no such column, or nothing in it.
    pub(super) fn cell(&self, name: &str) -> Option<&'a str> {
        let at = self.names.iter().position(|column| *column == name)?;
        Some(self.cells[at]).filter(|cell| !cell.is_empty() && *cell != "-")
    }

    /// The cell of a column as `read` understands it.
    ///
    /// # Errors
    /// There is something, and it is not that.
    pub(super) fn parse_cell<T>(
        &self,
        name: &str,
        what: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, ImportError> {
        let Some(cell) = self.cell(name) else { return Ok(None) };
        let flaw = || self.error_at_line(format!("{name} is {cell:?}, which is {what}"));
        read(cell).map(Some).ok_or_else(flaw)
    }

    pub(super) fn error_at_line(&self, why: impl Into<String>) -> ImportError {
        ImportError::new(self.source, self.number, why)
    }
}
