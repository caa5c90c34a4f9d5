//! Objects beside the log: those of files, and those that no file has.

use std::collections::{BTreeMap, BTreeSet};

use super::super::log::History;
use super::super::request::{Bucket, map_in_parallel};
use super::super::tree::VolumeTree;
use super::super::tree_record::ContentLocation;
use super::copied::has_bytes_of;
use super::{BucketFinding, ContentDamage};
use forebay_objstore::{ObjectMetadata, ObjectVersion, RequestError};

/// What is Forebay's, whoever has it.
const OURS: [&str; 3] = [".forebay/log/", ".forebay/checkpoint/", ".forebay/writer"];

/// The file of whom the object is that has this tag, if Forebay wrote it as a volume's: `VOLUME INO`
/// and two times.
fn inode_from_tag(tag: Option<&str>) -> Option<u64> {
    let is_time = |word: &str| {
        let parts = word.split_once('.');
        parts.is_some_and(|(sec, nsec)| sec.parse::<i64>().is_ok() && nsec.parse::<u32>().is_ok())
    };
    match *tag?.split(' ').collect::<Vec<_>>() {
        [volume, ino, mtime, ctime] if !volume.is_empty() && is_time(mtime) && is_time(ctime) => {
            ino.parse().ok()
        }
        _ => None,
    }
}

/// Whether they are of one state; `None`: one is not known.
fn is_same_version(one: Option<&ObjectVersion>, other: Option<&String>) -> Option<bool> {
    // Some stores tell the same one with its quotes here and without them there.
    Some(one?.0.trim_matches('"') == other?.trim_matches('"'))
}

/// Files whose objects are not as the log says.
pub(super) fn find_bad_objects(
    bucket: &dyn Bucket,
    history: &History,
    listed: &BTreeMap<&str, &ObjectMetadata>,
) -> Result<Vec<ContentDamage>, RequestError> {
    let (mut bad, mut ask) = (Vec::new(), Vec::new());
    for (ino, file) in history.tree.files() {
        let ContentLocation::Own { key, version, size } = &file.place else { continue };
        match listed.get(key.as_str()) {
            None => bad.push(missing_object(history, ino, key)),
            Some(found) if found.size == *size => {
                if is_same_version(found.version.as_ref(), version.as_ref()) != Some(true) {
                    ask.push((ino, key, version, *size));
                }
            }
            Some(_) => ask.push((ino, key, version, *size)),
        }
    }
    // The tag tells whose it is, and not all stores list versions.
    let heads = map_in_parallel(&ask, |(_, key, ..)| bucket.head_object(key));
    for ((ino, key, version, size), head) in ask.into_iter().zip(heads) {
        let Some(found) = head? else {
            bad.push(missing_object(history, ino, key));
            continue;
        };
        let same = is_same_version(found.version.as_ref(), version.as_ref());
        // Of a copy the ETag is another, and the bytes are those.
        let is_as_said = found.size == size
            && (same != Some(false) || has_bytes_of(bucket, history, ino, key, size)?);
        match inode_from_tag(found.tag.as_deref()) {
            Some(other) if other != ino && same != Some(true) => bad.push(ContentDamage {
                ino,
                what: format!("object {key} is another file's"),
                next: "mount it again on the machine that wrote it last: it may have the file",
            }),
            _ if is_as_said => {}
            Some(_) => bad.push(ContentDamage {
                ino,
                what: format!("object {key} is newer than the log: who wrote it stopped then"),
                next: "mount it again on the machine that wrote it last, which goes on there",
            }),
            None => bad.push(ContentDamage {
                ino,
                what: match found.size == size {
                    true => format!("somebody has written over object {key}: its ETag is another"),
                    false => format!(
                        "somebody has written over object {key}: it has {} bytes and not {size}",
                        found.size
                    ),
                },
                next: "put the object back as it was (an older version of it, if the bucket keeps \
                       versions), or write the file anew in a mount",
            }),
        }
    }
    Ok(bad)
}

fn missing_object(history: &History, ino: u64, key: &str) -> ContentDamage {
    let perhaps = match history.is_whole {
        true => "",
        false => ", unless the file went in the part of the log that can't be read",
    };
    ContentDamage {
        ino,
        what: format!("its bytes are gone: object {key} is missing{perhaps}"),
        next: "put the object back (an older version of it, if the bucket keeps versions), or \
               remove the file in a mount",
    }
}

/// Objects that no file has: those that Forebay wrote, and those of others.
pub(super) fn find_unowned_objects(
    bucket: &dyn Bucket,
    tree: &VolumeTree,
    all: &[ObjectMetadata],
) -> Result<(Vec<ObjectMetadata>, Vec<ObjectMetadata>), RequestError> {
    let key = |(_, file): (u64, _)| match file {
        &super::super::tree::VolumeFile { place: ContentLocation::Own { ref key, .. }, .. } => {
            Some(key.as_str())
        }
        _ => None,
    };
    let kept: BTreeSet<&str> = tree.files().filter_map(key).collect();
    // A volume below this one has its own check.
    let inner: BTreeSet<&str> =
        all.iter().filter_map(|found| inner_volume_prefix(&found.name)).collect();
    let is_inner = |name: &str| {
        let ends = name.match_indices('/').map(|(at, _)| at);
        ends.into_iter().any(|end| inner.contains(&name[..end]))
    };
    let is_other = |found: &&ObjectMetadata| {
        let is_ours = OURS.iter().any(|ours| found.name.starts_with(ours));
        !is_ours && !kept.contains(found.name.as_str())
    };
    let others: Vec<&ObjectMetadata> = all.iter().filter(is_other).collect();
    let heads = map_in_parallel(&others, |found| match is_inner(&found.name) {
        true => Ok(Some((*found).clone())),
        false => bucket.head_object(&found.name),
    });
    let (mut orphans, mut foreign) = (Vec::new(), Vec::new());
    for head in heads {
        match head? {
            Some(found) if inode_from_tag(found.tag.as_deref()).is_some() => orphans.push(found),
            Some(found) => foreign.push(found),
            None => {}
        }
    }
    Ok((orphans, foreign))
}

/// The folder of a volume's log that is not ours.
fn inner_volume_prefix(name: &str) -> Option<&str> {
    name.find("/.forebay/").map(|at| &name[..at])
}

/// An object that may be a file's of which the log can't be read.
pub(super) fn unnamed_object_finding(found: ObjectMetadata) -> BucketFinding {
    BucketFinding {
        path: found.name.into(),
        what:
            "no file that is known has this object: it is one that came or was renamed in the part \
               of the log that can't be read, or an orphan"
                .to_owned(),
        next: "its name is most likely the file's, and its bytes are the file's: any client reads it",
    }
}
