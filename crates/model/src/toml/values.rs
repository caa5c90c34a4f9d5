//! Single values: texts and words.

use super::flaw::{join_quoted, nearest_name};
use super::{ConfigError, TomlEntry};
use ::toml::de::DeValue;

impl<'d> TomlEntry<'d> {
    pub(crate) fn as_text(self) -> Result<&'d str, ConfigError> {
        match self.value {
            DeValue::String(text) => Ok(text),
            _ => Err(self.wrong_type_error("a text in quotes")),
        }
    }

    pub(crate) fn as_bool(self) -> Result<bool, ConfigError> {
        match self.value {
            DeValue::Boolean(truth) => Ok(*truth),
            _ => Err(self.wrong_type_error("true or false")),
        }
    }

    /// One of a few words.
    pub(crate) fn as_one_of<T: Copy>(self, words: &[(&str, T)]) -> Result<T, ConfigError> {
        let given = self.as_text()?;
        if let Some((_, meaning)) = words.iter().find(|(word, _)| *word == given) {
            return Ok(*meaning);
        }
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let message = format!("{} must be {}, not {given:?}", self.key, join_quoted(&known));
        Err(self.value_error(message).with_hint(nearest_name(given, &known)))
    }
}
