//! Things by their number, where numbers are given out one after the other: packed files and nodes,
//! of which there may be a million. A hash table of that many is empty for the most part; this
//! keeps 64 neighbours in one piece of memory, and no room for those that are gone.

use std::collections::BTreeMap;

/// Neighbours in one group: as many as a mask has bits.
const GROUP: u64 = 64;

/// Things by number, in the order of their numbers.
#[derive(Debug, Clone)]
pub struct SparseArray<T> {
    groups: BTreeMap<u64, Group<T>>,
}

/// Those of 64 neighbours that are there; bit `n` of the mask stands for the one with number `n`.
#[derive(Debug, Clone)]
struct Group<T> {
    there: u64,
    things: Vec<T>,
}

impl<T> Default for SparseArray<T> {
    fn default() -> SparseArray<T> {
        SparseArray { groups: BTreeMap::new() }
    }
}

impl<T> Group<T> {
    /// Where a thing is, or would be; whether it is there.
    fn slot_index(&self, number: u64) -> (usize, bool) {
        let bit = 1 << (number % GROUP);
        ((self.there & (bit - 1)).count_ones() as usize, self.there & bit != 0)
    }
}

impl<T> SparseArray<T> {
    /// That of a number.
    pub fn get(&self, number: u64) -> Option<&T> {
        let group = self.groups.get(&(number / GROUP))?;
        let (at, there) = group.slot_index(number);
        there.then(|| &group.things[at])
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, number: u64) -> Option<&mut T> {
        let group = self.groups.get_mut(&(number / GROUP))?;
        let (at, there) = group.slot_index(number);
        there.then(|| &mut group.things[at])
    }

    /// Whether there is one of that number.
    pub fn contains(&self, number: u64) -> bool {
        self.get(number).is_some()
    }

    /// Enters a thing in the place of the one that had its number.
    pub fn insert(&mut self, number: u64, thing: T) {
        let group = self.groups.entry(number / GROUP);
        let group = group.or_insert_with(|| Group { there: 0, things: Vec::new() });
        match group.slot_index(number) {
            (at, true) => group.things[at] = thing,
            (at, false) => {
                group.things.insert(at, thing);
                group.there |= 1 << (number % GROUP);
            }
        }
    }

    /// Takes that of a number out.
    pub fn remove(&mut self, number: u64) -> Option<T> {
        let group = self.groups.get_mut(&(number / GROUP))?;
        let (at, true) = group.slot_index(number) else { return None };
        let gone = group.things.remove(at);
        group.there &= !(1 << (number % GROUP));
        if group.there == 0 {
            self.groups.remove(&(number / GROUP));
        } else if group.things.len() * 2 < group.things.capacity() {
            group.things.shrink_to_fit();
        }
        Some(gone)
    }

    /// All, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.groups.iter().flat_map(|(number, group)| {
            let bits = (0..GROUP).filter(|bit| group.there & 1 << bit != 0);
            bits.map(move |bit| number * GROUP + bit).zip(&group.things)
        })
    }

    /// All of them, to be changed, in no order.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.groups.values_mut().flat_map(|group| &mut group.things)
    }

    /// All of them, in no order.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.groups.values().flat_map(|group| &group.things)
    }
}

#[cfg(test)]
mod tests {
    //! If these fail, a file is taken for its neighbour.
    use super::*;

    #[test]
    fn it_is_a_map() {
        let mut dice = 7_u64;
        let (mut ours, mut model) = (SparseArray::default(), BTreeMap::new());
        for step in 0..20_000_u64 {
            dice = dice.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            let number = (1 << 60) + (dice >> 40) % 500;
            if dice >> 63 == 0 || step < 300 {
                ours.insert(number, step);
                model.insert(number, step);
            } else {
                assert_eq!(ours.remove(number), model.remove(&number), "step {step}");
            }
            assert_eq!(ours.get(number), model.get(&number), "step {step}");
            assert_eq!(ours.get_mut(number).copied(), model.get(&number).copied());
        }
        assert!(ours.iter().eq(model.iter().map(|(number, thing)| (*number, thing))));
        assert!(ours.values().eq(model.values()));
        model.keys().for_each(|number| assert!(ours.remove(*number).is_some()));
        assert_eq!(ours.iter().count(), 0);
        assert!(ours.groups.is_empty(), "nothing is kept for what is gone");
    }
}
