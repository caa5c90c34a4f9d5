//! Workflow engines whose tasks are known by name.

use super::finding::Finding;
use super::machine_facts::{MachineFacts, find_on_path};

/// Engines that Forebay knows the tasks of.
const ENGINES: [&str; 3] = ["snakemake", "nextflow", "Trinity"];

pub(super) fn run_check(_: &MachineFacts) -> Finding {
    finding_for(&find_on_path(&ENGINES), !find_on_path(&["java"]).is_empty())
}

fn finding_for(engines: &[&str], java: bool) -> Finding {
    if engines.contains(&"nextflow") && !java && std::env::var_os("JAVA_HOME").is_none() {
        return Finding::limited("nextflow is on PATH, but java is not")
            .fix_by_user("install Java 17 or newer, or set JAVA_HOME");
    }
    if engines.is_empty() {
        return Finding::ok("none on PATH; any command can be run, tasks are told by process");
    }
    Finding::ok(format!("{}: tasks are told by rule or process name", engines.join(", ")))
}

#[cfg(test)]
mod tests {
    //! Nobody should read here that Forebay needs an engine.
    use super::super::finding::CheckStatus;
    use super::*;

    #[test]
    fn any_or_none() {
        assert_eq!(finding_for(&[], false).standing, CheckStatus::Ok);
        assert_eq!(finding_for(&["snakemake"], false).standing, CheckStatus::Ok);
        assert!(
            finding_for(&["snakemake", "nextflow"], true).means.starts_with("snakemake, nextflow:")
        );
    }
}
