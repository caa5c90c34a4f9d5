//! What a node knows: folders that it holds, files, and what is not published yet.

use std::collections::BTreeMap;
use std::sync::Arc;

use forebay_book::{
    Claim, EntryName, Epoch, FileBytes, FileKind, FileRecord, FolderId, Holder, InodeNumber,
    Membership, NodeId, Publication, PublicationNumber, Registration, Wanted,
};
use rustc_hash::{FxHashMap, FxHashSet};

use rustix::io::Errno;

use super::NodeCounts;
use super::file_locks::FileLocks;
use super::owed::Uploads;
use crate::Result;
use crate::environment::Neighbour;

/// The attribute of a record that has the number of names, where that is not 1. Programs do not see
/// it.
pub(super) const LINKS: &[u8] = b"forebay.links";

/// How names of files end that programs of one machine use as their common memory.
const SHARED_MEMORY: &[u8] = b"-shm";

/// Where the bytes of a file are, as of now.
#[derive(Debug)]
pub(super) enum Body {
    /// Where its record says.
    Published,
    /// Here, in memory.
    Memory(Vec<u8>),
    /// Here, on the disk.
    Local,
}

/// A file of which something is known.
#[derive(Debug)]
pub(super) struct File {
    pub(super) record: FileRecord,
    pub(super) body: Body,
    /// Names that lead to it, as far as is known; 0: it lost the last one.
    pub(super) links: u32,
    /// The last name under which it was seen.
    pub(super) home: Option<(FolderId, EntryName)>,
    /// How often the kernel was told of it and has not forgotten.
    pub(super) kernel: u64,
    /// Open files of programs, and those of them that may write.
    pub(super) opens: u32,
    pub(super) writers: u32,
    /// Its folder was given up while a program was writing: what is written since is to be published
    /// when the folder is held again.
    pub(super) away: bool,
    /// Count of settled writes when a program last wrote without fsync or giving up a lock since;
    /// 0: none did.
    pub(super) unsettled: u64,
    /// Requests that write bytes of it now.
    pub(super) writing: u32,
    /// Locks of this node's programs.
    pub(super) locks: Option<Box<FileLocks>>,
    /// Who may have locks is other than the book says.
    pub(super) has_other_lockers: bool,
    /// Its bytes came from elsewhere since the kernel was last told to forget those that it had.
    pub(super) is_other_in_kernel: bool,
    /// What a program wrote was lost: others took over before it was published.
    pub(super) is_lost: bool,
    /// Its descriptor, while somebody has it open.
    pub(super) local: Option<Arc<std::fs::File>>,
    /// Objects that had its bytes before they changed here.
    pub(super) replaced: Vec<String>,
}

/// How far a hold has come on its way to another node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// It stays.
    Held,
    /// Others want it: no new change begins.
    Leaving,
    /// Nobody changes it any longer: the next publication gives it up.
    Ready,
    /// That publication is under way.
    Sent,
}

/// A folder that is held.
#[derive(Debug)]
pub(super) struct HeldFolder {
    pub(super) claim: Claim,
    pub(super) names: BTreeMap<EntryName, InodeNumber>,
    /// Names to be published.
    pub(super) dirty: FxHashSet<EntryName>,
    /// It is to be in the next publication.
    pub(super) is_dirty: bool,
    /// Number of the last change.
    pub(super) last_change: u64,
    /// Requests that change something in it now.
    pub(super) pins: u32,
    pub(super) stage: Stage,
}

impl HeldFolder {
    pub(super) fn new(claim: Claim) -> HeldFolder {
        HeldFolder {
            claim,
            names: BTreeMap::new(),
            dirty: FxHashSet::default(),
            is_dirty: false,
            last_change: 0,
            pins: 0,
            stage: Stage::Held,
        }
    }
}

/// A publication that the book has not answered.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) publication: Arc<Publication>,
    /// Changes up to this one are in it.
    pub(super) up_to: u64,
    /// Folders that it gives up.
    pub(super) given_up: Vec<FolderId>,
    /// Objects that no file needs once it is taken.
    pub(super) unneeded: Vec<String>,
}

