//! Doing the same with many files at a time: storage that is far away answers many requests as soon
//! as one.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Sender, channel};

use rustix::io::Errno;

/// Files at a time where they go to storage that is far away.
pub(super) const FAR: usize = 16;
/// The same on this machine, whose processors are what bounds them.
pub(super) const NEAR: usize = 4;

/// Puts those apart that have the same key: one of each, then another of each. Files of one directory
/// would wait for each other, since the kernel holds a directory while a name is made in it
/// (Documentation/filesystems/directory-locking.rst), and far away that takes a round trip.
pub(super) fn interleave_by_key<T, K: Hash + Eq>(all: &mut [T], key: impl Fn(&T) -> K) {
    let mut turns: HashMap<K, usize> = HashMap::new();
    all.sort_by_cached_key(|one| {
        let turn = turns.entry(key(one)).or_default();
        *turn += 1;
        *turn
    });
}

/// Does `work` with each of all, several at a time; the results are in their order. What it reports
/// meanwhile comes to `report` on this thread. umask(2) of the workers is 0, so that most files have the
/// mode that they are made with.
///
/// A file that finds no room may be the victim of a larger one beside it, which has taken the rest and
/// given it back since: each of them gets the room alone in the end.
pub(super) fn run_in_parallel<T: Sync, R: Send + Sync>(
    workers: usize,
    all: &[T],
    work: impl Fn(&T, &dyn Fn(u64)) -> Result<R, Errno> + Sync,
    mut report: impl FnMut(u64),
) -> Vec<Result<R, Errno>> {
    let mut results = run_workers(workers, all, &work, &mut report);
    let crowded: Vec<usize> = (0..all.len())
        .filter(|at| matches!(results[*at], Err(Errno::NOSPC | Errno::DQUOT)))
        .collect();
    if workers > 1 && !crowded.is_empty() {
        let again: Vec<&T> = crowded.iter().map(|at| &all[*at]).collect();
        let alone =
            run_workers(1, &again, &|one: &&T, tell: &dyn Fn(u64)| work(one, tell), &mut report);
        for (at, result) in crowded.into_iter().zip(alone) {
            results[at] = result;
        }
    }
    results
}

fn run_workers<T: Sync, R: Send + Sync>(
    workers: usize,
    all: &[T],
    work: &(impl Fn(&T, &dyn Fn(u64)) -> Result<R, Errno> + Sync),
    report: &mut impl FnMut(u64),
) -> Vec<Result<R, Errno>> {
    let next = AtomicUsize::new(0);
    let results: Vec<_> = all.iter().map(|_| OnceLock::new()).collect();
    let take = || {
        let at = next.fetch_add(1, Relaxed);
        all.get(at).zip(results.get(at))
    };
    let serve = |reports: Sender<u64>| {
        // Where a thread can't have a mask of its own, modes are set afterwards.
        let _ = forebay_os::credentials::set_umask(0);
        while let Some((one, result)) = take() {
            let tell = |amount| {
                // Who listens does so until all workers are done.
                let _ = reports.send(amount);
            };
            let _ = result.set(work(one, &tell));
        }
    };
    std::thread::scope(|scope| {
        let (reports, heard) = channel();
        let serve = &serve;
        let start = |_: &usize| {
            let reports = reports.clone();
            std::thread::Builder::new().spawn_scoped(scope, move || serve(reports)).is_ok()
        };
        // Where no more threads can be had, those that there are do it; without any, this one,
        // which else keeps its mask.
        let started = (0..workers.min(all.len())).filter(start).count();
        if started == 0 && !all.is_empty() {
            serve(reports.clone());
        }
        drop(reports);
        heard.into_iter().for_each(report);
    });
    results.into_iter().map(|result| result.into_inner().unwrap_or(Err(Errno::IO))).collect()
}

#[cfg(test)]
mod tests {
    //! If these fail, files come home in one another's place, or nobody sees how far they are.
    use super::*;

    #[test]
    fn results_are_in_order_and_reports_are_heard() {
        let all: Vec<u64> = (0..100).collect();
        let mut heard = 0;
        let work = |one: &u64, tell: &dyn Fn(u64)| {
            tell(*one);
            if *one == 7 { Err(Errno::IO) } else { Ok(one * 2) }
        };
        let results = run_in_parallel(FAR, &all, work, |amount| heard += amount);
        assert_eq!(heard, 4950);
        assert_eq!(results[7], Err(Errno::IO));
        assert!(results.iter().zip(&all).all(|(result, one)| *one == 7 || *result == Ok(one * 2)));
        assert!(run_in_parallel(FAR, &[], work, |_| ()).is_empty());
    }

    #[test]
    fn neighbours_are_of_different_directories() {
        let mut all = ["a/1", "a/2", "a/3", "b/1", "c/1", "c/2"];
        interleave_by_key(&mut all, |path| path.as_bytes()[0]);
        assert_eq!(all, ["a/1", "b/1", "c/1", "a/2", "c/2", "a/3"]);
    }

    #[test]
    fn a_file_that_a_larger_one_crowded_out_gets_its_room() {
        use std::sync::Barrier;
        use std::sync::atomic::AtomicU64;
        // Room for ten; the first takes all that is left, fails, and gives it back, while the second
        // looks for its own.
        let (room, taken) = (AtomicU64::new(10), Barrier::new(2));
        let first_try = AtomicU64::new(2);
        let work = |need: &u64, _: &dyn Fn(u64)| {
            let together = first_try.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1));
            let fits = |has: &u64| has >= need;
            let got = if *need > 10 {
                let all = room.swap(0, Relaxed);
                let _ = together.map(|_| (taken.wait(), taken.wait()));
                room.store(all, Relaxed);
                None
            } else {
                let _ = together.map(|_| taken.wait());
                let got = Some(room.load(Relaxed)).filter(fits);
                let _ = together.map(|_| taken.wait());
                got
            };
            got.map(|_| room.fetch_sub(*need, Relaxed)).ok_or(Errno::NOSPC)
        };
        let results = run_in_parallel(2, &[30, 4], work, |_| ());
        assert_eq!(results, [Err(Errno::NOSPC), Ok(10)]);
    }
}
