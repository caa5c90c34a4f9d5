//! Objects that are newer than the log: a machine was gone between writing one over that of the same
//! file and saying so. The log speaks of bytes that are nowhere any more, so the newer ones count.

use rustc_hash::FxHashMap;

use super::segment::SegmentDraft;
use super::tree::VolumeTree;
use super::tree_record::{ContentLocation, Time, TreeRecord};
use forebay_objstore::{BucketClient, ObjectMetadata, ObjectVersion, RequestError};

/// Records that make the log speak of what is there; they are in the tree already. `last` is who
/// wrote last: objects of others are not ours.
///
/// # Errors
/// Those of the bucket.
pub(super) fn find_newer_objects(
    objects: &BucketClient,
    tree: &mut VolumeTree,
    last: &str,
) -> Result<Option<SegmentDraft>, RequestError> {
    let mut known = FxHashMap::default();
    for (ino, file) in tree.files() {
        if let ContentLocation::Own { key, version, size } = &file.place {
            known.insert(key.clone(), (ino, version.clone(), *size));
        }
    }
    let mut draft = SegmentDraft::default();
    for found in objects.list_recursive("")? {
        let Some((ino, version, size)) = known.remove(&found.name) else { continue };
        if is_same_object(&found, version.as_deref(), size) {
            continue;
        }
        let tag = objects.head(&found.name)?.and_then(|found| found.tag);
        let Some(mtime) = tag.and_then(|tag| mtime_from_tag(&tag, last)) else { continue };
        let Some(file) = tree.file(ino) else { continue };
        // A copy of the bucket, of which all objects have other versions.
        if found.size == size && mtime == file.attr.mtime {
            continue;
        }
        let (kind, mut attr) = (file.kind.clone(), file.attr);
        attr.mtime = mtime;
        let version = found.version.map(|version| version.0);
        let place = ContentLocation::Own { key: found.name, version, size: found.size };
        for record in [TreeRecord::File { ino, kind, attr }, TreeRecord::Bytes { ino, place }] {
            tree.apply_record(&record);
            draft.append_record(&record);
        }
    }
    if draft.is_empty() {
        return Ok(None);
    }
    draft.append_record(&TreeRecord::Cut);
    Ok(Some(draft))
}

/// Of copies the log knows no version.
fn is_same_object(found: &ObjectMetadata, version: Option<&str>, size: u64) -> bool {
    let of = |known| found.version.as_ref().is_none_or(|ObjectVersion(now)| now.as_str() == known);
    found.size == size && version.is_none_or(of)
}

/// The time of modification in a tag of that writer's (`commit_upload::object_writes`).
fn mtime_from_tag(tag: &str, writer: &str) -> Option<Time> {
    let mut parts = tag.split(' ');
    if parts.next()? != writer {
        return None;
    }
    let (sec, nsec) = parts.nth(1)?.split_once('.')?;
    Some(Time { sec: sec.parse().ok()?, nsec: nsec.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::super::tree_record::{Attr, Kind};
    use super::*;
    use forebay_objstore::{BucketSettings, PutCondition};

    fn tree(key: &str, version: &str) -> VolumeTree {
        let mut tree = VolumeTree::default();
        let place = ContentLocation::Own {
            key: key.to_owned(),
            version: Some(version.to_owned()),
            size: 3,
        };
        for record in [
            TreeRecord::File { ino: 5, kind: Kind::Plain, attr: Attr::default() },
            TreeRecord::Bytes { ino: 5, place },
            TreeRecord::Name { folder: 1, name: b"x", ino: 5 },
            TreeRecord::Cut,
        ] {
            tree.apply_record(&record);
        }
        tree
    }

    #[test]
    fn what_the_last_writer_wrote_over_counts_and_nobody_elses_does() {
        let objects =
            BucketClient::open("memory://b/v", BucketSettings::default()).expect("a bucket");
        let put = |tag: &str| objects.put_when("x", "longer".into(), PutCondition::Always, tag);
        put("me 5 17.000000004 18.000000000").expect("put");
        let mut known = tree("x", "an old one");
        assert!(find_newer_objects(&objects, &mut known, "me").expect("asked").is_some());
        let file = known.file(5).expect("there");
        assert_eq!((file.place.size(), file.attr.mtime), (6, Time { sec: 17, nsec: 4 }));
        assert!(
            find_newer_objects(&objects, &mut known, "me").expect("asked").is_none(),
            "it is known now"
        );
        let mut copied = tree("x", "an old one");
        let attr = Attr { mtime: Time { sec: 17, nsec: 4 }, ..Attr::default() };
        copied.apply_record(&TreeRecord::File { ino: 5, kind: Kind::Plain, attr });
        let place = ContentLocation::Own {
            key: "x".to_owned(),
            version: Some("its own".to_owned()),
            size: 6,
        };
        copied.apply_record(&TreeRecord::Bytes { ino: 5, place });
        assert!(
            find_newer_objects(&objects, &mut copied, "me").expect("asked").is_none(),
            "the same, copied"
        );
        put("another 5 17.000000004 18.000000000").expect("put");
        assert!(
            find_newer_objects(&objects, &mut tree("x", "an old one"), "me")
                .expect("asked")
                .is_none()
        );
    }
}
