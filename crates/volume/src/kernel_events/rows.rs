//! Events to rows of the record: the same facts that requests of a mount become.

mod name_rows;
mod process_rows;

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use forebay_model::tasks::is_control_file;
use forebay_model::{
    AccessPattern, ByteCount, ClassId, Fact, IoCount, Micros, Op, OpCount, OpKey, OpenSession,
    ProcessId, SizeClass, TreeId,
};
use rustc_hash::FxHashMap;
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};

use super::known_attributes::{KnownAttributes, ToldAttributes};
use super::known_files::{FileKey, KnownFiles};
use super::names::{Names, Place, Whereabouts, join};
use super::wire::{Kind, Told};
use crate::processes::{ProcessTable, ToldProcess};
use crate::recorder::{RecordedPath, Recorder};
use process_rows::ProgramPlace;

/// Modes of an open file in the kernel (linux/fs.h).
pub(crate) const FMODE_WRITE: u32 = 0x2;
pub(crate) const FMODE_PATH: u32 = 0x4000;
pub(crate) const FMODE_CREATED: u32 = 0x10_0000;
const DIRECTORY: u32 = libc::S_IFDIR;
/// A size that was not told.
const UNKNOWN: u64 = u64::MAX;
/// What an engine's control file says, as far as it is kept.
const CONTROL_FILE_BYTES: usize = 64 << 10;
/// Paths of which the class is kept.
const MOST_CLASSES: usize = 16_384;

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
    attributes: ToldAttributes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpenKind {
    File,
    Directory,
    /// With `O_PATH`: a name, held.
    Name,
}

/// A file or directory that was opened, as whoever looks on found it.
#[derive(Debug)]
pub(crate) struct OpenedFile {
    pub(crate) process: u32,
    /// Number of the open file.
    pub(crate) number: u64,
    /// When the call was over, and how long it took, in nanoseconds.
    pub(crate) at: u64,
    pub(crate) nanos: u64,
    pub(crate) place: Place,
    pub(crate) inode: u64,
    pub(crate) generation: u32,
    /// Kind and permissions of the file.
    pub(crate) mode: u32,
    /// The kernel's mode of the open file: `FMODE_*`.
    pub(crate) file_mode: u32,
    /// Flags of open(2).
    pub(crate) flags: u32,
    pub(crate) size: u64,
}

/// What was moved through an open file, without its calls.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Amount {
    pub(crate) read: u64,
    pub(crate) wrote: u64,
    /// All that is read, and written, through it is not known.
    pub(crate) hides_reads: bool,
    pub(crate) hides_writes: bool,
}

/// Turns events into rows, in their order.
pub(crate) struct Rows {
    recorder: Arc<Recorder>,
    processes: Arc<ProcessTable>,
    names: Names,
    /// Absolute paths of the recorded directories.
    points: Vec<Vec<u8>>,
    /// Processes of the run, until the kernel says that they ended.
    living: FxHashMap<u32, ProcessId>,
    files: KnownFiles,
    attributes: KnownAttributes,
    opens: FxHashMap<u64, OpenNow>,
    classes: FxHashMap<Place, ClassId>,
    /// The first of two names, by thread; `None`: it leads to no recorded directory.
    first_names: FxHashMap<u32, Option<Place>>,
    /// Where programs that begin lie and work, by process.
    programs: FxHashMap<u32, ProgramPlace>,
    /// The run's start on the machine's clock.
    began: u64,
    /// Events that made no sense without one that was lost.
    pub(crate) orphans: Arc<AtomicU64>,
}

impl Rows {
    pub(crate) fn new(
        recorder: Arc<Recorder>,
        processes: Arc<ProcessTable>,
        names: Names,
        points: Vec<Vec<u8>>,
        machine_now: u64,
    ) -> Rows {
        let began = machine_now.saturating_sub(recorder.clock().elapsed_nanos());
        Rows {
            files: KnownFiles::new(Arc::clone(&recorder)),
            recorder,
            processes,
            names,
            points,
            living: FxHashMap::default(),
            attributes: KnownAttributes::default(),
            opens: FxHashMap::default(),
            classes: FxHashMap::default(),
            first_names: FxHashMap::default(),
            programs: FxHashMap::default(),
            began,
            orphans: Arc::default(),
        }
    }

