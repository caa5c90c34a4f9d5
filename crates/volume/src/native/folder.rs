//! What is known of one directory in place whose names may be believed for a while: which names
//! are not in it, its attributes, and when packed names in it changed. It asks nobody; times come
//! from outside.
//!
//! What we change ourselves is told before it is done and after: what was seen in between is not
//! kept. Names are only added, so that a name that is there is never taken for absent; a listing
//! begins anew.

use std::ffi::{CStr, CString};
use std::hash::{BuildHasher, BuildHasherDefault};

use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use rustix::fs::Statx;

use crate::pack::Time;

/// Questions about absent names that are asked before the names are listed: a listing costs about
/// as much as that.
const MISSES: u32 = 3;

/// The moment when something was seen, in nanoseconds of a clock that never goes back.
pub(super) type Moment = u64;

/// What may be asked of a directory whether or not the kernel checks it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Right {
    Search,
    Change,
}

/// What is known of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    Absent,
    /// It may be there.
    Open,
    /// The names are to be listed, which pays now.
    List,
}

#[derive(Debug, Default)]
pub(crate) struct Folder(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// Raised when a change of ours begins, and when it ends.
    changes: u64,
    stat: Option<(Moment, Box<Statx>)>,
    /// When it was seen that new files inherit no access control list.
    plain: Option<Moment>,
    search: Option<Moment>,
    change: Option<Moment>,
    /// The names in place, and when they were listed. Only hashes: two names that share one are
    /// both taken for there.
    names: Option<(Moment, FxHashSet<u64>)>,
    /// Directories that were found here: when, and the number of each. mkdir(2) of what is there
    /// makes the kernel ask for it again, however long it may believe what it knows.
    dirs: FxHashMap<CString, (Moment, u64)>,
    /// Names that came while they were listed.
    coming: Option<Vec<u64>>,
    misses: u32,
    /// Since when there is no use in listing: too many names, or not allowed.
    useless: Option<Moment>,
    /// The last change of packed names, which the directory in place does not show yet; and since
    /// when.
    touched: Option<(Time, Moment)>,
}

fn hash(name: &[u8]) -> u64 {
    BuildHasherDefault::<FxHasher>::default().hash_one(name)
}

fn is_fresh(seen: Moment, now: Moment, trust: u64) -> bool {
    now.saturating_sub(seen) < trust
}

impl Folder {
    /// We are about to change something here: `name`, or the directory itself.
    pub(super) fn begin(&self, name: Option<&CStr>) {
        let mut inner = self.0.lock();
        inner.changes += 1;
        inner.stat = None;
        if let Some(name) = name {
            inner.dirs.remove(name);
        }
        match name.map(|name| hash(name.to_bytes())) {
            Some(name) => {
                if let Some((_, names)) = &mut inner.names {
                    names.insert(name);
                }
                if let Some(coming) = &mut inner.coming {
                    coming.push(name);
                }
            }
            None => (inner.plain, inner.search, inner.change) = (None, None, None),
        }
    }

    /// The same, of its times alone.
    pub(super) fn begin_times(&self) {
        let mut inner = self.0.lock();
        inner.changes += 1;
        inner.stat = None;
    }

    /// The change has been made.
    pub(super) fn end(&self) {
        let mut inner = self.0.lock();
        inner.changes += 1;
        inner.stat = None;
    }

    /// We have made it ourselves just now, in a directory from which it inherits no list if `plain`.
    pub(super) fn is_new(&self, now: Moment, plain: bool) {
        let mut inner = self.0.lock();
        // Somebody may have found it since, and made something in it.
        if inner.changes == 0 {
            inner.names = Some((now, FxHashSet::default()));
            inner.plain = plain.then_some(now);
        }
    }

    /// What is known of a name that may be believed for `trust` nanoseconds.
    pub(super) fn ask(&self, name: &CStr, now: Moment, trust: u64) -> Known {
        let mut inner = self.0.lock();
        match &inner.names {
            Some((seen, names)) if is_fresh(*seen, now, trust) => {
                match names.contains(&hash(name.to_bytes())) {
                    true => Known::Open,
                    false => Known::Absent,
                }
            }
            _ if inner.coming.is_some() => Known::Open,
            _ if inner.useless.is_some_and(|since| is_fresh(since, now, trust)) => Known::Open,
            _ => {
                inner.misses += 1;
                if inner.misses < MISSES { Known::Open } else { Known::List }
            }
        }
    }

    /// The number of the directory that has this name.
    pub(super) fn dir(&self, name: &CStr, now: Moment, trust: u64) -> Option<u64> {
        let inner = self.0.lock();
        let (seen, id) = inner.dirs.get(name)?;
        is_fresh(*seen, now, trust).then_some(*id)
    }

    /// Keeps that a directory has this name, unless we changed something meanwhile.
    pub(super) fn keep_dir(&self, changes: u64, seen: Moment, name: &CStr, id: u64) {
        let mut inner = self.0.lock();
        if inner.changes == changes {
            inner.dirs.insert(name.to_owned(), (seen, id));
        }
    }

    /// A listing begins; false when another is under way.
    pub(super) fn begin_listing(&self) -> bool {
        let mut inner = self.0.lock();
        let first = inner.coming.is_none();
        inner.coming.get_or_insert_default();
        first
    }

