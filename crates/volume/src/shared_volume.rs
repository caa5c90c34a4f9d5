//! A volume that several nodes write, mounted: what is needed before the daemon is there, and what
//! serves it then. Its names are in a book; `forebay_sharing` knows the rules.

mod book_peers;
mod bucket_objects;
mod directory_objects;
mod long_files;
mod object_place;
mod transport;
mod warming;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use forebay_book::{Book, BookUrl, NodeKey, NodeOffer, PostgresBook, VolumeName};
use forebay_model::{ByteCount, Micros};
use forebay_objstore::RequestError;
use forebay_os::clock::Clock;
use forebay_os::predecessor::{listen_after_predecessor, lock_after_predecessor};
use forebay_peers::{DEFAULT_PORT, PeerToken, PeerWaits, VerbTable, parse_peers};
use forebay_sharing::{MachineTime, NodeSetup, NodeStanding, ObjectStore, SharedNode};
use parking_lot::Mutex;
use rustix::fs::StatVfs;

use crate::bucket::{OwnPeer, PeerGroup};
use crate::fuse::{Device, SharedAccess, SharedSession};
use crate::ipc::{SharedStatus, UploadReport, WriteBackProgress};
use book_peers::BookPeers;
pub use long_files::LongFiles;
use object_place::SharedObjects;
use transport::{NodeMessages, SHARING, SharingVerb};

/// At the end of a mount the book and the bucket are waited for so long.
const LAST_WORD: Duration = Duration::from_secs(300);
/// Threads that bring long files to the bucket, a file each.
const UPLOADS: usize = 3;
/// Threads that serve a mount at first, and at most: each request to another node keeps one waiting.
const THREADS: usize = 4;
const THREADS_MOST: usize = 64;

/// How a shared volume is to be mounted.
#[derive(Debug)]
pub struct SharedOptions {
    /// Where its long files lie.
    pub long_files: LongFiles,
    /// Where this node keeps what is its own.
    pub state: PathBuf,
    /// The book.
    pub book: BookUrl,
    /// Where this node answers the others.
    pub listen: SocketAddr,
    /// Where they reach it: `HOST:PORT`. It is the node's name, too.
    pub address: String,
    /// Bytes that copies of long files may take on this machine's disk that the bucket has, too;
    /// `None`: all but a sixteenth of the disk.
    pub space: Option<u64>,
    /// Whether fsync returns when the bucket has a long file; else when this machine's disk has it.
    pub syncs_to_bucket: bool,
    /// How long programs wait for other nodes, for the book and, with fsync, for the bucket; `None`:
    /// 30 s.
    pub patience: Option<Duration>,
}

/// Why a shared volume can't be mounted.
#[derive(Debug, thiserror::Error)]
pub enum SharedError {
    /// What the bucket said.
    #[error("{0}")]
    Bucket(#[from] RequestError),
    /// What the book said.
    #[error("{0}")]
    Book(#[from] forebay_book::Error),
    /// The directory for what is this node's own.
    #[error("{}: {_1}", _0.display())]
    State(PathBuf, io::Error),
    /// The directory that keeps the long files.
    #[error("{}: {_1}", _0.display())]
    Directory(PathBuf, io::Error),
    /// Nobody can listen there.
    #[error("listening at {0}: {1}")]
    Listen(SocketAddr, io::Error),
    /// The place has something else, such as this object.
    #[error("it has {0}, and is no shared volume")]
    Foreign(String),
}

/// One that can be served.
#[derive(Debug)]
pub(crate) struct PreparedShared {
    wanted: SharedOptions,
    name: VolumeName,
    key: NodeKey,
    listener: TcpListener,
    /// Nobody else uses the directory as long as this is open.
    lock: OwnedFd,
}

impl PreparedShared {
    /// An empty directory, which the mount stands for.
    pub(crate) fn tree_directory(&self) -> PathBuf {
        self.wanted.state.join("tree")
    }
}

/// Looks whether a volume can be shared, and takes this node's place. Nothing of the clients is left
/// when it is done: this process is about to fork.
///
/// # Errors
/// Why it can't be.
pub(crate) fn prepare_shared_volume(wanted: SharedOptions) -> Result<PreparedShared, SharedError> {
    let at = |error| SharedError::State(wanted.state.clone(), error);
    if wanted.long_files.contains(&wanted.state) {
        return Err(at(io::Error::other(
            "it lies in the directory of the volume, which all nodes have",
        )));
    }
    let name = wanted.long_files.volume_name()?;
    let (lock, key) = open_state(&wanted.state, name.as_str()).map_err(at)?;
    let listener = listen_after_predecessor(wanted.listen)
        .map_err(|error| SharedError::Listen(wanted.listen, error))?;
    wanted.long_files.claim()?;
    let book = PostgresBook::open(&wanted.book)?;
    book.open_volume(&name)?;
    Ok(PreparedShared { wanted, name, key, listener, lock })
}

/// The directory of this node: locked, and of this volume.
fn open_state(state: &Path, name: &str) -> io::Result<(OwnedFd, NodeKey)> {
    std::fs::create_dir_all(state.join("tree"))?;
    let mut how = std::fs::File::options();
    how.read(true).write(true).create(true).truncate(false).mode(0o600);
    let lock = how.open(state.join("lock"))?;
    lock_after_predecessor(&lock)?;
    match std::fs::read_to_string(state.join("volume")) {
        Ok(known) if known == name => {}
        Ok(known) => return Err(io::Error::other(format!("it is of another volume, {known}"))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            std::fs::write(state.join("volume"), name)?;
        }
        Err(error) => return Err(error),
    }
    let file = state.join("key");
    let key = match std::fs::read(&file) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let mut key = vec![0; 16];
            io::Read::read_exact(&mut std::fs::File::open("/dev/urandom")?, &mut key)?;
            let mut how = std::fs::File::options();
            let mut made = how.write(true).create_new(true).mode(0o600).open(&file)?;
            io::Write::write_all(&mut made, &key)?;
            key
        }
        Err(error) => return Err(error),
    };
    let key = key.try_into().map_err(|_| io::Error::other("`key` has not 16 bytes"))?;
    Ok((lock.into(), NodeKey(key)))
}

