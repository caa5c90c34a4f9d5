//! Numbers and columns as the page wants them.

use forebay_model::ByteCount;
use forebay_model::summary::ByteBounds;
use serde::Serialize;
use serde_json::{Value, json};

/// Four digits of a number: more say nothing in a chart, and take room.
pub(super) fn rounded_number(number: f64) -> Value {
    if !number.is_finite() {
        return Value::Null;
    }
    let rounded: f64 = format!("{number:.3e}").parse().unwrap_or(number);
    if rounded.fract() == 0.0 && rounded.abs() < 1e15 {
        json!(rounded as i64)
    } else {
        json!(rounded)
    }
}

/// A share, or none.
pub(super) fn share_or_null(share: Option<f64>) -> Value {
    share.map_or(Value::Null, rounded_number)
}

/// One column.
pub(super) fn column<T: Serialize>(values: impl IntoIterator<Item = T>) -> Value {
    values.into_iter().map(|value| json!(value)).collect()
}

/// What is sure of an amount of which some was not seen.
pub(super) fn at_least(amount: &ByteBounds) -> Option<ByteCount> {
    Some(amount.at_least).filter(|bytes| amount.seen.is_none() && bytes.0 > 0)
}

/// What it can't be more than.
pub(super) fn at_most(amount: &ByteBounds) -> Option<ByteCount> {
    amount.at_most.filter(|_| amount.seen.is_none())
}

/// Why there is nothing to draw.
pub(super) fn missing_panel(why: &str) -> Value {
    json!({ "missing": why })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_never_strange() {
        for (from, to) in [
            (0.0, "0"),
            (1.0 / 3.0, "0.3333"),
            (123_456_789.0, "123500000"),
            (f64::NAN, "null"),
            (f64::INFINITY, "null"),
            (1e-7, "1e-7"),
        ] {
            assert_eq!(rounded_number(from).to_string(), to);
        }
    }
}
