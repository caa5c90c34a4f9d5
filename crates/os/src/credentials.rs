//! Acting as the caller: user, group, supplementary groups, file mode mask and resource rights of
//! a worker thread are those of the process it serves, so that the backing file system decides
//! permissions, ownership and quotas exactly as it would bare.
//!
//! Only the thread changes, through the bare system calls (see setfsuid(2), and "C library/kernel
//! differences" in setgroups(2)); the state is kept, so serving one user costs nothing.

use std::cell::RefCell;
use std::io;
use std::sync::Arc;

use rustix::io::Errno;
use rustix::process::{Uid, geteuid};
use rustix::thread::CapabilitySet;

/// Who asks, as the kernel says it in each request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller {
    /// Thread id, seen from the daemon's pid namespace; 0 when nobody in particular.
    pub pid: u32,
    /// File system user id.
    pub uid: u32,
    /// File system group id.
    pub gid: u32,
}

/// Supplementary groups of a process.
pub type Groups = Arc<[u32]>;

struct Impersonated {
    /// A change went wrong half way: all of it is made again before anything else.
    torn: bool,
    uid: u32,
    gid: u32,
    groups: Option<Groups>,
    umask: Option<u32>,
}

thread_local! {
    static CURRENT: RefCell<Impersonated> = const { RefCell::new(Impersonated { torn: false, uid: 0, gid: 0, groups: None, umask: None }) };
}

/// Whether this daemon can act as others at all.
#[derive(Debug, Clone, Copy)]
pub struct Credentials {
    privileged: bool,
}

impl Credentials {
    /// Looks at what this process may do.
    pub fn new() -> Credentials {
        Credentials { privileged: geteuid() == Uid::ROOT }
    }

    /// Makes this thread act as `caller`; `groups` is asked for only when they matter.
    ///
    /// # Errors
    /// EPERM when this process may not act as them. Nothing may be done for `caller` then: the
    /// thread can still have the rights of whoever it acted as, or the daemon's.
    pub fn impersonate(self, caller: Caller, groups: impl FnOnce() -> Groups) -> Result<(), Errno> {
        if !self.privileged {
            return Ok(());
        }
        CURRENT.with_borrow_mut(|current| {
            let plain = caller.uid == 0;
            let wanted = (!plain).then(groups);
            let same =
                current.uid == caller.uid && current.gid == caller.gid && current.groups == wanted;
            if same && !current.torn {
                return Ok(());
            }
            let all = std::mem::replace(&mut current.torn, true);
            if all || current.groups != wanted {
                set_groups(wanted.as_deref().unwrap_or(&[]))?;
            }
            set_file_system_ids(caller.uid, caller.gid)?;
            if all || plain != (current.uid == 0) {
                limit_resource_right(!plain)?;
            }
            let umask = current.umask;
            *current = Impersonated {
                torn: false,
                uid: caller.uid,
                gid: caller.gid,
                groups: wanted,
                umask,
            };
            Ok(())
        })
    }

    /// Makes this thread the daemon itself again.
    pub fn revert(self) {
        // File system ids go back to those that the process has, which needs no right. Should the
        // groups stay another's, `torn` says so, and the next caller is refused.
        if let Err(error) = self.impersonate(Caller { pid: 0, uid: 0, gid: 0 }, || Arc::from([])) {
            tracing::error!("a thread keeps groups of whom it served last: {error}");
        }
    }

    /// Does something as the daemon itself, and goes on as whoever this thread acted as.
    pub fn run_as_daemon<T>(self, what: impl FnOnce() -> T) -> T {
        let (uid, gid) = impersonated_ids();
        let groups = CURRENT.with_borrow(|current| current.groups.clone());
        self.revert();
        let done = what();
        self.resume_as_user(uid, gid, groups);
        done
    }

    /// Does something with the rights that `uid` and `gid` have in file systems, and goes on as
    /// whoever this thread acted as.
    ///
    /// # Errors
    /// EPERM when this process may not act as them; nothing was done.
    pub fn run_as_user<T>(
        self,
        (uid, gid): (u32, u32),
        what: impl FnOnce() -> T,
    ) -> Result<T, Errno> {
        let (was_uid, was_gid) = impersonated_ids();
        let groups = CURRENT.with_borrow(|current| current.groups.clone());
        let done = self.impersonate(Caller { pid: 0, uid, gid }, || Arc::from([])).map(|()| what());
        self.resume_as_user(was_uid, was_gid, groups);
        done
    }

    fn resume_as_user(self, uid: u32, gid: u32, groups: Option<Groups>) {
        let again = Caller { pid: 0, uid, gid };
        if let Err(error) = self.impersonate(again, || groups.unwrap_or_else(|| Arc::from([]))) {
            // It could a moment ago. What follows would be done for them with root's rights.
            tracing::error!("can't act as user {uid} again ({error}): the daemon ends here");
            std::process::abort();
        }
    }
}

impl Default for Credentials {
    fn default() -> Credentials {
        Credentials::new()
    }
}

