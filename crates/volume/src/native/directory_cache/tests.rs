//! If these fail, a file that is there is not found, or one of another time is shown.
use super::*;

const TRUST: u64 = 100;

fn list(folder: &CachedDirectory, now: ObservationTime, names: &[&[u8]]) {
    assert!(folder.begin_listing());
    folder.finish_listing(now, Some(names.iter().copied()));
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
    let folder = CachedDirectory::default();
    let asked: Vec<_> = (0..4).map(|_| folder.check_name(c"a", 0, TRUST)).collect();
    assert_eq!(
        asked,
        [NamePresence::Open, NamePresence::Open, NamePresence::List, NamePresence::List]
    );
    list(&folder, 0, &[b"a"]);
    assert_eq!(folder.check_name(c"a", 99, TRUST), NamePresence::Open);
    assert_eq!(folder.check_name(c"b", 99, TRUST), NamePresence::Absent);
    assert_eq!(
        folder.check_name(c"b", 99, 50),
        NamePresence::Open,
        "this name is trusted for less"
    );
    assert_eq!(folder.check_name(c"b", 100, TRUST), NamePresence::Open, "it was long ago");
}

#[test]
fn what_we_make_is_there_whenever_it_is_made() {
    let folder = CachedDirectory::default();
    folder.mark_newly_made(0, true);
    assert_eq!(folder.check_name(c"a", 1, TRUST), NamePresence::Absent);
    folder.begin_change(Some(c"a"));
    assert_eq!(folder.check_name(c"a", 1, TRUST), NamePresence::Open, "before it is done");
    folder.end_change(Time::default);
    folder.mark_newly_made(2, true);
    assert_eq!(folder.check_name(c"a", 3, TRUST), NamePresence::Open, "it is not new any more");
    // One that is begun is not to be missed by a listing that comes before it is there.
    folder.begin_change(Some(c"late"));
    assert!(!folder.begin_listing());
    folder.end_change(Time::default);
    let hides = folder.begin_hidden_creation(c"hidden", folder.change_count(), &stat(1));
    assert!(hides.is_some() && !folder.begin_listing());
    folder.end_hidden_creation(folder.change_count(), 4, Some(stat(1)));
    // Made while the names are listed, by a listing that had passed its place.
    assert!(folder.begin_listing() && !folder.begin_listing());
    folder.begin_change(Some(c"b"));
    folder.end_change(Time::default);
    folder.finish_listing(5, Some([&b"x"[..]].into_iter()));
    assert_eq!(folder.check_name(c"b", 6, TRUST), NamePresence::Open);
    assert_eq!(
        folder.check_name(c"a", 6, TRUST),
        NamePresence::Absent,
        "the listing did not find it"
    );
}

#[test]
fn a_directory_that_can_not_be_listed_is_asked_each_time() {
    let folder = CachedDirectory::default();
    assert!(folder.begin_listing());
    folder.finish_listing(0, None::<std::iter::Empty<&[u8]>>);
    assert!((0..9).all(|_| folder.check_name(c"a", 1, TRUST) == NamePresence::Open));
    let later: Vec<_> = (0..3).map(|_| folder.check_name(c"a", 100, TRUST)).collect();
    assert_eq!(later.last(), Some(&NamePresence::List), "it is tried again");
}

#[test]
fn attributes_seen_beside_a_change_are_not_kept() {
    let folder = CachedDirectory::default();
    let before = folder.change_count();
    folder.cache_stat(before, 0, stat(1));
    assert_eq!(folder.cached_stat(50, TRUST).map(|stat| stat.stx_mtime.tv_sec), Some(1));
    assert!(folder.cached_stat(100, TRUST).is_none(), "it was long ago");
    folder.begin_change(Some(c"a"));
    assert!(folder.cached_stat(50, TRUST).is_none());
    let during = folder.change_count();
    folder.cache_stat(before, 0, stat(1));
    assert!(folder.cached_stat(50, TRUST).is_none(), "asked before, answered since");
    folder.end_change(Time::default);
    folder.cache_stat(during, 0, stat(1));
    assert!(folder.cached_stat(50, TRUST).is_none(), "asked while it was made");
}

#[test]
fn a_directory_has_its_name_until_we_change_it() {
    let folder = CachedDirectory::default();
    let before = folder.change_count();
    folder.cache_directory(before, 0, c"a", 7);
    folder.cache_directory(before, 0, c"b", 8);
    assert_eq!(
        (folder.cached_directory(c"a", 99, TRUST), folder.cached_directory(c"a", 100, TRUST)),
        (Some(7), None)
    );
    folder.begin_change(Some(c"a"));
    folder.end_change(Time::default);
    assert_eq!(
        (folder.cached_directory(c"a", 1, TRUST), folder.cached_directory(c"b", 1, TRUST)),
        (None, Some(8))
    );
    folder.cache_directory(before, 0, c"a", 7);
    assert_eq!(folder.cached_directory(c"a", 1, TRUST), None, "found before it was changed");
}

#[test]
fn rights_and_lists_end_with_a_change_of_the_directory_itself() {
    let folder = CachedDirectory::default();
    folder.cache_no_acl(folder.change_count(), 0);
    folder.cache_right(DirectoryRight::Change, folder.change_count(), 0);
    assert!(folder.inherits_no_acl(9, TRUST) && folder.has_right(DirectoryRight::Change, 9, TRUST));
    assert!(
        !folder.has_right(DirectoryRight::Search, 9, TRUST) && !folder.inherits_no_acl(100, TRUST)
    );
    folder.begin_change(Some(c"a"));
    folder.end_change(Time::default);
    assert!(folder.inherits_no_acl(9, TRUST) && folder.has_right(DirectoryRight::Change, 9, TRUST));
    folder.begin_change(None);
    folder.end_change(Time::default);
    assert!(
        !folder.inherits_no_acl(9, TRUST) && !folder.has_right(DirectoryRight::Change, 9, TRUST)
    );
}

