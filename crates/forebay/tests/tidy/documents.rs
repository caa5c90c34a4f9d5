//! The documents: what they promise has a test, what they link to is there, and what a user may meet
//! (commands, exit codes) is in them.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use super::{none, read, root, rust, sources};

const TARGETS: &[&str] = &[
    "help",
    "build",
    "demo",
    "studies",
    "test",
    "test-long",
    "timing",
    "bench",
    "lint",
    "setup",
    "clean",
];

/// `const NAME: i32 = N;`
fn exit_codes(exit_rs: &str) -> Vec<(String, String)> {
    let lines = exit_rs.lines().filter_map(|line| line.trim().split_once(": i32 = "));
    lines
        .filter_map(|(name, value)| {
            let name = name.rsplit(' ').next()?;
            Some((name.to_owned(), value.trim_end_matches(';').to_owned()))
        })
        .collect()
}

fn undocumented_codes(exit_rs: &str, page: &str, help: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (name, value) in exit_codes(exit_rs) {
        if !page.contains(&format!("\n| {value} |")) {
            found.push(format!("{name} ({value}) is not in the table of exit codes"));
        }
        if !help.contains(&format!(" {value} ")) {
            found.push(format!("{name} ({value}) is not in --help"));
        }
    }
    found
}

/// What stands between backquotes in a line.
fn backquoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// Promises and exceptions (`### `) without a line `Proof: ...`, and proofs that are not there.
fn unproved_promises(semantics: &str, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for promise in semantics.split("\n### ").skip(1) {
        let promise = promise.split("\n## ").next().unwrap_or_default();
        let title = promise.lines().next().unwrap_or_default();
        let proofs: Vec<&str> =
            promise.lines().filter_map(|line| line.strip_prefix("Proof: ")).collect();
        if proofs.iter().flat_map(|line| backquoted(line)).next().is_none() {
            found.push(format!("`{title}`: no test is named"));
        }
        for proof in proofs.iter().flat_map(|line| backquoted(line)).filter(|proof| !exists(proof))
        {
            found.push(format!("`{title}`: there is no test {proof}"));
        }
    }
    found
}

fn make_targets(makefile: &str) -> BTreeSet<&str> {
    let names = makefile.lines().filter(|line| line.contains("##") && !line.starts_with('\t'));
    names.filter_map(|line| line.split_once(':').map(|(name, _)| name)).collect()
}

/// `make NAME` in a document, where the Makefile has no NAME.
fn missing_targets(path: &str, text: &str, makefile: &str) -> Vec<String> {
    let made = make_targets(makefile);
    let words = text.split('`').skip(1).step_by(2).filter_map(|word| word.strip_prefix("make "));
    let names = words.filter_map(|rest| rest.split_whitespace().next());
    let strange = names.filter(|name| !made.contains(name) && !name.starts_with('-'));
    strange.map(|name| format!("{path}: there is no `make {name}`")).collect()
}

/// The text of each heading; a `#` within a block of code is none.
fn heading_texts(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    text.lines().filter_map(move |line| {
        in_code ^= line.trim_start().starts_with("```");
        let title = line.trim_start_matches('#');
        (!in_code && title.len() < line.len() && title.starts_with(' ')).then(|| title.trim())
    })
}

/// How a heading is linked to, on GitHub and in the book.
fn anchor_of(heading: &str) -> String {
    let kept = heading.chars().filter_map(|c| match c {
        ' ' => Some('-'),
        c if c.is_alphanumeric() || matches!(c, '_' | '-') => Some(c),
        _ => None,
    });
    kept.collect::<String>().to_lowercase()
}

/// Links of a document to others of the project: as written, the file, and the heading.
fn project_links<'t>(path: &str, text: &'t str) -> Vec<(&'t str, PathBuf, &'t str)> {
    let folder = Path::new(path).parent().expect("a folder");
    let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let own = links.filter(|link| !link.contains("://") && !link.starts_with("mailto:"));
    let target = |link: &'t str| {
        let (file, heading) = link.split_once('#').unwrap_or((link, ""));
        let mut target = if file.is_empty() { path.into() } else { PathBuf::new() };
        for part in folder.join(file).components().filter(|_| !file.is_empty()) {
            match part {
                Component::ParentDir => {
                    target.pop();
                }
                part => target.push(part),
            }
        }
        (link, target, heading)
    };
    own.map(target).collect()
}

