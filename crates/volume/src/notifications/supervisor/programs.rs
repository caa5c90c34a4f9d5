//! Processes of the run: they are met at their first call, and when their parents look at an end.

use forebay_os::proc::Stat;
use rustix::process::{Pid, test_kill_process};

use super::super::acts::Act;
use super::super::calls::Name;
use super::super::listener::Notification;
use super::super::places::facts_at;
use super::super::sessions::{Held, Table};
use super::super::targets::Target;
use super::{Closing, Effect, Process, Root, Supervisor, Thread};
use crate::kernel_events::{OpenedFile, Usage};

/// A program may be executed: what it would close.
#[derive(Debug)]
pub(super) struct PendingExec {
    thread: u32,
    closings: Vec<Closing>,
}

const SET_USER: u32 = libc::S_ISUID;
const SET_GROUP: u32 = libc::S_ISGID;

impl Supervisor {
    /// The process of a thread that waits; `None`: nothing of it is recorded.
    pub(super) fn meet(&mut self, call: &Notification) -> Option<u32> {
        if !self.begun {
            let executes = [libc::SYS_execve, libc::SYS_execveat].contains(&call.number.into());
            if call.thread != self.command || !executes {
                return None;
            }
            self.begun = true;
            let stat = self.proc.read_stat(self.command).ok()?;
            self.add_process(&stat, None);
            self.threads.insert(self.command, Thread { process: self.command, unfinished: None });
            return Some(self.command);
        }
        if let Some(thread) = self.threads.get(&call.thread) {
            return Some(thread.process);
        }
        // 0: it is in a PID namespace that is not below ours.
        let status = self.proc.read_status(call.thread).ok().filter(|_| call.thread != 0);
        let Some(status) = status else {
            self.unseen.unread += 1;
            return None;
        };
        let process = status.tgid;
        if !self.processes.contains_key(&process) {
            let stat = self.proc.read_stat(process).ok()?;
            if self.ending.get(&process) == Some(&stat.started_us) {
                return None;
            }
            self.meet_process(&stat, status.parent);
        }
        self.threads.insert(call.thread, Thread { process, unfinished: None });
        Some(process)
    }

    fn meet_process(&mut self, stat: &Stat, parent: u32) {
        self.ending.remove(&stat.pid);
        // Who has lost its parent before it was met is the command's.
        let known = self.processes.contains_key(&parent);
        let above = if known { parent } else { self.command };
        self.acts.push(Act::Started {
            process: stat.pid,
            parent: above,
            started_ns: stat.started_us * 1000,
        });
        self.add_process(stat, known.then_some(parent));
    }

    fn add_process(&mut self, stat: &Stat, parent: Option<u32>) {
        let above = parent.and_then(|parent| self.processes.get(&parent));
        let (above_table, words) =
            above.map_or((None, None), |known| (Some(known.table), Some(known.words.clone())));
        let words =
            words.or_else(|| self.proc.read_command_line(stat.pid).ok()).unwrap_or_default();
        let table = match (above_table, parent) {
            (Some(table), Some(parent)) => self.inherit_table(stat.pid, parent, table),
            _ => self.first_table(stat.pid),
        };
        self.processes.insert(
            stat.pid,
            Process {
                started_us: stat.started_us,
                table,
                directory: None,
                directories_differ: false,
                changing_directory: 0,
                root: Root::Unknown,
                exec: None,
                comm: stat.comm.clone(),
                words,
            },
        );
    }

    fn new_table(&mut self, table: Table) -> u64 {
        let number = self.next;
        self.next += 1;
        self.tables.insert(number, table);
        number
    }

    /// What the command was started with is not recorded.
    fn first_table(&mut self, process: u32) -> u64 {
        let held = Target(process).descriptors().into_iter().map(|fd| (fd, Held::Outside));
        let held = held.collect();
        self.new_table(Table { held, processes: 1, ..Table::default() })
    }

    fn inherit_table(&mut self, process: u32, parent: u32, above: u64) -> u64 {
        let child = Target(process);
        if child.shares_descriptors_with(parent) {
            if let Some(table) = self.tables.get_mut(&above) {
                table.processes += 1;
            }
            return above;
        }
        self.settle_opens(parent);
        let Some(table) = self.tables.get(&above) else { return self.first_table(process) };
        let entries: Vec<(i32, Held)> = table.held.iter().map(|(fd, held)| (*fd, *held)).collect();
        let mut own = Table { processes: 1, ..Table::default() };
        for (fd, held) in entries {
            if let Held::Session(session) = held {
                let there = child.facts_of(fd);
                let Some(known) = self.sessions.get_mut(&session) else { continue };
                if !there.is_some_and(|there| there.identity == known.identity) {
                    continue;
                }
                known.holders += 1;
            }
            own.held.insert(fd, held);
        }
        self.new_table(own)
    }

