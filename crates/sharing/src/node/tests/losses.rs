//! Nodes that die, are stopped or cut off, and come back.

use rustix::io::Errno;

use super::worlds::World;

#[test]
fn when_a_holder_dies_the_others_go_on_with_what_it_has_published() {
    let world = World::new();
    let (a, b) = (world.node(1), world.node(2));
    a.mkdir("d").expect("made");
    a.put("d/f", b"1").expect("written");
    a.0.publish().expect("published");
    a.put("d/unseen", b"2").expect("written");
    world.cut_off(1);
    b.0.renew().expect("renewed");
    // It waits for the end of the lease, and says for whom.
    assert_eq!(b.read("d/f").expect("the lease ends while it waits"), b"1");
    assert_eq!(b.seen("d/unseen"), Err(Errno::NOENT));
    b.put("d/f", b"3").expect("it is free");
    // It begins anew, as whoever mounts again does.
    drop(a);
    let a = world.node(1);
    assert_eq!(a.read("d/f").expect("it is there"), b"3");
}

#[test]
fn what_another_node_has_seen_outlives_its_maker() {
    let world = World::new();
    let (a, b, c) = (world.node(1), world.node(2), world.node(3));
    a.mkdir("d").expect("made");
    a.put("d/f", b"1").expect("written");
    assert_eq!(b.read("d/f").expect("it is there"), b"1");
    a.put("e", b"unseen").expect("written");
    world.cut_off(1);
    for node in [&b, &c] {
        node.0.renew().expect("renewed");
    }
    assert_eq!(c.read("d/f").expect("the lease ends while it waits"), b"1");
}

#[test]
fn a_node_that_was_stopped_changes_nothing_that_others_have_taken_over() {
    let world = World::new();
    let (a, b) = (world.node(1), world.node(2));
    a.mkdir("d").expect("made");
    a.put("d/f", b"1").expect("written");
    a.0.publish().expect("published");
    a.put("d/f", b"lost").expect("written");
    let known = a.known("d/f").expect("it is there").file;
    a.0.open(known, true).expect("opened");
    a.0.write(known, 0, b"more").expect("written");
    world.cut_off(1);
    world.pass(20);
    b.0.renew().expect("registered anew");
    b.put("d/f", b"2").expect("it is free");
    world.reach(1);
    // A wakes up: what it thinks to hold is not its own.
    assert_eq!(a.close(known, true), Ok(()), "nothing has told it yet");
    a.0.renew().expect("registered anew");
    assert!(a.0.counts().lost > 0);
    assert_eq!(a.read("d/f").expect("as the other has it"), b"2");
    a.put("d/g", b"3").expect("it goes on");
    assert_eq!(b.read("d/g").expect("it is there"), b"3");
    a.0.publish().expect("published");
}

#[test]
fn before_it_knows_a_stopped_node_neither_changes_nor_answers() {
    let world = World::new();
    let (a, b) = (world.node(1), world.node(2));
    a.mkdir("d").expect("made");
    a.put("d/f", b"1").expect("written");
    a.0.publish().expect("published");
    world.pass(11);
    // Its lease may be over: a request waits until somebody renews it, and fails if nobody does.
    assert_eq!(a.put("d/g", b"2"), Err(Errno::TIMEDOUT));
    assert_eq!(a.read("d/f"), Err(Errno::TIMEDOUT));
    b.0.renew().expect("registered anew");
    assert_eq!(b.read("d/f").expect("from the book"), b"1");
}

#[test]
fn a_node_that_was_stopped_keeps_what_nobody_wanted() {
    let world = World::new();
    let (a, b) = (world.node(1), world.node(2));
    a.mkdir("d").expect("made");
    a.0.publish().expect("published");
    a.put("d/f", b"1").expect("written");
    a.mkdir("d/new").expect("made");
    world.pass(60);
    a.0.renew().expect("registered anew");
    a.put("d/new/g", b"2").expect("it goes on");
    a.0.publish().expect("published");
    assert_eq!(a.0.counts().lost, 0);
    b.0.renew().expect("registered anew");
    assert_eq!(b.read("d/f").expect("it is there"), b"1");
    assert_eq!(b.read("d/new/g").expect("it is there"), b"2");
}

#[test]
fn a_publication_that_finds_the_lease_over_goes_on_by_itself() {
    let world = World::new();
    let a = world.node(1);
    a.put("f", b"1").expect("written");
    world.pass(60);
    // Nobody has renewed: the publication does what is needed.
    a.0.publish().expect("published");
    assert_eq!(a.0.counts().lost, 0);
}

#[test]
fn bytes_that_a_dead_node_had_alone_are_an_error_and_no_wait() {
    let world = World::new();
    let (a, b) = (world.node(1), world.node(2));
    let long = vec![7; crate::IN_MEMORY_MOST + 1];
    a.put("long", &long).expect("written");
    assert_eq!(b.seen("long").expect("it is there").size, long.len() as u64);
    world.cut_off(1);
    b.0.renew().expect("renewed");
    world.pass(16);
    b.0.renew().expect("registered anew");
    assert_eq!(b.read("long"), Err(Errno::IO));
    b.put("long", b"made again").expect("it can be written over");
    assert_eq!(b.read("long").expect("it is there"), b"made again");
}

#[test]
fn a_node_that_leaves_has_published_all() {
    let world = World::new();
    let (a, b) = (world.node(1), world.node(2));
    a.mkdir("d").expect("made");
    a.put("d/f", b"1").expect("written");
    a.0.leave().expect("it leaves");
    world.cut_off(1);
    let asked = world.network.asked.load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!(b.read("d/f").expect("it is there"), b"1");
    b.put("d/f", b"2").expect("it is free");
    assert_eq!(world.network.asked.load(std::sync::atomic::Ordering::Relaxed), asked);
    assert_eq!(a.put("d/g", b""), Err(Errno::IO), "it serves nothing more");
}

#[test]
fn who_changes_more_than_the_book_takes_waits() {
    let world = World::new();
    let a = world.node(1);
    a.mkdir("d").expect("made");
    let mut made = 0;
    // Nobody publishes here: at some number it is too much.
    let refused = loop {
        match a.mkdir(&format!("d/{made}")) {
            Ok(_) => made += 1,
            Err(error) => break error,
        }
        assert!(made < 20_000, "nothing stops it");
    };
    assert_eq!(refused, Errno::TIMEDOUT);
    a.0.renew().expect("renewed");
    a.0.publish().expect("published");
    a.mkdir("d/more").expect("there is room again");
}
