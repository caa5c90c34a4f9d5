//! Nodes of one process, a book in memory, and time that a test moves.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use forebay_book::{
    Book, EntryName, FileKind, FolderId, InodeNumber, MemoryBook, NodeKey, NodeOffer, VolumeName,
};
use forebay_os::clock::Clock;
use parking_lot::Mutex;
use rustix::io::Errno;

use crate::{
    Answer, AttributeChange, KernelCaches, Messages, Neighbour, NewFile, NodeSetup, Question,
    RenameRule, Seen, SharedNode, Time, Unanswered,
};

/// A clock that moves when somebody waits.
#[derive(Debug, Default)]
pub(super) struct ManualTime(AtomicU64);

impl Clock for ManualTime {
    fn elapsed_nanos(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

impl Time for ManualTime {
    fn wait(&self, time: Duration) {
        self.0.fetch_add(time.as_nanos() as u64, Ordering::SeqCst);
    }

    fn note_waited(&self, time: Duration) {
        // Nobody else does anything meanwhile.
        self.wait(50 * time);
    }

    fn unix_nanos(&self) -> i64 {
        1_700_000_000_000_000_000 + self.elapsed_nanos() as i64
    }
}

/// The same time as `time`, told by a clock that is wrong.
#[derive(Debug)]
pub(super) struct WrongClock {
    pub(super) time: Arc<ManualTime>,
    /// Nanoseconds by which it is ahead.
    pub(super) ahead: i64,
}

impl Clock for WrongClock {
    fn elapsed_nanos(&self) -> u64 {
        // Since another start, too.
        self.time.elapsed_nanos() + self.ahead.unsigned_abs()
    }
}

impl Time for WrongClock {
    fn wait(&self, time: Duration) {
        self.time.wait(time);
    }

    fn note_waited(&self, time: Duration) {
        self.time.note_waited(time);
    }

    fn unix_nanos(&self) -> i64 {
        self.time.unix_nanos() + self.ahead
    }
}

/// Nodes that reach each other by their addresses, unless they are cut off.
#[derive(Debug, Default)]
pub(super) struct Network {
    nodes: Mutex<BTreeMap<String, Arc<SharedNode>>>,
    away: Mutex<Vec<String>>,
    /// Two that do not reach each other.
    cuts: Mutex<Vec<[String; 2]>>,
    meanwhile: Mutex<Option<Meanwhile>>,
    pub(super) asked: AtomicU64,
}

/// What happens while a node asks in vain.
#[derive(Clone)]
struct Meanwhile(Arc<dyn Fn() + Send + Sync>);

impl std::fmt::Debug for Meanwhile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Meanwhile")
    }
}

/// A node's way into the network.
#[derive(Debug)]
struct Line {
    network: Arc<Network>,
    from: String,
}

impl Line {
    fn reaches(&self, to: &String) -> bool {
        let is_cut = |cut: &[String; 2]| cut.contains(to) && cut.contains(&self.from);
        !self.network.away.lock().contains(to) && !self.network.cuts.lock().iter().any(is_cut)
    }
}

impl Messages for Line {
    fn ask(
        &self,
        node: &Neighbour,
        question: &Question,
    ) -> std::result::Result<Answer, Unanswered> {
        self.network.asked.fetch_add(1, Ordering::Relaxed);
        let found = self.network.nodes.lock().get(&node.address).cloned();
        let Some(found) = found.filter(|_| self.reaches(&node.address)) else {
            let meanwhile = self.network.meanwhile.lock().take();
            if let Some(meanwhile) = meanwhile {
                // It may ask in vain itself.
                (meanwhile.0)();
                self.network.meanwhile.lock().get_or_insert(meanwhile);
            }
            return Err(Unanswered("is not reached".to_owned()));
        };
        let question =
            crate::decode_question(&crate::encode_question(question)).expect("a question");
        let answer = found.answer(&question);
        Ok(crate::decode_answer(&crate::encode_answer(&answer)).expect("an answer"))
    }
}

/// What the kernel of a node was told to forget.
#[derive(Debug, Default)]
pub(super) struct Forgotten(pub(super) Mutex<Vec<InodeNumber>>);

impl KernelCaches for Forgotten {
    fn can_forget(&self) -> bool {
        true
    }

    fn forget(&self, files: &[InodeNumber]) {
        self.0.lock().extend(files);
    }

