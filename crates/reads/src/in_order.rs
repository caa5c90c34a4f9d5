//! Work that many threads share, and that one takes in the order in which it was given out.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};

/// Gives `work` to `threads` threads, piece by piece as `jobs` has them, and what comes of it to
/// `take`, in order. Two pieces for each thread are under way or wait, at most.
///
/// `jobs` runs in a thread of its own; it ends with None, and its errors are its own to keep as
/// jobs. The first error of `take` ends everything.
pub(crate) fn run_in_order<J: Send, R: Send, E>(
    threads: usize,
    jobs: impl FnMut() -> Option<J> + Send,
    work: impl Fn(J) -> R + Sync,
    take: impl FnMut(R) -> Result<(), E>,
) -> Result<(), E> {
    run_in_pieces(threads, jobs, |job, give: &mut dyn FnMut(R)| give(work(job)), take)
}

/// The same with work that gives what comes of it piece by piece. Pieces wait as long as those of
/// jobs before them are being taken.
pub(crate) fn run_in_pieces<J: Send, R: Send, E>(
    threads: usize,
    mut jobs: impl FnMut() -> Option<J> + Send,
    work: impl Fn(J, &mut dyn FnMut(R)) + Sync,
    mut take: impl FnMut(R) -> Result<(), E>,
) -> Result<(), E> {
    let threads = threads.max(1);
    let (to_workers, pieces) = sync_channel::<(J, Sender<Option<R>>)>(threads);
    let (to_taker, results) = sync_channel::<Receiver<Option<R>>>(threads);
    let pieces = Mutex::new(pieces);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while let Some(job) = jobs() {
                let (answer, later) = channel();
                // Whoever took went away: nothing more is wanted.
                if to_taker.send(later).is_err() || to_workers.send((job, answer)).is_err() {
                    return;
                }
            }
        });
        let (pieces, work) = (&pieces, &work);
        for _ in 0..threads {
            scope.spawn(move || {
                loop {
                    let next = pieces.lock().expect("nobody panics with it").recv();
                    let Ok((job, answer)) = next else { return };
                    // Nobody may want it any more.
                    work(job, &mut |piece| drop(answer.send(Some(piece))));
                    let _ = answer.send(None);
                }
            });
        }
        for later in results {
            loop {
                match later.recv() {
                    Ok(Some(piece)) => take(piece)?,
                    Ok(None) => break,
                    // A worker panicked, which the end of the scope passes on.
                    Err(_) => return Ok(()),
                }
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    //! Groups in another order would be reads in another order; a taker that fails must not
    //! leave threads behind that wait for it.
    use super::*;

    #[test]
    fn results_come_in_the_order_of_jobs() {
        for threads in [1, 2, 7] {
            let mut numbers = 0..500_u64;
            let mut got = Vec::new();
            let slow = |n: u64| {
                std::thread::sleep(std::time::Duration::from_micros(n * 37 % 200));
                n * n
            };
            let take = |n| -> Result<(), ()> {
                got.push(n);
                Ok(())
            };
            run_in_order(threads, || numbers.next(), slow, take).expect("nobody fails");
            assert_eq!(got, (0..500).map(|n| n * n).collect::<Vec<u64>>());
        }
    }

    #[test]
    fn pieces_of_a_job_stay_together() {
        for threads in [1, 3] {
            let mut numbers = 0..50_u64;
            let mut got = Vec::new();
            let work = |n: u64, give: &mut dyn FnMut((u64, u64))| {
                for piece in 0..n % 4 {
                    std::thread::yield_now();
                    give((n, piece));
                }
            };
            let take = |piece| -> Result<(), ()> {
                got.push(piece);
                Ok(())
            };
            run_in_pieces(threads, || numbers.next(), work, take).expect("nobody fails");
            let expected = (0..50).flat_map(|n| (0..n % 4).map(move |piece| (n, piece)));
            assert_eq!(got, expected.collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_first_error_ends_all() {
        let mut given = 0;
        let jobs = || {
            given += 1;
            Some(given)
        };
        let end = run_in_order(3, jobs, |n| n, |n| if n == 5 { Err("five") } else { Ok(()) });
        assert_eq!(end, Err("five"));
        assert!(given < 30, "{given} jobs were begun");
    }
}
