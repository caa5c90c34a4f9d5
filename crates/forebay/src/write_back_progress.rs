//! One line on a terminal while files come home, written again and again.

use std::io::IsTerminal;

use forebay_model::{ByteCount, Micros};
use forebay_volume::ipc::WriteBackProgress;

use crate::console;

/// What takes less is not worth a line.
const NOTICED: Micros = Micros(500_000);

/// Shows how far files have come, if somebody may be looking.
pub(crate) fn show_progress(now: &WriteBackProgress) {
    if now.took >= NOTICED && std::io::stderr().is_terminal() {
        console::show_passing_line(&progress_line(now, console::terminal_width()));
    }
}

/// The same for nobody.
pub(crate) fn hide_progress(_: &WriteBackProgress) {}

/// As much as fits beside the cursor.
fn progress_line(now: &WriteBackProgress, width: usize) -> String {
    let line = format!("forebay: {}", progress_in_words(now));
    line.chars().take(width.saturating_sub(1)).collect()
}

/// How far files have come, in words.
pub(crate) fn progress_in_words(now: &WriteBackProgress) -> String {
    let what = if now.publishing { "publishing" } else { "writing files back" };
    let (done, all) = (ByteCount(now.bytes.0), ByteCount(now.bytes.1));
    let mut text = format!("{what}: {} of {} files, {done} of {all}", now.files.0, now.files.1);
    if let Some(rate) = (now.bytes.0 * 1_000_000).checked_div(now.took.0)
        && rate > 0
    {
        text.push_str(&format!(", {}/s", ByteCount(rate)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_how_far_and_fits() {
        let mut now = WriteBackProgress {
            publishing: false,
            files: (12, 300),
            bytes: (3 << 30, 8 << 30),
            took: Micros(2_000_000),
        };
        let whole = "forebay: writing files back: 12 of 300 files, 3.0 GiB of 8.0 GiB, 1.5 GiB/s";
        assert_eq!(progress_line(&now, 100), whole);
        assert_eq!(progress_line(&now, 40), whole[..39]);
        now = WriteBackProgress { publishing: true, bytes: (0, 0), took: Micros::ZERO, ..now };
        assert_eq!(progress_line(&now, 100), "forebay: publishing: 12 of 300 files, 0 B of 0 B");
    }
}
