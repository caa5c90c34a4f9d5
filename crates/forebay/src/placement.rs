//! Site and rules as a person gives them, and what became of the files that rules sent away.

mod cache_messages;
mod file_counts;
pub(crate) mod named_sites;
mod placement_report;
mod remote_tasks;

pub(crate) use cache_messages::report_warmed_cache;
pub(crate) use file_counts::count_files;
pub(crate) use placement_report::{report_left_behind, report_unused_rules, report_write_back};
pub(crate) use remote_tasks::{check_command, report_sent_away};

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use forebay_model::run::note_key::capacity_note;
use forebay_model::{ByteCount, Rules, Site};
use forebay_objstore::{BucketSettings, ProfileFile};
use forebay_volume::tiers::{PlacementOptions, TierError};

use crate::exit::{CommandError, NOTHING_RUN};
use crate::{console, state_directories};

/// Reads site and rules; `None` when no rules are given.
pub(crate) fn load_placement(
    site: Option<&Path>,
    rules: Option<&Path>,
) -> Result<Option<PlacementOptions>, CommandError> {
    let Some(rules) = rules else {
        return match site {
            Some(_) => Err(CommandError::new(
                NOTHING_RUN,
                "a site without rules places nothing",
                "add --rules FILE (examples/rules has some), or leave --site out; nothing was run",
            )),
            None => Ok(None),
        };
    };
    let site = match site {
        Some(path) => path.to_owned(),
        None => usual_site()?,
    };
    let (site, rules) = parse_site_and_rules(&site, rules, &read_text(rules)?)?;
    note_old_names(rules.old_names());
    Ok(Some(PlacementOptions {
        site,
        rules,
        settings: bucket_settings(),
        spares: spare_directories(),
    }))
}

/// A site file, and the text of rules that are to be in `rules`.
fn parse_site_and_rules(
    site: &Path,
    rules: &Path,
    text: &str,
) -> Result<(Site, Rules), CommandError> {
    let wrong = |flaw: forebay_model::ConfigError| {
        CommandError::new(
            NOTHING_RUN,
            flaw.to_string(),
            "`forebay manual formats` has all keys; nothing was run",
        )
    };
    let site = self::parse_site(&read_text(site)?, site).map_err(wrong)?;
    let source = rules.display().to_string();
    let rules = Rules::parse(text, &source, &site).map_err(wrong)?;
    Ok((site, rules))
}

/// Says which names in a rules file are old: they are read as the new ones, until they are not.
pub(crate) fn note_old_names(notes: &[forebay_model::ConfigError]) {
    let Some(first) = notes.first() else { return };
    let more = match notes.len() - 1 {
        0 => String::new(),
        more => format!(", and {more} more of its names are old"),
    };
    console::note(&format!("{first}{more}; the next minor version refuses them"));
}

/// What a run would refuse of rules that are not written yet, whatever machine it is on; and tiers
/// that are not on this one.
pub(crate) fn check_rules(site: &Path, rules: &Path, text: &str) -> Result<Vec<String>, String> {
    let (site, rules) = parse_site_and_rules(site, rules, text).map_err(|stop| stop.message)?;
    forebay_volume::tiers::check_tier_paths(&site, &rules)
        .map_err(|trouble| trouble.to_string())?;
    let tiers =
        rules.home_tiers().into_iter().chain(rules.cache_tiers()).filter_map(|id| site.tier(id));
    let missing = tiers.filter_map(|tier| {
        let path = tier.path.as_ref().filter(|path| !path.is_dir())?;
        Some(format!("{} (tier {})", path.display(), tier.id))
    });
    Ok(missing.collect())
}

/// The site in this text; files that it names lie beside its own.
pub(crate) fn parse_site(text: &str, path: &Path) -> Result<Site, forebay_model::ConfigError> {
    let variable = |name: &str| std::env::var(name).ok();
    let beside = |name: &str| {
        let file = path.parent().unwrap_or(Path::new("")).join(name);
        std::fs::read_to_string(file).map_err(|error| error.to_string())
    };
    Site::parse_with_files(text, &path.display().to_string(), &variable, &beside)
}

/// Where spares of books are, or may be: a book says on which tiers files of a directory lie.
pub(crate) fn spare_directories() -> Vec<PathBuf> {
    state_directories::safe_directories().iter().map(|state| state.join("volumes")).collect()
}

/// How much each tier may take, for those who look at the run.
pub(crate) fn capacity_limits(wanted: &PlacementOptions) -> Vec<(String, String)> {
    let limits = wanted.site.tiers().filter_map(|tier| {
        Some(capacity_note(&tier.id.to_string(), ByteCount(tier.capacity?.get())))
    });
    limits.collect()
}

/// How buckets are reached, as AWS's own tools are told.
pub(crate) fn bucket_settings() -> BucketSettings {
    BucketSettings::from_environment(std::env::vars_os(), |file, elsewhere| {
        let name = match file {
            ProfileFile::Credentials => ".aws/credentials",
            ProfileFile::Config => ".aws/config",
        };
        let usual = || Some(PathBuf::from(std::env::var_os("HOME")?).join(name));
        std::fs::read_to_string(elsewhere.map(PathBuf::from).or_else(usual)?).ok()
    })
}

pub(crate) fn read_text(path: &Path) -> Result<String, CommandError> {
    std::fs::read_to_string(path).map_err(|error| {
        let message = format!("{} can't be read: {error}", path.display());
        CommandError::new(NOTHING_RUN, message, "nothing was run")
    })
}

/// The site of the project, of the user or of the machine.
fn usual_site() -> Result<PathBuf, CommandError> {
    let places = named_sites::usual_sites();
    let found = places.iter().find(|path| path.is_file());
    if let Some(path) = found
        && rustix::process::geteuid().is_root()
        && std::fs::symlink_metadata(path).is_ok_and(|meta| meta.uid() != 0)
    {
        let what = format!("{} is another user's, and says where root would write", path.display());
        return Err(CommandError::new(
            NOTHING_RUN,
            what,
            "read it, and give it by --site; nothing was run",
        ));
    }
    found.cloned().ok_or_else(|| {
        CommandError::new(
            NOTHING_RUN,
            "the rules name tiers, and no site says where they are",
            "give --site FILE (sites/ has examples), or put one at .forebay/site.toml, \
             ~/.config/forebay/site.toml or /etc/forebay/site.toml; nothing was run",
        )
    })
}

/// A tier that can't be used, in words.
pub(crate) fn explain_tier_error(trouble: &TierError) -> CommandError {
    let missing = trouble.error.kind() == std::io::ErrorKind::NotFound;
    let why = trouble.error.to_string();
    let next = if why.starts_with("another run") {
        "wait until it has ended, or run without --rules; nothing was run"
    } else if why.starts_with("it is a bucket") {
        "take `home = \"in-place\"` with `publish`: files are copied there when the run has succeeded; \
         or `forebay mount s3://BUCKET/PREFIX DIR`, and run in DIR: all that is in place there \
         goes to the bucket; nothing was run"
    } else if missing {
        "make the directory, or mount what belongs there, or correct the site; nothing was run"
    } else {
        "correct the site, or choose a directory that you may write; nothing was run"
    };
    CommandError::new(NOTHING_RUN, trouble.to_string(), next)
}
