//! Before a job is given nodes: files that it names are brought to them, by Slurm's burst buffers.

use super::{Finding, INCLUDE, Section, SetupFile};
use crate::commands::slurm::cluster_state::ClusterState;
use crate::commands::slurm::setup::{SlurmSetup, quoted};

pub(super) const SECTION: Section = Section { name: "stage in", files, check };

const SCRIPT: &str = include_str!("staging/burst_buffer.lua");
const LINES: &str = "\
# Jobs with a line `#FOREBAY warm PATH` begin when the volume's nodes have PATH.
BurstBufferType=burst_buffer/lua
";

fn files(setup: &SlurmSetup, cluster: Option<&ClusterState>) -> Vec<SetupFile> {
    if !setup.stage_in {
        return Vec::new();
    }
    let there = cluster.and_then(|cluster| cluster.setting("BurstBufferType"));
    let lines = match there.filter(|kind| *kind != "burst_buffer/lua") {
        Some(other) => format!(
            "# BurstBufferType is {other}, and Slurm takes one kind: files can't be staged in by \
             Forebay.\n"
        ),
        None => LINES.to_owned(),
    };
    let forebay = quoted(&setup.forebay.to_string_lossy());
    let text = SCRIPT.replace("@FOREBAY@", &lua_text(&forebay));
    vec![
        SetupFile::lines(lines),
        SetupFile {
            name: "burst_buffer.conf",
            mode: 0o644,
            text: "Directive=FOREBAY\n".to_owned(),
        },
        SetupFile { name: "burst_buffer.lua", mode: 0o644, text },
    ]
}

/// A text between double quotes in Lua.
fn lua_text(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn check(setup: &SlurmSetup, cluster: &ClusterState) -> Vec<Finding> {
    if !setup.stage_in {
        return Vec::new();
    }
    let kind = cluster.setting("BurstBufferType").unwrap_or("not set");
    if kind != "burst_buffer/lua" {
        return vec![Finding::missing(format!("BurstBufferType is {kind}"), INCLUDE)];
    }
    let script = setup.folder.join("burst_buffer.lua");
    let is_ours = std::fs::read_to_string(&script).map(|text| text.contains("#FOREBAY"));
    let loaded = cluster.burst_buffers.contains("Name=lua");
    let mut found = vec![match (loaded, is_ours) {
        (false, _) => Finding::missing(
            "slurmctld has no burst buffer of kind lua loaded",
            format!(
                "put burst_buffer.lua and burst_buffer.conf into {}, and look into slurmctld's log",
                setup.folder.display()
            ),
        ),
        (true, Ok(false)) => Finding::missing(
            format!("{} does not know `#FOREBAY`", script.display()),
            "put what `forebay slurm print` says into its functions",
        ),
        (true, Ok(true)) => Finding::ok("jobs may name files by `#FOREBAY warm PATH`"),
        (true, Err(error)) => Finding::limited(
            format!("{} can't be read here: {error}", script.display()),
            "run this on the machine of slurmctld",
        ),
    }];
    let user = cluster.setting("SlurmUser").unwrap_or("root(0)");
    if !user.starts_with("root(") {
        let name = user.split('(').next().unwrap_or(user);
        let forebay = setup.forebay.display();
        found.push(Finding::limited(
            format!("slurmctld runs as {name}: it asks root's mounts to warm files by sudo"),
            format!("if it may not yet, in /etc/sudoers.d/forebay: {name} ALL=(root) NOPASSWD: {forebay} warm -- *"),
        ));
    }
    found
}
