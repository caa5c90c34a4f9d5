//! `forebay manual`: the pages that messages name, for who has the program alone.

use crate::exit::Stop;
use crate::say;

/// Options of `forebay manual`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  forebay manual                      what pages there are\n  \
    forebay manual formats | less\n  forebay manual formats site file    one section of it")]
pub(crate) struct Args {
    /// A page; without one, their names
    page: Option<String>,
    /// Words of the title of a section; without them, the whole page
    section: Vec<String>,
}

struct Page {
    name: &'static str,
    about: &'static str,
    text: &'static str,
}

const PAGES: [Page; 4] = [
    Page {
        name: "formats",
        about: "site files, rules, price sheets, run files, and all else that is read or written",
        text: include_str!("../../../../FORMATS.md"),
    },
    Page {
        name: "semantics",
        about: "what programs may count on in covered directories and mounts, and what not",
        text: include_str!("../../../../SEMANTICS.md"),
    },
    Page {
        name: "security",
        about: "what is promised to whom, and how to report a flaw",
        text: include_str!("../../../../SECURITY.md"),
    },
    Page { name: "changes", about: "what is new", text: include_str!("../../../../CHANGELOG.md") },
];

pub(crate) fn run(args: &Args) -> Result<i32, Stop> {
    let Some(name) = &args.page else {
        for page in &PAGES {
            say::print(&format!("{:<10} {}\n", page.name, page.about));
        }
        return Ok(0);
    };
    let page = PAGES.iter().find(|page| page.name == name.to_lowercase()).ok_or_else(|| {
        let names: Vec<&str> = PAGES.iter().map(|page| page.name).collect();
        Stop::new(2, format!("there is no page {name:?}"), format!("pages: {}", names.join(", ")))
    })?;
    if args.section.is_empty() {
        say::print(page.text);
        return Ok(0);
    }
    let words = args.section.join(" ");
    let found = section(page.text, &words).ok_or_else(|| {
        let titles = headings(page.text).filter(|(level, _)| *level == 2);
        let titles: Vec<&str> = titles.map(|(_, title)| title).collect();
        let next = format!("sections: {}", titles.join(", "));
        Stop::new(1, format!("{} has no section {words:?}", page.name), next)
    })?;
    say::print(found);
    Ok(0)
}

/// Level and title of each heading; a `#` within a block of code is none.
fn headings(text: &str) -> impl Iterator<Item = (usize, &str)> {
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
fn section<'t>(text: &'t str, words: &str) -> Option<&'t str> {
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
        assert_eq!(section(text, "site FILE"), Some(site));
        assert_eq!(section(text, "rules"), Some("## Rules\nc\n"));
        assert_eq!(section(text, "no title"), None);
        assert_eq!(headings(text).filter(|(level, _)| *level == 2).count(), 2);
    }

    #[test]
    fn each_page_that_messages_name_is_there() {
        for (page, words) in [
            ("formats", "site file"),
            ("formats", "rules file"),
            ("formats", "price sheet"),
            ("formats", "run file"),
            ("formats", "study"),
            ("semantics", "promises"),
        ] {
            let page = PAGES.iter().find(|it| it.name == page).expect(page);
            assert!(section(page.text, words).is_some(), "{words}");
        }
    }
}
