//! What people are told of copies on faster tiers.

use forebay_model::Micros;
use forebay_volume::ipc::CacheReport;
use forebay_volume::tiers::CacheWarmReport;

use super::file_counts::{count_files, files_and_bytes};
use crate::console;

/// Waiting that a person notices.
const NOTICED: Micros = Micros::from_secs(1);

/// Says what was copied before the command, if it took long, and what could not be.
pub(crate) fn report_warmed_cache(warmed: &CacheWarmReport) {
    warm_up_lines(warmed).iter().for_each(|line| console::note(line));
}

/// Says what the copies were good for.
pub(super) fn report_cache_use(told: &CacheReport) {
    console::note(&cache_use_line(told));
}

fn warm_up_lines(warmed: &CacheWarmReport) -> Vec<String> {
    let mut lines = Vec::new();
    if warmed.took >= NOTICED {
        let (files, bytes) = warmed.copied;
        let seconds = warmed.took.0 as f64 / 1e6;
        lines.push(format!(
            "{} copied to the cache in {seconds:.1} s",
            files_and_bytes(files, bytes)
        ));
    }
    if let Some(why) = &warmed.why {
        let failed = count_files(warmed.failed);
        lines.push(format!("{failed} not copied to the cache before the start (first: {why})"));
    }
    lines
}

fn cache_use_line(told: &CacheReport) -> String {
    let CacheReport { hits, misses, copied: (files, bytes), why_not } = told;
    let opens = if *hits == 1 { "open" } else { "opens" };
    let copied = files_and_bytes(*files, *bytes);
    let why = why_not.as_ref().map(|why| format!("; {why}")).unwrap_or_default();
    format!(
        "read cache: {hits} {opens} from copies, {misses} from their place; {copied} copied{why}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this failed, somebody would wait for minutes and not be told what for.
    #[test]
    fn what_took_long_and_what_failed_is_said() {
        let quick = CacheWarmReport {
            copied: (2, 2048),
            took: Micros(999_999),
            ..CacheWarmReport::default()
        };
        assert_eq!(warm_up_lines(&quick), [""; 0]);
        let slow = CacheWarmReport { took: Micros(61_250_000), ..quick };
        assert_eq!(warm_up_lines(&slow), ["2 files (2.0 KiB) copied to the cache in 61.2 s"]);
        let failed = CacheWarmReport {
            failed: 1,
            why: Some("a: no".to_owned()),
            ..CacheWarmReport::default()
        };
        let line = "1 file not copied to the cache before the start (first: a: no)";
        assert_eq!(warm_up_lines(&failed), [line]);
    }

    #[test]
    fn one_line_says_what_copies_were_good_for() {
        let mut told = CacheReport { hits: 1, misses: 2, copied: (1, 1 << 20), why_not: None };
        let line = "read cache: 1 open from copies, 2 from their place; 1 file (1.0 MiB) copied";
        assert_eq!(cache_use_line(&told), line);
        told.why_not = Some("b is read from its place: no".to_owned());
        assert_eq!(cache_use_line(&told), format!("{line}; b is read from its place: no"));
    }
}
