//! Numbers and amounts, with bounds and units.

use super::{Entry, Flaw};
use crate::ByteCount;
use ::toml::de::DeValue;

impl Entry<'_> {
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

    /// A time.
    pub(crate) fn seconds(self) -> Result<crate::Seconds, Flaw> {
        let text = self.text().map_err(|_| self.not("a time in quotes, like \"5 ms\""))?;
        text.parse().map_err(|error: crate::NotReal| self.flaw(error.to_string()))
    }

    /// Bytes a second.
    pub(crate) fn rate(self) -> Result<crate::Rate, Flaw> {
        self.text()?.parse().map_err(|error: crate::NotReal| self.flaw(error.to_string()))
    }
}
