//! Values as short text for cells.

use forebay_model::summary::ByteBounds;
use forebay_model::{ByteCount, Micros};

use crate::console;

/// A time in at most six columns: `12µs`, `350ms`, `2.4s`, `12m05s`, `3h04m`, `123h`.
pub(super) fn short_time(time: Micros) -> String {
    let us = time.get();
    match us {
        0 => "0".to_owned(),
        1..1_000 => format!("{us}µs"),
        1_000..9_950 => format!("{:.1}ms", us as f64 / 1e3),
        9_950..999_500 => format!("{:.0}ms", us as f64 / 1e3),
        999_500..59_950_000 => format!("{:.1}s", us as f64 / 1e6),
        59_950_000..3_599_500_000 => {
            let seconds = (us + 500_000) / 1_000_000;
            format!("{}m{:02}s", seconds / 60, seconds % 60)
        }
        3_599_500_000..359_970_000_000 => {
            let minutes = (us + 30_000_000) / 60_000_000;
            format!("{}h{:02}m", minutes / 60, minutes % 60)
        }
        _ => format!("{}h", us / 3_600_000_000),
    }
}

/// Bytes as far as they were seen: exact, `≥` what is sure, `≤` what `/proc` allows, or `-`.
pub(super) fn format_amount(amount: &ByteBounds) -> String {
    if let Some(seen) = amount.seen {
        return if seen == ByteCount::ZERO { "0".to_owned() } else { seen.to_string() };
    }
    match amount.at_most {
        // A lower bound says more when it is near the upper one.
        Some(most) if amount.at_least.get() < most.get() / 2 => format!("≤{most}"),
        _ if amount.at_least > ByteCount::ZERO => format!("≥{}", amount.at_least),
        Some(most) => format!("≤{most}"),
        None => "-".to_owned(),
    }
}

/// Several amounts as one.
pub(super) fn sum_amounts<'a>(amounts: impl Iterator<Item = &'a ByteBounds> + Clone) -> ByteBounds {
    ByteBounds {
        seen: amounts.clone().map(|a| a.seen).sum(),
        at_least: amounts.clone().map(|a| a.at_least).sum(),
        at_most: amounts.map(|a| a.at_most).sum(),
    }
}

/// `1234567` as `1,234,567`; from ten millions on as `12.3M`.
pub(super) fn short_count(count: u64) -> String {
    if count >= 10_000_000 {
        return format!("{:.1}M", count as f64 / 1e6);
    }
    console::group_thousands(count)
}

/// Text without characters that would move the cursor or change colours: names are the user's.
pub(super) fn replace_control(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// The start of a text that is too long.
pub(super) fn keep_start(text: &str, room: usize) -> String {
    console::clip_line(text, room)
}

/// The end of a text that is too long: of a path the end says more.
pub(super) fn keep_end(text: &str, room: usize) -> String {
    if console::display_width(text) <= room {
        return text.to_owned();
    }
    let mut kept = text;
    while console::display_width(kept) >= room.max(1) && !kept.is_empty() {
        let first = kept.chars().next().map_or(0, char::len_utf8);
        kept = &kept[first..];
    }
    format!("…{kept}")
}
