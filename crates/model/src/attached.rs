//! What is attached to a volume: directories that are shown in it as if they lay there.
//!
//! The list is one small TOML file in the volume (docs/formats/tiers.md). What it is not: it looks at no
//! directory; whether a source is there is for those to find out who show it.

mod exposed_content;

use std::fmt::Write;
use std::path::{Component, Path, PathBuf};

use crate::bucket_url::is_bucket_url;
use crate::toml::{ConfigError, TomlDocument};
pub use exposed_content::{ExposedContent, ExposedReads};

/// Parts into which reads are dealt out at most: each is two files that are listed.
pub const SHARDS_MAX: u32 = 10_000;

/// A directory that is shown inside a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// The directory, absolute; or the URL of a bucket or of a prefix.
    pub source: PathBuf,
    /// Where it is shown, relative to the volume.
    pub at: PathBuf,
    /// Nothing there can be changed through the volume.
    pub read_only: bool,
    /// What of it is shown.
    pub shows: ExposedContent,
}

impl Attachment {
    /// The prefix of a bucket that is shown, if it is one.
    #[must_use]
    pub fn bucket_url(&self) -> Option<&str> {
        self.source.to_str().filter(|source| is_bucket_url(source))
    }
}

/// All that is attached to one volume, by where it is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttachmentSet(Vec<Attachment>);

impl AttachmentSet {
    /// Reads the text of the list; `origin` is its name in flaws.
    ///
    /// # Errors
    /// The first flaw, with its place.
    pub fn parse(text: &str, origin: &str) -> Result<Self, ConfigError> {
        let document = TomlDocument { source: origin, text };
        let entries = document.parse()?;
        let root = document.root_table(&entries);
        root.refuse_unknown_keys(&["attached"])?;
        let mut all = Self::default();
        let Some(list) = root.get("attached") else { return Ok(all) };
        let items = list.as_list().ok_or_else(|| list.wrong_type_error("a list of tables"))?;
        for item in items {
            let table = item.as_table()?;
            table.refuse_unknown_keys(&["source", "at", "read-only", "shows", "shards", "lite"])?;
            let (source, at) = (table.get_required("source")?, table.get_required("at")?);
            let attachment = Attachment {
                source: PathBuf::from(source.as_text()?),
                at: PathBuf::from(at.as_text()?),
                read_only: match table.get("read-only") {
                    Some(entry) => entry.as_bool()?,
                    None => false,
                },
                shows: ExposedContent::from_table(table)?,
            };
            all.add_attachment(attachment).map_err(|why| at.value_error(why))?;
        }
        Ok(all)
    }

    /// All of them, outer ones first.
    pub fn iter(&self) -> impl Iterator<Item = &Attachment> {
        self.0.iter()
    }

    /// Adds one.
    ///
    /// # Errors
    /// In words: a source that is not absolute, a place outside the volume or in Forebay's own
    /// folder, or one that is taken.
    pub fn add_attachment(&mut self, new: Attachment) -> Result<(), String> {
        let shown = new.at.display();
        if new.bucket_url().is_some_and(|_| !new.read_only) {
            return Err(format!("{} is a bucket, which is read-only", new.source.display()));
        }
        let source = new.source.display();
        if new.shows != ExposedContent::Files && !new.read_only {
            return Err(format!("{source} shows reads, which are read-only"));
        }
        if new.shows == ExposedContent::Plain && new.bucket_url().is_some() {
            return Err(format!("{source} lies in a bucket, where plain FASTQ is not shown"));
        }
        if let ExposedContent::Reads(ExposedReads { shards, .. }) = new.shows
            && let Some(many) = shards.filter(|shards| shards.get() > SHARDS_MAX)
        {
            return Err(format!("{many} shards are too many: {SHARDS_MAX} at most"));
        }
        if new.bucket_url().is_none() && !new.source.is_absolute() {
            return Err(format!("{} is not an absolute path", new.source.display()));
        }
        let inside = |part: Component<'_>| matches!(part, Component::Normal(_));
        if new.at.as_os_str().is_empty() || !new.at.components().all(inside) {
            return Err(format!("{shown:?} is no path below the volume"));
        }
        if new.at.starts_with(".forebay") {
            return Err(format!("{shown} is Forebay's own folder"));
        }
        let clash = |old: &&Attachment| old.at.starts_with(&new.at) || new.at.starts_with(&old.at);
        if let Some(old) = self.0.iter().find(clash) {
            let (taken, by) = (old.at.display(), old.source.display());
            return Err(format!("{shown} is taken: {by} is attached at {taken}"));
        }
        let place = self.0.partition_point(|old| old.at < new.at);
        self.0.insert(place, new);
        Ok(())
    }

    /// Takes away what is shown at a place; `None` if nothing is.
    pub fn remove(&mut self, at: &Path) -> Option<Attachment> {
        let number = self.0.iter().position(|one| one.at == at)?;
        Some(self.0.remove(number))
    }

