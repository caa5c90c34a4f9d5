//! What Slurm is told, by subject: one file each, one line here. Each subject has the lines that it
//! needs, and a look at a cluster.

mod arrays;
mod begin_of_jobs;
mod end_of_jobs;
mod job_mounts;
mod low_queue;
mod node_space;
mod nodes_up;
mod shared_space;
mod staging;

use std::path::Path;

use serde::Serialize;

use super::cluster_state::ClusterState;
use super::setup::SlurmSetup;

/// A subject.
#[derive(Debug)]
pub(super) struct Section {
    /// Its name, of a few words.
    pub(super) name: &'static str,
    /// Its part of files; of those that are there already, where a cluster can be asked, all stays.
    pub(super) files: fn(&SlurmSetup, Option<&ClusterState>) -> Vec<SetupFile>,
    /// Whether a cluster has it.
    pub(super) check: fn(&SlurmSetup, &ClusterState) -> Vec<Finding>,
}

/// All subjects, in the order of lines in files.
pub(super) const SECTIONS: &[Section] = &[
    node_space::SECTION,
    shared_space::SECTION,
    begin_of_jobs::SECTION,
    end_of_jobs::SECTION,
    staging::SECTION,
    low_queue::SECTION,
    arrays::SECTION,
    job_mounts::SECTION,
    nodes_up::SECTION,
];

/// A file for the directory of slurm.conf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SetupFile {
    pub(super) name: &'static str,
    pub(super) mode: u32,
    pub(super) text: String,
}

impl SetupFile {
    /// Lines that slurm.conf includes.
    fn lines(text: String) -> SetupFile {
        SetupFile { name: "forebay.conf", mode: 0o644, text }
    }
}

/// Where something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Standing {
    /// As it should be.
    Ok,
    /// It works, with something that people should know.
    Limited,
    /// What was asked for does not work.
    Missing,
}

impl Standing {
    /// The word for people.
    pub(super) fn word(self) -> &'static str {
        match self {
            Standing::Ok => "ok",
            Standing::Limited => "limited",
            Standing::Missing => "missing",
        }
    }
}

/// What a look at a cluster found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    pub(super) standing: Standing,
    /// What was found, and what it means.
    pub(super) means: String,
    /// How to mend it.
    pub(super) next: Option<String>,
}

impl Finding {
    fn ok(means: impl Into<String>) -> Finding {
        Finding { standing: Standing::Ok, means: means.into(), next: None }
    }

    fn limited(means: impl Into<String>, next: impl Into<String>) -> Finding {
        Finding { standing: Standing::Limited, means: means.into(), next: Some(next.into()) }
    }

    fn missing(means: impl Into<String>, next: impl Into<String>) -> Finding {
        Finding { standing: Standing::Missing, means: means.into(), next: Some(next.into()) }
    }
}

/// What is done where forebay.conf has no effect yet.
const INCLUDE: &str = "`forebay slurm print -o` writes the lines; put `Include forebay.conf` before \
                       the first NodeName line of slurm.conf, and restart slurmctld and slurmd";

/// Whether Slurm runs the script `own` at this moment, itself or from another one of the facility's.
fn check_script(setup: &SlurmSetup, cluster: &ClusterState, setting: &str, own: &str) -> Finding {
    let wanted = setup.folder.join(own);
    let there = cluster.settings_of(setting);
    if there.iter().any(|path| Path::new(path) == wanted) {
        return match is_executable(&wanted) {
            Some(false) => Finding::missing(
                format!("{} can't be executed: Slurm drains nodes for that", wanted.display()),
                format!("chmod 755 {}", wanted.display()),
            ),
            _ => Finding::ok(format!("{setting} is {}", wanted.display())),
        };
    }
    let Some(other) = there.first() else {
        return Finding::missing(format!("{setting} is not set"), INCLUDE);
    };
    let call = format!("have it run {}, and end as that ends", wanted.display());
    match std::fs::read_to_string(other) {
        Ok(text) if text.contains(own) => Finding::ok(format!("{setting} is {other}, with {own}")),
        Ok(_) => Finding::missing(format!("{setting} is {other}, without {own}"), call),
        Err(_) => Finding::limited(
            format!(
                "{setting} is {other}, which can't be read here: whether it runs {own} is not known"
            ),
            call,
        ),
    }
}

/// `None`: it is not on this machine.
fn is_executable(path: &Path) -> Option<bool> {
    use std::os::unix::fs::PermissionsExt;
    let found = std::fs::metadata(path).ok()?;
    Some(found.permissions().mode() & 0o111 != 0)
}

/// A line that has Slurm run a script, unless it has one already.
fn script_line(
    setup: &SlurmSetup,
    cluster: Option<&ClusterState>,
    setting: &str,
    own: &str,
) -> String {
    let wanted = setup.folder.join(own);
    let there = cluster.map(|cluster| cluster.settings_of(setting)).unwrap_or_default();
    match there.iter().find(|path| Path::new(path) != wanted) {
        Some(other) => format!(
            "# {setting} is {other} already: have it run {}, and end as that ends.\n",
            wanted.display()
        ),
        None => format!("{setting}={}\n", wanted.display()),
    }
}
