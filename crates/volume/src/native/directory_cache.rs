//! What is known of one directory in place whose names may be believed for a while: which names
//! are not in it, its attributes, and when packed names in it changed. It asks nobody; times come
//! from outside.
//!
//! What we change ourselves is told before it is done and after: what was seen in between is not
//! kept. Names are only added, so that a name that is there is never taken for absent; a listing
//! begins anew, and not while something is changed.

mod directory_times;
mod known_names;
#[cfg(test)]
mod tests;

use std::ffi::{CStr, CString};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use rustix::fs::Statx;

use directory_times::DirectoryTimes;
use forebay_packlog::Time;
use known_names::KnownNames;
pub(super) use known_names::NamePresence;

/// The moment when something was seen, in nanoseconds of a clock that never goes back.
pub(super) type ObservationTime = u64;

/// What may be asked of a directory whether or not the kernel checks it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DirectoryRight {
    Search,
    Change,
}

/// What is known, and who may set its times.
#[derive(Debug, Default)]
pub(crate) struct CachedDirectory(Mutex<Inner>, Mutex<()>);

#[derive(Debug, Default)]
struct Inner {
    /// Raised when a change of ours begins, and when it ends.
    changes: u64,
    /// Changes that have begun and not ended.
    under_way: u32,
    stat: Option<(ObservationTime, Box<Statx>)>,
    /// When it was seen that new files inherit no access control list.
    plain: Option<ObservationTime>,
    /// The directory's time of change when the same was seen last, however long ago.
    plain_since: Option<Time>,
    search: Option<ObservationTime>,
    change: Option<ObservationTime>,
    names: KnownNames,
    /// Directories that were found here: when, and the number of each. mkdir(2) of what is there
    /// makes the kernel ask for it again, however long it may believe what it knows.
    dirs: FxHashMap<CString, (ObservationTime, u64)>,
    times: DirectoryTimes,
}

fn is_fresh(seen: ObservationTime, now: ObservationTime, trust: u64) -> bool {
    now.saturating_sub(seen) < trust
}

impl CachedDirectory {
    /// We are about to change something here: `name`, or the directory itself.
    pub(super) fn begin_change(&self, name: Option<&CStr>) {
        self.begin_times_change();
        let mut inner = self.0.lock();
        match name {
            Some(name) => {
                inner.dirs.remove(name);
                inner.names.note_name(name);
            }
            None => (inner.plain, inner.search, inner.change) = (None, None, None),
        }
    }

    /// The same, of its times alone.
    pub(super) fn begin_times_change(&self) {
        let mut inner = self.0.lock();
        inner.changes += 1;
        inner.under_way += 1;
        inner.stat = None;
    }

    /// The change has been made, at this time.
    pub(super) fn end_change(&self, time: impl FnOnce() -> Time) {
        self.end_times_change();
        self.0.lock().times.note_change(time);
    }

    /// The same, of its times alone.
    pub(super) fn end_times_change(&self) {
        let mut inner = self.0.lock();
        inner.changes += 1;
        inner.under_way -= 1;
        inner.stat = None;
    }

    /// A file is about to get this name, and nobody is to see anything of it: what is known of the
    /// directory stays, and its times are what they were in place after `changes`. `None`:
    /// something was changed since; else whether its times are to be set in place from now on.
    pub(super) fn begin_hidden_creation(
        &self,
        name: &CStr,
        changes: u64,
        stat: &Statx,
    ) -> Option<bool> {
        let mut inner = self.0.lock();
        if inner.changes != changes {
            return None;
        }
        inner.under_way += 1;
        inner.names.note_name(name);
        Some(inner.times.begin_hidden_creation(stat))
    }

    /// It has the name, or will not get it; these are the directory's attributes in place, seen
    /// after `changes`.
    pub(super) fn end_hidden_creation(
        &self,
        changes: u64,
        seen: ObservationTime,
        stat: Option<Statx>,
    ) {
        let mut inner = self.0.lock();
        inner.times.end_hidden_creation(stat.as_ref());
        inner.under_way -= 1;
        let is_good = inner.changes == changes && inner.under_way == 0;
        // What others have seen before is old.
        inner.changes += 1;
        inner.stat = stat.filter(|_| is_good).map(|stat| (seen, Box::new(stat)));
    }

