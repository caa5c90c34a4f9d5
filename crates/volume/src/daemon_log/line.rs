//! One thing that was said, as a line.

use std::borrow::Cow;

use forebay_model::civil_from_days;
use forebay_model::name_escaping::escape_unprintable;
use forebay_model::privacy::mask_words;
use rustix::time::{ClockId, Timespec, clock_gettime};
use tracing::Level;

use super::levels::short_module_name;

/// Longer text is cut.
const MOST: usize = 4000;

/// What was said, when, and where.
#[derive(Debug, Clone)]
pub(super) struct LogLine {
    at: Timespec,
    pub(super) level: Level,
    pub(super) module: &'static str,
    pub(super) text: String,
}

impl LogLine {
    /// It is said now. Names in it can move no cursor and begin no line, secrets are masked.
    pub(super) fn with_current_time(level: Level, target: &'static str, text: &str) -> LogLine {
        // The time of day, which people have on their other logs: it may jump, and lines then say so.
        let at = clock_gettime(ClockId::Realtime);
        let module = short_module_name(target);
        let cut = text.floor_char_boundary(MOST);
        let is_cut = cut < text.len();
        let words = [text.as_bytes()[..cut].to_vec()];
        let masked = mask_words(&words).pop().unwrap_or_default();
        let mut text = escape_unprintable(&String::from_utf8_lossy(&masked));
        if is_cut {
            text.push('…');
        }
        LogLine { at, level, module, text }
    }

    /// As it stands in the log.
    pub(super) fn log_line(&self) -> String {
        let LogLine { at, level, text, .. } = self;
        format!("{} {level:5} {}{text}\n", format_utc(*at), self.module_prefix())
    }

    /// As the journal takes it, which knows the time: sd-daemon(3), "Standard error".
    pub(super) fn journal_line(&self) -> String {
        let severity = match self.level {
            Level::ERROR => 3,
            Level::WARN => 4,
            Level::INFO => 6,
            _ => 7,
        };
        format!("<{severity}>{}{}\n", self.module_prefix(), self.text)
    }

    fn module_prefix(&self) -> Cow<'static, str> {
        match self.module {
            "" => Cow::Borrowed(""),
            module => Cow::Owned(format!("{module}: ")),
        }
    }
}

/// A moment as RFC 3339 has it, in UTC.
fn format_utc(at: Timespec) -> String {
    let (year, month, day) = civil_from_days(at.tv_sec.div_euclid(86_400));
    let second = at.tv_sec.rem_euclid(86_400);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let ms = at.tv_nsec / 1_000_000;
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

#[cfg(test)]
mod tests {
    //! If these fail, a file's name forges a line, or a log that somebody sends around has a key.
    use super::*;

    fn text(text: &str) -> String {
        let line =
            LogLine::with_current_time(Level::WARN, "forebay_volume::bucket::log", text).log_line();
        let (_, rest) = line.split_once(" WARN  bucket::log: ").expect("time, level, module");
        rest.to_owned()
    }

    #[test]
    fn one_line_is_one_line_and_has_no_secret() {
        assert_eq!(text("a\nb\x1b[2J\u{202e}"), "a\\nb\\x1b[2J\\u{202e}\n");
        let url = "GET https://h/o?X-Amz-Credential=AK1&X-Amz-Signature=5ec: 403";
        let masked = text(url);
        assert!(!masked.contains("5ec") && !masked.contains("AK1"), "{masked}");
        assert!(masked.starts_with("GET https://h/o?"), "{masked}");
        let long = text(&"ö".repeat(5000));
        assert!(long.len() < 4100 && long.ends_with("…\n"), "{}", long.len());
        assert_eq!(text(&"x".repeat(MOST)).len(), MOST + 1, "what fits is whole");
    }

    #[test]
    fn moments_are_told_in_utc_also_odd_ones() {
        let at = |tv_sec, tv_nsec| format_utc(Timespec { tv_sec, tv_nsec });
        assert_eq!(at(0, 0), "1970-01-01T00:00:00.000Z");
        assert_eq!(at(1_709_210_096, 789_999_999), "2024-02-29T12:34:56.789Z");
        assert_eq!(at(-1, 500_000_000), "1969-12-31T23:59:59.500Z", "a clock that was never set");
    }

    #[test]
    fn the_journal_is_told_how_bad_it_is() {
        let said =
            |level| LogLine::with_current_time(level, "forebay_volume::tiers", "x").journal_line();
        assert_eq!(said(Level::ERROR), "<3>tiers: x\n");
        assert_eq!(said(Level::WARN), "<4>tiers: x\n");
        assert_eq!(said(Level::INFO), "<6>tiers: x\n");
        assert_eq!(said(Level::TRACE), "<7>tiers: x\n");
    }
}
