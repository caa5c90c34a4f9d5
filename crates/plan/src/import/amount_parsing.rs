//! Times, lengths of time and amounts of bytes as tools print them. All are `None` for a text that
//! is none, and nothing is too strange to ask.

/// Microseconds since 1970 of `2024-11-02 10:10:10.123`, with `T` between, and an offset after it
/// (`Z`, `+01:00`). Without an offset the time counts as UTC: only differences matter.
pub(super) fn parse_timestamp(text: &str) -> Option<i64> {
    let (date, clock) = text.trim().split_once(['T', ' '])?;
    let mut parts = date.splitn(3, '-');
    let (year, month, day) = (
        parse_integer(parts.next()?)?,
        parse_integer(parts.next()?)?,
        parse_integer(parts.next()?)?,
    );
    let (clock, offset) = match clock.find(['Z', '+', '-']) {
        Some(at) => (&clock[..at], parse_utc_offset(&clock[at..])?),
        None => (clock, 0),
    };
    unix_micros(year, month, day, clock)?.checked_sub(offset.checked_mul(1_000_000)?)
}

/// The same of `Wed Oct 25 16:29:23 UTC 2023`, as `date` prints it. Names of zones say too little
/// (three mean several), so it counts as UTC.
pub(super) fn parse_date_output(text: &str) -> Option<i64> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let words: Vec<&str> = text.split_whitespace().collect();
    let (month, day, clock, year) = match words[..] {
        [_, month, day, clock, _, year] | [_, month, day, clock, year] => (month, day, clock, year),
        _ => return None,
    };
    let month = MONTHS.iter().position(|name| *name == month)? as i64 + 1;
    unix_micros(parse_integer(year)?, month, parse_integer(day)?, clock)
}

fn parse_utc_offset(text: &str) -> Option<i64> {
    let sign = match text.get(..1)? {
        "Z" => return (text.len() == 1).then_some(0),
        "-" => -1,
        _ => 1,
    };
    let digits = text.get(1..)?.replace(':', "");
    let (hours, minutes) =
        (parse_integer(digits.get(..2)?)?, parse_integer(digits.get(2..)?).unwrap_or(0));
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

fn unix_micros(year: i64, month: i64, day: i64, clock: &str) -> Option<i64> {
    let fits = (1970..=9999).contains(&year) && (1..=12).contains(&month);
    if !fits || !(1..=31).contains(&day) {
        return None;
    }
    // Days of the Gregorian calendar, with years that begin in March so that leap days come last.
    let (y, m) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 719_469;
    let of_day = parse_clock(clock).filter(|&micros| micros < 86_401_000_000)?;
    Some(days * 86_400_000_000 + of_day)
}

/// Microseconds of `h:m:s`, `m:s` or `s`, with a fraction if need be.
pub(super) fn parse_clock(text: &str) -> Option<i64> {
    let parts: Vec<&str> = text.trim().split(':').collect();
    let (seconds, larger) = parts.split_last()?;
    if larger.len() > 2 {
        return None;
    }
    let mut minutes: i64 = 0;
    for part in larger {
        minutes = minutes.checked_mul(60)?.checked_add(parse_integer(part)?)?;
    }
    minutes.checked_mul(60_000_000)?.checked_add(parse_scaled_decimal(seconds, 1_000_000)?)
}

/// The same with days before it: `1-02:03:04`.
pub(super) fn parse_days_and_clock(text: &str) -> Option<i64> {
    let (days, clock) = match text.trim().split_once('-') {
        Some((days, clock)) => (parse_integer(days)?, clock),
        None => (0, text),
    };
    days.checked_mul(86_400_000_000)?.checked_add(parse_clock(clock)?)
}

/// Microseconds of `1d 2h 3m 4.5s`, `250ms`.
pub(super) fn parse_duration_words(text: &str) -> Option<i64> {
    const UNITS: [(&str, i64); 5] = [
        ("ms", 1_000),
        ("s", 1_000_000),
        ("m", 60_000_000),
        ("h", 3_600_000_000),
        ("d", 86_400_000_000),
    ];
    let mut sum: Option<i64> = None;
    for word in text.split_whitespace() {
        let (number, factor) =
            UNITS.iter().find_map(|(unit, factor)| Some((word.strip_suffix(unit)?, *factor)))?;
        sum = Some(sum.unwrap_or(0).checked_add(parse_scaled_decimal(number, factor)?)?);
    }
    sum
}

/// A decimal number times `factor`, without going through a float that would blur it.
pub(super) fn parse_scaled_decimal(number: &str, factor: i64) -> Option<i64> {
    let (whole_part, fraction) = number.trim().split_once('.').unwrap_or((number.trim(), ""));
    if !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let digits = fraction.get(..fraction.len().min(9))?;
    let scale = 10i64.pow(digits.len() as u32);
    let part =
        if digits.is_empty() { 0 } else { i128::from(parse_integer(digits)?) * i128::from(factor) };
    let part = i64::try_from(part / i128::from(scale)).ok()?;
    parse_integer(whole_part)?.checked_mul(factor)?.checked_add(part)
}

/// Bytes of `212.3 KB`, `1234K`, `2G`, `17`: in what tools print, K is 1024.
pub(super) fn parse_bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = unit.trim();
    let power = match unit.get(..1) {
        None => 0,
        Some(letter) => "BKMGTPE".find(&letter.to_ascii_uppercase())?,
    };
    if !matches!(unit.get(1..), None | Some("" | "B" | "iB" | "b")) {
        return None;
    }
    let amount: f64 = number.parse().ok()?;
    let amount = amount * 1024f64.powi(power as i32);
    (amount < 1e19).then_some(amount.round() as u64)
}

