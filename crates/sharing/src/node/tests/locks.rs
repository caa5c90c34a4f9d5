//! Locks of programs on three nodes. If these fail, two have what one alone may have, a program does
//! not see what was written before it got its lock, or locks outlive their node.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::scope;

use forebay_book::InodeNumber;
use forebay_os::seeds::{run_reporting_seed, seeds_from_env};
use rustix::io::Errno;

use super::histories::Dice;
use super::worlds::{Node, World};
use crate::{AttributeChange, Lock, LockFamily, LockKind, MachineTime, Unlocked};

const STEPS: usize = 500;
const SEEDS: u64 = 12;
/// Bytes of the file that are locked and written, one by one.
const CELLS: u64 = 6;

fn range(owner: u64, kind: LockKind, start: u64, end: u64) -> Lock {
    Lock { family: LockFamily::Range, kind, start, end, owner, pid: 1 }
}

fn whole(owner: u64, kind: LockKind) -> Lock {
    Lock { family: LockFamily::Whole, kind, start: 0, end: u64::MAX, owner, pid: 1 }
}

fn unlocked(lock: &Lock) -> Unlocked {
    Unlocked { family: lock.family, owner: lock.owner, start: lock.start, end: lock.end }
}

/// Who has locked a byte, and how: by node and owner.
type Cell = BTreeMap<(usize, u64), LockKind>;

fn step(
    (nodes, files): (&[Node; 3], &[InodeNumber; 3]),
    (cells, bytes): (&mut [Cell], &mut [u8]),
    dice: &mut Dice,
) -> (String, String, String) {
    let (at, owner) = (dice.below(3) as usize, dice.below(2));
    let (node, file) = (&nodes[at].0, files[at]);
    let start = dice.below(CELLS);
    let end = start + dice.below(CELLS - start);
    let cell = start as usize;
    let mine = cells[cell].get(&(at, owner)).copied();
    match dice.below(8) {
        0..3 => {
            let kind = if dice.below(3) == 0 { LockKind::Exclusive } else { LockKind::Shared };
            let wanted = &mut cells[cell..=end as usize];
            let excludes = |(who, held): (&(usize, u64), &LockKind)| {
                *who != (at, owner) && (*held == LockKind::Exclusive || kind == LockKind::Exclusive)
            };
            let is_free = !wanted.iter().flatten().any(excludes);
            for cell in wanted.iter_mut().filter(|_| is_free) {
                cell.insert((at, owner), kind);
            }
            let told = node.lock(file, range(owner, kind, start, end), None);
            let should = if is_free { Ok(()) } else { Err(Errno::AGAIN) };
            let what = format!("{at} owner {owner} locks {start}..={end} {kind:?}");
            (what, format!("{told:?}"), format!("{should:?}"))
        }
        3..5 => {
            for cell in &mut cells[cell..=end as usize] {
                cell.remove(&(at, owner));
            }
            let lock = range(owner, LockKind::Shared, start, end);
            let told = node.unlock(file, unlocked(&lock));
            let what = format!("{at} owner {owner} unlocks {start}..={end}");
            (what, format!("{told:?}"), "Ok(())".to_owned())
        }
        5 if mine == Some(LockKind::Exclusive) => {
            bytes[cell] = dice.below(256) as u8;
            let told = node.write(file, start, &bytes[cell..=cell]);
            let what = format!("{at} owner {owner} writes {start}");
            (what, format!("{told:?}"), "Ok(())".to_owned())
        }
        5..7 if mine.is_some() => {
            let told = node.read(file, start, 1);
            let should = Ok::<_, Errno>(bytes[cell..=cell].to_vec());
            (
                format!("{at} owner {owner} reads {start}"),
                format!("{told:?}"),
                format!("{should:?}"),
            )
        }
        _ => {
            let told = nodes[at].put("d/other", b"beside it");
            (format!("{at} takes the folder"), format!("{told:?}"), "Ok(())".to_owned())
        }
    }
}

