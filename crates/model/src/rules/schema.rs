//! What an editor may know of a rules file.

use serde_json::{Value, json};

use super::bucket_rules;
use super::cache::AHEADS;
use super::rule_values::{AFTERS, FSYNCS, FULLS, LAYOUTS};
use super::write_back_rules::DRAINS;
use crate::toml::schema_parts::{
    any_of, bool_schema, enum_schema, list_schema, table_schema, text_schema, time_schema,
    to_schema_file, with_description,
};

/// The JSON Schema of a rules file. It knows no site: which tiers there are, the reader says.
pub fn json_schema() -> String {
    let root = [
        ("rule", list_schema(rule_schema())),
        ("metadata_cache", list_schema(metadata_cache_schema())),
    ];
    to_schema_file("Forebay: rules", table_schema(root, &[]))
}

fn globs_schema() -> Value {
    any_of([text_schema(), json!({ "type": "array", "items": text_schema(), "minItems": 1 })])
}

fn rule_schema() -> Value {
    let keys = [
        ("match", with_description("the paths, relative to the managed directory", globs_schema())),
        ("task", with_description("only files that a task of such a name makes", globs_schema())),
        ("home", with_description("a tier or pool of the site, or \"in-place\"", text_schema())),
        (
            "layout",
            with_description(
                "a file of its own, or together with others in a log",
                enum_schema(&LAYOUTS),
            ),
        ),
        (
            "full",
            with_description("when the tier is full: stay in place, or fail", enum_schema(&FULLS)),
        ),
        (
            "fsync",
            with_description(
                "what fsync waits for; \"local\" and \"bucket\" are for volumes in buckets",
                any_of([enum_schema(&FSYNCS), enum_schema(&bucket_rules::FSYNCS)]),
            ),
        ),
        (
            "after",
            with_description("what becomes of the file when the run ends", enum_schema(&AFTERS)),
        ),
        ("write_back", with_description("when the file is written back", enum_schema(&DRAINS))),
        (
            "publish",
            with_description("a tier to which the file is copied after a success", text_schema()),
        ),
        ("cache", with_description("a tier from whose copies the file is read", text_schema())),
        ("ahead", with_description("with cache: when the file is copied", enum_schema(&AHEADS))),
        (
            "whole_folder",
            with_description(
                "the run sees a directory of the tier in the folder's place: FOLDER/**",
                bool_schema(),
            ),
        ),
    ];
    let mut rule = table_schema(keys, &["match", "home"]);
    rule["dependencies"] = json!({ "ahead": ["cache"] });
    rule
}

fn metadata_cache_schema() -> Value {
    let keys = [
        ("match", with_description("the paths, directories as well as files", globs_schema())),
        ("timeout", with_description("1 s to 366 days", time_schema())),
    ];
    table_schema(keys, &["match", "timeout"])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::KEYS;
    use super::*;
    use crate::toml::schema_parts::keys_of;

    #[test]
    fn an_editor_knows_the_keys_that_the_reader_knows() {
        let rule = rule_schema();
        let told: BTreeSet<_> = keys_of(&rule).into_iter().collect();
        assert_eq!(told, BTreeSet::from(KEYS));
    }
}
