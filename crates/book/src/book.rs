//! The book, as its users see it.

use std::fmt::Debug;
use std::time::Duration;

use super::error::Result;
use super::ids::{
    EntryName, Epoch, FolderId, InodeBlock, InodeNumber, NodeId, PeerSecret, PublicationNumber,
    Term, Version, VolumeId, VolumeName,
};
use super::lease::Membership;
use super::publication::Publication;
use super::records::{FileRecord, NodeOffer};

/// Names, holds and leases of volumes that several nodes write. Callers wait for each call; a call
/// ends within seconds, also if the database does not answer.
///
/// Errors of all: those of the database ([`super::ErrorKind`]); of calls with a [`Membership`] also
/// LeaseExpired and Fenced, for the node as a whole.
pub trait Book: Debug + Send + Sync {
    /// The volume of this name; it is made, with an empty root that nobody holds, if it is not there.
    ///
    /// # Errors
    /// As above.
    fn open_volume(&self, name: &VolumeName) -> Result<VolumeId>;

    /// What the nodes of a volume prove to each other that they know: text that nobody can guess.
    ///
    /// # Errors
    /// Inconsistent: there is no such volume.
    fn peer_secret(&self, volume: VolumeId) -> Result<PeerSecret>;

    /// Begins a lease. A node with the same key as one before is that one: it gets what is still its
    /// own, and its earlier registrations end.
    ///
    /// # Errors
    /// NameTaken: another node of this name is alive, or one of this key has another address.
    fn register(&self, volume: VolumeId, offer: &NodeOffer) -> Result<Registration>;

    /// Makes the lease last for [`super::LEASE`] from now. Gives folders that the node holds and
    /// others want who do not reach it ([`Book::want`]), in the order of their numbers: a hundred at
    /// most, the others with a later renewal.
    ///
    /// # Errors
    /// LeaseExpired: it was over. Fenced: the node has registered anew. OtherSchema: a newer Forebay
    /// has changed the tables since.
    fn renew(&self, node: &Membership) -> Result<Vec<Wanted>>;

    /// Asks for a folder whose holder does not answer this node: the holder hears of it with its next
    /// renewal. It counts until the folder changes hands; of several that ask, the last one is named.
    /// Nothing is asked of who asks, nor of nobody.
    ///
    /// # Errors
    /// As above.
    fn want(&self, node: &Membership, folder: FolderId) -> Result<()>;

    /// Gives up all holds and the lease. What is not published by now is lost. A node that has left
    /// may leave again.
    ///
    /// # Errors
    /// As above.
    fn leave(&self, node: &Membership) -> Result<()>;

    /// All nodes that the book knows, in the order of their numbers.
    ///
    /// # Errors
    /// As above.
    fn nodes(&self, volume: VolumeId) -> Result<Vec<NodeState>>;

    /// Lends numbers for files to come.
    ///
    /// # Errors
    /// Invalid: none, or more than a million.
    fn lend_inodes(&self, node: &Membership, count: u32) -> Result<InodeBlock>;

    /// Takes hold of folders: all, or none if a living node holds one of them. They are locked in the
    /// order of their numbers. A folder that is held by the node already stays so.
    ///
    /// # Errors
    /// Inconsistent: there is no such folder.
    fn take(&self, node: &Membership, folders: &[FolderId]) -> Result<Taken>;

    /// Publishes: one transaction, all or nothing. One that was taken before, by its number, is
    /// answered again and changes nothing.
    ///
    /// # Errors
    /// LeaseExpired. Fenced: somebody else holds one of the folders by now. Inconsistent: a number
    /// that does not follow the last one, or something that does not fit.
    fn publish(&self, node: &Membership, publication: &Publication) -> Result<Published>;

    /// Where a name leads. If a node whose lease is over held the folder, it is taken away first.
    ///
    /// # Errors
    /// Inconsistent: there is no such folder.
    fn look_up(
        &self,
        volume: VolumeId,
        folder: FolderId,
        name: &EntryName,
    ) -> Result<Look<Option<Entry>>>;

    /// All names of a folder, in their order. As [`Book::look_up`] otherwise.
    ///
    /// # Errors
    /// Inconsistent: there is no such folder.
    fn list(&self, volume: VolumeId, folder: FolderId) -> Result<Look<Vec<Entry>>>;

