//! Reading lengths of time that people write.

use super::Micros;
use std::fmt;
use std::str::FromStr;

/// Why a text is no length of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotTime(String);

impl fmt::Display for NotTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotTime {}

impl FromStr for Micros {
    type Err = NotTime;

    fn from_str(text: &str) -> Result<Self, NotTime> {
        let bad = |why: &str| {
            NotTime(format!("{text:?} {why}; write it like \"500 ms\", \"30 s\" or \"1.5 min\""))
        };
        let amount = text.trim();
        let end = amount.find(|c: char| !(c.is_ascii_digit() || c == '.'));
        let (number, unit) = amount.split_at(end.unwrap_or(amount.len()));
        let unit: u64 = match unit.trim() {
            "ms" => 1_000,
            "s" => 1_000_000,
            "min" => 60_000_000,
            "h" => 3_600_000_000,
            "d" => 86_400_000_000,
            _ => return Err(bad("has no unit of time")),
        };
        let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
        // Nine digits behind the point are finer than a microsecond of most units, and exact.
        if whole.is_empty() || part.is_empty() || part.len() > 9 || part.contains('.') {
            return Err(bad("is no length of time"));
        }
        let digits = |text: &str| text.parse::<u64>().ok();
        let part = digits(part).map(|digits| {
            (u128::from(digits) * u128::from(unit) / 10_u128.pow(part.len() as u32)) as u64
        });
        let whole = digits(whole).and_then(|whole| whole.checked_mul(unit));
        let time = whole.zip(part).and_then(|(whole, part)| whole.checked_add(part));
        time.map(Self).ok_or_else(|| bad("is more than can be counted"))
    }
}

#[cfg(test)]
mod tests {
    //! If these fail, something is believed for another time than its rule says.
    use super::*;

    #[test]
    fn times_are_read_with_their_unit() {
        for (text, micros) in [
            ("500 ms", 500_000),
            ("30s", 30_000_000),
            (" 1.5  min ", 90_000_000),
            ("0.25 h", 900_000_000),
            ("2 d", 172_800_000_000),
            ("0.000001 s", 1),
        ] {
            assert_eq!(text.parse(), Ok(Micros(micros)), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused_with_a_reason() {
        for (text, why) in [
            ("30", "has no unit of time"),
            ("30 sec", "has no unit of time"),
            ("-1 s", "has no unit of time"),
            ("s", "is no length of time"),
            ("1. s", "is no length of time"),
            ("1.2.3 s", "is no length of time"),
            ("99999999999999 d", "is more than can be counted"),
        ] {
            let error = text.parse::<Micros>().expect_err(text).to_string();
            let expected =
                format!("{text:?} {why}; write it like \"500 ms\", \"30 s\" or \"1.5 min\"");
            assert_eq!(error, expected);
        }
    }
}
