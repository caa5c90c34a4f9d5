//! Reads the sources and the documents. If it failed to fail, the house would drift from its plan:
//! floors would import upwards, promises and codes stay without proof.
//!
//! Each rule is a function from text to complaints; [`every_rule_can_fail`] feeds each a breach.

mod documents;
mod modules;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Crate, and which of our crates it may name. `plan` and `volume` never see each other; the bench
/// judges from outside.
const FLOORS: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("reads", &[]),
    ("os", &["model"]),
    ("objstore", &["os"]),
    ("book", &["os"]),
    ("packlog", &["model", "os"]),
    ("peers", &["os"]),
    ("plan", &["model"]),
    ("sharing", &["book", "os"]),
    ("volume", &["book", "model", "objstore", "os", "packlog", "peers", "reads", "sharing"]),
    ("forebay", &["book", "model", "objstore", "os", "peers", "plan", "reads", "volume"]),
    ("bench", &[]),
];
/// Tables: the list, the folder of its entries, what an entry defines, how the list names it.
const TABLES: &[(&str, &str, &str, &str)] = &[
    ("crates/forebay/src/commands.rs", "crates/forebay/src/commands", "struct Args", "Args"),
    (
        "crates/forebay/src/commands/doctor.rs",
        "crates/forebay/src/commands/doctor",
        "&MachineFacts) -> Finding {",
        "run_check",
    ),
    (
        "crates/forebay/src/commands/report/panels.rs",
        "crates/forebay/src/commands/report/panels",
        "const PANEL:",
        "PANEL",
    ),
    (
        "crates/forebay/src/commands/export.rs",
        "crates/forebay/src/commands/export",
        "const FORMAT:",
        "FORMAT",
    ),
    (
        "crates/forebay/src/commands/explain/chapters.rs",
        "crates/forebay/src/commands/explain/chapters",
        "const CHAPTER:",
        "CHAPTER",
    ),
    (
        "crates/forebay/src/commands/slurm/sections.rs",
        "crates/forebay/src/commands/slurm/sections",
        "const SECTION:",
        "SECTION",
    ),
    ("crates/model/src/tasks.rs", "crates/model/src/tasks", "const ENGINE:", "ENGINE"),
    ("crates/plan/src/emit.rs", "crates/plan/src/emit", "const ENGINE:", "ENGINE"),
    ("crates/plan/src/advise.rs", "crates/plan/src/advise", "fn assess_saving(", "assess_saving"),
    ("crates/plan/src/import.rs", "crates/plan/src/import", "const IMPORTER:", "IMPORTER"),
    ("crates/plan/src/policies.rs", "crates/plan/src/policies", "const POLICY:", "POLICY"),
    (
        "crates/model/src/summary/advice.rs",
        "crates/model/src/summary/advice",
        "fn finding_for(",
        "finding_for",
    ),
    ("crates/reads/src/codecs.rs", "crates/reads/src/codecs", "const CODEC:", "CODEC"),
];
/// Results that `volume` may drop, by the call: what is so for each of its kind. For any other the line
/// above says why it may be dropped.
const DROPPED: &[(&str, &str)] = &[
    ("unlinkat(", "taking away what is left over: it may be gone, and restore finds what stays"),
    ("remove_file(", "as above"),
    ("remove_dir(", "as above; it stays while anything is in it"),
    (".remove_data_file(", "a data file without a link: `check` and `restore` find it"),
    ("remove_watch(", "the watched directory may be gone, and its watch with it"),
    (".write_message(", "the caller was killed or the mount is gone: nobody waits for it"),
    (".send(", "who would hear it is gone, and needs it no more"),
    (".set(", "a `OnceLock`: what was there first stays"),
    (".join()", "a thread that panicked has said so"),
    ("libc::_exit(", "does not return"),
    ("libc::execvp(", "returns with an error only, which the next line takes"),
    ("libc::kill(", "whom it is for may have ended"),
    ("libc::pthread_kill(", "as above"),
    ("libc::munmap(", "fails for what is no mapping"),
    ("libc::sigaddset(", "fails for what is no signal"),
    ("libc::sigemptyset(", "can't fail"),
    ("libc::sigfillset(", "can't fail"),
    ("libc::sigaction(", "fails for what is no signal"),
    ("libc::signal(", "as above"),
    ("libc::sigprocmask(", "fails for what is no set of signals"),
    ("libc::pthread_sigmask(", "as above"),
    ("libc::prctl(libc::PR_SET_TIMERSLACK", "a wish"),
    ("libc::mallopt(", "a wish"),
    ("libc::malloc_trim(", "tells whether anything was given back"),
    ("libc::umask(", "can't fail"),
    ("libc::pthread_mutexattr_", "fails for what is no attribute"),
    ("libc::pthread_mutex_unlock(", "who unlocks holds it"),
    ("libc::setrlimit(libc::RLIMIT_CORE", "without, a process that dies leaves one core file more"),
    ("libc::SYS_close_range, first", "nothing else is open, then, on a kernel that has it not"),
    ("IOC_BACKING_CLOSE", "the connection is gone with all that it was lent"),
];
const SKIPPED: &[&str] =
    &["target", ".git", ".venv", ".forebay", ".snakemake", "__pycache__", "node_modules"];

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("crates/forebay lies two below the root").to_owned()
}

