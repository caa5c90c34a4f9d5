//! Whether a volume in a bucket is whole: its log, each file's bytes, and what lies beside them that
//! no file has. Damage is told by the names of files; what is swept is only what nothing needs.

mod copied;
mod damaged_names;
mod object_check;
mod segment_content;
mod sweep;

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::PathBuf;

use super::log::History;
use super::request::Bucket;
use super::tree::VolumeTree;
use super::tree_record::ContentLocation;
use super::volume_opening::{BucketError, WriterOptions};
use super::writer_note::VolumeWriter;
use forebay_objstore::{BucketClient, ObjectMetadata, RequestError};
use sweep::ExclusiveVolume;

/// What was found.
#[derive(Debug, Default)]
pub struct BucketCheckReport {
    /// Files that have objects of their own, and their bytes.
    pub own: (u64, u64),
    /// Files whose bytes are in segments, and their bytes.
    pub packed: (u64, u64),
    /// What is wrong.
    pub findings: Vec<BucketFinding>,
    /// Objects that Forebay wrote and no file has, and their bytes.
    pub orphans: Vec<(String, u64)>,
    /// Parts of the log that nothing needs any more, and their bytes.
    pub unneeded: Vec<(String, u64)>,
    /// Objects that others wrote, and their bytes.
    pub foreign: Vec<(String, u64)>,
    /// Who has it mounted: what changes meanwhile may look wrong.
    pub mounted: Option<VolumeWriter>,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketFinding {
    /// The file in the volume, or the object.
    pub path: PathBuf,
    /// What is wrong with it.
    pub what: String,
    /// What can be done.
    pub next: &'static str,
}

/// What is wrong with the bytes of a file.
#[derive(Debug)]
struct ContentDamage {
    ino: u64,
    what: String,
    next: &'static str,
}

/// Looks at everything; with `repair` removes orphans and what the log does not need, which are
/// told still, and changes nothing else.
///
/// # Errors
/// Why it can't be looked at. `Taken`, with `repair`: somebody has it mounted.
pub fn check_volume(
    wanted: &WriterOptions,
    repair: bool,
) -> Result<BucketCheckReport, BucketError> {
    let objects = BucketClient::open(&wanted.url, wanted.settings.clone())?;
    check_bucket(&objects, wanted, repair)
}

fn check_bucket(
    bucket: &dyn Bucket,
    wanted: &WriterOptions,
    repair: bool,
) -> Result<BucketCheckReport, BucketError> {
    if !repair {
        return Ok(inspect_volume(bucket)?.0);
    }
    // Nothing is written where no volume is.
    if bucket.list_objects(".forebay")?.is_empty() {
        return Err(no_volume_error());
    }
    let held = ExclusiveVolume::claim_volume(bucket, wanted)?;
    let done = inspect_volume(bucket).and_then(|(checked, orphans)| {
        held.remove_unneeded(&orphans, &checked.unneeded)?;
        Ok(BucketCheckReport { mounted: None, ..checked })
    });
    let ended = held.release_claim();
    let checked = done?;
    ended?;
    Ok(checked)
}

fn no_volume_error() -> BucketError {
    let why = "no volume is there".to_owned();
    BucketError::Bucket(RequestError { kind: ErrorKind::NotFound, why })
}

/// Looks at everything; tells the orphans as they are.
fn inspect_volume(
    bucket: &dyn Bucket,
) -> Result<(BucketCheckReport, Vec<ObjectMetadata>), BucketError> {
    let mounted = VolumeWriter::read_from_bucket(bucket)?;
    let all = bucket.list_objects("")?;
    let history = History::read_from_bucket(bucket, &all)?;
    if !history.has_objects() {
        return Err(no_volume_error());
    }
    let (own, packed) = count_files_and_bytes(&history.tree);
    let mut checked = BucketCheckReport { own, packed, mounted, ..BucketCheckReport::default() };
    checked
        .findings
        .extend(history.damage.iter().map(|damage| log_damage_finding(&history, damage)));
    let listed: BTreeMap<&str, &ObjectMetadata> =
        all.iter().map(|found| (found.name.as_str(), found)).collect();
    let mut bad = object_check::find_bad_objects(bucket, &history, &listed)?;
    let (damaged, live) = segment_content::find_bad_packed_files(bucket, &history)?;
    bad.extend(damaged);
    checked.findings.extend(damaged_names::findings_by_name(&history.tree, bad));
    let (mut orphans, foreign) = object_check::find_unowned_objects(bucket, &history.tree, &all)?;
    checked.foreign = names_and_sizes(&foreign);
    if !history.is_whole {
        checked.findings.extend(orphans.drain(..).map(object_check::unnamed_object_finding));
    }
    checked.orphans = names_and_sizes(&orphans);
    checked.unneeded = history.find_unneeded(bucket, |number| live.contains(&number))?;
    Ok((checked, orphans))
}

fn names_and_sizes(objects: &[ObjectMetadata]) -> Vec<(String, u64)> {
    objects.iter().map(|found| (found.name.clone(), found.size)).collect()
}

fn count_files_and_bytes(tree: &VolumeTree) -> ((u64, u64), (u64, u64)) {
    let (mut own, mut packed) = ((0, 0), (0, 0));
    for (_, file) in tree.files() {
        let sum = match file.place {
            ContentLocation::Empty => continue,
            ContentLocation::Own { .. } => &mut own,
            ContentLocation::Packed { .. } => &mut packed,
        };
        *sum = (sum.0 + 1, sum.1 + file.place.size());
    }
    (own, packed)
}

fn log_damage_finding(history: &History, (name, why): &(String, String)) -> BucketFinding {
    let next = history.next;
    let (what, next) = match history.is_whole {
        // What it says is known without it.
        true => (
            why.clone(),
            "remove this object: the rest of the log, which is whole, comes to the same",
        ),
        false if next == 0 => (
            format!("{why}; nothing of the log can be read, so the names of all files are unknown"),
            "put the object back (an older version of it, if the bucket keeps versions)",
        ),
        false => (
            format!(
                "{why}; the log can be read up to segment {:016x}: what files were called, and \
                 which came or went, after that is unknown",
                next - 1
            ),
            "put the object back (an older version of it, if the bucket keeps versions)",
        ),
    };
    BucketFinding { path: PathBuf::from(name), what, next }
}

#[cfg(test)]
mod tests;
