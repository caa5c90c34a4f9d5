//! Reading amounts of bytes that people write. What it is not: rounding; the arithmetic is exact.

use super::ByteCount;
use std::str::FromStr;

/// Why a text is no [`ByteCount`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseByteCountError(String);

impl FromStr for ByteCount {
    type Err = ParseByteCountError;

    fn from_str(text: &str) -> Result<Self, ParseByteCountError> {
        let bad = |why: &str| {
            ParseByteCountError(format!(
                "{text:?} {why}; write it like \"200 GiB\", \"1.5 TB\" or \"4096\""
            ))
        };
        let amount = text.trim();
        let end = amount.find(|c: char| !(c.is_ascii_digit() || c == '.'));
        let (number, unit) = amount.split_at(end.unwrap_or(amount.len()));
        let unit = unit_bytes(unit.trim()).ok_or_else(|| bad("has no unit of bytes"))?;
        let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
        // 18 digits behind the point are finer than a byte of any unit, and 2^60 times as many
        // still fit into 128 bits: the arithmetic is exact.
        if whole.is_empty() || part.is_empty() || part.len() > 18 || part.contains('.') {
            return Err(bad("is no amount"));
        }
        if unit == 1 && number.contains('.') {
            return Err(bad("is a part of a byte"));
        }
        let digits = |text: &str| text.parse::<u128>().ok();
        let part = digits(part).map(|digits| digits * unit / 10_u128.pow(part.len() as u32));
        let bytes = digits(whole).and_then(|whole| whole.checked_mul(unit)?.checked_add(part?));
        let bytes = bytes.and_then(|bytes| u64::try_from(bytes).ok());
        bytes.map(Self).ok_or_else(|| bad("is more than can be counted"))
    }
}

/// `KiB` is 1024 bytes, `KB` 1000. A bare `K` means one here and the other there: it is refused.
fn unit_bytes(unit: &str) -> Option<u128> {
    let unit = unit.to_ascii_lowercase();
    if matches!(unit.as_str(), "" | "b") {
        return Some(1);
    }
    let (letter, base) = match unit.strip_suffix("ib") {
        Some(letter) => (letter, 1024_u128),
        None => (unit.strip_suffix('b')?, 1000),
    };
    let power = ["k", "m", "g", "t", "p", "e"].iter().position(|known| *known == letter)?;
    Some(base.pow(power as u32 + 1))
}

#[cfg(test)]
mod tests {
    //! If these fail, a tier gets another capacity than its site file says.
    use super::*;

    #[test]
    fn bytes_are_read_with_binary_and_decimal_units() {
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("17 B", 17),
            ("200 GiB", 200 << 30),
            ("200GiB", 200 << 30),
            (" 200  gib ", 200 << 30),
            ("1.5 TiB", 3 << 39),
            ("10 GB", 10_000_000_000),
            ("10 kB", 10_000),
            ("0.1 KiB", 102),
            ("2.000000000000000001 EB", 2_000_000_000_000_000_001),
            ("15.999999999999999999 EiB", u64::MAX - 1),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(text.parse(), Ok(ByteCount(bytes)), "{text}");
        }
    }

    #[test]
    fn what_is_no_amount_of_bytes_is_refused_with_a_reason() {
        for (text, why) in [
            ("", "is no amount"),
            ("GiB", "is no amount"),
            (".5 GiB", "is no amount"),
            ("5. GiB", "is no amount"),
            ("1.2.3 GiB", "is no amount"),
            ("1.0000000000000000001 GiB", "is no amount"),
            ("-1", "has no unit of bytes"),
            ("200 G", "has no unit of bytes"),
            ("200 Gi", "has no unit of bytes"),
            ("1e9", "has no unit of bytes"),
            ("1,000", "has no unit of bytes"),
            ("200 GiB!", "has no unit of bytes"),
            ("1.5", "is a part of a byte"),
            ("1.0 B", "is a part of a byte"),
            ("16 EiB", "is more than can be counted"),
            ("18446744073709551616", "is more than can be counted"),
            ("999999999999999999999999999999999999999999", "is more than can be counted"),
        ] {
            let error = text.parse::<ByteCount>().expect_err(text).to_string();
            let expected =
                format!("{text:?} {why}; write it like \"200 GiB\", \"1.5 TB\" or \"4096\"");
            assert_eq!(error, expected);
        }
    }
}