    /// A file by its number, as it was last published; `None`: it has no name any more.
    ///
    /// # Errors
    /// As above.
    fn file(&self, volume: VolumeId, inode: InodeNumber) -> Result<Option<FileRecord>>;

    /// Folders that have a name of a file, as it was last published, in the order of their numbers.
    ///
    /// # Errors
    /// As above.
    fn folders_with(&self, volume: VolumeId, inode: InodeNumber) -> Result<Vec<FolderId>>;

    /// How the book is.
    ///
    /// # Errors
    /// As above; a database that takes no writes is no error here.
    fn status(&self) -> Result<BookStatus>;
}

/// What a node got by registering.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    /// Who it is from now on.
    pub member: Membership,
    /// What it holds still, in the order of their numbers.
    pub holds: Vec<(FolderId, Epoch)>,
    /// Its last publication that was taken.
    pub published: PublicationNumber,
}

/// A node that holds a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The node.
    pub node: NodeId,
    /// What people call it.
    pub name: String,
    /// Where it is asked; empty: nowhere.
    pub address: String,
    /// Under which epoch it holds the folder.
    pub epoch: Epoch,
}

/// A folder that a node wants who does not reach its holder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// The folder.
    pub folder: FolderId,
    /// What people call the node that wants it.
    pub name: String,
    /// Its address; empty: nowhere.
    pub address: String,
}

/// What came of taking hold of folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    /// All are held by the node now, in the order of their numbers.
    All(Vec<(FolderId, Epoch)>),
    /// None was taken: living nodes hold these.
    HeldBy(Vec<(FolderId, Holder)>),
}

/// What a folder's look says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look<T> {
    /// Who knows more than the book: to be asked first.
    pub holder: Option<Holder>,
    /// Of the folder.
    pub version: Version,
    /// What was last published.
    pub published: T,
}

impl<T> Look<T> {
    /// What was found, if the book is right: nobody holds the folder, or this node does and has
    /// published all.
    ///
    /// # Errors
    /// The node to ask.
    pub fn answer_for(self, asker: Option<NodeId>) -> std::result::Result<T, Holder> {
        match self.holder {
            Some(holder) if Some(holder.node) != asker => Err(holder),
            _ => Ok(self.published),
        }
    }
}

/// A name and what it leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name.
    pub name: EntryName,
    /// The file.
    pub file: FileRecord,
}

/// What came of a publication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    /// It had been taken before.
    pub again: bool,
    /// Versions of its folders after it, without those that were removed. Empty if it was taken
    /// before.
    pub versions: Vec<(FolderId, Version)>,
}

/// A node, as others see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeState {
    /// Its number.
    pub node: NodeId,
    /// The volume.
    pub volume: VolumeId,
    /// What people call it.
    pub name: String,
    /// Where other nodes reach it; empty: nowhere.
    pub address: String,
    /// How often it has registered.
    pub term: Term,
    /// How long its lease lasts; `None`: it is over.
    pub lease_left: Option<Duration>,
    /// Since its last renewal.
    pub renewed_ago: Duration,
    /// Folders that it holds.
    pub holds: u64,
    /// Publications that were taken.
    pub published: PublicationNumber,
}

/// A volume in the book.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VolumeState {
    /// Its number.
    pub volume: VolumeId,
    /// Its name.
    pub name: VolumeName,
    /// Folders.
    pub folders: u64,
    /// Folders that a node holds.
    pub held: u64,
    /// Files, folders among them. Counted up to a million, estimated beyond.
    pub files: u64,
}

/// A table and its indexes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSize {
    /// Its name.
    pub table: String,
    /// On the database's disk, with its indexes.
    pub bytes: u64,
}

/// How a book is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BookStatus {
    /// What keeps it, as it calls itself.
    pub server: String,
    /// Of the tables.
    pub schema: u32,
    /// It takes no writes, and why.
    pub read_only: Option<String>,
    /// A question and its answer.
    pub round_trip: Duration,
    /// Connections that are open, and how many there may be, of all users of the database.
    pub connections: (u32, u32),
    /// All tables.
    pub tables: Vec<TableSize>,
    /// All volumes.
    pub volumes: Vec<VolumeState>,
    /// All nodes of all volumes.
    pub nodes: Vec<NodeState>,
}
