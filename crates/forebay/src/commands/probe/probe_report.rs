//! A probe in words.

use std::path::PathBuf;
use std::time::Duration;

use forebay_model::{ByteCount, Reach};
use forebay_plan::calibrate::{Batch, Calibration, LimitKind, NoLimitReason};

use super::bounds::ProbeBudget;
use super::measured_figures::{self, Figure};
use super::probed_directory::ProbedDirectory;
use super::rounds::ProbeFindings;
use crate::console;
use forebay_model::civil_from_days;

/// What was probed, when, and what was found.
#[derive(Debug)]
pub(super) struct ProbeReport {
    pub(super) dir: PathBuf,
    pub(super) fs_type: String,
    pub(super) reach: Reach,
    pub(super) date: String,
    pub(super) kernel: String,
    pub(super) used: (u64, ByteCount),
    pub(super) took: Duration,
    pub(super) found: ProbeFindings,
}

impl ProbeReport {
    pub(super) fn from_measurements(
        ground: &ProbedDirectory,
        bounds: &ProbeBudget,
        found: ProbeFindings,
    ) -> Self {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let (year, month, day) =
            civil_from_days((now.unwrap_or_default().as_secs() / 86_400) as i64);
        let system = rustix::system::uname();
        let release = system.release().to_string_lossy().into_owned();
        let kernel = release.split('.').take(2).collect::<Vec<_>>().join(".");
        Self {
            dir: ground.dir.clone(),
            fs_type: ground.fs_type.clone(),
            reach: ground.reach,
            date: format!("{year:04}-{month:02}-{day:02}"),
            kernel: format!("{} {kernel}", system.sysname().to_string_lossy()),
            used: bounds.used_so_far(),
            took: bounds.elapsed_time(),
            found,
        }
    }

    /// Where the numbers come from, as a profile says it.
    pub(super) fn source_line(&self) -> String {
        let threads = self.found.measured.keys().map(|(_, threads)| *threads).max().unwrap_or(1);
        let (operations, bytes) = self.used;
        format!(
            "forebay probe, {}, {}, {}: {} operations, {bytes} in {:.0} s, up to {threads} at once",
            self.date,
            self.fs_type,
            self.kernel,
            console::group_thousands(operations),
            self.took.as_secs_f64()
        )
    }

    pub(super) fn batches(&self) -> Vec<Batch> {
        let measured = self.found.measured.iter();
        let batches = measured.filter_map(|((figure, threads), seconds)| {
            measured_figures::make_batch(*figure, *threads, &self.found.sizes, seconds.clone())
        });
        batches.collect()
    }

    /// Bytes a second into memory, before an fsync: what a program sees that writes little.
    pub(super) fn unsynced_rate(&self) -> Option<f64> {
        let seconds = self.found.measured.get(&(Figure::IntoMemory, 1))?;
        let median = forebay_plan::compare::median_with_interval(seconds)?.median;
        let bytes = self.found.sizes.pieces_per_thread(1) * measured_figures::PIECE as u64;
        (median > 0.0).then(|| bytes as f64 / median)
    }
}

/// What is missing in the profile, and why, in sentences without a full stop.
pub(super) fn list_missing_numbers(probe: &ProbeReport, fitted: &Calibration) -> Vec<String> {
    let mut all = probe.found.left_out.clone();
    let left_out = |what: &String| format!("left out: {what}");
    for (limited, why) in &fitted.unlimited {
        let what = match limited {
            LimitKind::Read => "all reads",
            LimitKind::Write => "all writes",
            LimitKind::Names => "names_per_second",
            LimitKind::Data => "data_per_second",
        };
        let why = match why {
            NoLimitReason::Growing => "more threads still got more done",
            NoLimitReason::Explained => "prices and the other limits explain what was measured",
            NoLimitReason::Uneven => "one thread alone gets more of some than many get of others",
        };
        all.push(format!("limit of {what}: {why}"));
    }
    probe.found.ended.iter().cloned().chain(all.iter().map(left_out)).collect()
}

/// By how much the simulator is off where it is off the most.
pub(super) fn largest_simulation_error(batches: &[Batch], fitted: &Calibration) -> Option<String> {
    let (place, off) = fitted.worst_batch_error(batches)?;
    let batch = &batches[place];
    let threads = if batch.threads == 1 { "thread" } else { "threads" };
    let way = if off < 0.0 { "shorter" } else { "longer" };
    Some(format!(
        "simulated, \"{}\" with {} {threads} takes {:.0} % {way} than measured, and the other {} \
         batches are nearer",
        batch.name,
        batch.threads,
        off.abs() * 100.0,
        batches.len() - 1
    ))
}

pub(super) fn report_probe(probe: &ProbeReport, batches: &[Batch], fitted: &Calibration) {
    let (operations, bytes) = probe.used;
    let (count, took) = (console::group_thousands(operations), probe.took.as_secs_f64());
    console::note(&format!(
        "{} rounds, {count} operations, {bytes} in {took:.0} s",
        probe.found.rounds
    ));
    for why in list_missing_numbers(probe, fitted) {
        console::note(&why);
    }
    if let Some(words) = largest_simulation_error(batches, fitted) {
        console::note(&words);
    }
}
