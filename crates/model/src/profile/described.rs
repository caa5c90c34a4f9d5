//! A storage in a file of its own: what it can do, who reaches it, what it costs.

use super::StorageProfile;
use crate::reach::{REACHES, Reach};
use crate::toml::{ConfigError, TomlDocument, TomlEntry};

/// A tier without a place: shipped with Forebay, written by hand, or by a probe.
#[derive(Clone, Debug, PartialEq)]
pub struct TierTemplate {
    /// One line for a list.
    pub about: String,
    /// Who can read it directly.
    pub reach: Reach,
    /// What it is called in a price sheet.
    pub price: Option<String>,
    /// What it can do.
    pub profile: StorageProfile,
}

impl TierTemplate {
    /// Reads such a file (docs/formats/tier-file.md); `source` is its name in flaws.
    ///
    /// # Errors
    /// What is wrong, with line and column.
    pub fn parse(text: &str, source: &str) -> Result<Self, ConfigError> {
        let document = TomlDocument { source, text };
        let entries = document.parse()?;
        let root = document.root_table(&entries);
        root.refuse_unknown_keys(&["about", "reach", "price", "profile"])?;
        Ok(Self {
            about: root.get_required("about")?.as_text()?.to_owned(),
            reach: root.get_required("reach")?.as_one_of(&REACHES)?,
            price: root.get("price").map(TomlEntry::as_text).transpose()?.map(str::to_owned),
            profile: StorageProfile::from_table(root.get_required("profile")?.as_table()?)?,
        })
    }
}
