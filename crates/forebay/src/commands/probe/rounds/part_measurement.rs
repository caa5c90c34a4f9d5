//! One part of one round.

use rustix::io::Errno;

use super::round_parts::RoundPart;
use super::{ProbeRounds, is_known_precisely};
use crate::commands::probe::bounds::ProbeStop;
use crate::commands::probe::chains::{self, FigureSums, add_time};
use crate::commands::probe::file_throughput;
use crate::commands::probe::measured_figures::Figure;
use crate::commands::probe::together::{self, ProbeWorker};

/// About so long one part is measured in one round.
const SLICE: f64 = 0.15;
/// Calls that a file takes that was laid up.
const PRESENT_CALLS: u64 = 8;

impl ProbeRounds<'_> {
    /// One part of a round. What was not measured to its end does not count.
    pub(super) fn measure_part(&mut self, part: RoundPart) -> Result<(), ProbeStop> {
        let result = self.check_reserve(part).and_then(|()| match part {
            RoundPart::Data(threads) => self.measure_data(threads),
            _ => self.measure_calls(part),
        });
        match result {
            Ok(()) if is_known_precisely(&self.found.measured, part.deciding_figures()) => {
                self.finish_part(part, "known")
            }
            Ok(()) => {}
            Err(ProbeStop::Over(why)) => self.finish_part(part, why),
            Err(ProbeStop::Failed(what, errno)) if is_unsupported(part, errno) => {
                self.found.left_out.push(format!("{what}: {errno}"));
                self.finish_part(part, "can't");
            }
            Err(halt) => return Err(halt),
        }
        Ok(())
    }

    /// Those that wait until their names are forgotten are kept a part of the operations.
    fn check_reserve(&self, part: RoundPart) -> Result<(), ProbeStop> {
        let waiting = if part == RoundPart::Present { 0 } else { self.laid_up.len() as u64 };
        self.bounds.check_allowance(waiting * PRESENT_CALLS, 0)
    }

    fn finish_part(&mut self, part: RoundPart, why: &'static str) {
        self.over.insert(part, why);
    }

    fn measure_calls(&mut self, part: RoundPart) -> Result<(), ProbeStop> {
        let once = self.took.get(&part).copied();
        let count =
            once.map_or(1, |took| (SLICE / took.max(1e-9)) as u64).clamp(1, part.repetitions_max());
        let (mut sums, began) = (FigureSums::new(), self.bounds.elapsed_time());
        let ProbeWorker { caller, bytes } = &mut self.workers[0];
        if let RoundPart::Names(threads) = part {
            let workers = &mut self.workers[..threads as usize];
            let seconds = together::time_name_cycles(workers, count)?;
            add_time(&mut sums, Figure::Names, seconds);
        } else {
            for _ in 0..count {
                match part {
                    RoundPart::Absent => chains::measure_absent_name(caller, &mut sums)?,
                    RoundPart::Small => chains::measure_small_file(caller, bytes, &mut sums)?,
                    RoundPart::Syncs => chains::measure_syncs(caller, bytes, &mut sums)?,
                    RoundPart::Dirs => chains::measure_directories(caller, &mut sums)?,
                    RoundPart::Links => chains::measure_links(caller, &mut sums)?,
                    _ => {
                        let Some(name) = self.laid_up.pop() else { break };
                        chains::measure_present_name(caller, &name, bytes, &mut sums)?;
                    }
                }
            }
        }
        let took = (self.bounds.elapsed_time() - began).as_secs_f64() / count as f64;
        let first = self.took.insert(part, took).is_none();
        // A first time that is over at once only tells how long it takes.
        if !first || took >= SLICE || part == RoundPart::Present {
            for (figure, (seconds, count)) in sums {
                let each = seconds / f64::from(count);
                self.found
                    .measured
                    .entry((figure, part.deciding_figures().0))
                    .or_default()
                    .push(each);
            }
        }
        if part == RoundPart::Present && self.laid_up.is_empty() {
            return Err(ProbeStop::Over("known"));
        }
        Ok(())
    }

    fn measure_data(&mut self, threads: u32) -> Result<(), ProbeStop> {
        let sizes = self.found.sizes;
        self.bounds.check_allowance(0, file_throughput::bytes_of_round(threads, &sizes))?;
        let round = file_throughput::measure_round(&mut self.workers[..threads as usize], &sizes)?;
        for (figure, seconds) in round.seconds {
            self.found.measured.entry((figure, threads)).or_default().push(seconds);
        }
        let words = "reads: answered by memory, which nothing here can be kept from";
        if round.from_memory && !self.found.left_out.iter().any(|why| why == words) {
            self.found.left_out.push(words.to_owned());
        }
        Ok(())
    }
}

/// Answers of file systems that can't do something; others mean that no more can be asked. Links are
/// what some have not at all, and they say so with an error of input and output (rclone 1.60).
fn is_unsupported(part: RoundPart, errno: Errno) -> bool {
    matches!(errno, Errno::OPNOTSUPP | Errno::NOSYS | Errno::PERM | Errno::INVAL | Errno::MLINK)
        || part == RoundPart::Links && errno == Errno::IO
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_storage_without_links_is_no_broken_one() {
        assert!(is_unsupported(RoundPart::Links, Errno::IO));
        assert!(!is_unsupported(RoundPart::Small, Errno::IO), "a file that can't be written is");
        assert!(
            is_unsupported(RoundPart::Links, Errno::OPNOTSUPP)
                && !is_unsupported(RoundPart::Links, Errno::NOSPC)
        );
    }
}
