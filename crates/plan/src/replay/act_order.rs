//! All acts of a run with their moments, in one order; and by that order who waits for whom: each
//! act on a name waits for the changes of that name that came before it.

use super::run_lookup::{Owner, RunLookup};
use super::timed_act::{Actor, TimedAction};
use super::{NamePrecondition, ReplayAction, ReplayScript, metadata_acts, sessions};

/// Everything, in order.
pub(super) fn collect_acts(told: &RunLookup<'_>, script: &mut ReplayScript) -> Vec<TimedAction> {
    let mut acts = Vec::new();
    sessions::add_sessions(told, &mut acts);
    for &(file, at, owner) in &told.renamed {
        let name = &told.names[file];
        let (before, _) = name.before.as_ref().expect("it was renamed");
        let act = ReplayAction::Rename(before.clone(), name.path.clone());
        acts.push(TimedAction::new(at, Actor::for_owner(owner), act).with_name(name.number, true));
    }
    add_removals(told, &mut acts);
    metadata_acts::add_metadata_operations(told, &mut acts, &mut script.notes);
    acts.sort_by(|a, b| {
        a.at.total_cmp(&b.at).then(simultaneity_rank(&a.act).cmp(&simultaneity_rank(&b.act)))
    });
    script.names = told.names.iter().map(|name| name.number + 1).max().unwrap_or(0);
    script.sessions = told.opens.len();
    let (mut changes, mut opens) = (vec![0u32; script.names], vec![0u32; script.names]);
    for act in &mut acts {
        let Some((name, changed)) = act.name else { continue };
        // Who closes a file waits for nobody: others may have it open.
        let waits = !matches!(act.act, ReplayAction::Close(..));
        // Who takes a name away lets those go first who opened it before.
        let taken = matches!(act.act, ReplayAction::Rename(..) | ReplayAction::Unlink(_));
        let opens_before = if taken { opens[name] } else { 0 };
        let before = NamePrecondition { name, changes: changes[name], opens: opens_before };
        act.wait = Some(before).filter(|one| waits && (one.changes, one.opens) > (0, 0));
        changes[name] += u32::from(changed);
        opens[name] += u32::from(matches!(act.act, ReplayAction::Open(..)));
    }
    acts
}

/// Which is first of what happens at once.
fn simultaneity_rank(act: &ReplayAction) -> u8 {
    match act {
        ReplayAction::Mkdir(_) => 0,
        ReplayAction::Look(_) | ReplayAction::LookInVain(_) | ReplayAction::Access(_) => 1,
        ReplayAction::Open(..) => 2,
        ReplayAction::Attributes(_) | ReplayAction::AttributesOf(_) | ReplayAction::List(_) => 3,
        ReplayAction::Read(..) => 4,
        ReplayAction::Write(..) => 5,
        ReplayAction::Touch(_) => 6,
        ReplayAction::Sync(_) => 7,
        ReplayAction::Close(..) => 8,
        ReplayAction::Rename(..) => 9,
        ReplayAction::Unlink(_) => 10,
        _ => 11,
    }
}

/// Files that were removed, by the task that was seen to remove such files then, else by the engine.
fn add_removals(told: &RunLookup<'_>, acts: &mut Vec<TimedAction>) {
    /// Ends are noticed late.
    const SLACK_SECS: f64 = 0.1;
    let mut left = told.ops.clone();
    let mut last = vec![None; told.names.len()];
    for open in told.opens {
        if let Some(file) = told.file_of_open(open) {
            last[file] = Some(told.owner_of_open(open));
        }
    }
    for (file, name) in told.names.iter().enumerate() {
        let Some(&gone) = told.rows.gone.get(&told.rows.files[file].id) else { continue };
        // Who never opened it had no part in making it here.
        let Some(user) = last[file] else { continue };
        let at = gone.as_secs();
        let class = told.class_of_file(file);
        let mut took = |owner: Owner| {
            let (start, end) = told.owner_span(owner);
            let ops = left.get_mut(&(owner, class));
            let count = ops.and_then(|ops| ops.get_mut(&forebay_model::Op::Unlink));
            let fits = (start..=end + SLACK_SECS).contains(&at);
            count.filter(|count| fits && **count > 0).map(|count| *count -= 1).is_some()
        };
        let others = (0..told.turns.all.len()).map(Some);
        let owner = if took(user) { user } else { others.rev().find(|&o| took(o)).flatten() };
        let act = ReplayAction::Unlink(name.path_at(at).to_vec());
        acts.push(TimedAction::new(at, Actor::for_owner(owner), act).with_name(name.number, true));
    }
}
