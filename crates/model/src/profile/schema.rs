//! What an editor may know of a profile in a site file.

use serde_json::Value;

use super::Profile;
use super::read::latency_names;
use crate::toml::schema::{about, amount, either, number, rate, table, text, time, truth, whole};

impl Profile {
    /// The JSON Schema of its table.
    pub(crate) fn schema() -> Value {
        let count = || whole(1, 1 << 20);
        let a_second = || number(1e-3, 1e12);
        let names = latency_names();
        let kinds = names.iter().map(|name| (name.as_str(), time()));
        let latency = either([time(), table(kinds, &[])]);
        let keys = [
            ("source", about("where the numbers come from, with the date", text())),
            ("latency", about("how long one operation takes alone", latency)),
            ("read", about("rates", lane())),
            ("write", about("rates", lane())),
            ("names_per_second", about("metadata operations of the whole", a_second())),
            ("data_per_second", about("reads and writes of the whole", a_second())),
            ("data_burst_per_second", about("while credits last", a_second())),
            ("data_credits", about("operations that a full account pays for", credits())),
            ("at_once", about("operations that it works on at a time", count())),
            ("merges", about("bytes that count as one operation in sequence", amount())),
            ("attributes_for", about("how long a client believes attributes", time())),
            ("servers", about("disks or servers that hold it", count())),
            ("stripe_count", about("servers of one file", count())),
            ("stripe_size", about("bytes on one before the next", amount())),
            ("contention", about("what is lost to fill and streams", contention())),
            ("keeps_written", about("a node's memory has what it wrote", truth())),
        ];
        table(keys, &["source"])
    }
}

fn credits() -> Value {
    either([amount(), number(0.0, 1e18)])
}

fn lane() -> Value {
    let keys = [
        ("stream", about("one file by one program", rate())),
        ("node", about("all streams of a node", rate())),
        ("total", about("all together", rate())),
        ("burst", about("the limit while credits last", rate())),
        ("credits", about("bytes that a full account pays for", credits())),
    ];
    table(keys, &[])
}

fn contention() -> Value {
    let share = || number(0.0, 1e3);
    table([("fill", share()), ("moved", share()), ("streams", share())], &[])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::read::KEYS;
    use super::*;
    use crate::toml::schema::keys_of;

    #[test]
    fn an_editor_knows_the_keys_that_the_reader_knows() {
        let schema = Profile::schema();
        let told: BTreeSet<_> = keys_of(&schema).into_iter().collect();
        assert_eq!(told, BTreeSet::from(KEYS));
    }
}
