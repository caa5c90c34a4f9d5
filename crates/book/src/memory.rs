//! A book in memory: what a test of a node is given, and a second opinion on what the contract means.
//! Its clock is the clock that decides leases.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use forebay_os::clock::Clock;
use parking_lot::Mutex;

use super::book::{
    Book, BookStatus, Entry, Holder, Look, NodeState, Published, Registration, TableSize, Taken,
    VolumeState, Wanted,
};
use super::error::{Error, ErrorKind, Result};
use super::ids::{
    EntryName, Epoch, FolderId, InodeBlock, InodeNumber, NodeId, NodeKey, PeerSecret,
    PublicationNumber, Term, Version, VolumeId, VolumeName,
};
use super::lease::{LEASE, Membership};
use super::postgres::SCHEMA;
use super::publication::{After, Claim, FolderChange, NameChange, Publication};
use super::records::{FileRecord, NodeOffer};
use super::rules::{
    WANTED_MOST, check_block, check_member, check_named, check_number, key_taken, made_twice,
    may_speak, name_taken, never_lent, no_file, no_folder, not_empty, unknown_node,
};

/// A book that lives as long as its process.
#[derive(Debug)]
pub struct MemoryBook {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    volumes: Vec<Volume>,
    nodes: Vec<Node>,
}

#[derive(Debug)]
struct Volume {
    name: VolumeName,
    next_inode: i64,
    folders: BTreeMap<FolderId, Folder>,
    files: BTreeMap<InodeNumber, FileRecord>,
}

#[derive(Debug, Clone)]
struct Folder {
    holder: Option<NodeId>,
    epoch: Epoch,
    version: Version,
    names: BTreeMap<EntryName, InodeNumber>,
    /// Who wants it, while it has this epoch.
    wanted: Option<(Epoch, NodeId)>,
}

impl Folder {
    fn new(holder: Option<NodeId>, epoch: Epoch) -> Folder {
        Folder { holder, epoch, version: Version(0), names: BTreeMap::new(), wanted: None }
    }

    /// Who wants it of this node now.
    fn wanted_of(&self, node: NodeId) -> Option<NodeId> {
        let (_, by) = self.wanted.filter(|(epoch, _)| *epoch == self.epoch)?;
        (self.holder == Some(node)).then_some(by)
    }
}

#[derive(Debug)]
struct Node {
    id: NodeId,
    volume: VolumeId,
    key: NodeKey,
    name: String,
    address: String,
    term: Term,
    /// Nanoseconds of the clock; 0: over for good.
    expires: u64,
    renewed: u64,
    published: PublicationNumber,
}

impl MemoryBook {
    /// An empty book, whose leases are decided by `clock`.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> MemoryBook {
        MemoryBook { clock, state: Mutex::default() }
    }
}

impl State {
    fn volume(&mut self, volume: VolumeId) -> Result<&mut Volume> {
        let at = usize::try_from(volume.0 - 1).ok();
        at.and_then(|at| self.volumes.get_mut(at))
            .ok_or_else(|| Error::inconsistent(format!("there is no volume {volume}")))
    }

    /// The node that speaks, if it may.
    fn member(&mut self, member: &Membership, now: u64) -> Result<&mut Node> {
        let node = self.nodes.iter_mut().find(|node| node.id == member.node);
        let Some(node) = node.filter(|node| node.volume == member.volume) else {
            return Err(unknown_node(member));
        };
        check_member(member, node.term, node.expires > now)?;
        Ok(node)
    }

    fn is_alive(&self, node: NodeId, now: u64) -> bool {
        self.nodes.iter().any(|other| other.id == node && other.expires > now)
    }

    /// Takes a folder away from a node whose lease is over, and that lease ends for good.
    fn release_if_expired(&mut self, volume: VolumeId, folder: FolderId, now: u64) -> Result<()> {
        let found = self.folder(volume, folder)?;
        let Some(holder) = found.holder else { return Ok(()) };
        if self.is_alive(holder, now) {
            return Ok(());
        }
        let found = self.folder(volume, folder)?;
        (found.holder, found.epoch) = (None, Epoch(found.epoch.0 + 1));
        if let Some(node) = self.nodes.iter_mut().find(|node| node.id == holder) {
            node.expires = 0;
        }
        Ok(())
    }

    fn folder(&mut self, volume: VolumeId, folder: FolderId) -> Result<&mut Folder> {
        self.volume(volume)?.folders.get_mut(&folder).ok_or_else(|| no_folder(folder))
    }

