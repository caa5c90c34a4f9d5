//! Reads of containers become texts of mates. Containers are decoded apart, in any order; whether
//! mates lie side by side is looked at in each, and then from one to the next.

use crate::error::{Error, Kind, Result};
use crate::original_files::index_table::TEXTS;
use crate::spots::MatePart;

/// A read that waits for its mate.
type WaitingRead = (Vec<u8>, usize);

/// What a container has.
#[derive(Debug, Default)]
pub(super) struct ContainerReads {
    pub(super) texts: [Vec<u8>; TEXTS],
    /// Its first read, if that is not the mate of its second.
    first: Option<WaitingRead>,
    /// Its last read, if its mate did not come.
    last: Option<WaitingRead>,
    waiting: Option<WaitingRead>,
    reads: usize,
    /// Whether its reads are of pairs.
    paired: Option<bool>,
}

impl ContainerReads {
    /// Takes a read, which `put` writes.
    pub(super) fn push_read(
        &mut self,
        name: &[u8],
        flag: u16,
        put: impl FnOnce(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let Some(part) = MatePart::from_flags(flag) else { return Ok(()) };
        let mate = match part {
            MatePart::Mate(mate) => Some(mate),
            _ => None,
        };
        if self.paired.is_some_and(|paired| paired != mate.is_some()) {
            return Err(mixed_reads_error(name));
        }
        self.paired = Some(mate.is_some());
        self.reads += 1;
        let Some(mate) = mate else { return put(&mut self.texts[0]) };
        match self.waiting.take() {
            Some((waits, other)) if waits == name && other != mate => {}
            None => self.waiting = Some((name.to_vec(), mate)),
            Some(waits) if self.reads == 2 => {
                self.first = Some(waits);
                self.waiting = Some((name.to_vec(), mate));
            }
            Some((waits, _)) => return Err(torn_pair_error(&waits)),
        }
        put(&mut self.texts[mate])
    }

    pub(super) fn end_container(&mut self) {
        self.last = self.waiting.take();
    }
}

/// Containers one behind the other.
#[derive(Debug, Default)]
pub(super) struct ContainerChain {
    waiting: Option<WaitingRead>,
    paired: Option<bool>,
}

impl ContainerChain {
    pub(super) fn add_container(&mut self, dealt: &ContainerReads) -> Result<()> {
        let Some(paired) = dealt.paired else { return Ok(()) };
        if self.paired.is_some_and(|before| before != paired) {
            return Err(mixed_reads_error(dealt.last.as_ref().map_or(b"", |(name, _)| name)));
        }
        self.paired = Some(paired);
        // Of a single read nobody knows yet whose mate it is.
        let single = dealt.reads == 1 && self.waiting.is_some();
        let (first, last) = match single {
            true => (&dealt.last, &None),
            false => (&dealt.first, &dealt.last),
        };
        match (self.waiting.take(), first) {
            (None, None) => {}
            (Some((name, mate)), Some((other, second))) if name == *other && mate != *second => {}
            (Some((name, _)), _) => return Err(torn_pair_error(&name)),
            (None, Some((name, _))) => return Err(torn_pair_error(name)),
        }
        self.waiting.clone_from(last);
        Ok(())
    }

    pub(super) fn check_complete(&mut self) -> Result<()> {
        self.waiting.take().map_or(Ok(()), |(name, _)| Err(torn_pair_error(&name)))
    }

    pub(super) fn is_paired(&self) -> bool {
        self.paired == Some(true)
    }
}

fn torn_pair_error(name: &[u8]) -> Error {
    Error::new(Kind::Request, format!("read {} has no mate beside it", name.escape_ascii()))
}

fn mixed_reads_error(name: &[u8]) -> Error {
    let words = format!("it has reads of pairs and others (at read {})", name.escape_ascii());
    Error::new(Kind::Request, words)
}

#[cfg(test)]
mod tests {
    //! A pair that is torn apart shifts all reads behind it against their mates.
    use super::*;

    const FLAGS: [u16; 2] = [0x4d, 0x8d];

    /// Containers of such lengths, of reads by name and mate.
    fn chain(reads: &[(&str, usize)], lens: &[usize]) -> Result<Vec<u8>> {
        let (mut chain, mut rest, mut texts) = (ContainerChain::default(), reads, Vec::new());
        for len in lens {
            let (own, later) = rest.split_at(*len);
            rest = later;
            let mut dealt = ContainerReads::default();
            for (name, mate) in own {
                dealt.push_read(name.as_bytes(), FLAGS[*mate], |out| {
                    out.extend_from_slice(name.as_bytes());
                    Ok(())
                })?;
            }
            dealt.end_container();
            chain.add_container(&dealt)?;
            texts.extend_from_slice(&dealt.texts[0]);
        }
        assert!(rest.is_empty() && chain.is_paired());
        chain.check_complete().map(|()| texts)
    }

    #[test]
    fn pairs_may_lie_across_containers_and_orphans_are_found_anywhere() {
        let whole = [("a", 0), ("a", 1), ("b", 1), ("b", 0), ("c", 0), ("c", 1)];
        for lens in [&[6][..], &[2, 4], &[1, 5], &[3, 3], &[1, 1, 1, 1, 1, 1], &[5, 1], &[1, 2, 3]]
        {
            assert_eq!(chain(&whole, lens).expect("whole"), b"abc", "{lens:?}");
        }
        for torn in 0..6 {
            let mut reads = whole.to_vec();
            let (name, _) = reads.remove(torn);
            for lens in [&[5][..], &[2, 3], &[1, 4], &[3, 2], &[1, 1, 1, 1, 1], &[4, 1]] {
                let error = chain(&reads, lens).expect_err("torn");
                assert!(error.message.contains("has no mate"), "{name} {lens:?}: {error}");
            }
        }
        let mut dealt = ContainerReads::default();
        dealt.push_read(b"a", FLAGS[0], |_| Ok(())).expect("first");
        dealt.push_read(b"a", 0x900 | FLAGS[1], |_| panic!("it repeats a read")).expect("left out");
        assert!(dealt.push_read(b"b", 4, |_| Ok(())).is_err(), "one that is of no pair");
    }
}
