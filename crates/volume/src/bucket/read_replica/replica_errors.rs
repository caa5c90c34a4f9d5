//! What a person should know of a volume that was followed when it is shown no longer.

use std::io::ErrorKind;

use super::ReadReplica;

/// Files that are named.
const NAMED: usize = 3;

impl ReadReplica {
    /// What went wrong, in sentences.
    pub(super) fn error_messages(&self) -> Vec<String> {
        let lost = self.bodies.lost.all_by_key();
        let changed = |kind: &ErrorKind| {
            matches!(kind, ErrorKind::StaleNetworkFileHandle | ErrorKind::NotFound)
        };
        let (changed, failed): (Vec<_>, Vec<_>) =
            lost.into_iter().partition(|(_, (kind, _))| changed(kind));
        let mut told = Vec::new();
        if !changed.is_empty() {
            let first: Vec<_> = changed.iter().take(NAMED).map(|(name, _)| name.as_str()).collect();
            let rest = match changed.len().saturating_sub(NAMED) {
                0 => String::new(),
                rest => format!(" and {rest} more"),
            };
            told.push(format!(
                "changed or removed in {} while they were open here: {}{rest}; programs got errors \
                 (ESTALE) in place of mixed bytes, and see the new ones when they open them again",
                self.url,
                first.join(", ")
            ));
        }
        told.extend(failed.first().map(|(name, (_, why))| {
            let more = match failed.len() {
                1 => String::new(),
                count => format!(" and of {} more", count - 1),
            };
            format!("bytes of {name}{more} in {} could not be had: {why}", self.url)
        }));
        told
    }
}