    /// It is done; `None`: there was no use in it.
    pub(super) fn listed<'n>(&self, began: Moment, names: Option<impl Iterator<Item = &'n [u8]>>) {
        let mut inner = self.0.lock();
        let coming = inner.coming.take().unwrap_or_default();
        inner.misses = 0;
        match names {
            Some(names) => {
                let names = names.map(hash).chain(coming).collect();
                inner.names = Some((began, names));
            }
            None => inner.useless = Some(began),
        }
    }

    /// A number that [`Folder::keep`] asks for: that of before the question.
    pub(super) fn changes(&self) -> u64 {
        self.0.lock().changes
    }

    /// Attributes, if they are believed still.
    pub(super) fn stat(&self, now: Moment, trust: u64) -> Option<Statx> {
        let inner = self.0.lock();
        let (seen, stat) = inner.stat.as_ref()?;
        is_fresh(*seen, now, trust).then(|| shown(**stat, inner.touched))
    }

    /// Keeps attributes that were seen, unless we changed something meanwhile.
    pub(super) fn keep(&self, changes: u64, seen: Moment, stat: Statx) -> Statx {
        let mut inner = self.0.lock();
        if inner.changes == changes {
            inner.stat = Some((seen, Box::new(stat)));
        }
        shown(stat, inner.touched)
    }

    /// Attributes in place as they are to be shown.
    pub(super) fn shown(&self, stat: Statx) -> Statx {
        shown(stat, self.0.lock().touched)
    }

    pub(super) fn is_plain(&self, now: Moment, trust: u64) -> bool {
        self.0.lock().plain.is_some_and(|seen| is_fresh(seen, now, trust))
    }

    pub(super) fn keep_plain(&self, changes: u64, seen: Moment) {
        let mut inner = self.0.lock();
        if inner.changes == changes {
            inner.plain = Some(seen);
        }
    }

    pub(super) fn has(&self, right: Right, now: Moment, trust: u64) -> bool {
        let inner = self.0.lock();
        let seen = match right {
            Right::Search => inner.search,
            Right::Change => inner.change,
        };
        seen.is_some_and(|seen| is_fresh(seen, now, trust))
    }

    pub(super) fn keep_right(&self, right: Right, changes: u64, seen: Moment) {
        let mut inner = self.0.lock();
        if inner.changes == changes {
            match right {
                Right::Search => inner.search = Some(seen),
                Right::Change => inner.change = Some(seen),
            }
        }
    }

    /// A packed name in it changed. Returns whether that is the first since its times were set.
    pub(super) fn touch(&self, time: Time, now: Moment) -> bool {
        let mut inner = self.0.lock();
        let first = inner.touched.is_none();
        let since = inner.touched.map_or(now, |(_, since)| since);
        inner.touched = Some((time, since));
        first
    }

    /// Since when its times in place are behind.
    pub(super) fn touched_since(&self) -> Option<Moment> {
        self.0.lock().touched.map(|(_, since)| since)
    }

    /// The time of the last change of packed names; it is to be set in place now.
    pub(super) fn take_touched(&self) -> Option<Time> {
        self.0.lock().touched.take().map(|(time, _)| time)
    }
}

/// A directory is as old as the last change of a name in it, packed or not.
fn shown(mut stat: Statx, touched: Option<(Time, Moment)>) -> Statx {
    if let Some((time, _)) = touched {
        for stamp in [&mut stat.stx_mtime, &mut stat.stx_ctime] {
            if Time::of(stamp) < time {
                (stamp.tv_sec, stamp.tv_nsec) = (time.sec, time.nsec);
            }
        }
    }
    stat
}

#[cfg(test)]
mod tests {
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
        folder.end();
        folder.is_new(2, true);
        assert_eq!(folder.ask(c"a", 3, TRUST), Known::Open, "it is not new any more");
        // Made while the names are listed, by a listing that had passed its place.
        assert!(folder.begin_listing() && !folder.begin_listing());
        folder.begin(Some(c"b"));
        folder.end();
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
        folder.keep(before, 0, stat(1));
        assert_eq!(folder.stat(50, TRUST).map(|stat| stat.stx_mtime.tv_sec), Some(1));
        assert!(folder.stat(100, TRUST).is_none(), "it was long ago");
        folder.begin(Some(c"a"));
        assert!(folder.stat(50, TRUST).is_none());
        let during = folder.changes();
        folder.keep(before, 0, stat(1));
        assert!(folder.stat(50, TRUST).is_none(), "asked before, answered since");
        folder.end();
        folder.keep(during, 0, stat(1));
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
        folder.end();
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
        folder.end();
        assert!(folder.is_plain(9, TRUST) && folder.has(Right::Change, 9, TRUST));
        folder.begin(None);
        folder.end();
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
        folder.keep(folder.changes(), 0, stat(3));
        assert_eq!(folder.stat(1, TRUST).map(|stat| stat.stx_mtime.tv_sec), Some(7));
        assert_eq!(folder.take_touched(), Some(time(7)));
        assert_eq!((folder.take_touched(), folder.touched_since()), (None, None));
    }
}