/// Whether this process may have the kernel execute programs of its own that look on (bpf(2)).
pub fn may_load_programs() -> bool {
    let Ok(all) = rustix::thread::capabilities(None) else { return false };
    let has = |one| all.effective.contains(one);
    has(CapabilitySet::SYS_ADMIN) || has(CapabilitySet::BPF) && has(CapabilitySet::PERFMON)
}

/// User and group that this thread acts as.
pub fn impersonated_ids() -> (u32, u32) {
    CURRENT.with_borrow(|current| (current.uid, current.gid))
}

/// Sets the mask that applies to files this thread creates.
///
/// # Errors
/// EPERM where a filter of system calls keeps the thread from having a mask of its own: that of all
/// threads would be another request's.
pub fn set_umask(mask: u32) -> Result<(), Errno> {
    CURRENT.with_borrow_mut(|current| {
        if current.umask == Some(mask) {
            return Ok(());
        }
        // SAFETY: plain numbers; CLONE_FS gives this thread a mask of its own, once.
        unsafe {
            if current.umask.is_none() {
                check_syscall(libc::unshare(libc::CLONE_FS).into())?;
            }
            libc::umask(mask);
        }
        current.umask = Some(mask);
        Ok(())
    })
}

/// Rights that a daemon of root's needs, or it would serve some callers as somebody else.
const NEEDED: [(u32, &str); 5] = [
    (0, "CAP_CHOWN"),
    (1, "CAP_DAC_OVERRIDE"),
    (3, "CAP_FOWNER"),
    (6, "CAP_SETGID"),
    (7, "CAP_SETUID"),
];
const CAP_SYS_RESOURCE: u32 = 24;
const LINUX_CAPABILITY_VERSION_3: u32 = 0x2008_0522;

/// Whether this process can act as the users that it is to serve. Not root, it serves one.
///
/// # Errors
/// PermissionDenied with the names of the rights that root lacks here.
pub fn check_capabilities() -> io::Result<()> {
    if geteuid() != Uid::ROOT {
        return Ok(());
    }
    let (_, sets) = thread_capabilities()?;
    let lacks = |bit: u32| sets[0][0] & sets[0][1] & (1 << bit) == 0;
    let missing: Vec<&str> =
        NEEDED.into_iter().filter(|(bit, _)| lacks(*bit)).map(|(_, name)| name).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let why = format!(
        "root lacks {} here, and would serve other users with wrong rights; give the container or \
         service these, or run Forebay as an ordinary user",
        missing.join(", ")
    );
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
}

/// The result of a bare system call.
fn check_syscall(result: libc::c_long) -> Result<(), Errno> {
    match result {
        -1 => Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::PERM)),
        _ => Ok(()),
    }
}

fn set_groups(list: &[u32]) -> Result<(), Errno> {
    // SAFETY: pointer and length of a live slice; this thread alone changes.
    check_syscall(unsafe { libc::syscall(libc::SYS_setgroups, list.len(), list.as_ptr()) })
}

/// These two calls tell what was, and not whether they did anything: an invalid id, which changes
/// nothing, reads back what is (setfsuid(2)).
fn set_file_system_ids(uid: u32, gid: u32) -> Result<(), Errno> {
    let set = |call, id: u32| {
        // SAFETY: plain numbers; this thread alone changes.
        let now = unsafe {
            libc::syscall(call, id);
            libc::syscall(call, u32::MAX)
        };
        if now as u32 == id { Ok(()) } else { Err(Errno::PERM) }
    };
    set(libc::SYS_setfsgid, gid)?;
    set(libc::SYS_setfsuid, uid)
}

/// Header, and sets of this thread: effective, permitted, inheritable; twice 32 bits.
fn thread_capabilities() -> Result<([u32; 2], [[u32; 3]; 2]), Errno> {
    let mut header = [LINUX_CAPABILITY_VERSION_3, 0u32];
    let mut sets = [[0u32; 3]; 2];
    // SAFETY: both arrays have the layout of capget(2) version 3 and outlive the call.
    check_syscall(unsafe {
        libc::syscall(libc::SYS_capget, header.as_mut_ptr(), sets.as_mut_ptr())
    })?;
    Ok((header, sets))
}

/// Takes CAP_SYS_RESOURCE out of (or back into) this thread's effective set: with it, ext4 and XFS
/// would let an ordinary caller exceed quota and reserved blocks.
fn limit_resource_right(limited: bool) -> Result<(), Errno> {
    let (mut header, mut sets) = thread_capabilities()?;
    let bit = 1 << CAP_SYS_RESOURCE;
    sets[0][0] = if limited { sets[0][0] & !bit } else { sets[0][0] | (sets[0][1] & bit) };
    // SAFETY: as for capget(2). The kernel sets all that it was given, or refuses.
    check_syscall(unsafe { libc::syscall(libc::SYS_capset, header.as_mut_ptr(), sets.as_ptr()) })
}

#[cfg(test)]
mod tests;
