//! What an editor may know of a site file.

use serde_json::Value;

use crate::profile::StorageProfile;
use crate::reach::REACHES;
use crate::toml::schema_parts::{
    any_of, bytes_schema, enum_schema, integer_schema, map_schema, number_schema, table_schema,
    text_schema, to_schema_file, with_description,
};

/// Names of tiers and pools.
const NAME: &str = "^[a-z0-9_-]+$";

/// The JSON Schema of a site file.
pub fn json_schema() -> String {
    let mut tiers = with_description("one table for each tier", map_schema(NAME, tier_schema()));
    tiers["minProperties"] = 1.into();
    let root =
        [("tier", tiers), ("nodes", with_description("the machines, all alike", nodes_schema()))];
    to_schema_file("Forebay: site", table_schema(root, &["tier"]))
}

fn tier_schema() -> Value {
    let profile = any_of([text_schema(), StorageProfile::json_schema()]);
    let keys = [
        (
            "path",
            with_description(
                "an absolute directory, s3://BUCKET/PREFIX or az://CONTAINER/PREFIX",
                text_schema(),
            ),
        ),
        ("reach", with_description("which machines read it directly", enum_schema(&REACHES))),
        ("capacity", with_description("a hard bound of what Forebay keeps there", bytes_schema())),
        (
            "pools",
            with_description(
                "parts of the capacity that are set apart",
                map_schema(NAME, bytes_schema()),
            ),
        ),
        ("profile", with_description("what it can do: a name, a file, or a table", profile)),
        ("price", with_description("its name in a price sheet", text_schema())),
    ];
    table_schema(keys, &[])
}

fn nodes_schema() -> Value {
    let keys = [
        ("count", with_description("machines", integer_schema(1, 1 << 20))),
        ("slots", with_description("tasks that one runs at a time", integer_schema(1, 1 << 16))),
        ("cores", with_description("of one machine", integer_schema(1, 1 << 16))),
        ("memory", with_description("of one machine", bytes_schema())),
        ("instance", with_description("its name in a price sheet", text_schema())),
        (
            "reserved",
            with_description("slots of the first one for the engine", integer_schema(0, 1 << 16)),
        ),
        (
            "speed",
            with_description("of a core, against those that were timed", number_schema(1e-3, 1e3)),
        ),
    ];
    table_schema(keys, &["cores"])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::toml::schema_parts::keys_of;

    #[test]
    fn an_editor_knows_the_keys_that_the_reader_knows() {
        for (told, known) in [
            (tier_schema(), &super::super::KEYS[..]),
            (nodes_schema(), &super::super::nodes::KEYS[..]),
        ] {
            let told: BTreeSet<_> = keys_of(&told).into_iter().collect();
            assert_eq!(told, known.iter().copied().collect());
        }
    }
}
