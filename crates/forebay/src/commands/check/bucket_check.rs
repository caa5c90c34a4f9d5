//! A volume that a bucket keeps: what a check found there, in words.

use std::io::ErrorKind;

use forebay_model::ByteCount;
use forebay_volume::bucket::{BucketCheckReport, BucketError, check_volume};

use super::super::mount::bucket_volume::{
    Options, format_utc_minute, mount_next_step, volume_to_open,
};
use crate::console;
use crate::exit::CommandError;

/// Looks at it, and tells.
pub(super) fn run_bucket_check(url: &str, repair: bool) -> Result<i32, CommandError> {
    let wanted = volume_to_open(url, Options::default())?;
    let checked =
        check_volume(&wanted, repair).map_err(|trouble| explain_check_error(url, &trouble))?;
    let is_well = report_findings(url, &checked, repair);
    Ok(if is_well { 0 } else { 1 })
}

fn explain_check_error(url: &str, trouble: &BucketError) -> CommandError {
    match trouble {
        BucketError::Taken(writer) => CommandError::new(
            1,
            format!("{url} can't be repaired: {trouble}"),
            format!(
                "unmount it there (mounted {}); if that machine is gone: `forebay mount \
                 --take-over {url} DIR` and unmount it; nothing was removed",
                format_utc_minute(writer.since)
            ),
        ),
        BucketError::Bucket(failed) if failed.kind == ErrorKind::NotFound => CommandError::new(
            1,
            format!("{url} can't be checked: {trouble}"),
            "is it the right bucket and prefix, and AWS_REGION or AWS_ENDPOINT_URL?",
        ),
        _ => CommandError::new(
            1,
            format!("{url} can't be checked: {trouble}"),
            mount_next_step(trouble),
        ),
    }
}

/// Tells what was found; true if all is well now.
fn report_findings(url: &str, checked: &BucketCheckReport, repair: bool) -> bool {
    let amount = |(files, bytes): (u64, u64)| format!("{files} ({})", ByteCount(bytes));
    let sum = |objects: &[(String, u64)]| {
        ByteCount(objects.iter().map(|(_, bytes)| bytes).sum()).to_string()
    };
    console::note(&format!(
        "{url}: files with an object of their own: {}, small ones: {}",
        amount(checked.own),
        amount(checked.packed)
    ));
    for finding in &checked.findings {
        let path = finding.path.display();
        console::error(&format!("{url}: {path}: {}", finding.what), Some(finding.next));
    }
    for (name, bytes) in &checked.orphans {
        let bytes = ByteCount(*bytes);
        match &checked.mounted {
            _ if repair => console::note(&format!("removed {name} ({bytes}), which no file had")),
            Some(_) => console::note(&format!("{name} ({bytes}): no file has it, or not yet")),
            None => console::error(
                &format!("{url}: {name} ({bytes}): Forebay wrote it, and no file has it"),
                Some("`forebay check --repair` removes it"),
            ),
        }
    }
    for (name, bytes) in &checked.foreign {
        console::note(&format!(
            "{name} ({}): not of this volume, and left alone",
            ByteCount(*bytes)
        ));
    }
    if !checked.unneeded.is_empty() {
        let (count, bytes) = (checked.unneeded.len(), sum(&checked.unneeded));
        console::note(&match repair {
            true => format!("removed {count} parts of the log ({bytes}), which nothing needed"),
            false => format!("{count} parts of the log ({bytes}) may go: --repair removes them"),
        });
    }
    if let Some(writer) = &checked.mounted {
        console::note(&format!(
            "{} has it mounted: what changes meanwhile may look wrong; check again afterwards",
            writer.host
        ));
    }
    let is_well = checked.findings.is_empty()
        && (repair || checked.mounted.is_some() || checked.orphans.is_empty());
    if is_well {
        console::note("all are there and whole");
    }
    is_well
}
