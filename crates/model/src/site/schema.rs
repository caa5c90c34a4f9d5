//! What an editor may know of a site file.

use serde_json::Value;

use crate::profile::Profile;
use crate::reach::REACHES;
use crate::toml::schema::{about, amount, either, file, named, number, table, text, whole, words};

/// Names of tiers and pools.
const NAME: &str = "^[a-z0-9_-]+$";

/// The JSON Schema of a site file.
pub fn schema() -> String {
    let mut tiers = about("one table for each tier", named(NAME, tier()));
    tiers["minProperties"] = 1.into();
    let root = [("tier", tiers), ("nodes", about("the machines, all alike", nodes()))];
    file("Forebay: site", table(root, &["tier"]))
}

fn tier() -> Value {
    let profile = either([text(), Profile::schema()]);
    let keys = [
        ("path", about("an absolute directory, or s3://BUCKET/PREFIX", text())),
        ("reach", about("which machines read it directly", words(&REACHES))),
        ("capacity", about("a hard bound of what Forebay keeps there", amount())),
        ("pools", about("parts of the capacity that are set apart", named(NAME, amount()))),
        ("profile", about("what it can do: a name, a file, or a table", profile)),
        ("price", about("its name in a price sheet", text())),
    ];
    table(keys, &[])
}

fn nodes() -> Value {
    let keys = [
        ("count", about("machines", whole(1, 1 << 20))),
        ("slots", about("tasks that one runs at a time", whole(1, 1 << 16))),
        ("cores", about("of one machine", whole(1, 1 << 16))),
        ("memory", about("of one machine", amount())),
        ("instance", about("its name in a price sheet", text())),
        ("reserved", about("slots of the first one for the engine", whole(0, 1 << 16))),
        ("speed", about("of a core, against those that were timed", number(1e-3, 1e3))),
    ];
    table(keys, &["cores"])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::toml::schema::keys_of;

    #[test]
    fn an_editor_knows_the_keys_that_the_reader_knows() {
        for (told, known) in
            [(tier(), &super::super::KEYS[..]), (nodes(), &super::super::nodes::KEYS[..])]
        {
            let told: BTreeSet<_> = keys_of(&told).into_iter().collect();
            assert_eq!(told, known.iter().copied().collect());
        }
    }
}
