//! What a facility wants of Slurm: storages of its nodes, volumes that jobs need, a queue for what can
//! wait.

use std::path::{Path, PathBuf};

use forebay_model::{Reach, Site, Tier};

use crate::exit::CommandError;
use crate::placement::named_sites::site_file;

/// Options that `print` and `check` have.
#[derive(Debug, clap::Args)]
pub(super) struct SetupOptions {
    /// The site, for the room on its tiers: a file, or a name (`--site lab`)
    #[arg(long, value_name = "SITE", value_parser = site_file())]
    site: Option<PathBuf>,
    /// A mount that must be well on a node before a job begins there; may be repeated
    #[arg(long, value_name = "DIR")]
    mount: Vec<PathBuf>,
    /// Bring files that jobs name (`#FOREBAY warm PATH`) to the nodes before they begin
    #[arg(long)]
    stage_in: bool,
    /// A partition on all nodes whose jobs begin only when no other waits
    #[arg(long, value_name = "PARTITION", value_parser = partition_name)]
    low: Option<String>,
    /// Where slurm.conf is on all nodes [default: the directory of $SLURM_CONF, or /etc/slurm]
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Where Forebay is on all nodes [default: where this one is]
    #[arg(long, value_name = "FILE")]
    forebay: Option<PathBuf>,
}

/// Room on a tier that Slurm counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CountedTier {
    /// The generic resource or licence, as `plan --emit slurm` asks for it.
    pub(super) resource: String,
    /// Its capacity.
    pub(super) mib: u64,
}

/// A directory that a node needs for each user, in parts: before, and behind the user's name.
pub(super) type UserDirectory = (String, String);

/// All that is wanted.
#[derive(Debug, Clone, Default)]
pub(super) struct SlurmSetup {
    /// Tiers of each node's own.
    pub(super) node_tiers: Vec<CountedTier>,
    /// Tiers of all nodes together.
    pub(super) shared_tiers: Vec<CountedTier>,
    /// Directories that the site has for each user on each node.
    pub(super) user_directories: Vec<UserDirectory>,
    /// Volumes that jobs need.
    pub(super) mounts: Vec<PathBuf>,
    pub(super) stage_in: bool,
    pub(super) low: Option<String>,
    pub(super) folder: PathBuf,
    pub(super) forebay: PathBuf,
}

const MIB: u64 = 1 << 20;
/// Stands for the value of a variable that is a job's. It is in no path of anybody's.
const MARK: char = '\u{1}';

impl SlurmSetup {
    /// Reads the site; other options are as they are.
    pub(super) fn from_options(options: &SetupOptions) -> Result<SlurmSetup, CommandError> {
        let usual = || {
            let named = std::env::var_os("SLURM_CONF").map(PathBuf::from);
            named.as_deref().and_then(Path::parent).unwrap_or(Path::new("/etc/slurm")).to_owned()
        };
        let own = || std::env::current_exe().unwrap_or_else(|_| PathBuf::from("/usr/bin/forebay"));
        let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let mut setup = SlurmSetup {
            mounts: options.mount.iter().map(absolute).collect(),
            stage_in: options.stage_in,
            low: options.low.clone(),
            folder: options.folder.as_ref().map_or_else(usual, absolute),
            forebay: options.forebay.as_ref().map_or_else(own, absolute),
            ..SlurmSetup::default()
        };
        if let Some(path) = &options.site {
            let text = std::fs::read_to_string(path).map_err(|error| {
                let what = format!("{} can't be read: {error}", path.display());
                CommandError::new(1, what, "name a site file, or one of /etc/forebay/sites")
            })?;
            setup.add_site(&read_site(&text, path)?);
        }
        Ok(setup)
    }

    fn add_site(&mut self, site: &Site) {
        for tier in site.tiers() {
            if let (Reach::Node, Some(path)) = (tier.reach, &tier.path)
                && let Some(directory) = user_directory(&path.to_string_lossy())
                && !self.user_directories.contains(&directory)
            {
                self.user_directories.push(directory);
            }
            let tiers = match tier.reach {
                Reach::Node => &mut self.node_tiers,
                Reach::Shared => &mut self.shared_tiers,
                Reach::World => continue,
            };
            let Some(mib) = tier.capacity.map(|bytes| bytes.get() / MIB).filter(|mib| *mib > 0)
            else {
                continue;
            };
            let resource = resource_name(tier);
            // A pool is room of its tier beside what is outside of pools.
            match tiers.iter_mut().find(|known| known.resource == resource) {
                Some(known) => known.mib += mib,
                None => tiers.push(CountedTier { resource, mib }),
            }
        }
    }
}

