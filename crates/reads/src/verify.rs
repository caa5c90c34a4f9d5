//! Looking at every byte of an archive: lengths and first bytes of objects, checksums of pages
//! and chunks, and whether the files that it shows are those that went in.

use crate::archive::{Archive, RequestedColumns};
use crate::error::{Error, Kind, Result};
use crate::hash::DigestBuilder;
use crate::manifest::{DATA_MAGIC, INDEX, INDEX_MAGIC, ReadLayout};
use crate::stripe_index::LocatedGroup;
use crate::view::ReadSelection;

/// Problems are told up to this many.
const TOLD: usize = 100;

/// What was looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// Groups that are as they were written.
    pub groups: usize,
    /// Bytes of text that they hold.
    pub text_bytes: u64,
    /// What is wrong, with its place; nothing if all is well.
    pub problems: Vec<String>,
    /// What the system did not let us read: of that nothing is known.
    pub unread: Vec<String>,
}

impl VerifyReport {
    fn add_problem(&mut self, words: String) {
        if self.problems.len() < TOLD {
            self.problems.push(words);
        }
    }

    fn add_error(&mut self, error: &Error) {
        match error.kind {
            Kind::Io if self.unread.len() < TOLD => self.unread.push(error.to_string()),
            Kind::Io => {}
            _ => self.add_problem(error.to_string()),
        }
    }
}

impl Archive {
    /// Reads everything and compares. What is damaged is in the verdict.
    ///
    /// # Errors
    /// Only what stops the looking itself.
    pub fn verify(&self, threads: usize, mut progress: impl FnMut(u64)) -> Result<VerifyReport> {
        let mut verdict = VerifyReport::default();
        let manifest = self.manifest();
        for (name, len) in &manifest.objects {
            let magic = if name == INDEX { INDEX_MAGIC } else { DATA_MAGIC };
            match self.objects.object_size(name) {
                Ok(found) if found == *len => {}
                Ok(found) => {
                    verdict.add_problem(format!("{name} has {found} bytes, {len} were written"));
                }
                Err(error) => verdict.add_error(&error),
            }
            if self.objects.read_range(name, 0, magic.len()).is_ok_and(|head| head != magic) {
                verdict.add_problem(format!("{name}, bytes 0 to 8: not those that were written"));
            }
        }
        let asked = RequestedColumns::all_columns([true, manifest.shape.mate_count() == 2]);
        let mut sums: Vec<DigestBuilder> =
            manifest.files.iter().map(|_| DigestBuilder::default()).collect();
        let work = |group: LocatedGroup| match manifest.shape {
            ReadLayout::Interleaved => {
                Ok([Some(self.render_group(&group, ReadSelection::File(0), asked)?), None])
            }
            _ => self.read_texts(&group, asked),
        };
        self.for_each_group(asked, threads, work, |texts| {
            match texts {
                Err(error) => verdict.add_error(&error),
                Ok(texts) => {
                    match (&mut sums[..], &texts) {
                        ([one, other], [Some(mine), Some(theirs)]) => {
                            DigestBuilder::add_to_both([one, other], [mine, theirs]);
                        }
                        (sums, texts) => {
                            let sums = sums.iter_mut().zip(texts.iter().flatten());
                            sums.for_each(|(sum, text)| sum.add_bytes(text));
                        }
                    }
                    let lens = texts.iter().flatten().map(|text| text.len() as u64);
                    verdict.text_bytes += lens.sum::<u64>();
                    verdict.groups += 1;
                    progress(verdict.text_bytes);
                }
            }
            Ok(())
        })?;
        for (file, sum) in manifest.files.iter().zip(sums) {
            let digests = sum.into_digests();
            // Where groups are damaged, that was told, and more precisely.
            let whole = verdict.problems.is_empty() && verdict.unread.is_empty();
            if digests != file.digests && whole {
                let words = "decodes to other bytes than were packed (MD5, SHA-256)";
                verdict.add_problem(format!("{}: {words}", file.name));
            }
        }
        Ok(verdict)
    }
}
