//! Blocks that came as they were written are here, whatever comes after them.

use std::time::Duration;

use rustix::fs::XattrFlags;

use super::super::EvictedFile;
use super::*;
use crate::bucket::block_checksums::BlockChecksummer;
use crate::bucket::file_blocks::BlockTask;
use crate::bucket::health::Health;
use crate::bucket::memory::{Memory, version_of};
use crate::bucket::placeholder::AWAY;
use crate::bucket::tree_record::Time;
use forebay_objstore::RetryWindow;

const SIZE: u64 = 40 * BLOCK + 77;
const KEY: &str = "big";

/// An object, whose bytes may be other than those that its sums are of, and a file without any.
fn scene(written: &[u8], there: Vec<u8>) -> (std::sync::Arc<Memory>, EvictedFiles, FileBlocks) {
    let bucket = Memory::new();
    let place =
        ContentLocation::Own { key: KEY.to_owned(), size: SIZE, version: Some(version_of(&there)) };
    bucket.objects.lock().insert(KEY.to_owned(), (there.into(), String::new()));
    let away = EvictedFile { place: place.clone(), sums: Some(place), mtime: Time::default() };
    let file = tempfile::tempfile().expect("a file");
    file.set_len(SIZE).expect("a hole");
    rustix::fs::fsetxattr(&file, AWAY, b"", XattrFlags::empty()).expect("a mark");
    let body = FileBlocks::new(7, file.into(), SIZE, Time::default());
    let mut summing = BlockChecksummer::default();
    summing.add_bytes(written);
    body.sums.set(summing.into_checksums().into()).expect("nobody else");
    let health = std::sync::Arc::new(Health::without_note());
    let patience = (RetryWindow::with_limit(Duration::from_millis(3)), health);
    let bodies = EvictedFiles::new(std::sync::Arc::clone(&bucket) as _, [], patience);
    bodies.known.lock().away.insert(7, away);
    (bucket, bodies, body)
}

fn bytes() -> Vec<u8> {
    (0..SIZE).map(|at| ((at * at) >> 9) as u8).collect()
}

fn content(body: &FileBlocks) -> Vec<u8> {
    let mut bytes = vec![0; SIZE as usize];
    rustix::io::pread(&body.file, &mut bytes, 0).expect("read");
    bytes
}

#[test]
fn all_of_it_comes() {
    let (_, bodies, body) = scene(&bytes(), bytes());
    let BlockTask::Bring(all) = body.claim_missing(&(0..SIZE), u64::MAX) else {
        panic!("nothing is here")
    };
    let mut left = all.clone();
    bodies.stream_range(&body, &mut left).expect("it comes");
    assert_eq!((all, left), (0..SIZE, SIZE..SIZE));
    assert!(body.is_whole() && content(&body) == bytes());
}

#[test]
fn what_comes_before_wrong_bytes_is_here_and_is_not_asked_for_again() {
    let mut other = bytes();
    other[20 * BLOCK as usize + 5] ^= 1;
    let (bucket, bodies, body) = scene(&bytes(), other);
    assert!(matches!(body.claim_missing(&(0..SIZE), u64::MAX), BlockTask::Bring(_)));
    let mut left = 0..SIZE;
    let failed = bodies.stream_range(&body, &mut left).expect_err("a byte is wrong");
    assert_eq!((failed.kind, left.clone()), (io::ErrorKind::InvalidData, 20 * BLOCK..SIZE));
    assert!(failed.why.contains("block 20 "), "{failed}");
    assert_eq!(body.claim_missing(&(0..20 * BLOCK), BLOCK), BlockTask::Read);
    let asked = std::mem::take(&mut *bucket.asked.lock());
    let again = format!("{KEY} {}..{SIZE}", 20 * BLOCK);
    assert!(asked.len() > 1 && asked[1..].iter().all(|asked| *asked == again), "{asked:?}");
    assert!(!body.is_whole());
}

#[test]
fn of_an_object_in_another_state_the_checksums_decide() {
    let other = |bodies: &EvictedFiles| {
        let mut known = bodies.known.lock();
        let away = known.away.get_mut(&7).expect("known");
        let version = Some("that of the bucket it was copied from".to_owned());
        away.place = ContentLocation::Own { key: KEY.to_owned(), size: SIZE, version };
    };
    let (_, bodies, body) = scene(&bytes(), bytes());
    other(&bodies);
    let first = bodies.request_range(&body, &(0..BLOCK)).expect("a part comes");
    assert_eq!(first, bytes()[..BLOCK as usize]);
    assert!(matches!(body.claim_missing(&(0..SIZE), u64::MAX), BlockTask::Bring(_)));
    bodies.stream_range(&body, &mut (0..SIZE)).expect("all of it comes");
    assert!(body.is_whole() && content(&body) == bytes());

    // Somebody has changed it.
    let mut changed = bytes();
    changed[5] ^= 1;
    let (_, bodies, body) = scene(&bytes(), changed);
    other(&bodies);
    let failed = bodies.request_range(&body, &(0..BLOCK)).expect_err("another byte");
    assert_eq!(failed.kind, io::ErrorKind::StaleNetworkFileHandle, "{failed}");
    let failed = bodies.stream_range(&body, &mut (0..SIZE)).expect_err("another byte");
    assert_eq!(failed.kind, io::ErrorKind::StaleNetworkFileHandle, "{failed}");
}
