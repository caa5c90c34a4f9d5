//! Where Forebay keeps what is this user's and this machine's: records of runs that go on, what
//! volumes in buckets have here, logs of daemons. Never where somebody else could put, or exchange,
//! anything.

use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Once;

use rustix::io::Errno;
use rustix::process::geteuid;

use crate::console;
use crate::exit::{CommandError, NOTHING_RUN};

/// Room that a record needs to begin with.
const RECORD_MIN: u64 = 256 << 10;
/// What owners look like who have no number in this user namespace (user_namespaces(7)).
const UNMAPPED: u32 = 65_534;

/// Directories that may be the state directory, the best first.
fn candidate_directories() -> Vec<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let temporary = std::env::temp_dir();
    let user = geteuid();
    let candidates = [
        variable("XDG_STATE_HOME").map(|dir| dir.join("forebay")),
        variable("HOME").map(|dir| dir.join(".local/state/forebay")),
        user.is_root().then(|| PathBuf::from("/var/lib/forebay")),
        Some(temporary.join(format!("forebay-{}", user.as_raw()))),
        Some(PathBuf::from(format!("/var/tmp/forebay-{}", user.as_raw()))),
    ];
    candidates.into_iter().flatten().filter(|dir| dir.is_absolute()).collect()
}

/// Those of them that nobody else can change, whether they are there or not.
pub(crate) fn safe_directories() -> Vec<PathBuf> {
    candidate_directories().iter().filter_map(|dir| check_ownership(dir).ok()).collect()
}

/// The real path of a directory that is nobody else's, or that nobody else could make first or
/// exchange for another.
fn check_ownership(dir: &Path) -> io::Result<PathBuf> {
    let above = dir.ancestors().find(|above| above.exists()).unwrap_or(Path::new("/"));
    let real = above.canonicalize()?;
    let me = geteuid().as_raw();
    for place in real.ancestors() {
        let meta = place.metadata()?;
        let refuse = |why: String| {
            Err(io::Error::other(format!(
                "{} is not safe: {} {why}",
                dir.display(),
                place.display()
            )))
        };
        let (owner, mode) = (meta.uid(), meta.mode());
        let own = place == real && above == dir;
        let is_safe_owner =
            owner == me || !own && (owner == 0 || owner == UNMAPPED && is_partial());
        if !is_safe_owner {
            return refuse(format!("is user {owner}'s"));
        }
        // A sticky directory's files are renamed by their owners alone.
        let by_group = own || me == 0 && meta.gid() != 0;
        let writers = if by_group { 0o022 } else { 0o002 };
        if mode & writers != 0 && (own || mode & 0o1000 == 0) {
            return refuse("can be written by others".to_owned());
        }
    }
    Ok(real.join(dir.strip_prefix(above).unwrap_or(Path::new(""))))
}

/// Whether only some users have numbers here: that of the others tells nothing.
fn is_partial() -> bool {
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    map.split_whitespace().nth(2).is_some_and(|count| count != "4294967295")
}

