//! What nodes share: parts of one state of an object.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Bytes of a part: what one request for a whole file asks for (`evicted_files`).
pub(crate) const PART: u64 = 8 << 20;

/// A part of an object, by names that all nodes have alike whatever they mounted.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct PartId {
    /// `s3://BUCKET`
    pub(super) bucket: String,
    /// The whole key.
    pub(super) key: String,
    /// Its ETag: an object that changes has other parts.
    pub(super) version: String,
    /// From 0; each has 8 MiB but the last.
    pub(super) number: u64,
}

impl PartId {
    /// Where its first byte is in the object.
    pub(super) fn start(&self) -> u64 {
        self.number * PART
    }

    /// What peers are ranked by.
    pub(super) fn as_bytes(&self) -> Vec<u8> {
        let names = [&self.bucket, &self.key, &self.version].map(|name| name.as_bytes());
        [names.join(&0).as_slice(), &[0], &self.number.to_le_bytes()].concat()
    }

    /// Whether it can be a part at all: a key whose parts mean a file elsewhere is none.
    pub(super) fn is_plain(&self) -> bool {
        let strange = |part: &str| matches!(part, "" | "." | "..");
        !self.version.is_empty()
            && !self.key.split('/').any(strange)
            && !self.key.contains('\0')
            && self.number < u64::MAX / PART
    }
}

/// `s3://BUCKET/PREFIX`, taken apart.
pub(super) fn split_url(url: &str) -> (String, String) {
    let start = url.find("://").map_or(0, |at| at + 3);
    let (bucket, prefix) = match url[start..].split_once('/') {
        Some((bucket, prefix)) => (&url[..start + bucket.len()], prefix.trim_matches('/')),
        None => (url, ""),
    };
    (bucket.to_owned(), prefix.to_owned())
}

/// The whole key of a name below a prefix.
pub(super) fn key_below(prefix: &str, name: &str) -> String {
    if prefix.is_empty() { name.to_owned() } else { format!("{prefix}/{name}") }
}

/// The name below a prefix that a whole key has there; `None`: it is not below.
pub(super) fn name_below<'a>(prefix: &str, key: &'a str) -> Option<&'a str> {
    match prefix {
        "" => Some(key),
        prefix => key.strip_prefix(prefix)?.strip_prefix('/'),
    }
}

/// Cuts bytes of an object at the ends of parts.
pub(super) fn cut_into_parts(range: Range<u64>) -> impl Iterator<Item = (u64, Range<u64>)> {
    let numbers = range.start / PART..range.end.div_ceil(PART);
    numbers.map(move |number| {
        let part = number * PART..(number + 1) * PART;
        (number, range.start.max(part.start)..range.end.min(part.end))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(key: &str, version: &str) -> PartId {
        let (bucket, key, version) = ("s3://b".to_owned(), key.to_owned(), version.to_owned());
        PartId { bucket, key, version, number: 3 }
    }

    #[test]
    fn names_are_the_same_below_whatever_prefix() {
        assert_eq!(split_url("s3://refs/a/b/"), ("s3://refs".to_owned(), "a/b".to_owned()));
        assert_eq!(split_url("s3://refs"), ("s3://refs".to_owned(), String::new()));
        assert_eq!(key_below("a/b", "c"), "a/b/c");
        assert_eq!(key_below("", "c"), "c");
        assert_eq!(name_below("a/b", "a/b/c/d"), Some("c/d"));
        assert_eq!(name_below("a/b", "a/bc"), None);
        assert_eq!(name_below("", "a/bc"), Some("a/bc"));
        assert_ne!(id("a", "b").as_bytes(), id("a\0b", "").as_bytes());
    }

    #[test]
    fn strange_names_are_no_parts() {
        assert!(id("a/b..c/...", "e").is_plain());
        for key in ["", "..", "a/../b", "/a", "a/", "a//b", "./a", "a\0"] {
            assert!(!id(key, "e").is_plain(), "{key:?}");
        }
        assert!(!id("a", "").is_plain());
        assert!(!PartId { number: u64::MAX, ..id("a", "e") }.is_plain());
    }

    #[test]
    fn ranges_are_cut_where_parts_end() {
        let cut = |range| cut_into_parts(range).collect::<Vec<_>>();
        assert_eq!(cut(5..9), [(0, 5..9)]);
        assert_eq!(
            cut(PART - 1..2 * PART + 1),
            [(0, PART - 1..PART), (1, PART..2 * PART), (2, 2 * PART..2 * PART + 1)]
        );
        assert_eq!(cut(PART..PART), []);
    }
}
