//! How long names and attributes in place may be believed without asking the storage again:
//! `[[metadata_cache]]` tables, the first that matches wins. They are for storage where each
//! question is slow, and for directories that nobody else changes meanwhile.

use super::{Rules, glob};
use crate::toml::{ConfigError, TomlTable};
use crate::units::Micros;
use globset::GlobSet;

/// What is promised without any trust; less could not be kept.
const LEAST: Micros = Micros::from_secs(1);
/// Longer than any run; the kernel counts in seconds and must not overflow.
const MOST: Micros = Micros::from_secs(366 * 24 * 3600);

/// The `[[metadata_cache]]` tables, in their order.
#[derive(Clone, Debug, Default)]
pub(super) struct MetadataCacheRules {
    globs: GlobSet,
    /// For each glob how long.
    times: Vec<Micros>,
}

impl MetadataCacheRules {
    pub(super) fn from_table(root: TomlTable<'_>) -> Result<MetadataCacheRules, ConfigError> {
        let Some(entry) = root.get("metadata_cache") else {
            return Ok(MetadataCacheRules::default());
        };
        let items = entry
            .as_list()
            .ok_or_else(|| entry.wrong_type_error("a list of tables, [[metadata_cache]]"))?;
        let (mut globs, mut times) = (Vec::new(), Vec::new());
        for item in items {
            let table = item.as_table()?;
            table.refuse_unknown_keys(&["match", "timeout"])?;
            globs.extend(glob::parse_globs(table.get_required("match")?)?);
            let value = table.get_required("timeout")?;
            let time: Micros =
                value.as_text()?.parse().map_err(|error| value.value_error(format!("{error}")))?;
            if !(LEAST..=MOST).contains(&time) {
                return Err(value.value_error("a timeout is 1 s at least, and 366 days at most"));
            }
            times.resize(globs.len(), time);
        }
        let globs = GlobSet::new(globs).map_err(|error| root.table_error(error.to_string()))?;
        Ok(MetadataCacheRules { globs, times })
    }
}

impl Rules {
    /// How long what is known of this path in place may be believed; `None`: no longer than
    /// without rules. It counts for files and directories, for their absence, and for nothing
    /// below them.
    pub fn metadata_cache_timeout(&self, path: &[u8]) -> Option<Micros> {
        let globs = self.trust.globs.matches_candidate(&globset::Candidate::from_bytes(path));
        globs.first().map(|glob| self.trust.times[*glob])
    }

    /// Whether anything is believed for longer.
    pub fn has_metadata_cache(&self) -> bool {
        !self.trust.times.is_empty()
    }
}

#[cfg(test)]
mod tests {
    //! If these fail, changes from outside are missed where nobody said that there are none.
    use super::*;
    use crate::site::Site;

    fn parse(text: &str) -> Result<Rules, ConfigError> {
        let site = "[tier.t]\npath = \"/t\"\nreach = \"node\"\n";
        let site = Site::parse(site, "site.toml", &|_| None).expect("a site");
        Rules::parse(text, "rules.toml", &site)
    }

    #[test]
    fn the_first_trust_that_matches_counts() {
        let text = "[[metadata_cache]]\nmatch = \"inbox/**\"\ntimeout = \"2 s\"\n\
                    [[metadata_cache]]\nmatch = [\"*.sam\", \"**\"]\ntimeout = \"1.5 min\"\n";
        let rules = parse(text).expect("right");
        let (short, long) = (Some(Micros::from_secs(2)), Some(Micros::from_secs(90)));
        for (path, time) in
            [("inbox/a", short), ("inbox/a.sam", short), ("inbox", long), ("a/b", long), ("", long)]
        {
            assert_eq!(rules.metadata_cache_timeout(path.as_bytes()), time, "{path:?}");
        }
        assert!(rules.has_metadata_cache() && !parse("").expect("right").has_metadata_cache());
        assert_eq!(parse("").expect("right").metadata_cache_timeout(b"a"), None);
    }

    #[test]
    fn what_is_no_trust_is_refused_at_its_place() {
        for (text, flaw) in [
            ("[[metadata_cache]]\nmatch = \"a\"\n", "the key \"timeout\" is missing"),
            ("[[metadata_cache]]\ntimeout = \"2 s\"\n", "the key \"match\" is missing"),
            (
                "[[metadata_cache]]\nmatch = \"a\"\ntimeout = 2\n",
                "timeout must be a text in quotes",
            ),
            ("[[metadata_cache]]\nmatch = \"a\"\ntimeout = \"2\"\n", "is no time; write it like"),
            ("[[metadata_cache]]\nmatch = \"a\"\ntimeout = \"900 ms\"\n", "1 s at least"),
            ("[[metadata_cache]]\nmatch = \"a\"\ntimeout = \"9000 h\"\n", "366 days at most"),
            (
                "[[metadata_cache]]\nmatch = \"a\"\ntimeout = \"2 s\"\nhome = \"in-place\"\n",
                "no key \"home\"",
            ),
            ("metadata_cache = \"2 s\"\n", "a list of tables"),
        ] {
            let told = parse(text).expect_err(text).to_string();
            assert!(told.contains(flaw), "{flaw:?} is not in {told:?}");
        }
    }
}
