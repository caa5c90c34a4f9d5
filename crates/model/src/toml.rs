//! Reading small TOML files that people write: tables of known keys, and flaws that say where.
//!
//! What it is not: it opens no file and knows no key; `site` and `rules` say what they expect.

mod amounts;
mod flaw;
pub(crate) mod schema;
mod values;

use ::toml::Spanned;
use ::toml::de::{DeString, DeTable, DeValue};
use flaw::{listed, nearest};

pub use flaw::Flaw;

/// A file while it is read: its name for people, and its text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Document<'d> {
    pub(crate) source: &'d str,
    pub(crate) text: &'d str,
}

impl<'d> Document<'d> {
    pub(crate) fn parse(self) -> Result<DeTable<'d>, Flaw> {
        DeTable::parse(self.text).map(Spanned::into_inner).map_err(|error| {
            let at = error.span().map_or(self.text.len(), |span| span.start);
            let before = self.text.get(..at).unwrap_or(self.text);
            // Of `reach = node`, the parser says that it is an invalid float.
            if before.trim_end_matches([' ', '\t']).ends_with('=') {
                return self.flaw(at, "a value in quotes must stand here");
            }
            self.flaw(at, error.message())
        })
    }

    pub(crate) fn root(self, entries: &'d DeTable<'d>) -> Table<'d> {
        Table { document: self, entries, at: 0 }
    }

    pub(crate) fn flaw(self, at: usize, message: impl Into<String>) -> Flaw {
        Flaw::new(self.source, self.text, at, message)
    }

    /// `what` (a key, a tier) is none of the `known` ones; they are listed if none is near.
    fn unknown(self, at: usize, what: &str, name: &str, known: &[&str]) -> Flaw {
        let message = format!("there is no {what} {name:?}");
        match nearest(name, known) {
            Some(near) => self.flaw(at, message).hinting(Some(near)),
            None => self.flaw(at, format!("{message}; it can be {}", listed(known))),
        }
    }
}

/// A table, and where it begins: its header, or its brace.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table<'d> {
    document: Document<'d>,
    entries: &'d DeTable<'d>,
    at: usize,
}

impl<'d> Table<'d> {
    /// All that stands in it, in the order of the file: what is wrong first is told first.
    pub(crate) fn entries(self) -> Vec<Entry<'d>> {
        let entry = |(key, value): (&'d Spanned<DeString<'d>>, &'d Spanned<DeValue<'d>>)| Entry {
            document: self.document,
            key: key.get_ref(),
            key_at: key.span().start,
            value: value.get_ref(),
            at: value.span().start,
        };
        let mut all: Vec<_> = self.entries.iter().map(entry).collect();
        all.sort_by_key(|entry| entry.key_at);
        all
    }

    pub(crate) fn get(self, key: &str) -> Option<Entry<'d>> {
        self.entries().into_iter().find(|entry| entry.key == key)
    }

    /// The value of a key that must be there.
    pub(crate) fn need(self, key: &str) -> Result<Entry<'d>, Flaw> {
        self.get(key).ok_or_else(|| self.flaw(format!("the key {key:?} is missing here")))
    }

    /// Refuses keys that nobody would read: they are misspelt.
    pub(crate) fn only(self, known: &[&str]) -> Result<(), Flaw> {
        match self.entries().into_iter().find(|entry| !known.contains(&entry.key)) {
            Some(entry) => Err(self.document.unknown(entry.key_at, "key", entry.key, known)),
            None => Ok(()),
        }
    }

    /// Refuses a file of another kind, which has this key at its top.
    pub(crate) fn is_none_of(self, key: &str, kind: &str) -> Result<(), Flaw> {
        match self.get(key) {
            Some(entry) => Err(entry.key_flaw(format!("this is a {kind}"))),
            None => Ok(()),
        }
    }

    pub(crate) fn flaw(self, message: impl Into<String>) -> Flaw {
        self.document.flaw(self.at, message)
    }
}

/// A value, its key, and where both begin. The items of a list share the key of the list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'d> {
    document: Document<'d>,
    pub(crate) key: &'d str,
    key_at: usize,
    value: &'d DeValue<'d>,
    at: usize,
}

impl<'d> Entry<'d> {
    pub(crate) fn table(self) -> Result<Table<'d>, Flaw> {
        match self.value {
            DeValue::Table(entries) => Ok(Table { document: self.document, entries, at: self.at }),
            _ => Err(self.not("a table")),
        }
    }

    /// The items of a list; `None` if it is something else.
    pub(crate) fn items(self) -> Option<Vec<Self>> {
        let DeValue::Array(items) = self.value else { return None };
        let item = |item: &'d Spanned<DeValue<'d>>| Self {
            value: item.get_ref(),
            at: item.span().start,
            ..self
        };
        Some(items.iter().map(item).collect())
    }

    /// A flaw of the value.
    pub(crate) fn flaw(self, message: impl Into<String>) -> Flaw {
        self.document.flaw(self.at, message)
    }

    /// A flaw of the key.
    pub(crate) fn key_flaw(self, message: impl Into<String>) -> Flaw {
        self.document.flaw(self.key_at, message)
    }

    /// The key names a `what` that is not there.
    pub(crate) fn unknown_key(self, what: &str, known: &[&str]) -> Flaw {
        self.document.unknown(self.key_at, what, self.key, known)
    }

    /// The value names a `what` that is not there.
    pub(crate) fn unknown(self, what: &str, name: &str, known: &[&str]) -> Flaw {
        self.document.unknown(self.at, what, name, known)
    }

    /// The value should be `wanted`.
    pub(crate) fn not(self, wanted: &str) -> Flaw {
        let is = match self.value {
            DeValue::String(_) => "a text",
            DeValue::Integer(_) | DeValue::Float(_) => "a number",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date or time",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        self.flaw(format!("{} must be {wanted}, but is {is}", self.key))
    }
}

#[cfg(test)]
mod tests;
