//! Words for people, on standard error, so that a pipeline's own output stays as it is; and what
//! was asked for, on standard output. All of it goes through one door, which no control character
//! of a name passes (`terminal_escape`); `println!` means this door everywhere in this crate.

mod terminal_escape;

use std::ffi::CString;
use std::io::{IsTerminal, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use terminal_escape::escape_harmful;

/// Shadows the one of the library, which lets everything pass.
macro_rules! println {
    () => { $crate::console::print("\n") };
    ($($words:tt)*) => { $crate::console::print(&format!("{}\n", format_args!($($words)*))) };
}

/// As `println!`.
macro_rules! print {
    ($($words:tt)*) => { $crate::console::print(&format!($($words)*)) };
}

/// Whether colours are wanted there.
pub(crate) fn wants_colour() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

/// Columns of the terminal, or 80.
pub(crate) fn terminal_width() -> usize {
    use rustix::termios::tcgetwinsize;
    // The one of both that somebody looks at.
    let size = tcgetwinsize(std::io::stdout()).or_else(|_| tcgetwinsize(std::io::stderr())).ok();
    size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0).unwrap_or(80)
}

/// The start of a line that is wider than there are columns.
pub(crate) fn clip_line(line: &str, columns: usize) -> String {
    if display_width(line) <= columns {
        return line.to_owned();
    }
    let mut kept = String::new();
    for c in line.chars() {
        kept.push(c);
        if display_width(&kept) >= columns {
            kept.pop();
            break;
        }
    }
    kept.trim_end().to_owned() + "…"
}

/// Columns that a text takes: those of East Asia take two each, marks on letters none.
pub(crate) fn display_width(text: &str) -> usize {
    ratatui::text::Span::raw(text).width()
}

/// A number with its thousands set apart.
pub(crate) fn group_thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A line stands there that the next words replace.
static PASSING: AtomicBool = AtomicBool::new(false);

/// Prints a line that stays until the next one, or the next words.
pub(crate) fn show_passing_line(line: &str) {
    let line = escape_harmful(line, false);
    let _ = std::io::stderr().write_all(format!("\r{line}\x1b[K").as_bytes());
    PASSING.store(true, Relaxed);
}

/// Prints text to standard output: what was asked for.
pub(crate) fn print(text: &str) {
    // Whoever reads may have seen enough (`| head`).
    let _ = print_all(text);
}

/// The same, for who wants to know whether all of it got there.
///
/// # Errors
/// The system's.
pub(crate) fn print_all(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout();
    let colours = out.is_terminal() && std::env::var_os("NO_COLOR").is_none();
    out.write_all(escape_harmful(text, colours).as_bytes()).and_then(|()| out.flush())
}

/// Prints text.
pub(crate) fn write_stderr(text: &str) {
    if PASSING.swap(false, Relaxed) {
        let _ = std::io::stderr().write_all(b"\r\x1b[K");
    }
    // Nobody may be reading; that must not change the status of the run.
    let _ = std::io::stderr().write_all(escape_harmful(text, wants_colour()).as_bytes());
}

/// Takes a passing line away.
pub(crate) fn clear_passing_line() {
    write_stderr("");
}

/// Something went wrong: what and where, and what to do next.
pub(crate) fn error(message: &str, next: Option<&str>) {
    let label = if wants_colour() { "\x1b[31mforebay:\x1b[0m" } else { "forebay:" };
    write_stderr(&format!("{label} {message}\n"));
    if let Some(next) = next {
        write_stderr(&format!("         {next}\n"));
    }
}

/// Something that a person should know.
pub(crate) fn note(message: &str) {
    write_stderr(&format!("forebay: {message}\n"));
}

/// What a command that is ended by a signal leaves.
static LEFT: OnceLock<String> = OnceLock::new();

/// From now on a signal that ends this program says so, and what is left and to be done.
pub(crate) fn when_interrupted(message: &str, next: &str) {
    let words = format!("forebay: interrupted: {message}\n         {next}\n");
    let words = escape_harmful(&words, false);
    if LEFT.set(format!("\n{words}")).is_err() {
        return;
    }
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: the handler does nothing that a handler may not do. What is ignored (nohup)
        // stays so.
        unsafe {
            let handler = interrupted as extern "C" fn(libc::c_int) as libc::sighandler_t;
            if libc::signal(signal, handler) == libc::SIG_IGN {
                libc::signal(signal, libc::SIG_IGN);
            }
        }
    }
}

/// A file that is of no use in part.
static PART: OnceLock<CString> = OnceLock::new();

/// What [`when_interrupted`] removes.
pub(crate) fn remove_when_interrupted(path: &Path) {
    if let Ok(path) = CString::new(path.as_os_str().as_bytes()) {
        // The first is the one.
        let _ = PART.set(path);
    }
}

extern "C" fn interrupted(signal: libc::c_int) {
    // SAFETY: all of these may be called in a handler; the text lives as long as the program.
    unsafe {
        if let Some(part) = PART.get() {
            libc::unlink(part.as_ptr());
        }
        if let Some(words) = LEFT.get() {
            libc::write(libc::STDERR_FILENO, words.as_ptr().cast(), words.len());
        }
        // It ends as by the signal alone, once this returns.
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

#[cfg(test)]
mod tests {
    //! A number that is misread by a factor of a thousand is worse than none.
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!(
            (group_thousands(7), group_thousands(1_000), group_thousands(1_234_567)),
            ("7".into(), "1,000".into(), "1,234,567".into())
        );
    }
}
