//! Names that files have until they are whole: a program writes `s1.bam.tmp` and renames it. Where
//! such a file lives is decided when it is made, so a rule for `s1.bam` has to know the other name,
//! and what was done under that name is done to the same file.

use std::collections::{BTreeMap, BTreeSet};

use forebay_model::ClassId;
use forebay_model::workload::PassingName;

use crate::loaded_run::LoadedRun;

/// By the class of last names, the names that its files had first.
#[derive(Clone, Debug, Default)]
pub(super) struct PassingNames(BTreeMap<ClassId, BTreeMap<ClassId, Vec<u8>>>);

impl PassingNames {
    /// Counts operations under passing names as operations of the files' class.
    pub(super) fn join_names(rows: &mut LoadedRun) -> PassingNames {
        let last: BTreeMap<_, _> = rows.files.iter().map(|file| (file.id, file.class)).collect();
        let lasting: BTreeSet<ClassId> = last.values().copied().collect();
        let mut becomes: BTreeMap<ClassId, BTreeSet<ClassId>> = BTreeMap::new();
        for first in &rows.first_names {
            becomes.entry(first.class).or_default().extend(last.get(&first.id));
        }
        // A kind of name that some files keep, or that becomes several kinds, is one of its own.
        let becomes: BTreeMap<ClassId, ClassId> = becomes
            .into_iter()
            .filter(|(passing, _)| !lasting.contains(passing))
            .filter_map(|(passing, all)| match all.first() {
                Some(only) if all.len() == 1 => Some((passing, *only)),
                _ => None,
            })
            .collect();
        for op in &mut rows.ops {
            op.class = becomes.get(&op.class).copied().unwrap_or(op.class);
        }
        let mut found = PassingNames::default();
        for first in &rows.first_names {
            if let Some(class) = becomes.get(&first.class) {
                let names = found.0.entry(*class).or_default();
                names.entry(first.class).or_insert_with(|| first.path.clone());
            }
        }
        found
    }

    /// Those of one class.
    pub(super) fn of_class(&self, class: ClassId, rows: &LoadedRun) -> Vec<PassingName> {
        let named = |(id, example): (&ClassId, &Vec<u8>)| PassingName {
            pattern: rows.classes.get(&id.0).cloned().unwrap_or_default(),
            example: example.clone(),
        };
        self.0.get(&class).into_iter().flatten().map(named).collect()
    }
}
