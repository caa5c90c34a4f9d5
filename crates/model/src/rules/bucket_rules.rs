//! What rules say of the files of a volume that a bucket keeps: how their bytes lie there, and what
//! their fsync waits for. All of them live in the volume itself.

use super::{KEYS, glob, old_names, parse_choice};
use crate::site::IN_PLACE;
use crate::toml::{ConfigError, TomlDocument, TomlEntry, TomlTable};
use globset::{Candidate, GlobSet};

const OWN: [&str; 4] = ["match", "home", "layout", "fsync"];
const LAYOUTS: [(&str, bool); 2] = [("plain", true), ("packed", false)];
pub(super) const FSYNCS: [(&str, Option<FsyncTarget>); 2] =
    [("local", Some(FsyncTarget::Local)), ("bucket", Some(FsyncTarget::Bucket))];

/// Where the bytes are when an fsync returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FsyncTarget {
    /// On the disk of the machine that wrote them.
    Local,
    /// In the bucket.
    Bucket,
}

/// The rules of such a volume, in their order.
#[derive(Clone, Debug)]
pub struct BucketRules {
    globs: GlobSet,
    /// For each glob what its rule says.
    says: Vec<BucketRule>,
    old_names: Vec<ConfigError>,
}

#[derive(Clone, Copy, Debug)]
struct BucketRule {
    is_plain: bool,
    fsync: Option<FsyncTarget>,
}

impl BucketRules {
    /// No rules.
    pub fn none() -> Self {
        Self { globs: GlobSet::empty(), says: Vec::new(), old_names: Vec::new() }
    }

    /// Reads the text of a rules file; `source` is its name in flaws.
    pub fn parse(text: &str, source: &str) -> Result<Self, ConfigError> {
        let document = TomlDocument { source, text };
        let mut entries = document.parse()?;
        let old_names = old_names::rename_old_names(&mut entries, document)?;
        let root = document.root_table(&entries);
        root.refuse_file_with_key("tier", "site file: --site takes it, --rules a file of rules")?;
        root.refuse_unknown_keys(&["rule", "metadata_cache"])?;
        if let Some(trust) = root.get("metadata_cache") {
            return Err(trust.key_error(
                "metadata_cache is for directories on network storage: names of a volume that a \
                 bucket keeps are asked of the local disk",
            ));
        }
        let Some(rules) = root.get("rule") else {
            return Ok(Self { old_names, ..Self::none() });
        };
        let items =
            rules.as_list().ok_or_else(|| rules.wrong_type_error("a list of tables, [[rule]]"))?;
        let (mut globs, mut says) = (Vec::new(), Vec::new());
        for item in items {
            let table = item.as_table()?;
            table.refuse_unknown_keys(&KEYS)?;
            globs.extend(glob::parse_globs(table.get_required("match")?)?);
            says.resize(globs.len(), parse_rule(table)?);
        }
        let globs = GlobSet::new(globs).map_err(|error| root.table_error(error.to_string()))?;
        Ok(Self { globs, says, old_names })
    }

    /// Keys and words of the file that have another name now, with their places.
    pub fn old_names(&self) -> &[ConfigError] {
        &self.old_names
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.says.is_empty()
    }

    /// Whether the file of this path is an object of its own, however small it is; else large ones
    /// are.
    pub fn has_own_object(&self, path: &[u8]) -> bool {
        self.rule_for_path(path).is_some_and(|said| said.is_plain)
    }

    /// What an fsync of the file of this path waits for; `None`: what was said of all.
    pub fn fsync_target(&self, path: &[u8]) -> Option<FsyncTarget> {
        self.rule_for_path(path)?.fsync
    }

    /// The first rule that matches.
    fn rule_for_path(&self, path: &[u8]) -> Option<&BucketRule> {
        // The numbers of the globs come in ascending order.
        let first =
            self.globs.matches_candidate(&Candidate::from_bytes(path)).into_iter().next()?;
        self.says.get(first)
    }
}