fn play(seed: u64) -> String {
    let world = World::new();
    let nodes = [world.node(1), world.node(2), world.node(3)];
    let mut dice = Dice(seed);
    nodes[0].mkdir("d").expect("made");
    // Small ones are in the book, long ones on a node.
    let mut body = vec![0; if seed.is_multiple_of(3) { 100_000 } else { CELLS as usize }];
    nodes[0].put("d/f", &body).expect("written");
    let files = [0, 1, 2].map(|at: usize| {
        let file = nodes[at].known("d/f").expect("it is there").file;
        nodes[at].0.open(file, true).expect("opened");
        file
    });
    let mut cells = vec![Cell::new(); CELLS as usize];
    let mut history = String::new();
    for number in 0..STEPS {
        for node in &nodes {
            node.0.renew().expect("renewed");
        }
        match dice.below(30) {
            0 => nodes[dice.below(3) as usize].0.publish().expect("published"),
            1 => world.pass(4),
            _ => {}
        }
        let bytes = &mut body[..CELLS as usize];
        let (what, told, should) = step((&nodes, &files), (&mut cells, bytes), &mut dice);
        history += &format!("{what}: {told}\n");
        let last = history.lines().rev().take(30).collect::<Vec<_>>().join("\n");
        assert_eq!(told, should, "seed {seed}, step {number}; the last ones, backwards:\n{last}");
    }
    for (node, file) in nodes.iter().zip(files) {
        node.close(file, true).expect("closed");
    }
    assert!(nodes[1].read("d/f").expect("it is there") == body, "seed {seed}: at the end");
    history
}

#[test]
fn locks_of_three_nodes_are_those_of_one_machine() {
    for seed in seeds_from_env(1..SEEDS + 1) {
        run_reporting_seed(seed, || drop(play(seed)));
    }
    let history = play(4711);
    for kind in ["AGAIN", "writes", "reads", "unlocks"] {
        assert!(history.contains(kind) || history.contains("WouldBlock"), "{kind}");
    }
}

#[test]
fn what_is_written_under_a_lock_comes_with_the_next_one() {
    let world = World::new();
    let (a, b) = (world.node(1), world.node(2));
    a.put("f", b"1").expect("written");
    a.put("log", b"").expect("made");
    let file = a.known("f").expect("it is there").file;
    let log = a.known("log").expect("it is there").file;
    for node in [&a, &b] {
        for (file, path) in [(file, "f"), (log, "log")] {
            assert_eq!(node.known(path).expect("it is there").file, file);
            node.0.open(file, true).expect("two nodes may have it open");
        }
    }
    let alone = whole(1, LockKind::Exclusive);
    a.0.lock(file, alone, None).expect("it is free");
    a.0.write(file, 0, b"22").expect("written");
    a.0.append(log, b"a").expect("another file, which has no locks");
    assert_eq!(b.0.lock(file, whole(1, LockKind::Shared), None), Err(Errno::AGAIN));
    let found = b.0.lock_in_the_way(file, &whole(9, LockKind::Shared)).expect("asked");
    assert_eq!(found.map(|found| (found.kind, found.pid)), Some((LockKind::Exclusive, 0)));
    assert_eq!(b.0.lock(file, range(1, LockKind::Exclusive, 0, 9), None), Ok(()), "another family");
    b.put("beside", b"B has the folder now").expect("written");
    a.0.append(log, b"b").expect("goes on by itself");
    assert_eq!(b.0.append(log, b"?"), Err(Errno::TXTBSY), "both write, without locks");
    a.0.unlock(file, unlocked(&alone)).expect("given up");
    b.0.lock(file, alone, None).expect("it is free");
    assert_eq!(b.read_open(file).expect("as it is"), b"22");
    assert_eq!(b.0.append(log, b"c"), Ok(2), "all that A wrote is for others now");
    let cut = AttributeChange { size: Some(0), ..AttributeChange::default() };
    b.0.set_attributes(file, cut).expect("cut");
    b.0.write(file, 0, b"333").expect("written");
    // The close of a process gives up its locks.
    b.0.flush(file).expect("closed");
    b.0.unlock(file, unlocked(&alone)).expect("given up");
    a.0.lock(file, alone, None).expect("it is free");
    assert_eq!(a.read_open(file).expect("as it is"), b"333");
    assert_eq!(a.read_open(log).expect("as it is"), b"abc");
}

