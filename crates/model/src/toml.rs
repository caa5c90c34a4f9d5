//! Reading small TOML files that people write: tables of known keys, and flaws that say where.
//!
//! What it is not: it opens no file and knows no key; `site` and `rules` say what they expect.

mod flaw;
mod numeric_values;
pub(crate) mod schema_parts;
mod values;

use ::toml::Spanned;
use ::toml::de::{DeString, DeTable, DeValue};
use flaw::{join_quoted, nearest_name};

pub use flaw::ConfigError;

/// A file while it is read: its name for people, and its text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TomlDocument<'d> {
    pub(crate) source: &'d str,
    pub(crate) text: &'d str,
}

impl<'d> TomlDocument<'d> {
    pub(crate) fn parse(self) -> Result<DeTable<'d>, ConfigError> {
        DeTable::parse(self.text).map(Spanned::into_inner).map_err(|error| {
            let at = error.span().map_or(self.text.len(), |span| span.start);
            let before = self.text.get(..at).unwrap_or(self.text);
            // Of `reach = node`, the parser says that it is an invalid float.
            if before.trim_end_matches([' ', '\t']).ends_with('=') {
                return self.error_at(at, "a value in quotes must stand here");
            }
            self.error_at(at, error.message())
        })
    }

    pub(crate) fn root_table(self, entries: &'d DeTable<'d>) -> TomlTable<'d> {
        TomlTable { document: self, entries, at: 0 }
    }

    pub(crate) fn error_at(self, at: usize, message: impl Into<String>) -> ConfigError {
        ConfigError::new(self.source, self.text, at, message)
    }

    /// `what` (a key, a tier) is none of the `known` ones; they are listed if none is near.
    fn unknown_name_error(self, at: usize, what: &str, name: &str, known: &[&str]) -> ConfigError {
        let message = format!("there is no {what} {name:?}");
        match nearest_name(name, known) {
            Some(near) => self.error_at(at, message).with_hint(Some(near)),
            None => self.error_at(at, format!("{message}; it can be {}", join_quoted(known))),
        }
    }
}

/// A table, and where it begins: its header, or its brace.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TomlTable<'d> {
    document: TomlDocument<'d>,
    entries: &'d DeTable<'d>,
    at: usize,
}

impl<'d> TomlTable<'d> {
    /// All that stands in it, in the order of the file: what is wrong first is told first.
    pub(crate) fn entries(self) -> Vec<TomlEntry<'d>> {
        let entry =
            |(key, value): (&'d Spanned<DeString<'d>>, &'d Spanned<DeValue<'d>>)| TomlEntry {
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

    pub(crate) fn get(self, key: &str) -> Option<TomlEntry<'d>> {
        self.entries().into_iter().find(|entry| entry.key == key)
    }

    /// The value of a key that must be there.
    pub(crate) fn get_required(self, key: &str) -> Result<TomlEntry<'d>, ConfigError> {
        self.get(key).ok_or_else(|| self.table_error(format!("the key {key:?} is missing here")))
    }

    /// Refuses keys that nobody would read: they are misspelt.
    pub(crate) fn refuse_unknown_keys(self, known: &[&str]) -> Result<(), ConfigError> {
        match self.entries().into_iter().find(|entry| !known.contains(&entry.key)) {
            Some(entry) => {
                Err(self.document.unknown_name_error(entry.key_at, "key", entry.key, known))
            }
            None => Ok(()),
        }
    }

    /// Refuses a file of another kind, which has this key at its top.
    pub(crate) fn refuse_file_with_key(self, key: &str, kind: &str) -> Result<(), ConfigError> {
        match self.get(key) {
            Some(entry) => Err(entry.key_error(format!("this is a {kind}"))),
            None => Ok(()),
        }
    }

    pub(crate) fn table_error(self, message: impl Into<String>) -> ConfigError {
        self.document.error_at(self.at, message)
    }
}

/// A value, its key, and where both begin. The items of a list share the key of the list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TomlEntry<'d> {
    document: TomlDocument<'d>,
    pub(crate) key: &'d str,
    key_at: usize,
    value: &'d DeValue<'d>,
    at: usize,
}

impl<'d> TomlEntry<'d> {
    pub(crate) fn as_table(self) -> Result<TomlTable<'d>, ConfigError> {
        match self.value {
            DeValue::Table(entries) => {
                Ok(TomlTable { document: self.document, entries, at: self.at })
            }
            _ => Err(self.wrong_type_error("a table")),
        }
    }

    /// The items of a list; `None` if it is something else.
    pub(crate) fn as_list(self) -> Option<Vec<Self>> {
        let DeValue::Array(items) = self.value else { return None };
        let item = |item: &'d Spanned<DeValue<'d>>| Self {
            value: item.get_ref(),
            at: item.span().start,
            ..self
        };
        Some(items.iter().map(item).collect())
    }

    /// A flaw of the value.
    pub(crate) fn value_error(self, message: impl Into<String>) -> ConfigError {
        self.document.error_at(self.at, message)
    }

    /// A flaw of the key.
    pub(crate) fn key_error(self, message: impl Into<String>) -> ConfigError {
        self.document.error_at(self.key_at, message)
    }

    /// The key names a `what` that is not there.
    pub(crate) fn unknown_key_error(self, what: &str, known: &[&str]) -> ConfigError {
        self.document.unknown_name_error(self.key_at, what, self.key, known)
    }

    /// The value names a `what` that is not there.
    pub(crate) fn unknown_name_error(self, what: &str, name: &str, known: &[&str]) -> ConfigError {
        self.document.unknown_name_error(self.at, what, name, known)
    }

    /// The value should be `wanted`.
    pub(crate) fn wrong_type_error(self, wanted: &str) -> ConfigError {
        let is = match self.value {
            DeValue::String(_) => "a text",
            DeValue::Integer(_) | DeValue::Float(_) => "a number",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date or time",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        self.value_error(format!("{} must be {wanted}, but is {is}", self.key))
    }
}

#[cfg(test)]
mod tests;
