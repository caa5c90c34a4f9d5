//! Changing a reader's tree from one cut to a later one. New files, and those whose place changes,
//! wait in the directory beside it until the folders are where they belong, and then take their
//! names at once: a name that is there before and after is there all the time.
//!
//! It may be called again after an error: it looks at what is there.

mod attribute_updates;
mod directory_changes;
mod file_changes;

use std::collections::{BTreeMap, BTreeSet};

use super::super::commit_upload::MovedContent;
use super::super::tree::VolumeTree;
use super::super::tree_record::Kind;
use super::local_tree::{Changes, EvictedFileCallback, LocalTree, Result};
use super::touched::{FileDifference, TouchedEntries};
use forebay_os::short_name::ShortName;

/// A folder, and a name in it.
type Name = (u64, ShortName);

struct TreeUpdate<'a> {
    shown: &'a mut LocalTree,
    tree: &'a VolumeTree,
    touched: &'a TouchedEntries,
    learn: EvictedFileCallback<'a>,
    changes: &'a mut Changes,
    /// Names that are to lead to files.
    placing: BTreeMap<Name, u64>,
    /// Those of them that are to be other files than they are.
    renewed: BTreeSet<u64>,
    /// Folders that are to get another name, or a first one.
    wanted: BTreeMap<u64, Name>,
    /// Folders whose attributes are to be set at the end.
    dressing: BTreeSet<u64>,
}

impl LocalTree {
    /// Makes the local tree what `tree` is, where they may differ.
    ///
    /// # Errors
    /// Those of the file system; ESTALE, ELOOP: it is not what it was left as.
    pub(super) fn apply_tree(
        &mut self,
        tree: &VolumeTree,
        touched: &TouchedEntries,
        learn: EvictedFileCallback<'_>,
        changes: &mut Changes,
    ) -> Result<()> {
        let (placing, renewed, wanted, dressing) = Default::default();
        let shown = self;
        let mut turn =
            TreeUpdate { shown, tree, touched, learn, changes, placing, renewed, wanted, dressing };
        turn.plan_changes()?;
        turn.stage_files()?;
        turn.stage_ended_directories()?;
        turn.place_directories()?;
        turn.place_files()?;
        turn.unlink_removed_names()?;
        turn.remove_ended();
        turn.set_pending_attributes();
        Ok(())
    }
}

impl TreeUpdate<'_> {
    /// What is to be done.
    fn plan_changes(&mut self) -> Result<()> {
        let (tree, touched) = (self.tree, self.touched);
        for (folder, name) in &touched.names {
            let Some(ino) = self.tree.lookup_name(*folder, name) else { continue };
            let Some(file) = self.tree.file(ino) else { continue };
            let at = (*folder, name.clone());
            match file.kind {
                Kind::Folder if self.is_at_name(ino, &at) => {}
                Kind::Folder => drop(self.wanted.insert(ino, at)),
                _ => drop(self.placing.insert(at, ino)),
            }
        }
        let mut several = BTreeSet::new();
        for (ino, was) in &touched.files {
            let Some(file) = tree.file(*ino) else { continue };
            if file.kind == Kind::Folder {
                self.dressing.insert(*ino);
                continue;
            }
            let (Some(was), Some(spot)) = (was, self.shown.spots.get(ino)) else { continue };
            let (number, at) = (spot.number, (spot.parent, spot.name.clone()));
            let is_other = match was.compare_with(file) {
                _ if touched.is_torn => true,
                FileDifference::Bytes => true,
                FileDifference::Rest { moved, dressed } => {
                    if moved {
                        let sums = file.sums.as_deref().cloned();
                        let place = file.place.clone();
                        self.changes.moved.push(MovedContent { ino: number, place, sums });
                    }
                    dressed && self.set_file_attributes(*ino, file).is_err()
                }
            };
            if is_other {
                self.renewed.insert(*ino);
                // The name by which it is known here may be one that it has lost.
                let has_name = self.tree.lookup_name(at.0, &at.1) == Some(*ino);
                several.extend((file.links > 1 || !has_name).then_some(*ino));
                if has_name {
                    self.placing.insert(at, *ino);
                }
            }
        }
        if several.is_empty() {
            return Ok(());
        }
        for (folder, file) in tree.files() {
            let theirs = file.names.iter().filter(|(_, ino)| several.contains(ino));
            self.placing.extend(theirs.map(|(name, ino)| ((folder, name.clone()), *ino)));
        }
        Ok(())
    }

    /// A file here is none of the volume's any more.
    fn retire_file(&mut self, ino: u64) {
        let path = self.shown.path_of(ino);
        if let Some(spot) = self.shown.spots.remove(&ino) {
            self.changes.retired.push((spot.identity, spot.number, path));
        }
    }

    /// Files that are no more: what is left of folders goes.
    fn remove_ended(&mut self) {
        let touched = self.touched;
        for ino in &touched.ended {
            let Some(spot) = self.shown.spots.get(ino) else { continue };
            if spot.is_folder {
                let gone = super::local_tree::remove_entry(&self.shown.aside, &spot.name);
                if let Err(error) = gone {
                    tracing::warn!("removing a folder that is no more: {error}");
                }
            }
            self.retire_file(*ino);
        }
        let spots = &self.shown.spots;
        let led = self.touched.names.iter().chain(self.placing.keys());
        let told = led.filter_map(|(folder, name)| Some((spots.get(folder)?.identity, name)));
        self.changes.names.extend(told.map(|(folder, name)| (folder, name.clone())));
    }

    fn is_at_name(&self, ino: u64, at: &Name) -> bool {
        let spot = self.shown.spots.get(&ino);
        spot.is_some_and(|spot| spot.parent == at.0 && spot.name == at.1)
    }
}
