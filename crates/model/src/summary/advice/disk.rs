//! A disk was busy nearly all the time: only another disk, or fewer bytes, will help.

use super::{Evidence, Finding};
use crate::ByteCount;

const BUSY_MIN: f64 = 0.7;

pub(super) fn finding_for(evidence: &Evidence<'_>) -> Option<Finding> {
    let disk = evidence.disk.as_ref().filter(|disk| disk.busy_share >= BUSY_MIN)?;
    let wall_s = evidence.summary.wall_us.as_secs();
    let rate = ByteCount((disk.bytes.0 as f64 / wall_s.max(1.0)) as u64);
    let most = match evidence.summary.files.first() {
        Some(file) => format!(" (most for `{}`)", file.path),
        None => String::new(),
    };
    Some(Finding {
        score_s: wall_s * (disk.busy_share - BUSY_MIN),
        saves: None,
        sentence: format!(
            "Disk {} was busy {:.0} % of the time at {rate}/s{most}: move the intermediate files \
             to a faster or a second disk.",
            disk.name,
            disk.busy_share * 100.0
        ),
    })
}
