//! The storages that are compared.

use std::path::PathBuf;

use forebay_model::profile::{SHIPPED, TierTemplate};
use serde::{Deserialize, Serialize};

use super::page_cache::PageCacheMode;
use super::scale::{Scale, ScaleOptions};
use super::vary::{self, VariedSetting};
use crate::commands::mount::emulate;
use crate::exit::CommandError;

/// One storage: a directory, and what it is made to look like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ComparedStorage {
    pub(super) name: String,
    /// Runs get fresh directories in it.
    pub(super) path: PathBuf,
    /// Nothing of Forebay's stands before it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) bare: bool,
    /// As `forebay mount --emulate` takes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) emulated: Option<String>,
    /// What is different there from the first one, if it is that one again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) vary: Option<VariedSetting>,
    /// How often the command is run at once there; `None`: once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) scale: Option<Scale>,
    /// What it costs, by its name in a price sheet. It may change while runs stay the same.
    #[serde(skip)]
    pub(super) price: Option<String>,
    /// In what it is no faster than this machine, though it should be.
    #[serde(skip)]
    pub(super) as_local: Vec<String>,
}

/// The name of the current directory's file system without Forebay in between.
const BARE: &str = "bare";

fn usage_error(message: String) -> CommandError {
    CommandError::new(
        2,
        message,
        "write --on local,ebs-gp3,NAME=DIR, and --emulate NAME=5ms,125MiB/s",
    )
}

/// Reads `--on` and `--emulate`.
pub(super) fn parse_storages(
    on: &[String],
    emulate: &[String],
) -> Result<Vec<ComparedStorage>, CommandError> {
    let here = std::env::current_dir().map_err(|error| {
        CommandError::new(1, format!("the current directory: {error}"), "go elsewhere")
    })?;
    let mut slow =
        emulate.iter().map(|word| parse_emulated(word)).collect::<Result<Vec<_>, _>>()?;
    let mut places: Vec<ComparedStorage> = Vec::new();
    for word in on {
        let (name, path) = match word.split_once('=') {
            Some((name, path)) => (name, Some(PathBuf::from(path))),
            None => (word.as_str(), None),
        };
        check_name(name, &places)?;
        let at = slow.iter().position(|(slow, _)| slow == name);
        let shipped = path.is_none() && TierTemplate::find_builtin(name).is_some();
        let emulated = match at {
            Some(at) => Some(slow.swap_remove(at).1),
            None => shipped.then(|| name.to_owned()),
        };
        let path = match path {
            _ if name == BARE && emulated.is_some() => {
                return Err(usage_error(format!(
                    "{BARE} has nothing in between that could be slow"
                )));
            }
            Some(path) => path,
            None if name == "local" || name == BARE || emulated.is_some() => here.clone(),
            None => {
                let known: Vec<&str> = SHIPPED.iter().map(|(name, _)| *name).collect();
                let message =
                    format!("where is {name}? `local`, `bare` and emulated ones need none");
                return Err(usage_error(format!("{message}: {}", known.join(", "))));
            }
        };
        let path = path.canonicalize().ok().filter(|path| path.is_dir()).ok_or_else(|| {
            let message = format!("{name}: {} is no directory", path.display());
            CommandError::new(2, message, "name one that is there; nothing was run")
        })?;
        let (name, bare) = (name.to_owned(), name == BARE);
        places.push(ComparedStorage {
            name,
            path,
            bare,
            emulated,
            vary: None,
            scale: None,
            price: None,
            as_local: Vec::new(),
        });
    }
    match slow.first() {
        Some((name, _)) => Err(usage_error(format!("--emulate {name}: --on does not name it"))),
        None => Ok(places),
    }
}

/// Adds the first one again for each `--vary`, with what that changes.
pub(super) fn add_varied(
    words: &[String],
    places: &mut Vec<ComparedStorage>,
) -> Result<(), CommandError> {
    for word in words {
        let (name, how) = word
            .split_once('=')
            .ok_or_else(|| vary::usage_error(format!("--vary {word}: what is changed?")))?;
        check_name(name, places)?;
        let change = VariedSetting::parse(how)
            .map_err(|why| vary::usage_error(format!("--vary {word}: {why}")))?;
        let first = &places[0];
        if first.bare && matches!(change, VariedSetting::Rules(..)) {
            return Err(vary::usage_error(format!(
                "--vary {word}: {} has no Forebay that obeys rules",
                first.name
            )));
        }
        let vary = Some(change);
        places.push(ComparedStorage { name: name.to_owned(), vary, ..first.clone() });
    }
    Ok(())
}

/// Has each storage in each size; sizes in their order, so that the first is the smallest.
pub(super) fn add_sizes(
    sizes: &ScaleOptions,
    places: &mut Vec<ComparedStorage>,
) -> Result<(), CommandError> {
    let scales = sizes.all(places.iter().any(|place| place.emulated.is_some()))?;
    if scales.is_empty() {
        return Ok(());
    }
    for place in std::mem::take(places) {
        places.extend(scales.iter().map(|&scale| {
            let name = format!("{}@{}x{}", place.name, scale.nodes, scale.jobs);
            ComparedStorage { name, scale: Some(scale), ..place.clone() }
        }));
    }
    Ok(())
}

/// Can this be the name of another one?
fn check_name(name: &str, places: &[ComparedStorage]) -> Result<(), CommandError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
        return Err(usage_error(format!("{name:?} is no name: letters, digits and -_. make one")));
    }
    if places.iter().any(|place| place.name == name) {
        return Err(usage_error(format!("{name} is named twice")));
    }
    Ok(())
}

impl ComparedStorage {
    /// The storage, whatever the size.
    pub(super) fn storage_name(&self) -> &str {
        let name = self.name.as_str();
        self.scale.and_then(|_| name.rsplit_once('@')).map_or(name, |(name, _)| name)
    }

    /// What is done about caches before its runs; `usual` if it is not what is varied.
    pub(super) fn cache_policy(&self, usual: PageCacheMode) -> PageCacheMode {
        match self.vary {
            Some(VariedSetting::Cache(cache)) => cache,
            _ => usual,
        }
    }
}

fn parse_emulated(word: &str) -> Result<(String, String), CommandError> {
    let (name, how) = word
        .split_once('=')
        .ok_or_else(|| usage_error(format!("--emulate {word}: which of the storages?")))?;
    emulate::parse_profile(how).map_err(|why| usage_error(format!("--emulate {word}: {why}")))?;
    Ok((name.to_owned(), how.to_owned()))
}
