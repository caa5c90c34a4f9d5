//! `forebay manual`: the pages that messages name, for people who have the program alone; and pages
//! of all commands, from the definitions that are parsed.

use std::path::{Path, PathBuf};

use crate::console;
use crate::exit::CommandError;

/// Options of `forebay manual`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  forebay manual                      what pages there are\n  \
    forebay manual formats | less\n  forebay manual formats site file    one section of it\n  \
    forebay manual --man /usr/local/share/man/man1\n  \
    forebay manual --schema rules > rules.schema.json      for editors (docs/reference/rules.md)")]
pub(crate) struct Args {
    /// A page; without one, their names
    page: Option<String>,
    /// Words of the title of a section; without them, the whole page
    section: Vec<String>,
    /// Write a man page for each command into this directory
    #[arg(long, value_name = "DIR", conflicts_with_all = ["page", "commands"])]
    man: Option<PathBuf>,
    /// Print the options of all commands as Markdown
    #[arg(long, conflicts_with = "page")]
    commands: bool,
    /// Print the JSON Schema of a file that people write, for editors
    #[arg(long, value_enum, value_name = "FILE", conflicts_with_all = ["page", "commands", "man"])]
    schema: Option<Schema>,
}

/// A file that people write.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Schema {
    /// Which files go to which tier
    Rules,
    /// Where the tiers are
    Site,
}

/// A page: the chapters of the book that it consists of.
struct Page {
    name: &'static str,
    about: &'static str,
    chapters: &'static [&'static str],
}

/// The chapters of the book below one of its folders.
macro_rules! chapters {
    ($($path:literal),+ $(,)?) => {
        &[$(include_str!(concat!("../../../../docs/", $path))),+]
    };
}

const PAGES: [Page; 5] = [
    Page {
        name: "formats",
        about: "site files, rules, price sheets, run files, and all else that is read or written",
        chapters: chapters![
            "reference/site.md",
            "reference/rules.md",
            "reference/prices.md",
            "formats/run.md",
            "formats/summary.md",
            "formats/report.md",
            "formats/logs.md",
            "formats/imports.md",
            "formats/tiers.md",
            "formats/bucket.md",
            "formats/archive.md",
            "formats/tier-file.md",
            "formats/plan.md",
            "formats/comparison.md",
            "formats/workload.md",
            "formats/study.md",
        ],
    },
    Page {
        name: "semantics",
        about: "what programs may count on in managed directories and mounts, and what not",
        chapters: chapters![
            "semantics/files.md",
            "semantics/tiers.md",
            "semantics/buckets.md",
            "semantics/sharing.md",
            "semantics/reads.md",
            "semantics/runs.md",
            "semantics/plans.md",
            "semantics/exceptions.md",
        ],
    },
    Page {
        name: "troubleshooting",
        about: "what may go wrong, why, and what to do; exit codes",
        chapters: chapters!["administration/troubleshooting.md", "reference/exit-status.md"],
    },
    Page {
        name: "security",
        about: "what is promised to whom, and how to report a flaw",
        chapters: chapters!["administration/security.md"],
    },
    Page {
        name: "changes",
        about: "what is new",
        chapters: &[include_str!("../../../../CHANGELOG.md")],
    },
];

pub(crate) fn run(args: &Args) -> Result<i32, CommandError> {
    if let Some(folder) = &args.man {
        return write_man_pages(folder);
    }
    if let Some(file) = args.schema {
        console::print(&match file {
            Schema::Rules => forebay_model::rules::json_schema(),
            Schema::Site => forebay_model::site::json_schema(),
        });
        return Ok(0);
    }
    if args.commands {
        console::print(&commands_page());
        return Ok(0);
    }
    let Some(name) = &args.page else {
        for page in &PAGES {
            console::print(&format!("{:<16} {}\n", page.name, page.about));
        }
        return Ok(0);
    };
    let page = PAGES.iter().find(|page| page.name == name.to_lowercase()).ok_or_else(|| {
        let names: Vec<&str> = PAGES.iter().map(|page| page.name).collect();
        CommandError::new(
            2,
            format!("there is no page {name:?}"),
            format!("pages: {}", names.join(", ")),
        )
    })?;
    if args.section.is_empty() {
        console::print(&page.chapters.join("\n"));
        return Ok(0);
    }
    let words = args.section.join(" ");
    let found =
        page.chapters.iter().find_map(|text| find_section(text, &words)).ok_or_else(|| {
            let titles = page.chapters.iter().flat_map(|text| list_headings(text));
            let titles = titles.filter(|(level, _)| *level < 3).map(|(_, title)| title);
            let next = format!("sections: {}", titles.collect::<Vec<_>>().join(", "));
            CommandError::new(1, format!("{} has no section {words:?}", page.name), next)
        })?;
    console::print(found);
    Ok(0)
}