/// Links to files, or to headings of pages, that are not there; `page` is the text of one.
fn dead_links(path: &str, text: &str, page: impl Fn(&Path) -> Option<String>) -> Vec<String> {
    let dead = |(link, target, heading): (&str, PathBuf, &str)| {
        let Some(page) = page(&target) else { return Some(format!("{path}: no {link}")) };
        let is_there =
            heading.is_empty() || heading_texts(&page).any(|title| anchor_of(title) == heading);
        (!is_there).then(|| format!("{path}: {link}: there is no such heading"))
    };
    project_links(path, text).into_iter().filter_map(dead).collect()
}

/// Chapters that the book's table of contents does not have.
fn missing_chapters(summary: &str, pages: &[&str]) -> Vec<String> {
    let listed: BTreeSet<PathBuf> = project_links("docs/SUMMARY.md", summary)
        .into_iter()
        .map(|(_, target, _)| target)
        .collect();
    let missing = pages.iter().filter(|page| !listed.contains(Path::new(page)));
    missing.map(|page| format!("docs/SUMMARY.md does not list {page}")).collect()
}

/// Where a version that Forebay needs is written down: the words before it, and who says so.
const NEEDS: &[(&str, &str, &[&str])] = &[
    (
        "Rust ",
        "1.92",
        &[
            "README.md",
            "docs/start.md",
            "docs/administration/requirements.md",
            "scripts/setup-test.sh",
        ],
    ),
    ("rust-version = \"", "1.92", &["Cargo.toml"]),
    ("rust@", "1.92", &["packaging/spack/package.py"]),
    ("('Rust', '", "1.92", &["packaging/easybuild/forebay-0.1.0-GCCcore.eb"]),
    ("OLDEST_MINOR: u32 = ", "31", &["crates/volume/src/fuse/abi.rs"]),
    ("OLDEST: (u32, u32) = (7, ", "31", &["crates/forebay/src/commands/doctor/kernel.rs"]),
    ("protocol 7.", "31", &["docs/administration/requirements.md"]),
    (
        "Linux ",
        "5.4",
        &[
            "README.md",
            "docs/administration/requirements.md",
            "crates/forebay/src/commands/doctor/kernel.rs",
        ],
    ),
    (
        "Linux ",
        "6.9",
        &[
            "docs/administration/requirements.md",
            "crates/forebay/src/commands/doctor/passthrough.rs",
        ],
    ),
    ("version = \"", "0.1.0", &["Cargo.toml"]),
    ("## ", "0.1.0", &["CHANGELOG.md"]),
    ("version = \"", "0.1.0", &["packaging/conda/meta.yaml"]),
    ("version(\"", "0.1.0", &["packaging/spack/package.py"]),
    ("version = '", "0.1.0", &["packaging/easybuild/forebay-0.1.0-GCCcore.eb"]),
];

/// Pages that do not say `words` and then the version.
fn other_needs(words: &str, version: &str, page: &str, text: &str) -> Option<String> {
    let said = format!("{words}{version}");
    (!text.contains(&said)).then(|| format!("{page} does not say `{said}`"))
}

/// The pages below a folder of the book.
fn pages_below(folder: &str) -> Vec<(String, String)> {
    let all = sources().into_iter();
    all.filter(|(path, _)| path.starts_with(folder) && path.ends_with(".md")).collect()
}

#[test]
fn commands_are_in_a_guide() {
    let all =
        pages_below("docs/").into_iter().filter(|(path, _)| path != "docs/reference/commands.md");
    let all: String = all.map(|(_, text)| text).collect();
    let commands = read("crates/forebay/src/commands.rs");
    let commands = commands.lines().filter_map(|l| l.strip_prefix("mod ")?.strip_suffix(';'));
    let unnamed = commands.filter(|command| !all.contains(&format!("forebay {command}")));
    none("no page shows", unnamed.map(str::to_owned).collect());
}

