//! What stands beside bases: the lengths of reads, and letters that are no bases.

use crate::codecs::{LETTER, NOT_A_BASE};
use crate::error::{Error, Result};
use crate::wire::{Wire, put};

/// Lengths as bytes: 0 and the one length that all have, or 1 and each.
pub(crate) fn put_lengths(lengths: &[u32]) -> Vec<u8> {
    let same = lengths.windows(2).all(|pair| pair[0] == pair[1]);
    let mut raw = vec![u8::from(!same)];
    let kept = if same { &lengths[..lengths.len().min(1)] } else { lengths };
    kept.iter().for_each(|len| put(&mut raw, u64::from(*len)));
    raw
}

/// Undoes [`put_lengths`]; all reads together have at most `most` letters.
pub(crate) fn take_lengths(raw: &[u8], count: usize, most: usize) -> Result<Vec<u32>> {
    let mut wire = Wire::new(raw);
    let each = wire.byte()? != 0;
    let lengths = if each {
        (0..count).map(|_| Ok(wire.at_most(most)? as u32)).collect::<Result<Vec<u32>>>()?
    } else {
        vec![wire.at_most(most)? as u32; count]
    };
    wire.end()?;
    let sum: usize = lengths.iter().map(|len| *len as usize).sum();
    if sum > most {
        return Err(Error::damaged(format!("reads of {sum} letters where {most} can be")));
    }
    Ok(lengths)
}

/// What is no A, C, G or T: runs of (letters since the last run, length, byte).
pub(crate) fn exceptions(bases: &[u8]) -> Vec<u8> {
    let (mut raw, mut last, mut at) = (Vec::new(), 0, 0);
    let odd = |at: usize| LETTER[usize::from(bases[at])] == NOT_A_BASE;
    while let Some(start) = (at..bases.len()).find(|at| odd(*at)) {
        let byte = bases[start];
        let len = bases[start..].iter().take_while(|other| **other == byte).count();
        put(&mut raw, (start - last) as u64);
        put(&mut raw, len as u64);
        raw.push(byte);
        (last, at) = (start + len, start + len);
    }
    raw
}

/// Puts exceptions where they belong.
pub(crate) fn mend(bases: &mut [u8], raw: &[u8]) -> Result<()> {
    let (mut wire, mut rest) = (Wire::new(raw), bases);
    while !wire.is_empty() {
        let gap = wire.at_most(rest.len())?;
        let len = wire.at_most(rest.len() - gap)?;
        let byte = wire.byte()?;
        let (run, after) = rest[gap..].split_at_mut(len);
        run.fill(byte);
        rest = after;
    }
    Ok(())
}