/// A share such as `98.7%` or `98.7`, as a number of hundredths.
pub(super) fn parse_percent(text: &str) -> Option<f64> {
    let number: f64 = text.trim().trim_end_matches('%').parse().ok()?;
    (0.0..1e7).contains(&number).then_some(number / 100.0)
}

/// A number without sign or fraction.
pub(super) fn parse_integer(text: &str) -> Option<i64> {
    let text = text.trim();
    (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    //! If these fail, hours become minutes, and gibibytes kibibytes, in every import.
    use super::*;

    #[test]
    fn moments_are_read_however_they_are_printed() {
        // As `date -u -d 2024-11-02T10:10:10 +%s` says.
        let base = 1_730_542_210_000_000;
        for text in [
            "2024-11-02 10:10:10",
            "2024-11-02T10:10:10Z",
            "2024-11-02T11:10:10+01:00",
            "2024-11-02T05:10:10.000-0500",
        ] {
            assert_eq!(parse_timestamp(text), Some(base), "{text}");
        }
        assert_eq!(parse_timestamp("2024-11-02 10:10:10.123"), Some(base + 123_000));
        assert_eq!(parse_date_output("Sat Nov  2 10:10:10 UTC 2024"), Some(base));
        assert_eq!(parse_timestamp("1970-01-01 00:00:00"), Some(0));
        assert_eq!(parse_timestamp("2000-02-29 00:00:00"), Some(951_782_400_000_000));
        for text in ["", "Unknown", "2024-13-02 10:10:10", "2024-11-02", "2024-11-02 1:2:3:4", "T"]
        {
            assert_eq!(parse_timestamp(text), None, "{text}");
        }
    }

    #[test]
    fn lengths_of_time_are_read_however_they_are_printed() {
        assert_eq!(parse_duration_words("1d 2h 3m 4.5s"), Some(93_784_500_000));
        assert_eq!(parse_duration_words("250ms"), Some(250_000));
        assert_eq!(parse_days_and_clock("1-02:03:04"), Some(93_784_000_000));
        assert_eq!(parse_days_and_clock("03:04.5"), Some(184_500_000));
        for text in ["", "-", "5", "-5s", "1e9 s", "99999999999999999999d"] {
            assert_eq!(parse_duration_words(text), None, "{text}");
        }
        assert_eq!(parse_days_and_clock("9223372036854775807-00:00:00"), None);
    }

    #[test]
    fn amounts_are_read_however_they_are_printed() {
        for (text, amount) in
            [("212.3 KB", 217_395), ("1234K", 1_263_616), ("2G", 2 << 30), ("17", 17), ("0", 0)]
        {
            assert_eq!(parse_bytes(text), Some(amount), "{text}");
        }
        for text in ["", "-", "K", "1 parsec", "1e30", "99999999999999999999P", "1.2.3 MB", "é"] {
            assert_eq!(parse_bytes(text), None, "{text}");
        }
        assert_eq!(
            (parse_percent("98.7%"), parse_percent("-"), parse_percent("nan")),
            (Some(0.987), None, None)
        );
    }
}
