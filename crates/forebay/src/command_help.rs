//! The first page of help: three examples, and the commands by what they are for.

use clap::CommandFactory;

/// Titles, and the commands below them.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Run and see", &["run", "summary", "report", "explain", "list", "clean"]),
    ("Watch", &["top", "status", "metrics", "logs", "sample", "doctor", "manual", "completions"]),
    (
        "Decide",
        &["plan", "simulate", "bench", "probe", "replay", "study", "import", "join", "export"],
    ),
    (
        "Volumes and data",
        &[
            "mount", "unmount", "leave", "warm", "attach", "detach", "check", "restore", "book",
            "slurm",
        ],
    ),
    ("Reads in less space", &["reads"]),
];

const EXAMPLES: [(&str, &str); 3] = [
    ("forebay run snakemake --cores 8", "your pipeline as it is, and where its time went"),
    ("forebay report", "that run as a page for your browser"),
    ("forebay plan a.run --site aws.toml -o rules.toml", "where its files should live, and why"),
];

/// The parser with this page.
pub(crate) fn with_help_page<C: CommandFactory>() -> clap::Command {
    let command = C::command();
    let page = help_page(&command);
    command.override_help(page)
}

fn help_page(command: &clap::Command) -> String {
    let mut page = format!("{}.\n\n", about_text(command));
    for (line, what) in EXAMPLES {
        page.push_str(&format!("  {line:<50} {what}\n"));
    }
    page.push_str(
        "\nUsage: forebay COMMAND ...      forebay COMMAND --help has its options and more \
                   examples\n",
    );
    for (title, names) in GROUPS {
        page.push_str(&format!("\n{title}:\n"));
        for command in names.iter().filter_map(|name| command.find_subcommand(name)) {
            page.push_str(&format!("  {:<11} {}\n", command.get_name(), about_text(command)));
        }
    }
    page.push_str("\n  -h, --help     this page\n  -V, --version  the version\n\n");
    let codes = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    for line in codes.lines() {
        page.push_str(&wrap_text(line));
    }
    page
}

/// In lines of 100 columns at most.
fn wrap_text(text: &str) -> String {
    let (mut out, mut columns) = (String::new(), 0);
    for word in text.split_whitespace() {
        let width = word.chars().count() + 1;
        match columns + width > 100 {
            true => out.push('\n'),
            false if columns > 0 => out.push(' '),
            false => {}
        }
        columns = if columns + width > 100 { width } else { columns + width };
        out.push_str(word);
    }
    out + "\n"
}

fn about_text(command: &clap::Command) -> String {
    command.get_about().map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    //! A command that is in no group is found by nobody.
    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let command = crate::Cli::command();
        let mut all: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        let mut told: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        all.sort_unstable();
        told.sort_unstable();
        assert_eq!(all, told);
    }
}
