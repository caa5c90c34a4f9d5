//! Folders that could be on a tier as a whole: a run filled them and left nothing in them, no name
//! went across their edge, and they are there when a run begins, or are made by what does not mind
//! that they are.
//!
//! A whole folder is another file system: a rename across its edge fails, and so does whoever makes
//! or removes it. So what a record leaves open counts against a folder.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use forebay_model::run::{OpRow, note_key};
use forebay_model::{DirectoryTree, FileId, FileRecord, TreeId};

use crate::loaded_run::LoadedRun;

/// Signs that no whole folder has in its name: rules take them for globs.
const GLOB_SIGNS: [char; 7] = ['*', '?', '[', ']', '{', '}', '\\'];
/// Forebay's own folder.
const OWN_FOLDER: &str = ".forebay";

/// What is known of a folder with all that is below.
#[derive(Clone, Copy, Debug, Default)]
struct FolderRecord {
    /// A file stays, was there before, crosses the edge, or belongs to others, too.
    is_out: bool,
    /// Files that were renamed, each from one name in it to another.
    renamed: u64,
}

/// Successful operations on the names of one class.
#[derive(Clone, Copy, Debug, Default)]
struct NameChanges {
    mkdir: u64,
    rmdir: u64,
    rename: u64,
    link: u64,
    symlink: u64,
    unlink: u64,
}

/// The outermost such folders, relative to the managed directory, in the order of their names.
pub(super) fn find_emptied_folders(rows: &LoadedRun) -> Vec<String> {
    let covered: Vec<&DirectoryTree> =
        rows.trees.iter().filter(|tree| tree.tier.is_none()).collect();
    let [tree] = covered.as_slice() else { return Vec::new() };
    if !tells_all(rows) {
        return Vec::new();
    }
    let changes = changes_by_class(rows, tree.id);
    // Only the new one of two names is counted, so the other one may be anywhere.
    if changes.values().any(|changes| changes.link > 0) {
        return Vec::new();
    }
    let tolerant = folders_of_mkdir_parents(rows, &tree.path);
    let mut found: Vec<String> = Vec::new();
    for (folder, record) in folder_records(rows, tree.id) {
        let is_within = found.iter().any(|outer| Path::new(&folder).starts_with(outer));
        if !is_within && !record.is_out && keeps_its_names(&folder, record, &changes, &tolerant) {
            found.push(folder);
        }
    }
    found
}

/// Whether nothing happened that the record does not have.
fn tells_all(rows: &LoadedRun) -> bool {
    let unseen = [
        &note_key::LOST_EVENTS,
        &note_key::IO_URING_RINGS,
        &note_key::CALLS_OF_32_BITS,
        &note_key::STRANGE_DESCRIPTORS,
        &note_key::WHOLE_FOLDERS,
        &note_key::JOINED_RUNS,
    ];
    let is_unseen = |key| rows.header.note(key).is_some_and(|count: u64| count > 0);
    rows.complete && rows.not_seen.is_empty() && !unseen.into_iter().any(is_unseen)
}

fn changes_by_class(rows: &LoadedRun, tree: TreeId) -> BTreeMap<&str, NameChanges> {
    let mut changes: BTreeMap<&str, NameChanges> = BTreeMap::new();
    for row in rows.ops.iter().filter(|row| row.tree == tree) {
        let Some(pattern) = rows.classes.get(&row.class.0) else { continue };
        let of_class = changes.entry(pattern).or_default();
        let done = |row: &OpRow| row.count.saturating_sub(row.failed);
        match row.kind.name() {
            "mkdir" => of_class.mkdir += done(row),
            "rmdir" => of_class.rmdir += done(row),
            "rename" => of_class.rename += done(row),
            "link" => of_class.link += done(row),
            "symlink" => of_class.symlink += done(row),
            "unlink" => of_class.unlink += done(row),
            _ => {}
        }
    }
    changes
}

