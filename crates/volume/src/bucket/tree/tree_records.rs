//! A tree said again, as records that make it of an empty one.

use std::collections::BTreeSet;

use super::super::tree_record::{Kind, Place, Record};
use super::{File, ROOT, Tree};

impl Tree {
    /// The records that make this tree of an empty one, folders before what is in them.
    pub(crate) fn for_each_record(&self, mut take: impl FnMut(&Record<'_>)) {
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
                take(&Record::Name { folder, name: name.as_bytes(), ino: *ino });
            }
        }
        take(&Record::Cut);
    }
}

fn emit_file_records(ino: u64, file: &File, take: &mut impl FnMut(&Record<'_>)) {
    take(&Record::File { ino, kind: file.kind.clone(), attr: file.attr });
    if file.place != Place::Empty {
        take(&Record::Bytes { ino, place: file.place.clone() });
    }
    if let Some(place) = &file.sums {
        take(&Record::Sums { ino, place: (**place).clone() });
    }
    for (name, value) in &file.extended {
        take(&Record::Extended { ino, name, value: Some(value) });
    }
}
