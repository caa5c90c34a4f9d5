//! Operations by task and class of files, dealt out to the sets of files that the task used.

use super::file_uses::FileUser;
use super::sets::{FileSets, SetUse};
use super::timeline::Timeline;
use crate::loaded_run::LoadedRun;
use forebay_model::workload::{FileSetAccess, FileSetId};
use forebay_model::{AccessPattern, ByteCount, ClassId, Op, OpKey};
use std::collections::BTreeMap;

/// Operations of every kind, by [`OpKey::index`].
type OpCounts = BTreeMap<usize, f64>;

/// Who asked for what on which class.
#[derive(Clone, Debug, Default)]
pub(super) struct OperationsByUser {
    by: BTreeMap<FileUser, BTreeMap<ClassId, OpCounts>>,
    /// Operations of kinds that this Forebay does not know.
    pub(super) strange: u64,
}

impl OperationsByUser {
    pub(super) fn from_rows(rows: &LoadedRun, line: &Timeline) -> Self {
        let mut all = Self::default();
        for row in &rows.ops {
            // Nobody waits for what the kernel does on its own account.
            let Some(task) = row.task else { continue };
            let who = line.place.get(&task).map_or(FileUser::Driver, |&task| FileUser::Task(task));
            match row.kind.key() {
                None => all.strange += row.count,
                Some(key) => {
                    let counts = all.by.entry(who).or_default().entry(row.class).or_default();
                    *counts.entry(key.index()).or_default() += row.count as f64;
                }
            }
        }
        all
    }

    /// How many one of them asked for.
    pub(super) fn count(&self, who: FileUser) -> f64 {
        let classes = self.by.get(&who).into_iter().flat_map(BTreeMap::values);
        classes.flat_map(BTreeMap::values).sum()
    }

    /// Requests for which one of them waited: nobody waits for a last close.
    pub(super) fn awaited_requests(&self, who: FileUser) -> f64 {
        let classes = self.by.get(&who).into_iter().flat_map(BTreeMap::values);
        let close = OpKey::without_bytes(Op::Close).index();
        classes.flatten().filter(|(key, _)| **key != close).map(|(_, count)| count).sum()
    }

    /// What one of them did, set by set, with each count multiplied by `factor`: of operations that
    /// run beside each other a task waits for a part.
    pub(super) fn accesses_of(
        &self,
        who: FileUser,
        factor: f64,
        sets: &mut FileSets,
        rows: &LoadedRun,
    ) -> Vec<FileSetAccess> {
        let unseen = !self.by.contains_key(&who);
        let mut found: BTreeMap<FileSetId, (SetUse, OpCounts)> = BTreeMap::new();
        let from = (who, ClassId(0))..=(who, ClassId(u32::MAX));
        for (_, shares) in sets.uses.range(from) {
            found.extend(shares.iter().map(|(&set, &share)| (set, (share, OpCounts::new()))));
        }
        let none = BTreeMap::new();
        for (&class, counts) in self.by.get(&who).unwrap_or(&none) {
            let shares: Vec<(FileSetId, SetUse)> = match sets.uses.get(&(who, class)) {
                Some(shares) => shares.iter().map(|(&set, &share)| (set, share)).collect(),
                None => {
                    vec![(
                        sets.names_only_set(rows, class),
                        SetUse { opens: 1, ..SetUse::default() },
                    )]
                }
            };
            // A client asks the storage with a close that has bytes to send, and with no other,
            // however many processes close what they inherited.
            if counts.keys().copied().any(is_closing) {
                for (set, share) in shares.iter().filter(|(_, share)| share.wrote > 0) {
                    let closes = share.wrote as f64 * factor;
                    let counts = &mut found.entry(*set).or_default().1;
                    counts.extend(CLOSING.map(|op| (OpKey::without_bytes(op).index(), closes)));
                }
            }
            for (&key, &count) in counts {
                if is_closing(key) {
                    continue;
                }
                for (set, part) in split_by_weight(key, &shares) {
                    let entry = found.entry(set).or_default();
                    *entry.1.entry(key).or_default() += count * factor * part;
                }
            }
        }
        let access = |(files, (share, counts)): (FileSetId, (SetUse, OpCounts))| FileSetAccess {
            files,
            ops: with_guesses(counts, &share, unseen),
            read: ByteCount(share.read),
            written: ByteCount(share.written),
        };
        found.into_iter().map(access).collect()
    }
}

/// Which part of the operations of one kind goes to which set: by bytes if they move bytes, else by
/// opens.
fn split_by_weight(key: usize, shares: &[(FileSetId, SetUse)]) -> Vec<(FileSetId, f64)> {
    let weight = |share: &SetUse| match OpKey::from_index(key).map(OpKey::op) {
        Some(Op::Read) => share.read as f64,
        Some(Op::Write | Op::CopyRange) => share.written as f64,
        _ => share.opens as f64,
    };
    let mut all: f64 = shares.iter().map(|(_, share)| weight(share)).sum();
    let even = all <= 0.0;
    if even {
        all = shares.len() as f64;
    }
    let part = |share: &SetUse| if even { 1.0 / all } else { weight(share) / all };
    shares.iter().map(|(set, share)| (*set, part(share))).filter(|(_, part)| *part > 0.0).collect()
}

/// What the kernel asks for when it reads ahead, and the operations of one open, where nobody saw
/// them.
const UNSEEN_BYTES: u64 = 128 << 10;

/// A close, as the kernel tells of it: of each descriptor, and of the last.
const CLOSING: [Op; 2] = [Op::Flush, Op::Close];

fn is_closing(key: usize) -> bool {
    OpKey::from_index(key).is_some_and(|key| CLOSING.contains(&key.op()))
}

/// Adds operations for bytes that nobody saw, and, where nothing was seen (`unseen`), for opens.
fn with_guesses(mut counts: OpCounts, share: &SetUse, unseen: bool) -> Vec<(OpKey, f64)> {
    let mut add = |key: OpKey, count: f64| *counts.entry(key.index()).or_default() += count;
    let calls = |bytes: u64| (bytes as f64 / UNSEEN_BYTES as f64).ceil();
    if share.guessed > 0 || unseen {
        let whole = (share.read + share.written).max(1) as f64;
        let part = if unseen { 1.0 } else { share.guessed as f64 / whole };
        for (op, bytes) in [(Op::Read, share.read), (Op::Write, share.written)] {
            if bytes > 0 {
                add(
                    OpKey::with_bytes(op, UNSEEN_BYTES, AccessPattern::Sequential),
                    calls(bytes) * part,
                );
            }
        }
    }
    if unseen {
        let opens = share.opens as f64;
        for op in [Op::Lookup, if share.written > 0 { Op::Create } else { Op::Open }] {
            add(OpKey::without_bytes(op), opens);
        }
        if share.wrote > 0 {
            CLOSING.into_iter().for_each(|op| add(OpKey::without_bytes(op), share.wrote as f64));
        }
    }
    let key = |index| OpKey::from_index(index).expect("it came from a key");
    counts.into_iter().map(|(index, count)| (key(index), count)).collect()
}
