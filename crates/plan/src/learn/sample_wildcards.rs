//! Tomorrow's samples have other names: what stands for the sample in a class of files becomes `*`.
//!
//! `trim/hs_#.fq` and `trim/ds_#.fq` are two classes of names and one kind of file: the same kind of
//! task makes them in the same directory. They become `trim/*_#.fq`, so that a rule that is learnt
//! on one batch fits the next. Where only one sample was there, the part of its name that goes from
//! stage to stage tells it. What it is not: a judgement of what files are for; files of different
//! kinds of tasks never become one class.

mod stems;
mod tokens;
mod varied;

use crate::loaded_run::LoadedRun;
use forebay_model::run::TaskRow;
use std::collections::{BTreeMap, BTreeSet};

/// A class of the run, and who has to do with its files.
#[derive(Clone, Debug, Default)]
struct NamedClass<'r> {
    pattern: &'r str,
    /// Kinds of tasks that make or write its files, and that read them. What a shell opens for a
    /// program, as of `tr < a > b`, nobody is known to have made.
    makers: BTreeSet<&'r str>,
    readers: BTreeSet<&'r str>,
    maker_tasks: BTreeSet<u32>,
    has_files: bool,
    /// Some of its files were written in the run, by a task or by the engine.
    is_made: bool,
    /// And read, by whomever.
    is_read: bool,
    is_deleted: bool,
}

impl NamedClass<'_> {
    fn directory_part(&self) -> &str {
        self.pattern.rsplit_once('/').map_or("", |(directory, _)| directory)
    }

    fn file_name(&self) -> &str {
        self.pattern.rsplit_once('/').map_or(self.pattern, |(_, name)| name)
    }
}

/// Gives classes that differ by the sample one name and one number.
pub(super) fn join_samples(rows: &mut LoadedRun) {
    let patterns = sample_patterns(rows);
    rows.rename_classes(patterns);
}

/// For each class its pattern, with the sample as a wildcard.
fn sample_patterns(rows: &LoadedRun) -> BTreeMap<u32, String> {
    let classes = named_classes(rows);
    let all: Vec<&NamedClass<'_>> = classes.values().collect();
    let samples = stems::sample_names(&all);
    let renamed: Vec<String> =
        all.iter().map(|class| samples.replace_samples(class.pattern)).collect();
    let renamed = varied::with_wildcards(&all, renamed);
    let mut alike: BTreeMap<&str, Vec<&NamedClass<'_>>> = BTreeMap::new();
    for (class, pattern) in all.iter().zip(&renamed).filter(|(class, _)| class.has_files) {
        alike.entry(pattern.as_str()).or_default().push(class);
    }
    let apart: BTreeSet<&str> =
        alike.iter().filter(|(_, classes)| !are_one_kind(classes)).map(|(name, _)| *name).collect();
    let pattern = |(class, renamed): (&&NamedClass<'_>, &String)| {
        if apart.contains(renamed.as_str()) { class.pattern.to_owned() } else { renamed.clone() }
    };
    classes.keys().copied().zip(all.iter().zip(&renamed).map(pattern)).collect()
}

/// Files that other tasks make may live elsewhere: rules could not tell them apart any more. Who
/// made a file is not always seen, as where a shell opened it; then it is told by who reads it.
fn are_one_kind(classes: &[&NamedClass<'_>]) -> bool {
    let (known, unknown): (Vec<&NamedClass<'_>>, Vec<&NamedClass<'_>>) =
        classes.iter().copied().partition(|class| !class.makers.is_empty());
    let makers: BTreeSet<_> = known.iter().map(|class| &class.makers).collect();
    let readers: BTreeSet<_> = unknown.iter().map(|class| &class.readers).collect();
    let is_made: BTreeSet<bool> = classes.iter().map(|class| class.is_made).collect();
    let is_read_so = |readers: &BTreeSet<&str>| known.iter().any(|class| class.readers == *readers);
    makers.len() <= 1
        && readers.len() <= 1
        && is_made.len() <= 1
        && (known.is_empty() || readers.into_iter().all(is_read_so))
}

fn named_classes(rows: &LoadedRun) -> BTreeMap<u32, NamedClass<'_>> {
    let named = |pattern| NamedClass { pattern, ..NamedClass::default() };
    let mut classes: BTreeMap<u32, NamedClass<'_>> =
        rows.classes.iter().map(|(id, pattern)| (*id, named(pattern.as_str()))).collect();
    let tasks: BTreeMap<u32, &TaskRow> = rows.tasks.iter().map(|task| (task.id, task)).collect();
    let files: BTreeMap<_, _> = rows.files.iter().map(|file| (file.id, file.class.0)).collect();
    for open in &rows.opens {
        let class = files.get(&open.file).and_then(|class| classes.get_mut(class));
        let Some(class) = class else { continue };
        class.has_files = true;
        class.is_deleted |= rows.gone.contains_key(&open.file);
        let writes = open.created || open.write && open.wrote != Some(0);
        let reads = open.read.map_or(!open.write, |bytes| bytes > 0);
        class.is_made |= writes;
        class.is_read |= reads;
        let task = open.task.and_then(|task| tasks.get(&task)).filter(|task| !task.driver);
        let Some(task) = task else { continue };
        if writes {
            class.makers.insert(&task.name);
            class.maker_tasks.insert(task.id);
        }
        if reads {
            class.readers.insert(&task.name);
        }
    }
    classes
}

#[cfg(test)]
mod tests;
