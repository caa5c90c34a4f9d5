//! Text in columns: names are cut, numbers are not; and bytes as such text.

use forebay_model::ByteCount;
use ratatui::text::Span;

/// Columns that a name has at least.
const NAME_LEAST: usize = 12;

/// Text in so many columns: cut at its start, where a path says least.
pub(super) fn fit_columns(text: &str, columns: usize) -> String {
    let wide = |text: &str| Span::raw(text).width();
    if wide(text) <= columns {
        return format!("{text}{}", " ".repeat(columns - wide(text)));
    }
    let mut kept = text;
    while wide(kept) >= columns.max(1) && !kept.is_empty() {
        let first = kept.chars().next().map_or(0, char::len_utf8);
        kept = &kept[first..];
    }
    format!("…{kept}{}", " ".repeat(columns.saturating_sub(wide(kept) + 1)))
}

/// Text in at most so many columns, cut at its end.
pub(super) fn clip_end(text: &str, columns: usize) -> String {
    let wide = |text: &str| Span::raw(text).width();
    if wide(text) <= columns {
        return text.to_owned();
    }
    let mut kept = text;
    while wide(kept) >= columns.max(1) && !kept.is_empty() {
        let last = kept.chars().next_back().map_or(0, char::len_utf8);
        kept = &kept[..kept.len() - last];
    }
    format!("{kept}…")
}

/// A name and its cells; the name has the room that they leave. Where that is too little, the first
/// cells are left out.
pub(super) fn format_row(name: &str, cells: &[(String, usize)], columns: usize) -> String {
    let wide = |cells: &[(String, usize)]| cells.iter().map(|(_, width)| width + 2).sum::<usize>();
    let mut cells = cells;
    while cells.len() > 1 && columns < wide(cells) + NAME_LEAST {
        cells = &cells[1..];
    }
    let right: String = cells.iter().map(|(cell, width)| format!("  {cell:>width$}")).collect();
    let room = columns.saturating_sub(right.chars().count()).max(8);
    format!("{}{right}", fit_columns(name, room))
}

pub(super) fn format_bytes(bytes: u64) -> String {
    ByteCount(bytes).to_string()
}

/// Bytes a second; `-`: not known.
pub(super) fn format_rate(rate: Option<f64>) -> String {
    rate.map_or("-".to_owned(), |rate| match rate.round() as u64 {
        0 => "0".to_owned(),
        rate => format!("{}/s", format_bytes(rate)),
    })
}
