//! Inputs become groups: some reads of all mates, read by read.

use crate::error::Result;
use crate::manifest::ReadLayout;
use crate::row_group::TextRecords;
use crate::window::{RecordScan, RecordWindow};

/// The texts of one group, before they are encoded.
#[derive(Debug, Default)]
pub(crate) struct GroupTexts {
    pub(crate) mates: Vec<TextRecords>,
    /// Reads of each mate; 0 for text without records.
    pub(crate) spots: usize,
}

/// The next group, of `full` bytes of a mate's text and what its last read has more, or None at the
/// end.
///
/// # Errors
/// Pairs whose files do not go read by read, and reading itself.
pub(crate) fn next_group(
    shape: ReadLayout,
    windows: &mut [RecordWindow],
    full: usize,
) -> Result<Option<GroupTexts>> {
    match shape {
        ReadLayout::Single => next_single_group(&mut windows[0], full),
        ReadLayout::Paired => next_paired_group(windows, full),
        ReadLayout::Interleaved => next_interleaved_group(&mut windows[0], full),
    }
}

fn next_single_group(window: &mut RecordWindow, full: usize) -> Result<Option<GroupTexts>> {
    let (mut ends, mut at) = (Vec::new(), 0);
    while at < full {
        match window.next_record(at)? {
            RecordScan::Record(end) => at = end,
            RecordScan::Odd(..) if at == 0 => {
                let text = match window.blank_len(0)? {
                    0 => window.take_unparsed()?,
                    blank => window.take_blank(blank),
                };
                return Ok(Some(GroupTexts { mates: vec![text], spots: 0 }));
            }
            RecordScan::Odd(..) | RecordScan::End => break,
        }
        ends.push(at as u32);
    }
    let spots = ends.len();
    Ok((spots > 0).then(|| GroupTexts { mates: vec![window.take_records(ends)], spots }))
}

fn next_paired_group(windows: &mut [RecordWindow], full: usize) -> Result<Option<GroupTexts>> {
    let (mut ends, mut at) = ([Vec::new(), Vec::new()], [0, 0]);
    while at[0] < full && at[1] < full {
        let mut found = [RecordScan::End; 2];
        for (nth, window) in windows.iter_mut().enumerate() {
            found[nth] = window.next_record(at[nth])?;
        }
        let odd = found.iter().position(|found| matches!(found, RecordScan::Odd(..)));
        if let Some(odd) = odd {
            let blank = [windows[0].blank_len(at[0])?, windows[1].blank_len(at[1])?];
            match (found[odd], blank == [0, 0]) {
                (RecordScan::Odd(line, words), true) => {
                    return Err(windows[odd].error_at(at[odd], line, words));
                }
                // Behind the reads that are there, they are a group of their own.
                _ if at[0] > 0 => break,
                _ => {
                    let texts = windows.iter_mut().zip(blank);
                    let mates = texts.map(|(window, len)| window.take_blank(len)).collect();
                    return Ok(Some(GroupTexts { mates, spots: 0 }));
                }
            }
        }
        match found {
            [RecordScan::Record(first), RecordScan::Record(second)] => at = [first, second],
            [RecordScan::End, RecordScan::End] => break,
            _ => {
                let short = usize::from(found[0] != RecordScan::End);
                let words =
                    format!("the file ends here, {} goes on", windows[1 - short].input.name);
                return Err(windows[short].error_at(at[short], 0, &words));
            }
        }
        ends.iter_mut().zip(at).for_each(|(ends, at)| ends.push(at as u32));
    }
    let spots = ends[0].len();
    let mates =
        windows.iter_mut().zip(ends).map(|(window, ends)| window.take_records(ends)).collect();
    Ok((spots > 0).then_some(GroupTexts { mates, spots }))
}

fn next_interleaved_group(window: &mut RecordWindow, full: usize) -> Result<Option<GroupTexts>> {
    let mut ends = Vec::new();
    let mut at = 0;
    while at < 2 * full || ends.len() % 2 == 1 {
        match window.next_record(at)? {
            RecordScan::Record(end) => at = end,
            RecordScan::End if ends.len() % 2 == 0 => break,
            RecordScan::End => {
                let words = "the file ends between the two reads of a pair";
                return Err(window.error_at(at, 0, words));
            }
            RecordScan::Odd(line, words) => return Err(window.error_at(at, line, words)),
        }
        ends.push(at as u32);
    }
    let whole = window.take_records(ends);
    let mut mates = vec![TextRecords::default(), TextRecords::default()];
    let mut start = 0;
    for (nth, end) in whole.ends.iter().enumerate() {
        let mate = &mut mates[nth % 2];
        mate.text.extend_from_slice(&whole.text[start..*end as usize]);
        mate.ends.push(mate.text.len() as u32);
        start = *end as usize;
    }
    let spots = whole.ends.len() / 2;
    Ok((spots > 0).then_some(GroupTexts { mates, spots }))
}
