//! Container runtimes: those that start containers as children are seen, those that ask a daemon
//! are not.

use super::finding::Finding;
use super::machine_facts::{MachineFacts, find_on_path};

/// Runtimes whose containers are children of the caller.
const CHILDREN: [&str; 5] = ["apptainer", "singularity", "podman", "ch-run", "udocker"];
/// Runtimes that send the work to a daemon.
const DAEMONS: [&str; 3] = ["docker", "nerdctl", "shifter"];

pub(super) fn run_check(_: &MachineFacts) -> Finding {
    finding_for(&find_on_path(&CHILDREN), &find_on_path(&DAEMONS))
}

fn finding_for(children: &[&str], daemons: &[&str]) -> Finding {
    let seen = children.join(", ");
    match (children.is_empty(), daemons.is_empty()) {
        (true, true) => Finding::ok("none on PATH"),
        (false, true) => Finding::ok(format!("{seen}: containers are children and are seen")),
        (_, false) => {
            let unseen = daemons.join(", ");
            let found = Finding::limited(format!(
                "{unseen}: a daemon starts the containers, so Forebay does not see their work"
            ));
            if children.is_empty() {
                found.fix_by_user(
                    "use podman, apptainer or charliecloud: their containers are children",
                )
            } else {
                found.fix_by_user(format!("use {seen}: these start containers as children"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    //! A pipeline whose tasks run in dockerd leaves an empty record.
    use super::super::finding::CheckStatus;
    use super::*;

    #[test]
    fn daemons_are_told() {
        assert_eq!(finding_for(&[], &[]).standing, CheckStatus::Ok);
        assert_eq!(finding_for(&["podman"], &[]).standing, CheckStatus::Ok);
        let both = finding_for(&["podman"], &["docker"]);
        assert_eq!(both.standing, CheckStatus::Limited);
        assert!(both.fixes[0].what.contains("use podman:"));
        assert!(finding_for(&[], &["docker"]).fixes[0].what.contains("apptainer"));
        assert!(CHILDREN.iter().all(|name| !DAEMONS.contains(name)));
    }
}
