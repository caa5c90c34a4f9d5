//! Are we inside a container? Then the outside must hand FUSE in.

use std::path::Path;

use forebay_volume::{fuse, probe};

use super::finding::Finding;
use super::machine_facts::MachineFacts;

/// A kind of container: its name, how it shows, and what to pass so that a run works in it.
struct ContainerKind {
    name: &'static str,
    /// Files that are there.
    files: &'static [&'static str],
    /// Variables that are set.
    variables: &'static [&'static str],
    /// Words in the control groups of the first process, or in its `container` variable.
    words: &'static [&'static str],
    pass: &'static str,
}

/// Kinds, the telling ones first.
const KINDS: [ContainerKind; 6] = [
    ContainerKind {
        name: "Kubernetes",
        files: &["/var/run/secrets/kubernetes.io"],
        variables: &["KUBERNETES_SERVICE_HOST"],
        words: &["kubepods"],
        pass: "a pod with `securityContext: {privileged: true}`, or a device plugin for /dev/fuse",
    },
    ContainerKind {
        name: "Apptainer",
        files: &["/.singularity.d"],
        variables: &["APPTAINER_CONTAINER", "SINGULARITY_CONTAINER"],
        words: &[],
        pass: "run `forebay run -- apptainer exec ...` outside: its containers are children",
    },
    ContainerKind {
        name: "Podman",
        files: &["/run/.containerenv"],
        variables: &[],
        words: &["libpod", "podman"],
        pass: "podman run --device /dev/fuse --cap-add SYS_ADMIN",
    },
    ContainerKind {
        name: "Docker",
        files: &["/.dockerenv"],
        variables: &[],
        words: &["docker"],
        pass: "docker run --device /dev/fuse --cap-add SYS_ADMIN \
               --security-opt apparmor=unconfined",
    },
    ContainerKind {
        name: "LXC",
        files: &["/dev/lxd", "/dev/.lxc"],
        variables: &[],
        words: &["lxc"],
        pass: "lxc config device add NAME fuse unix-char path=/dev/fuse",
    },
    ContainerKind {
        name: "systemd-nspawn",
        files: &[],
        variables: &[],
        words: &["systemd-nspawn", "machine.slice"],
        pass: "systemd-nspawn --bind /dev/fuse --property=DeviceAllow='/dev/fuse rwm'",
    },
];

pub(super) fn run_check(_: &MachineFacts) -> Finding {
    let text = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let words = format!(
        "{}\n{}\n{}",
        text("/proc/1/cgroup"),
        text("/run/systemd/container"),
        std::env::var("container").unwrap_or_default()
    );
    let kind = detect_container(
        |file| Path::new(file).exists(),
        |name| std::env::var_os(name).is_some(),
        &words,
    );
    let open = fuse::open_device().is_ok() && probe::probe_private_mounts().is_ok();
    finding_for(kind, open)
}

fn detect_container(
    file: impl Fn(&str) -> bool,
    variable: impl Fn(&str) -> bool,
    words: &str,
) -> Option<&'static ContainerKind> {
    KINDS.iter().find(|kind| {
        kind.files.iter().any(|path| file(path))
            || kind.variables.iter().any(|name| variable(name))
            || kind.words.iter().any(|word| words.contains(word))
    })
}

fn finding_for(kind: Option<&ContainerKind>, open: bool) -> Finding {
    match kind {
        None => Finding::ok("no sign of one"),
        Some(kind) if open => {
            Finding::ok(format!("inside {}, with all that a run needs", kind.name))
        }
        Some(kind) => Finding::limited(format!("inside {}, which keeps FUSE out", kind.name))
            .fix_by_user(kind.pass),
    }
}

#[cfg(test)]
mod tests {
    //! What to pass differs with the kind of container; a wrong guess sends people in circles.
    use super::super::finding::CheckStatus;
    use super::*;

    #[test]
    fn every_kind_is_found_by_each_of_its_signs() {
        for kind in &KINDS {
            let signs = kind.files.len() + kind.variables.len() + kind.words.len();
            assert!(signs > 0 && !kind.pass.is_empty(), "{}", kind.name);
            for sign in kind.files {
                let found = detect_container(|file| file == *sign, |_| false, "").expect("found");
                assert_eq!(found.name, kind.name);
            }
            for sign in kind.variables {
                let found = detect_container(|_| false, |name| name == *sign, "").expect("found");
                assert_eq!(found.name, kind.name);
            }
            for sign in kind.words {
                let found = detect_container(|_| false, |_| false, &format!("0::/{sign}/x\n"))
                    .expect("found");
                assert_eq!(found.name, kind.name);
            }
        }
        assert!(
            detect_container(|_| false, |_| false, "0::/user.slice/session-1.scope\n").is_none()
        );
    }

    #[test]
    fn a_container_with_fuse_is_fine() {
        assert_eq!(finding_for(Some(&KINDS[3]), true).standing, CheckStatus::Ok);
        let closed = finding_for(Some(&KINDS[3]), false);
        assert!(closed.fixes[0].what.contains("--device /dev/fuse"));
        assert_eq!(finding_for(None, false).standing, CheckStatus::Ok);
    }
}
