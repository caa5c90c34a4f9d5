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
    stat.stx_ctime.tv_sec = seconds;
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
    let hides = folder.begin_hidden(c"hidden", folder.changes(), &stat(1));
    assert!(hides.is_some() && !folder.begin_listing());
    folder.end_hidden(folder.changes(), 4, Some(stat(1)));
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
    let times = folder.times();
    folder.touch(time(8), 3);
    assert!(!folder.times_are_set(&times, None), "there is a newer one");
    assert!(folder.times_are_set(&folder.times(), None));
    assert_eq!((folder.times().is_empty(), folder.touched_since()), (true, None));
}

/// If this fails, `tar` says "file changed as we read it" of a directory in which nothing changed.
#[test]
fn that_times_are_set_in_place_does_not_show() {
    let folder = Folder::default();
    let seen = |there| folder.shown(stat(there)).stx_ctime.tv_sec;
    folder.touch(Time { sec: 7, nsec: 0 }, 1);
    assert_eq!(seen(3), 7);
    assert!(folder.times_are_set(&folder.times(), Some((stat(3), stat(8)))));
    assert_eq!(seen(8), 7, "no program has changed it since");
    assert_eq!(seen(9), 9, "somebody has");
    assert!(folder.touch(Time { sec: 11, nsec: 0 }, 1) && seen(8) == 11);
}

/// Makes a file early in a directory that has one time in place before, and another after.
fn make_early(folder: &Folder, name: &CStr, before: i64, after: i64) {
    assert!(folder.begin_hidden(name, folder.changes(), &stat(before)).is_some());
    folder.end_hidden(folder.changes(), 0, Some(stat(after)));
}

#[test]
fn what_is_made_early_does_not_show() {
    let folder = Folder::default();
    let time = |sec| Time { sec, nsec: 0 };
    let seen = |there| folder.shown(stat(there)).stx_mtime.tv_sec;
    folder.is_new(0, true);
    let changes = folder.changes();
    assert_eq!(folder.begin_hidden(c"a", changes, &stat(5)), Some(true));
    assert_eq!(seen(9), 5, "it gets its name just now");
    folder.end_hidden(folder.changes(), 0, Some(stat(9)));
    assert_eq!(folder.ask(c"a", 1, TRUST), Known::Open);
    assert_eq!((seen(9), seen(5)), (5, 5), "whenever it was looked at");
    assert_eq!(folder.stat(1, TRUST).map(|stat| stat.stx_mtime.tv_sec), Some(5), "it is known");
    folder.keep_stat(changes, 0, stat(7));
    assert_eq!(folder.stat(1, TRUST).map(|stat| stat.stx_mtime.tv_sec), Some(5), "seen before");
    make_early(&folder, c"b", 9, 12);
    assert_eq!((seen(12), folder.touched_since()), (5, Some(Moment::MAX)));
    assert!(!folder.touch(time(8), 1), "it is on the list already");
    assert_eq!(seen(12), 8);
    let times = folder.times();
    assert_eq!(times.shown(stat(12)).stx_mtime.tv_sec, 8);
    assert!(folder.times_are_set(&times, None));
    assert_eq!(seen(12), 12);
}

#[test]
fn what_others_do_beside_files_that_go_early_shows() {
    let folder = Folder::default();
    let time = |sec| Time { sec, nsec: 0 };
    let seen = |there| folder.shown(stat(there)).stx_mtime.tv_sec;
    make_early(&folder, c"a", 5, 9);
    assert_eq!(seen(10), 10, "somebody outside made something");
    make_early(&folder, c"b", 10, 11);
    assert_eq!(seen(11), 10);
    // We make something while one gets its name: in place the two are one.
    let before = folder.changes();
    assert!(folder.begin_hidden(c"c", before, &stat(11)).is_some());
    folder.begin(Some(c"ours"));
    folder.end(|| time(12));
    folder.end_hidden(folder.changes(), 0, Some(stat(13)));
    assert_eq!(seen(13), 12);
    assert_eq!(folder.begin_hidden(c"d", before, &stat(11)), None, "seen before it was made");
    assert!(folder.begin_listing(), "nothing is under way");
    folder.listed(0, None::<std::iter::Empty<&[u8]>>);
}
