//! Descriptors: which open file each is, what moves through it, and when its last one goes.

use forebay_model::Op;

use super::super::acts::{Act, event, operation};
use super::super::listener::Notification;
use super::super::places::FileFacts;
use super::super::sessions::{Held, Moved};
use super::super::targets::{Position, Target};
use super::{Closing, Effect, Supervisor, Unfinished};
use crate::kernel_events::{Amount, Event, Kind};

const CLOSE_ON_EXEC: u64 = 4;

impl Supervisor {
    pub(super) fn table_of(&self, process: u32) -> Option<u64> {
        self.processes.get(&process).map(|known| known.table)
    }

    pub(super) fn held(&self, process: u32, fd: i32) -> Option<Held> {
        self.tables.get(&self.table_of(process)?)?.held.get(&fd).copied()
    }

    fn set_held(&mut self, process: u32, fd: i32, held: Held) {
        let table = self.table_of(process);
        if let Some(table) = table.and_then(|table| self.tables.get_mut(&table)) {
            table.held.insert(fd, held);
        }
    }

    pub(super) fn sessions_of(&self, process: u32) -> Vec<(i32, u64)> {
        let table = self.table_of(process).and_then(|table| self.tables.get(&table));
        table.map(|table| table.sessions()).unwrap_or_default()
    }

    /// The open file behind a descriptor, if it is recorded.
    pub(super) fn session_of(&mut self, thread: u32, process: u32, fd: i32) -> Option<u64> {
        match self.held(process, fd) {
            Some(Held::Session(session)) => return Some(session),
            Some(Held::Outside) => return None,
            None => {}
        }
        let target = Target(thread);
        let facts = target.facts_of(fd)?;
        if self.places.is_near(facts.identity.device) {
            if let Some(session) = self.claim_open(thread, process, fd, &facts) {
                return Some(session);
            }
            self.note_strange(process, target, fd, &facts);
        }
        self.set_held(process, fd, Held::Outside);
        None
    }

    /// A descriptor of a recorded file that nobody opened before our eyes.
    fn note_strange(&mut self, process: u32, target: Target, fd: i32, facts: &FileFacts) {
        let path = target.path_of(fd).filter(|_| facts.kind.is_file());
        if path.and_then(|path| self.covered_path(process, &path)).is_some() {
            self.unseen.strange += 1;
        }
    }

    pub(super) fn closing(
        &self,
        target: Target,
        fd: i32,
        session: u64,
        position: Option<Position>,
    ) -> Closing {
        let looked_at = self.looked_at.filter(|(known, _)| *known == fd);
        let facts = looked_at.map(|(_, facts)| facts).or_else(|| target.facts_of(fd));
        let size = facts.map_or(u64::MAX, |facts| facts.size);
        Closing { fd, session, position: position.map(|position| position.offset), size }
    }

    pub(super) fn hold(&mut self, table: u64, fd: i32, session: u64) {
        if let (Some(table), Some(known)) =
            (self.tables.get_mut(&table), self.sessions.get_mut(&session))
            && table.held.insert(fd, Held::Session(session)) != Some(Held::Session(session))
        {
            known.holders += 1;
        }
    }

    /// A descriptor went.
    pub(super) fn close(&mut self, process: u32, thread: u32, closing: Closing, now: u64) {
        let Closing { fd, session, position, size } = closing;
        match position {
            Some(position) => self.advance(process, thread, session, position, now),
            None => self.hide(session),
        }
        // Who was started before has it, too.
        if self.sessions.contains_key(&session) {
            self.meet_children(process);
        }
        let table = self.table_of(process);
        if let Some(table) = table.and_then(|table| self.tables.get_mut(&table))
            && table.held.get(&fd) == Some(&Held::Session(session))
        {
            table.held.remove(&fd);
        }
        let Some(known) = self.sessions.get_mut(&session) else { return };
        known.holders = known.holders.saturating_sub(1);
        let last = known.holders == 0;
        let (identity, writes) = (known.identity, known.writes);
        let head = event(process, thread, now);
        let head = Event { file: session, size, flags: last.into(), ..head };
        self.acts.push(Act::OnOpen(Kind::Closed, head));
        if last {
            self.sessions.remove(&session);
            self.open_directories.remove(&session);
            if writes && let Some(writers) = self.writers.get_mut(&identity) {
                *writers -= 1;
                if *writers == 0 {
                    self.writers.remove(&identity);
                }
            }
        }
    }