fn parse_rule(table: TomlTable<'_>) -> Result<BucketRule, ConfigError> {
    let other = |entry: &TomlEntry<'_>| !OWN.contains(&entry.key);
    if let Some(entry) = table.entries().into_iter().find(other) {
        let message = format!(
            "{} is for a volume that is a directory: of one that a bucket keeps, rules say layout \
             and fsync",
            entry.key
        );
        return Err(entry.key_error(message));
    }
    let home = table.get_required("home")?;
    if home.as_text()? != IN_PLACE {
        let message = "files of a volume that a bucket keeps live in it: write home = \"in-place\", \
                       or send them elsewhere by rules of a `forebay run` in it";
        return Err(home.value_error(message));
    }
    let is_plain = parse_choice(table, "layout", &LAYOUTS)?;
    Ok(BucketRule { is_plain, fsync: parse_choice(table, "fsync", &FSYNCS)? })
}

/// Refuses what is said of a volume that is a directory, and is for one that a bucket keeps.
pub(super) fn refuse_bucket_fsync(table: TomlTable<'_>) -> Result<(), ConfigError> {
    let Some(entry) = table.get("fsync") else { return Ok(()) };
    match entry.as_text()? {
        word if FSYNCS.iter().any(|(known, _)| *known == word) => Err(entry.value_error(format!(
            "fsync = {word:?} is for a volume that a bucket keeps (forebay mount s3://...)"
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    //! If these fail, a result is in the bucket as no other tool can read it, or an fsync does not
    //! wait for what a user was promised.
    use super::*;

    const EXAMPLE: &str = include_str!("../../../../examples/rules/bucket.toml");

    #[test]
    fn the_first_rule_that_matches_says_how_files_lie_in_the_bucket() {
        let rules = BucketRules::parse(EXAMPLE, "bucket.toml").expect("the example is right");
        for (path, is_plain, fsync) in [
            ("results/qc/a.html", true, Some(FsyncTarget::Bucket)),
            ("results/tmp/a.html", false, Some(FsyncTarget::Local)),
            ("work/1f/a.bam.bai", true, None),
            ("work/1f/.command.log", false, None),
        ] {
            assert_eq!(rules.has_own_object(path.as_bytes()), is_plain, "{path}");
            assert_eq!(rules.fsync_target(path.as_bytes()), fsync, "{path}");
        }
        assert!(!rules.is_empty() && BucketRules::none().is_empty());
        assert!(!BucketRules::none().has_own_object(b"results/x"));
        assert!(BucketRules::parse("", "empty.toml").expect("no rules").is_empty());
    }

    #[test]
    fn what_a_bucket_can_not_do_is_refused_where_it_is_said() {
        for (text, expected) in [
            ("home = 'nvme'\n", "3:8: files of a volume that a bucket keeps live in it"),
            ("", "1:1: the key \"home\" is missing here"),
            (
                "home = 'in-place'\nwrite_back = 'on-close'\n",
                "4:1: write_back is for a volume that is a directory",
            ),
            ("home = 'in-place'\nfsync = 'scratch'\n", "4:9: "),
            ("home = 'in-place'\nlayout = 'apart'\n", "4:10: "),
            ("home = 'in-place'\nlayuot = 'plain'\n", "4:1: there is no key \"layuot\""),
        ] {
            let text = format!("[[rule]]\nmatch = 'a'\n{text}");
            let flaw = BucketRules::parse(&text, "r").expect_err("a misfit").to_string();
            assert!(flaw.starts_with(&format!("r:{expected}")), "{flaw}");
        }
        let flaw = BucketRules::parse("[[metadata_cache]]\nmatch = '**'\ntimeout = '1 min'\n", "r")
            .expect_err("no such");
        assert!(flaw.to_string().contains("metadata_cache is for directories"), "{flaw}");
    }
}
