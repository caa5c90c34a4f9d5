//! The rules: which file lives where, decided by its path, and by the name of the task that makes
//! it where a rule says so.
//!
//! They are read from a TOML file that people write (docs/reference/rules.md). What it is not: it moves nothing
//! and knows no file; whoever places files asks [`Rules::placement_for_path`].

mod bucket_rules;
mod cache;
mod file_location;
mod glob;
mod metadata_cache_rules;
mod old_names;
mod packing_rules;
mod publish;
mod rule_values;
mod schema;
mod task;
mod whole_folder;
mod write_back_rules;

use crate::site::{Site, TierId};
use crate::toml::{ConfigError, TomlDocument, TomlTable};
pub use bucket_rules::{BucketRules, FsyncTarget};
pub use cache::{CacheRule, PrefetchMode};
use globset::GlobSet;
use rule_values::{AFTERS, FSYNCS, FULLS, LAYOUTS};
pub use rule_values::{FileLayout, FsyncMode, FullTierPolicy, RunEndAction};
pub use schema::json_schema;
use std::collections::BTreeSet;
pub use whole_folder::WholeFolder;
pub use write_back_rules::WriteBackTrigger;

const KEYS: [&str; 12] = [
    "match",
    "task",
    "home",
    "layout",
    "full",
    "fsync",
    "after",
    "write_back",
    "publish",
    "cache",
    "ahead",
    "whole_folder",
];

/// Forebay's own folder in a managed directory.
const OWN_FOLDER: &str = ".forebay";

/// Where a file lives while the run lasts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileLocation {
    /// In place, as without Forebay.
    Here,
    /// On this tier or pool.
    Tier(TierId),
}

/// What the rules say of one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Where the file lives.
    pub home: FileLocation,
    /// How it lies there.
    pub layout: FileLayout,
    /// What happens when the tier is full.
    pub full: FullTierPolicy,
    /// What an fsync does.
    pub fsync: FsyncMode,
    /// What becomes of it in the end.
    pub after: RunEndAction,
    /// When it becomes what it is to be in the end.
    pub drain: WriteBackTrigger,
    /// The tier to which it is published when the run ends, beside what becomes of it there.
    pub publish: Option<TierId>,
    /// Where reads of a file in place are served from; `None`: from home.
    pub cache: Option<CacheRule>,
    /// The number of the rule that said so, from 1; `None`: no rule matched, so it stays in place.
    pub rule: Option<usize>,
}

/// What the built-in last rule says.
static IN_PLACE: Placement = Placement {
    home: FileLocation::Here,
    layout: FileLayout::Plain,
    full: FullTierPolicy::Spill,
    fsync: FsyncMode::Durable,
    after: RunEndAction::Restore,
    drain: WriteBackTrigger::End,
    publish: None,
    cache: None,
    rule: None,
};

/// The rules of a run, in their order.
#[derive(Clone, Debug)]
pub struct Rules {
    globs: GlobSet,
    /// For each glob the index of its placement. It never falls, so the first glob that matches
    /// is one of the first rule that matches.
    rule_of: Vec<usize>,
    placements: Vec<Placement>,
    /// For each placement the tasks whose files it is for; `None`: all.
    tasks: Vec<Option<GlobSet>>,
    /// Some rule is for some tasks only.
    by_task: bool,
    trust: metadata_cache_rules::MetadataCacheRules,
    whole_folders: Vec<WholeFolder>,
    old_names: Vec<ConfigError>,
}

impl Rules {
    /// No rules: everything stays in place.
    pub fn none() -> Self {
        Self {
            globs: GlobSet::empty(),
            rule_of: Vec::new(),
            placements: Vec::new(),
            tasks: Vec::new(),
            by_task: false,
            trust: metadata_cache_rules::MetadataCacheRules::default(),
            whole_folders: Vec::new(),
            old_names: Vec::new(),
        }
    }