/// A shared volume that is served.
#[derive(Debug)]
pub(crate) struct SharedMount {
    node: Arc<SharedNode>,
    session: Arc<SharedSession>,
    state: PathBuf,
    shown: String,
    name: VolumeName,
    peers: Arc<PeerGroup>,
    objects: Arc<SharedObjects>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    _lock: OwnedFd,
}

impl SharedMount {
    /// Joins the other nodes, and shakes hands with the kernel over a mount that was made. Its peers may
    /// ask by `more` verbs.
    ///
    /// # Errors
    /// What the book, the network or the kernel says.
    pub(crate) fn start(
        prepared: PreparedShared,
        device: OwnedFd,
        access: SharedAccess,
        more: VerbTable,
    ) -> io::Result<Arc<SharedMount>> {
        let PreparedShared { wanted, name, key, listener, lock } = prepared;
        let book: Arc<dyn Book> =
            Arc::new(PostgresBook::open(&wanted.book).map_err(io::Error::other)?);
        let volume = book.open_volume(&name).map_err(io::Error::other)?;
        let secret = book.peer_secret(volume).map_err(io::Error::other)?;
        let token = PeerToken::parse(&secret.0).map_err(io::Error::other)?;
        let offer = NodeOffer::new(&wanted.address, key, &wanted.address);
        let bodies = wanted.state.join("bodies");
        let node = SharedNode::join(NodeSetup {
            book: Arc::clone(&book),
            volume,
            offer: offer.map_err(io::Error::other)?,
            messages: Arc::new(NodeMessages::new(&token)?),
            time: Arc::new(MachineTime),
            bodies: bodies.clone(),
            owner: (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw()),
        })?;
        let disk = rustix::fs::statvfs(&bodies)?;
        let usual = disk.f_blocks * disk.f_frsize / 16 * 15;
        let space = wanted.space.unwrap_or(usual);
        node.set_copy_limit(space);
        node.set_syncs_to_store(wanted.syncs_to_bucket);
        if let Some(patience) = wanted.patience {
            node.set_patience(patience);
        }
        let verb = SharingVerb { node: Arc::clone(&node) };
        let own = parse_peers(&wanted.address, DEFAULT_PORT).map_err(io::Error::other)?.remove(0);
        let list = BookPeers::new(book, volume, own.clone());
        let parts = wanted.state.join("parts");
        let own = OwnPeer { name: own, listen: wanted.listen, parts, space };
        let mut verbs: VerbTable = vec![(SHARING, Arc::new(verb))];
        verbs.extend(more);
        let own = Some((own, listener));
        let waits = PeerWaits::default();
        let peers = PeerGroup::start_among(Arc::new(list), &token, own, verbs, waits)?;
        let objects = wanted.long_files.open(&name, &peers)?;
        node.set_store(Arc::clone(&objects) as Arc<dyn ObjectStore>);
        let device = Device::new(device);
        let session = SharedSession::from_handshake(Arc::clone(&node), device, access, bodies)?;
        let publishing = Arc::clone(&node);
        let renewing = Arc::clone(&node);
        let giving_up = Arc::clone(&node);
        let mut threads = vec![
            Builder::new()
                .name("forebay-publish".into())
                .spawn(move || publishing.publish_while_serving())?,
            Builder::new()
                .name("forebay-renew".into())
                .spawn(move || renewing.renew_while_serving())?,
            Builder::new()
                .name("forebay-give-up".into())
                .spawn(move || giving_up.give_up_wanted_while_serving())?,
        ];
        for number in 0..UPLOADS {
            let node = Arc::clone(&node);
            let name = format!("forebay-upload-{number}");
            threads.push(Builder::new().name(name).spawn(move || node.upload_while_serving())?);
        }
        Ok(Arc::new(SharedMount {
            node,
            session,
            state: wanted.state,
            shown: wanted.long_files.shown(),
            name,
            peers,
            objects,
            threads: Mutex::new(threads),
            _lock: lock,
        }))
    }

