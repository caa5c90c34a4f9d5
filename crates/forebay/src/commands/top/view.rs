//! A daemon at two moments: sums, and rates between them.

use forebay_volume::live::{FileStatus, LiveStatus, OperationTotals, TaskStatus};
use serde_json::{Value, json};

/// What is known of a daemon.
#[derive(Debug, Clone, Default)]
pub(super) struct DaemonView {
    pub(super) now: LiveStatus,
    before: Option<LiveStatus>,
    /// It was not there any more when it was asked last.
    pub(super) ended: bool,
}

impl DaemonView {
    pub(super) fn from_first_look(now: LiveStatus) -> DaemonView {
        DaemonView { now, before: None, ended: false }
    }

    /// What it says now; `None`: it is gone.
    pub(super) fn update_live(&mut self, live: Option<LiveStatus>) {
        match live {
            Some(live) => self.before = Some(std::mem::replace(&mut self.now, live)),
            None => self.ended = true,
        }
    }

    /// Of a sum, how much a second; `None`: it was looked at once only.
    pub(super) fn rate_per_second(&self, of: impl Fn(&LiveStatus) -> u64) -> Option<f64> {
        let before = self.before.as_ref()?;
        let seconds = self.now.at_us.checked_sub(before.at_us).filter(|us| *us > 0)? as f64 / 1e6;
        Some(of(&self.now).saturating_sub(of(before)) as f64 / seconds)
    }

    /// How long one operation of a group took lately, in microseconds; `None`: there was none.
    pub(super) fn mean_time_us(&self, of: fn(&LiveStatus) -> OperationTotals) -> Option<f64> {
        let (now, before) = (of(&self.now), self.before.as_ref().map(of).unwrap_or_default());
        let count = now.count.checked_sub(before.count).filter(|count| *count > 0)?;
        Some(now.time_us.saturating_sub(before.time_us) as f64 / count as f64)
    }

    /// Bytes a second through a file, read and written.
    pub(super) fn file_rates(&self, path: &str) -> Option<(f64, f64)> {
        let of = |live: &LiveStatus| live.files.iter().find(|file| file.path == path).cloned();
        // One that was not among the hot ones before began at nothing that is known.
        of(self.before.as_ref()?)?;
        let sum = |part: fn(&FileStatus) -> u64| {
            move |live: &LiveStatus| of(live).map_or(0, |f| part(&f))
        };
        Some((
            self.rate_per_second(sum(|file| file.read))?,
            self.rate_per_second(sum(|file| file.written))?,
        ))
    }

    /// Bytes a second of a task, read and written; `None`: not known.
    pub(super) fn task_rates(&self, name: &str) -> (Option<f64>, Option<f64>) {
        let of = |live: &LiveStatus, part: fn(&TaskStatus) -> Option<u64>| {
            live.tasks.iter().find(|task| task.name == name).and_then(part)
        };
        let rate = |part: fn(&TaskStatus) -> Option<u64>| {
            of(&self.now, part).and(of(self.before.as_ref()?, part))?;
            self.rate_per_second(|live| of(live, part).unwrap_or(0))
        };
        (rate(|task| task.read), rate(|task| task.written))
    }

    pub(super) fn rates_json(&self) -> Value {
        json!({
            "names": self.rate_per_second(|live| live.names.count),
            "data": self.rate_per_second(|live| live.data.count),
            "syncs": self.rate_per_second(|live| live.syncs.count),
            "read": self.rate_per_second(|live| live.read),
            "written": self.rate_per_second(|live| live.written),
        })
    }
}
