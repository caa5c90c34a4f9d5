//! Amounts with their unit in the type: bytes and microseconds, printed for people.

mod parse;
mod real;

pub use parse::ParseByteCountError;
pub use real::{ParseRealError, Rate, Seconds, Usd};

use serde::{Deserialize, Serialize};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};
use std::time::Duration;

/// A number of bytes. Prints as `0 B`, `4.0 KiB`, `1.3 GiB`; in JSON it is a plain number of bytes.
/// Reads `4096`, `200 GiB` (1024s), `1.5TB` (1000s), in capitals or not; what is less than a byte
/// is cut off.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct ByteCount(pub u64);

/// A time or a length of time in microseconds. In a run, a time is counted from its start.
///
/// Prints as `12 µs`, `350 ms`, `2.4 s`, `12 min 05 s`, `3 h 04 min`; in JSON it is a plain number
/// of microseconds. Reads `30 s`, `1.5 min`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Micros(pub u64);

impl ByteCount {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// The plain number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl From<u64> for ByteCount {
    fn from(bytes: u64) -> Self {
        Self(bytes)
    }
}

impl Micros {
    /// No time, or the start of the run.
    pub const ZERO: Self = Self(0);

    /// Whole seconds.
    pub const fn from_secs(seconds: u64) -> Self {
        Self(seconds.saturating_mul(1_000_000))
    }

    /// Nanoseconds, rounded to the nearest microsecond.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos / 1_000 + (nanos % 1_000 >= 500) as u64)
    }

    /// The plain number of microseconds.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Seconds, for arithmetic on ratios.
    pub fn as_secs(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// The time since `earlier`, or zero when `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

impl From<Duration> for Micros {
    fn from(duration: Duration) -> Self {
        Self(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX))
    }
}

impl From<Micros> for Duration {
    fn from(micros: Micros) -> Self {
        Self::from_micros(micros.0)
    }
}

macro_rules! arithmetic {
    ($($unit:ident),*) => {$(
        impl Add for $unit {
            type Output = Self;
            fn add(self, other: Self) -> Self { Self(self.0.saturating_add(other.0)) }
        }
        impl Sub for $unit {
            type Output = Self;
            fn sub(self, other: Self) -> Self { Self(self.0.saturating_sub(other.0)) }
        }
        impl AddAssign for $unit {
            fn add_assign(&mut self, other: Self) { *self = *self + other; }
        }
        impl Sum for $unit {
            fn sum<I: Iterator<Item = Self>>(all: I) -> Self { all.fold(Self(0), Add::add) }
        }
    )*};
}
arithmetic!(ByteCount, Micros);

impl fmt::Display for ByteCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        if self.0 < 1024 {
            return f.pad(&format!("{} B", self.0));
        }
        let (mut amount, mut name) = (self.0 as f64 / 1024.0, 0);
        // 1023.95 would print as 1024.0: the next unit is meant.
        while amount >= 1023.95 && name + 1 < NAMES.len() {
            amount /= 1024.0;
            name += 1;
        }
        let digits = usize::from(amount < 99.95);
        f.pad(&format!("{amount:.digits$} {}", NAMES[name]))
    }
}

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = self.0;
        let text = match us {
            0 => "0 s".to_owned(),
            1..1_000 => format!("{us} µs"),
            1_000..9_950 => format!("{:.1} ms", us as f64 / 1e3),
            9_950..999_500 => format!("{:.0} ms", us as f64 / 1e3),
            999_500..59_950_000 => format!("{:.1} s", us as f64 / 1e6),
            59_950_000..3_599_500_000 => {
                let seconds = us.saturating_add(500_000) / 1_000_000;
                format!("{} min {:02} s", seconds / 60, seconds % 60)
            }
            _ => {
                let minutes = us.saturating_add(30_000_000) / 60_000_000;
                format!("{} h {:02} min", minutes / 60, minutes % 60)
            }
        };
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    //! If these fail, people read wrong amounts in every summary and report.
    use super::*;

    #[test]
    fn bytes_print_with_the_unit_that_fits() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1_048_575, "1.0 MiB"),
            (1_395_864_371, "1.3 GiB"),
            (300 << 20, "300 MiB"),
            (u64::MAX, "16.0 EiB"),
        ] {
            assert_eq!(ByteCount(bytes).to_string(), text);
        }
    }

    #[test]
    fn times_print_with_the_unit_that_fits_and_never_say_60_s() {
        for (us, text) in [
            (0, "0 s"),
            (12, "12 µs"),
            (1_250, "1.2 ms"),
            (350_000, "350 ms"),
            (999_600, "1.0 s"),
            (2_400_000, "2.4 s"),
            (59_949_999, "59.9 s"),
            (59_990_000, "1 min 00 s"),
            (725_000_000, "12 min 05 s"),
            (3_599_600_000, "1 h 00 min"),
            (11_040_000_000, "3 h 04 min"),
            (u64::MAX, "5124095576 h 01 min"),
        ] {
            assert_eq!(Micros(us).to_string(), text);
        }
    }

    #[test]
    fn arithmetic_saturates_rather_than_wraps() {
        assert_eq!(Micros(1) - Micros(2), Micros::ZERO);
        assert_eq!(ByteCount(u64::MAX) + ByteCount(1), ByteCount(u64::MAX));
        assert_eq!(Micros::from_nanos(1_500), Micros(2));
        assert_eq!(format!("[{:>8}]", ByteCount(5)), "[     5 B]");
    }
}
