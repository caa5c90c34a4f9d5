//! Folders that nothing happens in any more go back to the book, so that a node's memory is that of
//! its work and not of all that it ever made.

use std::sync::atomic::Ordering::Relaxed;

use forebay_book::{Claim, EntryName, FolderId};

use super::SharedNode;
use super::state::{Stage, State};
use crate::Result;

impl SharedNode {
    /// So many names in held folders are kept in memory; of more, folders go back in which nothing
    /// changed for the longest.
    pub fn set_names_kept(&self, names: usize) {
        self.names_kept.store(names, Relaxed);
    }

    /// Gives folders back, if there are too many names.
    ///
    /// # Errors
    /// ETIMEDOUT: the book does not answer. The folders are given back with the next publication then.
    pub(super) fn give_back_idle(&self) -> Result<()> {
        let most = self.names_kept.load(Relaxed);
        let chosen = {
            let mut state = self.state.lock();
            // Each name leads to a file that is known.
            if state.files.len() <= most {
                return Ok(());
            }
            let chosen = state.idle_folders(most);
            for folder in &chosen {
                if let Some(held) = state.folders.get_mut(folder) {
                    held.stage = Stage::Leaving;
                }
            }
            chosen
        };
        if chosen.is_empty() {
            return Ok(());
        }
        self.forget_folders_in_kernel(&chosen);
        let closed: Vec<(FolderId, Vec<EntryName>)> = {
            let mut state = self.state.lock();
            let mut going = Vec::new();
            for folder in &chosen {
                let Some(held) = state.folders.get_mut(folder) else { continue };
                match (held.stage, held.pins) {
                    (Stage::Leaving, 0) => {
                        (held.stage, held.is_dirty) = (Stage::Ready, true);
                        going.push(*folder);
                    }
                    // Somebody came back to it.
                    (Stage::Leaving, _) => held.stage = Stage::Held,
                    _ => {}
                }
            }
            going.into_iter().map(|folder| (folder, state.closed_files(folder))).collect()
        };
        self.changed.notify_all();
        let gone =
            |state: &State| closed.iter().all(|(folder, _)| !state.folders.contains_key(folder));
        self.publish_until(gone, self.deadline(self.patience()))?;
        if let Some(caches) = self.caches.get() {
            closed.iter().for_each(|(folder, names)| caches.drop_names(*folder, names));
        }
        Ok(())
    }
}

impl State {
    /// Folders to be given back, so that three quarters of `most` names are left.
    fn idle_folders(&self, most: usize) -> Vec<FolderId> {
        let mut names: usize = self.folders.values().map(|held| held.names.len() + 1).sum();
        if names <= most {
            return Vec::new();
        }
        let mut idle: Vec<(u64, FolderId)> = self
            .folders
            .iter()
            .filter(|(folder, held)| {
                **folder != FolderId::ROOT
                    && held.stage == Stage::Held
                    && held.pins == 0
                    && !held.is_dirty
                    && held.last_change <= self.published
                    && matches!(held.claim, Claim::Held(_))
            })
            .map(|(folder, held)| (held.last_change, *folder))
            .collect();
        idle.sort_unstable();
        let mut chosen = Vec::new();
        for (_, folder) in idle {
            if names <= most / 4 * 3 {
                break;
            }
            names -= self.folders.get(&folder).map_or(0, |held| held.names.len() + 1);
            chosen.push(folder);
        }
        chosen
    }

    /// Names of files that the kernel remembers though nobody has them open.
    fn closed_files(&self, folder: FolderId) -> Vec<EntryName> {
        let Some(held) = self.folders.get(&folder) else { return Vec::new() };
        let is_closed = |number| {
            self.files
                .get(number)
                .is_some_and(|file| file.kernel > 0 && file.opens == 0 && !file.is_folder())
        };
        let closed = held.names.iter().filter(|(_, number)| is_closed(number));
        closed.map(|(name, _)| name.clone()).collect()
    }
}
