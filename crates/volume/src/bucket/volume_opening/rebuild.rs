//! A local tree that is made anew, as the bucket's is: on a machine that has none, or whose tree
//! can't be believed.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::super::placeholder_tree;
use super::super::scan::{ScanUpdates, TreeScanner};
use super::super::state_directory::StateDirectory;
use super::super::tree::VolumeTree;
use super::open_root;
use super::tree_salvage::Salvage;

/// Files that are kept for people: a folder for each time.
const KEPT: &str = "kept";
/// Trees that are made, or no longer wanted.
const MAKING: &str = "making";

/// Makes it beside the old one, which it replaces when it is whole; the log goes on with segment
/// `next`. Of an old one whose files count
/// where they were made durable, it is known which of the bucket's files is which, and after which
/// segment the last cut was made: then it is told what people should know.
///
/// # Errors
/// Those of the file system; nothing that is here is believed then, the next time.
pub(super) fn rebuild_local_tree(
    state: &StateDirectory,
    tree: &VolumeTree,
    next: u64,
    left: Option<(&ScanUpdates, u64)>,
) -> io::Result<Option<String>> {
    state.mark_untrusted()?;
    let making = state.folder.join(MAKING);
    remove_or_set_aside(state, &making)?;
    std::fs::create_dir(&making)?;
    let root = open_root(&making)?;
    let mut made = TreeScanner::new(open_root(&making)?)?;
    placeholder_tree::make_placeholder_tree(&root, tree, &mut made)?;
    let Some((learnt, cut)) = left else {
        swap_into_place(state, &making)?;
        state.begin_journal(next, made.take_learnt(), tree)?;
        remove_or_set_aside(state, &making)?;
        return Ok(None);
    };
    let beside = next_kept_directory(state)?;
    std::fs::create_dir_all(&beside)?;
    let old = open_root(&state.tree_directory())?;
    let mut known = TreeScanner::new(open_root(&state.tree_directory())?)?;
    known.restore_learnt(learnt);
    let to = open_root(&beside)?;
    let salvage = Salvage { old: &old, known: &known, tree, cut, beside: &to };
    let saved = salvage.merge_into(&root, &mut made);
    swap_into_place(state, &making)?;
    state.begin_journal(next, made.take_learnt(), tree)?;
    let begin = "this machine went down before the volume was unmounted here: files are as the \
                 bucket has them, but for what was synced here and is newer";
    match saved {
        Ok(kept) => {
            remove_or_set_aside(state, &making)?;
            let Some((count, names, beside)) = kept.to_summary(&beside) else {
                std::fs::remove_dir(&beside)?;
                return Ok(Some(begin.to_owned()));
            };
            Ok(Some(format!(
                "{begin}; {count} that it does not have so, and that may not be whole, are in {} \
                 ({names}{}): copy back what you need, then remove them",
                beside.display(),
                if count > 3 { ", ..." } else { "" }
            )))
        }
        // Not all of it could be told apart.
        Err(error) => {
            let all = next_kept_directory(state)?;
            std::fs::rename(&making, &all)?;
            Ok(Some(format!(
                "{begin}; all that was here is in {}, as it could not be compared ({error}): copy \
                 back what you need, then remove it",
                all.display()
            )))
        }
    }
}

/// The tree that was made takes the place of the one before, which has its name then.
fn swap_into_place(state: &StateDirectory, making: &Path) -> io::Result<()> {
    let tree = state.tree_directory();
    if !tree.exists() {
        return std::fs::rename(making, tree);
    }
    match renameat_with(CWD, making, CWD, &tree, RenameFlags::EXCHANGE) {
        // Not all file systems can do that at once.
        Err(rustix::io::Errno::INVAL) => {
            let beside = next_kept_directory(state)?;
            if let Some(folder) = beside.parent() {
                std::fs::create_dir_all(folder)?;
            }
            std::fs::rename(&tree, &beside)?;
            std::fs::rename(making, &tree)?;
            std::fs::rename(beside, making)
        }
        done => Ok(done?),
    }
}

/// What has this name is not wanted any more; what can't be removed is kept.
fn remove_or_set_aside(state: &StateDirectory, making: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(making) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(_) => {
            let beside = next_kept_directory(state)?;
            if let Some(folder) = beside.parent() {
                std::fs::create_dir_all(folder)?;
            }
            std::fs::rename(making, beside)
        }
        done => done,
    }
}

/// A folder for what is kept, which is not there yet.
fn next_kept_directory(state: &StateDirectory) -> io::Result<PathBuf> {
    let folder = state.folder.join(KEPT);
    let mut number = 1;
    while folder.join(number.to_string()).try_exists()? {
        number += 1;
    }
    Ok(folder.join(number.to_string()))
}

#[cfg(test)]
mod tests;
