//! What must not be published over. A daemon of root's may write anywhere on a tier, and whoever may
//! make a file here would do so through it: what is there already is entered or replaced only if it
//! belongs to the same user as what it stands for. And nothing is published among bodies.

use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, Uid, fchown, openat, unlinkat};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::Publisher;
use forebay_os::file_identity::statx_nofollow;

impl Publisher<'_> {
    /// Whether a path is free for what is published: not in `forebay-UID`, where bodies lie.
    ///
    /// # Errors
    /// It is not.
    pub(super) fn check_name_free(&mut self, path: &Path) -> Result<(), Errno> {
        let first = path.iter().next().map_or(&[][..], OsStrExt::as_bytes);
        match first.strip_prefix(b"forebay-") {
            Some(uid) if !uid.is_empty() && uid.iter().all(u8::is_ascii_digit) => {
                Err(self.refuse_publishing("on a tier that name is for Forebay's own files"))
            }
            _ => Ok(()),
        }
    }

    /// Whether a file of `owner` may have this name on the tier.
    ///
    /// # Errors
    /// What has it is another user's; the tier's.
    pub(super) fn check_replaceable(
        &mut self,
        to: usize,
        dir: &OwnedFd,
        name: &CStr,
        owner: u32,
    ) -> Result<(), Errno> {
        match statx_nofollow(dir.as_fd(), name) {
            Ok(there) => self.check_same_owner(to, there.stx_uid, owner),
            Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Whether something of the user `there` may be touched for something of `owner`. Whoever is
    /// not root has the tier's own answer to that.
    ///
    /// # Errors
    /// It may not.
    pub(super) fn check_same_owner(
        &mut self,
        to: usize,
        there: u32,
        owner: u32,
    ) -> Result<(), Errno> {
        if there == owner || !geteuid().is_root() || !self.can_give_files_away(to, there.max(owner))
        {
            return Ok(());
        }
        Err(self.refuse_publishing("what is there belongs to another user"))
    }

    /// Whether root is root on the tier: it can give files away. A server may have made a nobody of
    /// it, whose rights are checked there and to whom all belongs that was published before; other
    /// file systems know no owners.
    fn can_give_files_away(&mut self, to: usize, user: u32) -> bool {
        if let Some(known) = self.mighty[to] {
            return known;
        }
        let passing = self.staging_name(c"");
        let attempt = || {
            let base = self.base_directory(to)?;
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let _ = unlinkat(base, &passing, AtFlags::empty());
            let file = openat(base, &passing, flags, Mode::from_raw_mode(0o600))?;
            let given = fchown(&file, Some(Uid::from_raw(user)), None);
            let owner = statx_nofollow(file.as_fd(), c"").map(|stat| stat.stx_uid);
            let _ = unlinkat(base, &passing, AtFlags::empty());
            Ok(given.is_ok() && owner? == user)
        };
        // If there is no room to try it, root it is, to be on the safe side.
        let known = attempt().unwrap_or_else(|error| !matches!(error, Errno::ACCESS | Errno::PERM));
        self.mighty[to] = Some(known);
        known
    }

    /// Says why, for the file that is just being published.
    fn refuse_publishing(&mut self, why: &'static str) -> Errno {
        self.refusal = Some(why.to_owned());
        Errno::PERM
    }
}
