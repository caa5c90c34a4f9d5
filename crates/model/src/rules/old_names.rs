//! Keys and words of rules files by the names that they had before 0.1: they are read as the new
//! ones, and noted, so that rules that users have written go on working for one minor version.

use crate::toml::{ConfigError, TomlDocument};
use ::toml::Spanned;
use ::toml::de::{DeTable, DeValue};
use std::borrow::Cow;

/// The list of tables where a key stands (none: the top of the file), its old and its new name.
const KEYS: [(Option<&str>, &str, &str); 3] = [
    (None, "trust", "metadata_cache"),
    (Some("metadata_cache"), "for", "timeout"),
    (Some("rule"), "drain", "write_back"),
];

/// The key of a rule by its new name, the old and the new form of its value.
const WORDS: [(&str, &str, &str); 3] = [
    ("home", "here", "in-place"),
    ("write_back", "end", "at-end"),
    ("write_back", "closed", "on-close"),
];

/// Gives all that has an old name its new one; what was renamed, with its place, in the order of
/// the file. A table with both names of a key is refused.
pub(super) fn rename_old_names(
    entries: &mut DeTable<'_>,
    document: TomlDocument<'_>,
) -> Result<Vec<ConfigError>, ConfigError> {
    let mut notes = Vec::new();
    rename_keys(entries, None, document, &mut notes)?;
    for list in ["rule", "metadata_cache"] {
        let Some(DeValue::Array(items)) = entries.get_mut(list).map(Spanned::get_mut) else {
            continue;
        };
        for item in items.iter_mut() {
            let DeValue::Table(table) = item.get_mut() else { continue };
            rename_keys(table, Some(list), document, &mut notes)?;
            rename_values(table, document, &mut notes);
        }
    }
    notes.sort_by_key(|note| (note.line(), note.column()));
    Ok(notes)
}

fn rename_keys(
    table: &mut DeTable<'_>,
    list: Option<&str>,
    document: TomlDocument<'_>,
    notes: &mut Vec<ConfigError>,
) -> Result<(), ConfigError> {
    for (_, old, new) in KEYS.iter().filter(|(of, ..)| *of == list) {
        let Some((key, value)) = table.remove_entry(*old) else { continue };
        let place = key.span();
        if table.contains_key(*new) {
            let message =
                format!("{old} is the old name of {new}, which is here too: leave it out");
            return Err(document.error_at(place.start, message));
        }
        notes.push(document.error_at(place.start, format!("{old} is called {new} now")));
        table.insert(Spanned::new(place, Cow::Borrowed(*new)), value);
    }
    Ok(())
}

fn rename_values(
    table: &mut DeTable<'_>,
    document: TomlDocument<'_>,
    notes: &mut Vec<ConfigError>,
) {
    for (key, old, new) in WORDS {
        let Some(value) = table.get_mut(key) else { continue };
        let place = value.span();
        if let DeValue::String(word) = value.get_mut()
            && word == old
        {
            *word = Cow::Borrowed(new);
            notes.push(document.error_at(place.start, format!("{key} = {old:?} is {new:?} now")));
        }
    }
}

#[cfg(test)]
mod tests {
    //! If these fail, rules that worked are refused, or mean something else than they did.
    use super::super::{BucketRules, Rules};
    use crate::site::Site;

    const SITE: &str = "[tier.t]\npath = \"/t\"\nreach = \"node\"\n";

    fn parse(text: &str) -> Result<Rules, crate::toml::ConfigError> {
        let site = Site::parse(SITE, "site.toml", &|_| None).expect("a site");
        Rules::parse(text, "r.toml", &site)
    }

    #[test]
    fn old_names_mean_what_the_new_ones_do_and_are_noted() {
        let old = "[[rule]]\nmatch = \"*.sam\"\nhome = \"t\"\ndrain = \"closed\"\n\
                   [[rule]]\nmatch = \"*.bam\"\nhome = \"t\"\ndrain = \"end\"\n\
                   [[rule]]\nmatch = \"x/**\"\nhome = \"here\"\n\
                   [[trust]]\nmatch = \"**\"\nfor = \"2 s\"\n";
        let new = "[[rule]]\nmatch = \"*.sam\"\nhome = \"t\"\nwrite_back = \"on-close\"\n\
                   [[rule]]\nmatch = \"*.bam\"\nhome = \"t\"\nwrite_back = \"at-end\"\n\
                   [[rule]]\nmatch = \"x/**\"\nhome = \"in-place\"\n\
                   [[metadata_cache]]\nmatch = \"**\"\ntimeout = \"2 s\"\n";
        let (was, is) = (parse(old).expect("accepted"), parse(new).expect("right"));
        for path in ["a.sam", "a.bam", "x/y", "z"] {
            let path = path.as_bytes();
            assert_eq!(was.placement_for_path(path, None), is.placement_for_path(path, None));
            assert_eq!(was.metadata_cache_timeout(path), is.metadata_cache_timeout(path));
        }
        let notes: Vec<String> = was.old_names().iter().map(ToString::to_string).collect();
        assert_eq!(
            notes,
            [
                "r.toml:4:1: drain is called write_back now",
                "r.toml:4:9: write_back = \"closed\" is \"on-close\" now",
                "r.toml:8:1: drain is called write_back now",
                "r.toml:8:9: write_back = \"end\" is \"at-end\" now",
                "r.toml:11:8: home = \"here\" is \"in-place\" now",
                "r.toml:12:3: trust is called metadata_cache now",
                "r.toml:14:1: for is called timeout now",
            ]
        );
        assert!(is.old_names().is_empty());
    }

    #[test]
    fn a_key_by_both_of_its_names_is_refused() {
        let text =
            "[[rule]]\nmatch = \"a\"\nhome = \"t\"\ndrain = \"end\"\nwrite_back = \"at-end\"\n";
        let flaw = parse(text).expect_err("both").to_string();
        assert!(flaw.contains("r.toml:4:1: drain is the old name of write_back"), "{flaw}");
    }

    #[test]
    fn rules_of_a_bucket_have_old_names_too() {
        let kept = BucketRules::parse("[[rule]]\nmatch = \"a\"\nhome = \"here\"\n", "r")
            .expect("accepted");
        assert_eq!(kept.old_names().len(), 1);
    }
}
