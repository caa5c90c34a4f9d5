//! What can be had from an archive: one mate, both in turns, the files as they were; as FASTQ or
//! FASTA; whole or a range of bytes.

mod records;

use std::io::Write;

use crate::archive::{Archive, Texts};
use crate::error::{Error, Kind, Result};
use crate::in_order::in_order;
use crate::index::GroupAt;
use crate::manifest::Shape;
use records::{fasta, in_turns};

/// Which reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// One mate: 0 or 1.
    Mate(usize),
    /// Both mates in turns, as `bwa mem -p` reads them; of single reads, these.
    Both,
    /// A file that the archive shows, byte for byte.
    File(usize),
}

/// In which form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As it was.
    Fastq,
    /// Names and bases.
    Fasta,
}

impl Archive {
    /// Writes a view, decoding with `threads` threads. Each holds two groups at most.
    ///
    /// # Errors
    /// What was asked for is not in this archive, is damaged, or `out` refuses.
    pub fn write(
        &self,
        view: View,
        form: Form,
        threads: usize,
        out: &mut impl Write,
    ) -> Result<()> {
        self.check(view)?;
        self.each(
            threads,
            |group| {
                let text = self.view(&group, view)?;
                match form {
                    Form::Fastq => Ok(text),
                    Form::Fasta => fasta(&text).ok_or_else(|| no_records(&group)),
                }
            },
            |text| out.write_all(&text?).map_err(|error| Error::io("writing", error)),
        )
    }

    /// Does `work` for all groups in many threads, and `take` in order.
    pub(crate) fn each<R: Send>(
        &self,
        threads: usize,
        work: impl Fn(GroupAt) -> Result<R> + Sync,
        take: impl FnMut(Result<R>) -> Result<()>,
    ) -> Result<()> {
        let mut stripes = 0..self.manifest().stripes.len();
        let mut ready = Vec::new().into_iter();
        let jobs = || loop {
            if let Some(group) = ready.next() {
                return Some(Ok(group));
            }
            match self.groups(stripes.next()?) {
                Ok(groups) => ready = groups.into_iter(),
                Err(error) => return Some(Err(error)),
            }
        };
        in_order(threads, jobs, |group| work(group?), take)
    }

    fn check(&self, view: View) -> Result<()> {
        let shape = self.manifest().shape;
        let words = match view {
            View::Mate(mate) if mate >= shape.mates() => "its reads have no second mate",
            View::File(file) if file >= shape.files() => "it shows no such file",
            _ => return Ok(()),
        };
        Err(Error::new(Kind::Request, words))
    }

    /// A group as a view shows it.
    pub(crate) fn view(&self, group: &GroupAt, view: View) -> Result<Vec<u8>> {
        let shape = self.manifest().shape;
        let wanted = match (view, shape) {
            (View::Mate(mate), _) => [mate == 0, mate == 1],
            (View::File(file), Shape::Paired) => [file == 0, file == 1],
            (_, Shape::Single) => [true, false],
            _ => [true, true],
        };
        let texts = self.texts(group, wanted)?;
        if wanted == [true, true] {
            return self.in_one(group, texts);
        }
        texts.into_iter().flatten().next().ok_or_else(|| no_records(group))
    }

    /// Both mates of a group in turns.
    pub(crate) fn in_one(&self, group: &GroupAt, texts: Texts) -> Result<Vec<u8>> {
        let mend = self.manifest().shape == Shape::Paired;
        in_turns(&texts, mend).ok_or_else(|| no_records(group))
    }

    /// Bytes of a file that the archive shows, from `offset` on: `len` of them, or fewer at the
    /// end of the file. Groups that the range touches are decoded whole.
    ///
    /// # Errors
    /// As [`Archive::write`].
    pub fn read_at(&self, file: usize, offset: u64, len: usize) -> Result<Vec<u8>> {
        self.check(View::File(file))?;
        let mut out = Vec::new();
        let end = offset.saturating_add(len as u64);
        let mut at = 0_u64;
        for (nth, stripe) in self.manifest().stripes.iter().enumerate() {
            let stripe_end = at.saturating_add(stripe.texts[file]);
            if stripe_end <= offset || at >= end {
                at = stripe_end;
                continue;
            }
            for group in self.groups(nth)? {
                let group_end = at.saturating_add(group.text_len(self.manifest().shape, file));
                if group_end > offset && at < end {
                    let text = self.view(&group, View::File(file))?;
                    let from = offset.saturating_sub(at) as usize;
                    let to = text.len().min((end - at) as usize);
                    out.extend_from_slice(text.get(from..to).unwrap_or_default());
                }
                at = group_end;
            }
        }
        Ok(out)
    }
}

impl GroupAt {
    /// Bytes of a file that the archive shows.
    pub(crate) fn text_len(&self, shape: Shape, file: usize) -> u64 {
        match shape {
            Shape::Interleaved => self.mates.iter().map(|mate| mate.text_len as u64).sum(),
            _ => self.mates[file].text_len as u64,
        }
    }
}

fn no_records(group: &GroupAt) -> Error {
    let words = "its text has no records of four lines; the file as it was can be had";
    Error::new(Kind::Request, format!("group {}: {words}", group.number))
}
