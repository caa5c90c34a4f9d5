//! The machines of a run on one line of time: the one that it ran on, and those beside it (servers,
//! other nodes) that `forebay sample` looked at. Clocks are told apart by nothing but their time of
//! day: machines must agree on it (NTP), or their samples lie as far off as they disagree.

use crate::{ByteCount, MachineSample, Micros, Result, Run};

/// A machine, and what was sampled on it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MachineTimeline {
    /// Its name; empty if not known.
    pub name: String,
    /// Its cores, if known.
    pub cpus: Option<u32>,
    /// Its memory, if known.
    pub memory: Option<ByteCount>,
    /// In order of time, counted from the start of the run. Empty: it was not looked at then.
    pub samples: Vec<MachineSample>,
}

/// The machine of a run first, then each of `others`, within the time that the run took. Samples of
/// a machine that is known already fill only the time of which nothing is known of it.
///
/// # Errors
/// [`Kind::Damaged`](crate::Kind::Damaged) or [`Kind::Io`](crate::Kind::Io) of a run file.
pub fn align_machines(run: &Run, others: &[Run]) -> Result<Vec<MachineTimeline>> {
    let (start, first) = machine_of_run(run)?;
    let last = first.samples.iter().map(|sample| sample.at).max();
    let ended = run.ended()?.map(|ended| ended.at);
    let end = ended.max(last).unwrap_or(Micros(u64::MAX));
    let mut all = vec![first];
    for other in others {
        let (its_start, mut next) = machine_of_run(other)?;
        next.samples = shift_samples(next.samples, its_start, start, end);
        match all.iter_mut().find(|known| !known.name.is_empty() && known.name == next.name) {
            Some(known) => add_around_known(&mut known.samples, next.samples),
            None => all.push(next),
        }
    }
    Ok(all)
}

/// The machine of one file, and when its times begin.
fn machine_of_run(run: &Run) -> Result<(Micros, MachineTimeline)> {
    let (header, samples) = (run.header()?, run.samples()?);
    let name = header.host.unwrap_or_default();
    Ok((
        header.started_unix,
        MachineTimeline { name, cpus: header.cpus, memory: header.memory, samples },
    ))
}

/// Samples by another start; those outside `0..end` are left out.
fn shift_samples(
    samples: Vec<MachineSample>,
    from: Micros,
    to: Micros,
    end: Micros,
) -> Vec<MachineSample> {
    let moved = samples.into_iter().filter_map(|sample| {
        let at = Micros((from + sample.at).0.checked_sub(to.0)?);
        (at <= end).then_some(MachineSample { at, ..sample })
    });
    moved.collect()
}

/// Adds what lies before and after what is known.
fn add_around_known(known: &mut Vec<MachineSample>, more: Vec<MachineSample>) {
    let span = known.first().zip(known.last()).map(|(first, last)| first.at..=last.at);
    let new =
        more.into_iter().filter(|sample| !span.as_ref().is_some_and(|s| s.contains(&sample.at)));
    known.extend(new);
    known.sort_by_key(|sample| sample.at);
}

#[cfg(test)]
mod tests {
    //! If these fail, a server is blamed for what it did at another time, or counted twice.
    use super::*;
    use crate::{Fact, Header, NetworkSample, RunEnd, RunWriter};

    fn file(
        host: &str,
        start_s: u64,
        at_s: &[u64],
        end_s: Option<u64>,
    ) -> (tempfile::TempDir, Run) {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a.run");
        let (host, started_unix) = (Some(host.to_owned()), Micros::from_secs(start_s));
        let header = Header { host, started_unix, ..Header::default() };
        let mut writer = RunWriter::create_in_place(&path, header).expect("a run");
        let network = |at: u64| NetworkSample {
            name: "eth0".into(),
            received: ByteCount(at),
            sent: ByteCount(1),
        };
        let mut facts: Vec<Fact> = at_s
            .iter()
            .map(|at| MachineSample {
                at: Micros::from_secs(*at),
                networks: vec![network(*at)],
                ..MachineSample::default()
            })
            .map(Fact::Sample)
            .collect();
        facts.extend(end_s.map(|end| {
            let (cpu_user, cpu_system) = (None, None);
            let at = Micros::from_secs(end);
            Fact::Ended(RunEnd { at, exit: None, cpu_user, cpu_system, complete: true })
        }));
        writer.write_facts(&facts).expect("facts");
        writer.close_in_place().expect("closed");
        assert!(!directory.path().join("a.run-wal").exists(), "one file is left");
        let run = Run::open(&path).expect("readable");
        (directory, run)
    }

    fn times(machine: &MachineTimeline) -> Vec<u64> {
        machine.samples.iter().map(|sample| sample.at.0 / 1_000_000).collect()
    }

    #[test]
    fn machines_are_laid_on_the_time_of_the_run() {
        let (_a, run) = file("node", 1000, &[1, 2, 3], Some(4));
        let (_b, before) = file("filer", 998, &[1, 2, 3, 5, 6, 9], None);
        let (_c, later) = file("late", 2000, &[1], None);
        let all = align_machines(&run, &[before, later]).expect("read");
        let names: Vec<&str> = all.iter().map(|machine| machine.name.as_str()).collect();
        assert_eq!(names, ["node", "filer", "late"]);
        assert_eq!(times(&all[0]), [1, 2, 3]);
        assert_eq!(times(&all[1]), [0, 1, 3, 4], "what was before and after is not of the run");
        assert_eq!(all[1].samples[2].networks[0].received, ByteCount(5), "the same second");
        assert_eq!(times(&all[2]), [0u64; 0]);
    }

    #[test]
    fn one_machine_that_was_sampled_twice_is_not_counted_twice() {
        let (_a, run) = file("node", 1000, &[2, 3], Some(9));
        let (_b, same) = file("node", 1000, &[1, 2, 3, 4], None);
        let all = align_machines(&run, &[same]).expect("read");
        assert_eq!(all.len(), 1);
        assert_eq!(times(&all[0]), [1, 2, 3, 4]);
    }
}
