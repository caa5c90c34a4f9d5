//! A folder that goes to another node while programs close files in it.

use std::time::Duration;

use forebay_book::FolderId;

use super::worlds::World;
use crate::node::state::{Stage, State};

/// Met with Snakemake on four nodes: the last bytes of small files were gone.
#[test]
fn a_file_that_is_closed_while_its_folder_goes_to_another_node_keeps_its_bytes() {
    let world = World::new();
    let (a, b) = (world.node(1), world.node(2));
    a.mkdir("d").expect("made");
    a.put("d/f", b"old").expect("written");
    let folder = FolderId(a.known("d").expect("it is there").file.0);
    let file = a.known("d/f").expect("it is there").file;
    a.0.open(file, true).expect("opened");
    a.0.write(file, 0, b"new").expect("written");
    // A gives the folder up: the publication that says so is on its way to the book.
    {
        let mut state = a.0.state.lock();
        state.folders.get_mut(&folder).expect("it is held").stage = Stage::Ready;
        state.pending = a.0.collect(&mut state);
    }
    std::thread::scope(|scope| {
        let closes = scope.spawn(|| a.close(file, true));
        // Until it has closed, or waits for the book.
        for _ in 0..100_000 {
            if closes.is_finished() {
                break;
            }
            std::thread::yield_now();
        }
        let deadline = a.0.deadline(Duration::from_secs(30));
        let gone = |state: &State| state.pending.is_none();
        a.0.publish_until(gone, deadline).expect("published");
        closes.join().expect("no panic").expect("closed");
    });
    assert_eq!(b.read("d/f").expect("it is whole"), b"new");
    assert_eq!(a.read("d/f").expect("it is whole"), b"new");
}

#[test]
fn what_fsync_made_durable_stays_so_where_its_folder_goes_to_another_node() {
    let world = World::new();
    let (a, b) = (world.node(1), world.node(2));
    a.mkdir("d").expect("made");
    a.put("d/f", b"").expect("made");
    let file = a.known("d/f").expect("it is there").file;
    a.0.open(file, true).expect("opened");
    a.0.write(file, 0, b"safe").expect("written");
    a.0.fsync(file).expect("durable");
    // A child of the program closes the descriptors that it has of its parent.
    a.0.flush(file).expect("closed");
    b.put("d/other", b"1").expect("written");
    b.put("root-too", b"").expect("made");
    world.cut_off(1);
    assert_eq!(b.read("d/f").expect("it is in the book"), b"safe");
    world.reach(1);
    a.0.write(file, 4, b", not").expect("written");
    a.0.flush(file).expect("closed by a child");
    b.put("d/other", b"2").expect("written");
    assert_eq!(b.put("d/f", b"mine"), Err(rustix::io::Errno::TXTBSY), "it is written still");
    assert_eq!(a.close(file, true), Ok(()));
    assert_eq!(b.read("d/f").expect("it is whole"), b"safe, not");
}

#[test]
fn who_closes_a_file_follows_it_wherever_it_was_moved() {
    let world = World::new();
    let (a, b, c) = (world.node(1), world.node(2), world.node(3));
    for folder in ["d", "e", "e/inner"] {
        a.mkdir(folder).expect("made");
    }
    a.put("d/f", b"").expect("made");
    a.put("d/g", b"").expect("made");
    let [moved, removed] = ["d/f", "d/g"].map(|path| a.known(path).expect("it is there").file);
    for file in [moved, removed] {
        a.0.open(file, true).expect("opened");
        a.0.write(file, 0, b"all ").expect("written");
    }
    b.rename("d/f", "e/inner/h").expect("moved while it is open");
    a.0.write(moved, 4, b"of ").expect("written");
    c.rename("e/inner", "d/inner").expect("its folder, too");
    c.unlink("d/g").expect("removed while it is open");
    a.0.write(moved, 7, b"it").expect("written");
    a.0.write(removed, 4, b"gone").expect("written");
    assert_eq!(a.close(moved, true), Ok(()));
    assert_eq!(a.read_open(removed).expect("it is open still"), b"all gone");
    assert_eq!(a.close(removed, true), Ok(()), "as on a disk");
    for node in [&a, &b, &c] {
        assert_eq!(node.read("d/inner/h").expect("it is whole"), b"all of it");
        assert_eq!(node.read("d/g"), Err(rustix::io::Errno::NOENT));
    }
    // Attributes, by who knows it from before.
    b.rename("d/inner/h", "h").expect("moved");
    let change = crate::AttributeChange { mode: Some(0o600), ..Default::default() };
    a.0.set_attributes(moved, change).expect("it is found");
    assert_eq!(c.seen("h").expect("it is there").mode, 0o600);
}

#[test]
fn a_file_that_another_node_renames_over_is_still_opened_by_who_came_first() {
    let world = World::new();
    let (a, b) = (world.node(1), world.node(2));
    a.mkdir("d").expect("made");
    a.put("d/f", b"first").expect("written");
    // As open(2) does: the name, the attributes for the permission, the file.
    let file = b.known("d/f").expect("it is there").file;
    a.put("d/new", b"second").expect("written");
    a.rename("d/new", "d/f").expect("renamed over");
    assert_eq!(b.0.attributes(file).expect("it was looked up").links, 0);
    b.0.open(file, false).expect("opened");
    assert_eq!(b.0.read(file, 0, 100).expect("as it was"), b"first");
    b.close(file, false).expect("closed");
    assert_eq!(b.read("d/f").expect("it is there"), b"second");
}
