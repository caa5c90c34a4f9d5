//! Programs of PostgreSQL on this machine.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::owner::Owner;
use crate::error::{Error, ErrorKind, Result};

/// Where distributions put them, which is in nobody's `PATH`: Debian's and the RPMs of PostgreSQL.
const PLACES: [(&str, &str); 2] = [("/usr/lib/postgresql", ""), ("/usr", "pgsql-")];
/// All of them have to be there.
const PROGRAMS: [&str; 3] = ["initdb", "pg_ctl", "postgres"];

/// A folder that has them.
#[derive(Debug)]
pub(super) struct Binaries(PathBuf);

impl Binaries {
    /// Those that fit data of a major version, else the newest.
    pub(super) fn find(search: &OsStr, version: Option<&str>) -> Result<Binaries> {
        let found: Vec<(String, PathBuf)> = candidates(search)
            .into_iter()
            .filter_map(|folder| Some((version_of(&folder)?, folder)))
            .collect();
        let fits = |(major, _): &&(String, PathBuf)| version.is_none_or(|wanted| wanted == major);
        if let Some((_, folder)) = found.iter().find(fits) {
            return Ok(Binaries(folder.clone()));
        }
        match (version, found.first()) {
            (Some(wanted), Some((other, _))) => Err(Error::new(
                ErrorKind::Refused,
                format!("the book was made by PostgreSQL {wanted}, and here is {other}"),
                format!("install PostgreSQL {wanted}, or bring the data to {other} by pg_upgrade"),
            )),
            _ => Err(Error::new(
                ErrorKind::Refused,
                "no programs of PostgreSQL are in PATH, /usr/lib/postgresql or /usr/pgsql-*",
                "install them (apt-get install postgresql, dnf install postgresql-server), or name \
                 a database that is there already",
            )),
        }
    }

    /// Runs one to its end.
    pub(super) fn run(&self, program: &str, words: &[&OsStr], owner: &Owner) -> Result<()> {
        let output = self.output(program, words, owner)?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let said: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let next = match said.iter().any(|line| line.contains("Permission denied")) {
            true => format!("choose a folder that {owner} can reach"),
            false => "see what it says".to_owned(),
        };
        let message = format!("{program}, as {owner}: {}", said.join("; "));
        Err(Error::new(ErrorKind::Refused, message, next))
    }

    pub(super) fn exit_code(&self, program: &str, words: &[&OsStr], owner: &Owner) -> Result<i32> {
        Ok(self.output(program, words, owner)?.status.code().unwrap_or(-1))
    }

    fn output(&self, program: &str, words: &[&OsStr], owner: &Owner) -> Result<Output> {
        let path = self.0.join(program);
        let mut command = Command::new(&path);
        command.args(words).stdin(Stdio::null()).current_dir("/").env("LC_ALL", "C");
        // Variables of libpq and of other servers of this user are not meant for this one.
        for name in ["PGDATA", "PGPORT", "PGHOST", "PGUSER", "PGDATABASE", "PGOPTIONS"] {
            command.env_remove(name);
        }
        owner.act_as(&mut command);
        command.output().map_err(|error| {
            let message = format!("{} can't be run as {owner}: {error}", path.display());
            Error::new(ErrorKind::Refused, message, "look at its permissions").with_source(error)
        })
    }
}

/// Folders that have all programs, the best first: those of `PATH`, then newer ones before older.
fn candidates(search: &OsStr) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::env::split_paths(search)
        .filter_map(|folder| {
            // A link in a folder of `PATH` leads to where the others are, too.
            let real = folder.join("postgres").canonicalize().ok()?;
            Some(real.parent()?.to_owned())
        })
        .collect();
    for (place, start) in PLACES {
        let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
        let mut versions: Vec<(u32, PathBuf)> = entries
            .filter_map(|entry| {
                let name = entry.file_name();
                let version = name.to_str()?.strip_prefix(start)?.parse().ok()?;
                Some((version, entry.path().join("bin")))
            })
            .collect();
        versions.sort_unstable_by_key(|(version, _)| std::cmp::Reverse(*version));
        found.extend(versions.into_iter().map(|(_, folder)| folder));
    }
    found.retain(|folder| PROGRAMS.iter().all(|program| folder.join(program).is_file()));
    found
}

/// `postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)` has the major version 15.
fn version_of(folder: &Path) -> Option<String> {
    let output = Command::new(folder.join("postgres")).arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (_, rest) = text.split_once("(PostgreSQL) ")?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    (end > 0).then(|| rest[..end].to_owned())
}
