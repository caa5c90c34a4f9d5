//! Site and rules as a person gives them, and what became of the files that rules sent away.

mod cache;
mod publish;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use forebay_model::tasks::elsewhere;
use forebay_model::{ByteCount, Reach, Rules, Site};
use forebay_volume::launch::HomecomingTold;
use forebay_volume::tiers::{Trouble, Wanted};

use crate::exit::{NOTHING_RUN, Stop};
use crate::say;
pub(crate) use cache::warmed;

/// Reads site and rules; `None` when no rules are given.
pub(crate) fn load(site: Option<&Path>, rules: Option<&Path>) -> Result<Option<Wanted>, Stop> {
    let Some(rules) = rules else {
        return match site {
            Some(_) => Err(Stop::new(
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
    let wrong = |flaw: forebay_model::Flaw| {
        Stop::new(NOTHING_RUN, flaw.to_string(), "FORMATS.md has all keys; nothing was run")
    };
    let variable = |name: &str| std::env::var(name).ok();
    let source = site.display().to_string();
    let site = Site::parse(&read(&site)?, &source, &variable).map_err(wrong)?;
    let source = rules.display().to_string();
    let rules = Rules::parse(&read(rules)?, &source, &site).map_err(wrong)?;
    Ok(Some(Wanted { site, rules }))
}

/// Refuses a command whose tasks run on other machines, where files on a tier of this node would
/// be missed.
pub(crate) fn check_command(wanted: &Wanted, command: &[OsString]) -> Result<(), Stop> {
    let tier = wanted.rules.tiers().into_iter().filter_map(|id| wanted.site.tier(id));
    let Some(tier) = tier.into_iter().find(|tier| tier.reach == Reach::Node) else { return Ok(()) };
    let words: Vec<Vec<u8>> = command.iter().map(|word| word.as_bytes().to_vec()).collect();
    let Some(what) = elsewhere(&words, &configuration(&words)) else { return Ok(()) };
    Err(Stop::new(
        NOTHING_RUN,
        format!(
            "{what} sends tasks to other machines, and tier {} is on this node alone: they would \
             not find their files",
            tier.id
        ),
        "use a tier with reach = \"shared\", or run without rules, or start Forebay inside each \
         task; nothing was run",
    ))
}

/// What the workflow engines would read: configuration files that the command names, or the usual.
fn configuration(words: &[Vec<u8>]) -> String {
    let named = words.windows(2).filter_map(|pair| {
        let path = PathBuf::from(OsStr::from_bytes(&pair[1]));
        match pair[0].as_slice() {
            b"-c" | b"-C" | b"-config" => Some(path),
            b"--profile" | b"--workflow-profile" => Some(path.join("config.yaml")),
            _ => None,
        }
    });
    let usual = ["nextflow.config", "profiles/default/config.yaml"].map(PathBuf::from);
    let texts = named.chain(usual).filter_map(|path| std::fs::read_to_string(path).ok());
    texts.collect::<Vec<_>>().join("\n")
}

fn read(path: &Path) -> Result<String, Stop> {
    std::fs::read_to_string(path).map_err(|error| {
        let message = format!("{} can't be read: {error}", path.display());
        Stop::new(NOTHING_RUN, message, "nothing was run")
    })
}

/// The site of the project, or of the user.
fn usual_site() -> Result<PathBuf, Stop> {
    let user = std::env::var_os("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".config")))
        .map(|config| config.join("forebay/site.toml"));
    let places = [Some(PathBuf::from(".forebay/site.toml")), user];
    let found = places.iter().flatten().find(|path| path.is_file());
    found.cloned().ok_or_else(|| {
        Stop::new(
            NOTHING_RUN,
            "the rules name tiers, and no site says where they are",
            "give --site FILE (sites/ has examples), or put one at .forebay/site.toml or \
             ~/.config/forebay/site.toml; nothing was run",
        )
    })
}

/// A tier that can't be used, in words.
pub(crate) fn trouble(trouble: &Trouble) -> Stop {
    let missing = trouble.error.kind() == std::io::ErrorKind::NotFound;
    let next = if trouble.error.to_string().starts_with("another run") {
        "wait until it has ended, or run without --rules; nothing was run"
    } else if missing {
        "make the directory, or mount what belongs there, or correct the site; nothing was run"
    } else {
        "correct the site, or choose a directory that you may write; nothing was run"
    };
    Stop::new(NOTHING_RUN, trouble.to_string(), next)
}

/// Says what became of the files that lay on tiers. True if all that belong in place are there.
pub(crate) fn tell(told: &HomecomingTold) -> bool {
    let parts = [
        ("brought home", told.brought),
        ("discarded", told.discarded),
        ("kept on their tier", told.kept),
        ("published", told.published),
    ];
    let done: Vec<String> = parts
        .into_iter()
        .filter(|(_, (files, _))| *files > 0)
        .map(|(what, (files, bytes))| format!("{} {what}", amount(files, bytes)))
        .collect();
    if !done.is_empty() {
        say::note(&done.join(", "));
    }
    if told.spilled.0 > 0 {
        let (files, why) = &told.spilled;
        say::note(&format!("{} stayed in place against the rules: {why}", count(*files)));
    }
    told.cache.iter().for_each(cache::tell);
    if told.nameless > 0 {
        say::note(&format!(
            "{} on tiers without a name in place (moved or removed from outside); `forebay restore \
             {}` finds them",
            count(told.nameless),
            told.directory.display()
        ));
    }
    if told.left.0 > 0 {
        let message = format!(
            "{} could not be brought home (first: {}); they are on their tier, nothing is lost",
            count(told.left.0),
            told.left.1
        );
        let next = format!(
            "make room, or move away what has the name, then `forebay restore {}`",
            told.directory.display()
        );
        say::error(&message, Some(&next));
    }
    publish::tell(told) && told.left.0 == 0
}

fn count(files: u64) -> String {
    if files == 1 { "1 file".to_owned() } else { format!("{files} files") }
}

fn amount(files: u64, bytes: u64) -> String {
    format!("{} ({})", count(files), ByteCount(bytes))
}