    fn holder_of(&self, folder: &Folder) -> Option<Holder> {
        let node = self.nodes.iter().find(|node| Some(node.id) == folder.holder)?;
        Some(Holder {
            node: node.id,
            name: node.name.clone(),
            address: node.address.clone(),
            epoch: folder.epoch,
        })
    }

    /// Gives up all that a node holds.
    fn release_all(&mut self, volume: VolumeId, node: NodeId) -> Result<()> {
        for folder in self.volume(volume)?.folders.values_mut() {
            if folder.holder == Some(node) {
                (folder.holder, folder.epoch) = (None, Epoch(folder.epoch.0 + 1));
            }
        }
        Ok(())
    }

    fn node_states(&self, now: u64) -> Vec<NodeState> {
        let state = |node: &Node| NodeState {
            node: node.id,
            volume: node.volume,
            name: node.name.clone(),
            address: node.address.clone(),
            term: node.term,
            lease_left: (node.expires > now).then(|| Duration::from_nanos(node.expires - now)),
            renewed_ago: Duration::from_nanos(now.saturating_sub(node.renewed)),
            holds: self.volumes.iter().map(|volume| volume.held_by(node.id)).sum(),
            published: node.published,
        };
        self.nodes.iter().map(state).collect()
    }
}

impl Volume {
    fn held_by(&self, node: NodeId) -> u64 {
        self.folders.values().filter(|folder| folder.holder == Some(node)).count() as u64
    }

    /// All of the publication, or nothing: `self` is a copy.
    fn apply(
        &mut self,
        node: NodeId,
        publication: &Publication,
        folders: &[&FolderChange],
    ) -> Result<Published> {
        let mut unnamed: Vec<InodeNumber> = Vec::new();
        let made = folders.iter().filter(|change| change.claim == Claim::Made);
        let new = made.map(|change| change.folder.0);
        let new = publication.files.iter().map(|file| file.inode.0).chain(new).max();
        if let Some(most) = new.filter(|most| *most >= self.next_inode) {
            return Err(never_lent(most));
        }
        for change in folders {
            self.claim(node, change)?;
        }
        for file in &publication.files {
            self.files.insert(file.inode, file.clone());
        }
        for change in folders {
            let folder = self.folders.get_mut(&change.folder).expect("it is claimed");
            for name in &change.names {
                let before = match name {
                    NameChange::Set(name, inode) => {
                        if !self.files.contains_key(inode) {
                            return Err(no_file(*inode));
                        }
                        folder.names.insert(name.clone(), *inode)
                    }
                    NameChange::Remove(name) => folder.names.remove(name),
                };
                unnamed.extend(before);
            }
        }
        check_named(publication, |inode| {
            folders
                .iter()
                .any(|change| self.folders[&change.folder].names.values().any(|n| *n == inode))
        })?;
        let mut versions = Vec::new();
        for change in folders {
            let folder = self.folders.get_mut(&change.folder).expect("it is claimed");
            if change.after == After::Remove {
                if !folder.names.is_empty() {
                    return Err(not_empty(change.folder));
                }
                self.folders.remove(&change.folder);
                unnamed.push(change.folder.inode());
                continue;
            }
            folder.version = Version(folder.version.0 + 1);
            if change.after == After::GiveUp {
                (folder.holder, folder.epoch) = (None, Epoch(folder.epoch.0 + 1));
            }
            versions.push((change.folder, folder.version));
        }
        for inode in unnamed {
            let named = self.folders.values().any(|f| f.names.values().any(|n| *n == inode));
            if !named && inode != FolderId::ROOT.inode() {
                self.files.remove(&inode);
            }
        }
        Ok(Published { again: false, versions })
    }

    fn claim(&mut self, node: NodeId, change: &FolderChange) -> Result<()> {
        let found = self.folders.get(&change.folder);
        match (change.claim, found) {
            (Claim::Made, Some(_)) => Err(made_twice(change.folder)),
            (Claim::Made, None) => {
                self.folders.insert(change.folder, Folder::new(Some(node), Epoch(1)));
                Ok(())
            }
            (Claim::Held(_), None) => Err(no_folder(change.folder)),
            (Claim::Held(epoch), Some(found)) => {
                may_speak(change.folder, (node, epoch), (found.holder, found.epoch))
            }
        }
    }
}

impl Book for MemoryBook {
    fn open_volume(&self, name: &VolumeName) -> Result<VolumeId> {
        let mut state = self.state.lock();
        let number = |at: usize| VolumeId(i32::try_from(at + 1).expect("memory ends before"));
        if let Some(at) = state.volumes.iter().position(|volume| volume.name == *name) {
            return Ok(number(at));
        }
        let root = Folder::new(None, Epoch(0));
        state.volumes.push(Volume {
            name: name.clone(),
            next_inode: FolderId::ROOT.0 + 1,
            folders: BTreeMap::from([(FolderId::ROOT, root)]),
            files: BTreeMap::new(),
        });
        Ok(number(state.volumes.len() - 1))
    }