    /// The volume's name, the same on all nodes.
    pub(crate) fn name(&self) -> &str {
        self.name.as_str()
    }

    /// The nodes among which it is one.
    pub(crate) fn peers(&self) -> &Arc<PeerGroup> {
        &self.peers
    }

    /// How this node is at this moment.
    pub(crate) fn status(&self) -> SharedStatus {
        let NodeStanding { folders, names, lease_left, unpublished, counts } = self.node.standing();
        SharedStatus {
            folders,
            names,
            lease_us: Micros::from(lease_left).get(),
            unpublished,
            publications: counts.publications,
            taken: counts.taken,
            given_up: counts.given_up,
            lost: counts.lost,
            owed: self.node.owed(),
            brought: self.node.brought(),
        }
    }

    /// The file system of this node that takes long files first.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn disk_room(&self) -> io::Result<StatVfs> {
        Ok(rustix::fs::statvfs(&self.state)?)
    }

    /// Serves until the mount is gone.
    ///
    /// # Errors
    /// When the device fails otherwise than by the end of the mount.
    pub(crate) fn serve_requests(&self) -> io::Result<()> {
        self.session.serve_requests(THREADS, THREADS_MOST)
    }

    /// Nobody uses it any more: publishes what is left, brings long files to the bucket, and leaves
    /// the other nodes. Gives what people should know.
    pub(crate) fn finish(&self, tell: &dyn Fn(&WriteBackProgress)) -> (Vec<String>, UploadReport) {
        let start = MachineTime.elapsed_nanos();
        let in_time =
            || Duration::from_nanos(MachineTime.elapsed_nanos().saturating_sub(start)) < LAST_WORD;
        // Those who were cut off have closed nothing.
        self.node.close_all();
        let mut published = self.node.publish();
        while published == Err(rustix::io::Errno::TIMEDOUT) && in_time() {
            published = self.node.publish();
        }
        let owed = match published {
            Ok(()) => self.finish_uploads(tell, &in_time),
            Err(_) => self.node.owed(),
        };
        let left = published.and(self.node.leave()).err().map(|error| {
            format!(
                "the book did not take the last changes ({error}), which are lost; the daemon's log \
                 says why"
            )
        });
        let moved = self.peers.status();
        let told = self.peers.finish();
        for thread in self.threads.lock().drain(..) {
            let _ = thread.join();
        }
        let counts = self.node.counts();
        let is_worth_a_word = moved.from_peers + moved.to_peers > 0 || !moved.troubles.is_empty();
        let mut words = if is_worth_a_word { told } else { Vec::new() };
        if counts.lost > 0 {
            words.push(format!(
                "{} changes were lost, since other nodes took over while this one was away; the \
                 daemon's log names them",
                counts.lost
            ));
        }
        let state = self.state.display();
        let alone = (owed.0 > 0).then(|| {
            format!(
                "the bytes of {} long files ({}) are on this machine alone, in {state}: the bucket \
                 does not take them; mounting the volume again here goes on",
                owed.0,
                ByteCount(owed.1)
            )
        });
        let report = UploadReport {
            url: self.shown.clone(),
            shipped: self.node.brought(),
            left: left.or(alone),
            kept: self.state.clone(),
            is_shared: true,
        };
        (words, report)
    }

    /// Waits until the bucket has all long files of this node. Gives those that it does not have,
    /// and their bytes.
    fn finish_uploads(
        &self,
        tell: &dyn Fn(&WriteBackProgress),
        in_time: &dyn Fn() -> bool,
    ) -> (u64, u64) {
        let start = MachineTime.elapsed_nanos();
        let all = self.node.owed();
        let mut left = all;
        while left.0 > 0 && in_time() {
            if !self.node.upload_next() {
                std::thread::sleep(Duration::from_millis(100));
            }
            left = self.node.owed();
            let took = MachineTime.elapsed_nanos().saturating_sub(start) / 1000;
            tell(&WriteBackProgress {
                publishing: false,
                files: (all.0.saturating_sub(left.0), all.0),
                bytes: (all.1.saturating_sub(left.1), all.1),
                took: Micros(took),
            });
        }
        left
    }
}
