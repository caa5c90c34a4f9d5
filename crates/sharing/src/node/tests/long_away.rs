//! A node that comes back after a week: its lease is gone, and others went on. If these fail, it writes
//! over what they made, or throws away what it alone has.

use forebay_book::InodeNumber;
use rustix::io::Errno;

use super::worlds::{Node, World};
use crate::IN_MEMORY_MOST;

const WEEK: u64 = 7 * 24 * 3600;

fn long(byte: u8) -> Vec<u8> {
    vec![byte; IN_MEMORY_MOST + 1]
}

/// A has files that the bucket does not have, and is gone; B changes some of them.
fn a_week_passes(world: &World<super::worlds::ManualTime>, a: &Node, b: &Node) -> InodeNumber {
    a.mkdir("d").expect("made");
    a.mkdir("own").expect("made");
    for path in ["d/kept", "d/over", "d/gone", "own/kept"] {
        a.put(path, &long(1)).expect("written");
    }
    a.put("d/small", b"1").expect("written");
    a.0.publish().expect("published");
    a.put("d/late", &long(1)).expect("closed, and not published");
    a.put("d/small", b"late").expect("closed, and not published");
    world.cut_off(1);
    world.pass(WEEK);
    b.0.renew().expect("registered anew");
    b.put("d/small", b"2").expect("it is free");
    b.put("d/over", b"2").expect("it can be written over");
    b.unlink("d/gone").expect("removed");
    b.put("d/late", b"2").expect("it is free");
    assert_eq!(b.read("d/kept"), Err(Errno::IO), "who is away alone has it");
    b.0.publish().expect("published");
    world.reach(1);
    b.seen("d/kept").expect("it is there").file
}

fn check(a: &Node, b: &Node, kept: InodeNumber) {
    for node in [a, b] {
        for path in ["d/small", "d/over", "d/late"] {
            assert_eq!(node.read(path).expect("it is there"), b"2", "{path}");
        }
        assert_eq!(node.list("d").expect("names"), ["kept", "late", "over", "small"]);
        for path in ["d/kept", "own/kept"] {
            assert!(node.read(path).expect("its bytes are there again") == long(1), "{path}");
        }
    }
    // They are on the way to the bucket.
    let owed = &a.0.state.lock().uploads.owed;
    assert!(owed.contains_key(&kept), "{owed:?}");
}

#[test]
fn a_machine_that_was_off_for_a_week_finds_what_others_did_and_has_what_was_its_own() {
    let world = World::new();
    let (a, b) = (world.node(1), world.node(2));
    let kept = a_week_passes(&world, &a, &b);
    drop(a);
    let a = world.node(1);
    b.0.renew().expect("renewed");
    check(&a, &b, kept);
    let owed = &a.0.state.lock().uploads.owed;
    assert_eq!(owed.len(), 2, "only what nobody has removed or written over: {owed:?}");
}

#[test]
fn a_process_that_slept_for_a_week_finds_what_others_did_and_has_what_was_its_own() {
    let world = World::new();
    let (a, b) = (world.node(1), world.node(2));
    let kept = a_week_passes(&world, &a, &b);
    a.0.renew().expect("registered anew");
    assert!(a.0.counts().lost >= 2, "two files that were closed and not published");
    b.0.renew().expect("renewed");
    check(&a, &b, kept);
}