/// The site, with marks for what differs from job to job.
fn read_site(text: &str, path: &Path) -> Result<Site, CommandError> {
    let variable = |name: &str| {
        Some(match name {
            "USER" | "LOGNAME" => format!("{MARK}USER{MARK}"),
            // They begin a path.
            other => format!("/{MARK}{other}{MARK}"),
        })
    };
    let beside = |name: &str| {
        let file = path.parent().unwrap_or(Path::new("")).join(name);
        std::fs::read_to_string(file).map_err(|error| error.to_string())
    };
    Site::parse_with_files(text, &path.display().to_string(), &variable, &beside).map_err(|flaw| {
        CommandError::new(1, flaw.to_string(), "`forebay manual formats` has all keys")
    })
}

/// How `plan --emit slurm` calls a tier.
fn resource_name(tier: &Tier) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = tier.whole_tier().as_str().chars().map(plain).collect();
    format!("forebay_{name}")
}

/// The directory of a path that has the user's name in its own: up to there it is each user's. `None`:
/// it is the same for all, or begins with what only a job knows.
fn user_directory(path: &str) -> Option<UserDirectory> {
    let mark = format!("{MARK}USER{MARK}");
    let (before, behind) = path.split_once(&mark)?;
    let behind = behind.split('/').next().unwrap_or_default();
    (!before.contains(MARK) && !behind.contains(MARK))
        .then(|| (before.to_owned(), behind.to_owned()))
}

/// A name that Slurm takes, and that needs no quotes anywhere.
fn partition_name(word: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    match !word.is_empty() && word.chars().all(plain) && !word.eq_ignore_ascii_case("default") {
        true => Ok(word.to_owned()),
        false => Err("a partition's name has letters, digits, `_`, `-` and `.`".to_owned()),
    }
}

/// A word that a shell takes as it is.
pub(super) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    //! If these fail, Slurm counts other room than plans ask for, or a node's administrator runs a
    //! script that touches a directory of somebody else's.
    use super::*;

    fn of_site(text: &str) -> SlurmSetup {
        let mut setup = SlurmSetup::default();
        setup.add_site(&read_site(text, Path::new("lab.toml")).expect("a site"));
        setup
    }

    #[test]
    fn tiers_of_nodes_and_of_all_are_counted_apart() {
        let setup = of_site(
            "[tier.near-disk]\npath = \"/local/$USER\"\nreach = \"node\"\ncapacity = \"90 MiB\"\n\
             [tier.net]\npath = \"$SCRATCH/x\"\nreach = \"shared\"\ncapacity = \"2 GiB\"\n\
             [tier.some]\npath = \"/some\"\nreach = \"node\"\n",
        );
        let counted = |resource: &str, mib| CountedTier { resource: resource.into(), mib };
        assert_eq!(setup.node_tiers, [counted("forebay_near_disk", 90)]);
        assert_eq!(setup.shared_tiers, [counted("forebay_net", 2048)]);
        assert_eq!(setup.user_directories, [("/local/".to_owned(), String::new())]);
    }

    #[test]
    fn only_the_directory_with_the_users_name_is_the_users() {
        let of = |path: &str| user_directory(&path.replace("$USER", "\u{1}USER\u{1}"));
        assert_eq!(of("/local/$USER/tier"), Some(("/local/".into(), String::new())));
        assert_eq!(of("/local/f-$USER.d/$USER"), Some(("/local/f-".into(), ".d".into())));
        assert_eq!(of("/local/all"), None);
        assert_eq!(of("/\u{1}HOME\u{1}/$USER"), None);
    }

    #[test]
    fn names_of_partitions_can_not_be_more_than_names() {
        assert!(partition_name("low-1.x").is_ok());
        for wrong in ["", "DEFAULT", "a b", "low\nPrologFlags=x", "a,b", "a=b"] {
            assert!(partition_name(wrong).is_err(), "{wrong}");
        }
    }
}
