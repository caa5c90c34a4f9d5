//! Numbers and amounts, with bounds and units.

use super::{ConfigError, TomlEntry};
use crate::ByteCount;
use ::toml::de::DeValue;

impl TomlEntry<'_> {
    /// A whole number between two bounds.
    pub(crate) fn as_integer(self, least: u32, most: u32) -> Result<u32, ConfigError> {
        let DeValue::Integer(number) = self.value else {
            return Err(self.wrong_type_error("a whole number"));
        };
        let number = u32::from_str_radix(number.as_str(), number.radix());
        number
            .ok()
            .filter(|number| (least..=most).contains(number))
            .ok_or_else(|| self.value_error(format!("{} must be from {least} to {most}", self.key)))
    }

    /// A number, whole or with a fraction, between two bounds.
    pub(crate) fn as_number(self, least: f64, most: f64) -> Result<f64, ConfigError> {
        let number = match self.value {
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().parse::<f64>(),
            DeValue::Float(number) => number.as_str().parse::<f64>(),
            _ => return Err(self.wrong_type_error("a number")),
        };
        number
            .ok()
            .filter(|number| (least..=most).contains(number))
            .ok_or_else(|| self.value_error(format!("{} must be from {least} to {most}", self.key)))
    }

    /// An amount of bytes.
    pub(crate) fn as_byte_count(self) -> Result<ByteCount, ConfigError> {
        let text = self
            .as_text()
            .map_err(|_| self.wrong_type_error("an amount in quotes, like \"200 GiB\""))?;
        text.parse()
            .map_err(|error: crate::ParseByteCountError| self.value_error(error.to_string()))
    }

    /// A time.
    pub(crate) fn as_seconds(self) -> Result<crate::Seconds, ConfigError> {
        let text =
            self.as_text().map_err(|_| self.wrong_type_error("a time in quotes, like \"5 ms\""))?;
        text.parse().map_err(|error: crate::ParseRealError| self.value_error(error.to_string()))
    }

    /// Bytes a second.
    pub(crate) fn as_rate(self) -> Result<crate::Rate, ConfigError> {
        self.as_text()?
            .parse()
            .map_err(|error: crate::ParseRealError| self.value_error(error.to_string()))
    }
}
