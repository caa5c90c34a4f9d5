//! How much is said, by module: `warn`, or `info,bucket=debug,fuse=off`.

use std::fmt;
use std::str::FromStr;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;

/// Our crates that a daemon consists of. What libraries say of themselves is not for our log: a
/// client of a bucket may tell what it signs.
const OURS: [&str; 7] = [
    "forebay_book",
    "forebay_objstore",
    "forebay_os",
    "forebay_packlog",
    "forebay_peers",
    "forebay_sharing",
    "forebay_volume",
];
/// What people leave out of the name of a module, the first that fits.
const LEFT_OUT: [&str; 2] = ["forebay_volume::", "forebay_"];

/// A module as people know it: `bucket::commit_upload`, `packlog::durability`.
pub(super) fn short_module_name(module: &str) -> &str {
    LEFT_OUT.iter().find_map(|prefix| module.strip_prefix(prefix)).unwrap_or(module)
}

/// The module of a short name, with its crate.
fn full_module_name(module: &str) -> String {
    let first = module.split("::").next().unwrap_or_default();
    if OURS.contains(&first) {
        module.to_owned()
    } else if OURS.iter().any(|ours| short_module_name(ours) == first) {
        format!("forebay_{module}")
    } else {
        format!("forebay_volume::{module}")
    }
}

/// What is said at all.
#[derive(Debug, Clone)]
pub struct LogLevels(pub(super) Targets);

/// Words that are no levels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLevelsError(String);

impl fmt::Display for LogLevelsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is no level: it is off, error, warn, info, debug or trace, or MODULE=LEVEL, several \
             of which have commas between them, such as info,bucket=debug",
            self.0
        )
    }
}

impl std::error::Error for LogLevelsError {}

impl Default for LogLevels {
    /// What goes wrong, and the few things that are worth a line each.
    fn default() -> LogLevels {
        LogLevels(Targets::new().with_targets(OURS.map(|ours| (ours, LevelFilter::INFO))))
    }
}

impl FromStr for LogLevels {
    type Err = LogLevelsError;

    /// The last of what is said of one module counts.
    fn from_str(words: &str) -> Result<LogLevels, LogLevelsError> {
        let mut levels = LogLevels::default();
        for word in words.split(',').map(str::trim) {
            let (module, level) = word.rsplit_once('=').unwrap_or(("", word));
            let level = match level.trim() {
                "" => Err(()),
                level => level.parse::<LevelFilter>().map_err(drop),
            };
            let level = level.map_err(|()| LogLevelsError(word.to_owned()))?;
            levels.0 = match module.trim() {
                "" => levels.0.with_targets(OURS.map(|ours| (ours, level))),
                module => levels.0.with_target(full_module_name(module), level),
            };
        }
        Ok(levels)
    }
}

#[cfg(test)]
mod tests {
    //! If these fail, who asks for more to find a fault gets less, or what a library signs.
    use super::*;
    use tracing::Level;

    #[test]
    fn levels_are_told_by_module() {
        let words = "warn,bucket=debug, fuse::request_threads=off,packlog::durability=trace";
        let levels: LogLevels = words.parse().expect("levels");
        let says = |module: &str, level| levels.0.would_enable(module, &level);
        assert!(says("forebay_volume::tiers", Level::WARN));
        assert!(!says("forebay_volume::tiers", Level::INFO));
        assert!(says("forebay_volume::bucket::commit_upload", Level::DEBUG));
        assert!(!says("forebay_volume::bucket::commit_upload", Level::TRACE));
        assert!(!says("forebay_volume::fuse::request_threads", Level::ERROR));
        assert!(says("forebay_packlog::durability", Level::TRACE));
        assert!(!says("forebay_packlog::log", Level::INFO));
        assert_eq!(short_module_name("forebay_packlog::durability"), "packlog::durability");
        assert_eq!(
            short_module_name("forebay_volume::bucket::commit_upload"),
            "bucket::commit_upload"
        );
        let all: LogLevels = "TRACE".parse().expect("a level");
        assert!(all.0.would_enable("forebay_volume::watch", &Level::TRACE));
        assert!(!all.0.would_enable("object_store::aws", &Level::ERROR), "it is not ours");
    }

    #[test]
    fn each_crate_that_says_something_is_heard() {
        let crates = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
        let mut silent: Vec<String> = Vec::new();
        for folder in std::fs::read_dir(crates).expect("crates").flatten() {
            let manifest = folder.path().join("Cargo.toml");
            let manifest = std::fs::read_to_string(manifest).expect("a manifest");
            let name = format!("forebay_{}", folder.file_name().to_string_lossy());
            let speaks = manifest.lines().any(|line| line.starts_with("tracing."));
            if speaks && !LogLevels::default().0.would_enable(&name, &Level::WARN) {
                silent.push(name);
            }
        }
        assert!(silent.is_empty(), "their warnings reach no log: {silent:?}");
    }

    #[test]
    fn what_is_no_level_is_named() {
        for (words, named) in [("loud", "loud"), ("info,", ""), ("bucket=", "bucket="), ("a", "a")]
        {
            assert_eq!(
                words.parse::<LogLevels>().err(),
                Some(LogLevelsError(named.to_owned())),
                "{words}"
            );
        }
    }
}
