//! Books to be tested, in whose worlds time passes when a test says so.

use std::sync::Arc;
use std::time::Duration;

use forebay_book::{
    Book, Claim, EntryName, Epoch, FileBytes, FileKind, FileRecord, FolderChange, FolderId,
    InodeNumber, Membership, MemoryBook, NameChange, NodeKey, NodeOffer, PostgresBook, Publication,
    PublicationNumber, Registration, Taken, VolumeId, VolumeName,
};
use forebay_os::clock::{Clock, ManualClock};

use super::server::Server;

/// A book and its time.
pub(crate) struct World {
    pub(crate) book: Arc<dyn Book>,
    pass: Box<dyn Fn(Duration) + Send + Sync>,
}

impl World {
    pub(crate) fn memory() -> Option<World> {
        let clock = Arc::new(ManualClock::default());
        clock.advance(1_000_000_000);
        let book = Arc::new(MemoryBook::new(Arc::clone(&clock) as Arc<dyn Clock>));
        let pass = move |time: Duration| clock.advance(time.as_nanos() as u64);
        Some(World { book, pass: Box::new(pass) })
    }

    pub(crate) fn postgres() -> Option<World> {
        let server = Server::shared()?;
        let database = server.database();
        let book = PostgresBook::open(&server.url(&database)).expect("a book");
        // The database's clock can't be moved; all that it is compared with can.
        let pass = move |time: Duration| {
            let ago = format!("interval '{} seconds'", time.as_secs_f64());
            let text = format!(
                "UPDATE forebay.node SET expires = expires - {ago}, renewed = renewed - {ago}"
            );
            server.sql(&database, &text);
        };
        Some(World::of(book, pass))
    }

    /// One whose time passes so.
    pub(crate) fn of(
        book: impl Book + 'static,
        pass: impl Fn(Duration) + Send + Sync + 'static,
    ) -> World {
        World { book: Arc::new(book), pass: Box::new(pass) }
    }

    /// Time passes, for all leases.
    pub(crate) fn pass(&self, seconds: u64) {
        (self.pass)(Duration::from_secs(seconds));
    }

    pub(crate) fn volume(&self) -> VolumeId {
        self.book.open_volume(&VolumeName::new("s3://ours/v").expect("a name")).expect("a volume")
    }

    pub(crate) fn node(&self, number: u8) -> Node<'_> {
        let registration = self.try_node(number, number).expect("registered");
        Node { world: self, number: registration.published, member: registration.member }
    }

    /// A node whose name and key are these.
    pub(crate) fn try_node(&self, name: u8, key: u8) -> forebay_book::Result<Registration> {
        let address = format!("10.0.0.{key}:7000");
        let offer = NodeOffer::new(&format!("node{name}"), NodeKey([key; 16]), &address);
        self.book.register(self.volume(), &offer.expect("an offer"))
    }
}

/// A node that is alive, as a test plays it.
pub(crate) struct Node<'w> {
    pub(crate) world: &'w World,
    pub(crate) member: Membership,
    pub(crate) number: PublicationNumber,
}

impl Node<'_> {
    pub(crate) fn inode(&self) -> InodeNumber {
        self.world.book.lend_inodes(&self.member, 1).expect("a number").first
    }

    pub(crate) fn take(&self, folder: FolderId) -> Epoch {
        match self.world.book.take(&self.member, &[folder]).expect("taken") {
            Taken::All(taken) => taken[0].1,
            Taken::HeldBy(others) => panic!("{others:?}"),
        }
    }

    pub(crate) fn try_publish(
        &mut self,
        folders: Vec<FolderChange>,
        files: Vec<FileRecord>,
    ) -> forebay_book::Result<forebay_book::Published> {
        let number = self.number.next();
        let published =
            self.world.book.publish(&self.member, &Publication { number, folders, files })?;
        self.number = number;
        Ok(published)
    }

    pub(crate) fn publish(&mut self, folders: Vec<FolderChange>, files: Vec<FileRecord>) {
        self.try_publish(folders, files).expect("published");
    }

    /// Makes a file with this body in a folder that is held.
    pub(crate) fn write(
        &mut self,
        folder: FolderId,
        epoch: Epoch,
        at: &str,
        body: &str,
    ) -> InodeNumber {
        let inode = self.inode();
        let set = NameChange::Set(name(at), inode);
        self.publish(vec![held(folder, epoch, vec![set])], vec![small(inode, body)]);
        inode
    }

    /// Makes a folder in another one that is held.
    pub(crate) fn make_folder(&mut self, parent: FolderId, epoch: Epoch, at: &str) -> FolderId {
        let folder = FolderId(self.inode().0);
        let set = NameChange::Set(name(at), folder.inode());
        let made = FolderChange {
            folder,
            claim: Claim::Made,
            names: Vec::new(),
            after: forebay_book::After::Keep,
        };
        let record = FileRecord {
            kind: FileKind::Folder,
            bytes: FileBytes::None,
            size: 0,
            ..small(folder.inode(), "")
        };
        self.publish(vec![held(parent, epoch, vec![set]), made], vec![record]);
        folder
    }
}

pub(crate) fn name(text: &str) -> EntryName {
    EntryName::new(text).expect("a name")
}

pub(crate) fn small(inode: InodeNumber, body: &str) -> FileRecord {
    FileRecord {
        inode,
        kind: FileKind::Regular,
        mode: 0o644,
        uid: 1000,
        gid: 1000,
        mtime_ns: 1_700_000_000_000_000_000,
        size: body.len() as u64,
        rdev: 0,
        bytes: FileBytes::InBook(body.as_bytes().to_vec()),
        attributes: Vec::new(),
    }
}

pub(crate) fn held(folder: FolderId, epoch: Epoch, names: Vec<NameChange>) -> FolderChange {
    FolderChange { folder, claim: Claim::Held(epoch), names, after: forebay_book::After::Keep }
}