#[test]
fn exit_codes_are_documented() {
    let (exit, main) = (read("crates/forebay/src/exit.rs"), read("crates/forebay/src/main.rs"));
    assert!(exit_codes(&exit).len() > 3, "the codes of exit.rs are found");
    none("exit codes", undocumented_codes(&exit, &read("docs/reference/exit-status.md"), &main));
}

#[test]
fn promises_have_tests() {
    let all = rust();
    let exists = &|proof: &str| {
        if proof.contains('/') {
            return root().join(proof).is_file();
        }
        all.iter().any(|(_, text)| {
            text.split("#[test]").skip(1).any(|rest| {
                let name = rest.split_once("fn ").map(|(_, rest)| rest).unwrap_or_default();
                name.split('(').next() == Some(proof)
            })
        })
    };
    let pages = pages_below("docs/semantics/");
    let count: usize = pages.iter().map(|(_, text)| text.matches("\n### ").count()).sum();
    assert!(count > 100, "the promises are found");
    none("semantics", pages.iter().flat_map(|(_, text)| unproved_promises(text, exists)).collect());
}

#[test]
fn doors_are_where_documents_say() {
    let makefile = read("Makefile");
    let missing = TARGETS.iter().filter(|target| !make_targets(&makefile).contains(**target));
    none("Makefile has no", missing.map(|target| (*target).to_owned()).collect());
    assert!(read(".ci/run").contains("make test"), ".ci/run runs what developers run");
    let mut complaints = Vec::new();
    let page = |path: &Path| {
        let path = root().join(path);
        std::fs::read_to_string(&path).ok().or_else(|| path.exists().then(String::new))
    };
    for (path, text) in sources().iter().filter(|(path, _)| path.ends_with(".md")) {
        complaints.extend(missing_targets(path, text, &makefile));
        complaints.extend(dead_links(path, text, page));
    }
    let chapters = pages_below("docs/");
    let chapters: Vec<&str> = chapters.iter().map(|(path, _)| path.as_str()).collect();
    let chapters: Vec<&str> =
        chapters.into_iter().filter(|path| *path != "docs/SUMMARY.md").collect();
    complaints.extend(missing_chapters(&read("docs/SUMMARY.md"), &chapters));
    none("documents", complaints);
}

#[test]
fn needed_versions_are_the_same_everywhere() {
    let complaints = NEEDS.iter().flat_map(|(words, version, pages)| {
        pages.iter().filter_map(|page| other_needs(words, version, page, &read(page)))
    });
    none("versions", complaints.collect());
}

#[test]
fn every_rule_can_fail() {
    let fails = |rule: &str, complaints: Vec<String>| {
        assert!(!complaints.is_empty(), "{rule} finds nothing in a breach");
    };
    fails("exit codes", undocumented_codes("const LOST: i32 = 120;", "| 12 |", " 120 "));
    fails("exit codes", undocumented_codes("const LOST: i32 = 120;", "\n| 120 |", ""));
    fails("proofs", unproved_promises("\n### It works\nReally.\n", |_| true));
    fails("proofs", unproved_promises("\n### It works\nReally.\nProof: `no.sh`\n", |_| false));
    fails("make", missing_targets("a.md", "run `make nothing`", "test: a ## all\n"));
    fails("links", dead_links("a.md", "[a](b.md)", |_| None));
    let page = |_: &Path| Some("# One\n## Two & `three`\n```\n# four\n```\n".to_owned());
    fails("links", dead_links("a.md", "[a](b.md#four)", page));
    none("links", dead_links("docs/x/a.md", "[a](../b.md#two--three) [b](#one)", page));
    let old = other_needs("Rust ", "1.92", "a.md", "Rust 1.85 or newer");
    fails("versions", old.into_iter().collect());
    fails("contents", missing_chapters("[a](start.md)", &["docs/start.md", "docs/adr/index.md"]));
}
