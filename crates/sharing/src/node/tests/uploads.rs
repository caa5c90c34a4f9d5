//! Bytes of long files on their way to the bucket.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use forebay_book::FileKind;
use parking_lot::Mutex;
use rustix::io::Errno;

use super::worlds::{ManualTime, Node, World};
use crate::{IN_MEMORY_MOST, ObjectStore};

type Hook = Box<dyn Fn() + Send>;

/// A bucket in memory.
#[derive(Default)]
struct Bucket {
    objects: Mutex<BTreeMap<String, Vec<u8>>>,
    reads: Mutex<u64>,
    /// It takes nothing.
    is_away: Mutex<bool>,
    /// Happens while an object is written.
    meanwhile: Mutex<Option<Hook>>,
}

impl std::fmt::Debug for Bucket {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "Bucket({:?})", self.names())
    }
}

impl Bucket {
    fn names(&self) -> Vec<String> {
        self.objects.lock().keys().cloned().collect()
    }
}

impl ObjectStore for Bucket {
    fn write(&self, object: &str, size: u64, bytes: &File) -> io::Result<()> {
        if *self.is_away.lock() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let mut body = vec![0; size as usize];
        bytes.read_exact_at(&mut body, 0)?;
        if let Some(happens) = self.meanwhile.lock().take() {
            happens();
        }
        let before = self.objects.lock().insert(object.to_owned(), body);
        assert_eq!(before, None, "an object is written once");
        Ok(())
    }

    fn read(&self, object: &str, _: u64, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        *self.reads.lock() += 1;
        let objects = self.objects.lock();
        let body = objects.get(object).ok_or(io::ErrorKind::NotFound)?;
        Ok(crate::bodies::slice(body, offset, length))
    }

    fn remove(&self, object: &str) -> io::Result<()> {
        self.objects.lock().remove(object);
        Ok(())
    }
}

fn with_bucket(world: &World<ManualTime>, bucket: &Arc<Bucket>, number: u8) -> Node {
    let node = world.node(number);
    node.0.set_store(Arc::<Bucket>::clone(bucket));
    node
}

/// Bytes that do not fit into the book.
fn long(seed: usize) -> Vec<u8> {
    (0..IN_MEMORY_MOST * 40 + seed).map(|at| ((at + seed) % 251) as u8).collect()
}

#[test]
fn what_was_brought_to_the_bucket_outlives_its_node() {
    let (world, bucket) = (World::new(), Arc::new(Bucket::default()));
    let (a, b) = (with_bucket(&world, &bucket, 1), with_bucket(&world, &bucket, 2));
    a.put("f", &long(1)).expect("written");
    a.mkdir("d").expect("made");
    a.put("d/g", &long(2)).expect("written");
    a.0.publish().expect("published");
    assert_eq!(a.0.owed(), (2, (long(1).len() + long(2).len()) as u64));
    // B moves one of them to a folder of its own meanwhile.
    b.mkdir("there").expect("made");
    b.rename("d/g", "there/g").expect("moved");
    *bucket.is_away.lock() = true;
    assert!(!a.0.upload_next(), "the bucket does not take it");
    *bucket.is_away.lock() = false;
    while a.0.upload_next() {}
    assert_eq!(a.0.owed(), (0, 0));
    assert_eq!(bucket.names().len(), 2);
    assert_eq!(a.read("f").expect("a copy is here"), long(1));
    assert_eq!(*bucket.reads.lock(), 0);
    world.cut_off(1);
    a.0.leave().expect("left");
    assert_eq!(b.read("f").expect("from the bucket"), long(1));
    assert_eq!(b.read("there/g").expect("from the bucket"), long(2));
    // It is changed where it never was.
    b.append("f", b"more").expect("its bytes come first");
    assert_eq!(b.read("f").expect("changed"), [long(1).as_slice(), b"more"].concat());
}

