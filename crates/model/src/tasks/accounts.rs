//! What each process used by itself, from counters that include waited-for children.

use super::process_claims::ObservedRun;
use crate::ProcessCounters;

/// What one process used, without the children that were seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OwnUsage {
    /// CPU in programs, in microseconds.
    pub(crate) user_us: u64,
    /// CPU in the kernel, in microseconds.
    pub(crate) system_us: u64,
    /// Bytes that read calls returned, if known.
    pub(crate) rchar: Option<u64>,
    /// Bytes that write calls took, if known.
    pub(crate) wchar: Option<u64>,
}

/// What each process used; `None` when nothing is known of it.
///
/// A child's counters are read for the last time a little before it ends; what it used in between
/// shows only in its parent's counters of waited-for children. That rest is given to the children
/// that ended, by the time in which they were not looked at, at most one core each; what then
/// remains (children never seen) stays with the parent.
pub(crate) fn usage_by_process(seen: &ObservedRun) -> Vec<Option<OwnUsage>> {
    let rows = &seen.processes;
    let mut used: Vec<Option<OwnUsage>> =
        rows.iter().map(|row| row.counters.map(own_usage)).collect();
    let mut ended: Vec<Vec<usize>> = vec![Vec::new(); rows.len()];
    for child in (0..rows.len()).filter(|&child| rows[child].ended.is_some()) {
        if let Some(parent) = seen.parent(child) {
            ended[parent].push(child);
        }
    }
    let whole = usage_with_children(seen, &ended);
    for (parent, counters) in rows.iter().enumerate().filter_map(|(i, r)| Some((i, r.counters?))) {
        let known = |of: fn(&OwnUsage) -> u64| ended[parent].iter().map(|&c| of(&whole[c])).sum();
        let rest_user = counters.children_user.0.saturating_sub(known(|u| u.user_us));
        let rest_system = counters.children_system.0.saturating_sub(known(|u| u.system_us));
        let left = distribute_rest(seen, &ended[parent], (rest_user, rest_system), &mut used);
        let account = used[parent].get_or_insert_default();
        account.user_us += left.0;
        account.system_us += left.1;
        // The kernel adds the bytes of a waited-for child to its parent's.
        let less = |n: Option<u64>, of: fn(&OwnUsage) -> u64| Some(n?.saturating_sub(known(of)));
        account.rchar = less(account.rchar, |u| u.rchar.unwrap_or(0));
        account.wchar = less(account.wchar, |u| u.wchar.unwrap_or(0));
    }
    used
}

/// What is known of each process together with its ended children and theirs.
fn usage_with_children(seen: &ObservedRun, ended: &[Vec<usize>]) -> Vec<OwnUsage> {
    let mut whole = vec![OwnUsage::default(); seen.processes.len()];
    for &process in seen.order().iter().rev() {
        let below = |of: fn(&OwnUsage) -> u64| -> u64 {
            ended[process].iter().map(|&child| of(&whole[child])).sum()
        };
        let (user, system) = (below(|u| u.user_us), below(|u| u.system_us));
        let (rchar, wchar) = (below(|u| u.rchar.unwrap_or(0)), below(|u| u.wchar.unwrap_or(0)));
        // Its own counters of children may be older than the last look at the children.
        whole[process] = match &seen.processes[process].counters {
            None => OwnUsage {
                user_us: user,
                system_us: system,
                rchar: Some(rchar),
                wchar: Some(wchar),
            },
            Some(c) => OwnUsage {
                user_us: c.user.0 + c.children_user.0.max(user),
                system_us: c.system.0 + c.children_system.0.max(system),
                rchar: Some(c.io.map_or(0, |io| io.rchar.0).max(rchar)),
                wchar: Some(c.io.map_or(0, |io| io.wchar.0).max(wchar)),
            },
        };
    }
    whole
}