    /// We have made it ourselves just now, in a directory from which it inherits no list if `plain`.
    pub(super) fn mark_newly_made(&self, now: ObservationTime, plain: bool) {
        let mut inner = self.0.lock();
        // Somebody may have found it since, and made something in it.
        if inner.changes == 0 {
            inner.names = KnownNames::known_empty(now);
            inner.plain = plain.then_some(now);
        }
    }

    /// What is known of a name that may be believed for `trust` nanoseconds.
    pub(super) fn check_name(&self, name: &CStr, now: ObservationTime, trust: u64) -> NamePresence {
        self.0.lock().names.check_name(name, now, trust)
    }

    /// A listing begins; false: not now, since something is changed, or another is under way.
    pub(super) fn begin_listing(&self) -> bool {
        let mut inner = self.0.lock();
        inner.under_way == 0 && inner.names.begin_listing()
    }

    /// It is done; `None`: there was no use in it.
    pub(super) fn finish_listing<'n>(
        &self,
        began: ObservationTime,
        names: Option<impl Iterator<Item = &'n [u8]>>,
    ) {
        self.0.lock().names.finish_listing(began, names);
    }

    /// The number of the directory that has this name.
    pub(super) fn cached_directory(
        &self,
        name: &CStr,
        now: ObservationTime,
        trust: u64,
    ) -> Option<u64> {
        let inner = self.0.lock();
        let (seen, id) = inner.dirs.get(name)?;
        is_fresh(*seen, now, trust).then_some(*id)
    }

    /// A number that all that keeps something asks for: that of before the question.
    pub(super) fn change_count(&self) -> u64 {
        self.0.lock().changes
    }

    /// Keeps something that was seen, unless we changed something since `changes`.
    fn store_if_unchanged(&self, changes: u64, what: impl FnOnce(&mut Inner)) {
        let mut inner = self.0.lock();
        if inner.changes == changes {
            what(&mut inner);
        }
    }

    /// That a directory has this name.
    pub(super) fn cache_directory(
        &self,
        changes: u64,
        seen: ObservationTime,
        name: &CStr,
        id: u64,
    ) {
        self.store_if_unchanged(changes, |inner| {
            inner.dirs.insert(name.to_owned(), (seen, id));
        });
    }

    /// Attributes; returns them as they are to be shown.
    pub(super) fn cache_stat(&self, changes: u64, seen: ObservationTime, stat: Statx) -> Statx {
        self.store_if_unchanged(changes, |inner| inner.stat = Some((seen, Box::new(stat))));
        self.exposed_stat(stat)
    }

    /// That new files inherit no access control list.
    pub(super) fn cache_no_acl(&self, changes: u64, seen: ObservationTime) {
        self.store_if_unchanged(changes, |inner| inner.plain = Some(seen));
    }

    /// Whether new files inherited no list when the directory had this time of change.
    pub(super) fn had_no_acl(&self, changed: Time) -> bool {
        self.0.lock().plain_since == Some(changed)
    }

    /// They do not; `None`: who gives it a list now may leave the directory the same time.
    pub(super) fn note_no_acl(&self, changed: Option<Time>) {
        self.0.lock().plain_since = changed;
    }

    /// That the one user who is served has a right.
    pub(super) fn cache_right(&self, right: DirectoryRight, changes: u64, seen: ObservationTime) {
        self.store_if_unchanged(changes, |inner| match right {
            DirectoryRight::Search => inner.search = Some(seen),
            DirectoryRight::Change => inner.change = Some(seen),
        });
    }

    /// Attributes, if they are believed still.
    pub(super) fn cached_stat(&self, now: ObservationTime, trust: u64) -> Option<Statx> {
        let inner = self.0.lock();
        let (seen, stat) = inner.stat.as_ref()?;
        is_fresh(*seen, now, trust).then(|| inner.times.exposed_stat(**stat))
    }

    /// Attributes in place as they are to be shown.
    pub(super) fn exposed_stat(&self, stat: Statx) -> Statx {
        self.0.lock().times.exposed_stat(stat)
    }

    pub(super) fn inherits_no_acl(&self, now: ObservationTime, trust: u64) -> bool {
        self.0.lock().plain.is_some_and(|seen| is_fresh(seen, now, trust))
    }

    pub(super) fn has_right(
        &self,
        right: DirectoryRight,
        now: ObservationTime,
        trust: u64,
    ) -> bool {
        let inner = self.0.lock();
        let seen = match right {
            DirectoryRight::Search => inner.search,
            DirectoryRight::Change => inner.change,
        };
        seen.is_some_and(|seen| is_fresh(seen, now, trust))
    }
}
