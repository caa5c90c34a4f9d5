//! The path of a tier as people write it: with variables, and with `~` for the home directory.

use super::VariableLookup;
use crate::bucket_url::strip_bucket_scheme;
use crate::toml::{ConfigError, TomlEntry};
use std::path::PathBuf;

/// An absolute directory, or a bucket.
pub(super) fn parse_tier_path(
    entry: TomlEntry<'_>,
    variable: VariableLookup<'_>,
) -> Result<(Option<PathBuf>, Option<String>), ConfigError> {
    let path = expand_variables(entry.as_text()?, variable)
        .map_err(|message| entry.value_error(message))?;
    if let Some(bucket) = strip_bucket_scheme(&path) {
        return match bucket.split('/').next() {
            None | Some("") => Err(entry.value_error("which bucket? s3://BUCKET/PREFIX")),
            Some(_) => Ok((None, Some(path))),
        };
    }
    if !path.starts_with('/') {
        let message = format!("{} must begin with / or s3:// or az://, but is {path:?}", entry.key);
        return Err(entry.value_error(message));
    }
    Ok((Some(PathBuf::from(path)), None))
}

/// The text with values in place of names; values are taken as they are, whatever they contain.
fn expand_variables(text: &str, variable: VariableLookup<'_>) -> Result<String, String> {
    // An empty value is a forgotten one: `/scratch/$PROJECT` must not become all of `/scratch`.
    let value = |name: &str| {
        let value = variable(name).filter(|value| !value.is_empty());
        value.ok_or_else(|| format!("the variable {name} is not set, or is empty"))
    };
    let mut done = String::new();
    let mut rest = text;
    if let Some(below) = text.strip_prefix('~') {
        if !(below.is_empty() || below.starts_with('/')) {
            return Err("~ stands for your own home directory only: write ~/".to_owned());
        }
        done.push_str(&value("HOME")?);
        rest = below;
    }
    while let Some((before, after)) = rest.split_once('$') {
        let (name, behind) = match after.strip_prefix('{') {
            Some(inner) => inner.split_once('}').ok_or("there is a ${ without its }")?,
            None => {
                after.split_at(after.find(|c: char| !is_variable_char(c)).unwrap_or(after.len()))
            }
        };
        if name.is_empty() || !name.chars().all(is_variable_char) {
            return Err("a $ needs the name of a variable, as in $USER or ${USER}".to_owned());
        }
        done.push_str(before);
        done.push_str(&value(name)?);
        rest = behind;
    }
    done.push_str(rest);
    Ok(done)
}

fn is_variable_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}
