//! Operations on names and attributes, as often as they were counted: before the opens of the same
//! task on the same class of files, or, where it opened none, evenly over its time.

use super::ReplayAction;
use super::run_lookup::{Owner, RunLookup};
use super::timed_act::{Actor, TimedAction};
use super::visible_files::VisibleFiles;
use forebay_model::{ClassId, Op};
use std::collections::BTreeMap;

/// Operations that come about by what the others ask for.
const BY_THEMSELVES: [Op; 11] = [
    Op::Create,
    Op::Open,
    Op::Read,
    Op::Write,
    Op::CopyRange,
    Op::Flush,
    Op::Close,
    Op::Truncate,
    Op::Readdir,
    Op::Unlink,
    Op::Rename,
];

pub(super) fn add_metadata_operations(
    told: &RunLookup<'_>,
    acts: &mut Vec<TimedAction>,
    notes: &mut Vec<String>,
) {
    let sights = VisibleFiles::for_run(told);
    let mut folders =
        super::directory_lifetimes::DirectoryLifetimes::for_run(told, &sights.folders);
    let mut left: BTreeMap<Op, u64> = BTreeMap::new();
    for (&(owner, class), ops) in &told.ops {
        let count = |op: Op| ops.get(&op).copied().unwrap_or(0);
        // Who makes a name looks for it first.
        let makes = [Op::Create, Op::Rename, Op::Mkdir, Op::Symlink, Op::Link, Op::Mknod];
        let made: u64 = makes.map(count).iter().sum();
        for (&op, &count) in ops {
            let done = match op {
                _ if BY_THEMSELVES.contains(&op) => count,
                Op::LookupFailed => {
                    let folder = sights.parent_directory_of(class);
                    let act = || ReplayAction::LookInVain(folder.clone());
                    sights.spread_evenly(owner, count.saturating_sub(made), acts, act);
                    count
                }
                Op::Mkdir => folders.make_directories(owner, class, count, acts),
                // When all that are made are known.
                Op::Rmdir => continue,
                Op::Opendir => {
                    let folder = sights.directory_of_class(class);
                    sights.spread_evenly(owner, count, acts, || ReplayAction::List(folder.clone()));
                    count
                }
                Op::Getattr => {
                    let asked = count.saturating_sub(sights.count_changes_in(owner, class));
                    sights.add_operations_on_class(owner, class, op, asked, acts);
                    count
                }
                _ => sights.add_operations_on_class(owner, class, op, count, acts),
            };
            *left.entry(op).or_default() += count - done.min(count);
        }
    }
    for (&(owner, class), ops) in &told.ops {
        let count = ops.get(&Op::Rmdir).copied().unwrap_or(0);
        let done = folders.remove_directories(owner, class, count, acts);
        *left.entry(Op::Rmdir).or_default() += count - done;
    }
    *left.entry(Op::Rename).or_default() += told.unrenamed;
    left.retain(|_, count| *count > 0);
    let mut names: Vec<String> =
        left.iter().map(|(op, count)| format!("{count} × {}", op.name())).collect();
    if told.strange > 0 {
        names.push(format!("{} of kinds that a newer Forebay counts", told.strange));
    }
    if !names.is_empty() {
        notes.push(format!("not replayed: {}", names.join(", ")));
    }
}

impl VisibleFiles<'_> {
    /// So many of one act, evenly over the owner's time.
    fn spread_evenly(
        &self,
        owner: Owner,
        count: u64,
        acts: &mut Vec<TimedAction>,
        act: impl Fn() -> ReplayAction,
    ) {
        for number in 0..count {
            acts.push(TimedAction::new(
                self.evenly_spaced_time(owner, number, count),
                Actor::for_owner(owner),
                act(),
            ));
        }
    }

    fn evenly_spaced_time(&self, owner: Owner, number: u64, count: u64) -> f64 {
        let (start, end) = self.told.owner_span(owner);
        start + (end - start) * (number as f64 + 0.5) / count as f64
    }

    /// So many of one kind, on files of one class, and how many of them there was a way for.
    fn add_operations_on_class(
        &self,
        owner: Owner,
        class: ClassId,
        op: Op,
        count: u64,
        acts: &mut Vec<TimedAction>,
    ) -> u64 {
        let own = self.opens.get(&(owner, class));
        // What was renamed since has another class now.
        let sessions = own.or_else(|| self.writes.get(&owner).filter(|_| op == Op::Fsync));
        for number in 0..count {
            let nth = |len: usize| (number as usize * len / count as usize).min(len - 1);
            let placed = match (op, sessions) {
                (Op::Lookup | Op::Getattr | Op::Access | Op::Setattr | Op::Fsync, Some(all)) => {
                    self.operation_on_session(all[nth(all.len())], op)
                }
                (Op::Lookup | Op::Getattr | Op::Access | Op::Setattr, None) => {
                    let at = self.evenly_spaced_time(owner, number, count);
                    let file = self.existing_file(class, at, number);
                    let name = file.map(|file| &self.told.names[file]);
                    let path = name.map_or_else(
                        || self.directory_of_class(class),
                        |name| name.path_at(at).to_vec(),
                    );
                    let act = match op {
                        Op::Lookup => ReplayAction::Look(path),
                        Op::Getattr => ReplayAction::AttributesOf(path),
                        Op::Setattr => ReplayAction::TouchOf(path),
                        _ => ReplayAction::Access(path),
                    };
                    let placed = TimedAction::new(at, Actor::for_owner(owner), act);
                    name.map_or(placed.clone(), |name| placed.with_name(name.number, false))
                }
                _ => return 0,
            };
            acts.push(placed);
        }
        count
    }

    fn operation_on_session(&self, session: usize, op: Op) -> TimedAction {
        let told = self.told;
        let open = &told.opens[session];
        let file = told.file_of_open(open).expect("only such were listed");
        let owner = told.owner_of_open(open);
        let lane = owner.map_or(Actor::Driver, |turn| Actor::Process(turn, open.open.process));
        let (at, end) = (open.open.opened.as_secs(), told.close_time(open));
        let path = || told.names[file].path_at(at).to_vec();
        let (at, act) = match op {
            Op::Lookup => (at, ReplayAction::Look(path())),
            Op::Access => (at, ReplayAction::Access(path())),
            Op::Getattr => (at, ReplayAction::Attributes(session)),
            Op::Setattr => (end, ReplayAction::Touch(session)),
            _ => (end, ReplayAction::Sync(session)),
        };
        let placed =
            TimedAction { since: open.open.opened.as_secs(), ..TimedAction::new(at, lane, act) };
        // A name must be there to be looked up.
        if matches!(op, Op::Lookup | Op::Access) {
            return placed.with_name(told.names[file].number, false);
        }
        placed
    }
}
