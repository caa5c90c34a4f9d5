//! If these fail, engines that look at times of files do their tasks again.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use super::*;
use crate::bucket::evicted_files::EvictedFile;
use crate::bucket::health::Health;
use crate::bucket::memory::Memory;
use crate::bucket::placeholder::AWAY;
use crate::bucket::tree_record::ContentLocation;
use forebay_objstore::RetryWindow;
use forebay_os::file_identity::statx_nofollow;

fn file() -> (OwnedFd, FileIdentity) {
    let file: OwnedFd = tempfile::tempfile().expect("a file").into();
    let identity =
        FileIdentity::from_statx(&statx_nofollow(file.as_fd(), c"").expect("attributes"));
    (file, identity)
}

#[test]
fn a_file_has_its_own_time_while_bytes_come_and_go_and_is_looked_at_again_afterwards() {
    let patience =
        (RetryWindow::with_limit(Duration::from_millis(3)), Health::without_note().into());
    let bodies = std::sync::Arc::new(EvictedFiles::new(Memory::new(), [], patience));
    let mtime = Time { sec: 978_307_200, nsec: 5 };
    let away = || EvictedFile {
        place: ContentLocation::Own { key: "k".to_owned(), size: 9, version: None },
        sums: None,
        mtime,
    };
    let (held, one) = file();
    rustix::fs::fsetxattr(&held, AWAY, b"", rustix::fs::XattrFlags::empty()).expect("a mark");
    assert_eq!(bodies.own_modification_time(&one), None);
    bodies.begin_eviction(one, 7, away());
    assert_eq!(
        bodies.own_modification_time(&one),
        Some(Modified::At(mtime)),
        "it is being made a hole"
    );
    bodies.finish_eviction(one);
    assert_eq!(bodies.own_modification_time(&one), Some(Modified::LookAgain));

    let body = bodies.open_evicted_file(&one, held.as_fd()).expect("opened").expect("it is away");
    assert_eq!(bodies.own_modification_time(&one), Some(Modified::At(mtime)), "bytes come");
    let range = 0..body.size;
    assert!(matches!(
        body.claim_missing(&range, u64::MAX),
        crate::bucket::file_blocks::BlockTask::Bring(_)
    ));
    body.settle_range(&range, true, || bodies.mark_present(&body)).expect("all is here");
    assert_eq!(bodies.own_modification_time(&one), Some(Modified::At(mtime)), "until it is closed");
    bodies.close_evicted_file(&one, &body);
    assert_eq!(bodies.own_modification_time(&one), Some(Modified::LookAgain));

    // In the end it is a file like any other.
    let others: Vec<_> = (0..SETTLED).map(|_| file()).collect();
    for (number, (_, other)) in (8..).zip(&others) {
        bodies.begin_eviction(*other, number, away());
        bodies.finish_eviction(*other);
    }
    assert_eq!(bodies.own_modification_time(&one), None);
    bodies.begin_eviction(one, 7, away());
    bodies
        .open_evicted_file(&one, held.as_fd())
        .expect("opened")
        .expect("it is away")
        .mark_changed();
    assert_eq!(bodies.own_modification_time(&one), None, "a program changes it");
}
