//! Packed files that the kernel knows and nobody uses. The kernel remembers names until it needs
//! the memory, a million of them if they were once listed; of such a file no more is kept than the
//! pack can't tell. The first request about it makes it a node again.

use std::ffi::CString;
use std::sync::atomic::AtomicU64;

use forebay_model::FileId;
use parking_lot::Mutex;

use super::iostate::CacheValidator;
use super::node::{InodeOpens, Node, NodeLocation, RecordState};
use forebay_os::file_identity::FileIdentity;
use forebay_os::short_name::ShortName;

/// What is kept of a node.
#[derive(Debug)]
pub(super) struct DormantInode {
    /// References of the kernel (`nlookup`).
    lookups: u64,
    /// Its one name, in this directory.
    parent: u64,
    name: ShortName,
    /// Its number in the record, and the epoch of the path that the record has for it.
    file: Option<FileId>,
    epoch: u64,
    /// The pages that the kernel may have are of this version.
    fresh: Option<Box<CacheValidator>>,
}

impl Node {
    /// What is to be kept of a packed file, if nobody uses it. Whoever asks has the only reference
    /// to the node.
    pub(super) fn try_make_dormant(&mut self) -> Option<DormantInode> {
        let idle = self.packed.get_mut().is_some_and(|packed| packed.is_idle())
            && self.open.get_mut().is_idle()
            && !*self.foreign.get_mut()
            && !*self.locked.get_mut()
            && self.unreported.is_none();
        let place = self.place.get_mut();
        if !idle || place.names.len() != 1 || place.pin.is_some() {
            return None;
        }
        let short = ShortName::from_file_name(place.names.first()?.1.to_bytes())?;
        let (parent, _) = place.names.pop()?;
        let (file, epoch) = match self.known.get_mut() {
            RecordState::Not => (None, 0),
            RecordState::As(epoch, known) => (known.file(), *epoch),
            RecordState::Once(epoch, file) => (Some(*file), *epoch),
        };
        let lookups = *self.lookups.get_mut();
        let fresh = self.open.get_mut().fresh.take().map(Box::new);
        Some(DormantInode { lookups, parent, name: short, file, epoch, fresh })
    }
}

impl DormantInode {
    /// The node again. What makes it a packed one is the caller's to add.
    pub(super) fn into_node(self, id: u64, identity: FileIdentity) -> Node {
        let DormantInode { lookups, parent, name, file, epoch, fresh } = self;
        let names = vec![(parent, to_c_string(&name))];
        let open = InodeOpens { fresh: fresh.map(|fresh| *fresh), ..InodeOpens::default() };
        Node {
            lookups: AtomicU64::new(lookups),
            place: Mutex::new(NodeLocation { names, ..NodeLocation::default() }),
            open: Mutex::new(open),
            known: Mutex::new(file.map_or(RecordState::Not, |file| RecordState::Once(epoch, file))),
            ..Node::with_identity(id, identity, libc::S_IFREG)
        }
    }

    pub(super) fn name(&self) -> (u64, CString) {
        (self.parent, to_c_string(&self.name))
    }
}

fn to_c_string(name: &ShortName) -> CString {
    CString::new(name.as_bytes()).expect("it was one")
}
