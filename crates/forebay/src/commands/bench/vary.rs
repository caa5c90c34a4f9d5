//! Ablation: the first storage again, with one thing changed each time, so that the effect of each is
//! seen beside the same runs.

use std::path::PathBuf;
use std::process::Command;

use serde::{Deserialize, Serialize};

use super::cache::Cache;
use super::places::{self, Place};
use crate::exit::Stop;

/// What is changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Change {
    /// A variable of the environment, and its value; `None`: it is taken away.
    Env(String, Option<String>),
    /// What caches hold.
    Cache(Cache),
    /// Rules of placement, and the site that they are for, if it is not the usual one.
    Rules(PathBuf, Option<PathBuf>),
}

fn wrong(message: String) -> Stop {
    let next = "write --vary NAME=env:VARIABLE=VALUE, NAME=env:VARIABLE (without it), \
                NAME=cache:cold, or NAME=rules:RULES.toml[,SITE.toml]";
    Stop::new(2, message, next)
}

/// Adds the varied ones to the storages.
pub(super) fn add(words: &[String], places: &mut Vec<Place>) -> Result<(), Stop> {
    for word in words {
        let (name, how) = word
            .split_once('=')
            .ok_or_else(|| wrong(format!("--vary {word}: what is changed?")))?;
        places::check_name(name, places)?;
        let change = change(how).map_err(|why| wrong(format!("--vary {word}: {why}")))?;
        let first = &places[0];
        if first.bare && matches!(change, Change::Rules(..)) {
            return Err(wrong(format!(
                "--vary {word}: {} has no Forebay that obeys rules",
                first.name
            )));
        }
        let vary = Some(change);
        places.push(Place { name: name.to_owned(), vary, ..first.clone() });
    }
    Ok(())
}

fn change(how: &str) -> Result<Change, String> {
    let (kind, what) = how.split_once(':').ok_or("which kind of thing?")?;
    match kind {
        "env" => match what.split_once('=') {
            Some(("", _)) => Err("which variable?".to_owned()),
            Some((name, value)) => Ok(Change::Env(name.to_owned(), Some(value.to_owned()))),
            None if what.is_empty() => Err("which variable?".to_owned()),
            None => Ok(Change::Env(what.to_owned(), None)),
        },
        "cache" => <Cache as clap::ValueEnum>::from_str(what, false).map(Change::Cache),
        "rules" => {
            let (rules, site) =
                what.split_once(',').map_or((what, None), |(rules, site)| (rules, Some(site)));
            let file = |name: &str| {
                let path = PathBuf::from(name);
                path.canonicalize().map_err(|error| format!("{name}: {error}"))
            };
            Ok(Change::Rules(file(rules)?, site.map(file).transpose()?))
        }
        other => Err(format!("there is no {other:?} to vary")),
    }
}

impl Change {
    /// Changes the environment of a command, if that is what it changes.
    pub(super) fn apply(&self, command: &mut Command) {
        match self {
            Self::Env(name, Some(value)) => command.env(name, value),
            Self::Env(name, None) => command.env_remove(name),
            Self::Cache(_) | Self::Rules(..) => command,
        };
    }

    /// In words.
    pub(super) fn told(&self) -> String {
        match self {
            Self::Env(name, Some(value)) => format!("with {name}={value:?}"),
            Self::Env(name, None) => format!("without {name}"),
            Self::Cache(cache) => format!("with {}", cache.told()),
            Self::Rules(rules, _) => format!("with the rules of {}", rules.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    //! A misread change is the effect of something else.
    use super::*;

    #[test]
    fn changes_are_read() {
        let env = |name: &str, value: Option<&str>| {
            Ok(Change::Env(name.to_owned(), value.map(str::to_owned)))
        };
        assert_eq!(change("env:LD_LIBRARY_PATH="), env("LD_LIBRARY_PATH", Some("")));
        assert_eq!(change("env:A=b=c"), env("A", Some("b=c")));
        assert_eq!(change("env:A"), env("A", None));
        assert_eq!(change("cache:cold"), Ok(Change::Cache(Cache::Cold)));
        for wrong in ["env", "env:", "env:=x", "cache:ice", "rules:no.toml", "disk:fast"] {
            assert!(change(wrong).is_err(), "{wrong}");
        }
    }
}
