//! The site: which tiers a machine or a cluster has, where they are, and how much they take.
//!
//! It is read from a TOML file that people write (docs/reference/site.md). What it is not: it looks at no
//! directory and at no environment; whether a path exists is for those to find out who use it.

mod nodes;
mod path;
mod pools;
mod schema;
mod shipped;
mod with;

use crate::toml::{ConfigError, TomlDocument, TomlEntry};
use crate::{ByteCount, StorageProfile};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use crate::reach::REACHES;
pub use crate::reach::Reach;
pub use nodes::Nodes;
pub use schema::json_schema;

const KEYS: [&str; 6] = ["path", "reach", "capacity", "pools", "profile", "price"];

/// What a rule says for "in place": no tier may be called so.
pub(crate) const IN_PLACE: &str = "in-place";
/// The same in rules of before 0.1.
const HERE: &str = "here";

/// Where a variable of the environment comes from: this floor does not look it up.
pub type VariableLookup<'v> = &'v dyn Fn(&str) -> Option<String>;

/// The text of a file that a site names, or why there is none.
type FileLoader<'f> = &'f dyn Fn(&str) -> Result<String, String>;

/// The name of a tier (`scratch`) or of a pool of one (`scratch.temp`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TierId(pub String);

impl TierId {
    /// The plain name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TierId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// A directory where files can live instead of their place, or a pool of one.
#[derive(Clone, Debug, PartialEq)]
pub struct Tier {
    /// The name by which rules call it.
    pub id: TierId,
    /// The directory, absolute. A pool has that of its tier. `None`: a storage that is described,
    /// for plans, and is not at hand.
    pub path: Option<PathBuf>,
    /// The bucket and the prefix in it, as `s3://BUCKET/PREFIX`, instead of a directory.
    pub bucket: Option<String>,
    /// Who can read it directly.
    pub reach: Reach,
    /// The hard bound of what Forebay keeps there; for a tier with pools, of what it keeps outside
    /// of them. `None`: as much as fits.
    pub capacity: Option<ByteCount>,
    /// The tier that this is a pool of.
    pub pool_of: Option<TierId>,
    /// What its storage can do; `None`: nobody has said. A pool has that of its tier.
    pub profile: Option<StorageProfile>,
    /// What it is called in a price sheet, such as `efs.elastic`; `None`: it costs nothing. A pool
    /// has that of its tier.
    pub price: Option<String>,
}

impl Tier {
    /// The tier that this is a pool of, or its own name.
    pub fn whole_tier(&self) -> &TierId {
        self.pool_of.as_ref().unwrap_or(&self.id)
    }
}

/// The tiers of a machine or a cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    tiers: BTreeMap<TierId, Tier>,
    nodes: Option<Nodes>,
}

impl Site {
    /// Reads the text of a site file; `source` is its name in flaws, `variable` gives the values
    /// that stand for `$NAME` (and `$HOME` for `~`) in paths.
    pub fn parse(
        text: &str,
        source: &str,
        variable: VariableLookup<'_>,
    ) -> Result<Self, ConfigError> {
        let unread = |_: &str| Err("there is nothing to read it from".to_owned());
        Self::parse_with_files(text, source, variable, &unread)
    }

    /// The same, where tiers may name a file that describes their storage, as `forebay probe`
    /// writes it; `file` gives its text, or why there is none.
    pub fn parse_with_files(
        text: &str,
        source: &str,
        variable: VariableLookup<'_>,
        file: FileLoader<'_>,
    ) -> Result<Self, ConfigError> {
        let document = TomlDocument { source, text };
        let entries = document.parse()?;
        let root = document.root_table(&entries);
        root.refuse_file_with_key(
            "rule",
            "file of rules: --rules takes it, --site a file of tiers",
        )?;
        root.refuse_unknown_keys(&["tier", "nodes"])?;
        let nodes = root.get("nodes").map(Nodes::from_entry).transpose()?;
        let mut site = Self { tiers: BTreeMap::new(), nodes };
        if let Some(tiers) = root.get("tier") {
            for tier in tiers.as_table()?.entries() {
                site.parse_tier(tier, variable, file)?;
            }
        }
        if site.tiers.is_empty() {
            return Err(
                root.table_error("there is no tier: a site has a table [tier.NAME] for each")
            );
        }
        Ok(site)
    }

    /// A site that nobody wrote down, such as the machine on which a run was measured.
    pub fn from_tiers(tiers: impl IntoIterator<Item = Tier>, nodes: Option<Nodes>) -> Self {
        Self { tiers: tiers.into_iter().map(|tier| (tier.id.clone(), tier)).collect(), nodes }
    }

    /// The tier or pool of this name.
    pub fn tier(&self, id: &TierId) -> Option<&Tier> {
        self.tiers.get(id)
    }

    /// All tiers and pools, by name.
    pub fn tiers(&self) -> impl Iterator<Item = &Tier> {
        self.tiers.values()
    }

    /// Its machines; `None`: the file does not say.
    pub fn nodes(&self) -> Option<&Nodes> {
        self.nodes.as_ref()
    }

    fn parse_tier(
        &mut self,
        entry: TomlEntry<'_>,
        variable: VariableLookup<'_>,
        file: FileLoader<'_>,
    ) -> Result<(), ConfigError> {
        let id = TierId(parse_tier_name(entry)?.to_owned());
        let table = entry.as_table()?;
        table.refuse_unknown_keys(&KEYS)?;
        let profile = table.get("profile");
        let shipped =
            profile.and_then(|entry| shipped::load_named_profile(entry, file)).transpose()?;
        let profile = match &shipped {
            Some(shipped) => Some(shipped.profile.clone()),
            None => {
                profile.map(|entry| StorageProfile::from_table(entry.as_table()?)).transpose()?
            }
        };
        let (path, bucket) = match table.get("path") {
            Some(path) => path::parse_tier_path(path, variable)?,
            None if profile.is_some() => (None, None),
            None => path::parse_tier_path(table.get_required("path")?, variable)?,
        };
        let mut tier = Tier {
            id,
            path,
            bucket,
            reach: match (table.get("reach"), &shipped) {
                (None, Some(shipped)) => shipped.reach,
                _ => table.get_required("reach")?.as_one_of(&REACHES)?,
            },
            capacity: table.get("capacity").map(TomlEntry::as_byte_count).transpose()?,
            pool_of: None,
            profile,
            price: match table.get("price") {
                Some(entry) => Some(entry.as_text()?.to_owned()),
                None => shipped.and_then(|shipped| shipped.price),
            },
        };
        if let Some(pools) = table.get("pools") {
            self.split_into_pools(&mut tier, pools)?;
        }
        self.tiers.insert(tier.id.clone(), tier);
        Ok(())
    }
}

/// The key of a tier or a pool as its name.
fn parse_tier_name(entry: TomlEntry<'_>) -> Result<&str, ConfigError> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-');
    let name = entry.key;
    if name == IN_PLACE || name == HERE {
        let message = format!("{name:?} means the directory itself: a tier needs another name");
        return Err(entry.key_error(message));
    }
    if name.is_empty() || !name.chars().all(fits) {
        let message = format!("a tier can't be called {name:?}: names are of a-z, 0-9, _ and -");
        return Err(entry.key_error(message));
    }
    Ok(name)
}

#[cfg(test)]
mod tests;
