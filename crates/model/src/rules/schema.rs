//! What an editor may know of a rules file.

use serde_json::{Value, json};

use super::cache::AHEADS;
use super::drain::DRAINS;
use super::kept;
use super::words::{AFTERS, FSYNCS, FULLS, LAYOUTS};
use crate::toml::schema::{about, either, file, list, table, text, time, words};

/// The JSON Schema of a rules file. It knows no site: which tiers there are, the reader says.
pub fn schema() -> String {
    let root = [("rule", list(rule())), ("metadata_cache", list(metadata_cache()))];
    file("Forebay: rules", table(root, &[]))
}

fn globs() -> Value {
    either([text(), json!({ "type": "array", "items": text(), "minItems": 1 })])
}

fn rule() -> Value {
    let keys = [
        ("match", about("the paths, relative to the managed directory", globs())),
        ("task", about("only files that a task of such a name makes", globs())),
        ("home", about("a tier or pool of the site, or \"in-place\"", text())),
        ("layout", about("a file of its own, or together with others in a log", words(&LAYOUTS))),
        ("full", about("when the tier is full: stay in place, or fail", words(&FULLS))),
        (
            "fsync",
            about(
                "what fsync waits for; \"local\" and \"bucket\" are for volumes in buckets",
                either([words(&FSYNCS), words(&kept::FSYNCS)]),
            ),
        ),
        ("after", about("what becomes of the file when the run ends", words(&AFTERS))),
        ("write_back", about("when the file is written back", words(&DRAINS))),
        ("publish", about("a tier to which the file is copied after a success", text())),
        ("cache", about("a tier from whose copies the file is read", text())),
        ("ahead", about("with cache: when the file is copied", words(&AHEADS))),
    ];
    let mut rule = table(keys, &["match", "home"]);
    rule["dependencies"] = json!({ "ahead": ["cache"] });
    rule
}

fn metadata_cache() -> Value {
    let keys = [
        ("match", about("the paths, directories as well as files", globs())),
        ("timeout", about("1 s to 366 days", time())),
    ];
    table(keys, &["match", "timeout"])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::KEYS;
    use super::*;
    use crate::toml::schema::keys_of;

    #[test]
    fn an_editor_knows_the_keys_that_the_reader_knows() {
        let rule = rule();
        let told: BTreeSet<_> = keys_of(&rule).into_iter().collect();
        assert_eq!(told, BTreeSet::from(KEYS));
    }
}
