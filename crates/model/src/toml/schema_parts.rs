//! What editors may know of the files that people write: parts of a JSON Schema (draft 7, which the
//! TOML extensions of editors read). Each reader of a table says beside its keys what they may be.
//!
//! Rejected: `schemars`, which derives a schema from Rust types. These files are read with the place
//! of each key and value (see [`super`]), so their form is that of the readers and of no type.

use serde_json::{Map, Value, json};

/// Digits, with or without a fraction.
const NUMBER: &str = r"[0-9]+(\.[0-9]+)?";

/// A table: its keys with what they may be, and those that must be there.
pub(crate) fn table_schema<'k>(
    keys: impl IntoIterator<Item = (&'k str, Value)>,
    required: &[&str],
) -> Value {
    let keys: Map<String, Value> =
        keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    json!({
        "type": "object",
        "properties": keys,
        "required": required,
        "additionalProperties": false,
    })
}

/// Tables or values that the user names.
pub(crate) fn map_schema(pattern: &str, value: Value) -> Value {
    json!({
        "type": "object",
        "propertyNames": { "pattern": pattern },
        "additionalProperties": value,
    })
}

/// A list of such values.
pub(crate) fn list_schema(value: Value) -> Value {
    json!({ "type": "array", "items": value })
}

/// One of several.
pub(crate) fn any_of(values: impl IntoIterator<Item = Value>) -> Value {
    json!({ "anyOf": values.into_iter().collect::<Vec<_>>() })
}

/// The same, with a line for whoever writes it.
pub(crate) fn with_description(text: &str, value: Value) -> Value {
    let mut value = value;
    value["description"] = json!(text);
    value
}

/// One of a few words.
pub(crate) fn enum_schema<T>(words: &[(&str, T)]) -> Value {
    json!({ "enum": words.iter().map(|(word, _)| *word).collect::<Vec<_>>() })
}

pub(crate) fn text_schema() -> Value {
    json!({ "type": "string", "minLength": 1 })
}

/// An amount of bytes.
pub(crate) fn bytes_schema() -> Value {
    let pattern = format!(r"^\s*{NUMBER}\s*([KkMmGgTtPpEe][Ii]?[Bb]|[Bb])?\s*$");
    json!({ "type": "string", "pattern": pattern, "examples": ["200 GiB", "1.5 TB", "4096"] })
}

/// Bytes a second.
pub(crate) fn rate_schema() -> Value {
    let pattern = format!(r"^\s*{NUMBER}\s*([KkMmGgTtPpEe][Ii]?[Bb]|[Bb])?\s*/s\s*$");
    json!({ "type": "string", "pattern": pattern, "examples": ["125 MiB/s"] })
}

/// A time.
pub(crate) fn time_schema() -> Value {
    let pattern = r"^\s*[0-9.]+\s*(ns|us|ms|s|min|m|h|d)\s*$";
    json!({ "type": "string", "pattern": pattern, "examples": ["5 ms", "2.5 h"] })
}

/// A whole number between two bounds.
pub(crate) fn integer_schema(least: u32, most: u32) -> Value {
    json!({ "type": "integer", "minimum": least, "maximum": most })
}

/// A number between two bounds.
pub(crate) fn number_schema(least: f64, most: f64) -> Value {
    json!({ "type": "number", "minimum": least, "maximum": most })
}

pub(crate) fn bool_schema() -> Value {
    json!({ "type": "boolean" })
}

/// A whole file.
pub(crate) fn to_schema_file(title: &str, root: Value) -> String {
    let mut root = root;
    root["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    root["title"] = json!(title);
    serde_json::to_string_pretty(&root).expect("a schema is plain data") + "\n"
}

/// The keys of a table, for tests.
#[cfg(test)]
pub(crate) fn keys_of(table: &Value) -> Vec<&str> {
    let keys = table["properties"].as_object().expect("a table");
    keys.keys().map(String::as_str).collect()
}
