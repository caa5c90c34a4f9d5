//! Ablation: the first storage again, with one thing changed each time, so that the effect of each is
//! seen beside the same runs.

use std::path::PathBuf;
use std::process::Command;

use serde::{Deserialize, Serialize};

use super::page_cache::PageCacheMode;
use crate::exit::CommandError;

/// What is changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum VariedSetting {
    /// A variable of the environment, and its value; `None`: it is taken away.
    Env(String, Option<String>),
    /// What caches hold.
    Cache(PageCacheMode),
    /// Rules of placement, and the site that they are for, if it is not the usual one.
    Rules(PathBuf, Option<PathBuf>),
}

/// What `--vary` is like, where it is wrong.
pub(super) fn usage_error(message: String) -> CommandError {
    let next = "write --vary NAME=env:VARIABLE=VALUE, NAME=env:VARIABLE (without it), \
                NAME=cache:cold, or NAME=rules:RULES.toml[,SITE.toml]";
    CommandError::new(2, message, next)
}

impl VariedSetting {
    /// Reads what stands after the name.
    pub(super) fn parse(how: &str) -> Result<Self, String> {
        let (kind, what) = how.split_once(':').ok_or("which kind of thing?")?;
        match kind {
            "env" => match what.split_once('=') {
                Some(("", _)) => Err("which variable?".to_owned()),
                Some((name, value)) => Ok(Self::Env(name.to_owned(), Some(value.to_owned()))),
                None if what.is_empty() => Err("which variable?".to_owned()),
                None => Ok(Self::Env(what.to_owned(), None)),
            },
            "cache" => <PageCacheMode as clap::ValueEnum>::from_str(what, false).map(Self::Cache),
            "rules" => {
                let (rules, site) =
                    what.split_once(',').map_or((what, None), |(rules, site)| (rules, Some(site)));
                let file = |name: &str| {
                    let path = PathBuf::from(name);
                    path.canonicalize().map_err(|error| format!("{name}: {error}"))
                };
                Ok(Self::Rules(file(rules)?, site.map(file).transpose()?))
            }
            other => Err(format!("there is no {other:?} to vary")),
        }
    }

    /// Changes the environment of a command, if that is what it changes.
    pub(super) fn apply_to_command(&self, command: &mut Command) {
        match self {
            Self::Env(name, Some(value)) => command.env(name, value),
            Self::Env(name, None) => command.env_remove(name),
            Self::Cache(_) | Self::Rules(..) => command,
        };
    }

    /// In words.
    pub(super) fn in_words(&self) -> String {
        match self {
            Self::Env(name, Some(value)) => format!("with {name}={value:?}"),
            Self::Env(name, None) => format!("without {name}"),
            Self::Cache(cache) => format!("with {}", cache.in_words()),
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
            Ok(VariedSetting::Env(name.to_owned(), value.map(str::to_owned)))
        };
        assert_eq!(VariedSetting::parse("env:LD_LIBRARY_PATH="), env("LD_LIBRARY_PATH", Some("")));
        assert_eq!(VariedSetting::parse("env:A=b=c"), env("A", Some("b=c")));
        assert_eq!(VariedSetting::parse("env:A"), env("A", None));
        assert_eq!(
            VariedSetting::parse("cache:cold"),
            Ok(VariedSetting::Cache(PageCacheMode::Cold))
        );
        for wrong in ["env", "env:", "env:=x", "cache:ice", "rules:no.toml", "disk:fast"] {
            assert!(VariedSetting::parse(wrong).is_err(), "{wrong}");
        }
    }
}
