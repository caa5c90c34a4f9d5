//! How a running cluster is configured, by what `scontrol` prints.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use crate::slurm_programs::{SlurmError, ask_slurm};

/// A node or a partition: its values by name.
pub(super) type SlurmRecord = BTreeMap<String, String>;

/// The cluster as its controller has it.
#[derive(Debug, Clone, Default)]
pub(super) struct ClusterState {
    settings: BTreeMap<String, String>,
    /// Its nodes.
    pub(super) nodes: Vec<SlurmRecord>,
    /// Its partitions.
    pub(super) partitions: Vec<SlurmRecord>,
    /// What it says of burst buffers.
    pub(super) burst_buffers: String,
}

impl ClusterState {
    /// Asks the controller; each question may take so long.
    pub(super) fn ask(limit: Duration) -> Result<ClusterState, SlurmError> {
        let ask = |words: &[&str]| {
            let asked = format!("scontrol {}", words.join(" "));
            ask_slurm(&asked, Command::new("scontrol").args(words), limit)
        };
        Ok(ClusterState {
            settings: read_settings(&ask(&["show", "config"])?),
            nodes: read_records(&ask(&["-o", "show", "nodes"])?),
            partitions: read_records(&ask(&["-o", "show", "partitions"])?),
            burst_buffers: match ask(&["show", "burst"]) {
                // Clusters without any say so on standard error.
                Err(SlurmError::Failed(_)) => String::new(),
                answer => answer?,
            },
        })
    }

    /// From what `scontrol` prints.
    #[cfg(test)]
    pub(super) fn from_texts(config: &str, nodes: &str, partitions: &str) -> ClusterState {
        ClusterState {
            settings: read_settings(config),
            nodes: read_records(nodes),
            partitions: read_records(partitions),
            burst_buffers: String::new(),
        }
    }

    /// A setting of slurm.conf; `None`: it has none.
    pub(super) fn setting(&self, name: &str) -> Option<&str> {
        self.settings.get(&name.to_ascii_lowercase()).map(String::as_str)
    }

    /// Values of a setting that may be there several times, as `Prolog[0]` and so on.
    pub(super) fn settings_of(&self, name: &str) -> Vec<&str> {
        let name = name.to_ascii_lowercase();
        let numbered = format!("{name}[");
        let all = self.settings.iter();
        all.filter(|(key, _)| **key == name || key.starts_with(&numbered))
            .map(|(_, value)| value.as_str())
            .collect()
    }

    /// A list that lacks nothing of what it has, and has these words besides.
    pub(super) fn merged_list(
        cluster: Option<&ClusterState>,
        name: &str,
        more: &[String],
    ) -> String {
        let there = cluster.and_then(|cluster| cluster.setting(name)).unwrap_or_default();
        let mut words: Vec<&str> = there.split(',').filter(|word| !word.is_empty()).collect();
        let stem = |word: &str| word.split([':', '*', '=']).next().unwrap_or_default().to_owned();
        words.retain(|word| !more.iter().any(|new| stem(new) == stem(word)));
        words.extend(more.iter().map(String::as_str));
        words.join(",")
    }
}

/// `Name = value`, a line each; what has no value is left out.
fn read_settings(text: &str) -> BTreeMap<String, String> {
    let lines = text.lines().filter_map(|line| line.split_once('='));
    lines
        .map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim().to_owned()))
        .filter(|(name, value)| {
            let is_name = !name.is_empty() && !name.contains(' ');
            is_name && !["", "(null)", "none", "(none)"].contains(&&*value.to_ascii_lowercase())
        })
        .collect()
}

/// A record a line, of `Name=value`; values may have spaces.
fn read_records(text: &str) -> Vec<SlurmRecord> {
    text.lines().filter(|line| line.contains('=')).map(read_record).collect()
}

fn read_record(line: &str) -> SlurmRecord {
    let mut record = SlurmRecord::new();
    let mut last: Option<String> = None;
    for word in line.split(' ') {
        let named = word.split_once('=').filter(|(name, _)| {
            // Of what people write, such as a reason, all is one value.
            let is_text = last.as_deref() == Some("Reason");
            let plain = |c: char| c.is_ascii_alphanumeric() || "_:/".contains(c);
            !is_text
                && name.starts_with(|c: char| c.is_ascii_uppercase())
                && name.chars().all(plain)
        });
        match (named, &last) {
            (Some((name, value)), _) => {
                record.insert(name.to_owned(), value.to_owned());
                last = Some(name.to_owned());
            }
            (None, Some(name)) => {
                if let Some(value) = record.get_mut(name) {
                    value.push(' ');
                    value.push_str(word);
                }
            }
            (None, None) => {}
        }
    }
    for value in record.values_mut() {
        *value = value.trim_end().to_owned();
    }
    record.retain(|_, value| value != "(null)");
    record
}

#[cfg(test)]
mod tests {
    //! If these fail, a cluster that has what it needs is told that it lacks it, or the other way.
    use super::*;

    #[test]
    fn settings_are_read_whatever_stands_beside_them() {
        let state = ClusterState::from_texts(
            "Configuration data as of 2026-11-28T19:00:00\nAccountingStorageHost   = localhost\n\
             Prolog                  = (null)\nEpilog[0]               = /a\nEpilog[1] = /b\n\
             GresTypes               = gpu,forebay_x\nSlurmUser               = root(0)\n\n\
             Slurmctld(primary) at h is UP\n",
            "",
            "",
        );
        assert_eq!(state.setting("Prolog"), None);
        assert_eq!(state.settings_of("epilog"), ["/a", "/b"]);
        assert_eq!(state.setting("grestypes"), Some("gpu,forebay_x"));
    }

    #[test]
    fn records_keep_values_with_spaces_and_reasons_with_signs() {
        let nodes = read_records(
            "NodeName=n1 Arch=x86_64 CPUAlloc=0 Gres=forebay_near:90 OS=Linux 6.1.0 #1 SMP State=IDLE+DRAIN \
             Reason=Prolog error=1 A=b [root@2026-11-28T19:00:00]\n\nNodeName=n2 Gres=(null)\n",
        );
        assert_eq!(nodes[0]["OS"], "Linux 6.1.0 #1 SMP");
        assert_eq!(nodes[0]["State"], "IDLE+DRAIN");
        assert_eq!(nodes[0]["Reason"], "Prolog error=1 A=b [root@2026-11-28T19:00:00]");
        assert!(!nodes[1].contains_key("Gres"));
    }

    #[test]
    fn lists_lose_nothing_and_get_no_word_twice() {
        let state = ClusterState::from_texts("Licenses = matlab:5,forebay_net:7\n", "", "");
        let merged =
            |more: &str| ClusterState::merged_list(Some(&state), "Licenses", &[more.to_owned()]);
        assert_eq!(merged("forebay_net:9"), "matlab:5,forebay_net:9");
        assert_eq!(ClusterState::merged_list(None, "Licenses", &["a:1".to_owned()]), "a:1");
    }
}