/// Where something is kept: in a directory of this machine and this user.
pub(crate) fn state_file(name: &str) -> Result<PathBuf, CommandError> {
    static TOLD: Once = Once::new();
    let mut refused = None;
    for file in candidate_files(name) {
        match file {
            Ok(file) => {
                if let Some(why) = refused {
                    let dir = file.parent().unwrap_or(Path::new("/")).display();
                    TOLD.call_once(|| console::note(&format!("state is kept in {dir}: {why}")));
                }
                return Ok(file);
            }
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    let why = refused.map_or("none is local and writable".to_owned(), |error| error.to_string());
    let message = format!("there is no directory for the record of the run: {why}");
    Err(CommandError::new(
        NOTHING_RUN,
        message,
        "set XDG_STATE_HOME to a local directory that you, and nobody else, may write",
    ))
}

/// All places for it, best first, and why some can't be made or used.
fn candidate_files(name: &str) -> impl Iterator<Item = io::Result<PathBuf>> {
    candidate_directories().into_iter().filter_map(move |dir| {
        let made = check_ownership(&dir).and_then(|real| {
            let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&real);
            made.map_err(|why| io::Error::new(why.kind(), format!("{}: {why}", dir.display())))?;
            check_ownership(&real)
        });
        // SQLite's log needs memory shared between processes, which network storage lacks.
        let is_fit = made.as_ref().map_or(true, |dir| is_local(dir) && is_writable(dir));
        is_fit.then(|| made.map(|dir| dir.join(name)))
    })
}

/// Where the record of a run is written while it lasts: where there is room for it, or at least
/// beside the run file that it becomes. Where there is none, beginning it says why.
pub(crate) fn record_file(name: &str, output: &Path) -> Result<PathBuf, CommandError> {
    let beside = output.parent().and_then(|dir| check_ownership(dir).ok());
    let beside = beside.filter(|dir| is_local(dir) && is_writable(dir));
    let beside = beside.map(|dir| dir.join(format!(".{name}")));
    let mut all = candidate_files(name).flatten().chain(beside);
    let roomy = all.find(|file| file.parent().is_some_and(has_room));
    roomy.map_or_else(|| state_file(name), Ok)
}

/// Whether so much can be written there; a quota is known to those alone who try.
fn has_room(dir: &Path) -> bool {
    use rustix::fs::{CWD, FallocateFlags, Mode, OFlags, fallocate, openat};
    let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
    let tried = openat(CWD, dir, flags, Mode::RUSR | Mode::WUSR)
        .and_then(|file| fallocate(file, FallocateFlags::empty(), 0, RECORD_MIN));
    // Who can't tell is asked by writing.
    !matches!(tried, Err(Errno::NOSPC | Errno::DQUOT | Errno::ROFS))
}

fn is_local(dir: &Path) -> bool {
    std::fs::File::open(dir)
        .ok()
        .and_then(|dir| forebay_os::file_systems::file_system_kind(&dir).ok())
        // A run inside a run writes through the outer one; SQLite works there too.
        .is_some_and(|kind| kind.local || kind.name == "fuse")
}

fn is_writable(dir: &Path) -> bool {
    rustix::fs::access(dir, rustix::fs::Access::WRITE_OK).is_ok()
}

#[cfg(test)]
mod tests {
    //! If these fail, root's files lie where another user put a directory for them.
    use std::fs::{Permissions, create_dir, set_permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn only_what_nobody_else_can_change_is_used() {
        let all = tempfile::tempdir().expect("made");
        let top = all.path().canonicalize().expect("there");
        let mode = |name: &str, mode| {
            set_permissions(top.join(name), Permissions::from_mode(mode)).expect("set");
        };
        assert_eq!(check_ownership(&top.join("a/b")).expect("to be made"), top.join("a/b"));
        create_dir(top.join("a")).and_then(|()| create_dir(top.join("a/b"))).expect("made");
        check_ownership(&top.join("a/b")).expect("this user's");
        std::os::unix::fs::symlink("a", top.join("link")).expect("made");
        assert_eq!(check_ownership(&top.join("link/b/c")).expect("this user's"), top.join("a/b/c"));
        mode("a/b", 0o777);
        assert!(
            check_ownership(&top.join("a/b"))
                .is_err_and(|why| why.to_string().ends_with("by others"))
        );
        mode("a/b", 0o755);
        mode("a", 0o777);
        check_ownership(&top.join("a/b")).expect_err("it can be exchanged");
        mode("a", 0o1777);
        check_ownership(&top.join("a/b")).expect("a sticky directory above");
        mode("a/b", 0o1777);
        check_ownership(&top.join("a/b")).expect_err("others may put files there");
        if geteuid().is_root() {
            mode("a/b", 0o755);
            std::os::unix::fs::chown(top.join("a/b"), Some(1234), None).expect("given");
            let why = check_ownership(&top.join("a/b")).expect_err("another's").to_string();
            assert!(why.ends_with("a/b is user 1234's"), "{why}");
            check_ownership(&top.join("a/b/c")).expect_err("in another's");
        }
    }
}
