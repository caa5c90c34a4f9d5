//! Two nodes that reach the book and not each other: neither keeps a folder for ever that the other one
//! wants.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use forebay_book::{FolderId, RENEW_EVERY};
use parking_lot::Mutex;

use super::worlds::{ManualTime, Node, World};
use crate::SharedNode;

/// Nodes go on renewing their leases while one asks in vain. Gives how often they did.
fn keep_renewing(world: &World<ManualTime>, nodes: &[&Node]) -> Arc<AtomicU32> {
    let count = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&count);
    let nodes: Vec<Arc<SharedNode>> = nodes.iter().map(|node| Arc::clone(&node.0)).collect();
    let time = Arc::clone(&world.time);
    let last = Mutex::new(crate::Time::unix_nanos(&*time));
    world.meanwhile(move || {
        let now = crate::Time::unix_nanos(&*time);
        let mut last = last.lock();
        if now - *last < RENEW_EVERY.as_nanos() as i64 {
            return;
        }
        *last = now;
        counted.fetch_add(1, Ordering::Relaxed);
        for node in &nodes {
            node.renew().expect("renewed");
            node.give_up_wanted();
        }
    });
    count
}

#[test]
fn who_does_not_reach_a_holder_gets_its_folder_by_way_of_the_book() {
    let world = World::new();
    let (a, b, c) = (world.node(1), world.node(2), world.node(3));
    a.mkdir("d").expect("made");
    a.put("d/f", b"1").expect("written");
    // B knows whom to ask.
    assert_eq!(b.read("d/f").expect("it is there"), b"1");
    world.cut_between(1, 2);
    a.put("d/f", b"2").expect("written, and not published");
    let renewals = keep_renewing(&world, &[&a, &b, &c]);
    let within_two = |what: &str| {
        let count = renewals.swap(0, Ordering::Relaxed);
        assert!(count <= 2, "{what}: {count} renewals");
    };
    assert_eq!(b.read("d/f").expect("by way of the book"), b"2");
    within_two("a look, and the folders on the way to it");
    assert_eq!(b.list("d").expect("by way of the book"), ["f"]);
    within_two("a listing");
    b.put("d/g", b"3").expect("it is taken");
    within_two("a change");
    // And back, though it was A that had it.
    assert_eq!(a.read("d/g").expect("by way of the book"), b"3");
    within_two("a look back");
    b.put("d/g", b"33").expect("it is held, or taken");
    within_two("a change again");
    a.put("d/h", b"4").expect("it is taken");
    within_two("a change back");
    for node in [&a, &b, &c] {
        assert_eq!(node.list("d").expect("names"), ["f", "g", "h"]);
        assert_eq!(node.read("d/g").expect("it is there"), b"33");
        assert_eq!(node.0.counts().lost, 0);
    }
    // Nobody is asked by way of the book where messages come through.
    world.mend();
    world.pass(6);
    for node in [&a, &b, &c] {
        node.0.renew().expect("renewed");
    }
    b.put("d/i", b"5").expect("A gives it up at once");
    a.put("d/i", b"6").expect("B does");
    assert_eq!(b.read("d/i").expect("it is there"), b"6");
}

#[test]
fn a_holder_that_takes_its_folder_again_at_once_is_seen_all_the_same() {
    let world = World::new();
    let (a, b) = (world.node(1), world.node(2));
    a.mkdir("d").expect("made");
    a.put("d/f", b"0").expect("written");
    world.cut_between(1, 2);
    let (works, round) = (Node(Arc::clone(&a.0)), AtomicU32::new(0));
    let looks = Arc::clone(&b.0);
    world.meanwhile(move || {
        looks.renew().expect("renewed");
        works.0.renew().expect("renewed");
        works.0.give_up_wanted();
        let round = round.fetch_add(1, Ordering::Relaxed);
        works.put("d/f", round.to_string().as_bytes()).expect("it goes on");
    });
    b.0.renew().expect("renewed");
    let last = |node: &Node| -> u32 {
        let text = String::from_utf8(node.read("d/f").expect("it is there")).expect("a number");
        text.parse().expect("a number")
    };
    // Each look sees what was there when it began, or a later state.
    for _ in 0..3 {
        let before = last(&a);
        let seen = last(&b);
        assert!(seen >= before, "{seen} was over when the look began: {before}");
        b.0.renew().expect("renewed");
    }
}

#[test]
fn a_folder_that_a_request_changes_is_given_up_by_a_later_renewal() {
    let world = World::new();
    let (a, b) = (world.node(1), world.node(2));
    a.mkdir("d").expect("made");
    let folder = FolderId(a.seen("d").expect("it is there").file.0);
    a.0.publish().expect("published");
    let member = b.0.state.lock().member;
    world.book.want(&member, folder).expect("asked");
    let pins = a.0.pin(&[folder]).expect("held");
    a.0.renew().expect("renewed");
    a.0.give_up_wanted();
    assert!(a.0.state.lock().folders.contains_key(&folder), "it is changed");
    drop(pins);
    a.0.give_up_wanted();
    assert!(a.0.state.lock().folders.contains_key(&folder), "nobody has said so again");
    a.0.renew().expect("renewed");
    a.0.give_up_wanted();
    assert!(!a.0.state.lock().folders.contains_key(&folder));
    let taken = world.book.take(&member, &[folder]).expect("an answer");
    assert!(matches!(taken, forebay_book::Taken::All(_)), "{taken:?}");
}
