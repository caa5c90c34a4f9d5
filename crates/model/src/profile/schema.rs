//! What an editor may know of a profile in a site file.

use serde_json::Value;

use super::StorageProfile;
use super::profile_parser::latency_names;
use crate::toml::schema_parts::{
    any_of, bool_schema, bytes_schema, integer_schema, number_schema, rate_schema, table_schema,
    text_schema, time_schema, with_description,
};

impl StorageProfile {
    /// The JSON Schema of its table.
    pub(crate) fn json_schema() -> Value {
        let count = || integer_schema(1, 1 << 20);
        let a_second = || number_schema(1e-3, 1e12);
        let names = latency_names();
        let kinds = names.iter().map(|name| (name.as_str(), time_schema()));
        let latency = any_of([time_schema(), table_schema(kinds, &[])]);
        let keys = [
            (
                "source",
                with_description("where the numbers come from, with the date", text_schema()),
            ),
            ("latency", with_description("how long one operation takes alone", latency)),
            ("read", with_description("rates", lane_schema())),
            ("write", with_description("rates", lane_schema())),
            ("names_per_second", with_description("metadata operations of the whole", a_second())),
            ("data_per_second", with_description("reads and writes of the whole", a_second())),
            ("data_burst_per_second", with_description("while credits last", a_second())),
            (
                "data_credits",
                with_description("operations that a full account pays for", credits_schema()),
            ),
            ("at_once", with_description("operations that it works on at a time", count())),
            (
                "merges",
                with_description("bytes that count as one operation in sequence", bytes_schema()),
            ),
            (
                "attributes_for",
                with_description("how long a client believes attributes", time_schema()),
            ),
            ("servers", with_description("disks or servers that hold it", count())),
            ("stripe_count", with_description("servers of one file", count())),
            ("stripe_size", with_description("bytes on one before the next", bytes_schema())),
            (
                "contention",
                with_description("what is lost to fill and streams", contention_schema()),
            ),
            ("keeps_written", with_description("a node's memory has what it wrote", bool_schema())),
        ];
        table_schema(keys, &["source"])
    }
}

fn credits_schema() -> Value {
    any_of([bytes_schema(), number_schema(0.0, 1e18)])
}

fn lane_schema() -> Value {
    let keys = [
        ("stream", with_description("one file by one program", rate_schema())),
        ("node", with_description("all streams of a node", rate_schema())),
        ("total", with_description("all together", rate_schema())),
        ("burst", with_description("the limit while credits last", rate_schema())),
        ("credits", with_description("bytes that a full account pays for", credits_schema())),
    ];
    table_schema(keys, &[])
}

fn contention_schema() -> Value {
    let share = || number_schema(0.0, 1e3);
    table_schema([("fill", share()), ("moved", share()), ("streams", share())], &[])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::profile_parser::KEYS;
    use super::*;
    use crate::toml::schema_parts::keys_of;

    #[test]
    fn an_editor_knows_the_keys_that_the_reader_knows() {
        let schema = StorageProfile::json_schema();
        let told: BTreeSet<_> = keys_of(&schema).into_iter().collect();
        assert_eq!(told, BTreeSet::from(KEYS));
    }
}
