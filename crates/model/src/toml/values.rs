//! Single values: texts and words.

use super::flaw::{listed, nearest};
use super::{Entry, Flaw};
use ::toml::de::DeValue;

impl<'d> Entry<'d> {
    pub(crate) fn text(self) -> Result<&'d str, Flaw> {
        match self.value {
            DeValue::String(text) => Ok(text),
            _ => Err(self.not("a text in quotes")),
        }
    }

    pub(crate) fn truth(self) -> Result<bool, Flaw> {
        match self.value {
            DeValue::Boolean(truth) => Ok(*truth),
            _ => Err(self.not("true or false")),
        }
    }

    /// One of a few words.
    pub(crate) fn word<T: Copy>(self, words: &[(&str, T)]) -> Result<T, Flaw> {
        let given = self.text()?;
        if let Some((_, meaning)) = words.iter().find(|(word, _)| *word == given) {
            return Ok(*meaning);
        }
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let message = format!("{} must be {}, not {given:?}", self.key, listed(&known));
        Err(self.flaw(message).hinting(nearest(given, &known)))
    }
}
