//! Packed files that go home while the run lasts: when nobody uses them any more they are made in
//! place, hidden behind their packed names, which stay the truth. So the end of the run has to make
//! only those that came or changed last. On storage where each name is a journey, hundreds of them
//! one after the other take seconds, and one directory takes no two at a time.
//!
//! Inside, nothing of it is seen: neither the files nor the times of their directories.

mod hidden;
mod name_locks;

use std::ffi::CStr;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};
use std::time::Duration;

use forebay_model::WriteBackTrigger;
use parking_lot::{Mutex, RwLock};
use rustix::io::Errno;

use super::packed_file::PackedFile;
use super::{Native, Node, Result, boot_nanos};
use crate::tiers::{CreatorKey, UnnamedFile, make_packed_file};
use forebay_packlog::{EagerCopyAttempt, Pack, PackedEntry};

/// How long nobody must have used a file, in nanoseconds.
const IDLE: u64 = 2_000_000_000;
/// Files that are made at the same time.
const HANDS: usize = 4;
/// How often it is looked for files.
const BETWEEN: Duration = Duration::from_millis(100);
/// Files that wait at most; those that come while so many wait go home in the end.
const WAITING_MAX: usize = 1 << 16;

/// What goes home early.
#[derive(Debug, Default)]
pub(super) struct EagerWriteBack {
    /// Since when nobody has had it open.
    waiting: Mutex<std::collections::VecDeque<(u64, Arc<Node>)>>,
    /// One at a time gives a packed name a file in place, or moves or removes the name.
    names: name_locks::NameLocks,
    /// The end of the run has begun. Held to read while a file is made.
    over: RwLock<bool>,
}

/// Starts what brings files of `native` home early, if any are to go.
pub(crate) fn start_eager_write_back(native: &Arc<Native>) {
    if !native.tiers().is_some_and(|tiers| tiers.writes_back_packed_eagerly()) {
        return;
    }
    for _ in 0..HANDS {
        let weak = Arc::downgrade(native);
        let work = move || {
            // Each is to have the mode that it is made with; else all go home in the end.
            if forebay_os::credentials::set_umask(0).is_ok() {
                while write_back_next(&weak) {}
            }
        };
        // Without the thread, files go home in the end.
        let _ = std::thread::Builder::new().name("forebay-early".into()).spawn(work);
    }
}

fn write_back_next(native: &Weak<Native>) -> bool {
    let Some(native) = native.upgrade() else { return false };
    match native.early.next_due() {
        Some(node) => drop(native.write_back_eagerly(&node)),
        None => {
            let over = *native.early.over.read();
            drop(native);
            std::thread::sleep(BETWEEN);
            return !over;
        }
    }
    true
}

impl EagerWriteBack {
    fn next_due(&self) -> Option<Arc<Node>> {
        let mut waiting = self.waiting.lock();
        let now = boot_nanos();
        let is_due = waiting.front().is_some_and(|(since, _)| now.saturating_sub(*since) >= IDLE);
        if is_due { waiting.pop_front().map(|(_, node)| node) } else { None }
    }
}

impl Native {
    pub(super) fn writes_back_packed_eagerly(&self) -> bool {
        self.tiers().is_some_and(|tiers| tiers.writes_back_packed_eagerly())
    }

    /// A file that was written was closed.
    pub(super) fn queue_eager_write_back(&self, node: &Arc<Node>) {
        if node.packed.get().is_some() && self.writes_back_packed_eagerly() {
            let mut waiting = self.early.waiting.lock();
            if waiting.len() < WAITING_MAX {
                waiting.push_back((boot_nanos(), Arc::clone(node)));
            }
        }
    }

    /// Nothing more goes early; what is under way is waited for.
    pub(super) fn stop_eager_write_back(&self) {
        *self.early.over.write() = true;
    }

    fn write_back_eagerly(&self, node: &Arc<Node>) -> Option<()> {
        let over = self.early.over.read();
        let (packed, pack, tiers) = (node.packed.get()?, self.pack()?, self.tiers()?);
        let (parent, name) = node.newest_name().filter(|_| !*over)?;
        let dir = self.node(parent).ok()?;
        // Without trust its times could not be told from those that others gave it.
        self.metadata_cache_timeout(&dir)?;
        let rule = tiers.rule_for_file(&self.path_of(node), || CreatorKey::Packed(packed.ino));
        if !rule.is_some_and(|rule| rule.drain == WriteBackTrigger::Closed) {
            return None;
        }
        let turn = pack.begin_eager_write_back(packed.ino)?;
        let done = self.write_back_if_unused(pack, turn, packed, (&dir, &name));
        if done.is_none() {
            pack.cancel_eager_write_back(turn);
        }
        done
    }

    fn write_back_if_unused(
        &self,
        pack: &Pack,
        turn: EagerCopyAttempt,
        packed: &PackedFile,
        (dir, name): (&Arc<Node>, &CStr),
    ) -> Option<()> {
        // Whoever opens it to write from here on is noticed; who has it open is, too. Looked at
        // before the file is: who closes it now has not told all of it to the pack until then.
        if packed.is_in_use() {
            return None;
        }
        let is_free = |found: &PackedEntry| {
            found.ino == packed.ino
                && found.links == 1
                && (found.over, found.yields, found.lands) == (None, None, None)
        };
        let (_, key) = self.pack_and_key(dir)?;
        let found = pack.lookup_name(key, name.to_bytes()).filter(is_free)?;
        // A mapping made in passthrough outlives the close that we hear of, and nothing tells
        // whether there is one: such files come home when the run ends.
        let is_lent = self.passthrough.load(Relaxed) && pack.stat_data_file(packed.ino).is_some();
        if is_lent { None } else { self.make_hidden_file(turn, dir, name, &found).ok() }
    }

    fn make_hidden_file(
        &self,
        turn: EagerCopyAttempt,
        dir: &Arc<Node>,
        name: &CStr,
        found: &PackedEntry,
    ) -> Result<()> {
        let (pack, key) = self.pack_and_key(dir).ok_or(Errno::STALE)?;
        let fd = self.dir_fd_of(dir)?;
        let mut made = None;
        let announce = |new| {
            let held = self.lock_name(dir, name);
            let hidden = self.begin_hidden_creation(dir, fd.as_fd(), name)?;
            pack.hide_in_place_file(turn, key, name.to_bytes(), new)?;
            made = Some(new);
            Ok((hidden, held))
        };
        let new = match UnnamedFile::create_nameless(&fd, found) {
            Err(Errno::OPNOTSUPP) => {
                UnnamedFile::create_on_staging_path(self.staging_path()?, turn.staging_name())?
            }
            new => new?,
        };
        let done = make_packed_file(pack, found, new, (&fd, name), false, announce).map(drop);
        match (&done, made) {
            (Ok(()), Some(new)) => pack.finish_eager_write_back(turn, new),
            (Err(_), Some(new)) => pack.unhide_in_place_file(turn, key, name.to_bytes(), new),
            _ => {}
        }
        done
    }
}

#[cfg(test)]
mod tests;