/// Every file of the project as (path below the root, text), in order; binary ones are left out.
fn sources() -> Vec<(String, String)> {
    fn walk(dir: &Path, root: &Path, found: &mut Vec<(String, String)>) {
        for entry in fs::read_dir(dir).expect("a folder of the project").flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            let kind = entry.file_type().expect("a type");
            // `.git` is a file in a work tree of its own.
            if SKIPPED.iter().any(|skipped| name == *skipped) {
                continue;
            }
            if kind.is_dir() {
                walk(&path, root, found);
            } else if kind.is_file()
                && let Ok(text) = fs::read_to_string(&path)
            {
                let name = path.strip_prefix(root).expect("below it").to_string_lossy();
                found.push((name.into_owned(), text));
            }
        }
    }
    let (root, mut found) = (root(), Vec::new());
    walk(&root, &root, &mut found);
    found.sort();
    assert!(found.len() > 100, "the project is larger than this");
    found
}

fn rust() -> Vec<(String, String)> {
    sources().into_iter().filter(|(path, _)| path.ends_with(".rs")).collect()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn none(rule: &str, complaints: Vec<String>) {
    assert!(complaints.is_empty(), "{rule}:\n  {}\n", complaints.join("\n  "));
}

/// Lines of code outside tests, with their numbers.
fn code<'a>(path: &str, text: &'a str) -> Vec<(usize, &'a str)> {
    if path.ends_with("/tests.rs") || path.contains("/tests/") || path.contains("/examples/") {
        return Vec::new();
    }
    let lines = text.lines().enumerate().map(|(number, line)| (number + 1, line.trim()));
    // A module of tests is the last thing in its file.
    let lines = lines.take_while(|(_, line)| *line != "#[cfg(test)]");
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with("//")).collect()
}

/// Names of our crates among the dependencies of a manifest, without their common prefix.
fn ours(manifest: &str) -> BTreeSet<String> {
    let mut section = "";
    let mut found = BTreeSet::new();
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line.trim_matches(['[', ']']);
        } else if section.ends_with("dependencies")
            && let Some(rest) = line.strip_prefix("forebay-")
        {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
            found.insert(rest[..end].to_owned());
        }
    }
    found
}

fn floors(name: &str, manifest: &str) -> Vec<String> {
    let Some((_, below)) = FLOORS.iter().find(|(floor, _)| *floor == name) else {
        return vec![format!("{name}: no floor of the house")];
    };
    let ours = ours(manifest);
    let up = ours.iter().filter(|other| !below.contains(&other.as_str()));
    up.map(|other| format!("{name} must not depend on {other}")).collect()
}

