//! As whom a private database runs.

use std::fmt;
use std::os::fd::OwnedFd;
use std::os::unix::fs::fchown;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use super::io_error;
use crate::error::{Error, ErrorKind, Result};

/// Users that root runs it as, the best first.
const ORDINARY: [&str; 2] = ["postgres", "nobody"];

/// Whoever runs the database and owns its folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    /// The one who calls.
    Caller,
    /// Another user, because root calls.
    User {
        /// What it is called; a number if nobody knows.
        name: String,
        /// Its number.
        uid: u32,
        /// Its group.
        gid: u32,
    },
}

impl fmt::Display for Owner {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Owner::Caller => to.write_str("you"),
            Owner::User { name, .. } => write!(to, "user {name}"),
        }
    }
}

impl Owner {
    /// Who is to run what is in a folder; root gives its own folder to an ordinary user.
    pub(super) fn of_folder(folder: &Path, open: &OwnedFd) -> Result<Owner> {
        let meta = rustix::fs::fstat(open).map_err(|errno| io_error(folder, errno.into()))?;
        if !rustix::process::geteuid().is_root() {
            let me = rustix::process::geteuid().as_raw();
            return match meta.st_uid == me {
                true => Ok(Owner::Caller),
                false => Err(Error::new(
                    ErrorKind::Refused,
                    format!("{} is user {}'s", folder.display(), meta.st_uid),
                    "choose a folder of yours, or let its owner do this",
                )),
            };
        }
        let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        let users: Vec<(&str, u32, u32)> = users.lines().filter_map(passwd_line).collect();
        if meta.st_uid != 0 {
            let known = users.iter().find(|(_, uid, _)| *uid == meta.st_uid);
            let name = known.map_or_else(|| meta.st_uid.to_string(), |user| user.0.to_owned());
            return Ok(Owner::User { name, uid: meta.st_uid, gid: meta.st_gid });
        }
        let find = |name: &&'static str| users.iter().find(|(user, ..)| user == name);
        let Some((name, uid, gid)) = ORDINARY.iter().find_map(find) else {
            return Err(Error::new(
                ErrorKind::Refused,
                "PostgreSQL does not run as root, and there is no user postgres or nobody",
                "chown the folder to an ordinary user, or be one",
            ));
        };
        let owner = Owner::User { name: (*name).to_owned(), uid: *uid, gid: *gid };
        owner.give(open).map_err(|error| io_error(folder, error))?;
        Ok(owner)
    }

    /// Makes a file theirs.
    pub(super) fn give(&self, file: &OwnedFd) -> std::io::Result<()> {
        match self {
            Owner::Caller => Ok(()),
            Owner::User { uid, gid, .. } => fchown(file, Some(*uid), Some(*gid)),
        }
    }

    /// Lets a command run as them, without groups of root.
    pub(super) fn act_as(&self, command: &mut Command) {
        if let Owner::User { uid, gid, .. } = self {
            command.uid(*uid).gid(*gid);
        }
    }
}

/// Name, user and group of a line of passwd(5).
fn passwd_line(line: &str) -> Option<(&str, u32, u32)> {
    let mut fields = line.split(':');
    let name = fields.next()?;
    let uid = fields.nth(1)?.parse().ok()?;
    Some((name, uid, fields.next()?.parse().ok()?))
}
