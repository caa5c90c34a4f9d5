//! Watching directories for changes made outside, so that the kernel may remember names for long.
//! It tells the kernel what to forget; it keeps no names itself.
//!
//! Our own changes raise events too; they are told apart by looking: when the name leads to the
//! node that we know under it, there is nothing to forget.

use std::collections::HashMap;
use std::ffi::{CString, OsStr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

use super::{IoState, Native};
use forebay_os::file_identity::{FileIdentity, proc_fd_path, statx_nofollow};

/// Events are gathered for this long: far below the promised second, and a burst costs one wake-up.
const GATHER: Duration = Duration::from_millis(3);

/// How long a worker may take from making a name to knowing it; then it is taken for an outsider's.
const NAMED_WITHIN: Duration = Duration::from_millis(500);
/// How often cached pages of open files are compared with the files.
const MAPPED: Duration = Duration::from_millis(400);

/// Share of the user's inotify watches that one run may take.
const SHARE_OF_WATCHES: usize = 2;

#[derive(Debug, Default)]
struct WatchTable {
    node_of: FxHashMap<i32, u64>,
    watch_of: FxHashMap<u64, i32>,
}

/// A set of watched directories.
#[derive(Debug)]
pub(crate) struct DirectoryWatch {
    inotify: Arc<OwnedFd>,
    watched: Arc<Mutex<WatchTable>>,
    /// No more directories than this; none where a change may come from another machine unseen.
    most: usize,
    stale: Sender<u64>,
}

impl DirectoryWatch {
    /// Starts watching on behalf of `native`.
    ///
    /// # Errors
    /// EMFILE when the user has no inotify instance left.
    /// `local` tells that every change is made on this machine.
    pub(crate) fn start(native: &Arc<Native>, local: bool) -> Result<DirectoryWatch, Errno> {
        let inotify = Arc::new(inotify::init(CreateFlags::CLOEXEC)?);
        let watched = Arc::new(Mutex::new(WatchTable::default()));
        let (stale, to_forget) = channel::<u64>();
        let weak = Arc::downgrade(native);
        spawn_thread("forebay-forget", move || {
            let mut seen = FxHashMap::default();
            loop {
                let node = to_forget.recv_timeout(MAPPED);
                let Some(native) = weak.upgrade() else { return };
                match node {
                    Ok(node) => {
                        if let Some(device) = native.device() {
                            device.invalidate_node(node, true);
                        }
                    }
                    Err(RecvTimeoutError::Timeout) => {
                        native.drop_dead_owner_locks();
                        native.gone.expire_oldest();
                        native.for_each_handle(|handle| native.charge_tier_usage(handle));
                        native.remove_retired();
                        native.set_overdue_times();
                        refresh_mapped(&native, &mut seen);
                    }
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
        });
        let follower = WatchThread {
            inotify: Arc::clone(&inotify),
            watched: Arc::clone(&watched),
            native: Arc::downgrade(native),
        };
        spawn_thread("forebay-watch", move || follower.follow_events());
        let limit = std::fs::read_to_string("/proc/sys/fs/inotify/max_user_watches")
            .ok()
            .and_then(|text| text.trim().parse::<usize>().ok())
            .unwrap_or(8192);
        let most = if local { limit / SHARE_OF_WATCHES } else { 0 };
        Ok(DirectoryWatch { inotify, watched, most, stale })
    }

    /// Watches a directory. False when the limit is reached or the user may not read it.
    pub(crate) fn watch_directory(&self, node: u64, dir: BorrowedFd<'_>) -> bool {
        let mut watched = self.watched.lock();
        if watched.watch_of.len() >= self.most {
            return false;
        }
        let what = WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::DELETE_SELF
            | WatchFlags::ONLYDIR
            | WatchFlags::EXCL_UNLINK;
        let Ok(number) = inotify::add_watch(&*self.inotify, proc_fd_path(dir), what) else {
            return false;
        };
        watched.node_of.insert(number, node);
        watched.watch_of.insert(node, number);
        true
    }

    /// Ends the watch on a directory.
    pub(crate) fn unwatch_directory(&self, node: u64) {
        let mut watched = self.watched.lock();
        if let Some(number) = watched.watch_of.remove(&node) {
            watched.node_of.remove(&number);
            let _ = inotify::remove_watch(&*self.inotify, number);
        }
    }

    /// Makes the kernel drop cached attributes and pages of a node, soon, from another thread.
    pub(crate) fn queue_invalidation(&self, node: u64) {
        let _ = self.stale.send(node);
    }
}

/// The thread that reads events.
struct WatchThread {
    inotify: Arc<OwnedFd>,
    watched: Arc<Mutex<WatchTable>>,
    native: Weak<Native>,
}

impl WatchThread {
    fn follow_events(&self) {
        let mut buffer = Vec::with_capacity(64 << 10);
        let mut changed: FxHashSet<(i32, CString)> = FxHashSet::default();
        loop {
            let mut overflow = false;
            {
                let mut reader =
                    inotify::Reader::new(self.inotify.as_fd(), buffer.spare_capacity_mut());
                loop {
                    let event = match reader.next() {
                        Ok(event) => event,
                        Err(Errno::INTR) => continue,
                        Err(_) => return,
                    };
                    let flags = event.events();
                    overflow |= flags.contains(ReadFlags::QUEUE_OVERFLOW);
                    if flags.contains(ReadFlags::IGNORED) {
                        self.note_watch_ended(event.wd());
                    } else if let Some(name) = event.file_name() {
                        changed.insert((event.wd(), name.to_owned()));
                    }
                    if reader.is_buffer_empty() {
                        break;
                    }
                }
            }
            let Some(native) = self.native.upgrade() else { return };
            if overflow {
                invalidate_all_names(&native);
            }
            let watched = |(watch, name)| {
                let node = self.watched.lock().node_of.get(&watch).copied();
                node.map(|node| (node, name))
            };
            invalidate_changed(&native, changed.drain().filter_map(watched).collect());
            drop(native);
            std::thread::sleep(GATHER);
        }
    }

    fn note_watch_ended(&self, watch: i32) {
        let mut watched = self.watched.lock();
        if let Some(node) = watched.node_of.remove(&watch) {
            watched.watch_of.remove(&node);
            if let Some(node) = self.native.upgrade().and_then(|native| native.table.get(node)) {
                node.watched.store(false, std::sync::atomic::Ordering::Relaxed);
            }
        }
    }
}

fn invalidate_changed(native: &Native, mut names: Vec<(u64, CString)>) {
    let Some(device) = native.device() else { return };
    names.retain(|(dir, name)| !leads_to_known_node(native, *dir, name));
    if names.is_empty() {
        return;
    }
    // The event may come before the one who makes the name has told the table: on a busy machine a
    // worker may be held up between the two. A directory that is wrongly forgotten is lost to those
    // who work in it (getcwd(2) fails), so whoever is at it now gets time to finish.
    drop(native.naming.try_write_for(NAMED_WITHIN));
    for (dir, name) in names {
        if !leads_to_known_node(native, dir, &name) {
            device.invalidate_entry(dir, OsStr::from_bytes(name.to_bytes()));
        }
    }
}

fn leads_to_known_node(native: &Native, dir: u64, name: &std::ffi::CStr) -> bool {
    // A directory that is gone has no names that anybody could ask for.
    let Ok(fd) = native.dir_fd(dir) else { return true };
    let Ok(stat) = statx_nofollow(fd.as_fd(), name) else {
        return native.gone.take_removed(dir, name);
    };
    let known = native.table.find_by_identity(FileIdentity::from_statx(&stat));
    known.is_some_and(|node| {
        node.place.lock().names.iter().any(|(p, n)| *p == dir && n.as_c_str() == name)
    })
}

/// Without passthrough, a mapped file has pages here and pages in the backing file. What programs
/// wrote into a mapping goes down, and what somebody outside changed comes up, within a second.
fn refresh_mapped(native: &Native, seen: &mut FxHashMap<u64, (i64, u32, u64)>) {
    let Some(device) = native.device() else { return };
    let mut now = FxHashMap::default();
    native.for_each_handle(|handle| {
        if handle.state == IoState::Passthrough {
            return;
        }
        if !handle.writes && handle.node.packed.get().is_some() {
            // Whoever writes it does so here, and its working file is nobody's to know.
            return;
        }
        let Ok(mut stat) = statx_nofollow(handle.file.as_fd(), c"") else { return };
        native.apply_backend_attributes(&handle.node, &mut stat, Some(handle.file.as_fd()));
        let stamp = (stat.stx_mtime.tv_sec, stat.stx_mtime.tv_nsec, stat.stx_size);
        let changed = *seen.get(&handle.node.id).unwrap_or(&handle.stamp) != stamp;
        if (handle.writes || changed) && !now.contains_key(&handle.node.id) {
            native.pages.begin_invalidation(handle.node.id);
            device.invalidate_node(handle.node.id, true);
            native.pages.end_invalidation(handle.node.id);
        }
        now.insert(handle.node.id, stamp);
    });
    *seen = now;
}

/// Too much happened at once to tell what: every name is asked for again.
fn invalidate_all_names(native: &Native) {
    let Some(device) = native.device() else { return };
    let mut names: HashMap<(u64, CString), ()> = HashMap::new();
    native.table.for_each_name(|parent, name| {
        names.insert((parent, name.to_owned()), ());
    });
    for (parent, name) in names.into_keys() {
        device.invalidate_entry(parent, OsStr::from_bytes(name.to_bytes()));
    }
}

fn spawn_thread(name: &str, work: impl FnOnce() + Send + 'static) {
    // A missing helper thread only makes names live shorter than they might.
    let _ = std::thread::Builder::new().name(name.into()).stack_size(256 << 10).spawn(work);
}

impl Drop for DirectoryWatch {
    fn drop(&mut self) {
        // Ends the follower's read: a removed watch raises an event.
        let numbers: Vec<i32> = self.watched.lock().node_of.keys().copied().collect();
        for number in numbers {
            let _ = inotify::remove_watch(&*self.inotify, number);
        }
        tracing::trace!("stopped watching through {}", self.inotify.as_raw_fd());
    }
}
