//! What happened, gathered: counts of operations by process and class of files, one record for
//! each open file, and other facts, until somebody drains them into a run file. It decides
//! nothing and writes nothing.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use dashmap::DashMap;
use forebay_model::file_classes::class_of;
use forebay_model::run::note_key::REQUEST_NS;
use forebay_model::{
    ByteCount, ClassId, EngineFile, Fact, FileId, FileRecord, IoCount, Micros, OpCount, OpDelta,
    OpKey, OpenSession, ProcessId, TreeId,
};
use parking_lot::Mutex;
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::counters::Counters;
use forebay_os::clock::Clock;

/// What the record knows of a path: computed once, kept with the node.
#[derive(Debug)]
pub(crate) struct RecordedPath {
    pub(crate) path: Box<[u8]>,
    pub(crate) class: ClassId,
    /// The tier that has the bytes, when they are not in place.
    home: Option<TreeId>,
    file: OnceLock<FileId>,
}

impl RecordedPath {
    /// A path that gets no number: of a directory, or of a name alone.
    pub(crate) fn of_class(path: &[u8], class: ClassId) -> RecordedPath {
        RecordedPath { path: path.into(), class, home: None, file: OnceLock::new() }
    }

    /// The file's number, if it was ever open.
    pub(crate) fn file(&self) -> Option<FileId> {
        self.file.get().copied()
    }
}

/// A file that has a number in the record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecordedFile {
    pub(crate) file: FileId,
    /// It may have another path now.
    pub(crate) moved: bool,
}

/// One open file, while it is open.
#[derive(Debug)]
pub(crate) struct OpenRecord {
    pub(crate) process: ProcessId,
    file: FileId,
    created: bool,
    write: bool,
    opened: Micros,
    size_at_open: u64,
    /// Whether reads, and writes, all pass before us.
    reads_seen: bool,
    writes_seen: bool,
    hidden: bool,
    copy: Option<TreeId>,
    read: TransferCounter,
    wrote: TransferCounter,
}

#[derive(Debug, Default)]
struct TransferCounter {
    bytes: AtomicU64,
    calls: AtomicU64,
}

impl TransferCounter {
    fn add_call(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Relaxed);
        self.calls.fetch_add(1, Relaxed);
    }

    fn to_io(&self) -> IoCount {
        IoCount { bytes: ByteCount(self.bytes.load(Relaxed)), calls: self.calls.load(Relaxed) }
    }
}

impl OpenRecord {
    pub(crate) fn add_read(&self, bytes: u64) {
        self.read.add_call(bytes);
    }

    pub(crate) fn add_write(&self, bytes: u64) {
        self.wrote.add_call(bytes);
    }
}

/// What is known when a file is opened.
#[derive(Debug)]
pub(crate) struct OpenFacts {
    pub(crate) process: ProcessId,
    pub(crate) created: bool,
    pub(crate) write: bool,
    /// It can't read: nothing was read is known then, not a guess.
    pub(crate) only_writes: bool,
    pub(crate) size: u64,
    /// Reads and writes bypass us.
    pub(crate) hidden: bool,
    /// A page cache stands before us: its hits are not seen.
    pub(crate) cached: bool,
    /// The tier from whose copy it is read.
    pub(crate) copy: Option<TreeId>,
}

type OperationCountKey = (Option<ProcessId>, TreeId, ClassId, u8);
type OperationCounts = FxHashMap<OperationCountKey, OpCount>;

const SHARDS: usize = 16;

/// Gathers facts from all threads.
#[derive(Debug)]
pub struct Recorder {
    clock: Arc<dyn Clock>,
    /// Nobody will ask: nothing is kept.
    silent: bool,
    /// What is counted all the same, for who looks on.
    live: Counters,
    counts: [Mutex<OperationCounts>; SHARDS],
    facts: Mutex<Vec<Fact>>,
    classes: DashMap<String, ClassId, FxBuildHasher>,
    next_class: AtomicU32,
    next_file: AtomicU32,
    /// Nanoseconds of a request's way; 0: nobody has said.
    way: AtomicU64,
}

impl Recorder {
    /// An empty record.
    pub fn new(clock: Arc<dyn Clock>) -> Recorder {
        Recorder {
            clock,
            silent: false,
            live: Counters::default(),
            counts: std::array::from_fn(|_| Mutex::default()),
            facts: Mutex::default(),
            classes: DashMap::with_hasher(FxBuildHasher),
            next_class: AtomicU32::new(0),
            next_file: AtomicU32::new(0),
            way: AtomicU64::new(0),
        }
    }

    /// A record that nobody wants: it stays empty, however long it is told things.
    pub fn new_silent(clock: Arc<dyn Clock>) -> Recorder {
        Recorder { silent: true, ..Recorder::new(clock) }
    }

    /// Whether it keeps nothing.
    pub(crate) fn is_silent(&self) -> bool {
        self.silent
    }

    /// What a request takes on its way here and back: whoever says so first is believed.
    pub(crate) fn note_request_latency(&self, nanos: u64) {
        // A later one is a program's own word.
        let _ = self.way.compare_exchange(0, nanos, Relaxed, Relaxed);
    }