    /// Meets those whom a process has started, while it can still be asked.
    pub(super) fn meet_children(&mut self, process: u32) {
        for thread in Target(process).threads() {
            for child in self.proc.read_children(process, thread).unwrap_or_default() {
                if self.processes.contains_key(&child) || self.ending.contains_key(&child) {
                    continue;
                }
                if let Ok(stat) = self.proc.read_stat(child)
                    && stat.state != b'Z'
                {
                    self.meet_process(&stat, process);
                }
            }
        }
    }

    pub(super) fn look_at_exec(&mut self, call: &Notification, process: u32, name: Name) {
        self.warn_of_set_user(call, process, name);
        let target = Self::target(call);
        let mut closings = Vec::new();
        for (fd, session) in self.sessions_of(process) {
            let position = target.position_of(fd);
            if position.is_some_and(|position| position.flags & libc::O_CLOEXEC as u32 != 0) {
                closings.push(self.closing(target, fd, session, position));
            }
        }
        self.effects.push(Effect::Exec(process, PendingExec { thread: call.thread, closings }));
    }

    /// A set-user program would fail in its own way: whoever waits is told why before.
    fn warn_of_set_user(&mut self, call: &Notification, process: u32, name: Name) {
        if self.privileged {
            return;
        }
        let Some(facts) = self.program_facts(call, process, name) else { return };
        let group = SET_GROUP | libc::S_IXGRP;
        let gains = facts.mode & SET_USER != 0 || facts.mode & group == group;
        let own = rustix::process::geteuid().as_raw() == facts.owner;
        if gains && !own {
            let path = Self::target(call).read_path(call.args[usize::from(name.path)]);
            let path = String::from_utf8_lossy(&path.unwrap_or_default()).into_owned();
            let what = format!(
                "starts {path}, a set-user program: under --recorder notify it runs without its \
                 rights, for the kernel grants none to a watched program of an ordinary user"
            );
            self.warn_once(process, &what);
        }
    }

    /// Whether a program was executed since, and what is different then.
    pub(super) fn finish_exec(&mut self, thread: u32, process: u32, now: u64) {
        let Some(known) = self.processes.get_mut(&process) else { return };
        // Of others it is not known whether they come before or after it.
        let exec = known.exec.take_if(|exec| exec.thread == thread || thread == process);
        let Some(exec) = exec else { return };
        let (stat, words) = (self.proc.read_stat(process), self.proc.read_command_line(process));
        let (Ok(stat), Ok(words)) = (stat, words) else { return };
        let target = Target(process);
        let gone = |closing: &Closing| target.facts_of(closing.fd).is_none();
        let closed: Vec<Closing> = exec.closings.into_iter().filter(gone).collect();
        let Some(known) = self.processes.get_mut(&process) else { return };
        if words == known.words && stat.comm == known.comm && closed.is_empty() {
            // It was not found, or was what was there before.
            return;
        }
        (known.comm, known.words) = (stat.comm.clone(), words.clone());
        self.acts.push(Act::Ran { process, comm: stat.comm, words });
        self.threads.retain(|number, thread| thread.process != process || *number == process);
        self.threads.entry(process).or_insert(Thread { process, unfinished: None });
        self.separate_table(process);
        for closing in closed {
            self.close(process, thread, closing, now);
        }
        self.forget_outside(process);
        self.look_at_program_file(process, now);
    }

    fn look_at_program_file(&mut self, process: u32, now: u64) {
        let path = format!("/proc/{process}/exe");
        let Ok(facts) = facts_at(rustix::fs::CWD, path.as_bytes(), true) else { return };
        if !self.places.is_near(facts.identity.device) {
            return;
        }
        let place = self
            .proc
            .read_exe_link(process)
            .ok()
            .and_then(|path| self.covered_path(process, &path));
        let Some(place) = place else { return };
        self.acts.push(Act::ProgramFile(OpenedFile {
            process,
            number: 0,
            at: now,
            nanos: 0,
            place,
            inode: facts.identity.inode,
            generation: facts.generation,
            mode: facts.mode,
            file_mode: 0,
            flags: 0,
            size: facts.size,
        }));
    }

