//! Files that records name, as facts.

use forebay_model::file_classes::class_of;
use forebay_model::{ClassId, DirectoryTree, Fact, FileId, FileRecord, TreeId};
use std::collections::BTreeMap;

/// Files and their classes, numbered as they come.
#[derive(Debug, Default)]
pub(super) struct ImportedFiles {
    files: BTreeMap<String, FileId>,
    classes: BTreeMap<String, ClassId>,
}

impl ImportedFiles {
    pub(super) fn intern_file(&mut self, path: &str, facts: &mut Vec<Fact>) -> FileId {
        if let Some(&id) = self.files.get(path) {
            return id;
        }
        let tree = TreeId(0);
        if self.files.is_empty() {
            facts.push(Fact::Tree(DirectoryTree {
                id: tree,
                path: b"/".to_vec(),
                fs_type: "unknown".to_owned(),
                passthrough: true,
                device: None,
                tier: None,
            }));
        }
        let relative = path.trim_start_matches('/').as_bytes().to_vec();
        let pattern = class_of(&relative);
        let class = match self.classes.get(&pattern) {
            Some(&class) => class,
            None => {
                let class = ClassId(self.classes.len() as u32);
                facts.push(Fact::Class { id: class, pattern: pattern.clone() });
                self.classes.insert(pattern, class);
                class
            }
        };
        let id = FileId(self.files.len() as u32);
        facts.push(Fact::File(FileRecord { id, tree, path: relative, class, home: None }));
        self.files.insert(path.to_owned(), id);
        id
    }
}
