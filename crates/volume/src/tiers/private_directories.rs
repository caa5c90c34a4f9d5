//! Directories that are Forebay's own: made, locked, and never trusted when somebody else made them.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use forebay_os::own_folder::create_own_folder;
use rustix::fs::{CWD, FlockOperation, Mode, OFlags, flock, openat, removexattr};
use rustix::io::Errno;

use super::volume_lock_holder;

const STEP: Duration = Duration::from_millis(20);
/// How long one that was killed is waited for, beside that.
const ENDING: Duration = Duration::from_secs(60);

pub(super) enum DirectoryLock {
    Mine(OwnedFd),
    Busy,
    Foreign,
}

/// The file whose lock is the volume's. A file, not the folder: locks of directories stay in one
/// kernel, while those of files reach the server of a network storage, and through a mount of ours
/// what lies behind it.
pub(super) const LOCK: &str = "lock";

/// Locks the volume that the folder belongs to.
pub(super) fn lock_volume(own: &Path, mut patience: Duration) -> io::Result<DirectoryLock> {
    let mut ending = if patience.is_zero() { patience } else { ENDING };
    let mut is_last_try = patience.is_zero();
    loop {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = match openat(CWD, own, flags, Mode::empty()) {
            // Removed by one that has just ended.
            Err(Errno::NOENT) if !patience.is_zero() => {
                create_own_folder(own)?;
                patience = patience.saturating_sub(STEP);
                continue;
            }
            other => other?,
        };
        if rustix::fs::fstat(&folder)?.st_uid != rustix::process::geteuid().as_raw() {
            return Ok(DirectoryLock::Foreign);
        }
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = match openat(&folder, LOCK, flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => file,
            // Nobody can change anything there, so one lock among those who look is as good.
            Err(Errno::ROFS) => folder,
            Err(Errno::NOENT) if !patience.is_zero() => {
                patience = patience.saturating_sub(STEP);
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        let opened = rustix::fs::fstat(&file)?;
        let locked = flock(&file, FlockOperation::NonBlockingLockExclusive);
        if let Err(error) = locked {
            if error != Errno::WOULDBLOCK {
                // A storage without locks (Lustre without `-o flock`): nobody is kept out there.
                return Err(error.into());
            }
            if patience.is_zero() {
                let is_ending = !ending.is_zero() && volume_lock_holder::is_holder_ending(&file);
                if !is_ending && is_last_try {
                    return Ok(DirectoryLock::Busy);
                }
                // It may have gone while that was looked at.
                is_last_try = !is_ending;
                ending = ending.saturating_sub(STEP);
            }
            std::thread::sleep(STEP);
            patience = patience.saturating_sub(STEP);
            continue;
        }
        // The last user may have removed it between the two.
        let names = [own.join(LOCK), own.to_owned()];
        let now = names.iter().filter_map(|name| fs::symlink_metadata(name).ok());
        if now.map(|meta| meta.ino()).any(|ino| ino == opened.st_ino) {
            return Ok(DirectoryLock::Mine(file));
        }
        create_own_folder(own)?;
    }
}

/// Makes a directory with exactly these permissions, which nothing inherits from above.
pub(super) fn make_directory(path: &Path, mode: u32) -> io::Result<()> {
    match fs::DirBuilder::new().mode(mode).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        other => other?,
    }
    // Most have none.
    let _ = removexattr(path, "system.posix_acl_default");
    // The mask took bits away.
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

/// What somebody else made, or may write, is not to be trusted with files.
pub(super) fn check_owned_exclusively(path: &Path) -> io::Result<()> {
    let meta = fs::symlink_metadata(path)?;
    let mine = meta.is_dir()
        && meta.uid() == rustix::process::geteuid().as_raw()
        && meta.mode() & 0o077 == 0;
    if mine { Ok(()) } else { Err(io::Error::other("it is not this user's alone")) }
}

/// A name that no other room has.
pub(super) fn fresh_name() -> String {
    let mut bytes = [0u8; 8];
    // SAFETY: the buffer is as long as the call is told; 8 bytes are never cut short.
    if unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) } != 8 {
        // A kernel that has it not, or forbids it: no other process has this number at this moment.
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
        let now = (now.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(now.tv_nsec as u64);
        bytes = (now ^ u64::from(std::process::id()) << 40).to_le_bytes();
    }
    format!("{:016x}", u64::from_le_bytes(bytes))
}
