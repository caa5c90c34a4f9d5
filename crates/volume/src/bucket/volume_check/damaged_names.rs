//! Names of files of which the bytes are known to be wrong.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use super::super::tree::{ROOT, VolumeTree, join_path};
use super::{BucketFinding, ContentDamage};

/// A finding for each name of each of these files.
pub(super) fn findings_by_name(tree: &VolumeTree, bad: Vec<ContentDamage>) -> Vec<BucketFinding> {
    let bad: BTreeMap<u64, ContentDamage> = bad.into_iter().map(|bad| (bad.ino, bad)).collect();
    let (mut found, mut folders) = (Vec::new(), vec![(ROOT, Vec::new())]);
    if bad.is_empty() {
        return found;
    }
    while let Some((folder, path)) = folders.pop() {
        for (name, ino) in tree.file(folder).into_iter().flat_map(|file| &file.names) {
            let path = join_path(&path, name.as_bytes());
            if let Some(ContentDamage { what, next, .. }) = bad.get(ino) {
                let path = OsString::from_vec(path).into();
                found.push(BucketFinding { path, what: what.clone(), next });
            } else if tree.file(*ino).is_some_and(|file| !file.names.is_empty()) {
                folders.push((*ino, path));
            }
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found
}
