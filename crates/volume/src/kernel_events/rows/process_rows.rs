//! Rows of processes: when they begin and end, which programs they run, what they used.

use forebay_model::{ByteCount, IoCount, Micros, Op, ProcessCounters, ProcessIo};

use super::super::known_attributes::ToldAttributes;
use super::super::wire::{Told, Usage};
use super::{OpenKind, OpenNow, OpenedFile, Rows};
use crate::processes::{ToldProcess, ToldProgram};

/// Where a program that begins lies and works, as far as that is in recorded directories.
#[derive(Debug, Default)]
pub(super) struct ProgramPlace {
    pub(super) exe: Option<Vec<u8>>,
    pub(super) cwd: Option<Vec<u8>>,
}

impl Rows {
    pub(super) fn forked(&mut self, told: &Told<'_>) {
        let head = &told.head;
        self.note_start(head.process, head.file as u32, head.bytes);
    }

    /// A process of the run started another; `started_ns` since boot.
    pub(crate) fn note_start(&mut self, pid: u32, parent: u32, started_ns: u64) {
        let Some(above) = self.living.get(&parent).copied() else {
            return self.note_orphan();
        };
        let told = ToldProcess { pid, parent: Some(above), started_ns };
        let id = self.processes.meet_told(&told);
        self.living.insert(pid, id);
    }

    pub(super) fn program_file(&mut self, told: &Told<'_>) {
        let path = self.absolute_path(told);
        self.programs.entry(told.head.process).or_default().exe = path;
        if let Some(file) = Self::opened_file(told) {
            self.note_program_file(file);
        }
    }

    /// A program of a recorded directory is executed.
    pub(crate) fn note_program_file(&mut self, file: OpenedFile) {
        let Some(process) = self.living.get(&file.process).copied() else { return };
        let key = (file.place.0, file.inode, file.generation);
        let known = self.files.meet_open_file(&file.place, key);
        let tree = file.place.0;
        self.count(Some(process), tree, known.class, Op::Open, 0);
        let at = self.time(file.at);
        // The kernel reads it page by page, as it is needed.
        let open = OpenNow {
            process,
            tree,
            known,
            key,
            kind: OpenKind::File,
            write: false,
            created: false,
            opened: at,
            size_at_open: file.size,
            read: IoCount::default(),
            wrote: IoCount::default(),
            read_mapped: true,
            write_mapped: false,
            left: Some((at, file.size)),
            attributes: ToldAttributes::told_at(file.at),
        };
        self.record_close(&open, Some(process));
    }

    /// A process executes another program, which `/proc` knows by now.
    pub(crate) fn note_program(&mut self, pid: u32, comm: Vec<u8>, argv: Vec<Vec<u8>>) {
        let Some(id) = self.living.get(&pid).copied() else { return self.note_orphan() };
        self.processes.note_program(id, ToldProgram { comm, argv, exe: None, cwd: None });
    }

    pub(super) fn ran(&mut self, told: &Told<'_>) {
        let head = &told.head;
        let ProgramPlace { exe, cwd } = self.programs.remove(&head.process).unwrap_or_default();
        let Some(id) = self.process(told) else { return self.note_orphan() };
        self.names.note_namespace(u64::from(head.mode), head.process);
        let words = told.text.strip_suffix(b"\0").unwrap_or(told.text);
        let mut argv: Vec<Vec<u8>> = words.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect();
        let all = head.file;
        if all > told.text.len() as u64
            && let Some(whole) = self.processes.read_words(head.process)
        {
            argv = whole;
        }
        self.processes.note_program(id, ToldProgram { comm: told.comm(), argv, exe, cwd });
    }

    pub(super) fn exited(&mut self, told: &Told<'_>) {
        self.programs.remove(&told.head.process);
        self.names.forget_process(told.head.process);
        self.note_end(told.head.process, told.head.at, told.usage());
    }

    /// A process ended; `usage`: what it used, as far as that was seen.
    pub(crate) fn note_end(&mut self, pid: u32, at: u64, usage: Option<Usage>) {
        let Some(id) = self.living.remove(&pid) else {
            return self.note_orphan();
        };
        let Some(usage) = usage else { return self.processes.note_unseen_end(id) };
        let us = |nanos: u64| Micros(nanos / 1000);
        let counters = ProcessCounters {
            id,
            at: self.time(at),
            user: us(usage.user),
            system: us(usage.system),
            children_user: us(usage.children_user),
            children_system: us(usage.children_system),
            io: Some(ProcessIo {
                rchar: ByteCount(usage.rchar),
                wchar: ByteCount(usage.wchar),
                read_bytes: ByteCount(usage.read_bytes),
                write_bytes: ByteCount(usage.write_bytes),
            }),
        };
        self.processes.note_end(id, counters);
    }
}
