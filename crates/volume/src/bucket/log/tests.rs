//! Ends of a writer at any write, two writers, and damage.

mod hostile;

use super::super::memory::Memory;
use super::super::segment::HEADER;
use super::super::tree::ROOT;
use super::super::tree_record::{Attr, ContentLocation, Kind};
use super::*;

/// One cut: a file `name` with these bytes, in the root.
fn file(draft: &mut SegmentDraft, segment: u64, ino: u64, name: &str, bytes: &[u8]) {
    let (at, crc) = (draft.append_data(bytes), crc32fast::hash(bytes));
    let place = ContentLocation::Packed { segment, at, length: bytes.len() as u32, crc };
    draft.append_record(&TreeRecord::File { ino, kind: Kind::Plain, attr: Attr::default() });
    draft.append_record(&TreeRecord::Bytes { ino, place });
    draft.append_record(&TreeRecord::Name { folder: ROOT, name: name.as_bytes(), ino });
}

fn names(tree: &VolumeTree) -> Vec<String> {
    let root = tree.file(ROOT).expect("a root");
    root.names.keys().map(|name| String::from_utf8_lossy(name.as_bytes()).into_owned()).collect()
}

/// Ten cuts in ten segments; the odd ones end in the middle of the next cut. A checkpoint after six.
fn story(bucket: &Arc<Memory>, me: &str) -> Result<(), RequestError> {
    let (mut log, mut tree) = Log::open(Arc::clone(bucket) as Arc<dyn Bucket>, me.to_owned())?;
    log.begin_as_writer(me)?;
    let first = tree.next;
    for turn in 0..10 {
        let mut draft = SegmentDraft::default();
        let (ino, number) = (first + turn, log.next_segment());
        if turn % 2 == 0 {
            file(&mut draft, number, ino, &format!("{me}{turn}"), b"ACGT");
            draft.append_record(&TreeRecord::Cut);
            // Half of the next.
            draft.append_record(&TreeRecord::File {
                ino: ino + 1,
                kind: Kind::Plain,
                attr: Attr::default(),
            });
        } else {
            let name = format!("{me}{turn}");
            draft.append_record(&TreeRecord::Name { folder: ROOT, name: name.as_bytes(), ino });
            draft.append_record(&TreeRecord::Cut);
        }
        log.write_segment(draft.encode_segment(number).into())?;
        if turn == 5 {
            tree = Log::open(Arc::clone(bucket) as Arc<dyn Bucket>, me.to_owned())?.1;
            log.write_checkpoint(&tree)?;
        }
    }
    Ok(())
}

fn open(bucket: &Arc<Memory>) -> Result<(Log, VolumeTree), RequestError> {
    Log::open(Arc::clone(bucket) as Arc<dyn Bucket>, "reader".to_owned())
}

#[test]
fn after_a_stop_at_any_write_the_tree_is_what_it_was_at_some_cut() {
    for stop in 0..=12 {
        let bucket = Memory::new();
        bucket.lives(Some(stop));
        let done = story(&bucket, "a");
        assert_eq!(done.is_ok(), stop == 12, "{stop}: {done:?}");
        bucket.lives(None);
        let (_, tree) = open(&bucket).expect("it opens");
        // The first write says who; the eighth is the checkpoint.
        let cuts = stop.saturating_sub(1) - u32::from(stop > 7);
        let expected: Vec<String> = (0..cuts).map(|turn| format!("a{turn}")).collect();
        assert_eq!(names(&tree), expected, "{stop}");
        // The next one goes on from there.
        story(&bucket, "b").expect("it goes on");
        let (_, tree) = open(&bucket).expect("it opens");
        let all: Vec<String> =
            expected.into_iter().chain((0..10).map(|turn| format!("b{turn}"))).collect();
        assert_eq!(names(&tree), all, "{stop}");
    }
}

#[test]
fn of_two_writers_the_first_is_shut_out() {
    let bucket = Memory::new();
    let (mut first, _) = open(&bucket).expect("it opens");
    first.begin_as_writer("first").expect("alone");
    let mut second = Log::open(Arc::clone(&bucket) as Arc<dyn Bucket>, "other".to_owned());
    second.as_mut().expect("it opens").0.begin_as_writer("second").expect("it takes over");
    let mut draft = SegmentDraft::default();
    file(&mut draft, first.next_segment(), 2, "late", b"x");
    draft.append_record(&TreeRecord::Cut);
    let late = first
        .write_segment(draft.encode_segment(first.next_segment()).into())
        .expect_err("shut out");
    assert_eq!(late.kind, io::ErrorKind::AlreadyExists);
    assert!(names(&open(&bucket).expect("it opens").1).is_empty());
}

#[test]
fn damage_is_named() {
    let bucket = Memory::new();
    story(&bucket, "a").expect("done");
    let last = bucket.objects.lock().keys().filter(|name| name.contains("log")).last().cloned();
    let last = last.expect("segments");
    if let Some((bytes, _)) = bucket.objects.lock().get_mut(&last) {
        let mut other = bytes.to_vec();
        other[HEADER + 2] ^= 1;
        *bytes = other.into();
    }
    let failed = open(&bucket).expect_err("damaged");
    assert_eq!(failed.kind, io::ErrorKind::InvalidData);
    assert!(failed.why.contains(&last), "{failed}");
}
