//! Names of samples, told by what differs between tasks of one kind: `out/hs/all.bam` is made by one
//! of them, and `out/ds/all.bam` by another.

use super::NamedClass;
use super::tokens::{is_word_char, stem_and_extension, word_ranges};
use std::collections::{BTreeMap, BTreeSet};

/// More classes of one shape are compared with so many of them only.
const COMPARED_MAX: usize = 200;

/// The same patterns, with words that differ between tasks of one kind as wildcards.
pub(super) fn with_wildcards(classes: &[&NamedClass<'_>], patterns: Vec<String>) -> Vec<String> {
    let mut groups: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (at, (class, pattern)) in classes.iter().zip(&patterns).enumerate() {
        if class.maker_tasks.is_empty() {
            continue;
        }
        let (_, ending) = stem_and_extension(class.file_name());
        let use_of = (&class.makers, &class.readers, class.is_deleted);
        groups.entry((use_of, word_shape(pattern), ending)).or_default().push(at);
    }
    let mut varied: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); patterns.len()];
    for group in groups.values() {
        for &one in group.iter().take(COMPARED_MAX) {
            for &other in group.iter().filter(|other| **other != one) {
                let apart = classes[one].maker_tasks.is_disjoint(&classes[other].maker_tasks);
                if apart && let Some(places) = one_word_differs(&patterns[one], &patterns[other]) {
                    varied[one].extend(&places);
                    varied[other].extend(places);
                }
            }
        }
    }
    patterns.iter().zip(varied).map(|(pattern, places)| replace_words(pattern, &places)).collect()
}

/// A pattern with each word as one letter.
fn word_shape(pattern: &str) -> String {
    let mut shape = String::new();
    for c in pattern.chars() {
        match is_word_char(c) {
            true if shape.ends_with('x') => {}
            true => shape.push('x'),
            false => shape.push(c),
        }
    }
    shape
}

/// The places at which two patterns of one shape differ, if it is by the same word everywhere.
fn one_word_differs(one: &str, other: &str) -> Option<Vec<usize>> {
    let pairs = word_ranges(one).into_iter().map(|word| &one[word]);
    let pairs = pairs.zip(word_ranges(other).into_iter().map(|word| &other[word]));
    let differ: Vec<_> = pairs.enumerate().filter(|(_, (a, b))| a != b).collect();
    let (_, first) = differ.first()?;
    let same = differ.iter().all(|(_, pair)| pair == first);
    same.then(|| differ.iter().map(|(place, _)| *place).collect())
}

fn replace_words(pattern: &str, places: &BTreeSet<usize>) -> String {
    let mut text = pattern.to_owned();
    for (_, word) in
        word_ranges(pattern).into_iter().enumerate().rev().filter(|(at, _)| places.contains(at))
    {
        text.replace_range(word, "*");
    }
    text
}
