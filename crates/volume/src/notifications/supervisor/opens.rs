//! Opens: what is behind the name before, and which descriptor it has become afterwards.

use std::os::fd::AsFd;
use std::sync::Arc;

use forebay_model::Op;
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;

use super::super::acts::{Act, operation};
use super::super::calls::{Name, OpenFlags};
use super::super::listener::Notification;
use super::super::places::{FileFacts, descriptor_path, facts_at};
use super::super::sessions::{Held, Session};
use super::super::targets::Target;
use super::names::Found;
use super::{Directory, Supervisor, Unfinished};
use crate::kernel_events::{FMODE_CREATED, FMODE_PATH, FMODE_WRITE, OpenedFile, Place, join};

/// `__O_TMPFILE`: a file without a name.
const WITHOUT_NAME: u32 = 0o20_000_000;

/// An open that was let go on.
#[derive(Debug)]
pub(super) struct PendingOpen {
    process: u32,
    at: u64,
    flags: u32,
    /// Where the name leads; `None`: it shows by the descriptor.
    place: Option<Place>,
    /// In which its name is looked for, if it was to be made.
    parent: Option<(Arc<Directory>, Vec<u8>)>,
    /// The file, if it was there before.
    facts: Option<FileFacts>,
}

impl PendingOpen {
    fn creates(&self) -> bool {
        self.facts.is_none() && self.flags & (libc::O_CREAT as u32 | WITHOUT_NAME) != 0
    }
}

impl Supervisor {
    pub(super) fn look_at_open(
        &mut self,
        call: &Notification,
        process: u32,
        name: Name,
        flags: OpenFlags,
        now: u64,
    ) {
        let flags = match flags {
            OpenFlags::Argument(arg) => Some(call.args[usize::from(arg)]),
            OpenFlags::Behind(arg) => Self::target(call).read_number(call.args[usize::from(arg)]),
            OpenFlags::Create => Some((libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC) as u64),
        };
        let Some(flags) = flags.map(|flags| flags as u32) else {
            self.unseen.unread += 1;
            return;
        };
        let found = self.find(call, process, name);
        let begin = PendingOpen { process, at: now, flags, place: None, parent: None, facts: None };
        let creates = flags & libc::O_CREAT as u32 != 0;
        let open = match found {
            Found::Unread => {
                self.unseen.unread += 1;
                None
            }
            // openat2(2) of an empty name is refused.
            Found::Nothing | Found::Descriptor(_) => None,
            Found::Directory(directory) if flags & WITHOUT_NAME == 0 => {
                let facts = facts_at(directory.as_fd(), b"", false).ok();
                facts.map(|facts| PendingOpen {
                    place: directory.place.clone(),
                    facts: Some(facts),
                    ..begin
                })
            }
            Found::Directory(_) => Some(begin),
            Found::Outside { from, path } => {
                let link = facts_at(from.fd(), &path, false).ok();
                let leads_on = link.is_some_and(|facts| facts.kind.is_symlink());
                match leads_on && flags & libc::O_NOFOLLOW as u32 == 0 {
                    true => self.follow_link(begin, from.fd(), &path),
                    false => None,
                }
            }
            Found::Inside(directory, last) => {
                let place = directory.place.as_ref().map(|(tree, at)| (*tree, join(at, &last)));
                match facts_at(directory.as_fd(), &last, false) {
                    _ if flags & WITHOUT_NAME != 0 => Some(begin),
                    Ok(facts)
                        if facts.kind.is_symlink() && flags & libc::O_NOFOLLOW as u32 == 0 =>
                    {
                        self.follow_link(begin, directory.as_fd(), &last)
                    }
                    Ok(facts) => Some(PendingOpen { place, facts: Some(facts), ..begin }),
                    Err(Errno::NOENT) if creates => {
                        Some(PendingOpen { place, parent: Some((directory, last)), ..begin })
                    }
                    Err(Errno::NOENT | Errno::NOTDIR) => {
                        let result = -i64::from(libc::ENOENT);
                        let head = operation(process, call.thread, now, Op::Open, result);
                        self.wanted.push(Act::Named { head, first: None, place });
                        None
                    }
                    Err(_) => Some(PendingOpen { place, ..begin }),
                }
            }
        };
        if let Some(open) = open {
            self.leave_unfinished(call.thread, Unfinished::Open(open));
        }
    }