    /// Reads the text of a rules file; `source` is its name in flaws, and its homes are tiers of
    /// `site`.
    pub fn parse(text: &str, source: &str, site: &Site) -> Result<Self, ConfigError> {
        let document = TomlDocument { source, text };
        let mut entries = document.parse()?;
        let old_names = old_names::rename_old_names(&mut entries, document)?;
        let root = document.root_table(&entries);
        root.refuse_file_with_key("tier", "site file: --site takes it, --rules a file of rules")?;
        root.refuse_unknown_keys(&["rule", "metadata_cache"])?;
        let trust = metadata_cache_rules::MetadataCacheRules::from_table(root)?;
        let Some(rules) = root.get("rule") else {
            return Ok(Self { trust, old_names, ..Self::none() });
        };
        let items =
            rules.as_list().ok_or_else(|| rules.wrong_type_error("a list of tables, [[rule]]"))?;
        let (mut globs, mut rule_of, mut placements) = (Vec::new(), Vec::new(), Vec::new());
        let (mut tasks, mut whole_folders) = (Vec::new(), Vec::new());
        for (index, item) in items.into_iter().enumerate() {
            let table = item.as_table()?;
            table.refuse_unknown_keys(&KEYS)?;
            globs.extend(glob::parse_globs(table.get_required("match")?)?);
            rule_of.resize(globs.len(), index);
            let mut placement = parse_placement(table, index + 1, site)?;
            packing_rules::check_one_packed_tier(&placements, &placement, table)?;
            let folders = whole_folder::parse_whole_folders(table, &placement, &whole_folders)?;
            if !folders.is_empty() {
                placement.layout = FileLayout::Whole;
            }
            whole_folders.extend(folders);
            tasks.push(task::parse_task_globs(table, &placement)?);
            placements.push(placement);
        }
        // Each is right by itself; together they may still be too large for one automaton.
        let globs = GlobSet::new(globs).map_err(|error| root.table_error(error.to_string()))?;
        let by_task = tasks.iter().any(Option::is_some);
        Ok(Self { globs, rule_of, placements, tasks, by_task, trust, whole_folders, old_names })
    }

    /// Keys and words of the file that have another name now, with their places.
    pub fn old_names(&self) -> &[ConfigError] {
        &self.old_names
    }

    /// Whether some rule has this to say of fsync.
    pub fn has_fsync_rule(&self, fsync: FsyncMode) -> bool {
        self.placements.iter().any(|placement| placement.fsync == fsync)
    }

    /// The tier or pool that has the packed files, if there are to be any.
    pub fn packed_tier(&self) -> Option<&TierId> {
        packing_rules::packed_tier(&self.placements)
    }

    /// The tiers and pools that some rule makes the home of files.
    pub fn home_tiers(&self) -> BTreeSet<&TierId> {
        let homes = self.placements.iter().map(|placement| &placement.home);
        homes
            .filter_map(|home| if let FileLocation::Tier(id) = home { Some(id) } else { None })
            .collect()
    }
}

fn parse_placement(
    table: TomlTable<'_>,
    number: usize,
    site: &Site,
) -> Result<Placement, ConfigError> {
    bucket_rules::refuse_bucket_fsync(table)?;
    let home = file_location::parse_home(table.get_required("home")?, site)?;
    if home == FileLocation::Here {
        let keys = ["layout", "full", "fsync", "after", "write_back"];
        let unused = keys.into_iter().find_map(|key| table.get(key));
        if let Some(entry) = unused {
            let message = format!("{} is for files on a tier, but home is \"in-place\"", entry.key);
            return Err(entry.key_error(message));
        }
    }
    let (layout, after) =
        (parse_choice(table, "layout", &LAYOUTS)?, parse_choice(table, "after", &AFTERS)?);
    Ok(Placement {
        cache: cache::parse_cache(table, &home, site)?,
        publish: publish::parse_publish(table, &home, site)?,
        home,
        layout,
        full: parse_choice(table, "full", &FULLS)?,
        fsync: parse_choice(table, "fsync", &FSYNCS)?,
        drain: write_back_rules::parse_write_back(table, after)?,
        after,
        rule: Some(number),
    })
}

fn parse_choice<T: Copy + Default>(
    table: TomlTable<'_>,
    key: &str,
    of: &[(&str, T)],
) -> Result<T, ConfigError> {
    table.get(key).map_or(Ok(T::default()), |entry| entry.as_one_of(of))
}

#[cfg(test)]
mod tests;
