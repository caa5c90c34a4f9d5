//! Private mounts: what hides the cover from everybody else. Root needs a mount namespace, an
//! ordinary user a user namespace around it, which some systems forbid.

use std::path::Path;

use forebay_volume::overmount::NamespaceError;
use forebay_volume::probe;

use super::finding::Finding;
use super::machine_facts::{MachineFacts, read_sysctl};

/// What decides it.
struct NamespaceFacts<'a> {
    root: bool,
    tried: Result<(), NamespaceError>,
    /// kernel.unprivileged_userns_clone (Debian's kernels).
    clone: Option<u64>,
    /// user.max_user_namespaces.
    most: Option<u64>,
    /// kernel.apparmor_restrict_unprivileged_userns (Ubuntu since 23.10).
    apparmor: Option<u64>,
    /// This program.
    program: &'a Path,
}

pub(super) fn run_check(here: &MachineFacts) -> Finding {
    let program = std::env::current_exe().unwrap_or_else(|_| "/usr/local/bin/forebay".into());
    finding_for(&NamespaceFacts {
        root: here.root,
        tried: probe::probe_private_mounts(),
        clone: read_sysctl("kernel/unprivileged_userns_clone"),
        most: read_sysctl("user/max_user_namespaces"),
        apparmor: read_sysctl("kernel/apparmor_restrict_unprivileged_userns"),
        program: &program,
    })
}

fn finding_for(facts: &NamespaceFacts<'_>) -> Finding {
    let closed = match &facts.tried {
        Ok(()) if facts.root => return Finding::ok("root can make them without a user namespace"),
        Ok(()) => return Finding::ok("user namespaces are open to this user"),
        Err(closed) => closed,
    };
    let sysctl = |line: &str| format!("sysctl -w {line} (and the same line in /etc/sysctl.d/)");
    if facts.root {
        return Finding::missing(format!(
            "root may not make them: {}: {}",
            closed.step, closed.error
        ))
        .fix_by_user(
            "in a container: start it with `--cap-add SYS_ADMIN`, or as an ordinary user",
        );
    }
    if facts.clone == Some(0) {
        return Finding::missing(
            "user namespaces are closed: kernel.unprivileged_userns_clone is 0",
        )
        .fix_by_admin(sysctl("kernel.unprivileged_userns_clone=1"));
    }
    if facts.most == Some(0) {
        return Finding::missing("user namespaces are closed: user.max_user_namespaces is 0")
            .fix_by_admin(sysctl("user.max_user_namespaces=15000"));
    }
    if facts.apparmor == Some(1) {
        let program = facts.program.display();
        return Finding::missing(
            "AppArmor closes user namespaces: kernel.apparmor_restrict_unprivileged_userns is 1 \
             (Ubuntu 24.04)",
        )
        .fix_by_admin(format!(
            "echo 'abi <abi/4.0>, profile forebay {program} flags=(unconfined) {{ userns, }}' \
             > /etc/apparmor.d/forebay; apparmor_parser -r /etc/apparmor.d/forebay"
        ))
        .fix_by_admin(sysctl("kernel.apparmor_restrict_unprivileged_userns=0"));
    }
    if closed.error.raw_os_error() == Some(libc::ENOSPC) {
        return Finding::missing("no user namespace is left: user.max_user_namespaces is reached")
            .fix_by_admin(sysctl("user.max_user_namespaces=15000"));
    }
    Finding::missing(format!("they are closed to this user: {}: {}", closed.step, closed.error))
        .fix_by_user("in a container: start it with `--security-opt seccomp=unconfined`")
        .fix_by_admin("allow user namespaces: they are forbidden by seccomp, SELinux or a policy")
}

#[cfg(test)]
mod tests {
    //! The admin gets one line from here; it must be the one for this machine.
    use super::super::finding::{CheckStatus, FixOwner};
    use super::*;

    fn facts(code: Option<i32>) -> NamespaceFacts<'static> {
        let error = |code| NamespaceError {
            step: "making a private mount namespace".into(),
            error: std::io::Error::from_raw_os_error(code),
        };
        NamespaceFacts {
            root: false,
            tried: code.map_or(Ok(()), |code| Err(error(code))),
            clone: None,
            most: Some(96_350),
            apparmor: None,
            program: Path::new("/opt/bin/forebay"),
        }
    }

    #[test]
    fn what_works_is_not_judged_by_settings() {
        let found =
            finding_for(&NamespaceFacts { apparmor: Some(1), clone: Some(0), ..facts(None) });
        assert_eq!(found.standing, CheckStatus::Ok);
        assert_eq!(
            finding_for(&NamespaceFacts { root: true, ..facts(None) }).standing,
            CheckStatus::Ok
        );
    }

    #[test]
    fn names_the_setting_that_closes_them() {
        let cases = [
            (
                NamespaceFacts { apparmor: Some(1), ..facts(Some(libc::EACCES)) },
                "profile forebay /opt/bin",
            ),
            (
                NamespaceFacts { clone: Some(0), ..facts(Some(libc::EPERM)) },
                "unprivileged_userns_clone=1",
            ),
            (
                NamespaceFacts { most: Some(0), ..facts(Some(libc::ENOSPC)) },
                "user.max_user_namespaces=",
            ),
            (facts(Some(libc::ENOSPC)), "user.max_user_namespaces="),
            (facts(Some(libc::EPERM)), "seccomp=unconfined"),
            (NamespaceFacts { root: true, ..facts(Some(libc::EPERM)) }, "--cap-add SYS_ADMIN"),
        ];
        for (facts, fix) in cases {
            let found = finding_for(&facts);
            assert_eq!(found.standing, CheckStatus::Missing);
            assert!(found.fixes[0].what.contains(fix), "{found:?}");
        }
    }

    #[test]
    fn ubuntu_is_mended_by_a_profile_or_a_setting() {
        let found = finding_for(&NamespaceFacts { apparmor: Some(1), ..facts(Some(libc::EACCES)) });
        assert!(found.fixes.iter().all(|fix| fix.who == FixOwner::Admin));
        assert!(found.fixes[1].what.contains("kernel.apparmor_restrict_unprivileged_userns=0"));
    }
}
