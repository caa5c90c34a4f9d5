//! What can be had from an archive: one mate, both in turns, the files as they were; as FASTQ,
//! FASTA or a table, compressed or as BAM; all reads or some that follow each other.

mod bam;
mod groups;
mod packed;
mod records;

use std::io::Write;
use std::ops::Range;

use crate::archive::{Archive, Asked, Texts};
use crate::error::{Error, Kind, Result};
use crate::group::is_blank;
use crate::in_order::in_order;
use crate::index::GroupAt;
use crate::manifest::Shape;
pub use bam::BamHeader;
use groups::{Groups, Wanted};
use records::{bases, fasta, in_turns, some, tab};

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
    /// A line for each read, or for both of a pair: name, bases and qualities of each, with tabs
    /// between, as `bowtie2 --tab6` reads it. Line ends have no CR; a tab in a name is a space.
    Tab,
    /// Bases alone, a line for each read.
    Bases,
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
        let mut groups = Groups::all(self, self.asks(view, form));
        let jobs = || Some(groups.next()?.map(|group| (group, None)));
        self.write_groups(jobs, view, form, threads, out)
    }

    /// The same for reads that follow each other, counted from 0; of pairs these are the reads of
    /// both mates. A range that goes beyond the last read ends there.
    ///
    /// # Errors
    /// As [`Archive::write`]; [`Kind::Request`] if there is none of these reads, or text before
    /// them that has no records, so that reads can't be counted.
    pub fn write_spots(
        &self,
        spots: Range<u64>,
        view: View,
        form: Form,
        threads: usize,
        out: &mut impl Write,
    ) -> Result<()> {
        self.check(view)?;
        let all = self.manifest().spots();
        if spots.is_empty() || spots.start >= all {
            let words = format!("reads {} to {}: it has {all}", spots.start + 1, spots.end);
            return Err(Error::new(Kind::Request, words));
        }
        self.write_groups(groups::with(self, spots), view, form, threads, out)
    }

    fn write_groups(
        &self,
        jobs: impl FnMut() -> Option<Result<Wanted>> + Send,
        view: View,
        form: Form,
        threads: usize,
        out: &mut impl Write,
    ) -> Result<()> {
        let asked = self.asks(view, form);
        let mates = if asked.mates == [true, true] { 2 } else { 1 };
        let work = |job: Result<Wanted>| {
            let (group, spots) = job?;
            let mut text = self.view(&group, view, asked)?;
            if form != Form::Fastq && group.spots == 0 && is_blank(&text) {
                return Ok(Vec::new());
            }
            if let Some(spots) = spots {
                let records = spots.start * mates..spots.end * mates;
                text = some(text, records).ok_or_else(|| no_records(&group))?;
            }
            match form {
                Form::Fastq => Some(text),
                Form::Fasta => fasta(&text),
                Form::Tab => tab(&text, mates),
                Form::Bases => bases(&text),
            }
            .ok_or_else(|| no_records(&group))
        };
        let take = |text: Result<Vec<u8>>| {
            out.write_all(&text?).map_err(|error| Error::io("writing", error))
        };
        in_order(threads, jobs, work, take)
    }

    /// Does `work` for all groups, of which this is read, in many threads, and `take` in order.
    pub(crate) fn each<R: Send>(
        &self,
        asked: Asked,
        threads: usize,
        work: impl Fn(GroupAt) -> Result<R> + Sync,
        take: impl FnMut(Result<R>) -> Result<()>,
    ) -> Result<()> {
        let mut groups = Groups::all(self, asked);
        in_order(threads, || groups.next(), |group| work(group?), take)
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

    /// Which mates a view has.
    pub(crate) fn wanted(&self, view: View) -> [bool; 2] {
        match (view, self.manifest().shape) {
            (View::Mate(mate), _) => [mate == 0, mate == 1],
            (View::File(file), Shape::Paired) => [file == 0, file == 1],
            (_, Shape::Single) => [true, false],
            _ => [true, true],
        }
    }

    /// What a form needs of a view's mates.
    fn asks(&self, view: View, form: Form) -> Asked {
        let names = form != Form::Bases;
        let qualities = matches!(form, Form::Fastq | Form::Tab);
        Asked { mates: self.wanted(view), names, qualities }
    }

    /// A group as a view shows it, of which `asked` is as it was.
    pub(crate) fn view(&self, group: &GroupAt, view: View, asked: Asked) -> Result<Vec<u8>> {
        let texts = self.texts(group, asked)?;
        if self.wanted(view) == [true, true] {
            return self.in_one(group, texts);
        }
        texts.into_iter().flatten().next().ok_or_else(|| no_records(group))
    }

    /// Both mates of a group in turns.
    pub(crate) fn in_one(&self, group: &GroupAt, texts: Texts) -> Result<Vec<u8>> {
        let mend = self.manifest().shape == Shape::Paired;
        // What stands around the reads of two files has no place in one.
        if mend && group.spots == 0 && texts.iter().flatten().all(|text| is_blank(text)) {
            return Ok(Vec::new());
        }
        in_turns(&texts, mend).ok_or_else(|| no_records(group))
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
