//! Events to rows of the record: the same facts that requests of a mount become.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use forebay_model::tasks::is_control_file;
use forebay_model::{
    AccessPattern, ByteCount, ClassId, Fact, IoCount, Micros, Op, OpCount, OpKey, OpenSession,
    ProcessCounters, ProcessId, ProcessIo, SizeClass, TreeId,
};
use rustc_hash::FxHashMap;
use rustix::fs::{Mode, OFlags, openat};

use super::calls::NO_OPERATION;
use super::names::{Base, Names, Place, Whereabouts, join};
use super::wire::{Kind, Told};
use crate::processes::{ProcessTable, ToldProcess, ToldProgram};
use crate::recorder::{RecordedFile, RecordedPath, Recorder};

/// Modes of an open file in the kernel (linux/fs.h).
const FMODE_WRITE: u32 = 0x2;
const FMODE_PATH: u32 = 0x4000;
const FMODE_CREATED: u32 = 0x10_0000;
const RENAME_EXCHANGE: u32 = 2;
const DIRECTORY: u32 = libc::S_IFDIR;
/// A size that was not told.
const UNKNOWN: u64 = u64::MAX;
/// What an engine's control file says, as far as it is kept.
const CONTROL_FILE_BYTES: usize = 64 << 10;
/// Paths of which the class is kept.
const MOST_CLASSES: usize = 16_384;

/// A file by inode: a number that was given again has another generation.
type FileKey = (TreeId, u64, u32);

/// One file that was opened.
#[derive(Debug)]
struct KnownFile {
    known: Arc<RecordedPath>,
    /// Its names that were met and not removed.
    names: Vec<Place>,
}

