//! The times that a directory shows, where those in place say something else: they are behind its
//! packed names, or ahead of what is to be seen.

use rustix::fs::Statx;

use super::{Folder, Moment};
use crate::pack::Time;

#[derive(Debug, Default)]
pub(super) struct Times {
    /// The last change, which the directory in place does not show yet; and since when.
    touched: Option<(Time, Moment)>,
    /// That time counts whatever the directory in place says: files were made there early.
    exact: bool,
}

impl Times {
    /// We changed something in place.
    pub(super) fn changed(&mut self, time: impl FnOnce() -> Time) {
        if let (true, Some((last, _))) = (self.exact, &mut self.touched) {
            *last = time();
        }
    }

    /// A directory is as old as the last change of a name in it, packed or not.
    pub(super) fn shown(&self, mut stat: Statx) -> Statx {
        if let Some((time, _)) = self.touched {
            for stamp in [&mut stat.stx_mtime, &mut stat.stx_ctime] {
                if self.exact || Time::of(stamp) < time {
                    (stamp.tv_sec, stamp.tv_nsec) = (time.sec, time.nsec);
                }
            }
        }
        stat
    }
}

impl Folder {
    /// From now on the directory shows this time of change, or that of later ones of ours. False:
    /// it is to be set in place already.
    pub(in crate::native) fn hold(&self, time: Time) -> bool {
        let times = &mut self.0.lock().times;
        let first = times.touched.is_none();
        let last = times.touched.map_or(time, |(last, _)| last.max(time));
        if !times.exact {
            // It is set in the end: until then there may be more.
            *times = Times { touched: Some((last, Moment::MAX)), exact: true };
        }
        first
    }

    /// A packed name in it changed. Returns whether that is the first since its times were set.
    pub(in crate::native) fn touch(&self, time: Time, now: Moment) -> bool {
        let touched = &mut self.0.lock().times.touched;
        let first = touched.is_none();
        *touched = Some((time, touched.map_or(now, |(_, since)| since)));
        first
    }

    /// Since when its times in place are behind.
    pub(in crate::native) fn touched_since(&self) -> Option<Moment> {
        self.0.lock().times.touched.map(|(_, since)| since)
    }

    /// The time of the last change of packed names; it is to be set in place now, if that is older
    /// or, with `true` beside it, whatever it is.
    pub(in crate::native) fn take_touched(&self) -> Option<(Time, bool)> {
        let times = std::mem::take(&mut self.0.lock().times);
        times.touched.map(|(time, _)| (time, times.exact))
    }
}
