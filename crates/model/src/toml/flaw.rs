//! A flaw in a file that somebody wrote: where it is, what is wrong, what was probably meant.

use std::fmt;

/// What is wrong in a file that somebody wrote, where, and what was probably meant.
///
/// Prints as `rules.toml:7:8: there is no tier "scrach"; did you mean "scratch"?`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    source: String,
    line: usize,
    column: usize,
    message: String,
    hint: Option<String>,
}

impl ConfigError {
    /// A flaw of `text` at the byte `at`.
    pub(super) fn new(source: &str, text: &str, at: usize, message: impl Into<String>) -> Self {
        let before = text.get(..at).unwrap_or(text);
        let start = before.rfind('\n').map_or(0, |end| end + 1);
        Self {
            source: source.to_owned(),
            line: 1 + before.matches('\n').count(),
            column: 1 + before[start..].chars().count(),
            message: message.into(),
            hint: None,
        }
    }

    /// The same flaw with the name that was probably meant.
    pub(super) fn with_hint(mut self, hint: Option<&str>) -> Self {
        self.hint = hint.map(str::to_owned);
        self
    }

    /// The name of the file, as it was handed in.
    pub fn file_name(&self) -> &str {
        &self.source
    }

    /// The line, counted from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// The column in characters, counted from 1.
    pub fn column(&self) -> usize {
        self.column
    }

    /// What is wrong, without the place and the hint.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The known name that is nearest to what was written, if one is near.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.source, self.line, self.column, self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "; did you mean {hint:?}?"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ConfigError {}

/// The known name that was probably meant. Two letters may differ, or a third of a long name, but
/// never more than half: of two short names, neither is a misspelling of the other.
pub(super) fn nearest_name<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let name = name.to_lowercase();
    let near = known.iter().filter_map(|other| {
        let length = name.chars().count().max(other.chars().count());
        let distance = strsim::damerau_levenshtein(&name, other);
        (distance <= (length / 3).max(2) && distance * 2 <= length).then_some((distance, *other))
    });
    near.min_by_key(|(distance, _)| *distance).map(|(_, other)| other)
}

/// `"a", "b" or "c"`
pub(super) fn join_quoted(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
    match quoted.split_last() {
        Some((end, [])) => end.clone(),
        Some((end, start)) => format!("{} or {end}", start.join(", ")),
        None => String::new(),
    }
}
