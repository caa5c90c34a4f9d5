//! Paths through directories that other users may change. Root follows no link that another user
//! made, and what was resolved once is opened without following any: whoever exchanges a directory
//! for a link meanwhile makes root fail, and leads it nowhere (symlink(7), openat(2)).

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, fstat, mkdirat, openat, readlinkat};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::own_folder::OWN;

/// As many links as the kernel follows (path_resolution(7)).
const LINKS_MAX: usize = 40;

const PLACE: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const DIRECTORY: OFlags = PLACE.union(OFlags::DIRECTORY);

/// The path without links, `.` and `..`.
///
/// # Errors
/// The system's; for root, a link that another user made is in it.
pub fn resolve_path(path: &Path) -> io::Result<PathBuf> {
    match geteuid().is_root() {
        true => resolve_path_as_user(path, 0),
        false => path.canonicalize(),
    }
}

fn resolve_path_as_user(path: &Path, user: u32) -> io::Result<PathBuf> {
    let absolute = std::path::absolute(path)?;
    let mut real = PathBuf::from("/");
    let mut rest = path_components_reversed(&absolute);
    let mut links = 0;
    while let Some(step) = rest.pop() {
        if step == ".." {
            real.pop();
            continue;
        }
        let next = real.join(&step);
        let place = openat(CWD, &next, PLACE, Mode::empty())?;
        let stat = fstat(&place)?;
        if stat.st_mode & libc::S_IFMT != libc::S_IFLNK {
            real = next;
            continue;
        }
        if ![0, user].contains(&stat.st_uid) {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                format!(
                    "{} is a link that user {} made, and root follows no links of others; name the \
                     directory itself",
                    next.display(),
                    stat.st_uid
                ),
            ));
        }
        links += 1;
        if links > LINKS_MAX {
            return Err(Errno::LOOP.into());
        }
        let to = readlinkat(&place, c"", Vec::new())?;
        let to = PathBuf::from(OsString::from_vec(to.into_bytes()));
        if to.is_absolute() {
            real = PathBuf::from("/");
        }
        rest.extend(path_components_reversed(&to));
    }
    Ok(real)
}

/// The names in a path, the last one first.
fn path_components_reversed(path: &Path) -> Vec<OsString> {
    let names = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        _ => None,
    });
    let mut names: Vec<_> = names.collect();
    names.reverse();
    names
}

/// Opens (`O_PATH`) a directory by a path that has no links: one that is there now is refused.
///
/// # Errors
/// The system's; ENOTDIR where a link is in the path.
pub fn open_resolved_directory(path: &Path) -> io::Result<OwnedFd> {
    let mut place = openat(CWD, "/", DIRECTORY, Mode::empty())?;
    for name in path_components_reversed(path).iter().rev() {
        place = openat(&place, name, DIRECTORY, Mode::empty())?;
    }
    Ok(place)
}

/// Makes, where it is not there, and opens (`O_PATH`) a directory of Forebay's own in another, which
/// may be another user's.
///
/// # Errors
/// The system's; a link is in its place; for root, another user made it.
pub fn ensure_directory(parent: &OwnedFd, name: &OsStr) -> io::Result<OwnedFd> {
    match mkdirat(parent, name, Mode::from_raw_mode(0o777)) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    let own = match openat(parent, name, DIRECTORY, Mode::empty()) {
        Err(Errno::NOTDIR | Errno::LOOP) => {
            return Err(io::Error::other(format!("{} is no directory", name.display())));
        }
        other => other?,
    };
    let user = fstat(&own)?.st_uid;
    if geteuid().is_root() && user != 0 {
        let why = format!("the directory {} there is user {user}'s, not root's", name.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    Ok(own)
}

/// Opens (`O_PATH`) Forebay's own folder in a directory, which may be another user's; makes it where it
/// is not there.
///
/// # Errors
/// The system's; a link is in its place; for root, another user made it.
pub fn ensure_own_folder(directory: &Path) -> io::Result<OwnedFd> {
    ensure_directory(&open_resolved_directory(directory)?, OsStr::new(OWN))
}

#[cfg(test)]
mod tests {
    //! If these fail, root mounts, reads or writes where another user wants it.
    use std::os::unix::fs::{lchown, symlink};

    use super::*;

    #[test]
    fn links_lead_where_they_lead_and_those_of_others_nowhere() {
        let all = tempfile::tempdir().expect("made");
        let top = all.path().canonicalize().expect("there");
        std::fs::create_dir_all(top.join("a/b")).expect("made");
        symlink("b/../b", top.join("a/mine")).expect("made");
        symlink(top.join("a/mine"), top.join("far")).expect("made");
        symlink("loop", top.join("loop")).expect("made");
        let me = geteuid().as_raw();
        let resolved = |path: &str| resolve_path_as_user(&top.join(path), me);
        assert_eq!(resolved("far/./../b").expect("there"), top.join("a/b"));
        assert_eq!(resolved("far").expect("there"), top.join("far").canonicalize().expect("there"));
        assert_eq!(resolved("loop").expect_err("no end").raw_os_error(), Some(libc::ELOOP));
        assert!(resolved("none").is_err() && resolved("a/b/none/..").is_err());
        open_resolved_directory(&top.join("a/b")).expect("no link");
        open_resolved_directory(&top.join("far")).expect_err("a link");
        open_resolved_directory(&top.join("far/b")).expect_err("a link on the way");
        if me == 0 {
            lchown(top.join("a/mine"), Some(1234), None).expect("given");
            let refused = resolved("far").expect_err("another's").to_string();
            assert!(refused.contains("a/mine is a link that user 1234 made"), "{refused}");
        }
    }

    #[test]
    fn a_folder_of_our_own_is_never_one_behind_a_link_or_of_others() {
        let all = tempfile::tempdir().expect("made");
        let top =
            open_resolved_directory(&all.path().canonicalize().expect("there")).expect("there");
        ensure_directory(&top, OsStr::new("own")).expect("made");
        ensure_directory(&top, OsStr::new("own")).expect("there");
        symlink("own", all.path().join("link")).expect("made");
        ensure_directory(&top, OsStr::new("link")).expect_err("a link");
        std::fs::write(all.path().join("file"), "").expect("written");
        ensure_directory(&top, OsStr::new("file")).expect_err("a file");
        if geteuid().is_root() {
            std::fs::create_dir(all.path().join("theirs")).expect("made");
            lchown(all.path().join("theirs"), Some(1234), None).expect("given");
            ensure_directory(&top, OsStr::new("theirs")).expect_err("another's");
        }
    }
}
