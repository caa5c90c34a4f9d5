//! What a person should know of an attached prefix when it is shown no longer.

use std::io::ErrorKind;

use super::Prefix;

/// Objects of one kind of trouble that are named.
const NAMED: usize = 3;

impl Prefix {
    /// What went wrong so far, in sentences.
    pub(super) fn error_messages(&self) -> Vec<String> {
        let url = &self.url;
        let lost = self.bodies.lost.all_by_key();
        let is_other = |kind: &ErrorKind| {
            matches!(kind, ErrorKind::StaleNetworkFileHandle | ErrorKind::NotFound)
        };
        let (changed, failed): (Vec<_>, Vec<_>) =
            lost.into_iter().partition(|(_, (kind, _))| is_other(kind));
        let mut told = Vec::new();
        told.extend(join_first_names(changed.iter().map(|(key, _)| format!("{url}/{key}"))).map(|names| {
            format!(
                "changed or removed in the bucket while it was read: {names}; programs got errors \
                 (ESTALE, EIO) in place of mixed bytes, and the next run or mount shows what is \
                 there now"
            )
        }));
        told.extend(failed.first().map(|(key, (_, why))| {
            format!("bytes of {url}/{key}{} could not be had: {why}", more_suffix(failed.len()))
        }));
        let unlisted: Vec<_> = self.unlisted.all_by_key().into_iter().collect();
        told.extend(unlisted.first().map(|(path, (_, why))| {
            format!("{url}/{path}/{} could not be listed: {why}", more_suffix(unlisted.len()))
        }));
        let odd = self.odd.lock();
        told.extend(join_first_names(odd.iter().map(|key| format!("{url}/{key}"))).map(|names| {
            format!("not shown, since no file can have such a name beside the others: {names}")
        }));
        told
    }

    /// Nobody looks any more: what has come is kept for the next one. Tells what went wrong.
    pub(super) fn end_reading(&self) -> Vec<String> {
        let mut told = self.error_messages();
        if let Err(error) = self.held.make_durable() {
            let kept = self.held.tree_directory();
            told.push(format!(
                "what was read of {} is not kept in {}: {error}",
                self.url,
                kept.display()
            ));
        }
        told
    }
}

/// The first ones, and how many more there are.
fn join_first_names(mut names: impl ExactSizeIterator<Item = String>) -> Option<String> {
    let count = names.len();
    let first: Vec<_> = names.by_ref().take(NAMED).collect();
    let rest = count.checked_sub(NAMED).filter(|rest| *rest > 0);
    let rest = rest.map_or(String::new(), |rest| format!(" and {rest} more"));
    (count > 0).then(|| format!("{}{rest}", first.join(", ")))
}

fn more_suffix(count: usize) -> String {
    if count > 1 { format!(" and of {} more", count - 1) } else { String::new() }
}