#[test]
fn packed_changes_show_before_they_are_set() {
    let folder = CachedDirectory::default();
    let time = |sec| Time { sec, nsec: 0 };
    assert!(folder.note_packed_change(time(5), 1) && !folder.note_packed_change(time(7), 2));
    assert_eq!(folder.touched_since(), Some(1));
    assert_eq!(folder.exposed_stat(stat(3)).stx_mtime.tv_sec, 7);
    assert_eq!(folder.exposed_stat(stat(9)).stx_mtime.tv_sec, 9, "what is newer in place counts");
    folder.cache_stat(folder.change_count(), 0, stat(3));
    assert_eq!(folder.cached_stat(1, TRUST).map(|stat| stat.stx_mtime.tv_sec), Some(7));
    let times = folder.pending_times();
    folder.note_packed_change(time(8), 3);
    assert!(!folder.confirm_times_set(&times, None), "there is a newer one");
    assert!(folder.confirm_times_set(&folder.pending_times(), None));
    assert_eq!((folder.pending_times().is_empty(), folder.touched_since()), (true, None));
}

/// If this fails, `tar` says "file changed as we read it" of a directory in which nothing changed.
#[test]
fn that_times_are_set_in_place_does_not_show() {
    let folder = CachedDirectory::default();
    let seen = |there| folder.exposed_stat(stat(there)).stx_ctime.tv_sec;
    folder.note_packed_change(Time { sec: 7, nsec: 0 }, 1);
    assert_eq!(seen(3), 7);
    assert!(folder.confirm_times_set(&folder.pending_times(), Some((stat(3), stat(8)))));
    assert_eq!(seen(8), 7, "no program has changed it since");
    assert_eq!(seen(9), 9, "somebody has");
    assert!(folder.note_packed_change(Time { sec: 11, nsec: 0 }, 1) && seen(8) == 11);
}

/// Makes a file early in a directory that has one time in place before, and another after.
fn make_early(folder: &CachedDirectory, name: &CStr, before: i64, after: i64) {
    assert!(folder.begin_hidden_creation(name, folder.change_count(), &stat(before)).is_some());
    folder.end_hidden_creation(folder.change_count(), 0, Some(stat(after)));
}

#[test]
fn what_is_made_early_does_not_show() {
    let folder = CachedDirectory::default();
    let time = |sec| Time { sec, nsec: 0 };
    let seen = |there| folder.exposed_stat(stat(there)).stx_mtime.tv_sec;
    folder.mark_newly_made(0, true);
    let changes = folder.change_count();
    assert_eq!(folder.begin_hidden_creation(c"a", changes, &stat(5)), Some(true));
    assert_eq!(seen(9), 5, "it gets its name just now");
    folder.end_hidden_creation(folder.change_count(), 0, Some(stat(9)));
    assert_eq!(folder.check_name(c"a", 1, TRUST), NamePresence::Open);
    assert_eq!((seen(9), seen(5)), (5, 5), "whenever it was looked at");
    assert_eq!(
        folder.cached_stat(1, TRUST).map(|stat| stat.stx_mtime.tv_sec),
        Some(5),
        "it is known"
    );
    folder.cache_stat(changes, 0, stat(7));
    assert_eq!(
        folder.cached_stat(1, TRUST).map(|stat| stat.stx_mtime.tv_sec),
        Some(5),
        "seen before"
    );
    make_early(&folder, c"b", 9, 12);
    assert_eq!((seen(12), folder.touched_since()), (5, Some(ObservationTime::MAX)));
    assert!(!folder.note_packed_change(time(8), 1), "it is on the list already");
    assert_eq!(seen(12), 8);
    let times = folder.pending_times();
    assert_eq!(times.exposed_stat(stat(12)).stx_mtime.tv_sec, 8);
    assert!(folder.confirm_times_set(&times, None));
    assert_eq!(seen(12), 12);
}

#[test]
fn what_others_do_beside_files_that_go_early_shows() {
    let folder = CachedDirectory::default();
    let time = |sec| Time { sec, nsec: 0 };
    let seen = |there| folder.exposed_stat(stat(there)).stx_mtime.tv_sec;
    make_early(&folder, c"a", 5, 9);
    assert_eq!(seen(10), 10, "somebody outside made something");
    make_early(&folder, c"b", 10, 11);
    assert_eq!(seen(11), 10);
    // We make something while one gets its name: in place the two are one.
    let before = folder.change_count();
    assert!(folder.begin_hidden_creation(c"c", before, &stat(11)).is_some());
    folder.begin_change(Some(c"ours"));
    folder.end_change(|| time(12));
    folder.end_hidden_creation(folder.change_count(), 0, Some(stat(13)));
    assert_eq!(seen(13), 12);
    assert_eq!(
        folder.begin_hidden_creation(c"d", before, &stat(11)),
        None,
        "seen before it was made"
    );
    assert!(folder.begin_listing(), "nothing is under way");
    folder.finish_listing(0, None::<std::iter::Empty<&[u8]>>);
}
