//! Texts of a report, each there once, named by numbers.

use std::collections::HashMap;

use super::page_text::{cut_long_text, escape_name};

/// All texts so far.
#[derive(Debug)]
pub(super) struct StringTable {
    at: HashMap<String, i64>,
    all: Vec<String>,
}

impl StringTable {
    pub(super) fn new() -> Self {
        let mut strings = Self { at: HashMap::new(), all: Vec::new() };
        strings.intern_text("");
        strings
    }

    /// A text that is fit to be shown as it is: of our own making, or made so.
    pub(super) fn intern_text(&mut self, text: &str) -> i64 {
        if let Some(at) = self.at.get(text) {
            return *at;
        }
        let at = self.all.len() as i64;
        self.at.insert(text.to_owned(), at);
        self.all.push(text.to_owned());
        at
    }

    /// A name from outside.
    pub(super) fn intern_name(&mut self, name: &[u8]) -> i64 {
        let text = cut_long_text(escape_name(name));
        self.intern_text(&text)
    }

    /// A name from outside, or none: -1.
    pub(super) fn intern_optional(&mut self, name: Option<&[u8]>) -> i64 {
        name.map_or(-1, |name| self.intern_name(name))
    }

    pub(super) fn into_all(self) -> Vec<String> {
        self.all
    }
}