/// One open file.
#[derive(Debug)]
struct OpenNow {
    process: ProcessId,
    tree: TreeId,
    known: Arc<RecordedPath>,
    /// By which the file is known, whatever its name.
    key: FileKey,
    kind: OpenKind,
    write: bool,
    created: bool,
    opened: Micros,
    size_at_open: u64,
    read: IoCount,
    wrote: IoCount,
    /// Read, and written, through memory: by how much nobody sees.
    read_mapped: bool,
    write_mapped: bool,
    /// When a descriptor of it went last, and its size then.
    left: Option<(Micros, u64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpenKind {
    File,
    Directory,
    /// With `O_PATH`: a name, held.
    Name,
}

/// Where a program that begins lies and works, as far as that is in recorded directories.
#[derive(Debug, Default)]
struct ProgramPlace {
    exe: Option<Vec<u8>>,
    cwd: Option<Vec<u8>>,
}

/// Turns events into rows, in their order.
pub(super) struct Rows {
    recorder: Arc<Recorder>,
    processes: Arc<ProcessTable>,
    names: Names,
    /// Absolute paths of the recorded directories.
    points: Vec<Vec<u8>>,
    /// Processes of the run, until the kernel says that they ended.
    living: FxHashMap<u32, ProcessId>,
    files: FxHashMap<FileKey, KnownFile>,
    by_name: FxHashMap<Place, FileKey>,
    opens: FxHashMap<u64, OpenNow>,
    classes: FxHashMap<Place, ClassId>,
    /// The first of two names, by thread; `None`: it leads to no recorded directory.
    first_names: FxHashMap<u32, Option<Place>>,
    /// Where programs that begin lie and work, by process.
    programs: FxHashMap<u32, ProgramPlace>,
    /// The run's start on the machine's clock.
    began: u64,
    /// Events that made no sense without one that was lost.
    pub(super) orphans: Arc<AtomicU64>,
}

impl Rows {
    pub(super) fn new(
        recorder: Arc<Recorder>,
        processes: Arc<ProcessTable>,
        names: Names,
        points: Vec<Vec<u8>>,
        machine_now: u64,
    ) -> Rows {
        let began = machine_now.saturating_sub(recorder.clock().elapsed_nanos());
        Rows {
            recorder,
            processes,
            names,
            points,
            living: FxHashMap::default(),
            files: FxHashMap::default(),
            by_name: FxHashMap::default(),
            opens: FxHashMap::default(),
            classes: FxHashMap::default(),
            first_names: FxHashMap::default(),
            programs: FxHashMap::default(),
            began,
            orphans: Arc::default(),
        }
    }

    /// The command, which was started and executes nothing yet.
    pub(super) fn meet_command(&mut self, pid: u32, started_ns: u64) {
        let id = self.processes.meet_told(&ToldProcess { pid, parent: None, started_ns });
        self.living.insert(pid, id);
    }

    /// Takes in one event.
    pub(super) fn take(&mut self, told: &Told<'_>, kernel: &mut impl Whereabouts) {
        match told.kind {
            Kind::Opened => self.opened(told),
            Kind::Used | Kind::CopiedFrom | Kind::Moved | Kind::Mapped | Kind::Closed => {
                self.on_open(told);
            }
            Kind::Named | Kind::NamedFirst => self.named(told, kernel),
            Kind::Forked => self.forked(told),
            Kind::ProgramFile => self.program_file(told),
            Kind::WorkingDirectory => {
                let path = self.absolute_path(told);
                self.programs.entry(told.head.process).or_default().cwd = path;
            }
            Kind::Ran => self.ran(told),
            Kind::Exited => self.exited(told),
        }
    }

    /// Nobody of the run lives: what is open yet was closed when its last descriptor went.
    pub(super) fn close_all(&mut self) {
        let mut left: Vec<(u64, OpenNow)> = self.opens.drain().collect();
        left.sort_by_key(|(number, _)| *number);
        for (_, open) in left {
            self.record_close(&open, Some(open.process));
        }
    }

    fn time(&self, at: u64) -> Micros {
        Micros(at.saturating_sub(self.began) / 1000)
    }

    fn process(&self, told: &Told<'_>) -> Option<ProcessId> {
        self.living.get(&told.head.process).copied()
    }

    fn tree(told: &Told<'_>) -> Option<TreeId> {
        u16::try_from(told.head.tree).ok().map(TreeId)
    }

    fn absolute_path(&self, told: &Told<'_>) -> Option<Vec<u8>> {
        let point = self.points.get(usize::from(Self::tree(told)?.0))?;
        Some(join(point, &told.path()))
    }

    fn class(&mut self, place: &Place) -> ClassId {
        if let Some(class) = self.classes.get(place) {
            return *class;
        }
        let class = self.recorder.class_of_path(&place.1);
        if self.classes.len() >= MOST_CLASSES {
            self.classes.clear();
        }
        self.classes.insert(place.clone(), class);
        class
    }

    fn count(&self, process: Option<ProcessId>, tree: TreeId, class: ClassId, op: Op, nanos: u64) {
        let count = OpCount { count: 1, nanos, ..OpCount::default() };
        self.recorder.count_operation(process, tree, class, OpKey::without_bytes(op), count);
    }

    /// The file behind an open, by its inode: under a name that is new to it it stays the same.
    fn file(&mut self, place: &Place, told: &Told<'_>) -> Arc<RecordedPath> {
        let key = file_key(place.0, told);
        if let Some(file) = self.files.get_mut(&key) {
            if self.by_name.get(place) != Some(&key) {
                file.names.push(place.clone());
                self.by_name.insert(place.clone(), key);
            }
            if file.known.path[..] != place.1 {
                // It is known by the name that was used last.
                file.known = described_anew(&self.recorder, file, place);
            }
            return Arc::clone(&file.known);
        }
        let known = Arc::new(self.recorder.describe_path(place.0, None, &place.1, None));
        self.files.insert(key, KnownFile { known: Arc::clone(&known), names: vec![place.clone()] });
        self.by_name.insert(place.clone(), key);
        // A file has its number from the first open: a rename does not change it.
        self.recorder.file_number(place.0, &known);
        known
    }

    fn opened(&mut self, told: &Told<'_>) {
        let (Some(tree), process) = (Self::tree(told), self.process(told)) else { return };
        let head = &told.head;
        let place = (tree, told.path());
        let (mode, created) = (head.op, head.op & FMODE_CREATED != 0);
        let kind = match head.mode & libc::S_IFMT {
            _ if mode & FMODE_PATH != 0 => OpenKind::Name,
            DIRECTORY => OpenKind::Directory,
            _ => OpenKind::File,
        };
        let op = match kind {
            OpenKind::Name => Op::Lookup,
            OpenKind::Directory => Op::Opendir,
            OpenKind::File if created => Op::Create,
            OpenKind::File => Op::Open,
        };
        let known = match kind {
            OpenKind::File => self.file(&place, told),
            _ => {
                let class = self.class(&place);
                Arc::new(RecordedPath::of_class(&place.1, class))
            }
        };
        self.count(process, tree, known.class, op, head.nanos);
        if kind == OpenKind::File && !created && head.flags & libc::O_TRUNC as u32 != 0 {
            self.count(process, tree, known.class, Op::Truncate, 0);
        }
        let Some(process) = process else { return self.note_orphan() };
        let opened = self.time(head.at.saturating_sub(head.nanos));
        let open = OpenNow {
            process,
            tree,
            known,
            key: file_key(tree, told),
            kind,
            write: mode & FMODE_WRITE != 0,
            created,
            opened,
            size_at_open: head.size,
            read: IoCount::default(),
            wrote: IoCount::default(),
            read_mapped: false,
            write_mapped: false,
            left: None,
        };
        self.opens.insert(head.file, open);
    }

    fn on_open(&mut self, told: &Told<'_>) {
        let process = self.process(told);
        let (head, at) = (&told.head, self.time(told.head.at));
        let Some(open) = self.opens.get_mut(&head.file) else { return self.note_orphan() };
        let (tree, class, kind) = (open.tree, open.known.class, open.kind);
        let mut counted = None;
        match told.kind {
            Kind::Moved => {
                let count = OpCount {
                    count: u64::from(head.count),
                    nanos: head.nanos,
                    bytes: head.bytes,
                    failed: u64::from(head.flags),
                };
                let writes = head.op >= 8;
                let io = if writes { &mut open.wrote } else { &mut open.read };
                io.bytes += ByteCount(head.bytes);
                io.calls += u64::from(head.count);
                let key = moved_key(head.op);
                self.recorder.count_operation(process, tree, class, key, count);
            }
            Kind::Mapped => {
                let (shared, writes) = (
                    head.flags & libc::MAP_SHARED as u32 != 0,
                    head.mode & libc::PROT_WRITE as u32 != 0,
                );
                open.read_mapped = true;
                open.write_mapped |= shared && writes && open.write;
            }
            Kind::CopiedFrom => {
                open.read.bytes += ByteCount(head.result as u64);
                open.read.calls += 1;
            }
            Kind::Closed => {
                let size = Some(head.size).filter(|size| *size != UNKNOWN);
                let size = size.or(open.left.map(|(_, size)| size)).unwrap_or(UNKNOWN);
                open.left = Some((at, size));
                if kind == OpenKind::File {
                    counted = Some((
                        Op::Flush,
                        OpCount { count: 1, nanos: head.nanos, ..OpCount::default() },
                    ));
                }
            }
            _ => {
                let Some(op) = operation(head.op) else { return };
                let done = head.result >= 0;
                if op == Op::CopyRange && done {
                    open.wrote.bytes += ByteCount(head.result as u64);
                    open.wrote.calls += 1;
                }
                let bytes = if op == Op::CopyRange && done { head.result as u64 } else { 0 };
                let failed = u64::from(!done && !is_quiet_failure(op, head.result));
                counted = Some((op, OpCount { count: 1, nanos: head.nanos, bytes, failed }));
            }
        }
        if let Some((op, count)) = counted {
            let key = OpKey::with_bytes(op, count.bytes, AccessPattern::Sequential);
            self.recorder.count_operation(process, tree, class, key, count);
        }
        if told.kind == Kind::Closed && head.flags != 0 {
            let open = self.opens.remove(&head.file);
            open.iter().for_each(|open| self.record_close(open, process));
        }
    }

    fn record_close(&self, open: &OpenNow, by: Option<ProcessId>) {
        if open.kind != OpenKind::File {
            return;
        }
        self.count(by, open.tree, open.known.class, Op::Close, 0);
        let file = self.recorder.file_number(open.tree, &open.known);
        let size = open.left.map(|(_, size)| size).filter(|size| *size != UNKNOWN);
        self.recorder.record_fact(Fact::Open(OpenSession {
            process: open.process,
            file,
            write: open.write,
            created: open.created,
            opened: open.opened,
            closed: Some(open.left.map_or_else(|| self.recorder.clock().now(), |(at, _)| at)),
            read: (!open.read_mapped).then_some(open.read),
            wrote: (!open.write_mapped).then_some(open.wrote),
            size_at_open: Some(ByteCount(open.size_at_open)),
            size_at_close: size.map(ByteCount),
            hidden: open.read_mapped || open.write_mapped,
            copy: None,
        }));
        let known = self.files.get(&open.key).map_or(&open.known, |file| &file.known);
        if open.write && is_control_file(&known.path) {
            self.keep_control_file(open.tree, &known.path);
        }
    }

    /// What an engine wrote into one of its control files.
    fn keep_control_file(&self, tree: TreeId, path: &[u8]) {
        let Some(root) = self.names.root(tree) else { return };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let Ok(file) = openat(root.as_fd(), OsStr::from_bytes(path), flags, Mode::empty()) else {
            return;
        };
        let mut content = vec![0; CONTROL_FILE_BYTES];
        let mut length = 0;
        while length < content.len() {
            match rustix::io::pread(&file, &mut content[length..], length as u64) {
                Ok(0) | Err(_) => break,
                Ok(more) => length += more,
            }
        }
        content.truncate(length);
        self.recorder.record_engine_file(tree, path, content);
    }

    /// Where a name leads.
    fn place(&mut self, told: &Told<'_>, kernel: &mut impl Whereabouts) -> Option<Place> {
        let name = told.text.strip_suffix(b"\0").unwrap_or(told.text);
        if let (Some(tree), false) = (Self::tree(told), name.starts_with(b"/")) {
            return self.names.place_of(Base::Tree(tree, told.path()), name, kernel);
        }
        let namespace = told.head.inode;
        self.names.note_namespace(namespace, told.head.process);
        if name.starts_with(b"/") {
            return self.names.place_of(Base::Root(namespace), name, kernel);
        }
        // From a directory elsewhere, of which the path is told.
        let whole = [b"/", &told.path()[..], b"/", name].concat();
        self.names.place_of(Base::Root(namespace), &whole, kernel)
    }

    fn named(&mut self, told: &Told<'_>, kernel: &mut impl Whereabouts) {
        if told.head.op == u32::from(NO_OPERATION) {
            return self.names.forget_all();
        }
        let place = self.place(told, kernel);
        let head = &told.head;
        if told.kind == Kind::NamedFirst {
            self.first_names.insert(head.thread, place);
            return;
        }
        let Some(mut op) = operation(head.op) else { return };
        if op == Op::Unlink && head.flags & libc::AT_REMOVEDIR as u32 != 0 {
            op = Op::Rmdir;
        }
        let process = self.process(told);
        let first = self.first_names.remove(&head.thread);
        if head.result < 0 {
            let error = (-head.result) as i32;
            // The one that is not there is more likely the one that was to be moved.
            let about = match (error, first) {
                (libc::ENOENT, Some(Some(first))) => Some(first),
                _ => place,
            };
            let Some(about) = about else { return };
            let class = self.class(&about);
            let (op, failed) = match error {
                libc::ENOENT | libc::ENOTDIR => (Op::LookupFailed, 0),
                // The kernel finds it by looking the name up, and asks no more.
                libc::EEXIST => (Op::Lookup, 0),
                error => (op, u64::from(!is_quiet_failure(op, -i64::from(error)))),
            };
            let count = OpCount { count: 1, nanos: head.nanos, bytes: 0, failed };
            self.recorder.count_operation(process, about.0, class, OpKey::without_bytes(op), count);
            return;
        }
        if let Some(place) = &place {
            let class = self.class(place);
            self.count(process, place.0, class, op, head.nanos);
        }
        match op {
            Op::Unlink => place.iter().for_each(|place| self.removed(place, self.time(head.at))),
            Op::Rmdir | Op::Symlink => self.names.forget_all(),
            Op::Rename => {
                let exchange = head.flags & RENAME_EXCHANGE != 0;
                self.renamed(first.flatten(), place, exchange, self.time(head.at));
            }
            Op::Link => {
                let key = first.flatten().and_then(|first| self.by_name.get(&first).copied());
                if let (Some(key), Some(place)) = (key, place)
                    && let Some(file) = self.files.get_mut(&key)
                {
                    file.names.push(place.clone());
                    self.by_name.insert(place, key);
                }
            }
            _ => {}
        }
    }

    /// A name went; with its last one the file is gone.
    fn removed(&mut self, place: &Place, at: Micros) {
        let Some(key) = self.by_name.remove(place) else { return };
        let Some(file) = self.files.get_mut(&key) else { return };
        file.names.retain(|name| name != place);
        match file.names.last().cloned() {
            Some(other) if file.known.path[..] == place.1 => self.describe_anew(key, &other),
            Some(_) => {}
            None => {
                let gone = self.files.remove(&key);
                if let Some(id) = gone.and_then(|gone| gone.known.file()) {
                    self.recorder.record_fact(Fact::Gone { id, at });
                }
            }
        }
    }

    /// A file is known by another name now.
    fn describe_anew(&mut self, key: FileKey, place: &Place) {
        let Some(file) = self.files.get_mut(&key) else { return };
        file.known = described_anew(&self.recorder, file, place);
    }

    fn renamed(&mut self, from: Option<Place>, to: Option<Place>, exchange: bool, at: Micros) {
        // A directory may have been moved, or a link that leads to one.
        self.names.forget_all();
        if let (true, Some(from), Some(to)) = (exchange, &from, &to) {
            let aside = (from.0, [&from.1[..], b"\0"].concat());
            self.move_names(from, &aside);
            self.move_names(to, from);
            self.move_names(&aside, to);
            return;
        }
        match (from, to) {
            (Some(from), Some(to)) => {
                self.removed(&to, at);
                self.move_names(&from, &to);
            }
            // From elsewhere, or away.
            (None, Some(to)) => self.removed(&to, at),
            (Some(from), None) => self.removed(&from, at),
            (None, None) => {}
        }
    }

    /// A file, or all below a directory, has another name.
    fn move_names(&mut self, from: &Place, to: &Place) {
        let moved: Vec<(Place, Place)> = match self.by_name.contains_key(from) {
            true => vec![(from.clone(), to.clone())],
            false => {
                let below = [&from.1[..], b"/"].concat();
                let names = self.by_name.keys().filter(|(tree, _)| *tree == from.0);
                names
                    .filter_map(|name| Some((name, name.1.strip_prefix(&below[..])?)))
                    .map(|(name, rest)| (name.clone(), (to.0, join(&to.1, rest))))
                    .collect()
            }
        };
        for (old, new) in moved {
            let Some(key) = self.by_name.remove(&old) else { continue };
            if let Some(file) = self.files.get_mut(&key) {
                file.names.retain(|name| *name != old);
                file.names.push(new.clone());
            }
            self.describe_anew(key, &new);
            self.by_name.insert(new, key);
        }
    }

    fn forked(&mut self, told: &Told<'_>) {
        let head = &told.head;
        let Some(above) = self.living.get(&(head.file as u32)).copied() else {
            return self.note_orphan();
        };
        let pid = head.process;
        let told = ToldProcess { pid, parent: Some(above), started_ns: head.bytes };
        let id = self.processes.meet_told(&told);
        self.living.insert(pid, id);
    }

    fn program_file(&mut self, told: &Told<'_>) {
        let path = self.absolute_path(told);
        self.programs.entry(told.head.process).or_default().exe = path;
        let (Some(process), Some(tree)) = (self.process(told), Self::tree(told)) else { return };
        let known = self.file(&(tree, told.path()), told);
        self.count(Some(process), tree, known.class, Op::Open, 0);
        let at = self.time(told.head.at);
        // The kernel reads it page by page, as it is needed.
        let open = OpenNow {
            process,
            tree,
            known,
            key: file_key(tree, told),
            kind: OpenKind::File,
            write: false,
            created: false,
            opened: at,
            size_at_open: told.head.size,
            read: IoCount::default(),
            wrote: IoCount::default(),
            read_mapped: true,
            write_mapped: false,
            left: Some((at, told.head.size)),
        };
        self.record_close(&open, Some(process));
    }

    fn ran(&mut self, told: &Told<'_>) {
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

    fn exited(&mut self, told: &Told<'_>) {
        self.programs.remove(&told.head.process);
        self.names.forget_process(told.head.process);
        let Some(id) = self.living.remove(&told.head.process) else {
            return self.note_orphan();
        };
        let Some(usage) = told.usage() else { return };
        let us = |nanos: u64| Micros(nanos / 1000);
        let counters = ProcessCounters {
            id,
            at: self.time(told.head.at),
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

    fn note_orphan(&self) {
        self.orphans.fetch_add(1, Relaxed);
    }
}

fn file_key(tree: TreeId, told: &Told<'_>) -> FileKey {
    (tree, told.head.inode, told.head.count)
}

/// A file under another name; its number stays.
fn described_anew(recorder: &Recorder, file: &KnownFile, place: &Place) -> Arc<RecordedPath> {
    let was = file.known.file().map(|file| RecordedFile { file, moved: true });
    Arc::new(recorder.describe_path(place.0, None, &place.1, was))
}

/// Which sums an event has: reads, then writes; four sizes; in order, then not.
fn moved_key(number: u32) -> OpKey {
    let op = if number >= 8 { Op::Write } else { Op::Read };
    let pattern = AccessPattern::ALL[number as usize & 1];
    let bytes = match SizeClass::ALL[(number as usize >> 1) & 3] {
        SizeClass::Upto4K => 1,
        SizeClass::Upto64K => 64 << 10,
        SizeClass::Upto1M => 1 << 20,
        SizeClass::Over1M => 2 << 20,
    };
    OpKey::with_bytes(op, bytes, pattern)
}

fn operation(number: u32) -> Option<Op> {
    Op::ALL.get(number as usize).copied()
}

/// An answer that is no failure of the file system: there is no such attribute, or somebody else
/// has the lock.
fn is_quiet_failure(op: Op, result: i64) -> bool {
    let error = (-result) as i32;
    match op {
        Op::Xattr => error == libc::ENODATA,
        Op::Ioctl | Op::Lock => true,
        _ => false,
    }
}