    fn forget_file(&self, file: InodeNumber, _bytes: bool) {
        self.0.lock().push(file);
    }
}

pub(super) struct World<T: Time + 'static> {
    pub(super) time: Arc<T>,
    pub(super) book: Arc<dyn Book>,
    pub(super) network: Arc<Network>,
    folder: tempfile::TempDir,
}

impl World<ManualTime> {
    pub(super) fn new() -> World<ManualTime> {
        let time = Arc::new(ManualTime::default());
        time.wait(Duration::from_secs(1));
        World::at(time)
    }
}

impl<T: Time + 'static> World<T> {
    pub(super) fn at(time: Arc<T>) -> World<T> {
        let clock: Arc<dyn Clock> = Arc::<T>::clone(&time);
        World {
            time,
            book: Arc::new(MemoryBook::new(clock)),
            network: Arc::default(),
            folder: tempfile::tempdir().expect("a directory"),
        }
    }

    /// A node; the same number is the same node, begun anew.
    pub(super) fn node(&self, number: u8) -> Node {
        self.node_with(number, Arc::<T>::clone(&self.time) as Arc<dyn Time>)
    }

    /// One whose machine has a clock of its own.
    pub(super) fn node_with(&self, number: u8, time: Arc<dyn Time>) -> Node {
        let volume = VolumeName::new("s3://lab/volume").expect("a name");
        let address = address(number);
        let offer = NodeOffer::new(&format!("node{number}"), NodeKey([number; 16]), &address);
        let node = SharedNode::join(NodeSetup {
            book: Arc::clone(&self.book),
            volume: self.book.open_volume(&volume).expect("a volume"),
            offer: offer.expect("an offer"),
            messages: Arc::new(Line { network: Arc::clone(&self.network), from: address.clone() }),
            time,
            bodies: self.folder.path().join(number.to_string()),
            owner: (0, 0),
        });
        let node = node.expect("it joins");
        self.network.nodes.lock().insert(address.clone(), Arc::clone(&node));
        self.network.away.lock().retain(|away| *away != address);
        Node(node)
    }

    /// Others do not reach a node any more.
    pub(super) fn cut_off(&self, number: u8) {
        self.network.away.lock().push(address(number));
    }

    pub(super) fn reach(&self, number: u8) {
        self.network.away.lock().retain(|away| *away != address(number));
    }

    /// Two nodes do not reach each other any more; both reach the book and all others.
    pub(super) fn cut_between(&self, one: u8, other: u8) {
        self.network.cuts.lock().push([address(one), address(other)]);
    }

    /// All reach each other again.
    pub(super) fn mend(&self) {
        self.network.cuts.lock().clear();
        *self.network.meanwhile.lock() = None;
    }

    /// Does this whenever a node has asked in vain.
    pub(super) fn meanwhile(&self, work: impl Fn() + Send + Sync + 'static) {
        *self.network.meanwhile.lock() = Some(Meanwhile(Arc::new(work)));
    }

    pub(super) fn pass(&self, seconds: u64) {
        self.time.wait(Duration::from_secs(seconds));
    }
}

fn address(number: u8) -> String {
    format!("10.0.0.{number}:7000")
}

/// A node, as programs use it: by paths.
pub(super) struct Node(pub(super) Arc<SharedNode>);

pub(super) fn name(text: &str) -> EntryName {
    EntryName::new(text).expect("a name")
}

type Result<T> = std::result::Result<T, Errno>;

impl Node {
    pub(super) fn seen(&self, path: &str) -> Result<Seen> {
        let (folder, last) = self.parent(path)?;
        let found = match last {
            "" => return self.0.attributes(folder.inode()),
            last => self.0.look_up(folder, &name(last))?.ok_or(Errno::NOENT)?,
        };
        let seen = self.0.attributes(found.file);
        self.0.forget(found.file, 1);
        seen
    }