#[test]
fn a_file_that_changes_on_its_way_is_sent_again() {
    let (world, bucket) = (World::new(), Arc::new(Bucket::default()));
    let (a, b) = (with_bucket(&world, &bucket, 1), with_bucket(&world, &bucket, 2));
    a.put("f", &long(1)).expect("written");
    a.0.publish().expect("published");
    let writer = Node(Arc::clone(&a.0));
    let other = long(1).into_iter().rev().collect::<Vec<u8>>();
    let again = other.clone();
    *bucket.meanwhile.lock() =
        Some(Box::new(move || writer.put("f", &again).expect("written over")));
    assert!(!a.0.upload_next());
    assert_eq!(bucket.names(), Vec::<String>::new(), "of half a file nobody is told");
    assert_eq!(b.read("f").expect("as it is"), other);
    // Nor is one sent while a program writes it.
    let file = a.known("f").expect("it is there").file;
    a.0.open(file, true).expect("opened");
    assert!(!a.0.upload_next());
    a.close(file, true).expect("closed");
    assert!(a.0.upload_next());
    a.0.leave().expect("left");
    assert_eq!(b.read("f").expect("from the bucket"), other);
}

#[test]
fn a_node_that_begins_anew_goes_on_bringing_files() {
    let (world, bucket) = (World::new(), Arc::new(Bucket::default()));
    let (a, b) = (with_bucket(&world, &bucket, 1), with_bucket(&world, &bucket, 2));
    a.mkdir("d").expect("made");
    a.put("d/f", &long(1)).expect("written");
    a.put("d/removed", &long(2)).expect("written");
    a.0.publish().expect("published");
    drop(a);
    let a = with_bucket(&world, &bucket, 1);
    assert_eq!(a.0.owed().0, 2);
    b.unlink("d/removed").expect("removed");
    b.0.publish().expect("published");
    while a.0.upload_next() {}
    assert_eq!((a.0.owed(), bucket.names().len()), ((0, 0), 1));
    a.0.leave().expect("left");
    assert_eq!(b.read("d/f").expect("from the bucket"), long(1));
}

#[test]
fn objects_that_no_file_needs_are_removed_when_nobody_reads_them() {
    let (world, bucket) = (World::new(), Arc::new(Bucket::default()));
    let (a, b) = (with_bucket(&world, &bucket, 1), with_bucket(&world, &bucket, 2));
    let pass = |seconds: u64| {
        for _ in 0..seconds / 5 {
            world.pass(5);
            a.0.renew().expect("renewed");
            b.0.renew().expect("renewed");
        }
        a.0.remove_unneeded();
        b.0.remove_unneeded();
    };
    a.put("over", &long(1)).expect("written");
    a.put("gone", &long(2)).expect("written");
    a.0.publish().expect("published");
    while a.0.upload_next() {}
    let first = bucket.names();
    assert_eq!(first.len(), 2);
    // B reads both while others of these names come.
    let reads = ["over", "gone"].map(|path| b.known(path).expect("it is there").file);
    reads.iter().for_each(|file| b.0.open(*file, false).expect("opened"));
    a.put("over", &long(3)).expect("written over");
    a.unlink("gone").expect("removed");
    a.0.publish().expect("published");
    while a.0.upload_next() {}
    pass(5);
    assert_eq!(bucket.names().len(), 3, "programs may be reading them");
    assert_eq!(b.read_open(reads[0]).expect("as it was opened"), long(1));
    pass(70);
    pass(70);
    let left = bucket.names();
    assert_eq!(left.len(), 1);
    assert!(!first.contains(&left[0]));
    assert_eq!(b.read_open(reads[0]).expect("the book is asked again"), long(3));
    assert_eq!(b.read_open(reads[1]), Err(Errno::STALE));
}

#[test]
fn objects_that_a_node_did_not_remove_it_removes_later() {
    let (world, bucket) = (World::new(), Arc::new(Bucket::default()));
    let a = with_bucket(&world, &bucket, 1);
    a.put("gone", &long(1)).expect("written");
    a.0.publish().expect("published");
    while a.0.upload_next() {}
    a.unlink("gone").expect("removed");
    a.0.leave().expect("left");
    drop(a);
    assert_eq!(bucket.names().len(), 1, "others may be reading it");
    let a = with_bucket(&world, &bucket, 1);
    a.0.remove_unneeded();
    world.pass(61);
    a.0.remove_unneeded();
    assert_eq!(bucket.names(), Vec::<String>::new());
}

