//! A group as a view shows it, window by window: one mate, or both in turns.

use super::no_group_records_error;
use crate::archive::{OpenGroup, mate_place};
use crate::error::Result;
use crate::row_group::{MateText, TextBuffer};
use crate::stripe_index::LocatedGroup;

/// What is still to come of a group.
#[derive(Debug)]
pub(super) struct OpenView<'a> {
    group: &'a LocatedGroup,
    opened: OpenGroup<'a>,
    in_turns: bool,
    /// A last line without end gets one.
    mend: bool,
}

impl<'a> OpenView<'a> {
    pub(super) fn new(
        group: &'a LocatedGroup,
        mut opened: OpenGroup<'a>,
        in_turns: bool,
        mend: bool,
    ) -> Result<OpenView<'a>> {
        // What stands around the reads of two files has no place in one.
        let blank = |mate: &MateText| mate.is_blank();
        if in_turns && mend && group.spots == 0 && opened.mates.iter().flatten().all(blank) {
            opened.mates = [const { Some(MateText::Whole(Vec::new(), 0)) }; 2];
        }
        Ok(OpenView { group, opened, in_turns, mend })
    }

    /// Bytes that are still to come, and an end for each last line that has none.
    pub(super) fn text_left(&self) -> usize {
        self.opened.mates.iter().flatten().map(|mate| mate.text_left() + 1).sum()
    }

    /// Appends what comes next until there are `full` bytes or nothing more; false then.
    pub(super) fn fill_window(&mut self, out: &mut TextBuffer, full: usize) -> Result<bool> {
        if self.in_turns {
            return self.fill_in_turns(out, full);
        }
        let mate = self
            .opened
            .mates
            .iter_mut()
            .enumerate()
            .find_map(|(nth, mate)| mate.as_mut().map(|mate| (nth, mate)));
        let (nth, mate) = mate.ok_or_else(|| no_group_records_error(self.group))?;
        let more = mate.fill_window(out, full);
        more.map_err(|error| error.with_context(mate_place(self.group, nth)))
    }

    fn fill_in_turns(&mut self, out: &mut TextBuffer, full: usize) -> Result<bool> {
        let group = self.group;
        let [Some(first), Some(second)] = &mut self.opened.mates else {
            return Err(no_group_records_error(group));
        };
        while out.len() < full {
            if !write_mended(first, out, self.mend)
                .map_err(|error| error.with_context(mate_place(group, 0)))?
            {
                return match second.text_left() {
                    0 => Ok(false),
                    _ => Err(no_group_records_error(group)),
                };
            }
            let found = write_mended(second, out, self.mend);
            if !found.map_err(|error| error.with_context(mate_place(group, 1)))? {
                return Err(no_group_records_error(group));
            }
        }
        Ok(true)
    }
}

#[inline]
fn write_mended(mate: &mut MateText, out: &mut TextBuffer, mend: bool) -> Result<bool> {
    let found = mate.write_record(out)?;
    if found && mend && !out.as_bytes().ends_with(b"\n") {
        out.append(b"\n");
    }
    Ok(found)
}
