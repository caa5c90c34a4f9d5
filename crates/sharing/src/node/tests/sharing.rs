//! Two nodes in turn: what one has closed the other one finds at once.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use forebay_book::{FileKind, FolderId};
use rustix::io::Errno;

use super::worlds::{Forgotten, World, name};
use crate::{AttributeChange, IN_MEMORY_MOST, KernelCaches, TRUST};

#[test]
fn what_one_node_closes_the_other_finds_at_once() {
    let world = World::new();
    let (a, b) = (world.node(1), world.node(2));
    a.mkdir("d").expect("made");
    assert_eq!(b.seen("d").expect("it is there").kind, FileKind::Folder);
    for round in 0..20 {
        let (new, asked) = (format!("d/n{round}"), format!("d/e{round}"));
        a.put(&new, b"x").expect("written");
        assert_eq!(b.read(&new).expect("a new file"), b"x");
        assert_eq!(b.seen(&asked), Err(Errno::NOENT));
        a.put(&asked, b"0").expect("written");
        assert_eq!(b.read(&asked).expect("one that was asked for"), b"0");
        let long = vec![b'y'; round + 3];
        a.put("d/over", &long).expect("written over");
        assert_eq!(b.read("d/over").expect("it is there"), long);
        a.append("d/over", b"z").expect("appended");
        assert_eq!(b.seen("d/over").expect("it is there").size, round as u64 + 4);
        a.put("d/tmp", &[round as u8]).expect("written");
        a.rename("d/tmp", "d/ren").expect("renamed");
        assert_eq!(b.read("d/ren").expect("renamed over"), [round as u8]);
        a.unlink(&new).expect("removed");
        assert_eq!(b.read(&new), Err(Errno::NOENT));
        assert!(b.list("d").expect("a listing").contains(&format!("e{round}")));
    }
    assert_eq!(a.0.counts().given_up, 0, "looking takes nothing away");
}

#[test]
fn of_two_that_make_one_name_one_wins() {
    let world = World::new();
    let (a, b) = (world.node(1), world.node(2));
    a.mkdir("d").expect("made");
    for round in 0..20 {
        let path = format!("d/x{round}");
        assert!(a.make(&path, FileKind::Regular).is_ok());
        assert_eq!(b.make(&path, FileKind::Regular), Err(Errno::EXIST));
        let path = format!("d/y{round}");
        assert!(b.make(&path, FileKind::Regular).is_ok());
        assert_eq!(a.make(&path, FileKind::Regular), Err(Errno::EXIST));
    }
    assert!(a.0.counts().given_up > 0, "it changed hands");
}

#[test]
fn where_a_node_has_made_a_folder_it_asks_nobody() {
    let world = World::new();
    let (a, b) = (world.node(1), world.node(2));
    a.mkdir("a").expect("made");
    a.mkdir("a/deep").expect("made");
    let before = world.network.asked.load(Ordering::Relaxed);
    let taken = a.0.counts().taken;
    for round in 0..100 {
        let path = format!("a/deep/{round}");
        a.mkdir(&path).expect("made");
        a.put(&format!("{path}/f"), b"1").expect("written");
        a.rename(&format!("{path}/f"), &format!("{path}/g")).expect("renamed");
        assert_eq!(a.read(&format!("{path}/g")).expect("it is there"), b"1");
    }
    assert_eq!(world.network.asked.load(Ordering::Relaxed), before);
    assert_eq!(a.0.counts().taken, taken);
    assert!(a.0.counts().publications < 3, "nobody has asked for it");
    assert_eq!(b.read("a/deep/99/g").expect("it is published for who asks"), b"1");
}

