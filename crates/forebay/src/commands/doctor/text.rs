//! The answers for people: one line each, aligned, with its fixes below it.

use super::DoctorReport;
use super::finding::CheckStatus;

/// Columns at most.
const WIDTH: usize = 100;
/// Columns of the standing.
const STANDING: usize = 7;
/// Columns of a check's name.
pub(super) const NAME: usize = 15;
/// Columns before the words.
const BEFORE: usize = STANDING + NAME + 4;

/// All answers as text.
pub(super) fn render_report(report: &DoctorReport, colour: bool) -> String {
    let DoctorReport { forebay, kernel, user, .. } = report;
    let mut out = format!("forebay {forebay} on Linux {kernel}, as {user}\n\n");
    for line in &report.checks {
        let standing = line.finding.standing;
        let word = format!("{:<STANDING$}", standing.word());
        out.push_str(&format!(
            "{}  {:<NAME$}  ",
            colour_standing(standing, word, colour),
            line.name
        ));
        push_wrapped(&mut out, &line.finding.means, BEFORE);
        for fix in &line.finding.fixes {
            let who = format!("{}: ", fix.who.word());
            // A command to copy stays on one line where there is room for it.
            let whole = BEFORE + who.len() + fix.what.chars().count() <= WIDTH;
            let before = if whole { BEFORE } else { STANDING + 2 };
            out.push_str(&format!("{:before$}{who}", ""));
            push_wrapped(&mut out, &fix.what, before + who.len());
        }
    }
    out.push_str(match report.works {
        true => "\n`forebay run` works here.\n",
        false => {
            "\n`forebay run` does not work here: nothing is run where nothing can be traced.\n"
        }
    });
    out
}

fn colour_standing(standing: CheckStatus, word: String, colour: bool) -> String {
    let code = match standing {
        _ if !colour => return word,
        CheckStatus::Ok => 32,
        CheckStatus::Limited => 33,
        CheckStatus::Missing => 31,
    };
    format!("\x1b[{code}m{word}\x1b[0m")
}

/// Adds words from column `from` on; long ones are broken between words.
fn push_wrapped(out: &mut String, words: &str, from: usize) {
    let mut column = from;
    for (number, word) in words.split(' ').enumerate() {
        let length = word.chars().count();
        if number > 0 && column + 1 + length > WIDTH {
            out.push_str(&format!("\n{:from$}", ""));
            column = from;
        } else if number > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    //! People read this when something is broken already; it must at least be straight.
    use super::super::finding::Finding;
    use super::super::{CheckResult, DoctorReport};
    use super::*;

    fn report() -> DoctorReport {
        let line = |name, finding| CheckResult { name, asks: "is it?", finding };
        DoctorReport {
            forebay: "0.1.0",
            kernel: "6.8.0-45-generic".into(),
            user: "ada (uid 1000)".into(),
            works: false,
            checks: vec![
                line("FUSE device", Finding::ok("/dev/fuse opens for reading and writing")),
                line(
                    "private mounts",
                    Finding::missing(
                        "AppArmor closes user namespaces: \
                         kernel.apparmor_restrict_unprivileged_userns is 1 (Ubuntu 24.04)",
                    )
                    .fix_by_admin("sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"),
                ),
                line(
                    "container tools",
                    Finding::limited("docker: a daemon starts the containers")
                        .fix_by_user("use podman: these start containers as children"),
                ),
            ],
        }
    }

    #[test]
    fn looks_like_this() {
        let expected = "\
forebay 0.1.0 on Linux 6.8.0-45-generic, as ada (uid 1000)

ok       FUSE device      /dev/fuse opens for reading and writing
missing  private mounts   AppArmor closes user namespaces:
                          kernel.apparmor_restrict_unprivileged_userns is 1 (Ubuntu 24.04)
                          your admin: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0
limited  container tools  docker: a daemon starts the containers
                          you: use podman: these start containers as children

`forebay run` does not work here: nothing is run where nothing can be traced.
";
        let text = render_report(&report(), false);
        assert_eq!(text, expected, "\n{text}");
    }

    #[test]
    fn lines_are_short_and_colours_are_only_asked_for() {
        let text = render_report(&report(), true);
        assert!(text.contains("\x1b[31mmissing\x1b[0m"));
        let plain = render_report(&report(), false);
        assert!(!plain.contains('\x1b'));
        assert!(plain.lines().all(|line| line.chars().count() <= WIDTH && line.trim_end() == line));
    }
}