#[test]
fn locks_of_a_node_that_is_gone_end_with_its_lease() {
    let world = World::new();
    let (a, b) = (world.node(1), world.node(2));
    a.put("f", b"1").expect("written");
    let file = a.known("f").expect("it is there").file;
    a.0.open(file, true).expect("opened");
    b.known("f").expect("it is there");
    b.0.open(file, true).expect("opened");
    let alone = whole(1, LockKind::Exclusive);
    a.0.lock(file, alone, None).expect("it is free");
    a.0.write(file, 0, b"2").expect("written");
    // The folder is B's, and A's lock stays.
    b.put("other", b"1").expect("written");
    world.cut_off(1);
    assert_eq!(
        b.0.lock(file, alone, None),
        Err(Errno::AGAIN),
        "A does not answer, and may have it"
    );
    world.pass(20);
    b.0.renew().expect("registered anew");
    assert_eq!(b.0.lock(file, alone, None), Ok(()), "its lease is over");
    b.0.write(file, 0, b"3").expect("written");
    world.reach(1);
    // A does not know yet. It comes back, and its program thinks that it has the lock.
    a.0.renew().expect("registered anew");
    assert_eq!(a.0.write(file, 0, b"4"), Err(Errno::IO));
    assert_eq!(a.0.lock(file, range(1, LockKind::Shared, 0, 0), None), Err(Errno::IO));
    assert_eq!(a.close(file, true), Err(Errno::IO), "it is told once more");
    b.0.unlock(file, unlocked(&alone)).expect("given up");
    a.known("f").expect("it is there");
    a.0.open(file, true).expect("opened anew");
    a.0.lock(file, alone, None).expect("it is free");
    assert_eq!(a.read_open(file).expect("as B wrote it"), b"3");
}

#[test]
fn a_node_that_was_away_keeps_locks_where_nobody_took_its_folder() {
    let world = World::new();
    let (a, b) = (world.node(1), world.node(2));
    a.mkdir("d").expect("made");
    a.put("d/f", b"1").expect("written");
    a.0.publish().expect("published");
    let file = a.known("d/f").expect("it is there").file;
    a.0.open(file, true).expect("opened");
    a.0.lock(file, whole(1, LockKind::Exclusive), None).expect("it is free");
    world.pass(20);
    a.0.renew().expect("registered anew");
    b.0.renew().expect("registered anew");
    a.0.write(file, 0, b"2").expect("it has the lock still");
    b.known("d/f").expect("it is there");
    b.0.open(file, false).expect("opened");
    assert_eq!(b.0.lock(file, whole(1, LockKind::Shared), None), Err(Errno::AGAIN));
}

#[test]
fn who_waits_for_a_lock_gets_it_and_can_be_interrupted() {
    let world = World::at(Arc::new(MachineTime));
    let nodes = [world.node(1), world.node(2), world.node(3)];
    nodes[0].mkdir("d").expect("made");
    nodes[0].put("d/f", b"\0\0\0\0").expect("written");
    let file = nodes[0].known("d/f").expect("it is there").file;
    let inside = AtomicU32::new(0);
    let go_on = || false;
    scope(|threads| {
        for node in &nodes {
            node.known("d/f").expect("it is there");
            for owner in 0..3 {
                let inside = &inside;
                threads.spawn(move || {
                    node.0.open(file, true).expect("opened");
                    for _ in 0..25 {
                        let lock = range(owner, LockKind::Exclusive, 0, u64::MAX);
                        node.0.lock(file, lock, Some(&go_on)).expect("its turn comes");
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "one alone is inside");
                        let read = node.0.read(file, 0, 4).expect("read");
                        let count = u32::from_le_bytes(read.try_into().expect("4 bytes")) + 1;
                        node.0.write(file, 0, &count.to_le_bytes()).expect("written");
                        inside.fetch_sub(1, Ordering::SeqCst);
                        node.0.unlock(file, unlocked(&lock)).expect("given up");
                    }
                });
            }
        }
    });
    assert_eq!(nodes[2].read("d/f").expect("it is there"), (9u32 * 25).to_le_bytes());

    let held = whole(1, LockKind::Exclusive);
    nodes[0].0.lock(file, held, None).expect("it is free");
    for node in &nodes {
        let is_told = AtomicBool::new(false);
        let interrupted = || is_told.load(Ordering::SeqCst);
        scope(|threads| {
            let waits = threads
                .spawn(|| node.0.lock(file, whole(2, LockKind::Exclusive), Some(&interrupted)));
            std::thread::sleep(std::time::Duration::from_millis(50));
            assert!(!waits.is_finished(), "it waits");
            is_told.store(true, Ordering::SeqCst);
            assert_eq!(waits.join().expect("no panic"), Err(Errno::INTR));
        });
    }
    for node in &nodes {
        node.0.leave().expect("it leaves");
    }
}