    fn peer_secret(&self, volume: VolumeId) -> Result<PeerSecret> {
        let secret = format!("{}, a volume in memory", self.state.lock().volume(volume)?.name);
        Ok(PeerSecret(secret.replace(' ', "-")))
    }

    fn register(&self, volume: VolumeId, offer: &NodeOffer) -> Result<Registration> {
        let (mut state, now) = (self.state.lock(), self.clock.elapsed_nanos());
        state.volume(volume)?;
        let rival = state.nodes.iter().find(|node| {
            let same = node.volume == volume && node.name == offer.name();
            same && node.key != offer.key && node.expires > now
        });
        if let Some(rival) = rival {
            let ago = Duration::from_nanos(now.saturating_sub(rival.renewed));
            return Err(name_taken(offer.name(), &rival.address, ago));
        }
        let twin = state.nodes.iter().find(|node| {
            let same = node.volume == volume && node.key == offer.key;
            let is_alive = node.expires > now && !node.address.is_empty();
            same && is_alive && node.address != offer.address()
        });
        if let Some(twin) = twin {
            let ago = Duration::from_nanos(now.saturating_sub(twin.renewed));
            return Err(key_taken(&twin.address, ago));
        }
        let known = |node: &Node| node.volume == volume && node.key == offer.key;
        let at = state.nodes.iter().position(known).unwrap_or_else(|| {
            let id = NodeId(state.nodes.last().map_or(1, |node| node.id.0 + 1));
            state.nodes.push(Node {
                id,
                volume,
                key: offer.key,
                name: String::new(),
                address: String::new(),
                term: Term(0),
                expires: 0,
                renewed: 0,
                published: PublicationNumber(0),
            });
            state.nodes.len() - 1
        });
        let node = &mut state.nodes[at];
        (node.name, node.address) = (offer.name().to_owned(), offer.address().to_owned());
        node.term = Term(node.term.0 + 1);
        (node.renewed, node.expires) = (now, now + LEASE.as_nanos() as u64);
        let (id, term, published) = (node.id, node.term, node.published);
        let folders = state.volume(volume)?.folders.iter();
        let held = folders.filter(|(_, folder)| folder.holder == Some(id));
        let holds = held.map(|(number, folder)| (*number, folder.epoch)).collect();
        Ok(Registration { member: Membership { volume, node: id, term }, holds, published })
    }

    fn renew(&self, member: &Membership) -> Result<Vec<Wanted>> {
        let (mut state, now) = (self.state.lock(), self.clock.elapsed_nanos());
        let node = state.member(member, now)?;
        (node.renewed, node.expires) = (now, now + LEASE.as_nanos() as u64);
        let folders = state.volume(member.volume)?.folders.iter();
        let wanted: Vec<(FolderId, NodeId)> = folders
            .filter_map(|(folder, found)| Some((*folder, found.wanted_of(member.node)?)))
            .take(WANTED_MOST as usize)
            .collect();
        let named = |(folder, by)| {
            let node = state.nodes.iter().find(|node| node.id == by)?;
            Some(Wanted { folder, name: node.name.clone(), address: node.address.clone() })
        };
        Ok(wanted.into_iter().filter_map(named).collect())
    }

    fn want(&self, member: &Membership, folder: FolderId) -> Result<()> {
        let (mut state, now) = (self.state.lock(), self.clock.elapsed_nanos());
        state.member(member, now)?;
        let folders = &mut state.volume(member.volume)?.folders;
        if let Some(found) = folders.get_mut(&folder)
            && found.holder.is_some_and(|holder| holder != member.node)
        {
            found.wanted = Some((found.epoch, member.node));
        }
        Ok(())
    }

    fn leave(&self, member: &Membership) -> Result<()> {
        let mut state = self.state.lock();
        match state.member(member, 0) {
            Ok(node) => node.expires = 0,
            Err(error) if error.kind == ErrorKind::LeaseExpired => {}
            Err(error) => return Err(error),
        }
        state.release_all(member.volume, member.node)
    }

    fn nodes(&self, volume: VolumeId) -> Result<Vec<NodeState>> {
        let (state, now) = (self.state.lock(), self.clock.elapsed_nanos());
        Ok(state.node_states(now).into_iter().filter(|node| node.volume == volume).collect())
    }

