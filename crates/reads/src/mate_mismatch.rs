//! Two files that go read by read have the mates of one spot at the same place, under one name but for
//! a mark. Where names differ, one of the files is in another order or of other reads, and every tool
//! behind it pairs strangers. Bytes come back all the same, so it is told and not refused: nobody knows
//! all ways to call mates.

use crate::row_group::TextRecords;

/// Pairs of which the two reads have different names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MateMismatches {
    /// How many.
    pub pairs: u64,
    /// The first of them: its number, counted from 1, and both names.
    pub first: Option<(u64, [String; 2])>,
    /// Pairs that were looked at.
    seen: u64,
}

impl MateMismatches {
    /// Those of a group.
    pub(crate) fn find_in_group(mates: &[TextRecords]) -> MateMismatches {
        let mut unlike = MateMismatches::default();
        let [first, second] = mates else { return unlike };
        let mut starts = [0, 0];
        for (nth, ends) in first.ends.iter().zip(&second.ends).enumerate() {
            let names =
                [record_name(&first.text[starts[0]..]), record_name(&second.text[starts[1]..])];
            starts = [*ends.0 as usize, *ends.1 as usize];
            if !are_mates(names) {
                unlike.pairs += 1;
                unlike.first.get_or_insert_with(|| {
                    let shown = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
                    (nth as u64 + 1, names.map(shown))
                });
            }
        }
        unlike
    }

    /// Adds those of the next group, which has so many pairs.
    pub(crate) fn add_group(&mut self, next: MateMismatches, spots: usize) {
        let before = self.seen;
        self.first = self.first.take().or(next.first.map(|(nth, names)| (before + nth, names)));
        self.pairs += next.pairs;
        self.seen += spots as u64;
    }
}

/// Up to the first space.
fn record_name(record: &[u8]) -> &[u8] {
    let line = record.strip_prefix(b"@").unwrap_or(record);
    let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
    &line[..end]
}

/// The same name, or one that ends in 1 behind some mark where the other ends in 2: `a/1`, `a.1`,
/// `a_1`, `a_R1`. `a1` and `a2` are two reads.
fn are_mates([first, second]: [&[u8]; 2]) -> bool {
    if first == second {
        return true;
    }
    let ([before @ .., b'1'], [other @ .., b'2']) = (first, second) else { return false };
    let is_mark = |mark: &u8| matches!(mark, b'/' | b'.' | b'_' | b':' | b'-' | b'R' | b'#');
    before == other && before.last().is_some_and(is_mark)
}

#[cfg(test)]
mod tests {
    //! Pairs of strangers that nobody hears of.
    use super::*;

    fn records(names: &[&str]) -> TextRecords {
        let mut records = TextRecords::default();
        for name in names {
            records.text.extend_from_slice(format!("@{name}\nA\n+\nI\n").as_bytes());
            records.ends.push(records.text.len() as u32);
        }
        records
    }

    fn unlike(first: &[&str], second: &[&str]) -> MateMismatches {
        MateMismatches::find_in_group(&[records(first), records(second)])
    }

    #[test]
    fn mates_are_called_alike_in_many_ways() {
        let first = ["a 1:N:0", "b/1", "c.1 x", "d_R1", "e_1", "f", "g:1 y", "", "h\t1"];
        let second = ["a 2:N:0", "b/2", "c.2 x", "d_R2", "e_2", "f", "g:2 z", "", "h\t2"];
        assert_eq!(unlike(&first, &second).pairs, 0);
        for (first, second) in [("r1", "r2"), ("a/2", "a/1"), ("a/1", "b/2"), ("a", "a/2")] {
            assert_eq!(unlike(&[first], &[second]).pairs, 1, "{first} {second}");
        }
    }

    #[test]
    fn the_first_pair_is_named_by_its_number() {
        let mut all = MateMismatches::default();
        all.add_group(unlike(&["a", "b"], &["a", "b"]), 2);
        all.add_group(unlike(&["c", "d", "e"], &["c", "e x", "d"]), 3);
        all.add_group(unlike(&["f"], &["g"]), 1);
        let names = ["d", "e"].map(str::to_owned);
        assert_eq!((all.pairs, all.first), (3, Some((4, names))));
        assert_eq!(MateMismatches::find_in_group(&[records(&["a"])]), MateMismatches::default());
    }
}