#[test]
fn copies_go_where_there_is_no_room_for_them() {
    let (world, bucket) = (World::new(), Arc::new(Bucket::default()));
    let a = with_bucket(&world, &bucket, 1);
    a.0.set_copy_limit(long(2).len() as u64);
    a.put("old", &long(1)).expect("written");
    a.0.publish().expect("published");
    assert!(a.0.upload_next());
    a.put("new", &long(2)).expect("written");
    a.0.publish().expect("published");
    assert!(a.0.upload_next());
    assert_eq!(a.read("new").expect("a copy is here"), long(2));
    assert_eq!(*bucket.reads.lock(), 0);
    assert_eq!(a.read("old").expect("from the bucket"), long(1));
    assert!(*bucket.reads.lock() > 0);
    // What the bucket does not have stays, however long it is.
    a.0.set_copy_limit(0);
    *bucket.is_away.lock() = true;
    a.put("alone", &long(3)).expect("written");
    a.0.publish().expect("published");
    assert!(!a.0.upload_next());
    assert_eq!(a.read("alone").expect("it is here"), long(3));
}

#[test]
fn a_file_that_is_open_to_be_written_elsewhere_keeps_its_bytes() {
    let (world, bucket) = (World::new(), Arc::new(Bucket::default()));
    let [a, b, c] = [1, 2, 3].map(|number| with_bucket(&world, &bucket, number));
    a.put("f", &long(1)).expect("written");
    a.put("g", &long(2)).expect("written");
    a.0.publish().expect("published");
    while a.0.upload_next() {}
    a.put("f", &long(3)).expect("written over, on this node alone");
    let open = ["f", "g"].map(|path| b.known(path).expect("it is there").file);
    open.iter().for_each(|file| b.0.open(*file, true).expect("opened"));
    c.make("beside", FileKind::Regular).expect("B gives the folder up");
    assert_eq!(c.read("f").expect("it comes"), long(3));
    assert_eq!(c.read("g").expect("it comes"), long(2));
    open.iter().for_each(|file| b.close(*file, true).expect("closed"));
    assert_eq!(a.read("f").expect("it is here"), long(3));
    assert_eq!(c.read("g").expect("it comes"), long(2));
}

#[test]
fn fsync_waits_until_the_bucket_has_a_file_though_it_is_open() {
    let (world, bucket) = (World::new(), Arc::new(Bucket::default()));
    let (a, b) = (with_bucket(&world, &bucket, 1), with_bucket(&world, &bucket, 2));
    a.0.set_syncs_to_store(true);
    let file = a.make("f", FileKind::Regular).expect("made").file;
    a.0.open(file, true).expect("opened");
    a.0.write(file, 0, &long(1)).expect("written");
    a.0.fsync(file).expect("the bucket has it");
    let first = bucket.names();
    assert_eq!(first.len(), 1);
    // It goes on: what comes now is another object, and of the first one nobody is told any more.
    a.0.write(file, 0, &long(2)).expect("written");
    let writer = Arc::clone(&a.0);
    *bucket.meanwhile.lock() =
        Some(Box::new(move || writer.write(file, 0, &long(3)).expect("written")));
    a.0.fsync(file).expect("the bucket has all of it");
    world.cut_off(1);
    world.pass(20);
    let expected = [long(3).as_slice(), &long(2)[long(3).len().min(long(2).len())..]].concat();
    assert_eq!(b.read("f").expect("its node is gone"), expected);
}

#[test]
fn fsync_fails_where_the_bucket_does_not_take_a_file_and_loses_nothing() {
    let (world, bucket) = (World::new(), Arc::new(Bucket::default()));
    let a = with_bucket(&world, &bucket, 1);
    a.0.set_syncs_to_store(true);
    a.0.set_patience(std::time::Duration::from_secs(20));
    let file = a.make("f", FileKind::Regular).expect("made").file;
    a.0.open(file, true).expect("opened");
    a.0.write(file, 0, b"short").expect("written");
    *bucket.is_away.lock() = true;
    a.0.fsync(file).expect("the book has it");
    a.0.write(file, 0, &long(1)).expect("written");
    assert_eq!(a.0.fsync(file), Err(Errno::TIMEDOUT));
    a.0.renew().expect("no other thread does");
    assert_eq!(a.read("f").expect("it is here"), long(1));
    *bucket.is_away.lock() = false;
    a.0.fsync(file).expect("the bucket has it");
    a.close(file, true).expect("closed");
    assert_eq!((a.0.owed(), bucket.names().len()), ((0, 0), 1));
}