    fn lend_inodes(&self, member: &Membership, count: u32) -> Result<InodeBlock> {
        check_block(count)?;
        let (mut state, now) = (self.state.lock(), self.clock.elapsed_nanos());
        state.member(member, now)?;
        let volume = state.volume(member.volume)?;
        let first = InodeNumber(volume.next_inode);
        volume.next_inode += i64::from(count);
        Ok(InodeBlock { first, count })
    }

    fn take(&self, member: &Membership, folders: &[FolderId]) -> Result<Taken> {
        let (mut state, now) = (self.state.lock(), self.clock.elapsed_nanos());
        state.member(member, now)?;
        let mut wanted = folders.to_vec();
        wanted.sort_unstable();
        wanted.dedup();
        let mut others = Vec::new();
        for folder in &wanted {
            state.folder(member.volume, *folder)?;
        }
        for folder in &wanted {
            state.release_if_expired(member.volume, *folder, now)?;
            let found = state.folder(member.volume, *folder)?.clone();
            if found.holder.is_some_and(|holder| holder != member.node) {
                others.extend(state.holder_of(&found).map(|holder| (*folder, holder)));
            }
        }
        if !others.is_empty() {
            return Ok(Taken::HeldBy(others));
        }
        let mut taken = Vec::new();
        for folder in wanted {
            let found = state.folder(member.volume, folder)?;
            if found.holder.is_none() {
                (found.holder, found.epoch) = (Some(member.node), Epoch(found.epoch.0 + 1));
            }
            taken.push((folder, found.epoch));
        }
        Ok(Taken::All(taken))
    }

    fn publish(&self, member: &Membership, publication: &Publication) -> Result<Published> {
        let folders = publication.check()?;
        let (mut state, now) = (self.state.lock(), self.clock.elapsed_nanos());
        let node = state.member(member, now)?;
        if check_number(publication.number, node.published)? {
            return Ok(Published { again: true, versions: Vec::new() });
        }
        let volume = state.volume(member.volume)?;
        let mut after = Volume {
            name: volume.name.clone(),
            next_inode: volume.next_inode,
            folders: volume.folders.clone(),
            files: volume.files.clone(),
        };
        let published = after.apply(member.node, publication, &folders)?;
        *volume = after;
        state.member(member, now)?.published = publication.number;
        Ok(published)
    }

    fn look_up(
        &self,
        volume: VolumeId,
        folder: FolderId,
        name: &EntryName,
    ) -> Result<Look<Option<Entry>>> {
        let look = self.list(volume, folder)?;
        let published = look.published.into_iter().find(|entry| entry.name == *name);
        Ok(Look { holder: look.holder, version: look.version, published })
    }

    fn list(&self, volume: VolumeId, folder: FolderId) -> Result<Look<Vec<Entry>>> {
        let (mut state, now) = (self.state.lock(), self.clock.elapsed_nanos());
        state.release_if_expired(volume, folder, now)?;
        let found = state.folder(volume, folder)?.clone();
        let holder = state.holder_of(&found);
        let files = &state.volume(volume)?.files;
        let entry = |(name, inode): (&EntryName, &InodeNumber)| Entry {
            name: name.clone(),
            file: files[inode].clone(),
        };
        let published = found.names.iter().map(entry).collect();
        Ok(Look { holder, version: found.version, published })
    }

    fn file(&self, volume: VolumeId, inode: InodeNumber) -> Result<Option<FileRecord>> {
        Ok(self.state.lock().volume(volume)?.files.get(&inode).cloned())
    }

    fn folders_with(&self, volume: VolumeId, inode: InodeNumber) -> Result<Vec<FolderId>> {
        let mut state = self.state.lock();
        let folders = state.volume(volume)?.folders.iter();
        let with = folders.filter(|(_, folder)| folder.names.values().any(|to| *to == inode));
        Ok(with.map(|(number, _)| *number).collect())
    }

    fn status(&self) -> Result<BookStatus> {
        let (state, now) = (self.state.lock(), self.clock.elapsed_nanos());
        let numbered = state.volumes.iter().enumerate();
        let volumes = numbered.map(|(at, volume)| VolumeState {
            volume: VolumeId(i32::try_from(at + 1).expect("memory ends before")),
            name: volume.name.clone(),
            folders: volume.folders.len() as u64,
            held: volume.folders.values().filter(|folder| folder.holder.is_some()).count() as u64,
            files: volume.files.len() as u64,
        });
        Ok(BookStatus {
            server: "memory".to_owned(),
            schema: SCHEMA,
            read_only: None,
            round_trip: Duration::ZERO,
            connections: (0, 0),
            tables: Vec::<TableSize>::new(),
            volumes: volumes.collect(),
            nodes: state.node_states(now),
        })
    }
}