fn write_man_pages(folder: &Path) -> Result<i32, CommandError> {
    let pages = crate::command_line_definition().disable_help_subcommand(true);
    clap_mangen::generate_to(pages, folder).map_err(|error| {
        let message = format!("man pages can't be written to {}: {error}", folder.display());
        CommandError::new(1, message, "make the directory, or choose another")
    })?;
    Ok(0)
}

/// The help of every command, in the order of the first page of help.
fn commands_page() -> String {
    let mut page = String::from(
        "# Commands\n\n`forebay COMMAND --help` prints the same. A test compares this page with the \
         program; `forebay manual --commands` writes it.\n",
    );
    let mut all = crate::command_line_definition().term_width(100).disable_help_subcommand(true);
    all.build();
    page.push_str(&format!("\n```text\n{}\n```\n", all.render_help().to_string().trim_end()));
    for command in all.get_subcommands() {
        push_command_help(command, "forebay", &mut page);
    }
    page
}

fn push_command_help(command: &clap::Command, above: &str, page: &mut String) {
    let name = format!("{above} {}", command.get_name());
    let help = command.clone().render_long_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    let level = if above == "forebay" { "##" } else { "###" };
    page.push_str(&format!("\n{level} {name}\n\n```text\n{}\n```\n", lines.join("\n").trim()));
    for inner in command.get_subcommands() {
        push_command_help(inner, &name, page);
    }
}

/// Level and title of each heading; a `#` within a block of code is none.
fn list_headings(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_code = false;
    text.lines().filter_map(move |line| {
        in_code ^= line.starts_with("```");
        heading_level(line)
            .filter(|_| !in_code)
            .map(|level| (level, line.trim_start_matches('#').trim()))
    })
}

fn heading_level(line: &str) -> Option<usize> {
    let level = line.len() - line.trim_start_matches('#').len();
    (level > 0 && line[level..].starts_with(' ')).then_some(level)
}

/// From the first heading with these words to the next that is no part of it.
fn find_section<'t>(text: &'t str, words: &str) -> Option<&'t str> {
    let words = words.to_lowercase();
    let (mut start, mut in_code, mut at) = (None, false, 0);
    for line in text.split_inclusive('\n') {
        in_code ^= line.starts_with("```");
        if let Some(level) = heading_level(line).filter(|_| !in_code) {
            match start {
                Some((from, above)) if level <= above => return Some(&text[from..at]),
                None if line.to_lowercase().contains(&words) => start = Some((at, level)),
                _ => {}
            }
        }
        at += line.len();
    }
    start.map(|(from, _)| &text[from..])
}

#[cfg(test)]
mod tests {
    //! If these fail, a message sends people to a page that is not there.
    use super::*;

    #[test]
    fn a_section_ends_where_the_next_begins() {
        let text =
            "# All\nwords\n## Site file\na\n```\n# no title\n```\n### Keys\nb\n## Rules\nc\n";
        let site = "## Site file\na\n```\n# no title\n```\n### Keys\nb\n";
        assert_eq!(find_section(text, "site FILE"), Some(site));
        assert_eq!(find_section(text, "rules"), Some("## Rules\nc\n"));
        assert_eq!(find_section(text, "no title"), None);
        assert_eq!(list_headings(text).filter(|(level, _)| *level == 2).count(), 2);
    }

    #[test]
    fn each_page_that_messages_name_is_there() {
        for (page, words) in [
            ("formats", "site file"),
            ("formats", "rules file"),
            ("formats", "price sheet"),
            ("formats", "run file"),
            ("formats", "study"),
            ("semantics", "files"),
            ("troubleshooting", "exit status"),
        ] {
            let page = PAGES.iter().find(|it| it.name == page).expect(page);
            let found = page.chapters.iter().find_map(|text| find_section(text, words));
            assert!(found.is_some(), "{words}");
        }
    }

    #[test]
    fn the_page_of_commands_is_of_this_program() {
        let kept = include_str!("../../../../docs/reference/commands.md");
        assert!(
            kept == commands_page(),
            "run `forebay manual --commands > docs/reference/commands.md`, and read what changed"
        );
    }
}
