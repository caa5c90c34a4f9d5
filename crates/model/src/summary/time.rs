//! Where the time of tasks went, and whether storage holds the run up. The one place that says so:
//! all views print what is here, and none of them divides again.

use super::ClassSummary;
use crate::Micros;
use crate::run::TaskRow;
use serde::{Deserialize, Serialize};

/// From these shares of the tasks' time on, storage is worth a look, and what holds a run up.
const NOTICED: f64 = 0.05;
const MUCH: f64 = 0.3;

/// The wall time of tasks, summed, and what it was spent on: parts that add up to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeSplit {
    /// What all shares are of: from start to end of each task whose ends were seen.
    pub tasks_us: Micros,
    /// Waiting for storage; of operations that run beside each other at most the task's time.
    /// `None`: not known of any task.
    pub storage_us: Option<Micros>,
    /// At work on at least one CPU. `None`: not known of any task.
    pub computing_us: Option<Micros>,
    /// Ready to compute, while all CPUs were taken. `None`: not known of any task.
    pub cpu_wait_us: Option<Micros>,
    /// Asleep, or waiting for something else: pipes, network, locks, timers.
    pub elsewhere_us: Micros,
    /// The rest, of tasks of which CPU or waits are not known.
    pub unknown_us: Micros,
}

impl TimeSplit {
    /// Of these tasks, which ran beside each other or not.
    pub fn from_tasks<'t>(tasks: impl IntoIterator<Item = &'t TaskRow>) -> Self {
        let mut split = Self::default();
        tasks.into_iter().for_each(|task| split.add_task(task));
        split
    }

    fn add_task(&mut self, task: &TaskRow) {
        let (Some(from), Some(to)) = (task.started, task.ended) else { return };
        let mut left = to.since(from);
        self.tasks_us += left;
        let mut take = |time: Option<Micros>, sum: &mut Option<Micros>| {
            if let Some(time) = time.map(|time| time.min(left)) {
                left = left.since(time);
                *sum = Some(sum.unwrap_or_default() + time);
            }
        };
        let cpu = task
            .cpu_user
            .or(task.cpu_system)
            .map(|_| task.cpu_user.unwrap_or_default() + task.cpu_system.unwrap_or_default());
        take(task.waited, &mut self.storage_us);
        take(cpu, &mut self.computing_us);
        take(task.cpu_wait, &mut self.cpu_wait_us);
        match task.waited.and(cpu) {
            Some(_) => self.elsewhere_us += left,
            None => self.unknown_us += left,
        }
    }

    /// A part as a share of all, 0 to 1; `None` without a task's time.
    pub fn share_of_time(&self, part: Micros) -> Option<f64> {
        (self.tasks_us > Micros::ZERO).then(|| part.0 as f64 / self.tasks_us.0 as f64)
    }

    /// Of the tasks' time, what they waited for storage.
    pub fn storage_share(&self) -> Option<f64> {
        self.share_of_time(self.storage_us?)
    }

    /// Of the tasks' time, what they computed.
    pub fn computing_share(&self) -> Option<f64> {
        self.share_of_time(self.computing_us?)
    }
}

/// Is it the storage?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StorageJudgement {
    /// It holds the run up.
    Storage,
    /// It takes its part.
    Part,
    /// It does not hold the run up, as far as was seen.
    NotStorage,
    /// How long tasks waited for it is not known.
    NotKnown,
}

impl StorageJudgement {
    /// By the share of the tasks' time that they waited for storage.
    pub fn from_share(share: Option<f64>) -> Self {
        match share {
            None => Self::NotKnown,
            Some(share) if share >= MUCH => Self::Storage,
            Some(share) if share >= NOTICED => Self::Part,
            Some(_) => Self::NotStorage,
        }
    }
}

/// Whether storage holds the run up, for every view.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StorageVerdict {
    /// In a word.
    pub judgement: StorageJudgement,
    /// For people; names are as they are in the run.
    pub sentence: String,
}

impl StorageVerdict {
    /// Of so many tasks; `hidden`: bytes went past Forebay, and their waits with them.
    pub(super) fn from_time_split(
        split: &TimeSplit,
        tasks: u64,
        hidden: bool,
        classes: &[ClassSummary],
    ) -> Self {
        let share = split.storage_share();
        let judgement = StorageJudgement::from_share(share);
        let lead = match judgement {
            StorageJudgement::Storage => "Storage holds this run up",
            StorageJudgement::Part => "Storage takes its part of this run",
            StorageJudgement::NotStorage if hidden => {
                "As far as was seen, storage does not hold this run up"
            }
            StorageJudgement::NotStorage => "Storage does not hold this run up",
            StorageJudgement::NotKnown => {
                "How long tasks waited for storage is not known of this run"
            }
        };
        let mut sentence = lead.to_owned();
        if let Some(share) = share {
            let who = if tasks == 1 { "its task".to_owned() } else { format!("its {tasks} tasks") };
            let whose = if tasks == 1 { "its" } else { "their" };
            sentence +=
                &format!(": {who} waited for it in {} of {whose} time", format_percent(share));
            if let Some(class) =
                classes.first().filter(|_| judgement != StorageJudgement::NotStorage)
            {
                let (kind, pattern) = (class.mostly.replace('_', " "), &class.pattern);
                sentence += &format!(", most of it for {kind} of files such as {pattern}");
            }
        }
        sentence.push('.');
        if let Some(rest) = other_time_sentence(split, hidden) {
            sentence += &rest;
        }
        Self { judgement, sentence }
    }
}

