//! If these fail, engines that look at times of files do their tasks again.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use super::*;
use crate::bucket::bodies::Away;
use crate::bucket::health::Health;
use crate::bucket::memory::Memory;
use crate::bucket::placeholder::AWAY;
use crate::bucket::record::Place;
use forebay_objstore::Patience;
use forebay_os::files::stat_of;

fn file() -> (OwnedFd, FileIdentity) {
    let file: OwnedFd = tempfile::tempfile().expect("a file").into();
    let identity = FileIdentity::of(&stat_of(file.as_fd(), c"").expect("attributes"));
    (file, identity)
}

#[test]
fn a_file_has_its_own_time_while_bytes_come_and_go_and_is_looked_at_again_afterwards() {
    let patience = (Patience::of(Duration::from_millis(3)), Health::untold().into());
    let bodies = std::sync::Arc::new(Bodies::new(Memory::new(), [], patience));
    let mtime = Time { sec: 978_307_200, nsec: 5 };
    let away = || Away {
        place: Place::Own { key: "k".to_owned(), size: 9, version: None },
        sums: None,
        mtime,
    };
    let (held, one) = file();
    rustix::fs::fsetxattr(&held, AWAY, b"", rustix::fs::XattrFlags::empty()).expect("a mark");
    assert_eq!(bodies.own_modification_time(&one), None);
    bodies.leave(one, 7, away());
    assert_eq!(
        bodies.own_modification_time(&one),
        Some(Modified::At(mtime)),
        "it is being made a hole"
    );
    bodies.has_left(one);
    assert_eq!(bodies.own_modification_time(&one), Some(Modified::LookAgain));

    let body = bodies.open(&one, held.as_fd()).expect("opened").expect("it is away");
    assert_eq!(bodies.own_modification_time(&one), Some(Modified::At(mtime)), "bytes come");
    let range = 0..body.size;
    assert!(matches!(body.claim(&range, u64::MAX), crate::bucket::body::Task::Bring(_)));
    body.settle(&range, true, || bodies.is_here(&body)).expect("all is here");
    assert_eq!(bodies.own_modification_time(&one), Some(Modified::At(mtime)), "until it is closed");
    bodies.close(&one, &body);
    assert_eq!(bodies.own_modification_time(&one), Some(Modified::LookAgain));

    // In the end it is a file like any other.
    let others: Vec<_> = (0..SETTLED).map(|_| file()).collect();
    for (number, (_, other)) in (8..).zip(&others) {
        bodies.leave(*other, number, away());
        bodies.has_left(*other);
    }
    assert_eq!(bodies.own_modification_time(&one), None);
    bodies.leave(one, 7, away());
    bodies.open(&one, held.as_fd()).expect("opened").expect("it is away").changes();
    assert_eq!(bodies.own_modification_time(&one), None, "a program changes it");
}
