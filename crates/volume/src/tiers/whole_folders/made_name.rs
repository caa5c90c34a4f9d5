//! What was made in place for something of a whole folder, a moment ago. The directory may be another
//! user's, who may exchange names in it: what gets an owner, a mode or times is held first, and looked
//! at.

use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{
    AtFlags, CWD, FileType, Gid, Mode, OFlags, Statx, Timestamps, Uid, chmodat, chownat, openat,
    utimensat,
};
use rustix::io::Errno;
use rustix::process::geteuid;
use rustix::time::Timespec;

use super::is_empty;
use forebay_os::file_identity::{proc_fd_path, statx_nofollow};

/// Something that this process made, held.
pub(super) struct MadeName {
    held: OwnedFd,
}

impl MadeName {
    /// Holds what has just been made under a name.
    ///
    /// # Errors
    /// EEXIST: something else has the name by now.
    pub(super) fn hold(above: &OwnedFd, name: &CStr, kind: FileType) -> Result<MadeName, Errno> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let held = openat(above, name, flags, Mode::empty())?;
        let stat = statx_nofollow(held.as_fd(), c"")?;
        let is_new = match kind {
            FileType::Directory => is_empty(&held)?,
            _ => stat.stx_nlink == 1,
        };
        let is_ours = stat.stx_uid == geteuid().as_raw()
            && FileType::from_raw_mode(u32::from(stat.stx_mode)) == kind;
        if is_ours && is_new { Ok(MadeName { held }) } else { Err(Errno::EXIST) }
    }

    /// Gives it the owner and the group of `stat`, as far as that is for this user to do.
    pub(super) fn set_owner(&self, stat: &Statx) -> Result<(), Errno> {
        if !geteuid().is_root() {
            return Ok(());
        }
        let (owner, group) = (Uid::from_raw(stat.stx_uid), Gid::from_raw(stat.stx_gid));
        chownat(&self.held, c"", Some(owner), Some(group), AtFlags::EMPTY_PATH)
    }

    /// Gives it the mode of `stat`. For what is no link.
    pub(super) fn set_mode(&self, stat: &Statx) -> Result<(), Errno> {
        let mode = Mode::from_raw_mode(u32::from(stat.stx_mode) & 0o7777);
        chmodat(CWD, proc_fd_path(self.held.as_fd()), mode, AtFlags::empty())
    }

    /// Gives it the times of `stat`.
    pub(super) fn set_times(&self, stat: &Statx) -> Result<(), Errno> {
        let time = |time: &rustix::fs::StatxTimestamp| Timespec {
            tv_sec: time.tv_sec,
            tv_nsec: i64::from(time.tv_nsec) as _,
        };
        let times = Timestamps {
            last_access: time(&stat.stx_atime),
            last_modification: time(&stat.stx_mtime),
        };
        utimensat(CWD, proc_fd_path(self.held.as_fd()), &times, AtFlags::empty())
    }
}

#[cfg(test)]
mod tests {
    //! If these fail, root gives away files of its own to whoever exchanges names in time.
    use std::fs;
    use std::os::unix::fs::{MetadataExt, symlink};

    use super::*;
    use crate::tiers::whole_folders::LIST;

    #[test]
    fn what_was_exchanged_meanwhile_gets_no_owner() {
        let dir = tempfile::tempdir().expect("made");
        let at = |name: &str| dir.path().join(name);
        let above = openat(CWD, dir.path(), LIST, Mode::empty()).expect("opens");
        symlink("/nowhere", at("link")).expect("linked");
        fs::write(at("file"), "").expect("written");
        fs::create_dir_all(at("full/in")).and_then(|()| fs::create_dir(at("empty"))).expect("made");
        let hold = |name, kind| MadeName::hold(&above, name, kind).map(drop);
        assert_eq!(hold(c"link", FileType::Symlink), Ok(()));
        assert_eq!(hold(c"file", FileType::Symlink), Err(Errno::EXIST), "another kind");
        assert_eq!(hold(c"empty", FileType::Directory), Ok(()));
        assert_eq!(hold(c"full", FileType::Directory), Err(Errno::EXIST), "not made just now");
        fs::hard_link(at("link"), at("other")).expect("linked");
        assert_eq!(hold(c"link", FileType::Symlink), Err(Errno::EXIST), "it has another name");
    }

    #[test]
    fn a_link_gets_its_own_times_and_not_those_of_where_it_leads() {
        let dir = tempfile::tempdir().expect("made");
        let above = openat(CWD, dir.path(), LIST, Mode::empty()).expect("opens");
        fs::write(dir.path().join("file"), "").expect("written");
        symlink("file", dir.path().join("link")).expect("linked");
        let old = statx_nofollow(CWD, c"/proc/self/exe").expect("there");
        let before = fs::metadata(dir.path().join("file")).expect("there");
        let made = MadeName::hold(&above, c"link", FileType::Symlink).expect("held");
        made.set_times(&old).expect("set");
        made.set_owner(&statx_nofollow(above.as_fd(), c"link").expect("there")).expect("its own");
        let (link, file) = (
            fs::symlink_metadata(dir.path().join("link")).expect("there"),
            fs::metadata(dir.path().join("file")).expect("there"),
        );
        assert_eq!(link.mtime(), old.stx_mtime.tv_sec);
        assert_eq!((file.mtime(), file.ctime()), (before.mtime(), before.ctime()));
    }
}