#[test]
fn folders_that_are_moved_and_removed_are_so_on_all_nodes() {
    let world = World::new();
    let (a, b) = (world.node(1), world.node(2));
    a.mkdir("here").expect("made");
    a.mkdir("here/inner").expect("made");
    a.put("here/inner/f", b"1").expect("written");
    b.mkdir("there").expect("made");
    b.put("there/g", b"2").expect("written");
    // B moves what A holds into what B holds.
    b.rename("here/inner", "there/moved").expect("moved");
    assert_eq!(a.read("there/moved/f").expect("moved"), b"1");
    assert_eq!(a.seen("here/inner"), Err(Errno::NOENT));
    // A goes on in it, and B removes it.
    a.put("there/moved/h", b"3").expect("written");
    assert_eq!(b.rmdir("there/moved"), Err(Errno::NOTEMPTY));
    b.unlink("there/moved/f").expect("removed");
    b.unlink("there/moved/h").expect("removed");
    b.rmdir("there/moved").expect("removed");
    assert_eq!(a.seen("there/moved"), Err(Errno::NOENT));
    assert_eq!(a.put("there/moved/x", b""), Err(Errno::NOENT));
    // A name may be a folder's again.
    a.mkdir("there/moved").expect("made anew");
    assert_eq!(b.list("there/moved").expect("it is there"), Vec::<String>::new());
    // One that was never published goes without a trace.
    a.mkdir("short").expect("made");
    a.put("short/f", b"").expect("written");
    a.unlink("short/f").expect("removed");
    a.rmdir("short").expect("removed");
    a.0.publish().expect("published");
    assert_eq!(b.list("").expect("a listing"), ["here", "there"]);
    // A folder takes the place of an empty one.
    a.mkdir("empty").expect("made");
    b.rename("there", "empty").expect("renamed over");
    assert_eq!(a.read("empty/g").expect("it is there"), b"2");
    assert_eq!(a.list("").expect("a listing"), ["empty", "here"]);
    b.0.publish().expect("the book takes it");
}

#[test]
fn long_files_come_from_the_node_that_wrote_them_and_go_to_the_one_that_changes_them() {
    let world = World::new();
    let (a, b, c) = (world.node(1), world.node(2), world.node(3));
    let mut long: Vec<u8> = (0..IN_MEMORY_MOST * 40 + 7).map(|at| (at % 251) as u8).collect();
    a.put("long", &long).expect("written");
    assert_eq!(b.seen("long").expect("it is there").size, long.len() as u64);
    assert_eq!(b.read("long").expect("it comes"), long);
    b.append("long", b"more").expect("appended elsewhere");
    long.extend(b"more");
    for (at, node) in [&a, &b, &c].into_iter().enumerate() {
        assert_eq!(node.read("long").expect("it comes"), long, "node {at}");
    }
    // Emptied by a third one, its bytes need not come.
    c.put("long", b"short").expect("written over");
    assert_eq!(a.read("long").expect("it comes"), b"short");
    // A node that begins anew has its long files.
    a.put("kept", &long).expect("written");
    a.0.publish().expect("published");
    drop(a);
    let a = world.node(1);
    assert_eq!(b.read("kept").expect("it comes"), long);
    assert_eq!(a.read("kept").expect("it is here"), long);
}

#[test]
fn a_second_writer_is_told_and_the_first_one_closes_well() {
    let world = World::new();
    let (a, b) = (world.node(1), world.node(2));
    a.put("f", b"old").expect("written");
    let file = a.known("f").expect("it is there").file;
    a.0.open(file, true).expect("opened");
    a.0.write(file, 0, b"one ").expect("written");
    a.0.publish().expect("published");
    // B works in the folder meanwhile, and reads the file as it grows.
    b.put("other", b"2").expect("written");
    assert_eq!(b.read("f").expect("as it is now"), b"one ");
    assert_eq!(b.put("f", b"mine"), Err(Errno::TXTBSY));
    a.0.write(file, 4, b"two").expect("written");
    assert_eq!(b.read("f").expect("as it is now"), b"one two");
    b.rename("f", "g").expect("renamed while it is open");
    a.0.write(file, 7, b"!").expect("written");
    a.close(file, true).expect("closed");
    assert_eq!(b.read("g").expect("it is whole"), b"one two!");
    b.append("g", b"?").expect("it is free");
    assert_eq!(a.read("g").expect("it is whole"), b"one two!?");
}