    /// The command, which was started and executes nothing yet.
    pub(crate) fn meet_command(&mut self, pid: u32, started_ns: u64) {
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
    pub(crate) fn close_all(&mut self) {
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

    fn opened(&mut self, told: &Told<'_>) {
        if let Some(opened) = Self::opened_file(told) {
            self.note_open(opened);
        }
    }

    fn opened_file(told: &Told<'_>) -> Option<OpenedFile> {
        let head = &told.head;
        Some(OpenedFile {
            process: head.process,
            number: head.file,
            at: head.at,
            nanos: head.nanos,
            place: (Self::tree(told)?, told.path()),
            inode: head.inode,
            generation: head.count,
            mode: head.mode,
            file_mode: head.op,
            flags: head.flags,
            size: head.size,
        })
    }

    /// A file, directory or name was opened.
    pub(crate) fn note_open(&mut self, opened: OpenedFile) {
        let OpenedFile { number, at, nanos, place, file_mode, flags, size, .. } = opened;
        let process = self.living.get(&opened.process).copied();
        let tree = place.0;
        let key = (tree, opened.inode, opened.generation);
        let created = file_mode & FMODE_CREATED != 0;
        let kind = match opened.mode & libc::S_IFMT {
            _ if file_mode & FMODE_PATH != 0 => OpenKind::Name,
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
            OpenKind::File => self.files.meet_open_file(&place, key),
            _ => {
                let class = self.class(&place);
                Arc::new(RecordedPath::of_class(&place.1, class))
            }
        };
        self.count(process, tree, known.class, op, nanos);
        if kind == OpenKind::File && !created && flags & libc::O_TRUNC as u32 != 0 {
            self.count(process, tree, known.class, Op::Truncate, 0);
        }
        let Some(process) = process else { return self.note_orphan() };
        let opened = self.time(at.saturating_sub(nanos));
        let open = OpenNow {
            process,
            tree,
            known,
            key,
            kind,
            write: file_mode & FMODE_WRITE != 0,
            created,
            opened,
            size_at_open: size,
            read: IoCount::default(),
            wrote: IoCount::default(),
            read_mapped: false,
            write_mapped: false,
            left: None,
            attributes: ToldAttributes::told_at(at),
        };
        self.attributes.note_told(&place, at);
        self.opens.insert(number, open);
    }

    /// What was moved through an open file, where nobody counted calls.
    pub(crate) fn note_amount(&mut self, number: u64, amount: Amount) {
        let Some(open) = self.opens.get_mut(&number) else { return };
        open.read.bytes += ByteCount(amount.read);
        open.wrote.bytes += ByteCount(amount.wrote);
        open.read_mapped |= amount.hides_reads;
        open.write_mapped |= amount.hides_writes && open.write;
    }

    /// Something was done to, or moved through, an open file.
    pub(crate) fn on_open(&mut self, told: &Told<'_>) {
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
                if op == Op::Getattr && !open.attributes.needs_request(head.at) {
                    return;
                }
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
        let known = self.files.known(open.key).unwrap_or(&open.known);
        if open.write && is_control_file(&known.path) {
            self.keep_control_file(open.tree, &known.path);
        }
    }

    /// What an engine wrote into one of its control files.
    fn keep_control_file(&self, tree: TreeId, path: &[u8]) {
        let Some(root) = self.names.root(tree) else { return };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        // The recorder may read more than who wrote it: no link leads out.
        let (path_in, within) = (OsStr::from_bytes(path), ResolveFlags::BENEATH);
        let Ok(file) = openat2(root.as_fd(), path_in, flags, Mode::empty(), within) else {
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

    fn note_orphan(&self) {
        self.orphans.fetch_add(1, Relaxed);
    }
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
