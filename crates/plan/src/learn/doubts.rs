//! What a workload that was learnt from one run does not know for sure, and how much of the
//! predicted time that may concern.

use super::timeline::Timeline;
use crate::loaded_run::LoadedRun;
use forebay_model::run::note_key;
use forebay_model::workload::{Assumption, TimePart};

/// What was found on the way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LearningGaps {
    /// Share of all bytes that nobody saw.
    pub(super) bytes_guessed: f64,
    /// Operations of kinds that this Forebay does not know.
    pub(super) strange: u64,
    /// Share of the tasks' time in which they neither computed nor were seen to wait.
    pub(super) idle: f64,
    /// Where the order of tasks is guessed: the share of the run in which cores were idle, which a
    /// wrong guess explains by waits that are none, or by none that are.
    pub(super) order_guessed: Option<f64>,
}

pub(super) fn collect_doubts(
    rows: &LoadedRun,
    line: &Timeline,
    found: &LearningGaps,
) -> Vec<Assumption> {
    let mut all = Vec::new();
    let mut add_of = |concerns: TimePart, share: f64, what: String| {
        if share > 0.0 {
            all.push(Assumption { what, share: share.min(1.0), concerns });
        }
    };
    // Whatever took CPUs meanwhile, waits for storage are as long.
    if let Some(share) = rows.others_share.filter(|share| *share >= 0.05) {
        let told = format!("{:.0} %", share * 100.0);
        add_of(
            TimePart::Computing,
            share,
            format!(
                "other programs (Forebay itself among them) took {told} of the machine's CPU time \
                 during the run, so tasks may have computed longer than they need"
            ),
        );
    }
    let mut add = |share: f64, what: String| add_of(TimePart::Whole, share, what);
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    if let Some(share) = found.order_guessed {
        let what = "what waited for what is guessed from times: neither files nor records say it";
        add(share.max(0.01), what.to_owned());
    }
    if found.bytes_guessed > 0.0 && !rows.ops.is_empty() {
        let (bytes, idle) = (percent(found.bytes_guessed), percent(found.idle));
        add(
            found.idle.max(0.01),
            format!(
                "{bytes} of the bytes went past Forebay, so their operations are guessed and their \
                 waits count as computing: at most {idle} of the tasks' time; a run with `--trace \
                 every-read` tells operation prices"
            ),
        );
    } else if rows.ops.is_empty() {
        add(
            found.idle.max(0.01),
            format!(
                "no operations were recorded, so waits for storage count as computing: at most {} \
                 of the tasks' time; a run under `forebay run --trace every-read` tells them",
                percent(found.idle)
            ),
        );
    }
    // Less rounds to nothing, and reads like a joke.
    if let Some(share) = rows.outside_share.filter(|share| *share >= 0.005) {
        let share_told = percent(share);
        add(
            share * found.idle,
            format!("{share_told} of the bytes that were noticed moved outside of the directory"),
        );
    }
    if rows.header.note(&note_key::WHOLE_FOLDERS).is_some_and(|folders| folders > 0) {
        let what = "whole folders were on tiers, and what happened in them was not recorded: learn \
                    from a run without `whole_folder`";
        add(1.0, what.to_owned());
    }
    let note = |key| rows.header.note(key).unwrap_or_default();
    if note(&note_key::RECORDER) == note_key::NOTIFY {
        let waits = "`--recorder notify` does not see how long calls took, so waits for storage count \
                     as computing";
        if note(&note_key::TRACE) == "every-read" {
            add(0.1, waits.to_owned());
        } else {
            let names = "without `--trace every-read` it does not count look-ups, attributes and \
                         listings, which slow storage makes programs wait for";
            add(0.5, format!("{waits}, and {names}: record with it, or by another recorder"));
        }
    }
    let count = line.ran.len().max(1) as f64;
    add(
        line.timeless as f64 / count,
        format!("of {} of {} tasks the start or the end was not seen", line.timeless, count),
    );
    let failed = |row: usize| rows.tasks[row].exit_status.is_some_and(|status| status != 0);
    let failed = line.ran.iter().filter(|ran| failed(ran.row)).count();
    add(
        failed as f64 / count,
        format!("{failed} of {count} tasks failed; they may have stopped early"),
    );
    if !rows.not_seen.is_empty() {
        let programs: Vec<&str> = rows.not_seen.iter().map(|(name, _)| name.as_str()).collect();
        let share = found.idle.max(0.01);
        add(share, format!("work went where Forebay did not look ({})", programs.join(", ")));
    }
    if !rows.complete && rows.ended.is_none() {
        add(0.01, "the end of the run was not seen, so its last tasks may be missing".to_owned());
    }
    if found.strange > 0 {
        let count = found.strange;
        add(0.01, format!("{count} operations are of kinds that this Forebay does not know"));
    }
    all
}
