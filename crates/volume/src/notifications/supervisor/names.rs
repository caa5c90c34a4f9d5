//! Names as programs give them, and what was done to them: the result shows at the thread's next
//! call, by what has the name then.

use std::os::fd::AsFd;
use std::sync::Arc;

use forebay_model::Op;
use rustix::fs::CWD;
use rustix::io::Errno;

use super::super::acts::{Act, operation};
use super::super::calls::Name;
use super::super::listener::Notification;
use super::super::places::{FileFacts, Identity, facts_at, open_directory};
use super::super::sessions::Held;
use super::super::targets::{Target, absolute_path_of, open_in_root};
use super::{Directory, MOST_WAYS, Root, Supervisor, Unfinished, Way};
use crate::kernel_events::{Event, Place, join};

const RENAME_EXCHANGE: u64 = 2;

/// What a name outside of recorded directories begins at.
#[derive(Debug)]
pub(super) enum From {
    Here,
    Directory(Arc<Directory>),
}

impl From {
    pub(super) fn fd(&self) -> std::os::fd::BorrowedFd<'_> {
        match self {
            From::Here => CWD,
            From::Directory(directory) => directory.as_fd(),
        }
    }
}

/// Where a name leads.
#[derive(Debug)]
pub(super) enum Found {
    /// A name in a directory of a recorded tree.
    Inside(Arc<Directory>, Vec<u8>),
    /// Such a directory itself (`.`, `..`, or the tree's root by its path).
    Directory(Arc<Directory>),
    /// A name in a directory elsewhere; a link there may lead to a recorded tree.
    Outside { from: From, path: Vec<u8> },
    /// No name: the descriptor is meant.
    Descriptor(i32),
    /// Its directory is not there.
    Nothing,
    /// It could not be read.
    Unread,
}

/// A name, and what had it before the call.
#[derive(Debug)]
struct NameBefore {
    directory: Arc<Directory>,
    name: Vec<u8>,
    place: Option<Place>,
    facts: Option<FileFacts>,
}

/// Something that is done to one or two names.
#[derive(Debug)]
pub(super) struct PendingNames {
    op: Op,
    at: u64,
    flags: u32,
    /// Of two names the first; `Some(None)`: it leads elsewhere.
    first: Option<Option<NameBefore>>,
    second: Option<NameBefore>,
    /// What is renamed from elsewhere.
    moved: Option<Identity>,
}

impl NameBefore {
    fn facts_now(&self) -> Option<FileFacts> {
        facts_at(self.directory.as_fd(), &self.name, false).ok()
    }

    fn has_changed(&self) -> bool {
        self.facts_now().map(|facts| facts.identity) != self.facts.map(|facts| facts.identity)
    }

    /// Ways lead through it.
    fn is_way(&self) -> bool {
        self.facts.is_some_and(|facts| facts.kind.is_dir() || facts.kind.is_symlink())
    }
}

impl Supervisor {
    /// Where the name of a call leads.
    pub(super) fn find(&mut self, call: &Notification, process: u32, name: Name) -> Found {
        let address = call.args[usize::from(name.path)];
        let from = name.from.map(|arg| call.int(arg)).filter(|fd| *fd != libc::AT_FDCWD);
        if address == 0 {
            return from.map_or(Found::Nothing, Found::Descriptor);
        }
        let Some(path) = Self::target(call).read_path(address) else {
            // The kernel will find as little there, but for what is swapped out.
            return Found::Unread;
        };
        if path.is_empty() {
            return from.map_or(Found::Nothing, Found::Descriptor);
        }
        self.find_path(call.thread, process, from, path)
    }

