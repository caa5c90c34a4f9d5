//! The rows of a study: a setting, a figure of it, and what the figure should be: a published number,
//! a number of ours, or, where the source has words or a picture, bounds and an order.

use super::{optional_file_name, optional_text, required_text};
use crate::toml::{ConfigError, TomlEntry, TomlTable};
use crate::units::Seconds;

/// Whether a row could have come out otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureRole {
    /// Something was fitted to it.
    Fitted,
    /// Nothing was.
    Predicted,
    /// It was not published: the model alone says it.
    Model,
}

/// What a figure is compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ReferenceFigure {
    /// Nothing.
    Nothing,
    /// What was published.
    Published(f64),
    /// What we measured or counted, and nobody published.
    Ours(f64),
    /// Bounds, where the source has no number.
    Bounds(f64, f64),
    /// The row before: the figure is greater, by more than the tolerance.
    More,
}

/// Where a setting differs from the study's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SettingOverrides {
    /// How many pipelines at once.
    pub pipelines: Option<u32>,
    /// How many nodes.
    pub nodes: Option<u32>,
    /// The policy.
    pub policy: Option<String>,
    /// The time between pipelines.
    pub stagger: Option<Seconds>,
    /// The tier where the project's directory is.
    pub project: Option<String>,
    /// The file of the rules.
    pub rules: Option<String>,
    /// The file of another site.
    pub site: Option<String>,
    /// The file of another workload.
    pub workload: Option<String>,
}

/// One row: a setting, and a figure of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectedFigure {
    /// The figure, such as `hours` or `gib_per_node.llio.temp`.
    pub what: String,
    /// Whether it could have come out otherwise.
    pub role: FigureRole,
    /// What it should be.
    pub against: ReferenceFigure,
    /// How far off it may be, as a part of what it should be.
    pub tolerance: f64,
    /// Where the setting differs from the study's.
    pub setting: SettingOverrides,
    /// The figure is divided by that of the same setting, but for this.
    pub over: Option<SettingOverrides>,
    /// What there is to say.
    pub note: Option<String>,
}

impl ReferenceFigure {
    /// The number that an error is a part of.
    pub fn reference_value(self) -> Option<f64> {
        match self {
            Self::Published(number) | Self::Ours(number) => Some(number),
            Self::Nothing | Self::Bounds(..) | Self::More => None,
        }
    }

    /// Whether a figure is as it should be, after the figure of the row before; `None`: nobody
    /// said how it should be.
    pub fn check_figure(self, figure: f64, before: Option<f64>, tolerance: f64) -> Option<bool> {
        match self {
            Self::Nothing => None,
            Self::Published(number) | Self::Ours(number) => {
                Some((figure / number - 1.0).abs() <= tolerance)
            }
            Self::Bounds(least, most) => Some((least..=most).contains(&figure)),
            Self::More => Some(before.is_some_and(|before| figure > before * (1.0 + tolerance))),
        }
    }
}

impl SettingOverrides {
    const KEYS: [&str; 8] =
        ["pipelines", "nodes", "policy", "stagger", "project", "rules", "site", "workload"];

    fn from_table(table: TomlTable<'_>) -> Result<Self, ConfigError> {
        let whole = |key| table.get(key).map(|entry| entry.as_integer(1, 1 << 16)).transpose();
        Ok(Self {
            pipelines: whole("pipelines")?,
            nodes: whole("nodes")?,
            policy: optional_text(table, "policy")?,
            stagger: table.get("stagger").map(TomlEntry::as_seconds).transpose()?,
            project: optional_text(table, "project")?,
            rules: optional_file_name(table, "rules")?,
            site: optional_file_name(table, "site")?,
            workload: optional_file_name(table, "workload")?,
        })
    }

    /// This setting, and another one where this one says nothing.
    #[must_use]
    pub fn with_defaults(&self, other: &Self) -> Self {
        let (this, other) = (self.clone(), other.clone());
        Self {
            pipelines: this.pipelines.or(other.pipelines),
            nodes: this.nodes.or(other.nodes),
            policy: this.policy.or(other.policy),
            stagger: this.stagger.or(other.stagger),
            project: this.project.or(other.project),
            rules: this.rules.or(other.rules),
            site: this.site.or(other.site),
            workload: this.workload.or(other.workload),
        }
    }
}

/// The keys that say what a figure is compared with.
const AGAINST: [&str; 5] = ["published", "ours", "at_least", "at_most", "more_than_before"];

fn parse_against(
    table: TomlTable<'_>,
    role: TomlEntry<'_>,
    model: bool,
) -> Result<ReferenceFigure, ConfigError> {
    let number =
        |key| table.get(key).map(|entry: TomlEntry<'_>| entry.as_number(0.0, 1e15)).transpose();
    let more = table.get("more_than_before").map(TomlEntry::as_bool).transpose()?.unwrap_or(false);
    let (least, most) = (number("at_least")?, number("at_most")?);
    let bounds = (least.is_some() || most.is_some())
        .then(|| ReferenceFigure::Bounds(least.unwrap_or(0.0), most.unwrap_or(f64::INFINITY)));
    let published = number("published")?.map(ReferenceFigure::Published);
    let ours = number("ours")?.map(ReferenceFigure::Ours);
    let all = [published, ours, bounds, more.then_some(ReferenceFigure::More)];
    let mut given = all.into_iter().flatten();
    match (given.next(), given.next()) {
        (_, Some(_)) => Err(role.value_error("a figure is compared with one thing only")),
        (Some(_), None) if model => Err(role.value_error(WHICH)),
        (None, None) if !model => Err(role.value_error(WHICH)),
        (given, None) => Ok(given.unwrap_or(ReferenceFigure::Nothing)),
    }
}

const WHICH: &str = "a figure is published, or it is \"model\"";

pub(super) fn parse_expected(entry: TomlEntry<'_>) -> Result<ExpectedFigure, ConfigError> {
    let table = entry.as_table()?;
    let own = ["what", "role", "tolerance", "over", "note"];
    table.refuse_unknown_keys(&[&own[..], &AGAINST, &SettingOverrides::KEYS].concat())?;
    let roles = [
        ("fitted", FigureRole::Fitted),
        ("predicted", FigureRole::Predicted),
        ("model", FigureRole::Model),
    ];
    let role = table.get_required("role")?;
    let of = role.as_one_of(&roles)?;
    let over = |entry: TomlEntry<'_>| {
        let table = entry.as_table()?;
        table.refuse_unknown_keys(&SettingOverrides::KEYS)?;
        SettingOverrides::from_table(table)
    };
    Ok(ExpectedFigure {
        what: required_text(table, "what")?,
        role: of,
        against: parse_against(table, role, of == FigureRole::Model)?,
        tolerance: table.get("tolerance").map_or(Ok(0.05), |entry| entry.as_number(0.0, 10.0))?,
        setting: SettingOverrides::from_table(table)?,
        over: table.get("over").map(over).transpose()?,
        note: optional_text(table, "note")?,
    })
}
