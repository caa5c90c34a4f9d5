//! Where a directory is now that was opened a while ago: somebody outside may have renamed it, and put
//! another in its place. What belongs to it is reached through its descriptor, never by its path.

use std::ffi::OsStr;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, readlinkat};

use crate::file_identity::{FileIdentity, proc_fd_path, statx_nofollow};

/// Its path now; `then`, by which it was opened, where that still leads to it or nothing does.
pub fn current_path(root: BorrowedFd<'_>, then: &Path) -> PathBuf {
    if path_leads_to(then, root) {
        return then.to_owned();
    }
    let now = readlinkat(CWD, proc_fd_path(root), Vec::new());
    let now = now.map(|path| PathBuf::from(OsStr::from_bytes(path.to_bytes())));
    // Of one that was removed the kernel tells a name that nothing has.
    now.ok().filter(|now| path_leads_to(now, root)).unwrap_or_else(|| then.to_owned())
}

/// The path of what lay at `path`, in or below a directory that was at `then`.
pub fn current_path_below(path: &Path, root: BorrowedFd<'_>, then: &Path) -> Option<PathBuf> {
    Some(current_path(root, then).join(path.strip_prefix(then).ok()?))
}

fn path_leads_to(path: &Path, root: BorrowedFd<'_>) -> bool {
    let Ok(text) = std::ffi::CString::new(path.as_os_str().as_bytes()) else { return false };
    let there = statx_nofollow(CWD, &text).map(|stat| FileIdentity::from_statx(&stat));
    there.is_ok() && there == statx_nofollow(root, c"").map(|stat| FileIdentity::from_statx(&stat))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{Mode, OFlags, openat};
    use std::fs;
    use std::os::fd::AsFd;

    #[test]
    fn a_directory_is_found_where_it_went_and_not_what_is_in_its_place() {
        let all = tempfile::tempdir().expect("made");
        let top = all.path().canonicalize().expect("there");
        let [then, now] = ["then", "now"].map(|name| top.join(name));
        fs::create_dir(&then).expect("made");
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = openat(CWD, &then, flags, Mode::empty()).expect("there");
        assert_eq!(current_path(root.as_fd(), &then), then);
        fs::rename(&then, &now).and_then(|()| fs::create_dir(&then)).expect("moved");
        assert_eq!(current_path(root.as_fd(), &then), now);
        let [file, other] = [then.join("a/b"), top.join("c")];
        assert_eq!(current_path_below(&file, root.as_fd(), &then), Some(now.join("a/b")));
        assert_eq!(current_path_below(&other, root.as_fd(), &then), None);
        fs::remove_dir(&now).expect("removed");
        assert_eq!(current_path(root.as_fd(), &then), then, "it is nowhere");
    }
}
