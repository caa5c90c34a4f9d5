//! A list of numbers for each of many, in one piece of memory.

/// Lists of numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct IndexLists {
    first: Vec<u32>,
    items: Vec<u32>,
}

impl IndexLists {
    /// `count` lists of the items that are given with the number of their list; each keeps their
    /// order.
    pub(crate) fn from_pairs(count: usize, pairs: impl Iterator<Item = (usize, u32)>) -> Self {
        let pairs: Vec<(usize, u32)> = pairs.collect();
        let mut first = vec![0_u32; count + 1];
        for (list, _) in &pairs {
            first[list + 1] += 1;
        }
        for list in 0..count {
            first[list + 1] += first[list];
        }
        let (mut next, mut items) = (first.clone(), vec![0; pairs.len()]);
        for (list, item) in pairs {
            items[next[list] as usize] = item;
            next[list] += 1;
        }
        Self { first, items }
    }

    /// One of them.
    pub(crate) fn get(&self, list: usize) -> &[u32] {
        &self.items[self.first[list] as usize..self.first[list + 1] as usize]
    }
}