/// Each folder that files lay in, the outer ones first.
fn folder_records(rows: &LoadedRun, tree: TreeId) -> BTreeMap<String, FolderRecord> {
    let others: BTreeSet<_> =
        rows.processes.iter().filter(|row| row.stranger).map(|row| row.id).collect();
    let mut begun: BTreeSet<FileId> = BTreeSet::new();
    let mut bad: BTreeSet<FileId> = BTreeSet::new();
    for open in &rows.opens {
        let was_there = begun.insert(open.file) && !open.created;
        if was_there || others.contains(&open.process) {
            bad.insert(open.file);
        }
    }
    let first_names: BTreeMap<FileId, &FileRecord> =
        rows.first_names.iter().map(|first| (first.id, first)).collect();
    let mut records: BTreeMap<String, FolderRecord> = BTreeMap::new();
    for file in rows.files.iter().filter(|file| file.tree == tree) {
        let pattern = rows.classes.get(&file.class.0).map_or("", String::as_str);
        let is_out = bad.contains(&file.id) || !rows.gone.contains_key(&file.id);
        let first =
            first_names.get(&file.id).map(|first| Path::new(OsStr::from_bytes(&first.path)));
        for folder in folders_of(&file.path) {
            let record = records.entry(folder.to_owned()).or_default();
            let crosses = first.is_some_and(|first| !first.starts_with(folder));
            record.is_out |= is_out || crosses || !is_below(pattern, folder);
            record.renamed += u64::from(first.is_some());
        }
        // It went out of these.
        for folder in
            first_names.get(&file.id).into_iter().flat_map(|first| folders_of(&first.path))
        {
            if !Path::new(OsStr::from_bytes(&file.path)).starts_with(folder) {
                records.entry(folder.to_owned()).or_default().is_out = true;
            }
        }
    }
    records
}

/// `a` and `a/b` of `a/b/c`; none where a name is no text.
fn folders_of(path: &[u8]) -> impl Iterator<Item = &str> {
    let path = std::str::from_utf8(path).unwrap_or_default();
    path.match_indices('/').map(|(at, _)| &path[..at]).filter(|folder| !folder.is_empty())
}

fn is_below(name: &str, folder: &str) -> bool {
    name.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// Whether a next run could have the folder as a whole, as far as names are concerned.
fn keeps_its_names(
    folder: &str,
    record: FolderRecord,
    changes: &BTreeMap<&str, NameChanges>,
    tolerant: &BTreeMap<PathBuf, u64>,
) -> bool {
    if folder.contains(GLOB_SIGNS) || folder.starts_with('!') || folder.starts_with(OWN_FOLDER) {
        return false;
    }
    let of = |name: &str| changes.get(name).copied().unwrap_or_default();
    // Whoever makes the folder, or one above, finds it there already.
    let can_be_there = |path: &Path| {
        let made = path.to_str().map_or(0, |name| of(name).mkdir);
        made <= tolerant.get(path).copied().unwrap_or(0)
    };
    let is_there =
        Path::new(folder).ancestors().filter(|path| *path != Path::new("")).all(can_be_there);
    let itself = of(folder);
    if !is_there || itself.rmdir > 0 || itself.rename > 0 {
        return false;
    }
    let below = changes.iter().filter(|(name, _)| is_below(name, folder));
    let mut sum = NameChanges::default();
    for (_, changes) in below {
        if changes.symlink > changes.unlink {
            return false;
        }
        sum.mkdir += changes.mkdir;
        sum.rmdir += changes.rmdir;
        sum.rename += changes.rename;
    }
    sum.mkdir == sum.rmdir && sum.rename <= record.renamed
}

/// Which folders `mkdir -p` was asked for, and how often.
fn folders_of_mkdir_parents(rows: &LoadedRun, tree: &[u8]) -> BTreeMap<PathBuf, u64> {
    let mut asked: BTreeMap<PathBuf, u64> = BTreeMap::new();
    for process in &rows.processes {
        let Some((program, words)) = process.argv.split_first() else { continue };
        let name = Path::new(OsStr::from_bytes(program)).file_name();
        if name != Some(OsStr::new("mkdir")) || !words.iter().any(|word| asks_for_parents(word)) {
            continue;
        }
        let cwd = process.cwd.as_deref().unwrap_or(tree);
        for word in words.iter().filter(|word| !word.starts_with(b"-")) {
            let path = Path::new(OsStr::from_bytes(cwd)).join(OsStr::from_bytes(word));
            let Some(path) = without_dots(&path) else { continue };
            let Ok(inside) = path.strip_prefix(OsStr::from_bytes(tree)) else { continue };
            for folder in inside.ancestors() {
                *asked.entry(folder.to_owned()).or_default() += 1;
            }
        }
    }
    asked
}

/// `-p`, `-vp` or `--parents`.
fn asks_for_parents(word: &[u8]) -> bool {
    word == b"--parents"
        || word.len() > 1 && word[0] == b'-' && word[1] != b'-' && word.contains(&b'p')
}

/// The path without `.` and `..`; none where that goes above the root.
fn without_dots(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                if !plain.pop() {
                    return None;
                }
            }
            part => plain.push(part),
        }
    }
    Some(plain)
}
