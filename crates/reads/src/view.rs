//! What can be had from an archive: one mate, both in turns, the files as they were; as FASTQ,
//! FASTA or a table, compressed or as BAM; all reads or some that follow each other.

mod bam_writer;
mod compressed_views;
mod groups;
mod open_view;
mod records;

use std::io::Write;
use std::ops::Range;

use crate::archive::{Archive, RequestedColumns};
use crate::error::{Error, Kind, Result};
use crate::in_order::{run_in_order, run_in_pieces};
use crate::manifest::ReadLayout;
use crate::row_group::{TextBuffer, is_blank_text, no_records_error};
use crate::stripe_index::LocatedGroup;
pub use bam_writer::BamHeader;
use groups::{GroupIterator, SelectedGroup};
use open_view::OpenView;
use records::{select_records, to_base_lines, to_fasta, to_tab_lines};

/// Text that is handed on at a time: what stays in the second cache.
const WINDOW: usize = 256 << 10;

/// Which reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadSelection {
    /// One mate: 0 or 1.
    Mate(usize),
    /// Both mates in turns, as `bwa mem -p` reads them; of single reads, these.
    Both,
    /// A file that the archive shows, byte for byte.
    File(usize),
}

/// In which form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextFormat {
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
    pub fn write_view(
        &self,
        view: ReadSelection,
        form: TextFormat,
        threads: usize,
        out: &mut impl Write,
    ) -> Result<()> {
        self.check_view(view)?;
        let mut groups = GroupIterator::all_groups(self, self.request_for_form(view, form));
        let jobs = || Some(groups.next()?.map(|group| (group, None)));
        self.write_groups(jobs, view, form, threads, out)
    }

    /// The same for reads that follow each other, counted from 0; of pairs these are the reads of
    /// both mates. A range that goes beyond the last read ends there.
    ///
    /// # Errors
    /// As [`Archive::write_view`]; [`Kind::Request`] if there is none of these reads, or text
    /// before them that has no records, so that reads can't be counted.
    pub fn write_spots(
        &self,
        spots: Range<u64>,
        view: ReadSelection,
        form: TextFormat,
        threads: usize,
        out: &mut impl Write,
    ) -> Result<()> {
        self.check_view(view)?;
        let all = self.manifest().spot_count();
        if spots.is_empty() || spots.start >= all {
            let words = format!("reads {} to {}: it has {all}", spots.start + 1, spots.end);
            return Err(Error::new(Kind::Request, words));
        }
        self.write_groups(groups::groups_with_spots(self, spots), view, form, threads, out)
    }

    fn write_groups(
        &self,
        jobs: impl FnMut() -> Option<Result<SelectedGroup>> + Send,
        view: ReadSelection,
        form: TextFormat,
        threads: usize,
        out: &mut impl Write,
    ) -> Result<()> {
        let asked = self.request_for_form(view, form);
        let mates = if asked.mates == [true, true] { 2 } else { 1 };
        let work = |job: Result<SelectedGroup>, give: &mut dyn FnMut(Result<TextBuffer>)| {
            let done = job.and_then(|(group, spots)| {
                let mut text = TextBuffer::default();
                if form == TextFormat::Fastq && spots.is_none() {
                    return self.write_windows(&group, view, asked, |window| give(Ok(window)));
                }
                self.render_form(&group, spots, view, form, mates)
                    .map(|form| text.append(&form))?;
                give(Ok(text));
                Ok(())
            });
            if let Err(error) = done {
                give(Err(error));
            }
        };
        let take = |text: Result<TextBuffer>| {
            out.write_all(text?.as_bytes()).map_err(|error| Error::io("writing", error))
        };
        run_in_pieces(threads, jobs, work, take)
    }

    /// A group, or some of its reads, in a form.
    fn render_form(
        &self,
        group: &LocatedGroup,
        spots: Option<Range<u64>>,
        view: ReadSelection,
        form: TextFormat,
        mates: u64,
    ) -> Result<Vec<u8>> {
        let mut text = self.render_group(group, view, self.request_for_form(view, form))?;
        if form != TextFormat::Fastq && group.spots == 0 && is_blank_text(&text) {
            return Ok(Vec::new());
        }
        if let Some(spots) = spots {
            let records = spots.start * mates..spots.end * mates;
            text = select_records(text, records).ok_or_else(|| no_group_records_error(group))?;
        }
        match form {
            TextFormat::Fastq => Some(text),
            TextFormat::Fasta => to_fasta(&text),
            TextFormat::Tab => to_tab_lines(&text, mates),
            TextFormat::Bases => to_base_lines(&text),
        }
        .ok_or_else(|| no_group_records_error(group))
    }

    /// Does `work` for all groups, of which this is read, in many threads, and `take` in order.
    pub(crate) fn for_each_group<R: Send>(
        &self,
        asked: RequestedColumns,
        threads: usize,
        work: impl Fn(LocatedGroup) -> Result<R> + Sync,
        take: impl FnMut(Result<R>) -> Result<()>,
    ) -> Result<()> {
        let mut groups = GroupIterator::all_groups(self, asked);
        run_in_order(threads, || groups.next(), |group| work(group?), take)
    }

    fn check_view(&self, view: ReadSelection) -> Result<()> {
        let shape = self.manifest().shape;
        let words = match view {
            ReadSelection::Mate(mate) if mate >= shape.mate_count() => {
                "its reads have no second mate"
            }
            ReadSelection::File(file) if file >= shape.file_count() => "it shows no such file",
            _ => return Ok(()),
        };
        Err(Error::new(Kind::Request, words))
    }

    /// Which mates a view has.
    pub(crate) fn mates_of_view(&self, view: ReadSelection) -> [bool; 2] {
        match (view, self.manifest().shape) {
            (ReadSelection::Mate(mate), _) => [mate == 0, mate == 1],
            (ReadSelection::File(file), ReadLayout::Paired) => [file == 0, file == 1],
            (_, ReadLayout::Single) => [true, false],
            _ => [true, true],
        }
    }

    /// What a form needs of a view's mates.
    fn request_for_form(&self, view: ReadSelection, form: TextFormat) -> RequestedColumns {
        let names = form != TextFormat::Bases;
        let qualities = matches!(form, TextFormat::Fastq | TextFormat::Tab);
        RequestedColumns { mates: self.mates_of_view(view), names, qualities }
    }

    /// A group as a view shows it, of which `asked` is as it was.
    pub(crate) fn render_group(
        &self,
        group: &LocatedGroup,
        view: ReadSelection,
        asked: RequestedColumns,
    ) -> Result<Vec<u8>> {
        let mut opened = self.open_view(group, view, asked)?;
        let mut text = TextBuffer::new(opened.text_left());
        opened.fill_window(&mut text, usize::MAX)?;
        Ok(text.into_text())
    }

    /// The same in windows, one behind the other.
    fn write_windows(
        &self,
        group: &LocatedGroup,
        view: ReadSelection,
        asked: RequestedColumns,
        mut give: impl FnMut(TextBuffer),
    ) -> Result<()> {
        let mut opened = self.open_view(group, view, asked)?;
        loop {
            let mut window = TextBuffer::kept(WINDOW + WINDOW / 8);
            let more = opened.fill_window(&mut window, WINDOW)?;
            give(window);
            if !more {
                return Ok(());
            }
        }
    }

    fn open_view<'a>(
        &'a self,
        group: &'a LocatedGroup,
        view: ReadSelection,
        asked: RequestedColumns,
    ) -> Result<OpenView<'a>> {
        let in_turns = self.mates_of_view(view) == [true, true];
        let mend = self.manifest().shape == ReadLayout::Paired;
        OpenView::new(group, self.open_group(group, asked)?, in_turns, mend)
    }
}

impl LocatedGroup {
    /// Bytes of a file that the archive shows.
    pub(crate) fn text_len(&self, shape: ReadLayout, file: usize) -> u64 {
        match shape {
            ReadLayout::Interleaved => self.mates.iter().map(|mate| mate.text_len as u64).sum(),
            _ => self.mates[file].text_len as u64,
        }
    }
}

fn no_group_records_error(group: &LocatedGroup) -> Error {
    no_records_error().with_context(format_args!("group {}", group.number))
}
