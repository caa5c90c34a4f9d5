//! If these fail, a file that is there is not found, or one of another time is shown.
use super::*;

const TRUST: u64 = 100;

fn list(folder: &Folder, now: Moment, names: &[&[u8]]) {
    assert!(folder.begin_listing());
    folder.listed(now, Some(names.iter().copied()));
}

fn stat(seconds: i64) -> Statx {
    // SAFETY: plain numbers, for which zero is a value.
    let mut stat: Statx = unsafe { std::mem::zeroed() };
    stat.stx_mtime.tv_sec = seconds;
    stat
}

#[test]
fn names_are_absent_only_after_a_listing_and_for_a_while() {
    let folder = Folder::default();
    let asked: Vec<_> = (0..4).map(|_| folder.ask(c"a", 0, TRUST)).collect();
    assert_eq!(asked, [Known::Open, Known::Open, Known::List, Known::List]);
    list(&folder, 0, &[b"a"]);
    assert_eq!(folder.ask(c"a", 99, TRUST), Known::Open);
    assert_eq!(folder.ask(c"b", 99, TRUST), Known::Absent);
    assert_eq!(folder.ask(c"b", 99, 50), Known::Open, "this name is trusted for less");
    assert_eq!(folder.ask(c"b", 100, TRUST), Known::Open, "it was long ago");
}

#[test]
fn what_we_make_is_there_whenever_it_is_made() {
    let folder = Folder::default();
    folder.is_new(0, true);
    assert_eq!(folder.ask(c"a", 1, TRUST), Known::Absent);
    folder.begin(Some(c"a"));
    assert_eq!(folder.ask(c"a", 1, TRUST), Known::Open, "before it is done");
    folder.end(Time::default);
    folder.is_new(2, true);
    assert_eq!(folder.ask(c"a", 3, TRUST), Known::Open, "it is not new any more");
    // One that is begun is not to be missed by a listing that comes before it is there.
    folder.begin(Some(c"late"));
    assert!(!folder.begin_listing());
    folder.end(Time::default);
    folder.begin_hidden(c"hidden");
    assert!(!folder.begin_listing());
    folder.end_hidden();
    // Made while the names are listed, by a listing that had passed its place.
    assert!(folder.begin_listing() && !folder.begin_listing());
    folder.begin(Some(c"b"));
    folder.end(Time::default);
    folder.listed(5, Some([&b"x"[..]].into_iter()));
    assert_eq!(folder.ask(c"b", 6, TRUST), Known::Open);
    assert_eq!(folder.ask(c"a", 6, TRUST), Known::Absent, "the listing did not find it");
}

#[test]
fn a_directory_that_can_not_be_listed_is_asked_each_time() {
    let folder = Folder::default();
    assert!(folder.begin_listing());
    folder.listed(0, None::<std::iter::Empty<&[u8]>>);
    assert!((0..9).all(|_| folder.ask(c"a", 1, TRUST) == Known::Open));
    let later: Vec<_> = (0..3).map(|_| folder.ask(c"a", 100, TRUST)).collect();
    assert_eq!(later.last(), Some(&Known::List), "it is tried again");
}

#[test]
fn attributes_seen_beside_a_change_are_not_kept() {
    let folder = Folder::default();
    let before = folder.changes();
    folder.keep_stat(before, 0, stat(1));
    assert_eq!(folder.stat(50, TRUST).map(|stat| stat.stx_mtime.tv_sec), Some(1));
    assert!(folder.stat(100, TRUST).is_none(), "it was long ago");
    folder.begin(Some(c"a"));
    assert!(folder.stat(50, TRUST).is_none());
    let during = folder.changes();
    folder.keep_stat(before, 0, stat(1));
    assert!(folder.stat(50, TRUST).is_none(), "asked before, answered since");
    folder.end(Time::default);
    folder.keep_stat(during, 0, stat(1));
    assert!(folder.stat(50, TRUST).is_none(), "asked while it was made");
}

#[test]
fn a_directory_has_its_name_until_we_change_it() {
    let folder = Folder::default();
    let before = folder.changes();
    folder.keep_dir(before, 0, c"a", 7);
    folder.keep_dir(before, 0, c"b", 8);
    assert_eq!((folder.dir(c"a", 99, TRUST), folder.dir(c"a", 100, TRUST)), (Some(7), None));
    folder.begin(Some(c"a"));
    folder.end(Time::default);
    assert_eq!((folder.dir(c"a", 1, TRUST), folder.dir(c"b", 1, TRUST)), (None, Some(8)));
    folder.keep_dir(before, 0, c"a", 7);
    assert_eq!(folder.dir(c"a", 1, TRUST), None, "found before it was changed");
}

#[test]
fn rights_and_lists_end_with_a_change_of_the_directory_itself() {
    let folder = Folder::default();
    folder.keep_plain(folder.changes(), 0);
    folder.keep_right(Right::Change, folder.changes(), 0);
    assert!(folder.is_plain(9, TRUST) && folder.has(Right::Change, 9, TRUST));
    assert!(!folder.has(Right::Search, 9, TRUST) && !folder.is_plain(100, TRUST));
    folder.begin(Some(c"a"));
    folder.end(Time::default);
    assert!(folder.is_plain(9, TRUST) && folder.has(Right::Change, 9, TRUST));
    folder.begin(None);
    folder.end(Time::default);
    assert!(!folder.is_plain(9, TRUST) && !folder.has(Right::Change, 9, TRUST));
}

#[test]
fn packed_changes_show_before_they_are_set() {
    let folder = Folder::default();
    let time = |sec| Time { sec, nsec: 0 };
    assert!(folder.touch(time(5), 1) && !folder.touch(time(7), 2));
    assert_eq!(folder.touched_since(), Some(1));
    assert_eq!(folder.shown(stat(3)).stx_mtime.tv_sec, 7);
    assert_eq!(folder.shown(stat(9)).stx_mtime.tv_sec, 9, "what is newer in place counts");
    folder.keep_stat(folder.changes(), 0, stat(3));
    assert_eq!(folder.stat(1, TRUST).map(|stat| stat.stx_mtime.tv_sec), Some(7));
    assert_eq!(folder.take_touched(), Some((time(7), false)));
    assert_eq!((folder.take_touched(), folder.touched_since()), (None, None));
}

#[test]
fn what_is_made_early_does_not_show() {
    let folder = Folder::default();
    let time = |sec| Time { sec, nsec: 0 };
    let seen = |folder: &Folder| folder.shown(stat(9)).stx_mtime.tv_sec;
    assert!(folder.hold(time(5)) && !folder.hold(time(6)));
    folder.is_new(0, true);
    folder.begin_hidden(c"a");
    folder.end_hidden();
    assert_eq!(folder.ask(c"a", 1, TRUST), Known::Open);
    assert_eq!(seen(&folder), 5, "in place it is 9");
    folder.begin(Some(c"b"));
    folder.end(|| time(7));
    assert_eq!(seen(&folder), 7);
    assert!(!folder.touch(time(8), 1), "it is on the list already");
    assert_eq!((seen(&folder), folder.touched_since()), (8, Some(Moment::MAX)));
    assert_eq!(folder.take_touched(), Some((time(8), true)));
    assert_eq!(seen(&folder), 9);
}