fn first_lines(path: &str, text: &str) -> Vec<String> {
    let ok = text.starts_with("//!") || text.starts_with("#!/");
    // Tests in a file beside their module speak for it.
    let ok = ok || path.ends_with("/tests.rs") && text.lines().take(8).any(|l| l.starts_with("//"));
    (!ok)
        .then(|| format!("{path}: its first line does not say what it is (`//!`)"))
        .into_iter()
        .collect()
}

fn unfinished(path: &str, text: &str) -> Vec<String> {
    let words = ["todo!(", "unimplemented!(", "dbg!(", ".unwrap()"];
    let mut found = Vec::new();
    for (number, line) in code(path, text) {
        for word in words.iter().filter(|word| line.contains(**word)) {
            found.push(format!("{path}:{number}: {word}"));
        }
    }
    found
}

/// Results that are dropped without a word why.
fn dropped(path: &str, text: &str) -> Vec<String> {
    let code = code(path, text);
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let mut fine = 0;
    let mut found = Vec::new();
    for (number, line) in code {
        let libc = line.strip_prefix("unsafe { ").unwrap_or(line).starts_with("libc::")
            && (line.ends_with(");") || line.ends_with(") };"));
        let ok = line.ends_with(".ok();") && !line.contains('=');
        if !line.contains("let _ =") && !ok && !libc {
            continue;
        }
        let above = lines[number.saturating_sub(2)];
        let says = above.starts_with("//") && !(libc && above.contains("SAFETY"));
        let known = DROPPED.iter().any(|(call, _)| line.contains(call));
        // What is said of one is said of those that follow it at once.
        match says || known || fine + 1 == number {
            true => fine = number,
            false => found.push(format!("{path}:{number}: {line}: why may this be dropped?")),
        }
    }
    found
}

/// Entries of a table that its list does not name.
fn unlisted(list: &str, files: &[(String, String)], defines: &str, named: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (stem, _) in files.iter().filter(|(_, text)| text.contains(defines)) {
        if !list.contains(&format!("mod {stem};")) || !list.contains(&format!("{stem}::{named}")) {
            found.push(format!("{stem}: its list does not name {stem}::{named}"));
        }
    }
    found
}

/// Absolute paths of the machine that somebody wrote this on.
fn machine_paths(path: &str, text: &str) -> Vec<String> {
    let places = [concat!("/", "work/"), concat!("/", "root/")];
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        for place in places {
            let absolute = |at: usize| {
                let before = line[..at].chars().next_back();
                before.is_none_or(|c| !(c.is_alphanumeric() || "}~/.*_-$".contains(c)))
            };
            if line.match_indices(place).any(|(at, _)| absolute(at)) {
                found.push(format!("{path}:{}: {place}", number + 1));
            }
        }
    }
    found
}

/// Lines of the roof that write past `console`, where nothing makes names harmless; bytes of files
/// are written so (`BYTES`), and pages.
fn past_the_door(path: &str, text: &str) -> Vec<String> {
    const BYTES: &[&str] = &["console.rs", "commands/reads/cat.rs", "commands/reads/export.rs"];
    let inner = path.strip_prefix("crates/forebay/src/").filter(|inner| !BYTES.contains(inner));
    if inner.is_none() {
        return Vec::new();
    }
    let asks = |line: &str| {
        ["is_terminal()", "page.as_bytes()", "dup("].iter().any(|way| line.contains(way))
    };
    let writes = |line: &str| {
        ["io::stdout", "io::stderr", "eprint"].iter().any(|way| line.contains(way)) && !asks(line)
    };
    let lines = code(path, text).into_iter().filter(|(_, line)| writes(line));
    lines.map(|(number, line)| format!("{path}:{number}: {line}: say it by `console`")).collect()
}

#[test]
fn words_go_through_one_door() {
    let all = rust().into_iter().flat_map(|(path, text)| past_the_door(&path, &text));
    none("doors of words", all.collect());
}

#[test]
fn floors_point_down() {
    let mut complaints = floors("bench", &read("bench/Cargo.toml"));
    for entry in fs::read_dir(root().join("crates")).expect("crates").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        complaints.extend(floors(&name, &read(&format!("crates/{name}/Cargo.toml"))));
    }
    none("floors", complaints);
}

