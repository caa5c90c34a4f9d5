//! A study: a published experiment as a folder of facts, with what was published beside what the
//! simulation should reproduce (FORMATS.md).
//!
//! What it is not: it opens no file and simulates nothing; site, rules and workload are files of
//! their own.

mod values;

use crate::toml::{Document, Entry, Flaw};
use crate::units::Seconds;
use values::{file, list, need, words};

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
    pub fitted: Vec<Fitted>,
    /// What should come out.
    pub expected: Vec<Expected>,
    /// Where the source contradicts itself, and what is used.
    pub odd: Vec<String>,
    /// What was published and cannot be simulated, and why.
    pub not_reproduced: Vec<String>,
}

/// A number that was chosen so that a published figure comes out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fitted {
    /// What it is.
    pub what: String,
    /// How many numbers it is.
    pub count: u32,
    /// What it came to.
    pub value: String,
    /// The figure.
    pub to: String,
}

/// Whether a row could have come out otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Something was fitted to it.
    Fitted,
    /// Nothing was.
    Predicted,
    /// It was not published: the model alone says it.
    Model,
}

/// One row: a setting, and a figure of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// The figure, such as `hours` or `gib_per_node.llio.temp`.
    pub what: String,
    /// Whether it could have come out otherwise.
    pub role: Role,
    /// What was published; `None`: nothing.
    pub published: Option<f64>,
    /// How far off it may be, as a part of what was published.
    pub tolerance: f64,
    /// Where the setting differs from the study's.
    pub pipelines: Option<u32>,
    /// The same.
    pub policy: Option<String>,
    /// The same.
    pub stagger: Option<Seconds>,
    /// The same.
    pub rules: Option<String>,
    /// The file of another site.
    pub site: Option<String>,
    /// The file of another workload: a second experiment, or another idea of the first.
    pub workload: Option<String>,
    /// What there is to say.
    pub note: Option<String>,
}

impl Study {
    /// How many numbers were fitted.
    pub fn parameters(&self) -> u32 {
        self.fitted.iter().map(|fitted| fitted.count).sum()
    }

    /// Reads the text of a study file; `source` is its name in flaws.
    ///
    /// # Errors
    /// The first flaw, with its line and column.
    pub fn parse(text: &str, source: &str) -> Result<Self, Flaw> {
        let document = Document { source, text };
        let entries = document.parse()?;
        let root = document.root(&entries);
        root.only(&KEYS)?;
        let low = list(root, "low", Entry::text)?;
        let odd = list(root, "odd", Entry::text)?;
        let not_reproduced = list(root, "not_reproduced", Entry::text)?;
        Ok(Self {
            name: need(root, "name")?,
            source: need(root, "source")?,
            project: need(root, "project")?,
            policy: words(root, "policy")?.unwrap_or_else(|| "fifo".to_owned()),
            low: low.into_iter().map(str::to_owned).collect(),
            stagger: root.get("stagger").map_or(Ok(Seconds::ZERO), Entry::seconds)?,
            pipelines: root.get("pipelines").map_or(Ok(1), |entry| entry.whole(1, 1 << 16))?,
            rules: file(root, "rules")?,
            prices: file(root, "prices")?,
            fitted: list(root, "fitted", fitted)?,
            expected: list(root, "expected", expected)?,
            odd: odd.into_iter().map(str::to_owned).collect(),
            not_reproduced: not_reproduced.into_iter().map(str::to_owned).collect(),
        })
    }
}

fn fitted(entry: Entry<'_>) -> Result<Fitted, Flaw> {
    let table = entry.table()?;
    table.only(&["what", "count", "value", "to"])?;
    let count = table.get("count").map_or(Ok(1), |entry| entry.whole(1, 1 << 20))?;
    Ok(Fitted {
        count,
        what: need(table, "what")?,
        value: need(table, "value")?,
        to: need(table, "to")?,
    })
}

fn expected(entry: Entry<'_>) -> Result<Expected, Flaw> {
    let table = entry.table()?;
    table.only(&[
        "what",
        "role",
        "published",
        "tolerance",
        "pipelines",
        "policy",
        "stagger",
        "rules",
        "site",
        "workload",
        "note",
    ])?;
    let roles = [("fitted", Role::Fitted), ("predicted", Role::Predicted), ("model", Role::Model)];
    let published = table.get("published").map(|entry| entry.number(0.0, 1e15)).transpose()?;
    let role = table.need("role")?;
    let of = role.word(&roles)?;
    if (of == Role::Model) != published.is_none() {
        return Err(role.flaw("a figure is published, or it is \"model\""));
    }
    Ok(Expected {
        what: need(table, "what")?,
        role: of,
        published,
        tolerance: table.get("tolerance").map_or(Ok(0.05), |entry| entry.number(0.0, 10.0))?,
        pipelines: table.get("pipelines").map(|entry| entry.whole(1, 1 << 16)).transpose()?,
        policy: words(table, "policy")?,
        stagger: table.get("stagger").map(Entry::seconds).transpose()?,
        rules: file(table, "rules")?,
        site: file(table, "site")?,
        workload: file(table, "workload")?,
        note: words(table, "note")?,
    })
}

#[cfg(test)]
mod tests;
