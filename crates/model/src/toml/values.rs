//! Single values: texts, numbers, words and amounts.

use super::flaw::{listed, nearest};
use super::{Entry, Flaw};
use crate::ByteCount;
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

    /// A whole number between two bounds.
    pub(crate) fn whole(self, least: u32, most: u32) -> Result<u32, Flaw> {
        let DeValue::Integer(number) = self.value else { return Err(self.not("a whole number")) };
        let number = u32::from_str_radix(number.as_str(), number.radix());
        number
            .ok()
            .filter(|number| (least..=most).contains(number))
            .ok_or_else(|| self.flaw(format!("{} must be from {least} to {most}", self.key)))
    }

    /// A number, whole or with a fraction, between two bounds.
    pub(crate) fn number(self, least: f64, most: f64) -> Result<f64, Flaw> {
        let number = match self.value {
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().parse::<f64>(),
            DeValue::Float(number) => number.as_str().parse::<f64>(),
            _ => return Err(self.not("a number")),
        };
        number
            .ok()
            .filter(|number| (least..=most).contains(number))
            .ok_or_else(|| self.flaw(format!("{} must be from {least} to {most}", self.key)))
    }

    /// An amount of bytes.
    pub(crate) fn bytes(self) -> Result<ByteCount, Flaw> {
        let text = self.text().map_err(|_| self.not("an amount in quotes, like \"200 GiB\""))?;
        text.parse().map_err(|error: crate::NotBytes| self.flaw(error.to_string()))
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