    /// What was moved is not known.
    fn hide(&mut self, session: u64) {
        let known = self.sessions.get_mut(&session).filter(|known| !known.directory);
        if known.is_some() {
            let all = Amount { hides_reads: true, hides_writes: true, ..Amount::default() };
            self.acts.push(Act::Amount(session, all));
        }
    }

    /// A position was seen.
    fn advance(&mut self, process: u32, thread: u32, session: u64, position: u64, now: u64) {
        let Some(known) = self.sessions.get_mut(&session).filter(|known| !known.directory) else {
            return;
        };
        let alone = self.writers.get(&known.identity).is_none_or(|writers| *writers <= 1);
        let moved = known.advance(position, alone);
        if let Some(act) = moved_act(process, thread, session, moved, now) {
            self.acts.push(act);
        }
    }

    pub(super) fn look_at_close(&mut self, call: &Notification, process: u32, fd: i32) {
        let Some(session) = self.session_of(call.thread, process, fd) else {
            if let (Some(table), Some(_)) = (self.table_of(process), self.held(process, fd)) {
                self.effects.push(Effect::Clear { table, fd });
            }
            return;
        };
        let target = Self::target(call);
        let closing = self.closing(target, fd, session, target.position_of(fd));
        self.effects.push(Effect::Close { process, thread: call.thread, closing });
    }

    pub(super) fn look_at_close_range(&mut self, call: &Notification, process: u32) {
        if call.args[2] & CLOSE_ON_EXEC != 0 {
            return;
        }
        let (first, last) = (call.args[0] as u32, call.args[1] as u32);
        let known = self.table_of(process).and_then(|table| self.tables.get(&table));
        let Some(known) = known else { return };
        let is_met = |fd: &i32| (first..=last).contains(&(*fd as u32));
        let mut gone: Vec<i32> = known.held.keys().copied().filter(is_met).collect();
        gone.sort_unstable();
        gone.into_iter().for_each(|fd| self.look_at_close(call, process, fd));
    }

    pub(super) fn look_at_duplicate(&mut self, call: &Notification, process: u32, fd: i32) {
        if let Some(session) = self.session_of(call.thread, process, fd) {
            self.leave_unfinished(call.thread, Unfinished::Duplicate(session));
        }
    }

    /// The new number of an open file that was duplicated.
    pub(super) fn find_duplicate(&mut self, thread: u32, process: u32, session: u64) {
        let Some(identity) = self.sessions.get(&session).map(|known| known.identity) else {
            return;
        };
        let (target, Some(table)) = (Target(thread), self.table_of(process)) else { return };
        let known = self.sessions_of(process).into_iter().find(|(_, number)| *number == session);
        for fd in target.descriptors() {
            let is_it = self.held(process, fd).is_none()
                && target.facts_of(fd).is_some_and(|facts| facts.identity == identity)
                && known.is_none_or(|(old, _)| target.is_same_open_file(fd, thread, old));
            if is_it {
                self.hold(table, fd, session);
            }
        }
    }

    pub(super) fn look_at_duplicate_to(&mut self, call: &Notification, process: u32) {
        let (from, to) = (call.int(0), call.int(1));
        let Some(table) = self.table_of(process).filter(|_| from != to) else { return };
        let session = self.session_of(call.thread, process, from);
        if session.is_none() && Self::target(call).facts_of(from).is_none() {
            return;
        }
        self.look_at_close(call, process, to);
        self.effects.push(match session {
            Some(session) => Effect::Hold { table, fd: to, session },
            None => Effect::Clear { table, fd: to },
        });
    }

