//! Acting as the caller: user, group, supplementary groups, file mode mask and resource rights of
//! a worker thread are those of the process it serves, so that the backing file system decides
//! permissions, ownership and quotas exactly as it would bare.
//!
//! Only the thread changes, through the bare system calls (see setfsuid(2), and "C library/kernel
//! differences" in setgroups(2)); the state is kept, so serving one user costs nothing.

use std::cell::RefCell;
use std::sync::Arc;

use rustix::process::{Uid, geteuid};

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

struct Worn {
    uid: u32,
    gid: u32,
    groups: Option<Groups>,
    umask: Option<u32>,
}

thread_local! {
    static WORN: RefCell<Worn> = const { RefCell::new(Worn { uid: 0, gid: 0, groups: None, umask: None }) };
}

/// Whether this daemon can act as others at all.
#[derive(Debug, Clone, Copy)]
pub struct Wardrobe {
    privileged: bool,
}

impl Wardrobe {
    /// Looks at what this process may do.
    pub fn new() -> Wardrobe {
        Wardrobe { privileged: geteuid() == Uid::ROOT }
    }

    /// Makes this thread act as `caller`; `groups` is asked for only when they matter.
    pub(crate) fn wear(self, caller: Caller, groups: impl FnOnce() -> Groups) {
        if !self.privileged {
            return;
        }
        WORN.with_borrow_mut(|worn| {
            let plain = caller.uid == 0;
            let wanted = (!plain).then(groups);
            if worn.uid == caller.uid && worn.gid == caller.gid && worn.groups == wanted {
                return;
            }
            // SAFETY: each call takes plain numbers, or a pointer and length of a live slice, and
            // changes this thread alone.
            unsafe {
                if worn.groups != wanted {
                    let list = wanted.as_deref().unwrap_or(&[]);
                    libc::syscall(libc::SYS_setgroups, list.len(), list.as_ptr());
                }
                libc::syscall(libc::SYS_setfsgid, caller.gid);
                libc::syscall(libc::SYS_setfsuid, caller.uid);
                if plain != (worn.uid == 0) {
                    limit_resource_right(!plain);
                }
            }
            *worn = Worn { uid: caller.uid, gid: caller.gid, groups: wanted, umask: worn.umask };
        });
    }

    /// Makes this thread the daemon itself again.
    pub(crate) fn undress(self) {
        self.wear(Caller { pid: 0, uid: 0, gid: 0 }, || Arc::from([]));
    }

    /// Does something as the daemon itself, and goes on as whoever this thread acted as.
    pub(crate) fn undressed<T>(self, what: impl FnOnce() -> T) -> T {
        let (uid, gid) = worn();
        let groups = WORN.with_borrow(|worn| worn.groups.clone());
        self.undress();
        let done = what();
        self.wear(Caller { pid: 0, uid, gid }, || groups.unwrap_or_else(|| Arc::from([])));
        done
    }
}

impl Default for Wardrobe {
    fn default() -> Wardrobe {
        Wardrobe::new()
    }
}

/// User and group that this thread acts as.
pub(crate) fn worn() -> (u32, u32) {
    WORN.with_borrow(|worn| (worn.uid, worn.gid))
}

/// Sets the mask that applies to files this thread creates.
pub(crate) fn set_umask(mask: u32) {
    WORN.with_borrow_mut(|worn| {
        if worn.umask == Some(mask) {
            return;
        }
        // SAFETY: plain numbers; CLONE_FS gives this thread a mask of its own, once.
        unsafe {
            if worn.umask.is_none() {
                libc::unshare(libc::CLONE_FS);
            }
            libc::umask(mask);
        }
        worn.umask = Some(mask);
    });
}

const CAP_SYS_RESOURCE: u32 = 24;
const LINUX_CAPABILITY_VERSION_3: u32 = 0x2008_0522;

/// Takes CAP_SYS_RESOURCE out of (or back into) this thread's effective set: with it, ext4 and XFS
/// would let an ordinary caller exceed quota and reserved blocks.
unsafe fn limit_resource_right(limited: bool) {
    let mut header = [LINUX_CAPABILITY_VERSION_3, 0u32];
    // effective, permitted, inheritable; twice 32 bits.
    let mut sets = [[0u32; 3]; 2];
    // SAFETY: both arrays have the layout of capget(2) version 3 and outlive the calls.
    unsafe {
        if libc::syscall(libc::SYS_capget, header.as_mut_ptr(), sets.as_mut_ptr()) != 0 {
            return;
        }
        let bit = 1 << CAP_SYS_RESOURCE;
        sets[0][0] = if limited { sets[0][0] & !bit } else { sets[0][0] | (sets[0][1] & bit) };
        libc::syscall(libc::SYS_capset, header.as_mut_ptr(), sets.as_ptr());
    }
}