/// A process that ends without a word is the one that is dropped; its machine goes on.
#[test]
fn bytes_stay_until_the_book_knows_that_no_name_leads_to_them() {
    let (world, bucket) = (World::new(), Arc::new(Bucket::default()));
    let b = with_bucket(&world, &bucket, 2);
    for (what, change) in [
        ("renamed over", (|a: &Node| a.rename("f.new", "f")) as fn(&Node) -> Result<(), Errno>),
        ("removed", |a| a.unlink("f")),
        ("cut", |a| a.put("f", b"")),
        ("cut, and written anew", |a| a.put("f", &long(7)[..IN_MEMORY_MOST + 9])),
        ("longer", |a| a.append("f", b"more")),
    ] {
        let a = with_bucket(&world, &bucket, 1);
        a.put("f", &long(1)).expect("written");
        a.put("f.new", &long(2)).expect("written");
        a.0.publish().expect("promised");
        change(&a).expect("it changes");
        a.0.remove_gone_bodies();
        drop(a);
        let a = with_bucket(&world, &bucket, 1);
        let read = b.read("f").expect(what);
        assert_eq!(read.len(), long(1).len(), "{what}");
        assert!(what.starts_with("cut, and") || read == long(1), "{what}");
        assert_eq!(b.read("f.new").expect(what), long(2), "{what}");
        while a.0.upload_next() {}
        assert_eq!(a.0.owed(), (0, 0), "{what}");
        assert_eq!(b.read("f").expect("from the bucket"), read, "{what}");
        // What the book knows to be gone goes.
        a.put("f", b"short").expect("written");
        a.unlink("f.new").expect("removed");
        a.0.publish().expect("published");
        a.0.remove_gone_bodies();
        a.0.leave().expect("left");
        drop(a);
        let a = with_bucket(&world, &bucket, 1);
        assert_eq!(a.0.owed(), (0, 0), "{what}");
        assert_eq!(b.read("f").expect("in the book"), b"short", "{what}");
        a.0.leave().expect("left");
    }
}

#[test]
fn what_was_removed_in_vain_keeps_its_bytes_and_its_object() {
    let (world, bucket) = (World::new(), Arc::new(Bucket::default()));
    let (a, b) = (with_bucket(&world, &bucket, 1), with_bucket(&world, &bucket, 2));
    a.put("here", &long(1)).expect("written");
    a.put("there", &long(2)).expect("written");
    a.0.publish().expect("published");
    // One of them goes to the bucket.
    while bucket.names().is_empty() {
        assert!(a.0.upload_next());
    }
    // B takes the folder of a node whose lease is over, and which does not know yet.
    a.unlink("here").expect("removed");
    a.unlink("there").expect("removed");
    world.cut_off(1);
    world.pass(20);
    b.0.renew().expect("renewed");
    b.make("beside", FileKind::Regular).expect("B has the folder");
    world.reach(1);
    a.0.renew().expect("registered anew");
    assert!(a.0.counts().lost > 0);
    a.0.remove_gone_bodies();
    world.pass(120);
    a.0.renew().expect("renewed");
    b.0.renew().expect("renewed");
    a.0.publish().expect("nothing is left to publish");
    a.0.remove_unneeded();
    for (name, bytes) in [("here", long(1)), ("there", long(2))] {
        assert!(b.read(name).expect("it is there still") == bytes, "{name}");
        assert!(a.read(name).expect("it is there still") == bytes, "{name}");
    }
    while a.0.upload_next() {}
    assert_eq!((a.0.owed(), bucket.names().len()), ((0, 0), 2));
}