#[test]
fn files_say_what_they_are() {
    none("//!", rust().iter().flat_map(|(path, text)| first_lines(path, text)).collect());
}

#[test]
fn every_profile_is_in_the_list() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../model/profiles");
    let files = std::fs::read_dir(folder).expect("the profiles");
    let mut files: Vec<_> = files.map(|file| file.expect("a file").file_name()).collect();
    files.sort();
    let listed = forebay_model::profile::SHIPPED.iter().map(|(name, _)| format!("{name}.toml"));
    assert_eq!(files, listed.map(std::ffi::OsString::from).collect::<Vec<_>>());
}

#[test]
fn nothing_is_left_unfinished() {
    none("unfinished", rust().iter().flat_map(|(path, text)| unfinished(path, text)).collect());
}

#[test]
fn dropped_results_say_why() {
    // credentials.rs reads back what it changes.
    let below = ["book", "objstore", "os", "packlog", "sharing", "volume"]
        .map(|name| format!("crates/{name}/src/"));
    let files = rust().into_iter().filter(|(path, _)| {
        below.iter().any(|folder| path.starts_with(folder)) && !path.ends_with("src/credentials.rs")
    });
    none("dropped results", files.flat_map(|(path, text)| dropped(&path, &text)).collect());
}

#[test]
fn tables_name_their_entries() {
    let all = sources();
    for (list, folder, defines, named) in TABLES {
        let files: Vec<(String, String)> = all
            .iter()
            .filter_map(|(path, text)| {
                let name = path.strip_prefix(folder)?.strip_prefix('/')?;
                Some((name.strip_suffix(".rs")?.to_owned(), text.clone()))
            })
            .collect();
        let entries = files.iter().filter(|(_, text)| text.contains(defines)).count();
        assert!(entries > 1, "{folder}: no entry has `{defines}`");
        none(list, unlisted(&read(list), &files, defines, named));
    }
}

#[test]
fn no_paths_of_one_machine() {
    none("paths", sources().iter().flat_map(|(path, text)| machine_paths(path, text)).collect());
}

#[test]
fn every_rule_can_fail() {
    let fails = |rule: &str, complaints: Vec<String>| {
        assert!(!complaints.is_empty(), "{rule} finds nothing in a breach");
    };
    fails("floors", floors("model", "[dependencies]\nforebay-volume.workspace = true\n"));
    fails("floors", floors("plan", "[dev-dependencies]\nforebay-volume = \"1\"\n"));
    fails("first lines", first_lines("a.rs", "use std::io;\n"));
    let forgotten = concat!("fn f() {\n    x", ".unwrap();\n}\n");
    fails("unfinished", unfinished("crates/x/src/a.rs", forgotten));
    none("unfinished", unfinished("a.rs", &format!("#[cfg(test)]\nmod tests {{\n{forgotten}}}\n")));
    fails("dropped", dropped("a.rs", "fn f() {\n    let _ = write(x);\n}\n"));
    fails("dropped", dropped("a.rs", "fn f() {\n    write(x).ok();\n}\n"));
    fails("dropped", dropped("a.rs", "// SAFETY: plain.\nunsafe { libc::dup2(1, 2) };\n"));
    none("dropped", dropped("a.rs", "// Nobody reads it.\nlet _ = write(x);\nlet _ = write(y);\n"));
    none("dropped", dropped("a.rs", "let _ = fs::remove_file(x);\nlet a = write(x).ok();\n"));
    let entry = [("ls".to_owned(), "struct Args".to_owned())];
    fails("tables", unlisted("mod run;", &entry, "struct Args", "Args"));
    fails("paths", machine_paths("a.md", concat!("see `/", "work/main`")));
    none("paths", machine_paths("a.md", concat!("see `$PWD/", "work/ab` and ~/", "work/ab")));
    let past = concat!("eprint", "ln!(\"{name}\");\n");
    fails("doors of words", past_the_door("crates/forebay/src/a.rs", past));
}
