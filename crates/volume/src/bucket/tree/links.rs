//! Names that come and go, and the files that live by them.

use super::super::record::{Kind, Place};
use super::Tree;

impl Tree {
    pub(super) fn name(&mut self, folder: u64, name: &[u8], ino: u64) -> bool {
        let is_folder = self.files.get(&folder).is_some_and(|file| file.kind == Kind::Folder);
        let Some(file) = self.files.get_mut(&ino).filter(|_| is_folder) else { return false };
        file.links += 1;
        let Some(folder) = self.files.get_mut(&folder) else { return false };
        if let Some(before) = folder.names.insert(name.into(), ino) {
            self.lose(before);
        }
        true
    }

    pub(super) fn lose(&mut self, ino: u64) {
        if let Some(file) = self.files.get_mut(&ino) {
            file.links = file.links.saturating_sub(1);
            self.loose.insert(ino);
        }
    }

    /// Files that have no name now are gone, and what was in folders that are.
    pub(super) fn cut(&mut self) {
        while let Some(ino) = self.loose.pop_first() {
            if self.files.get(&ino).is_some_and(|file| file.links == 0)
                && let Some(gone) = self.files.remove(&ino)
            {
                if let Some(ended) = &mut self.ended {
                    ended.push(ino);
                }
                if let Place::Own { key, .. } = gone.place {
                    self.unused.push(key);
                }
                gone.names.into_values().for_each(|ino| self.lose(ino));
            }
        }
    }
}
