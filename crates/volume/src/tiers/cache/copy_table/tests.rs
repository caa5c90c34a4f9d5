//! If these failed, a tier would hold more than its capacity, a reader would lose its copy, or an
//! old copy would pass for the file.

use std::collections::BTreeMap;

use super::*;

fn file(number: u64) -> FileIdentity {
    FileIdentity { device: 1, inode: number, born: 0 }
}

fn stamp(version: u64) -> CopyStamp {
    CopyStamp { size: version, modified: (0, 0), changed: (0, 0) }
}

fn name(number: CopyNumber) -> CString {
    CString::new(format!("copy.{number:x}.f")).expect("no NUL")
}

/// A table with whole copies of these files, as many bytes each, in room 0.
fn with(copies: &[(u64, u64)]) -> CopyTable {
    let mut table = CopyTable::default();
    for (number, bytes) in copies {
        let copy = table.promise_copy(file(*number), 0).expect("new");
        assert!(table.begin_copy(copy, name(copy), *bytes) && table.complete_copy(copy, stamp(1)));
    }
    table
}

#[test]
fn the_copy_opened_longest_ago_goes_first() {
    let mut table = with(&[(1, 10), (2, 10), (3, 10), (4, 10)]);
    let mut open = |number| match table.open_copy(file(number), &stamp(1)) {
        CopyLookup::Here { number, .. } => number,
        other => panic!("{other:?}"),
    };
    let copies = [3, 1, 2, 4].map(|number| (number, open(number)));
    for (number, copy) in copies {
        // File 3 is still read.
        assert!(number == 3 || table.close_reader(copy).is_none());
    }
    assert_eq!(table.evict_idle_copies(0, 31), None, "three copies of ten bytes are idle");
    assert_eq!(table.evict_idle_copies(1, 1), None, "nothing is there");
    let gone = table.evict_idle_copies(0, 15).expect("there is enough");
    let names: Vec<CString> = gone.into_iter().map(|gone| gone.name).collect();
    assert_eq!(names, [name(1), name(2)]);
    assert_eq!(table.open_copy(file(1), &stamp(1)), CopyLookup::Absent(None));
    assert!(matches!(table.open_copy(file(3), &stamp(1)), CopyLookup::Here { .. }));
}

#[test]
fn a_changed_file_has_no_copy_and_its_readers_keep_theirs() {
    let mut table = with(&[(1, 10)]);
    let CopyLookup::Here { number, .. } = table.open_copy(file(1), &stamp(1)) else {
        panic!("it is there")
    };
    let gone = EvictedCopy { room: 0, name: name(number), bytes: 0 };
    assert_eq!(table.open_copy(file(1), &stamp(2)), CopyLookup::Absent(Some(gone)));
    let second = table.promise_copy(file(1), 0).expect("the old one is not listed");
    assert!(table.begin_copy(second, name(second), 7));
    assert_eq!(table.close_reader(number), Some((0, 10)), "the old one is free now");
    assert_eq!(table.open_copy(file(1), &stamp(2)), CopyLookup::Coming);
    assert_eq!(table.promise_copy(file(1), 0), None, "one copy at a time");
    // It changes again while it is copied.
    assert_eq!(
        table.forget_file(file(1)),
        Some(EvictedCopy { room: 0, name: name(second), bytes: 0 })
    );
    assert!(!table.complete_copy(second, stamp(2)));
    assert_eq!(
        table.fail_copy(second),
        Some(EvictedCopy { room: 0, name: name(second), bytes: 7 })
    );
    let waiting = table.promise_copy(file(1), 0).expect("none is left");
    assert_eq!(table.forget_file(file(1)), None, "nothing was begun");
    assert!(!table.begin_copy(waiting, name(waiting), 5));
}