    /// The file at the end of a link.
    fn follow_link(
        &mut self,
        open: PendingOpen,
        from: std::os::fd::BorrowedFd<'_>,
        path: &[u8],
    ) -> Option<PendingOpen> {
        let there = openat(from, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
        let Ok(there) = there else {
            // To be made at the link's end: its descriptor tells where that is.
            return (open.flags & libc::O_CREAT as u32 != 0).then_some(open);
        };
        let facts = facts_at(there.as_fd(), b"", false).ok()?;
        if !self.places.is_near(facts.identity.device) {
            return None;
        }
        let path = descriptor_path(there.as_fd())?;
        let place = match facts.kind.is_dir() {
            true => self.places.place_of_directory(there.as_fd(), "self"),
            false => self.places.place_of_file(&path, "self"),
        }?;
        Some(PendingOpen { place: Some(place), facts: Some(facts), ..open })
    }

    /// The descriptor that an open has become; without one it has failed. `hint`: one that the
    /// next call is about.
    pub(super) fn finish_open(
        &mut self,
        thread: u32,
        process: u32,
        open: PendingOpen,
        hint: Option<i32>,
    ) {
        if let Some(open) = self.try_open(thread, process, open, hint) {
            self.count_opening(process, false);
            self.count_failed_open(thread, process, open);
        }
    }

    /// Finds the descriptor; else gives the open back.
    fn try_open(
        &mut self,
        thread: u32,
        process: u32,
        mut open: PendingOpen,
        hint: Option<i32>,
    ) -> Option<PendingOpen> {
        let target = Target(thread);
        let created = open.creates();
        if let (true, Some((directory, name))) = (open.facts.is_none(), &open.parent) {
            open.facts = facts_at(directory.as_fd(), name, false).ok();
        }
        let hint = hint.filter(|fd| self.held(process, *fd).is_none());
        self.looked_at = hint.and_then(|fd| Some((fd, target.facts_of(fd)?)));
        let mut found = None;
        if let Some((fd, facts)) = self.looked_at
            && self.is_of(&open, process, target, fd, &facts)
        {
            found = Some((fd, facts));
        }
        if found.is_none() {
            found = self.find_descriptor(&open, process, target);
        }
        let Some((fd, facts)) = found else {
            // It is to be looked for again as it was.
            if created {
                open.facts = None;
            }
            return Some(open);
        };
        self.count_opening(process, false);
        self.begin_session(process, fd, open, facts, created);
        None
    }

    /// The descriptor that an open has become: most often the lowest free one. All of a process that
    /// has many are looked at only where that is not so.
    fn find_descriptor(
        &mut self,
        open: &PendingOpen,
        process: u32,
        target: Target,
    ) -> Option<(i32, FileFacts)> {
        let table = self.table_of(process)?;
        let guess = self.tables.get_mut(&table)?.guess_next();
        if let Some(facts) = target.facts_of(guess)
            && self.is_of(open, process, target, guess, &facts)
        {
            return Some((guess, facts));
        }
        for fd in target.descriptors() {
            if self.held(process, fd).is_some() {
                continue;
            }
            let Some(facts) = target.facts_of(fd) else { continue };
            if self.is_of(open, process, target, fd, &facts) {
                self.tables.get_mut(&table)?.correct_guess(fd);
                return Some((fd, facts));
            }
        }
        None
    }

    fn count_failed_open(&mut self, thread: u32, process: u32, open: PendingOpen) {
        let result = -i64::from(libc::EACCES);
        let head = operation(process, thread, open.at, Op::Open, result);
        if open.place.is_some() {
            self.acts.push(Act::Named { head, first: None, place: open.place });
        }
    }

    /// Whoever opened it was killed: nobody can say what became of it.
    pub(super) fn give_up_open(&mut self, process: u32, thread: u32, open: PendingOpen) {
        self.count_opening(process, false);
        let created = open.creates();
        let made = open
            .parent
            .as_ref()
            .and_then(|(directory, name)| facts_at(directory.as_fd(), name, false).ok());
        match (made.or(open.facts), &open.place) {
            (Some(facts), Some(_)) => {
                let fd = i32::MAX;
                let Some(session) = self.begin_session(process, fd, open, facts, created) else {
                    return;
                };
                let closing = super::Closing { fd, session, position: None, size: facts.size };
                let now = forebay_os::clock::Clock::elapsed_nanos(&forebay_os::clock::MachineClock);
                self.close(process, thread, closing, now);
            }
            _ => self.count_failed_open(thread, process, open),
        }
    }

    /// Whether a descriptor is what an open has become.
    fn is_of(
        &mut self,
        open: &PendingOpen,
        process: u32,
        target: Target,
        fd: i32,
        facts: &FileFacts,
    ) -> bool {
        if open.facts.is_some_and(|there| there.identity == facts.identity) {
            return true;
        }
        // Another file has the name since, or the name did not say where it leads.
        if !self.places.is_near(facts.identity.device) {
            return false;
        }
        let place = target.path_of(fd).and_then(|path| self.covered_path(process, &path));
        match &open.place {
            Some(expected) => place.as_ref() == Some(expected),
            None => place.is_some(),
        }
    }

    /// An open of another thread's, if this descriptor is it.
    pub(super) fn claim_open(
        &mut self,
        thread: u32,
        process: u32,
        fd: i32,
        facts: &FileFacts,
    ) -> Option<u64> {
        let table = self.table_of(process)?;
        if self.tables.get(&table)?.opening == 0 {
            return None;
        }
        let mut others: Vec<u32> = self
            .threads
            .iter()
            .filter(|(_, other)| {
                matches!(other.unfinished, Some(Unfinished::Open(_)))
                    && self.table_of(other.process) == Some(table)
            })
            .map(|(number, _)| *number)
            .collect();
        others.sort_unstable();
        for other in others {
            let unfinished = self.threads.get_mut(&other)?.unfinished.take();
            let Some(Unfinished::Open(mut open)) = unfinished else { continue };
            let created = open.creates();
            if let (true, Some((directory, name))) = (open.facts.is_none(), &open.parent) {
                open.facts = facts_at(directory.as_fd(), name, false).ok();
            }
            if self.is_of(&open, process, Target(thread), fd, facts) {
                self.count_opening(process, false);
                return self.begin_session(process, fd, open, *facts, created);
            }
            // It is to be looked for again as it was.
            if created {
                open.facts = None;
            }
            self.threads.get_mut(&other)?.unfinished = Some(Unfinished::Open(open));
        }
        None
    }

    /// Finds what opens and duplicates of a process have become, as far as these are over.
    pub(super) fn settle_opens(&mut self, process: u32) {
        let of_it = self.threads.iter().filter(|(_, thread)| thread.process == process);
        let under_way = of_it.filter(|(_, thread)| thread.unfinished.is_some());
        let mut threads: Vec<u32> = under_way.map(|(number, _)| *number).collect();
        threads.sort_unstable();
        for thread in threads {
            let Some(known) = self.threads.get_mut(&thread) else { continue };
            match known.unfinished.take() {
                Some(Unfinished::Open(open)) => {
                    if let Some(open) = self.try_open(thread, process, open, None)
                        && let Some(known) = self.threads.get_mut(&thread)
                    {
                        known.unfinished = Some(Unfinished::Open(open));
                    }
                }
                Some(Unfinished::Duplicate(session)) => {
                    self.find_duplicate(thread, process, session);
                    if let Some(known) = self.threads.get_mut(&thread) {
                        known.unfinished = Some(Unfinished::Duplicate(session));
                    }
                }
                other => {
                    if let Some(known) = self.threads.get_mut(&thread) {
                        known.unfinished = other;
                    }
                }
            }
        }
    }

    fn begin_session(
        &mut self,
        process: u32,
        fd: i32,
        open: PendingOpen,
        facts: FileFacts,
        created: bool,
    ) -> Option<u64> {
        let place = open.place.clone().or_else(|| {
            let path = Target(process).path_of(fd)?;
            self.covered_path(process, &path)
        })?;
        let table = self.table_of(process)?;
        let number = self.next;
        self.next += 1;
        let directory = facts.kind.is_dir();
        let by_name = open.flags & libc::O_PATH as u32 != 0;
        let truncates = open.flags & libc::O_TRUNC as u32 != 0;
        let before = open.facts.map_or(0, |facts| facts.size);
        let size = if truncates || created { 0 } else { before };
        let flags = if by_name { libc::O_RDONLY as u32 } else { open.flags };
        let mut session =
            Session::new(facts.identity, place.clone(), directory || by_name, flags, size);
        let writes = session.writes && !directory;
        session.writes = writes;
        if writes {
            *self.writers.entry(facts.identity).or_default() += 1;
        }
        let mut file_mode = 0;
        for (is_so, bit) in [(writes, FMODE_WRITE), (by_name, FMODE_PATH), (created, FMODE_CREATED)]
        {
            file_mode |= if is_so { bit } else { 0 };
        }
        self.acts.push(Act::Opened(OpenedFile {
            process: open.process,
            number,
            at: open.at,
            nanos: 0,
            place,
            inode: facts.identity.inode,
            generation: facts.generation,
            mode: facts.mode,
            file_mode,
            flags: open.flags,
            size,
        }));
        self.sessions.insert(number, session);
        if let Some(table) = self.tables.get_mut(&table) {
            table.held.insert(fd, Held::Session(number));
        }
        Some(number)
    }

    /// Where a path is that the kernel gave for something of a process's that is open.
    pub(super) fn covered_path(&mut self, process: u32, path: &[u8]) -> Option<Place> {
        let path = path.strip_suffix(b" (deleted)").unwrap_or(path);
        let cut = path.iter().rposition(|byte| *byte == b'/')?;
        let (above, name) = (&path[..cut.max(1)], &path[cut + 1..]);
        let directory = self.absolute_directory(process, above)?;
        let (tree, inside) = directory.place.as_ref()?;
        Some((*tree, join(inside, name)))
    }

    /// Facts of a program that is to be executed.
    pub(super) fn program_facts(
        &mut self,
        call: &Notification,
        process: u32,
        name: Name,
    ) -> Option<FileFacts> {
        match self.find(call, process, name) {
            Found::Inside(directory, last) => facts_at(directory.as_fd(), &last, true).ok(),
            Found::Outside { from, path } => facts_at(from.fd(), &path, true).ok(),
            Found::Descriptor(fd) => Self::target(call).facts_of(fd),
            Found::Nothing | Found::Unread | Found::Directory(_) => None,
        }
    }
}