    fn parent<'p>(&self, path: &'p str) -> Result<(FolderId, &'p str)> {
        let mut parts: Vec<&str> = path.split('/').collect();
        let last = parts.pop().unwrap_or("");
        let mut folder = FolderId::ROOT;
        for part in parts {
            let found = self.0.look_up(folder, &name(part))?.ok_or(Errno::NOENT)?;
            self.0.forget(found.file, 1);
            if found.kind != FileKind::Folder {
                return Err(Errno::NOTDIR);
            }
            folder = FolderId(found.file.0);
        }
        Ok((folder, last))
    }

    pub(super) fn make(&self, path: &str, kind: FileKind) -> Result<Seen> {
        let (folder, last) = self.parent(path)?;
        let mode = if kind == FileKind::Folder { 0o755 } else { 0o644 };
        let new = NewFile { kind, mode, uid: 1, gid: 2, rdev: 0, target: Vec::new() };
        let seen = self.0.create(folder, &name(last), &new)?;
        self.0.forget(seen.file, 1);
        Ok(seen)
    }

    pub(super) fn mkdir(&self, path: &str) -> Result<Seen> {
        self.make(path, FileKind::Folder)
    }

    /// A file that the kernel knows until it is told to forget it.
    pub(super) fn known(&self, path: &str) -> Result<Seen> {
        let (folder, last) = self.parent(path)?;
        self.0.look_up(folder, &name(last))?.ok_or(Errno::NOENT)
    }

    /// As `open(path, 'wb')`, `write`, `close` do.
    pub(super) fn put(&self, path: &str, bytes: &[u8]) -> Result<()> {
        match self.make(path, FileKind::Regular) {
            Err(Errno::EXIST) | Ok(_) => {}
            Err(error) => return Err(error),
        }
        self.change(path, |file| {
            let cut = AttributeChange { size: Some(0), ..AttributeChange::default() };
            self.0.set_attributes(file.file, cut)?;
            self.0.write(file.file, 0, bytes)
        })
    }

    pub(super) fn append(&self, path: &str, bytes: &[u8]) -> Result<()> {
        self.change(path, |file| self.0.write(file.file, file.size, bytes))
    }

    fn change(&self, path: &str, change: impl Fn(&Seen) -> Result<()>) -> Result<()> {
        let file = self.known(path)?;
        let changed = self.0.open(file.file, true).and_then(|()| {
            let changed = self.0.attributes(file.file).and_then(|now| change(&now));
            changed.and(self.close(file.file, true))
        });
        self.0.forget(file.file, 1);
        changed
    }

    pub(super) fn close(&self, file: InodeNumber, writes: bool) -> Result<()> {
        let flushed = self.0.flush(file);
        self.0.release(file, writes);
        flushed
    }

    pub(super) fn read(&self, path: &str) -> Result<Vec<u8>> {
        let file = self.known(path)?.file;
        let read = self.0.open(file, false).and_then(|()| self.read_open(file));
        if read != Err(Errno::ISDIR) {
            self.close(file, false)?;
        }
        self.0.forget(file, 1);
        read
    }

    pub(super) fn read_open(&self, file: InodeNumber) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        loop {
            let more = self.0.read(file, bytes.len() as u64, 64 << 10)?;
            if more.is_empty() {
                return Ok(bytes);
            }
            bytes.extend(more);
        }
    }

    pub(super) fn list(&self, path: &str) -> Result<Vec<String>> {
        let seen = if path.is_empty() {
            self.0.attributes(FolderId::ROOT.inode())?
        } else {
            self.seen(path)?
        };
        if seen.kind != FileKind::Folder {
            return Err(Errno::NOTDIR);
        }
        let names = self.0.list(FolderId(seen.file.0))?;
        Ok(names
            .iter()
            .map(|one| String::from_utf8_lossy(one.name.as_bytes()).into_owned())
            .collect())
    }

    pub(super) fn unlink(&self, path: &str) -> Result<()> {
        let (folder, last) = self.parent(path)?;
        self.0.unlink(folder, &name(last))
    }

    pub(super) fn rmdir(&self, path: &str) -> Result<()> {
        let (folder, last) = self.parent(path)?;
        self.0.rmdir(folder, &name(last))
    }

    pub(super) fn rename(&self, old: &str, new: &str) -> Result<()> {
        let ((from, old), (to, new)) = (self.parent(old)?, self.parent(new)?);
        self.0.rename((from, &name(old)), (to, &name(new)), RenameRule::Replace)
    }

    pub(super) fn link(&self, old: &str, new: &str) -> Result<()> {
        let file = self.known(old)?.file;
        let (folder, last) = self.parent(new)?;
        let linked = self.0.link(file, folder, &name(last));
        self.0.forget(file, 1 + u64::from(linked.is_ok()));
        linked.map(drop)
    }
}
