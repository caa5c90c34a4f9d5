//! Reads one by one become texts of mates: a pair is both or neither, so the texts go read by read.

mod unpaired_reads;

use super::MatePart;
use crate::error::{Error, Kind, Result};
use crate::input::InputFeed;
use unpaired_reads::UnpairedNames;

/// Text that is handed over at a time.
const PIECE: usize = 256 << 10;

/// Texts under way.
pub(super) struct MateSplitter {
    texts: Vec<Vec<u8>>,
    /// A read whose mate did not come yet: its name, which mate it is, and where its text begins.
    waiting: Option<(Vec<u8>, usize, usize)>,
    /// Of single reads the name of the last one.
    before: Vec<u8>,
    skip: bool,
    pub(super) left_out: u64,
    lost: UnpairedNames,
}

impl MateSplitter {
    pub(super) fn new(mates: usize, skip: bool) -> MateSplitter {
        MateSplitter {
            texts: vec![Vec::new(); mates],
            waiting: None,
            before: Vec::new(),
            skip,
            left_out: 0,
            lost: UnpairedNames::default(),
        }
    }

    /// Takes a read, which `put` writes.
    pub(super) fn push_read(
        &mut self,
        name: &[u8],
        part: MatePart,
        put: impl FnOnce(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        if self.texts.len() == 1 {
            let again = part == MatePart::InTurn && self.before == name;
            if again || matches!(part, MatePart::Mate(_)) {
                return Err(read_error(name, "is one of a pair, reads before it are not"));
            }
            self.before.clear();
            self.before.extend_from_slice(name);
            return put(&mut self.texts[0]);
        }
        let beside = self.waiting.as_ref().filter(|(waits, _, _)| waits == name);
        let mate = match (part, beside) {
            (MatePart::Mate(mate), _) => mate,
            (MatePart::InTurn, beside) => beside.map_or(0, |(_, mate, _)| 1 - mate),
            (MatePart::Alone, _) if self.skip => {
                self.left_out += 1;
                return Ok(());
            }
            (MatePart::Alone, _) => return Err(read_error(name, "is none of a pair, others are")),
        };
        let fits = beside.is_some_and(|(_, waits, _)| *waits != mate);
        if fits {
            self.waiting = None;
        } else {
            self.drop_unpaired()?;
            self.waiting = Some((name.to_vec(), mate, self.texts[mate].len()));
        }
        put(&mut self.texts[mate])
    }

    /// Nothing more comes.
    pub(super) fn finish_reads(&mut self) -> Result<()> {
        self.drop_unpaired()
    }

    /// Its mate does not come.
    fn drop_unpaired(&mut self) -> Result<()> {
        let Some((name, mate, start)) = self.waiting.take() else { return Ok(()) };
        if !self.skip {
            return Err(read_error(&name, "has no mate beside it"));
        }
        self.texts[mate].truncate(start);
        self.left_out += 1;
        match self.lost.note_left_out(&name, mate) {
            false => Ok(()),
            true => Err(read_error(
                &name,
                "has a mate, but not beside it: the file is in another order",
            )),
        }
    }

    /// Whether it is time to hand over.
    pub(super) fn is_full(&self) -> bool {
        self.waiting.is_none() && self.texts.iter().any(|text| text.len() >= PIECE)
    }

    /// Hands over what there is of all mates together, so that nobody waits for a text whose mate
    /// waits for room. Whether more is wanted.
    pub(super) fn send_texts(&mut self, feeds: &mut [InputFeed]) -> bool {
        let mut pairs = feeds.iter_mut().zip(&mut self.texts);
        pairs.all(|(feed, text)| text.is_empty() || feed.send_bytes(std::mem::take(text)))
    }
}

fn read_error(name: &[u8], words: &str) -> Error {
    Error::new(Kind::Input, format!("read {} {words}", name.escape_ascii()))
}

#[cfg(test)]
mod tests {
    //! A pair that is torn apart shifts all reads behind it against their mates.
    use super::*;

    fn deal(skip: bool, reads: &[(&str, MatePart)]) -> (Result<()>, MateSplitter) {
        let mut deal = MateSplitter::new(2, skip);
        let mut end = Ok(());
        for (name, part) in reads {
            let put = |out: &mut Vec<u8>| {
                out.extend_from_slice(name.as_bytes());
                Ok(())
            };
            end = end.and_then(|()| deal.push_read(name.as_bytes(), *part, put));
        }
        (end.and_then(|()| deal.finish_reads()), deal)
    }

    #[test]
    fn mates_are_dealt_out_together() {
        let (first, second) = (MatePart::Mate(0), MatePart::Mate(1));
        let whole = [("a", first), ("a", second), ("b", second), ("b", first)];
        let (end, dealt) = deal(false, &whole);
        assert!(end.is_ok());
        assert_eq!((&dealt.texts[0][..], &dealt.texts[1][..]), (&b"ab"[..], &b"ab"[..]));
        let turns = ["a", "a", "b", "b"].map(|name| (name, MatePart::InTurn));
        assert_eq!(deal(false, &turns).1.texts[1], b"ab");

        // Orphans at the front, in the middle, of the same mate twice, at the end, and alone.
        let torn = [
            ("x", second),
            ("a", first),
            ("a", second),
            ("y", first),
            ("y", first),
            ("y", second),
            ("z", MatePart::Alone),
            ("b", first),
            ("b", second),
            ("w", second),
        ];
        let (end, dealt) = deal(true, &torn);
        assert!(end.is_ok());
        assert_eq!((&dealt.texts[0][..], &dealt.texts[1][..]), (&b"ayb"[..], &b"ayb"[..]));
        assert_eq!(dealt.left_out, 4);
        for (nth, words) in
            [(1, "read x has no mate"), (6, "read z is none of a pair"), (9, "read w has no mate")]
        {
            let mut only: Vec<(&str, MatePart)> = vec![("a", first), ("a", second)];
            only.push(torn[if nth == 1 { 0 } else { nth }]);
            let error = deal(false, &only).0.expect_err(words);
            assert!(error.message.contains(words), "{error}");
        }
        // Three of a name are no pair.
        let three = ["a", "a", "a"].map(|name| (name, MatePart::InTurn));
        assert!(deal(false, &three).0.is_err());
        assert!(!deal(true, &torn).1.is_full());
    }
}
