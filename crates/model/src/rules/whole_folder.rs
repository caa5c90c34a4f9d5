//! Folders that are on a tier as a whole while a run lasts: the run sees a directory of the tier in
//! their place, at the tier's own speed, and nobody records what happens there.

use std::path::{Path, PathBuf};

use super::{FileLocation, Placement, Rules, RunEndAction};
use crate::site::TierId;
use crate::toml::{ConfigError, TomlEntry, TomlTable};

/// What ends the glob of such a rule.
const ALL_BELOW: &str = "/**";
/// Keys that are for files which Forebay places one by one.
const FOR_SINGLE_FILES: [&str; 7] =
    ["task", "layout", "full", "fsync", "write_back", "cache", "ahead"];

/// A folder that is on a tier as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WholeFolder {
    /// Which, relative to the managed directory.
    pub path: PathBuf,
    /// Where it is while the run lasts.
    pub tier: TierId,
    /// Nothing of it is wanted when the run ends.
    pub is_discarded: bool,
    /// The number of the rule that says so, from 1.
    pub rule: usize,
}

impl Rules {
    /// The folders that are on a tier as a whole, in the order of their rules.
    pub fn whole_folders(&self) -> &[WholeFolder] {
        &self.whole_folders
    }
}

/// The folders of a rule that says `whole_folder = true`; `earlier` are those of rules before.
pub(super) fn parse_whole_folders(
    table: TomlTable<'_>,
    placement: &Placement,
    earlier: &[WholeFolder],
) -> Result<Vec<WholeFolder>, ConfigError> {
    let Some(entry) = table.get("whole_folder") else { return Ok(Vec::new()) };
    if !entry.as_bool()? {
        return Ok(Vec::new());
    }
    let FileLocation::Tier(tier) = &placement.home else {
        return Err(entry.key_error("whole_folder is for a tier, but home is \"in-place\""));
    };
    if let Some(other) = FOR_SINGLE_FILES.into_iter().find_map(|key| table.get(key)) {
        let message = format!(
            "{} is for files that Forebay places one by one: a whole folder is as its tier is",
            other.key
        );
        return Err(other.key_error(message));
    }
    let globs = table.get_required("match")?;
    let globs = globs.as_list().unwrap_or_else(|| vec![globs]);
    let mut folders: Vec<WholeFolder> = Vec::new();
    for glob in globs {
        let path = literal_folder(glob)?;
        let other = earlier
            .iter()
            .chain(&folders)
            .find(|other| path.starts_with(&other.path) || other.path.starts_with(&path));
        if let Some(other) = other {
            let message = format!(
                "{} and {} lie in each other: one whole folder can't hold another",
                path.display(),
                other.path.display()
            );
            return Err(glob.value_error(message));
        }
        folders.push(WholeFolder {
            path,
            tier: tier.clone(),
            is_discarded: placement.after == RunEndAction::Discard && placement.publish.is_none(),
            rule: placement.rule.unwrap_or_default(),
        });
    }
    Ok(folders)
}

/// `work/tmp` of `work/tmp/**`.
fn literal_folder(glob: TomlEntry<'_>) -> Result<PathBuf, ConfigError> {
    let folder = glob.as_text()?.strip_suffix(ALL_BELOW);
    let is_literal = |folder: &&str| !folder.contains(['*', '?', '[', ']', '{', '}', '\\']);
    match folder.filter(is_literal) {
        Some(folder) if folder != super::OWN_FOLDER => Ok(Path::new(folder).to_owned()),
        Some(_) => Err(glob.value_error(".forebay is Forebay's own")),
        None => Err(glob.value_error("a whole folder is named as it is: \"work/tmp/**\"")),
    }
}
