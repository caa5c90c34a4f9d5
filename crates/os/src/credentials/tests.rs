//! What can't be had is refused, and never remembered as done. Rights belong to a thread, so each
//! case loses them in one of its own; an ordinary user has none to lose.

use super::*;

const SOMEBODY: Caller = Caller { pid: 0, uid: 65534, gid: 65533 };
const CAP_SETGID: u32 = 6;
const CAP_SETUID: u32 = 7;

/// Takes a right away from this thread, for good.
fn lose(bit: u32) {
    let (mut header, mut sets) = thread_capabilities().expect("root may");
    (sets[0][0], sets[0][1]) = (sets[0][0] & !(1 << bit), sets[0][1] & !(1 << bit));
    // SAFETY: as in `limit_resource_right`.
    check_syscall(unsafe { libc::syscall(libc::SYS_capset, header.as_mut_ptr(), sets.as_ptr()) })
        .expect("root may");
}

/// User and group that the kernel has for this thread.
fn file_ids() -> (u32, u32) {
    // SAFETY: an invalid id changes nothing.
    let now = |call| unsafe { libc::syscall(call, u32::MAX) as u32 };
    (now(libc::SYS_setfsuid), now(libc::SYS_setfsgid))
}

fn as_root(what: impl FnOnce() + Send) {
    if geteuid() == Uid::ROOT {
        std::thread::scope(|scope| scope.spawn(what).join().expect("root may"));
    }
}

fn impersonate(caller: Caller) -> Result<(), Errno> {
    Credentials::new().impersonate(caller, || Arc::from([65532]))
}

#[test]
fn each_right_that_is_missing_is_named_at_the_start() {
    as_root(|| check_capabilities().expect("root may"));
    for (bit, name) in NEEDED {
        as_root(|| {
            lose(bit);
            let refused = check_capabilities().expect_err("no right");
            assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
            assert!(refused.to_string().contains(&format!("lacks {name} here")), "{refused}");
        });
    }
}

#[test]
fn a_caller_is_who_the_kernel_says_that_this_thread_is() {
    as_root(|| {
        impersonate(SOMEBODY).expect("root may");
        assert_eq!(file_ids(), (SOMEBODY.uid, SOMEBODY.gid));
        assert_eq!(thread_capabilities().expect("root may").1[0][0] & 1 << CAP_SYS_RESOURCE, 0);
        Credentials::new().revert();
        assert_eq!((file_ids(), impersonated_ids()), ((0, 0), (0, 0)));
    });
}

#[test]
fn who_can_not_become_the_caller_refuses_each_time() {
    for bit in [CAP_SETUID, CAP_SETGID] {
        as_root(|| {
            lose(bit);
            // The second time nothing may be taken for done that was not.
            assert_eq!(impersonate(SOMEBODY), Err(Errno::PERM));
            assert_eq!(impersonate(SOMEBODY), Err(Errno::PERM));
            assert_ne!(impersonated_ids().0, SOMEBODY.uid);
        });
    }
}

#[test]
fn a_right_that_is_lost_meanwhile_refuses_the_next_caller() {
    as_root(|| {
        impersonate(SOMEBODY).expect("root may");
        lose(CAP_SETUID);
        let other = Caller { uid: 65531, ..SOMEBODY };
        assert_eq!(impersonate(other), Err(Errno::PERM));
        assert_eq!(impersonate(other), Err(Errno::PERM));
        // Back to the process's own ids needs no right.
        Credentials::new().revert();
        assert_eq!(file_ids().0, 0);
    });
}
