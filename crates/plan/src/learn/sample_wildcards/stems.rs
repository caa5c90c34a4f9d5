//! Names of samples, told by what goes from stage to stage: `data/hs_1.fq` is read, and later there
//! are `trim/hs_1.fq` and `bam/hs.bam`.

use super::NamedClass;
use super::tokens::{is_word_char, stem_and_extension, word_prefixes};
use std::collections::{BTreeMap, BTreeSet};

/// Endings of programs and their settings: their names are of steps, not of samples.
const PROGRAMS: [&str; 14] =
    ["py", "pyc", "pl", "pm", "r", "R", "sh", "nf", "smk", "groovy", "jar", "so", "yaml", "json"];
/// A shorter name is a sample's only where it begins a name.
const INSIDE_BYTES_MIN: usize = 2;

/// Names of samples, as they are in patterns.
#[derive(Clone, Debug, Default)]
pub(super) struct SampleNames<'r> {
    /// Longest first; whether it is that of an input.
    names: Vec<(&'r str, bool)>,
}

/// For each beginning of a part of a path the stages that make such files, with their names.
type StageOutputs<'r> = BTreeMap<&'r str, BTreeMap<usize, ClassesByName<'r>>>;

/// By name the places of classes.
type ClassesByName<'r> = BTreeMap<&'r str, Vec<usize>>;

/// The names that files which tasks read share with files which tasks make elsewhere.
pub(super) fn sample_names<'r>(classes: &[&NamedClass<'r>]) -> SampleNames<'r> {
    // A stage is a directory and the kinds of tasks that make files there.
    type Stage<'r> = (&'r str, &'r BTreeSet<&'r str>);
    let mut stages: BTreeMap<Stage<'_>, usize> = BTreeMap::new();
    let mut made: StageOutputs<'_> = BTreeMap::new();
    for (at, class) in classes.iter().enumerate().filter(|(_, class)| class.is_made) {
        let count = stages.len();
        let stage = *stages.entry((class.directory_part(), &class.makers)).or_insert(count);
        for part in class.pattern.split('/') {
            for beginning in word_prefixes(part) {
                let names = made.entry(beginning).or_default().entry(stage).or_default();
                names.entry(class.file_name()).or_default().push(at);
            }
        }
    }
    let stages: Vec<Stage<'_>> = {
        let mut by_number: Vec<_> = stages.into_iter().map(|(stage, at)| (at, stage)).collect();
        by_number.sort_by_key(|(at, _)| *at);
        by_number.into_iter().map(|(_, stage)| stage).collect()
    };
    let mut names: BTreeMap<&str, bool> = BTreeMap::new();
    for class in classes.iter().filter(|class| is_source(class)) {
        let is_input = !class.is_made;
        let pattern: &'r str = class.pattern;
        let name = pattern.rsplit_once('/').map_or(pattern, |(_, name)| name);
        // Files of one directory that one task makes from another there may have fixed names, and
        // so have those that tasks of one kind make, each in its own directory: where nobody knows
        // who made them, it is by the same name; where it is known of some, by the same readers too.
        let tells = |stage: usize, names: &ClassesByName<'_>| {
            let (directory, makers) = stages[stage];
            let is_elsewhere = directory != class.directory_part() || directory.contains('*');
            let mut namesakes = names.get(name).into_iter().flatten().map(|&at| classes[at]);
            let is_other = match (makers.is_empty(), class.makers.is_empty()) {
                (true, true) => namesakes.next().is_none(),
                (false, false) => *makers != class.makers,
                _ => !namesakes.any(|one| one.readers == class.readers),
            };
            is_input || is_elsewhere && is_other
        };
        if let Some(sample) = sample_of(name, &made, &tells) {
            *names.entry(sample).or_default() |= is_input;
        }
    }
    let mut names: Vec<_> = names.into_iter().collect();
    names.sort_by_key(|(name, _)| (std::cmp::Reverse(name.len()), *name));
    SampleNames { names }
}

fn is_source(class: &NamedClass<'_>) -> bool {
    let (_, ending) = stem_and_extension(class.file_name());
    let is_hidden = class.pattern.split('/').any(|part| part.starts_with('.'));
    class.is_read && !is_hidden && !PROGRAMS.contains(&ending)
}

/// The beginning of a name that most stages share.
fn sample_of<'r>(
    name: &'r str,
    made: &StageOutputs<'_>,
    tells: &dyn Fn(usize, &ClassesByName<'_>) -> bool,
) -> Option<&'r str> {
    let (stem, _) = stem_and_extension(name);
    let all: Vec<&'r str> = word_prefixes(stem).collect();
    let mut counted: BTreeSet<usize> = BTreeSet::new();
    // Each stage counts for the longest beginning that it has.
    let mut shared: Vec<(&'r str, usize)> = Vec::new();
    for &beginning in all.iter().rev() {
        let of = made.get(beginning).into_iter().flatten();
        let of = of.filter(|(stage, names)| tells(**stage, names));
        let count = of.filter(|(stage, _)| counted.insert(**stage)).count();
        if count > 0 && beginning.contains(char::is_alphabetic) {
            shared.push((beginning, count));
        }
    }
    // Shortest first: what is longer by a number only is one of the sample's files.
    shared.reverse();
    let mut best: Option<(&'r str, usize)> = None;
    for (beginning, count) in shared {
        best = match best {
            Some((shorter, so_far)) if is_number(&beginning[shorter.len()..]) => {
                Some((shorter, so_far + count))
            }
            Some((_, so_far)) if count <= so_far => best,
            _ => Some((beginning, count)),
        };
    }
    best.map(|(beginning, _)| beginning)
}

/// `_#`, `_R#`, `_S#_L#`: mates, lanes and the like.
fn is_number(rest: &str) -> bool {
    rest.split(|c| !is_word_char(c)).all(|word| matches!(word, "" | "#" | "R#" | "L#" | "S#"))
}

impl SampleNames<'_> {
    /// A pattern with names of samples as wildcards.
    pub(super) fn replace_samples(&self, pattern: &str) -> String {
        let parts: Vec<String> =
            pattern.split('/').map(|part| self.replace_sample_in_part(part)).collect();
        parts.join("/")
    }

    fn replace_sample_in_part(&self, part: &str) -> String {
        for (name, is_input) in &self.names {
            let mut from = 0;
            while let Some(found) = part[from..].find(name) {
                let (start, end) = (from + found, from + found + name.len());
                let starts = part[..start].chars().next_back().is_none_or(|c| !is_word_char(c));
                let ends = part[end..].chars().next().is_none_or(|c| !is_word_char(c));
                let inside = *is_input && name.len() >= INSIDE_BYTES_MIN;
                if starts && ends && (start == 0 || inside) {
                    return format!("{}*{}", &part[..start], &part[end..]);
                }
                from = end;
            }
        }
        part.to_owned()
    }
}