/// Numbers for files to come.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    pub(super) next: i64,
    pub(super) end: i64,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) member: Membership,
    pub(super) last_number: PublicationNumber,
    pub(super) files: FxHashMap<InodeNumber, File>,
    pub(super) folders: FxHashMap<FolderId, HeldFolder>,
    /// Folders that a thread is about to take.
    pub(super) taking: FxHashSet<FolderId>,
    pub(super) numbers: Numbers,
    /// Who held a folder when it was last asked for.
    pub(super) hints: FxHashMap<FolderId, Holder>,
    /// Nodes that were asked for locks.
    pub(super) neighbours: FxHashMap<NodeId, Neighbour>,
    /// Folders that are to be given up, since the book says so.
    pub(super) wanted: Vec<Wanted>,
    /// Counts how often all that was written was settled, from 1.
    pub(super) settled: u64,
    /// Files that are away; some may be so no longer.
    pub(super) away: FxHashSet<InodeNumber>,
    /// Files to be published.
    pub(super) dirty_files: FxHashSet<InodeNumber>,
    /// Folders that were removed, with their epochs, and names that the book may have.
    pub(super) removed: Vec<(FolderId, Epoch, Vec<EntryName>)>,
    /// Counts changes.
    pub(super) change: u64,
    /// All up to this one are in the book, or in the pending publication.
    pub(super) collected: u64,
    /// All up to this one are in the book.
    pub(super) published: u64,
    pub(super) pending: Option<Pending>,
    /// A thread sends the pending publication.
    pub(super) is_publishing: bool,
    /// A thread registers anew.
    pub(super) is_joining: bool,
    /// Nothing more is served.
    pub(super) is_over: bool,
    pub(super) counts: NodeCounts,
    pub(super) uploads: Uploads,
}

impl File {
    pub(super) fn from_record(record: FileRecord, home: Option<(FolderId, EntryName)>) -> File {
        let links = links_of(&record);
        File {
            record,
            body: Body::Published,
            links,
            home,
            kernel: 0,
            opens: 0,
            writers: 0,
            away: false,
            is_lost: false,
            unsettled: 0,
            writing: 0,
            locks: None,
            has_other_lockers: false,
            is_other_in_kernel: false,
            local: None,
            replaced: Vec::new(),
        }
    }

    /// Takes what another node or the book says of it.
    pub(super) fn replace(&mut self, record: FileRecord) {
        // Nobody writes elsewhere what programs here have locked.
        let may_change = matches!(record.bytes, FileBytes::OnNode(_)) && !self.is_locked();
        self.is_other_in_kernel |= may_change || self.record != record;
        self.links = links_of(&record);
        self.record = record;
        self.body = Body::Published;
        self.is_lost = false;
        self.has_other_lockers = false;
        self.local = None;
        self.replaced.clear();
    }

    pub(super) fn is_folder(&self) -> bool {
        self.record.kind == FileKind::Folder
    }

    /// Nobody here has anything to do with it.
    pub(super) fn is_unused(&self) -> bool {
        self.kernel == 0 && self.opens == 0
    }

    /// A program writes it, without fsync or giving up a lock since: its bytes are not for
    /// others to change. Who has locks on it writes in turn with others. But never so the index that
    /// SQLite keeps in memory which its programs share (`-shm`): two nodes do not share memory.
    pub(super) fn is_being_written(&self, settled: u64) -> bool {
        let is_memory = || {
            let name = self.home.as_ref().map(|(_, name)| name.as_bytes());
            name.is_some_and(|name| name.ends_with(SHARED_MEMORY))
        };
        let is_written = self.unsettled == settled && !self.is_locked() || is_memory();
        self.writers > 0 && !self.is_folder() && is_written
    }

    pub(super) fn size(&self) -> u64 {
        match &self.body {
            Body::Memory(body) => body.len() as u64,
            Body::Published | Body::Local => self.record.size,
        }
    }
}

/// Names of a file, by its record.
fn links_of(record: &FileRecord) -> u32 {
    let said = record.attributes.iter().find(|(name, _)| name == LINKS);
    let number =
        said.and_then(|(_, value)| Some(u32::from_le_bytes(value.as_slice().try_into().ok()?)));
    number.unwrap_or(1)
}

impl State {
    pub(super) fn new(registration: &Registration, owner: (u32, u32)) -> State {
        let mut state = State {
            member: registration.member,
            last_number: registration.published,
            files: FxHashMap::default(),
            folders: FxHashMap::default(),
            taking: FxHashSet::default(),
            numbers: Numbers::default(),
            hints: FxHashMap::default(),
            neighbours: FxHashMap::default(),
            wanted: Vec::new(),
            settled: 1,
            away: FxHashSet::default(),
            dirty_files: FxHashSet::default(),
            removed: Vec::new(),
            change: 0,
            collected: 0,
            published: 0,
            pending: None,
            is_publishing: false,
            is_joining: false,
            is_over: false,
            counts: NodeCounts::default(),
            uploads: Uploads::default(),
        };
        let mut root = File::from_record(root_record(owner), None);
        root.kernel = 1; // It is never forgotten.
        state.files.insert(FolderId::ROOT.inode(), root);
        state
    }

    pub(super) fn me(&self) -> NodeId {
        self.member.node
    }

