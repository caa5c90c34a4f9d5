//! Names that come and go, and the files that live by them.

use super::super::tree_record::{ContentLocation, Kind};
use super::VolumeTree;
use forebay_os::short_name::ShortName;

impl VolumeTree {
    pub(super) fn link_name(&mut self, folder: u64, name: &[u8], ino: u64) -> bool {
        let is_folder = self.files.get(&folder).is_some_and(|file| file.kind == Kind::Folder);
        let Some(name) = ShortName::from_file_name(name).filter(|_| is_folder) else {
            return false;
        };
        let Some(file) = self.files.get_mut(&ino) else { return false };
        file.links = file.links.saturating_add(1);
        if file.kind == Kind::Folder && file.links > 1 {
            self.twice.insert(ino);
        }
        let Some(folder) = self.files.get_mut(&folder) else { return false };
        if let Some(before) = folder.names.insert(name, ino) {
            self.drop_link(before);
        }
        true
    }

    pub(super) fn drop_link(&mut self, ino: u64) {
        if let Some(file) = self.files.get_mut(&ino) {
            file.links = file.links.saturating_sub(1);
            self.loose.insert(ino);
        }
    }

    /// Files that have no name now are gone, and what was in folders that are. False: a folder has
    /// two names, so it may lie in itself, and who looks at all that is in it would never end. From
    /// the root each folder that has one is met once.
    pub(super) fn apply_commit(&mut self) -> bool {
        while let Some(ino) = self.loose.pop_first() {
            if self.files.get(&ino).is_some_and(|file| file.links == 0)
                && let Some(gone) = self.files.remove(&ino)
            {
                if let Some(ended) = &mut self.ended {
                    ended.push(ino);
                }
                if let ContentLocation::Own { key, .. } = gone.place {
                    self.unused.push(key);
                }
                gone.names.into_values().for_each(|ino| self.drop_link(ino));
            }
        }
        let twice = std::mem::take(&mut self.twice);
        let has_two = |ino: &u64| self.files.get(ino).is_some_and(|file| file.links > 1);
        self.is_knotted |= twice.iter().any(has_two);
        !self.is_knotted
    }
}
