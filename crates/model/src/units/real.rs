//! Amounts that arithmetic needs with a fraction: seconds, bytes a second, dollars.
//!
//! What it is not: for counting. What was measured is counted in [`Micros`] and
//! [`ByteCount`]; these are what models compute with.

use super::{ByteCount, Micros};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub};
use std::str::FromStr;

macro_rules! reals {
    ($($(#[doc = $doc:literal])+ $real:ident;)*) => {$(
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $real(pub f64);

        impl $real {
            /// None of it.
            pub const ZERO: Self = Self(0.0);

            /// The plain number.
            pub const fn get(self) -> f64 {
                self.0
            }
        }
        impl Add for $real {
            type Output = Self;
            fn add(self, other: Self) -> Self { Self(self.0 + other.0) }
        }
        impl Sub for $real {
            type Output = Self;
            fn sub(self, other: Self) -> Self { Self(self.0 - other.0) }
        }
        impl Mul<f64> for $real {
            type Output = Self;
            fn mul(self, factor: f64) -> Self { Self(self.0 * factor) }
        }
        impl Div for $real {
            type Output = f64;
            fn div(self, other: Self) -> f64 { self.0 / other.0 }
        }
        impl AddAssign for $real {
            fn add_assign(&mut self, other: Self) { self.0 += other.0; }
        }
        impl Sum for $real {
            fn sum<I: Iterator<Item = Self>>(all: I) -> Self { all.fold(Self::ZERO, Add::add) }
        }
    )*};
}

reals! {
    /// A time in seconds.
    Seconds;
    /// Bytes a second.
    Rate;
    /// US dollars.
    Usd;
}

impl Rate {
    /// How long so many bytes take.
    pub fn time_for_bytes(self, bytes: ByteCount) -> Seconds {
        Seconds(bytes.get() as f64 / self.0)
    }
}

impl From<Micros> for Seconds {
    fn from(time: Micros) -> Self {
        Self(time.as_secs())
    }
}

impl From<Seconds> for Micros {
    /// Rounded to the nearest; what is negative or no number counts as 0.
    fn from(time: Seconds) -> Self {
        Self((time.0 * 1e6).round() as u64)
    }
}

/// Why a text is no [`Seconds`] or no [`Rate`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseRealError(String);

/// Longest first, for `s` ends them all.
const TIMES: [(&str, f64); 9] = [
    ("min", 60.0),
    ("ns", 1e-9),
    ("us", 1e-6),
    ("µs", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("m", 60.0),
    ("h", 3600.0),
    ("d", 86400.0),
];

impl FromStr for Seconds {
    type Err = ParseRealError;

    fn from_str(text: &str) -> Result<Self, ParseRealError> {
        let bad =
            || ParseRealError(format!("{text:?} is no time; write it like \"5 ms\" or \"2.5 h\""));
        let trimmed = text.trim();
        let (number, factor) = TIMES
            .iter()
            .find_map(|(unit, factor)| Some((trimmed.strip_suffix(unit)?.trim_end(), factor)))
            .ok_or_else(bad)?;
        let plain = number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        let number: f64 = number.parse().ok().filter(|_| plain).ok_or_else(bad)?;
        Ok(Self(number * factor)).and_then(|t| if t.0.is_finite() { Ok(t) } else { Err(bad()) })
    }
}

impl FromStr for Micros {
    type Err = ParseRealError;

    fn from_str(text: &str) -> Result<Self, ParseRealError> {
        text.parse::<Seconds>().map(Self::from)
    }
}

impl FromStr for Rate {
    type Err = ParseRealError;

    fn from_str(text: &str) -> Result<Self, ParseRealError> {
        let bad = || ParseRealError(format!("{text:?} is no rate; write it like \"125 MiB/s\""));
        let bytes = text.trim().strip_suffix("/s").ok_or_else(bad)?;
        let bytes: ByteCount = bytes.parse().map_err(|_| bad())?;
        if bytes == ByteCount::ZERO { Err(bad()) } else { Ok(Self(bytes.get() as f64)) }
    }
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 > 0.0 && self.0 < 1e-6 {
            return f.pad(&format!("{:.0} ns", self.0 * 1e9));
        }
        Micros::from(*self).fmt(f)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}/s", ByteCount(self.0.round() as u64)))
    }
}

impl fmt::Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A thousandth of a cent matters for single requests, never for a run that costs dollars.
        let digits = if self.0.abs() < 0.1 { 5 } else { 2 };
        f.pad(&format!("${:.digits$}", self.0))
    }
}

#[cfg(test)]
mod tests {
    //! A misread unit here is a prediction that is wrong a thousand times over.
    use super::*;

    #[test]
    fn times_and_rates_are_read_with_their_units() {
        for (text, seconds) in
            [("5 ms", 5e-3), ("300us", 3e-4), ("2.5 h", 9e3), ("5m", 300.0), ("90 ns", 9e-8)]
        {
            let read = text.parse::<Seconds>().expect(text).get();
            assert!((read - seconds).abs() <= seconds * 1e-12, "{text}: {read}");
        }
        assert_eq!("125 MiB/s".parse(), Ok(Rate(131_072_000.0)));
        assert_eq!("0.25 h".parse(), Ok(Micros(900_000_000)));
    }

    #[test]
    fn what_is_neither_is_refused() {
        for text in ["", "5", "-5 s", "1e9 s", "nan s", "ms", "5 parsecs"] {
            assert!(text.parse::<Seconds>().is_err(), "{text}");
        }
        for text in ["125", "125 MiB", "0 B/s", "-1 MiB/s", "MiB/s"] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
    }

    #[test]
    fn they_print_for_people() {
        assert_eq!(Seconds(0.005).to_string(), "5.0 ms");
        assert_eq!(Seconds(9e-8).to_string(), "90 ns");
        assert_eq!(Rate(131_072_000.0).to_string(), "125 MiB/s");
        assert_eq!(Usd(20.5).to_string(), "$20.50");
        assert_eq!(Usd(0.00043).to_string(), "$0.00043");
    }
}