    /// Whether what happens to a file happens here alone: another's word on it is older.
    pub(super) fn is_ours(&self, file: &File) -> bool {
        let number = file.record.inode;
        if file.is_folder() {
            return self.folders.contains_key(&FolderId(number.0));
        }
        file.away
            || file.home.as_ref().is_some_and(|(folder, name)| {
                let held = self.folders.get(folder);
                held.is_some_and(|held| held.names.get(name) == Some(&number))
            })
    }

    /// A folder that is held, for a request that has pinned it.
    ///
    /// # Errors
    /// ESTALE: it was lost in between.
    pub(super) fn held(&self, folder: FolderId) -> Result<&HeldFolder> {
        self.folders.get(&folder).ok_or(Errno::STALE)
    }

    /// Takes what others say of a file.
    pub(super) fn learn(&mut self, record: FileRecord, home: Option<(FolderId, EntryName)>) {
        let number = record.inode;
        let Some(known) = self.files.get(&number) else {
            self.files.insert(number, File::from_record(record, home));
            return;
        };
        let ours = self.is_ours(known);
        let known = self.files.get_mut(&number).expect("it was there");
        if !ours {
            known.replace(record);
        }
        if home.is_some() && (!ours || known.away || known.is_folder()) {
            known.home = home;
        }
    }

    /// Something in a held folder changed.
    pub(super) fn note_change(&mut self, folder: FolderId) {
        self.change += 1;
        let change = self.change;
        if let Some(held) = self.folders.get_mut(&folder) {
            (held.is_dirty, held.last_change) = (true, change);
        }
    }

    /// A name of a held folder leads elsewhere now.
    pub(super) fn set_name(
        &mut self,
        folder: FolderId,
        name: &EntryName,
        file: Option<InodeNumber>,
    ) {
        if let Some(held) = self.folders.get_mut(&folder) {
            match file {
                Some(file) => held.names.insert(name.clone(), file),
                None => held.names.remove(name),
            };
            held.dirty.insert(name.clone());
        }
        self.note_change(folder);
    }

    /// A file's bytes or attributes changed; its folder is held.
    pub(super) fn note_file_change(&mut self, number: InodeNumber) {
        let Some(file) = self.files.get(&number) else { return };
        let folder = match file.is_folder() {
            true => Some(FolderId(number.0)),
            false => file.home.as_ref().map(|(folder, _)| *folder),
        };
        self.dirty_files.insert(number);
        if let Some(folder) = folder {
            self.note_change(folder);
        }
    }

    /// A folder's names changed at this time.
    pub(super) fn touch_folder(&mut self, folder: FolderId, now: i64) {
        if let Some(file) = self.files.get_mut(&folder.inode()) {
            file.note_modified(now);
        }
        self.note_file_change(folder.inode());
    }

    /// A file lost a name.
    pub(super) fn drop_name(&mut self, number: InodeNumber, name: &(FolderId, EntryName)) {
        let other = self.folders.get(&name.0).and_then(|held| {
            let mut names = held.names.iter();
            names.find(|(_, to)| **to == number).map(|(name, _)| name.clone())
        });
        let Some(file) = self.files.get_mut(&number) else { return };
        file.links = file.links.saturating_sub(1);
        if file.home.as_ref() == Some(name) {
            file.home = other.map(|other| (name.0, other));
        }
        let links = file.links;
        if links > 0 {
            self.note_file_change(number);
            return;
        }
        self.dirty_files.remove(&number);
        self.forget_if_unused(number);
    }

    /// Forgets a file that nobody here has anything to do with. If it has no name any more, what is
    /// kept of it goes once the book knows.
    pub(super) fn forget_if_unused(&mut self, number: InodeNumber) {
        let Some(file) = self.files.get(&number) else { return };
        let has_folder = !file.is_folder() && self.is_ours(file)
            || file.is_folder() && self.folders.contains_key(&FolderId(number.0))
            || file.home.as_ref().is_some_and(|(folder, _)| self.folders.contains_key(folder));
        let nameless = file.links == 0;
        if !file.is_unused() || (has_folder && !nameless) {
            return;
        }
        if nameless {
            self.note_file_gone(number);
            self.uploads.gone.push((self.change, number));
        }
        self.files.remove(&number);
    }
}

/// The root, as long as nobody has published it.
pub(super) fn root_record((uid, gid): (u32, u32)) -> FileRecord {
    FileRecord {
        inode: FolderId::ROOT.inode(),
        kind: FileKind::Folder,
        mode: 0o755,
        uid,
        gid,
        mtime_ns: 0,
        size: 0,
        rdev: 0,
        bytes: FileBytes::None,
        attributes: Vec::new(),
    }
}