    fn find_path(&mut self, thread: u32, process: u32, from: Option<i32>, path: Vec<u8>) -> Found {
        let is_absolute = path.starts_with(b"/");
        let path = if is_absolute { absolute_path_of(thread, process, path) } else { path };
        let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |at| at + 1);
        let cut = path[..end].iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
        let (mut above, mut last) = path[..end].split_at(cut);
        let is_whole = matches!(last, b"" | b"." | b"..");
        if is_whole {
            (above, last) = (&path[..], b"");
        }
        let (directory, base) = if is_absolute {
            (self.absolute_directory(process, above), From::Here)
        } else {
            let Some(base) = self.base_directory(thread, process, from) else {
                return Found::Nothing;
            };
            (self.directory_below(&base, above, process), From::Directory(base))
        };
        match directory {
            Some(directory) if directory.place.is_some() && is_whole => Found::Directory(directory),
            Some(directory) if directory.place.is_some() => Found::Inside(directory, last.to_vec()),
            Some(directory) => {
                Found::Outside { from: From::Directory(directory), path: last.to_vec() }
            }
            None => Found::Outside { from: base, path: path.clone() },
        }
    }

    /// Where relative names of a thread begin.
    fn base_directory(
        &mut self,
        thread: u32,
        process: u32,
        from: Option<i32>,
    ) -> Option<Arc<Directory>> {
        let target = Target(thread);
        if let Some(fd) = from {
            return self.descriptor_directory(target, process, fd);
        }
        let known = self.processes.get(&process)?;
        let keeps = !known.directories_differ && known.changing_directory == 0;
        let kept = known.directory.as_ref().filter(|_| keeps);
        if let Some(directory) = kept.filter(|directory| directory.epoch == self.epoch) {
            return Some(Arc::clone(directory));
        }
        let directory = self.held_directory(target.open_directory("cwd")?, process);
        if let Some(known) = self.processes.get_mut(&process).filter(|_| keeps) {
            known.directory = Some(Arc::clone(&directory));
        }
        Some(directory)
    }

    fn descriptor_directory(
        &mut self,
        target: Target,
        process: u32,
        fd: i32,
    ) -> Option<Arc<Directory>> {
        let session = match self.held(process, fd) {
            Some(Held::Session(session)) => Some(session),
            _ => None,
        };
        let kept = session.and_then(|session| self.open_directories.get(&session));
        if let Some(directory) = kept {
            return Some(Arc::clone(directory));
        }
        let open = target.open_directory(&format!("fd/{fd}"))?;
        let directory = self.held_directory(open, process);
        if let Some(session) = session {
            self.open_directories.insert(session, Arc::clone(&directory));
        }
        Some(directory)
    }

    fn held_directory(&mut self, open: std::os::fd::OwnedFd, process: u32) -> Arc<Directory> {
        let place = self.places.place_of_directory(open.as_fd(), &process.to_string());
        let identity = facts_at(open.as_fd(), b"", false).ok().map(|facts| facts.identity);
        Arc::new(Directory { open, identity, epoch: self.epoch, place })
    }

    fn directory_below(
        &mut self,
        base: &Arc<Directory>,
        path: &[u8],
        process: u32,
    ) -> Option<Arc<Directory>> {
        if path.is_empty() {
            return Some(Arc::clone(base));
        }
        let key = (base.identity, path.to_vec());
        let keeps = base.identity.is_some();
        if let Some(found) = self.ways.get(&key).filter(|_| keeps) {
            return found.clone();
        }
        let found = open_directory(base.as_fd(), path).ok();
        let found = found.map(|open| self.held_directory(open, process));
        self.keep_way(key, found, keeps)
    }

    /// A directory by its absolute path, as this process sees it.
    pub(super) fn absolute_directory(
        &mut self,
        process: u32,
        path: &[u8],
    ) -> Option<Arc<Directory>> {
        self.find_root(process);
        let root = self.processes.get(&process).map(|known| &known.root);
        if let Some(Root::Other(root)) = root {
            let open = open_in_root(root.as_fd(), path).ok()?;
            return Some(self.held_directory(open, process));
        }
        // What `/proc` has of processes is another thing for each, and soon gone.
        let keeps = !path.starts_with(b"/proc/");
        let key = (None, path.to_vec());
        if let Some(found) = self.ways.get(&key).filter(|_| keeps) {
            return found.clone();
        }
        let found = open_directory(CWD, path).ok();
        let found = found.map(|open| self.held_directory(open, process));
        self.keep_way(key, found, keeps)
    }

    /// Elsewhere no directory is held: nobody is to find its file system busy.
    fn keep_way(
        &mut self,
        key: Way,
        found: Option<Arc<Directory>>,
        keeps: bool,
    ) -> Option<Arc<Directory>> {
        let inside = found.as_ref().filter(|found| found.place.is_some());
        if keeps && found.is_some() {
            if self.ways.len() >= MOST_WAYS {
                self.ways.clear();
            }
            self.ways.insert(key, inside.cloned());
        }
        found
    }

    fn find_root(&mut self, process: u32) {
        let Some(known) = self.processes.get_mut(&process) else { return };
        if !matches!(known.root, Root::Unknown) {
            return;
        }
        let target = Target(process);
        let facts = target.root_facts().map(|(number, facts)| (number, facts.identity));
        known.root = if facts == self.own_root || facts.is_none() {
            Root::Ours
        } else {
            target.open_directory("root").map_or(Root::Ours, Root::Other)
        };
    }

    /// Something that is done to one name.
    pub(super) fn look_at_name(
        &mut self,
        call: &Notification,
        process: u32,
        op: Op,
        name: Name,
        now: u64,
    ) {
        match self.find(call, process, name) {
            Found::Unread => self.unseen.unread += 1,
            Found::Descriptor(fd) => self.look_at_use(call, process, fd, op, now),
            Found::Inside(directory, last) => {
                self.look_at_inside(call, process, op, (directory, last), now);
            }
            Found::Directory(directory) => {
                let head = operation(process, call.thread, now, op, 0);
                let place = directory.place.clone();
                self.wanted.push(Act::Named { head, first: None, place });
            }
            Found::Outside { .. } | Found::Nothing => {}
        }
    }

    fn look_at_inside(
        &mut self,
        call: &Notification,
        process: u32,
        op: Op,
        (directory, last): (Arc<Directory>, Vec<u8>),
        now: u64,
    ) {
        let before = name_before(&directory, last);
        let makes = matches!(op, Op::Mkdir | Op::Mknod | Op::Symlink);
        let removes = matches!(op, Op::Unlink | Op::Rmdir);
        let there = before.facts.is_some();
        let result = match (there, makes) {
            (true, true) => -i64::from(libc::EEXIST),
            (false, false) => -i64::from(libc::ENOENT),
            _ => 0,
        };
        if result == 0 && (makes || removes) {
            let names = PendingNames {
                op,
                at: now,
                flags: 0,
                first: None,
                second: Some(before),
                moved: None,
            };
            return self.leave_unfinished(call.thread, Unfinished::Names(names));
        }
        let head = operation(process, call.thread, now, op, result);
        self.wanted.push(Act::Named { head, first: None, place: before.place });
    }

    pub(super) fn look_at_unlink(
        &mut self,
        call: &Notification,
        process: u32,
        name: Name,
        flags: u8,
        now: u64,
    ) {
        let directory = call.args[usize::from(flags)] & libc::AT_REMOVEDIR as u64 != 0;
        let op = if directory { Op::Rmdir } else { Op::Unlink };
        self.look_at_name(call, process, op, name, now);
    }

    pub(super) fn look_at_two_names(
        &mut self,
        call: &Notification,
        process: u32,
        op: Op,
        names: [Name; 2],
        flags: Option<u8>,
        now: u64,
    ) {
        let mut moved = None;
        let [first, second] = names.map(|name| match self.find(call, process, name) {
            Found::Inside(directory, last) => Some(name_before(&directory, last)),
            Found::Outside { from, path } => {
                moved =
                    moved.or(facts_at(from.fd(), &path, false).ok().map(|facts| facts.identity));
                None
            }
            Found::Descriptor(fd) => {
                moved = Self::target(call).facts_of(fd).map(|facts| facts.identity);
                None
            }
            Found::Unread => {
                self.unseen.unread += 1;
                None
            }
            Found::Directory(_) | Found::Nothing => None,
        });
        if first.is_none() && second.is_none() {
            return;
        }
        let exchanges = flags.is_some_and(|arg| call.args[usize::from(arg)] & RENAME_EXCHANGE != 0);
        let names = PendingNames {
            op,
            at: now,
            flags: if exchanges { RENAME_EXCHANGE as u32 } else { 0 },
            first: Some(first),
            second,
            moved,
        };
        self.leave_unfinished(call.thread, Unfinished::Names(names));
    }

    /// What became of it.
    pub(super) fn finish_names(&mut self, thread: u32, process: u32, names: PendingNames) {
        let result = result_of(&names);
        let first = names.first.as_ref().map(Option::as_ref);
        let all = [first.flatten(), names.second.as_ref()];
        let ways = all.into_iter().flatten().any(NameBefore::is_way);
        if result == 0 && (ways || names.op == Op::Symlink) {
            self.forget_ways();
        }
        let head = operation(process, thread, names.at, names.op, result);
        let head = Event { flags: names.flags, ..head };
        let first = first.map(|first| first.and_then(|first| first.place.clone()));
        let place = names.second.and_then(|second| second.place);
        self.acts.push(Act::Named { head, first, place });
    }
}

