//! A file's own time of modification, while bytes come and go that change it on this machine's disk.

use std::sync::atomic::Ordering::Relaxed;

use rustix::fs::Statx;

use super::super::tree_record::Time;
use super::eviction_state::EvictionState;
use super::{EvictedFiles, Result};
use forebay_os::file_identity::FileIdentity;

/// So many files that came or went are known: whoever looked at one meanwhile has long had time to
/// ask.
const SETTLED: usize = 64;

/// What is known of a time of modification that was read a moment ago.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Modified {
    /// Bytes come or go: it is this.
    At(Time),
    /// They have just done so: it is what the file has now.
    LookAgain,
}

impl EvictedFiles {
    /// Gives attributes that were read the file's own time of modification; `again` reads them once
    /// more.
    pub(in super::super) fn give_times(
        &self,
        file: &FileIdentity,
        stat: &mut Statx,
        again: &dyn Fn() -> Result<Statx>,
    ) {
        match self.own_modification_time(file) {
            None => {}
            Some(Modified::At(mtime)) => {
                (stat.stx_mtime.tv_sec, stat.stx_mtime.tv_nsec) = (mtime.sec, mtime.nsec);
            }
            // What was read may be from before they had all come.
            Some(Modified::LookAgain) => {
                stat.stx_mtime = again().map_or(stat.stx_mtime, |now| now.stx_mtime);
            }
        }
    }

    /// The file's own time of modification, where bytes that come or go change it; `None`: it is the
    /// one that was read.
    fn own_modification_time(&self, identity: &FileIdentity) -> Option<Modified> {
        if self.count.load(Relaxed) == 0 {
            return None;
        }
        let known = self.known.lock();
        if let Some(body) = known.bodies.get(identity) {
            return (!body.changed.load(Relaxed)).then_some(Modified::At(body.mtime));
        }
        let leaving = known.leaving.get(identity).map(|mtime| Modified::At(*mtime));
        leaving.or_else(|| known.settled.contains(identity).then_some(Modified::LookAgain))
    }

    /// A file is a hole with its own time.
    pub(crate) fn finish_eviction(&self, identity: FileIdentity) {
        let mut known = self.known.lock();
        if known.leaving.remove(&identity).is_some() {
            self.count.fetch_sub(1, Relaxed);
            self.note_settled(&mut known, identity);
        }
    }

    pub(super) fn note_settled(&self, known: &mut EvictionState, identity: FileIdentity) {
        let before = known.settled.len();
        known.settled.retain(|other| *other != identity);
        known.settled.push_back(identity);
        if known.settled.len() > SETTLED {
            known.settled.pop_front();
        }
        self.count.fetch_add(known.settled.len() - before, Relaxed);
    }
}

#[cfg(test)]
mod tests;
