//! Several threads at once, each in a directory of its own.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::Instant;

use super::bounds::{ProbeBudget, ProbeStop};
use super::calls::ThreadDirectory;
use super::memory::AlignedBuffer;
use rustix::fs::{Mode, OFlags, openat};

/// What a thread works with.
#[derive(Debug)]
pub(super) struct ProbeWorker<'b> {
    pub(super) caller: ThreadDirectory<'b>,
    pub(super) bytes: AlignedBuffer,
}

impl<'b> ProbeWorker<'b> {
    /// A directory in `dir` for one more thread.
    pub(super) fn new(
        bounds: &'b ProbeBudget,
        dir: &ThreadDirectory<'b>,
        size: usize,
    ) -> Result<Self, ProbeStop> {
        let name = bounds.unused_name();
        dir.mkdir(&name)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = dir.timed_call("open", 0, || openat(&dir.dir, &name, flags, Mode::empty()))?.0;
        Ok(Self {
            caller: ThreadDirectory { bounds, dir },
            bytes: AlignedBuffer::new(size, bounds.used_so_far().0),
        })
    }
}

/// The same in each worker, begun at one moment: seconds until the last one is done.
pub(super) fn run_together<W: Send>(
    workers: &mut [W],
    job: impl Fn(&mut W, usize) -> Result<(), ProbeStop> + Sync,
) -> Result<f64, ProbeStop> {
    if let [worker] = workers {
        let began = Instant::now();
        job(worker, 0)?;
        return Ok(began.elapsed().as_secs_f64());
    }
    let (count, ready, go) = (workers.len(), AtomicUsize::new(0), AtomicBool::new(false));
    let ends: Vec<Result<Instant, ProbeStop>> = std::thread::scope(|scope| {
        let start = |(number, worker)| {
            let (job, ready, go) = (&job, &ready, &go);
            scope.spawn(move || {
                ready.fetch_add(1, SeqCst);
                // Waking sleepers one by one would take longer than quick operations do.
                while !go.load(SeqCst) {
                    std::thread::yield_now();
                }
                job(worker, number).map(|()| Instant::now())
            })
        };
        let threads: Vec<_> = workers.iter_mut().enumerate().map(start).collect();
        while ready.load(SeqCst) < count {
            std::thread::yield_now();
        }
        let began = Instant::now();
        go.store(true, SeqCst);
        let ends = threads.into_iter().map(|thread| thread.join().expect("it does not panic"));
        let mut ends: Vec<_> = ends.collect();
        ends.push(Ok(began));
        ends
    });
    let mut ends = ends.into_iter().collect::<Result<Vec<Instant>, ProbeStop>>()?;
    let began = ends.pop().expect("the begin is the last");
    let last = ends.into_iter().max().unwrap_or(began);
    Ok(last.saturating_duration_since(began).as_secs_f64())
}

/// Names by threads: one that is made, closed and removed, `count` times each.
pub(super) fn time_name_cycles(
    workers: &mut [ProbeWorker<'_>],
    count: u64,
) -> Result<f64, ProbeStop> {
    let seconds = run_together(workers, |worker, _| {
        let caller = &worker.caller;
        for _ in 0..count {
            let name = caller.bounds.unused_name();
            caller.refresh_attributes()?;
            caller.close(caller.create(&name)?.0)?;
            caller.refresh_attributes()?;
            caller.unlink(&name)?;
        }
        Ok(())
    })?;
    Ok(seconds / count as f64)
}
