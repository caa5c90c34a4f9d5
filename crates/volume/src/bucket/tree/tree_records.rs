//! A tree said again, as records that make it of an empty one.

use std::collections::BTreeSet;

use super::super::tree_record::{ContentLocation, Kind, TreeRecord};
use super::{ROOT, VolumeFile, VolumeTree};

impl VolumeTree {
    /// The records that make this tree of an empty one, folders before what is in them.
    pub(crate) fn for_each_record(&self, mut take: impl FnMut(&TreeRecord<'_>)) {
        let mut told = BTreeSet::from([ROOT]);
        let mut folders = vec![ROOT];
        if let Some(root) = self.files.get(&ROOT) {
            emit_file_records(ROOT, root, &mut take);
        }
        while let Some(folder) = folders.pop() {
            let Some(file) = self.files.get(&folder) else { continue };
            for (name, ino) in &file.names {
                let Some(found) = self.files.get(ino) else { continue };
                if told.insert(*ino) {
                    emit_file_records(*ino, found, &mut take);
                    if found.kind == Kind::Folder {
                        folders.push(*ino);
                    }
                }
                take(&TreeRecord::Name { folder, name: name.as_bytes(), ino: *ino });
            }
        }
        take(&TreeRecord::Cut);
    }
}

fn emit_file_records(ino: u64, file: &VolumeFile, take: &mut impl FnMut(&TreeRecord<'_>)) {
    take(&TreeRecord::File { ino, kind: file.kind.clone(), attr: file.attr });
    if file.place != ContentLocation::Empty {
        take(&TreeRecord::Bytes { ino, place: file.place.clone() });
    }
    if let Some(place) = &file.sums {
        take(&TreeRecord::Sums { ino, place: (**place).clone() });
    }
    for (name, value) in &file.extended {
        take(&TreeRecord::Extended { ino, name, value: Some(value) });
    }
}
