//! Nodes whose clocks differ. If this fails, a node with a wrong clock loses its folders, keeps those of
//! others, or shows what is over.

use std::sync::Arc;

use rustix::io::Errno;

use super::worlds::{World, WrongClock};

const HOUR: i64 = 3_600_000_000_000;

#[test]
fn clocks_that_differ_by_an_hour_change_nothing_but_times_of_files() {
    let world = World::new();
    let clock = |ahead| Arc::new(WrongClock { time: Arc::clone(&world.time), ahead });
    let (a, b) = (world.node_with(1, clock(HOUR)), world.node_with(2, clock(-HOUR)));
    let right = world.node(3);
    let nodes = [&a, &b, &right];
    a.mkdir("d").expect("made");
    for round in 0..30u32 {
        let (writer, reader) = (nodes[round as usize % 3], nodes[(round as usize + 1) % 3]);
        for node in nodes {
            node.0.renew().expect("renewed");
        }
        let text = format!("{round}");
        writer.put("d/f", text.as_bytes()).expect("written");
        assert_eq!(reader.read("d/f").expect("it is there"), text.as_bytes());
        reader.append("d/f", b"+").expect("appended");
        assert_eq!(writer.read("d/f").expect("it is there"), format!("{text}+").as_bytes());
        let new = format!("d/n{round}");
        assert_eq!(reader.seen(&new), Err(Errno::NOENT));
        writer.put(&new, b"").expect("made");
        assert_eq!(reader.seen(&new).expect("at once").size, 0);
        // The clock of who wrote it, the same for all.
        let times = nodes.map(|node| node.seen("d/f").expect("it is there").mtime_ns);
        assert!(times.iter().all(|time| *time == times[0]), "{times:?}");
        let wrong = times[0] - crate::Time::unix_nanos(&*world.time);
        let wanted = [HOUR, -HOUR, 0][(round as usize + 1) % 3];
        assert!((wrong - wanted).abs() < HOUR / 2, "{wrong} in round {round}");
        world.pass(4);
    }
    // A lease is as long for all: the book's clock alone counts.
    world.cut_off(1);
    for _ in 0..5 {
        world.pass(5);
        right.0.renew().expect("renewed");
        b.0.renew().expect("renewed");
    }
    right.put("d/f", b"after").expect("the lease of A is over");
    assert_eq!(b.read("d/f").expect("it is there"), b"after");
    for node in [&b, &right] {
        assert_eq!(node.0.counts().lost, 0);
    }
}