fn name_before(directory: &Arc<Directory>, name: Vec<u8>) -> NameBefore {
    let facts = facts_at(directory.as_fd(), &name, false);
    let facts = match facts {
        Err(Errno::NOENT | Errno::NOTDIR) => None,
        facts => facts.ok(),
    };
    let place = directory.place.as_ref().map(|(tree, at)| (*tree, join(at, &name)));
    NameBefore { directory: Arc::clone(directory), name, place, facts }
}

/// 0, or a likely reason why not.
fn result_of(names: &PendingNames) -> i64 {
    let refused = -i64::from(libc::EACCES);
    let absent = -i64::from(libc::ENOENT);
    let Some(first) = &names.first else {
        // Made or removed: another file has the name now, or none.
        let changed = names.second.as_ref().is_some_and(NameBefore::has_changed);
        return if changed { 0 } else { refused };
    };
    let source = match first {
        Some(first) => match first.facts {
            Some(facts) => Some(facts.identity),
            None => return absent,
        },
        None => names.moved,
    };
    match &names.second {
        Some(second) if names.op == Op::Link && second.facts.is_some() => -i64::from(libc::EEXIST),
        Some(second) => {
            let now = second.facts_now().map(|facts| facts.identity);
            let same_before = second.facts.map(|facts| facts.identity) == source;
            let arrived = now.is_some() && (now == source || source.is_none());
            // Another may have taken the name meanwhile: then the first one is gone.
            let left =
                names.op == Op::Rename && first.as_ref().is_some_and(NameBefore::has_changed);
            if arrived || left || same_before { 0 } else { refused }
        }
        // Away: the name is another's now, or nobody's.
        None if names.op == Op::Link => 0,
        None => {
            let gone = first.as_ref().is_some_and(NameBefore::has_changed);
            if gone { 0 } else { refused }
        }
    }
}