#[test]
fn times_of_access_and_change_are_the_same_for_all() {
    let world = World::new();
    let (a, b) = (world.node(1), world.node(2));
    a.put("f", b"1").expect("written");
    let first = b.known("f").expect("it is there");
    a.known("f").expect("it is there");
    assert_eq!((first.atime_ns, first.ctime_ns), (first.mtime_ns, first.mtime_ns));
    world.pass(1);
    let set = AttributeChange { atime_ns: Some(5), mtime_ns: Some(-7), ..Default::default() };
    a.0.set_attributes(first.file, set).expect("set");
    let times = |seen: crate::Seen| (seen.atime_ns, seen.mtime_ns, seen.ctime_ns > first.ctime_ns);
    assert_eq!(times(b.seen("f").expect("it is there")), (5, -7, true));
    assert_eq!(b.0.extended(first.file).expect("asked"), [], "nobody sees where they are kept");
    // Each of these is a change of the file.
    let mut last = b.seen("f").expect("it is there");
    let mut changed = |what: &str| {
        let (one, other) = (a.seen("g").expect(what), b.seen("g").expect(what));
        assert_eq!((one.ctime_ns, one.mtime_ns), (other.ctime_ns, -7), "{what}");
        assert!(one.ctime_ns > last.ctime_ns, "{what}");
        last = one;
        world.pass(1);
    };
    world.pass(1);
    b.rename("f", "g").expect("renamed");
    changed("rename");
    b.0.set_extended(first.file, b"user.x", Some(b"1"), None).expect("set");
    changed("an attribute");
    a.link("g", "h").expect("linked");
    changed("link");
    b.unlink("h").expect("removed");
    changed("unlink");
    let mode = AttributeChange { mode: Some(0o600), ..Default::default() };
    a.0.set_attributes(first.file, mode).expect("set");
    changed("chmod");
    b.append("g", b"2").expect("written");
    let after = a.seen("g").expect("it is there");
    assert!(after.mtime_ns > 0 && after.ctime_ns == after.mtime_ns);
}

#[test]
fn links_and_attributes_are_the_same_for_all() {
    let world = World::new();
    let (a, b) = (world.node(1), world.node(2));
    a.mkdir("d").expect("made");
    a.put("d/f", b"1").expect("written");
    a.link("d/f", "d/g").expect("linked");
    assert_eq!(b.seen("d/g").expect("it is there").links, 2);
    assert_eq!(a.link("d/f", "f"), Err(Errno::XDEV), "names of a file are in one folder");
    assert_eq!(a.rename("d/f", "f"), Err(Errno::XDEV));
    b.unlink("d/f").expect("removed");
    assert_eq!(a.seen("d/g").expect("it is there").links, 1);
    a.rename("d/g", "g").expect("it has one name");
    let known = b.0.look_up(FolderId::ROOT, &name("g")).expect("asked").expect("it is there");
    let file = known.file;
    let change = AttributeChange { mode: Some(0o600), mtime_ns: Some(5), ..Default::default() };
    b.0.set_attributes(file, change).expect("changed");
    b.0.set_extended(file, b"user.a", Some(b"1"), None).expect("set");
    assert_eq!(b.0.set_extended(file, b"user.a", Some(b"1"), Some(false)), Err(Errno::EXIST));
    assert_eq!(b.0.set_extended(file, b"user.b", None, Some(true)), Err(Errno::NODATA));
    assert_eq!(b.0.set_extended(file, b"trusted.a", Some(b""), None), Err(Errno::OPNOTSUPP));
    b.0.forget(file, 1);
    let seen = a.seen("g").expect("it is there");
    assert_eq!((seen.mode, seen.mtime_ns), (0o600, 5));
    let known = a.0.look_up(FolderId::ROOT, &name("g")).expect("asked").expect("it is there");
    assert_eq!(a.0.extended(known.file).expect("asked"), [(b"user.a".to_vec(), b"1".to_vec())]);
    // Those of folders go with the folder.
    let root = FolderId::ROOT.inode();
    b.0.set_attributes(root, AttributeChange { mode: Some(0o700), ..Default::default() })
        .expect("set");
    assert_eq!(a.seen("").expect("the root").mode, 0o700);
}

#[test]
fn what_the_kernel_believes_is_taken_back_before_a_folder_is_given_up() {
    let world = World::new();
    let (a, b) = (world.node(1), world.node(2));
    let forgotten = Arc::new(Forgotten::default());
    a.0.set_caches(Arc::<Forgotten>::clone(&forgotten) as Arc<dyn KernelCaches>);
    a.put("f", b"1").expect("written");
    let known = a.0.look_up(FolderId::ROOT, &name("f")).expect("asked").expect("it is there");
    assert_eq!((known.name_trust, known.attribute_trust), (TRUST, TRUST));
    assert!(forgotten.0.lock().is_empty());
    b.put("f", b"2").expect("written");
    assert!(forgotten.0.lock().contains(&known.file), "it was told of, and may be another one now");
    let again = a.0.look_up(FolderId::ROOT, &name("f")).expect("asked").expect("it is there");
    assert_eq!((again.name_trust, again.attribute_trust), (Duration::ZERO, Duration::ZERO));
}