/// Gives a rest of CPU (in programs, in the kernel) to ended children; what could not be given.
fn distribute_rest(
    seen: &ObservedRun,
    ended: &[usize],
    rest: (u64, u64),
    used: &mut [Option<OwnUsage>],
) -> (u64, u64) {
    let mut left = rest;
    let all_us: u64 = ended.iter().map(|&child| unsampled_time_us(seen, child)).sum();
    let part = |of: u64, by: u64, all: u64| match all {
        0 => 0,
        all => u64::try_from(u128::from(of) * u128::from(by) / u128::from(all)).unwrap_or(of),
    };
    for &child in ended {
        let us = unsampled_time_us(seen, child);
        let (user, system) = (part(rest.0, us, all_us), part(rest.1, us, all_us));
        let both = user + system;
        if both == 0 {
            continue;
        }
        let (user, system) = (part(user, us.min(both), both), part(system, us.min(both), both));
        let account = used[child].get_or_insert_default();
        account.user_us += user;
        account.system_us += system;
        left = (left.0 - user, left.1 - system);
    }
    left
}

fn own_usage(counters: ProcessCounters) -> OwnUsage {
    OwnUsage {
        user_us: counters.user.0,
        system_us: counters.system.0,
        rchar: counters.io.map(|io| io.rchar.0),
        wchar: counters.io.map(|io| io.wchar.0),
    }
}

/// How long an ended process ran after its counters were read for the last time.
fn unsampled_time_us(seen: &ObservedRun, process: usize) -> u64 {
    let row = &seen.processes[process];
    let since = row.counters.map(|c| c.at).or(row.started);
    match (row.ended, since) {
        (Some(ended), Some(since)) => ended.since(since).0,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    //! If these fail, CPU time is counted twice or put down to the shell.
    use super::*;
    use crate::tasks::tests::{counted, process};
    use crate::{Micros, ProcessIo};

    #[test]
    fn nothing_is_counted_twice_and_nothing_is_lost() {
        let mut shell = counted(process(1, None, "bash"), 100, 10);
        if let Some(c) = &mut shell.counters {
            c.children_user = Micros(1_000);
        }
        let mut tool = counted(process(2, Some(1), "bwa"), 700, 0);
        tool.ended = Some(Micros(5_000_250));
        let seen = ObservedRun::new(vec![shell, tool], vec![], vec![]);
        let used = usage_by_process(&seen);
        let user: Vec<u64> = used.iter().map(|u| u.expect("counted").user_us).collect();
        // 300 were used after the last look; at most 250 of them by `bwa`, on one core.
        assert_eq!(user, [150, 950]);
    }

    #[test]
    fn a_child_never_counted_gets_what_its_parent_waited_for() {
        let mut shell = counted(process(1, None, "bash"), 5, 0);
        if let Some(c) = &mut shell.counters {
            c.children_system = Micros(400);
            c.io = Some(ProcessIo { rchar: crate::ByteCount(9), ..ProcessIo::default() });
        }
        let mut tool = process(2, Some(1), "true");
        tool.ended = Some(Micros(tool.started.expect("started").0 + 10_000));
        let seen = ObservedRun::new(vec![shell, tool], vec![], vec![]);
        let used = usage_by_process(&seen);
        assert_eq!(used[1].expect("given").system_us, 400);
        assert_eq!(used[0].expect("counted").system_us, 0);
        assert_eq!(
            (used[0].expect("counted").rchar, used[1].expect("given").rchar),
            (Some(9), None)
        );
    }

    #[test]
    fn a_grandchild_is_not_counted_again_through_a_parent_never_counted() {
        let mut shell = counted(process(1, None, "bash"), 0, 0);
        if let Some(c) = &mut shell.counters {
            c.children_user = Micros(700);
        }
        let mut between = process(2, Some(1), "sh -c bwa");
        between.ended = Some(Micros::from_secs(9));
        let mut tool = counted(process(3, Some(2), "bwa"), 700, 0);
        tool.ended = Some(Micros::from_secs(5));
        let seen = ObservedRun::new(vec![shell, between, tool], vec![], vec![]);
        let total: u64 = usage_by_process(&seen).iter().flatten().map(|u| u.user_us).sum();
        assert_eq!(total, 700);
    }
}