    pub(super) fn look_at_control(&mut self, call: &Notification, process: u32, now: u64) {
        match call.int(1) {
            libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => {
                self.look_at_duplicate(call, process, call.int(0));
            }
            _ => self.look_at_use(call, process, call.int(0), Op::Lock, now),
        }
    }

    /// Something is done through a descriptor.
    pub(super) fn look_at_use(
        &mut self,
        call: &Notification,
        process: u32,
        fd: i32,
        op: Op,
        now: u64,
    ) {
        if let Some(session) = self.session_of(call.thread, process, fd) {
            let head = operation(process, call.thread, now, op, 0);
            self.wanted.push(Act::OnOpen(Kind::Used, Event { file: session, ..head }));
        }
    }

    /// A plain read or write: what it moves shows at the next look.
    pub(super) fn look_at_move(
        &mut self,
        call: &Notification,
        process: u32,
        writes: bool,
        now: u64,
    ) {
        let fd = call.int(0);
        let Some(session) = self.session_of(call.thread, process, fd) else { return };
        let Some(position) = Self::target(call).position_of(fd) else { return };
        self.advance(process, call.thread, session, position.offset, now);
        if let Some(known) = self.sessions.get_mut(&session) {
            known.begin_plain_call(writes);
        }
    }

    /// Bytes at an offset that the call names.
    pub(super) fn look_at_move_at(
        &mut self,
        call: &Notification,
        process: u32,
        writes: bool,
        pieces: bool,
        now: u64,
    ) {
        let (fd, offset) = (call.int(0), call.args[3] as i64);
        let second = [libc::SYS_preadv2, libc::SYS_pwritev2].contains(&call.number.into());
        if second && offset == -1 {
            return self.look_at_move(call, process, writes, now);
        }
        let Some(session) = self.session_of(call.thread, process, fd) else { return };
        let (target, Ok(offset)) = (Self::target(call), u64::try_from(offset)) else { return };
        let asked = match pieces {
            true => target.sum_pieces(call.args[1], call.args[2]),
            false => Some(call.args[2]),
        };
        match asked {
            Some(asked) => self.move_at(call, process, fd, session, (writes, offset, asked), now),
            None => self.unseen.unread += 1,
        }
    }

    fn move_at(
        &mut self,
        call: &Notification,
        process: u32,
        fd: i32,
        session: u64,
        (writes, offset, asked): (bool, u64, u64),
        now: u64,
    ) {
        // A read ends with the file.
        let bytes = match writes {
            true => asked,
            false => {
                let size = Self::target(call).facts_of(fd).map_or(u64::MAX, |facts| facts.size);
                asked.min(size.saturating_sub(offset))
            }
        };
        let Some(known) = self.sessions.get_mut(&session) else { return };
        let moved = known.move_at(writes, offset, bytes);
        self.wanted.extend(moved_act(process, call.thread, session, moved, now));
    }

    pub(super) fn look_at_copy(&mut self, call: &Notification, process: u32, now: u64) {
        let (from, to, asked) = (call.int(0), call.int(2), call.args[4]);
        let sides = [(from, call.args[1]), (to, call.args[3])];
        let [source, sink] = sides.map(|(fd, _)| self.session_of(call.thread, process, fd));
        // Where no offset is given, positions tell what was copied.
        let offset = |at: u64| Self::target(call).read_number(at).filter(|_| at != 0);
        let given = sides.map(|(_, at)| offset(at));
        let left = |begin: u64| {
            let size = Self::target(call).facts_of(from).map_or(0, |facts| facts.size);
            asked.min(size.saturating_sub(begin))
        };
        if let (Some(source), Some(begin)) = (source, given[0]) {
            let head = event(process, call.thread, now);
            let head = Event { file: source, result: left(begin) as i64, ..head };
            self.wanted.push(Act::OnOpen(Kind::CopiedFrom, head));
        }
        if let Some(sink) = sink {
            let position = || Self::target(call).position_of(from).map_or(0, |at| at.offset);
            let copied = given[1].map_or(0, |_| left(given[0].unwrap_or_else(position)));
            let head = operation(process, call.thread, now, Op::CopyRange, copied as i64);
            self.wanted.push(Act::OnOpen(Kind::Used, Event { file: sink, ..head }));
        }
    }