    /// The same, as the record says it.
    pub(crate) fn request_latency_note(&self) -> Option<(String, String)> {
        let nanos = Some(self.way.load(Relaxed)).filter(|nanos| *nanos > 0)?;
        Some(REQUEST_NS.to_note(&nanos))
    }

    /// The run's clock.
    pub fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    /// Sums for who looks on.
    pub(crate) fn live_counters(&self) -> &Counters {
        &self.live
    }

    /// Adds a fact.
    pub fn record_fact(&self, fact: Fact) {
        if !self.silent {
            self.facts.lock().push(fact);
        }
    }

    /// Counts one operation that took `nanos` and moved `bytes`.
    pub(crate) fn count_operation(
        &self,
        process: Option<ProcessId>,
        tree: TreeId,
        class: ClassId,
        key: OpKey,
        count: OpCount,
    ) {
        self.live.count_operation(key, &count);
        if self.silent {
            return;
        }
        thread_local!(static SHARD: usize = {
            static NEXT: AtomicU32 = AtomicU32::new(0);
            NEXT.fetch_add(1, Relaxed) as usize % SHARDS
        });
        let mut counts = SHARD.with(|shard| self.counts[*shard].lock());
        counts.entry((process, tree, class, key.index() as u8)).or_default().add_counts(&count);
    }

    /// What the record says of a path below a tree; a file that was opened under another name
    /// keeps its number.
    pub(crate) fn describe_path(
        &self,
        tree: TreeId,
        home: Option<TreeId>,
        path: &[u8],
        old: Option<RecordedFile>,
    ) -> RecordedPath {
        let (class, file) = (self.class_of_path(path), OnceLock::new());
        let known = RecordedPath { path: path.into(), class, home, file };
        if let Some(RecordedFile { file: id, moved }) = old {
            let _ = known.file.set(id);
            if moved {
                self.record_fact(Fact::File(FileRecord {
                    id,
                    tree,
                    path: path.to_vec(),
                    class,
                    home,
                }));
            }
        }
        known
    }

    /// The class of a path below a tree.
    pub(crate) fn class_of_path(&self, path: &[u8]) -> ClassId {
        let pattern = class_of(path);
        if let Some(id) = self.classes.get(&pattern) {
            return *id;
        }
        *self.classes.entry(pattern.clone()).or_insert_with(|| {
            let id = ClassId(self.next_class.fetch_add(1, Relaxed));
            self.record_fact(Fact::Class { id, pattern });
            id
        })
    }

    /// The number of a file, which it gets when it is asked for first.
    pub(crate) fn file_number(&self, tree: TreeId, known: &RecordedPath) -> FileId {
        *known.file.get_or_init(|| {
            let id = FileId(self.next_file.fetch_add(1, Relaxed));
            let path = known.path.to_vec();
            self.record_fact(Fact::File(FileRecord {
                id,
                tree,
                path,
                class: known.class,
                home: known.home,
            }));
            id
        })
    }

    /// Starts the record of an open file.
    pub(crate) fn begin_open_record(
        &self,
        tree: TreeId,
        known: &RecordedPath,
        opening: &OpenFacts,
    ) -> Box<OpenRecord> {
        Box::new(OpenRecord {
            process: opening.process,
            file: self.file_number(tree, known),
            created: opening.created,
            write: opening.write,
            opened: self.clock.now(),
            size_at_open: opening.size,
            reads_seen: opening.only_writes || !opening.hidden && !opening.cached,
            writes_seen: !opening.hidden,
            hidden: opening.hidden,
            copy: opening.copy,
            read: TransferCounter::default(),
            wrote: TransferCounter::default(),
        })
    }

    /// Ends the record of an open file.
    pub(crate) fn end_open_record(&self, record: &OpenRecord, size: Option<u64>) {
        self.record_fact(Fact::Open(OpenSession {
            process: record.process,
            file: record.file,
            write: record.write,
            created: record.created,
            opened: record.opened,
            closed: Some(self.clock.now()),
            read: record.reads_seen.then(|| record.read.to_io()),
            wrote: record.writes_seen.then(|| record.wrote.to_io()),
            size_at_open: Some(ByteCount(record.size_at_open)),
            size_at_close: size.map(ByteCount),
            hidden: record.hidden,
            copy: record.copy,
        }));
    }

    /// Keeps what an engine wrote into one of its control files.
    pub(crate) fn record_engine_file(&self, tree: TreeId, path: &[u8], content: Vec<u8>) {
        let at = self.clock.now();
        self.record_fact(Fact::EngineFile(EngineFile { tree, path: path.to_vec(), content, at }));
    }

    /// Takes what was gathered since the last time; order within one kind is kept.
    pub fn drain_facts(&self, into: &mut Vec<Fact>) {
        // Counts first: a class they name is among the facts taken afterwards.
        let mut ops = Vec::new();
        for shard in &self.counts {
            for ((process, tree, class, key), count) in std::mem::take(&mut *shard.lock()) {
                let key = OpKey::from_index(usize::from(key)).expect("it came from a key");
                ops.push(Fact::Ops(OpDelta { process, tree, class, key, count }));
            }
        }
        into.append(&mut self.facts.lock());
        into.append(&mut ops);
    }
}
