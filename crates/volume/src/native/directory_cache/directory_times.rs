//! The times that a directory shows, where those in place say something else: they are behind its
//! packed names, or ahead of what is to be seen.

use parking_lot::MutexGuard;
use rustix::fs::Statx;

use super::{CachedDirectory, ObservationTime};
use forebay_packlog::Time;

/// Of modification, and of change.
type Stamps = [Time; 2];

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(in crate::native) struct DirectoryTimes {
    /// The last change of packed names, which the directory in place does not show yet; and since
    /// when.
    touched: Option<(Time, ObservationTime)>,
    /// Set when files were made there early.
    held: Option<OverriddenTimes>,
    /// What was shown when its times were set in place, and what is there since: setting them is no
    /// change that a program made, and `tar` would take it for one.
    settled: Option<[Stamps; 2]>,
}

/// What the directory would show without those files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct OverriddenTimes {
    shown: Stamps,
    /// In place before the last of them was made, for who has looked then and tells it now, and
    /// after. Whatever else is found there is somebody's, and counts.
    place: [Stamps; 2],
    /// One gets its name.
    busy: bool,
}

impl DirectoryTimes {
    /// We changed something in place.
    pub(super) fn note_change(&mut self, time: impl FnOnce() -> Time) {
        if let Some(held) = &mut self.held {
            // A file that was made at the same time may have hidden it.
            held.shown = [time(); 2];
        }
    }

    /// A file is about to be made early in a directory that has these attributes in place. Returns
    /// whether nothing was to be set in place until now.
    pub(super) fn begin_hidden_creation(&mut self, stat: &Statx) -> bool {
        let first = self.is_empty();
        let (now, shown) =
            (time_stamps(stat), DirectoryTimes { touched: None, ..*self }.exposed_stat(*stat));
        self.held =
            Some(OverriddenTimes { shown: time_stamps(&shown), place: [now; 2], busy: true });
        first
    }

    /// It was made, and the directory has these attributes now, if that is known.
    pub(super) fn end_hidden_creation(&mut self, stat: Option<&Statx>) {
        if let Some(held) = &mut self.held {
            held.busy = false;
            held.place[1] = stat.map_or(held.place[0], time_stamps);
        }
    }

    /// A directory is as old as the last change of a name in it, packed or not.
    pub(in crate::native) fn exposed_stat(&self, mut stat: Statx) -> Statx {
        for (which, stamp) in [&mut stat.stx_mtime, &mut stat.stx_ctime].into_iter().enumerate() {
            let in_place = Time::from_timestamp(stamp);
            let mut time = in_place;
            if let Some([shown, place]) = &self.settled
                && place[which] == in_place
            {
                time = shown[which];
            }
            if let Some(held) = &self.held
                && (held.busy || held.place.iter().any(|place| place[which] == in_place))
            {
                time = held.shown[which];
            }
            time = self.touched.map_or(time, |(touched, _)| touched.max(time));
            (stamp.tv_sec, stamp.tv_nsec) = (time.sec, time.nsec);
        }
        stat
    }

    pub(in crate::native) fn is_empty(&self) -> bool {
        self.touched.is_none() && self.held.is_none()
    }
}

fn time_stamps(stat: &Statx) -> Stamps {
    [Time::from_timestamp(&stat.stx_mtime), Time::from_timestamp(&stat.stx_ctime)]
}

impl CachedDirectory {
    /// Nobody else sets its times, or makes a file early there, as long as this is held.
    pub(in crate::native) fn lock_times(&self) -> MutexGuard<'_, ()> {
        self.1.lock()
    }

    /// A packed name in it changed. Returns whether that is the first since its times were set.
    pub(in crate::native) fn note_packed_change(&self, time: Time, now: ObservationTime) -> bool {
        let times = &mut self.0.lock().times;
        let first = times.is_empty();
        times.touched = Some((time, times.touched.map_or(now, |(_, since)| since)));
        times.note_change(|| time);
        first
    }

    /// Since when its times in place are behind. Where files are made early they are set in the
    /// end: until then there may be more.
    pub(in crate::native) fn touched_since(&self) -> Option<ObservationTime> {
        let times = self.pending_times();
        times.held.map(|_| ObservationTime::MAX).or(times.touched.map(|(_, since)| since))
    }

    /// What its times in place are to become.
    pub(in crate::native) fn pending_times(&self) -> DirectoryTimes {
        self.0.lock().times
    }

    /// They are set in place, where the directory had the first attributes and has the second now.
    /// False: there are newer ones.
    pub(in crate::native) fn confirm_times_set(
        &self,
        times: &DirectoryTimes,
        stats: Option<(Statx, Statx)>,
    ) -> bool {
        let now = &mut self.0.lock().times;
        let is_all = now == times;
        if is_all {
            let settled =
                stats.map(|(was, is)| [time_stamps(&times.exposed_stat(was)), time_stamps(&is)]);
            *now = DirectoryTimes { settled, ..DirectoryTimes::default() };
        }
        is_all
    }
}
