//! The book of a volume that several nodes write: which names lead where, what files are, and which
//! node holds which folder until when. It is kept in PostgreSQL ([`PostgresBook`]); tests keep it in
//! memory ([`MemoryBook`]), and one contract suite runs over both.
//!
//! It knows nothing of mounts, of kernels or of how nodes speak with each other. Its rules:
//!
//! - A folder has at most one holder, with an [`Epoch`] that grows whenever the folder changes hands.
//!   Each publication names the epochs under which it speaks, and is refused under an older one.
//! - A publication is one transaction, and has a number: a node's publications are taken in their
//!   order, each once, so that one whose answer was lost can be sent again.
//! - The database's clock alone says whether a lease is over. Nobody sends a time. A lease that is
//!   over ends for good when somebody takes a folder away from its node; the node registers anew and
//!   is told what is still its own.

mod book;
mod error;
mod ids;
mod lease;
mod memory;
mod postgres;
mod private_server;
mod publication;
mod records;
mod rules;
mod url;

pub use book::{
    Book, BookStatus, Entry, Holder, Look, NodeState, Published, Registration, TableSize, Taken,
    VolumeState, Wanted,
};
pub use error::{Error, ErrorKind, Result};
pub use ids::{
    EntryName, Epoch, FolderId, InodeBlock, InodeNumber, NodeId, NodeKey, PeerSecret,
    PublicationNumber, Term, Version, VolumeId, VolumeName,
};
pub use lease::{LEASE, LeaseKeeper, Membership, NO_CHANGES_AFTER, RENEW_EVERY, RenewalStart};
pub use memory::MemoryBook;
pub use postgres::{PostgresBook, SCHEMA};
pub use private_server::{Owner, PrivateServer, ServerState};
pub use publication::{After, Claim, FolderChange, MAX_BODY, NameChange, Publication};
pub use records::{FileBytes, FileKind, FileRecord, NodeOffer};
pub use rules::may_speak;
pub use url::{BookUrl, PasswordSources};