    /// The text of the list; `None` for a path that is no Unicode, which TOML can't hold.
    pub fn to_toml(&self) -> Option<String> {
        let mut text =
            "# Directories shown in this volume: forebay attach, forebay detach\n".to_owned();
        for one in &self.0 {
            let (source, at) = (toml_string(one.source.to_str()?), toml_string(one.at.to_str()?));
            let _ = write!(text, "\n[[attached]]\nsource = {source}\nat = {at}\n");
            if one.read_only {
                text.push_str("read-only = true\n");
            }
            one.shows.push_entry_lines(&mut text);
        }
        Some(text)
    }
}

/// A TOML basic string.
fn toml_string(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            control if control.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(control));
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    //! A list that is read otherwise than it was written would show the wrong directory.
    use std::num::NonZeroU32;

    use super::*;

    fn one(source: &str, at: &str) -> Attachment {
        let (source, at) = (source.into(), at.into());
        Attachment { source, at, read_only: false, shows: ExposedContent::Files }
    }

    fn shows_reads(shards: u32) -> ExposedContent {
        ExposedContent::Reads(ExposedReads { shards: NonZeroU32::new(shards), lite: shards == 64 })
    }

    #[test]
    fn what_is_written_is_read() {
        let mut all = AttachmentSet::default();
        all.add_attachment(Attachment {
            read_only: true,
            ..one("/data/a \"b\"\\\n\u{7f}", "ref/hg38")
        })
        .expect("first");
        all.add_attachment(one("/x", "mine")).expect("second");
        let reads =
            |shards| Attachment { read_only: true, shows: shows_reads(shards), ..one("/r", "r") };
        all.add_attachment(reads(0)).expect("third");
        all.add_attachment(Attachment { at: "s".into(), ..reads(64) }).expect("fourth");
        let plain = Attachment { at: "t".into(), shows: ExposedContent::Plain, ..reads(0) };
        all.add_attachment(plain.clone()).expect("fifth");
        let far = Attachment { source: "s3://lab/x.fq.gz".into(), at: "u".into(), ..plain.clone() };
        assert!(all.add_attachment(far).is_err(), "nobody reads a bucket to attach it");
        assert!(
            all.add_attachment(Attachment { at: "v".into(), read_only: false, ..plain }).is_err()
        );
        let text = all.to_toml().expect("Unicode");
        assert_eq!(AttachmentSet::parse(&text, "list").expect(&text), all);
        assert_eq!(
            all.iter().map(|one| one.at.to_str()).collect::<Vec<_>>(),
            [Some("mine"), Some("r"), Some("ref/hg38"), Some("s"), Some("t")]
        );
        assert_eq!(all.remove(Path::new("mine")), Some(one("/x", "mine")));
        assert_eq!(all.remove(Path::new("mine")), None);
    }

    #[test]
    fn places_are_in_the_volume_and_free() {
        let mut all = AttachmentSet::default();
        all.add_attachment(one("/x", "ref/a")).expect("free");
        for at in ["", "/abs", "../up", "a/../b", ".forebay/x", "ref", "ref/a", "ref/a/b"] {
            assert!(all.add_attachment(one("/x", at)).is_err(), "{at:?}");
        }
        assert!(all.add_attachment(one("x", "b")).is_err());
        let bucket = |read_only| Attachment { read_only, ..one("s3://lab/x", "lab") };
        assert!(all.add_attachment(bucket(false)).is_err(), "nothing is written to a bucket");
        assert!(all.add_attachment(bucket(true)).is_ok());
        assert!(all.add_attachment(one("/x", "ref/ab")).is_ok());
        let reads = |shards| Attachment { shows: shows_reads(shards), ..one("/r", "r") };
        assert!(all.add_attachment(reads(2)).is_err(), "nothing is written to an archive");
        assert!(
            all.add_attachment(Attachment { read_only: true, ..reads(SHARDS_MAX + 1) }).is_err()
        );
        assert!(all.add_attachment(Attachment { read_only: true, ..reads(SHARDS_MAX) }).is_ok());
    }

    #[test]
    fn flaws_say_where() {
        let flaw = AttachmentSet::parse("[[attached]]\nsource = \"/x\"\nat = \"../y\"\n", "list");
        assert!(flaw.expect_err("outside").to_string().starts_with("list:3:6: "));
        let flaw = AttachmentSet::parse(
            "[[attached]]\nsource = \"/x\"\nat = \"y\"\nreadonly = true\n",
            "l",
        );
        assert!(flaw.expect_err("no such key").to_string().contains("read-only"));
        for (more, place) in
            [("shards = 2\n", "5:1"), ("lite = true\n", "5:1"), ("shows = \"read\"\n", "5:9")]
        {
            let text =
                format!("[[attached]]\nsource = \"/x\"\nat = \"y\"\nread-only = true\n{more}");
            let flaw = AttachmentSet::parse(&text, "l").expect_err(more).to_string();
            assert!(flaw.starts_with(&format!("l:{place}: ")), "{flaw}");
        }
    }
}