/// What else the time went to.
fn other_time_sentence(split: &TimeSplit, hidden: bool) -> Option<String> {
    let share = |part| split.share_of_time(part).map(format_percent);
    let computing = share(split.computing_us?)?;
    let mut parts = Vec::new();
    if let Some(wait) = split.cpu_wait_us.filter(|wait| *wait > Micros::ZERO) {
        parts.push(format!("waiting for a CPU {}", share(wait)?));
    }
    if split.elsewhere_us > Micros::ZERO {
        let what = match hidden {
            true => "asleep or waiting for what was not seen (bytes past Forebay, pipes, network)",
            false => "asleep or waiting for something else (pipes, network, timers)",
        };
        parts.push(format!("{what} {}", share(split.elsewhere_us)?));
    }
    if split.unknown_us > Micros::ZERO {
        parts.push(format!("not known {}", share(split.unknown_us)?));
    }
    let parts: String = parts.iter().map(|part| format!(", {part}")).collect();
    Some(format!(" Of the same time, computing was {computing}{parts}."))
}

/// A share of 1 in percent, in all sentences alike.
pub fn format_percent(share: f64) -> String {
    match share * 100.0 {
        p if p <= 0.0 => "0 %".to_owned(),
        p if p < 1.0 => "less than 1 %".to_owned(),
        p => format!("{p:.0} %"),
    }
}

#[cfg(test)]
mod tests {
    //! If these fail, the parts of a run's time do not add up to it, or views disagree.
    use super::*;

    fn task(wall: u64, waited: Option<u64>, cpu: Option<u64>, cpu_wait: Option<u64>) -> TaskRow {
        let s = |time: Option<u64>| time.map(Micros::from_secs);
        TaskRow {
            started: Some(Micros::from_secs(1)),
            ended: Some(Micros::from_secs(1 + wall)),
            waited: s(waited),
            cpu_user: s(cpu),
            cpu_wait: s(cpu_wait),
            ..TaskRow::default()
        }
    }

    #[test]
    fn parts_add_up_to_the_time_of_tasks() {
        for (tasks, parts) in [
            (vec![task(10, Some(3), Some(4), Some(1))], [Some(3), Some(4), Some(1), Some(2)]),
            // Eight cores and many waits at once: no part is longer than the task.
            (vec![task(10, Some(3), Some(80), Some(5))], [Some(3), Some(7), Some(0), Some(0)]),
            (vec![task(10, Some(99), Some(80), None)], [Some(10), Some(0), None, Some(0)]),
            (
                vec![task(10, Some(1), Some(9), None), task(10, Some(0), Some(0), None)],
                [Some(1), Some(9), None, Some(10)],
            ),
            (vec![], [None, None, None, Some(0)]),
        ] {
            let split = TimeSplit::from_tasks(&tasks);
            let found = [split.storage_us, split.computing_us, split.cpu_wait_us];
            let seconds = |time: Option<Micros>| time.map(|time| time.0 / 1_000_000);
            assert_eq!(found.map(seconds), parts[..3], "{split:?}");
            assert_eq!(seconds(Some(split.elsewhere_us)), parts[3], "{split:?}");
            let all = found.into_iter().flatten().sum::<Micros>() + split.elsewhere_us;
            assert_eq!(all, split.tasks_us);
        }
    }

    #[test]
    fn what_is_not_known_is_called_so() {
        let split =
            TimeSplit::from_tasks(&[task(10, Some(1), None, None), task(10, None, Some(4), None)]);
        assert_eq!(split.unknown_us, Micros::from_secs(15));
        let verdict = StorageVerdict::from_time_split(&split, 2, false, &[]);
        assert_eq!(
            verdict.sentence,
            "Storage takes its part of this run: its 2 tasks waited for it in 5 % of their time. \
             Of the same time, computing was 20 %, not known 75 %."
        );
        let nothing = StorageVerdict::from_time_split(
            &TimeSplit::from_tasks(&[task(9, None, None, None)]),
            1,
            false,
            &[],
        );
        assert_eq!(nothing.judgement, StorageJudgement::NotKnown);
        assert_eq!(nothing.sentence, "How long tasks waited for storage is not known of this run.");
    }
}
