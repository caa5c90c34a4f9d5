//! The messages of OTLP as JSON, as far as Forebay fills them: identities are lower-case hex, numbers
//! of 64 bits are strings, enumerations are numbers, keys are lowerCamelCase.

use std::borrow::Cow;
use std::fmt::Write;

use serde::Serialize;

/// `SPAN_KIND_INTERNAL`: what happened in the traced program itself, as conventions want it of
/// programs that are run.
pub(super) const KIND_INTERNAL: u8 = 1;
/// `STATUS_CODE_ERROR`.
const STATUS_ERROR: u8 = 2;

/// A stretch of time with a name.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Span {
    pub(super) trace_id: String,
    pub(super) span_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parent_span_id: Option<String>,
    pub(super) name: String,
    pub(super) kind: u8,
    pub(super) start_time_unix_nano: String,
    pub(super) end_time_unix_nano: String,
    pub(super) attributes: Vec<KeyValue>,
    /// `None`: unset, as conventions want it of what did not fail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<Status>,
}

/// That it failed, and why.
#[derive(Debug, Serialize)]
pub(super) struct Status {
    message: String,
    code: u8,
}

impl Status {
    pub(super) fn error(message: String) -> Self {
        Self { message, code: STATUS_ERROR }
    }
}

/// What spans come from: a machine.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Resource {
    pub(super) attributes: Vec<KeyValue>,
}

/// What wrote them.
#[derive(Debug, Serialize)]
pub(super) struct Scope {
    pub(super) name: &'static str,
    pub(super) version: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) attributes: Vec<KeyValue>,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct KeyValue {
    pub(super) key: Cow<'static, str>,
    pub(super) value: AnyValue,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) enum AnyValue {
    #[serde(rename = "stringValue")]
    Text(String),
    #[serde(rename = "boolValue")]
    Bool(bool),
    #[serde(rename = "intValue")]
    Int(String),
    #[serde(rename = "doubleValue")]
    Double(f64),
    #[serde(rename = "arrayValue")]
    List { values: Vec<AnyValue> },
}

impl AnyValue {
    /// A number, of which OTLP has 63 bits.
    pub(super) fn of_number(number: u64) -> Self {
        Self::Int(i64::try_from(number).unwrap_or(i64::MAX).to_string())
    }

    /// Words of a command, or names: what is not UTF-8 is replaced.
    pub(super) fn of_words<'w>(words: impl Iterator<Item = &'w [u8]>) -> Self {
        Self::List { values: words.map(Self::of_bytes).collect() }
    }

    pub(super) fn of_bytes(bytes: &[u8]) -> Self {
        Self::Text(String::from_utf8_lossy(bytes).into_owned())
    }
}

/// An identity as OTLP writes it.
pub(super) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    //! If this fails, a collector refuses the file, or reads other numbers than were written.
    use super::*;

    #[test]
    fn values_are_written_as_otlp_wants_them() {
        for (value, written) in [
            (AnyValue::Text("a\u{1b}\"".into()), r#"{"stringValue":"a\u001b\""}"#),
            (AnyValue::Bool(false), r#"{"boolValue":false}"#),
            (AnyValue::of_number(1 << 60), r#"{"intValue":"1152921504606846976"}"#),
            (AnyValue::of_number(u64::MAX), r#"{"intValue":"9223372036854775807"}"#),
            (AnyValue::Double(0.5), r#"{"doubleValue":0.5}"#),
            (
                AnyValue::of_words([&b"sort"[..], b"\xff"].into_iter()),
                "{\"arrayValue\":{\"values\":[{\"stringValue\":\"sort\"},{\"stringValue\":\"\u{fffd}\"}]}}",
            ),
        ] {
            assert_eq!(serde_json::to_string(&value).expect("plain data"), written);
        }
        assert_eq!(hex(&[0, 0x0a, 0xff]), "000aff");
    }
}
