//! If these fail, a program waits for a sync that it was promised not to wait for, or a power
//! failure takes bytes whose name is safe.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use super::*;

const PATIENCE: Duration = Duration::from_secs(20);
/// Long enough for what should not happen to happen.
const MOMENT: Duration = Duration::from_millis(50);

fn body(number: u8) -> SyncTarget {
    SyncTarget::Body(0, CString::new([b'a' + number]).expect("no NUL"))
}

/// A sync that tells when it begins, and ends when it is let.
struct Disk {
    begun: Receiver<u8>,
    begin: Sender<u8>,
}

impl Disk {
    fn new() -> Disk {
        let (begin, begun) = channel();
        Disk { begun, begin }
    }

    fn sync(&self, number: u8) -> (SyncJob, Sender<Result<(), Errno>>) {
        let (begin, (end, ends)) = (self.begin.clone(), channel());
        let run = Box::new(move || {
            let _ = begin.send(number);
            ends.recv().expect("it is let")
        });
        let path = vec![b'a' + number];
        (SyncJob { which: body(number), with_names: false, path, run }, end)
    }

    fn next(&self) -> u8 {
        self.begun.recv_timeout(PATIENCE).expect("the next sync begins")
    }
}

fn started() -> Arc<SyncQueue> {
    let syncing = Arc::new(SyncQueue::default());
    syncing.start_thread();
    syncing
}

#[test]
fn who_asks_does_not_wait_and_all_is_done_in_order() {
    let (syncing, disk) = (started(), Disk::new());
    let ends: Vec<_> = (0..20)
        .map(|number| {
            let (sync, end) = disk.sync(number);
            syncing.enqueue(sync).expect("taken");
            end
        })
        .collect();
    for (number, end) in (0..20).zip(ends) {
        assert_eq!(disk.next(), number, "it began by itself, in its turn");
        end.send(Ok(())).expect("it waits");
    }
    assert!(syncing.finish_all().is_empty());
    assert!(syncing.is_idle());
}

#[test]
fn a_name_waits_for_its_bytes_and_for_no_others() {
    let (syncing, disk) = (started(), Disk::new());
    let (one, end_one) = disk.sync(1);
    let (two, end_two) = disk.sync(2);
    syncing.enqueue(one).expect("taken");
    syncing.enqueue(two).expect("taken");
    assert_eq!(disk.next(), 1);
    syncing.wait_until_durable(&body(3)).expect("nothing to wait for");
    let (named, is_named) = channel();
    let waits = std::thread::spawn({
        let syncing = Arc::clone(&syncing);
        move || {
            let done = syncing.wait_until_durable(&body(1));
            let _ = named.send(());
            done
        }
    });
    assert!(is_named.recv_timeout(MOMENT).is_err(), "the bytes are not durable yet");
    end_one.send(Ok(())).expect("it waits");
    is_named.recv_timeout(PATIENCE).expect("named");
    assert_eq!(waits.join().expect("ends"), Ok(()));
    end_two.send(Ok(())).expect("it waits");
    syncing.wait_until_all_durable().expect("a directory waits for all");
    assert!(syncing.is_idle());
    assert!(syncing.finish_all().is_empty());
}

#[test]
fn the_same_file_waits_once() {
    let (syncing, disk) = (started(), Disk::new());
    let (first, end_first) = disk.sync(1);
    syncing.enqueue(first).expect("taken");
    assert_eq!(disk.next(), 1);
    // It has begun: bytes written since may not be among those that it makes durable.
    let (second, end_second) = disk.sync(1);
    let (third, _) = disk.sync(1);
    syncing.enqueue(second).expect("taken");
    syncing.enqueue(third).expect("taken");
    assert_eq!(syncing.queue.lock().waiting.len(), 1);
    end_first.send(Ok(())).expect("it waits");
    assert_eq!(disk.next(), 1);
    end_second.send(Ok(())).expect("it waits");
    assert!(syncing.finish_all().is_empty());
}

#[test]
fn a_failure_is_told_to_the_next_who_asks_and_in_the_end() {
    let (syncing, disk) = (started(), Disk::new());
    let (one, end) = disk.sync(1);
    syncing.enqueue(one).expect("taken");
    end.send(Err(Errno::IO)).expect("it waits");
    assert_eq!(syncing.wait_until_durable(&body(1)), Err(Errno::IO), "no name for it");
    let (two, end) = disk.sync(2);
    syncing.enqueue(two).expect("told once");
    end.send(Err(Errno::NOSPC)).expect("it waits");
    let failed = syncing.finish_all();
    let paths: Vec<_> = failed.iter().map(|left| left.path.display().to_string()).collect();
    assert_eq!(paths, ["b", "c"]);
    let (three, end) = disk.sync(3);
    assert_eq!(syncing.enqueue(three), Err(Errno::NOSPC));
    assert_eq!([disk.next(), disk.next(), disk.next()], [1, 2, 3], "done all the same");
    end.send(Ok(())).expect("it waits");
    assert!(syncing.finish_all().is_empty());
}

#[test]
fn what_is_lost_gets_no_name_until_a_later_sync_succeeds() {
    let (syncing, disk) = (started(), Disk::new());
    let (one, end_one) = disk.sync(1);
    syncing.enqueue(one).expect("taken");
    assert_eq!(disk.next(), 1);
    // Asked for before the failure: its success says nothing of what that took.
    let (two, end_two) = disk.sync(1);
    syncing.enqueue(two).expect("taken");
    end_one.send(Err(Errno::IO)).expect("it waits");
    end_two.send(Ok(())).expect("it waits");
    assert_eq!(syncing.wait_until_all_durable(), Err(Errno::IO));
    for _ in 0..2 {
        assert_eq!(
            syncing.wait_until_durable(&body(1)),
            Err(Errno::IO),
            "told before, and still lost"
        );
    }
    assert!(!syncing.is_idle(), "names are to ask");
    syncing.wait_until_durable(&body(2)).expect("nothing of it is lost");
    let (three, end) = disk.sync(1);
    syncing.enqueue(three).expect("taken");
    end.send(Ok(())).expect("it waits");
    syncing.wait_until_durable(&body(1)).expect("written again, and durable");
    assert!(syncing.is_idle());
}

#[test]
fn who_brings_names_does_not_give_way_to_one_without() {
    let (syncing, disk) = (started(), Disk::new());
    let (zero, end) = disk.sync(0);
    syncing.enqueue(zero).expect("taken");
    assert_eq!(disk.next(), 0);
    // Bytes; bytes and names; each once more.
    let mut ends = Vec::new();
    for with_names in [false, true, false, true] {
        let (sync, end) = disk.sync(1);
        syncing.enqueue(SyncJob { with_names, ..sync }).expect("taken");
        ends.push(end);
    }
    let waiting: Vec<bool> =
        syncing.queue.lock().waiting.iter().map(|sync| sync.with_names).collect();
    assert_eq!(waiting, [false, true]);
    for end in std::iter::once(&end).chain(&ends[..2]) {
        end.send(Ok(())).expect("it waits");
    }
    assert!(syncing.finish_all().is_empty());
}

#[test]
fn without_the_thread_who_asks_waits() {
    let (syncing, disk) = (SyncQueue::default(), Disk::new());
    let (one, end) = disk.sync(1);
    end.send(Err(Errno::IO)).expect("it is there");
    assert_eq!(syncing.enqueue(one), Err(Errno::IO));
    assert_eq!(disk.next(), 1);
    assert!(syncing.finish_all().is_empty(), "it was told");
}
