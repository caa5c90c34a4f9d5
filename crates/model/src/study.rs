//! A study: a published experiment as a folder of facts, with what was published beside what the
//! simulation should reproduce (docs/formats/study.md).
//!
//! What it is not: it opens no file and simulates nothing; site, rules and workload are files of
//! their own.

mod expected;

pub use expected::{ExpectedFigure, FigureRole, ReferenceFigure, SettingOverrides};

use crate::toml::{ConfigError, TomlDocument, TomlEntry, TomlTable};
use crate::units::Seconds;

const KEYS: [&str; 13] = [
    "name",
    "source",
    "project",
    "policy",
    "low",
    "stagger",
    "pipelines",
    "rules",
    "prices",
    "fitted",
    "expected",
    "odd",
    "not_reproduced",
];

/// A published experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    /// What people call it.
    pub name: String,
    /// Where it was published.
    pub source: String,
    /// The tier where the project's directory is.
    pub project: String,
    /// The policy, by name.
    pub policy: String,
    /// Kinds of tasks in the queue of low priority.
    pub low: Vec<String>,
    /// From the start of one pipeline to that of the next.
    pub stagger: Seconds,
    /// Pipelines, where a row does not say.
    pub pipelines: u32,
    /// The file of the rules, where a row does not say.
    pub rules: Option<String>,
    /// The file of a price sheet; without it, Forebay's own.
    pub prices: Option<String>,
    /// What was fitted, to which published figure.
    pub fitted: Vec<FittedParameter>,
    /// What should come out.
    pub expected: Vec<ExpectedFigure>,
    /// Where the source contradicts itself, and what is used.
    pub odd: Vec<String>,
    /// What was published and cannot be simulated, and why.
    pub not_reproduced: Vec<String>,
}

/// A number that was chosen so that a published figure comes out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FittedParameter {
    /// What it is.
    pub what: String,
    /// How many numbers it is.
    pub count: u32,
    /// What it came to.
    pub value: String,
    /// The figure.
    pub to: String,
}

impl Study {
    /// How many numbers were fitted.
    pub fn parameter_count(&self) -> u32 {
        self.fitted.iter().map(|fitted| fitted.count).sum()
    }

    /// Reads the text of a study file; `source` is its name in flaws.
    ///
    /// # Errors
    /// The first flaw, with its line and column.
    pub fn parse(text: &str, source: &str) -> Result<Self, ConfigError> {
        let document = TomlDocument { source, text };
        let entries = document.parse()?;
        let root = document.root_table(&entries);
        root.refuse_unknown_keys(&KEYS)?;
        let low = parse_list(root, "low", TomlEntry::as_text)?;
        let odd = parse_list(root, "odd", TomlEntry::as_text)?;
        let not_reproduced = parse_list(root, "not_reproduced", TomlEntry::as_text)?;
        Ok(Self {
            name: required_text(root, "name")?,
            source: required_text(root, "source")?,
            project: required_text(root, "project")?,
            policy: optional_text(root, "policy")?.unwrap_or_else(|| "fifo".to_owned()),
            low: low.into_iter().map(str::to_owned).collect(),
            stagger: root.get("stagger").map_or(Ok(Seconds::ZERO), TomlEntry::as_seconds)?,
            pipelines: root.get("pipelines").map_or(Ok(1), |entry| entry.as_integer(1, 1 << 16))?,
            rules: optional_file_name(root, "rules")?,
            prices: optional_file_name(root, "prices")?,
            fitted: parse_list(root, "fitted", parse_fitted)?,
            expected: parse_list(root, "expected", expected::parse_expected)?,
            odd: odd.into_iter().map(str::to_owned).collect(),
            not_reproduced: not_reproduced.into_iter().map(str::to_owned).collect(),
        })
    }
}

fn required_text(table: TomlTable<'_>, key: &str) -> Result<String, ConfigError> {
    Ok(table.get_required(key)?.as_text()?.to_owned())
}

fn optional_text(table: TomlTable<'_>, key: &str) -> Result<Option<String>, ConfigError> {
    table.get(key).map(|entry| entry.as_text().map(str::to_owned)).transpose()
}

/// A name of a file in the study's folder, and not elsewhere: a study carries all it needs.
fn optional_file_name(table: TomlTable<'_>, key: &str) -> Result<Option<String>, ConfigError> {
    let Some(entry) = table.get(key) else { return Ok(None) };
    let name = entry.as_text()?;
    if name.is_empty() || name.contains('/') || name == ".." {
        return Err(entry.value_error(format!("{key} must be a file in the study's own folder")));
    }
    Ok(Some(name.to_owned()))
}

fn parse_list<'d, T>(
    table: TomlTable<'d>,
    key: &str,
    read: impl Fn(TomlEntry<'d>) -> Result<T, ConfigError>,
) -> Result<Vec<T>, ConfigError> {
    let Some(entry) = table.get(key) else { return Ok(Vec::new()) };
    let items = entry.as_list().ok_or_else(|| entry.wrong_type_error("a list"))?;
    items.into_iter().map(read).collect()
}

fn parse_fitted(entry: TomlEntry<'_>) -> Result<FittedParameter, ConfigError> {
    let table = entry.as_table()?;
    table.refuse_unknown_keys(&["what", "count", "value", "to"])?;
    let count = table.get("count").map_or(Ok(1), |entry| entry.as_integer(1, 1 << 20))?;
    Ok(FittedParameter {
        count,
        what: required_text(table, "what")?,
        value: required_text(table, "value")?,
        to: required_text(table, "to")?,
    })
}

#[cfg(test)]
mod tests;
