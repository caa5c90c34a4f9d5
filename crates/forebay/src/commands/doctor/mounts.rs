//! `forebay mount`: root mounts directly, others through fusermount3.

use std::path::Path;

use super::finding::Finding;
use super::machine_facts::MachineFacts;

pub(super) fn run_check(_: &MachineFacts) -> Finding {
    let helper = std::env::var_os("PATH").is_some_and(|path| {
        std::env::split_paths(&path).any(|dir| dir.join("fusermount3").exists())
    });
    let settings = std::fs::read_to_string(Path::new("/etc/fuse.conf")).unwrap_or_default();
    finding_for(rustix::process::geteuid().is_root(), helper, &settings)
}

fn finding_for(root: bool, helper: bool, settings: &str) -> Finding {
    if root {
        return Finding::ok("as root, for others too with --allow-other");
    }
    if !helper {
        return Finding::limited("`forebay mount` needs fusermount3; `forebay run` does not")
            .fix_by_admin("apt install fuse3");
    }
    if !settings.lines().any(|line| line.trim() == "user_allow_other") {
        return Finding::limited("for this user alone: not for root's services, such as dockerd")
            .fix_by_admin("echo user_allow_other >> /etc/fuse.conf");
    }
    Finding::ok("for this user, and for others with --allow-root or --allow-other")
}

#[cfg(test)]
mod tests {
    //! People would find out by a mount that fails.
    use super::super::finding::CheckStatus;
    use super::*;

    #[test]
    fn each_need_is_named() {
        assert_eq!(finding_for(true, false, "").standing, CheckStatus::Ok);
        assert_eq!(finding_for(false, false, "user_allow_other").standing, CheckStatus::Limited);
        assert_eq!(finding_for(false, true, "#user_allow_other\n").standing, CheckStatus::Limited);
        assert_eq!(finding_for(false, true, "x\n user_allow_other \n").standing, CheckStatus::Ok);
    }
}
