//! Names of files in a replay: those of the run, relative to the directory, whatever a run file
//! says. Nothing outside of the directory can be named.

use crate::loaded_run::LoadedRun;
use forebay_model::{NAME_MAX, is_file_name};
use std::collections::BTreeMap;

/// One file's names.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ReplayPath {
    /// The last one.
    pub(super) path: Vec<u8>,
    /// What it was called until it was renamed, and when that was.
    pub(super) before: Option<(Vec<u8>, f64)>,
    /// Which name the last one is; files one after the other may have the same.
    pub(super) number: usize,
}

impl ReplayPath {
    /// All of them, by their place in the run.
    pub(super) fn all_from_rows(rows: &LoadedRun) -> Vec<Self> {
        let covered = rows.trees.iter().filter(|tree| tree.tier.is_none());
        let first = covered.map(|tree| tree.id).min();
        let mut numbers: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
        let name = |file: &forebay_model::FileRecord| {
            let mut path = normalize_path(&file.path);
            if first.is_some_and(|first| first != file.tree) {
                path = [format!("tree-{}/", file.tree.0).as_bytes(), &path].concat();
            }
            let next = numbers.len();
            let number = *numbers.entry(path.clone()).or_insert(next);
            Self { path, before: None, number }
        };
        rows.files.iter().map(name).collect()
    }

    /// What it is called at this moment.
    pub(super) fn path_at(&self, time: f64) -> &[u8] {
        match &self.before {
            Some((before, renamed)) if time < *renamed => before,
            _ => &self.path,
        }
    }

    /// A name beside the last one.
    pub(super) fn earlier_name(&self, file: usize) -> Vec<u8> {
        const NAME_MAX: usize = 200;
        let (folder, name) = split_path(&self.path);
        let short = &name[..name.len().min(NAME_MAX)];
        let name = [short, format!(".before-{file}").as_bytes()].concat();
        join_path(folder, &name)
    }
}

/// A path without parts that lead elsewhere.
pub(super) fn normalize_path(path: &[u8]) -> Vec<u8> {
    let mut parts = Vec::new();
    for part in path.split(|&byte| byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => parts.push(&b"up"[..]),
            part if is_file_name(part) => parts.push(part),
            part if part.contains(&0) => parts.push(&b"zero"[..]),
            // Longer than any name is.
            part => parts.push(&part[..NAME_MAX]),
        }
    }
    if parts.is_empty() { b"nameless".to_vec() } else { parts.join(&b'/') }
}

/// The folder (empty: the directory itself) and the name in it.
pub(super) fn split_path(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|&byte| byte == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (b"", path),
    }
}

pub(super) fn join_path(folder: &[u8], name: &[u8]) -> Vec<u8> {
    if folder.is_empty() { name.to_vec() } else { [folder, b"/", name].concat() }
}

/// All folders above a path, the outermost first.
pub(super) fn ancestor_directories(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| &path[..at])
}