    /// sendfile(2) and splice(2) at offsets that they are given.
    pub(super) fn look_at_send(
        &mut self,
        call: &Notification,
        process: u32,
        sides: [(u8, Option<u8>, bool); 2],
        length: u8,
        now: u64,
    ) {
        for (fd, at, writes) in sides {
            let address = at.map_or(0, |at| call.args[usize::from(at)]);
            let fd = call.int(fd);
            let session = self.session_of(call.thread, process, fd).filter(|_| address != 0);
            let (Some(session), Some(offset)) = (session, Self::target(call).read_number(address))
            else {
                continue;
            };
            let asked = call.args[usize::from(length)];
            self.move_at(call, process, fd, session, (writes, offset, asked), now);
        }
    }

    pub(super) fn look_at_map(&mut self, call: &Notification, process: u32, now: u64) {
        let Some(session) = self.session_of(call.thread, process, call.int(4)) else { return };
        let head = event(process, call.thread, now);
        let (flags, mode) = (call.args[3] as u32, call.args[2] as u32);
        self.wanted.push(Act::OnOpen(Kind::Mapped, Event { file: session, flags, mode, ..head }));
    }

    /// A position is set: what was moved until now shows, and where bytes are counted from.
    pub(super) fn look_at_seek(&mut self, call: &Notification, process: u32, now: u64) {
        let (fd, offset) = (call.int(0), call.args[1] as i64);
        let Some(session) = self.session_of(call.thread, process, fd) else { return };
        let target = Self::target(call);
        let Some(position) = target.position_of(fd) else { return };
        self.advance(process, call.thread, session, position.offset, now);
        let facts = target.facts_of(fd);
        let from = |begin: u64| begin.checked_add_signed(offset);
        let holes = [libc::SEEK_DATA, libc::SEEK_HOLE].contains(&call.int(2));
        let after = match call.int(2) {
            libc::SEEK_SET => from(0),
            libc::SEEK_CUR => from(position.offset),
            libc::SEEK_END => facts.and_then(|facts| from(facts.size)),
            // Without holes all is data, up to the end.
            libc::SEEK_DATA => facts.filter(|facts| !facts.sparse).and_then(|_| from(0)),
            libc::SEEK_HOLE => facts.filter(|facts| !facts.sparse).map(|facts| facts.size),
            _ => return,
        };
        if holes {
            let head = operation(process, call.thread, now, Op::Seek, 0);
            self.wanted.push(Act::OnOpen(Kind::Used, Event { file: session, ..head }));
        }
        if after.is_none() && !self.every_read {
            self.hide(session);
        }
        if let Some(known) = self.sessions.get_mut(&session) {
            known.set_position(after);
        }
    }
}

/// What is put into the record of bytes that were moved; `None`: nothing.
fn moved_act(process: u32, thread: u32, session: u64, moved: Moved, now: u64) -> Option<Act> {
    if let Some(cell) = moved.cell {
        let bytes = moved.read + moved.wrote;
        let head = event(process, thread, now);
        let head = Event { file: session, op: cell, bytes, count: 1, ..head };
        return Some(Act::OnOpen(Kind::Moved, head));
    }
    let Moved { read, wrote, hides_reads, hides_writes, .. } = moved;
    let amount = Amount { read, wrote, hides_reads, hides_writes };
    (moved != Moved::default()).then_some(Act::Amount(session, amount))
}
