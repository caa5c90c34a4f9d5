//! Packed files that go home while the run lasts: when nobody uses them any more they are made in
//! place, hidden behind their packed names, which stay the truth. So the end of the run has to make
//! only those that came or changed last. On storage where each name is a journey, hundreds of them
//! one after the other take seconds, and one directory takes no two at a time.
//!
//! Inside, nothing of it is seen: neither the files nor the times of their directories.

use std::ffi::CStr;
use std::hash::{BuildHasher, BuildHasherDefault};
use std::os::fd::AsFd;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard, RwLock};
use rustc_hash::FxHasher;
use rustix::fs::{AtFlags, OFlags, unlinkat};
use rustix::io::Errno;

use super::packed::At;
use super::{Native, Node, Result, boot_nanos, is_there, reopen};
use crate::pack::{Found, Time};
use crate::tiers::{Maker, make_packed};

/// How long nobody must have used a file, in nanoseconds.
const IDLE: u64 = 2_000_000_000;
/// Files that are made at the same time.
const HANDS: usize = 4;
/// How often it is looked for files.
const BETWEEN: Duration = Duration::from_millis(100);
/// Files that wait at most; those that come while so many wait go home in the end.
const WAITING_MAX: usize = 1 << 16;
/// Names that are apart from each other.
const STRIPES: usize = 64;

/// What goes home early.
#[derive(Debug)]
pub(super) struct Early {
    /// Since when nobody has had it open.
    waiting: Mutex<std::collections::VecDeque<(u64, Arc<Node>)>>,
    /// One at a time gives a packed name a file in place, or moves or removes the name.
    names: [Mutex<()>; STRIPES],
    /// The end of the run has begun. Held to read while a file is made.
    over: RwLock<bool>,
}

impl Default for Early {
    fn default() -> Early {
        let names = [const { Mutex::new(()) }; STRIPES];
        Early { waiting: Mutex::default(), names, over: RwLock::new(false) }
    }
}

fn stripe(dir: &Node, name: &CStr) -> usize {
    let hasher = BuildHasherDefault::<FxHasher>::default();
    (hasher.hash_one((dir.id, name)) >> 32) as usize % STRIPES
}

/// Starts what brings files of `native` home early, if any are to go.
pub(crate) fn start(native: &Arc<Native>) {
    if !native.tiers().is_some_and(|tiers| tiers.any_early()) {
        return;
    }
    for _ in 0..HANDS {
        let weak = Arc::downgrade(native);
        let work = move || {
            crate::creds::set_umask(0);
            while work(&weak) {}
        };
        // Without the thread, files go home in the end.
        let _ = std::thread::Builder::new().name("forebay-early".into()).spawn(work);
    }
}

fn work(native: &Weak<Native>) -> bool {
    let Some(native) = native.upgrade() else { return false };
    match native.early.next() {
        Some(node) => drop(native.go_early(&node)),
        None => {
            let over = *native.early.over.read();
            drop(native);
            std::thread::sleep(BETWEEN);
            return !over;
        }
    }
    true
}

impl Early {
    fn next(&self) -> Option<Arc<Node>> {
        let mut waiting = self.waiting.lock();
        let now = boot_nanos();
        let due = |(since, _): &mut (u64, _)| now.saturating_sub(*since) >= IDLE;
        waiting.pop_front_if(due).map(|(_, node)| node)
    }
}

impl Native {
    fn goes_early(&self) -> bool {
        self.tiers().is_some_and(|tiers| tiers.any_early())
    }

    /// A file that was written was closed.
    pub(super) fn may_go_early(&self, node: &Arc<Node>) {
        if node.packed.get().is_some() && self.goes_early() {
            let mut waiting = self.early.waiting.lock();
            if waiting.len() < WAITING_MAX {
                waiting.push_back((boot_nanos(), Arc::clone(node)));
            }
        }
    }

    /// Nothing more goes early; what is under way is waited for.
    pub(super) fn end_early(&self) {
        *self.early.over.write() = true;
    }

    /// Holds a name: nothing gets it in place meanwhile.
    pub(super) fn hold_name(&self, dir: &Node, name: &CStr) -> Option<MutexGuard<'_, ()>> {
        self.goes_early().then(|| self.early.names[stripe(dir, name)].lock())
    }

    /// Holds two.
    pub(super) fn hold_names(
        &self,
        (dir, name): (&Node, &CStr),
        (to, new): (&Node, &CStr),
    ) -> [Option<MutexGuard<'_, ()>>; 2] {
        let (one, other) = (stripe(dir, name), stripe(to, new));
        if !self.goes_early() {
            return [None, None];
        }
        // In one order, so that nobody waits for who waits for them.
        let first = self.early.names[one.min(other)].lock();
        let second = (one != other).then(|| self.early.names[one.max(other)].lock());
        [Some(first), second]
    }

    /// Removes what is hidden behind a packed name that is about to lead elsewhere.
    pub(super) fn unhide(&self, at: At<'_>, found: &Found) -> Result<()> {
        let Some(pack) = self.pack() else { return Ok(()) };
        if found.over.is_some_and(|over| is_there(at.fd, at.name, over)) {
            pack.not_early(found.ino);
            let _change = self.changing(at.dir, Some(at.name));
            match unlinkat(at.fd, at.name, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(other) => return Err(other),
            }
        }
        Ok(())
    }

    fn go_early(&self, node: &Arc<Node>) -> Option<()> {
        let over = self.early.over.read();
        let (packed, pack, tiers) = (node.packed.get()?, self.pack()?, self.tiers()?);
        if *over || packed.is_in_use() {
            return None;
        }
        let (parent, name) = node.name()?;
        let dir = self.node(parent).ok()?;
        // Without trust its times could not be told from those that others gave it.
        self.trust_of(&dir)?;
        let rule = tiers.rule_of(&self.path_of(node), || Maker::Packed(packed.ino));
        let (_, key) = self.pack_of(&dir)?;
        let found = pack.find(key, name.to_bytes())?;
        let is_free = (found.over, found.yields, found.lands) == (None, None, None);
        let is_it = found.ino == packed.ino && found.links == 1 && is_free;
        if !is_it || !rule.is_some_and(|rule| rule.early) || !pack.begin_early(packed.ino) {
            return None;
        }
        let done = self.make_early(&dir, &name, &found);
        if done.is_err() {
            pack.unhide(packed.ino, key, name.to_bytes());
        }
        done.ok()
    }

    fn make_early(&self, dir: &Arc<Node>, name: &CStr, found: &Found) -> Result<()> {
        let (pack, key) = self.pack_of(dir).ok_or(Errno::STALE)?;
        let path = self.dir_fd_of(dir)?;
        let fd = reopen(path.as_fd(), OFlags::RDONLY | OFlags::DIRECTORY)?;
        let before = self.stat_dir(dir, path.as_fd())?;
        if dir.folder().hold(Time::of(&before.stx_mtime)) {
            self.note_touched(dir);
        }
        let mut made = None;
        let announce = |new| {
            let held = self.hold_name(dir, name);
            pack.hide(found.ino, key, name.to_bytes(), new)?;
            made = Some(new);
            dir.folder().begin(Some(name));
            Ok(held)
        };
        let done = make_packed(pack, found, (&fd, name), announce);
        dir.folder().end_unseen();
        if let (Ok(()), Some(new)) = (&done, made) {
            pack.made_early(found.ino, new);
        }
        done
    }
}
