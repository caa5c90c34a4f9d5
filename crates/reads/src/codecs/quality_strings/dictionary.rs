//! Which strings are units: again and again the units that are followed most often by one quality
//! become a unit with it, as long as there is room. So all that a string begins with is a unit, too,
//! and a read becomes the longest strings from its front on, quality by quality.

/// Strings in the order of their numbers, which go up with the mean of qualities.
#[derive(Debug)]
pub(super) struct Dictionary {
    pub(super) entries: Vec<Vec<u8>>,
    /// Of each quality its number among the qualities, and the unit that it is alone.
    rank: [u8; 256],
    alone: [u8; 256],
    symbols: usize,
    /// For each unit and each quality behind it.
    steps: Vec<Step>,
}

/// What a quality behind a unit does: it makes another unit of it, or ends it and begins one.
#[derive(Clone, Copy, Debug)]
struct Step {
    unit: u8,
    ends: bool,
}

/// Times that strings are chosen.
const ROUNDS: usize = 6;

impl Dictionary {
    /// Single qualities.
    pub(super) fn of_symbols(symbols: &[u8]) -> Dictionary {
        Dictionary::from_entries(symbols.iter().map(|symbol| vec![*symbol]).collect())
    }

    /// The same with strings of at most `letters` that are frequent in `reads`, `entries` in all.
    pub(super) fn with_frequent_strings(
        mut self,
        reads: &[&[u8]],
        entries: usize,
        letters: usize,
    ) -> Dictionary {
        for round in 0..ROUNDS {
            let left = entries - self.entries.len();
            let more = self.frequent_strings(reads, letters, left.div_ceil(ROUNDS - round));
            if more.is_empty() {
                break;
            }
            self = Dictionary::from_entries(self.entries.into_iter().chain(more).collect());
        }
        self
    }

    /// Of entries, of which each begins with others, down to one quality.
    pub(super) fn from_entries(mut entries: Vec<Vec<u8>>) -> Dictionary {
        let sum = |entry: &[u8]| entry.iter().map(|byte| usize::from(*byte)).sum::<usize>();
        // Means compared without fractions: a / b < c / d where a * d < c * b.
        entries.sort_by(|a, b| (sum(a) * b.len()).cmp(&(sum(b) * a.len())).then_with(|| a.cmp(b)));
        let (mut rank, mut alone, mut symbols) = ([0; 256], [0; 256], 0);
        for (unit, entry) in (0..=255).zip(&entries).filter(|(_, entry)| entry.len() == 1) {
            rank[usize::from(entry[0])] = symbols as u8;
            alone[symbols] = unit;
            symbols += 1;
        }
        let mut steps: Vec<Step> = (0..entries.len() * symbols)
            .map(|at| Step { unit: alone[at % symbols], ends: true })
            .collect();
        for (unit, entry) in (0..=255).zip(&entries) {
            let Some((last, before)) = entry.split_last().filter(|(_, before)| !before.is_empty())
            else {
                continue;
            };
            let before = entries.iter().position(|entry| entry == before);
            let before = before.expect("all that a string begins with is there");
            steps[before * symbols + usize::from(rank[usize::from(*last)])] =
                Step { unit, ends: false };
        }
        Dictionary { entries, rank, alone, symbols, steps }
    }

    /// Puts the units of a read at the front of `units`, which has room for one for each quality;
    /// says how many they are.
    pub(super) fn write_units(&self, read: &[u8], units: &mut [u8]) -> usize {
        let Some((first, rest)) = read.split_first() else { return 0 };
        let (mut count, mut unit) = (0, self.alone[usize::from(self.rank[usize::from(*first)])]);
        for byte in rest {
            let rank = usize::from(self.rank[usize::from(*byte)]);
            let step = self.steps[usize::from(unit) * self.symbols + rank];
            // Whether it ends is a coin's throw, so it is written in any case, and counted if it does.
            units[count] = unit;
            count += usize::from(step.ends);
            unit = step.unit;
        }
        units[count] = unit;
        count + 1
    }

    /// Units with a quality behind them, as they occur most, of at most `letters`.
    fn frequent_strings(&self, reads: &[&[u8]], letters: usize, wanted: usize) -> Vec<Vec<u8>> {
        let first: Vec<usize> = self
            .entries
            .iter()
            .map(|entry| usize::from(self.rank[usize::from(entry[0])]))
            .collect();
        let longest = reads.iter().map(|read| read.len()).max().unwrap_or(0);
        let (mut found, mut units) = (vec![0_u32; self.steps.len()], vec![0; longest]);
        for read in reads {
            let count = self.write_units(read, &mut units);
            for pair in units[..count].windows(2) {
                found[usize::from(pair[0]) * self.symbols + first[usize::from(pair[1])]] += 1;
            }
        }
        let fits = |at: &usize| found[*at] > 0 && self.entries[at / self.symbols].len() < letters;
        let mut most: Vec<usize> = (0..found.len()).filter(fits).collect();
        most.sort_by_key(|at| (std::cmp::Reverse(found[*at]), *at));
        let string = |at: &usize| {
            let last = usize::from(self.alone[at % self.symbols]);
            [&self.entries[at / self.symbols][..], &self.entries[last]].concat()
        };
        most.iter().take(wanted).map(string).collect()
    }
}