/// Random use by several readers and copiers, against a plain list of what must be there.
#[test]
fn it_holds_what_a_list_holds() {
    const CAPACITY: u64 = 100;
    /// Marsaglia's xorshift64.
    fn roll(seed: &mut u64, sides: u64) -> u64 {
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        *seed % sides
    }
    for start in 1..40_u64 {
        let mut seed = start.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut table = CopyTable::default();
        // What is on the tier: bytes of each copy; which file and version a whole one has.
        let mut bytes: BTreeMap<CopyNumber, u64> = BTreeMap::new();
        let mut whole: BTreeMap<u64, (CopyNumber, u64)> = BTreeMap::new();
        let mut flights: Vec<(CopyNumber, u64, u64)> = Vec::new();
        let mut readers: Vec<CopyNumber> = Vec::new();
        let mut versions = [1u64; 6];
        for step in 0..3000 {
            let at = roll(&mut seed, 6);
            let version = versions[at as usize];
            let label = || format!("seed {start}, step {step}, file {at}");
            match roll(&mut seed, 6) {
                0 | 1 => match table.open_copy(file(at), &stamp(version)) {
                    CopyLookup::Here { number, .. } => {
                        assert_eq!(whole.get(&at), Some(&(number, version)), "{}", label());
                        readers.push(number);
                    }
                    CopyLookup::Coming => {
                        assert!(flights.iter().any(|(_, f, _)| *f == at), "{}", label());
                    }
                    CopyLookup::Absent(gone) => {
                        let old = whole.remove(&at);
                        assert!(old.is_none_or(|(_, was)| was != version), "{}", label());
                        assert_eq!(gone.is_some(), old.is_some(), "{}", label());
                        if let (Some(gone), Some((number, _))) = (gone, old) {
                            let read = readers.contains(&number);
                            assert_eq!(gone.bytes == 0, read, "{}", label());
                            if !read {
                                bytes.remove(&number);
                            }
                        }
                    }
                },
                2 => {
                    let want = 1 + roll(&mut seed, 40);
                    let Some(number) = table.promise_copy(file(at), 0) else { continue };
                    let used: u64 = bytes.values().sum();
                    let missing = (used + want).saturating_sub(CAPACITY);
                    let Some(gone) = table.evict_idle_copies(0, missing) else {
                        let idle = whole.values().filter(|(n, _)| !readers.contains(n));
                        let idle: u64 = idle.map(|(number, _)| bytes[number]).sum();
                        assert!(idle < missing, "{}: idle copies would do", label());
                        assert_eq!(table.fail_copy(number), None);
                        continue;
                    };
                    for gone in gone {
                        let (victim, (copy, _)) = whole
                            .iter()
                            .find(|(_, (copy, _))| name(*copy) == gone.name)
                            .map(|(victim, copy)| (*victim, *copy))
                            .expect("only whole copies go");
                        assert!(!readers.contains(&copy), "{}: it was read", label());
                        assert_eq!(bytes.remove(&copy), Some(gone.bytes), "{}", label());
                        whole.remove(&victim);
                    }
                    assert!(table.begin_copy(number, name(number), want));
                    bytes.insert(number, want);
                    flights.push((number, at, version));
                }
                3 if !flights.is_empty() => {
                    let flight = roll(&mut seed, flights.len() as u64) as usize;
                    let (number, at, was) = flights.swap_remove(flight);
                    // The copier has seen that the file changed, or that it did not.
                    if was == versions[at as usize] && table.complete_copy(number, stamp(was)) {
                        whole.insert(at, (number, was));
                    } else {
                        let gone = table.fail_copy(number).expect("it was begun");
                        assert_eq!(bytes.remove(&number), Some(gone.bytes), "{}", label());
                    }
                }
                4 if !readers.is_empty() => {
                    let reader = roll(&mut seed, readers.len() as u64) as usize;
                    let number = readers.swap_remove(reader);
                    let listed = whole.values().any(|(copy, _)| *copy == number);
                    let free = table.close_reader(number);
                    let last = !readers.contains(&number) && !listed;
                    assert_eq!(free.is_some(), last, "{}", label());
                    if last {
                        assert_eq!(free, bytes.remove(&number).map(|bytes| (0, bytes)));
                    }
                }
                5 => {
                    versions[at as usize] += 1;
                    // Half of the changes are made inside, and told.
                    if roll(&mut seed, 2) == 0 {
                        table.forget_file(file(at));
                        if let Some((number, _)) = whole.remove(&at)
                            && !readers.contains(&number)
                        {
                            bytes.remove(&number);
                        }
                    }
                }
                _ => {}
            }
            let held: u64 = table.copies.values().map(|copy| copy.bytes).sum();
            assert_eq!(held, bytes.values().sum::<u64>(), "{}", label());
            assert!(held <= CAPACITY, "{}", label());
        }
    }
}