    /// After exec a process has its descriptors for itself.
    fn separate_table(&mut self, process: u32) {
        let Some(number) = self.processes.get(&process).map(|known| known.table) else { return };
        let Some(table) = self.tables.get_mut(&number).filter(|table| table.processes > 1) else {
            return;
        };
        table.processes -= 1;
        let held = table.held.clone();
        for entry in held.values() {
            if let Held::Session(session) = entry
                && let Some(session) = self.sessions.get_mut(session)
            {
                session.holders += 1;
            }
        }
        let own = self.new_table(Table { held, processes: 1, ..Table::default() });
        if let Some(known) = self.processes.get_mut(&process) {
            known.table = own;
        }
    }

    /// Exec closes descriptors of which nobody keeps account.
    fn forget_outside(&mut self, process: u32) {
        let open = Target(process).descriptors();
        let table = self.table_of(process);
        if let Some(table) = table.and_then(|table| self.tables.get_mut(&table)) {
            table.held.retain(|fd, held| *held != Held::Outside || open.contains(fd));
        }
    }

    pub(super) fn look_at_exit(&mut self, call: &Notification, process: u32) {
        self.meet_children(process);
        let (table, target) = (self.table_of(process), Self::target(call));
        let alone =
            table.and_then(|table| self.tables.get(&table)).is_none_or(|t| t.processes == 1);
        if alone {
            for (fd, session) in self.sessions_of(process) {
                let closing = self.closing(target, fd, session, target.position_of(fd));
                self.effects.push(Effect::Close { process, thread: call.thread, closing });
            }
        }
        let usage = self.usage_of(process);
        self.effects.push(Effect::Ended(process, usage));
    }

    /// A process has ended, or is about to; `told`: it says so itself.
    pub(super) fn forget_process(&mut self, process: u32, told: bool, usage: Option<Usage>) {
        let at = forebay_os::clock::Clock::elapsed_nanos(&forebay_os::clock::MachineClock);
        let Some(known) = self.processes.remove(&process) else { return };
        if told {
            self.ending.insert(process, known.started_us);
        }
        self.threads.retain(|_, thread| thread.process != process);
        if let Some(table) = self.tables.get_mut(&known.table) {
            table.processes = table.processes.saturating_sub(1);
            if table.processes == 0 {
                self.tables.remove(&known.table);
            }
        }
        self.acts.push(Act::Ended { process, at, usage });
    }

    fn usage_of(&mut self, process: u32) -> Option<Usage> {
        let stat = self.proc.read_stat(process).ok()?;
        let io = self.proc.read_io(process).ok()?;
        Some(Usage {
            user: stat.user_us * 1000,
            system: stat.system_us * 1000,
            children_user: stat.children_user_us * 1000,
            children_system: stat.children_system_us * 1000,
            rchar: io.rchar,
            wchar: io.wchar,
            read_bytes: io.read_bytes,
            write_bytes: io.write_bytes,
        })
    }

    /// The size of a file whose descriptors are gone, if it has its name yet.
    fn size_of(&self, session: u64) -> u64 {
        let known = self.sessions.get(&session);
        let facts = known.and_then(|known| Some((known, self.places.facts_of(&known.place)?)));
        let same = facts.filter(|(known, facts)| known.identity == facts.identity);
        same.map_or(u64::MAX, |(_, facts)| facts.size)
    }

    /// Finds those who were killed: they said nothing.
    pub(in super::super) fn forget_killed(&mut self, now: u64, all: bool) {
        let is_gone = |pid: u32| {
            let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
            pid.is_none_or(|pid| test_kill_process(pid) == Err(rustix::io::Errno::SRCH))
        };
        self.ending.retain(|pid, _| !all && !is_gone(*pid));
        let gone = self.processes.keys().copied().filter(|pid| all || is_gone(*pid));
        let mut gone: Vec<u32> = gone.collect();
        gone.sort_unstable();
        for process in gone {
            self.forget_one_killed(process, now);
        }
    }

    fn forget_one_killed(&mut self, process: u32, now: u64) {
        let threads: Vec<u32> =
            self.threads.iter().filter(|(_, t)| t.process == process).map(|(n, _)| *n).collect();
        for thread in threads {
            let unfinished =
                self.threads.get_mut(&thread).and_then(|known| known.unfinished.take());
            match unfinished {
                Some(super::Unfinished::Open(open)) => self.give_up_open(process, thread, open),
                Some(super::Unfinished::Names(names)) => self.finish_names(thread, process, names),
                _ => {}
            }
        }
        let alone = self
            .table_of(process)
            .and_then(|table| self.tables.get(&table))
            .is_none_or(|table| table.processes == 1);
        if alone {
            for (fd, session) in self.sessions_of(process) {
                let size = self.size_of(session);
                let closing = Closing { fd, session, position: None, size };
                self.close(process, process, closing, now);
            }
        }
        self.forget_process(process, false, None);
    }
}
