//! Many threads of three nodes at once: nobody waits for ever, and what was written is there.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::scope;

use forebay_book::FileKind;
use rustix::io::Errno;

use super::worlds::{Node, World};
use crate::MachineTime;

const ROUNDS: u32 = 40;

/// Each thread works in folders of its own, in one that all share, and moves files between.
fn work(node: &Node, own: &str) {
    node.mkdir(own).expect("made");
    for round in 0..ROUNDS {
        let (mine, shared) = (format!("{own}/f"), format!("shared/{own}-{round}"));
        node.put(&mine, format!("{own} {round}").as_bytes()).expect("written");
        node.rename(&mine, &shared).expect("moved");
        let read = node.read(&shared).expect("it is there");
        assert_eq!(read, format!("{own} {round}").as_bytes());
        // Whoever comes first makes it, the others are told.
        match node.make(&format!("shared/one-{round}"), FileKind::Regular) {
            Ok(_) | Err(Errno::EXIST) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn threads_of_three_nodes_wait_for_each_other_and_not_for_ever() {
    let world = World::at(Arc::new(MachineTime));
    let nodes = [world.node(1), world.node(2), world.node(3)];
    nodes[0].mkdir("shared").expect("made");
    let is_over = AtomicBool::new(false);
    scope(|threads| {
        for node in &nodes {
            threads.spawn(|| node.0.publish_while_serving());
            threads.spawn(|| node.0.renew_while_serving());
        }
        scope(|workers| {
            for (at, node) in nodes.iter().enumerate() {
                for thread in 0..3 {
                    workers.spawn(move || work(node, &format!("w{at}{thread}")));
                }
            }
        });
        is_over.store(true, Ordering::Relaxed);
        let names = nodes[1].list("shared").expect("a listing");
        assert_eq!(names.len(), (9 * ROUNDS + ROUNDS) as usize);
        for at in 0..3 {
            for thread in 0..3 {
                let path = format!("shared/w{at}{thread}-{}", ROUNDS - 1);
                assert!(!nodes[2].read(&path).expect("it is there").is_empty());
            }
        }
        for node in &nodes {
            node.0.leave().expect("it leaves");
        }
    });
    assert!(is_over.load(Ordering::Relaxed));
}
