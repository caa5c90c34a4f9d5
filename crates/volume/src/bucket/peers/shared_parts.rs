//! Objects of which nodes fetch each part once: what comes is the same as from where they lie,
//! whatever peers do.

use std::io::ErrorKind;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::super::request::ReadParts;
use super::PeerGroup;
use super::bytes_verb::{BYTES, BytesQuestion};
use super::part_id::{PartId, cut_into_parts, key_below, split_url};
use super::part_store::{NoRoom, Origin, PartStore};
use forebay_objstore::RequestError;
use forebay_os::clock::MachineClock;
use forebay_peers::{
    Attempt, PeerError, PeerErrorKind, PeerHealth, PeerName, RefusalKind, rank_peers,
};

type Take<'a> = &'a mut dyn FnMut(Bytes) -> Result<(), RequestError>;

/// Objects below one prefix, read by way of peers.
#[derive(Debug)]
pub(crate) struct SharedParts {
    inner: Arc<dyn ReadParts>,
    group: Arc<PeerGroup>,
    bucket: String,
    prefix: String,
    /// Peers that have not mounted this one.
    unserved: PeerHealth,
}

/// Who has a part.
enum Home<'a> {
    Own(&'a Arc<PartStore>),
    Peer(&'a PeerName, Asked),
    Nobody,
}

/// That a peer may be asked: at all, and of this bucket.
#[derive(Debug, Clone, Copy)]
struct Asked {
    at_all: Attempt,
    of_this: Attempt,
}

/// Bytes of one part that are wanted.
struct Piece<'a> {
    id: PartId,
    /// The object, for the bucket.
    name: &'a str,
    /// What is still to come, in the object.
    left: Range<u64>,
}

impl Piece<'_> {
    /// The same, counted from the start of the part.
    fn within_part(&self) -> Range<u64> {
        let start = self.id.start();
        self.left.start - start..self.left.end - start
    }
}

impl SharedParts {
    pub(super) fn new(inner: Arc<dyn ReadParts>, group: Arc<PeerGroup>, url: &str) -> SharedParts {
        let (bucket, prefix) = split_url(url);
        let unserved = PeerHealth::new(Arc::new(MachineClock));
        SharedParts { inner, group, bucket, prefix, unserved }
    }

    fn part_id(&self, name: &str, version: &str, number: u64) -> PartId {
        PartId {
            bucket: self.bucket.clone(),
            key: key_below(&self.prefix, name),
            version: version.to_owned(),
            number,
        }
    }

    /// The first in rank that is there: all nodes find the same one, but for those that one of them
    /// knows to be away.
    fn find_home<'a>(&'a self, peers: &'a [PeerName], id: &PartId) -> Home<'a> {
        for peer in rank_peers(peers, &id.as_bytes()) {
            if Some(peer) == self.group.own_name() {
                return self.group.store().map_or(Home::Nobody, Home::Own);
            }
            if let Some(at_all) = self.group.health.may_ask(peer)
                && let Some(of_this) = self.unserved.may_ask(peer)
            {
                return Home::Peer(peer, Asked { at_all, of_this });
            }
        }
        Home::Nobody
    }

    /// Hands a piece over; whatever others do not give comes from the bucket.
    fn stream_piece(&self, mut piece: Piece<'_>, take: Take<'_>) -> Result<(), RequestError> {
        if let Some(store) = self.group.store().filter(|store| store.find(&piece.id).is_some()) {
            self.stream_own(store, &mut piece, take)?;
            if piece.left.is_empty() {
                return Ok(());
            }
        }
        let peers = self.group.list.current_peers();
        match self.find_home(&peers, &piece.id) {
            Home::Own(store) => self.stream_own(store, &mut piece, take)?,
            Home::Peer(peer, asked) => self.stream_from_peer(peer, asked, &mut piece, take)?,
            Home::Nobody => {}
        }
        self.stream_from_bucket(piece, take)
    }

    fn stream_from_bucket(&self, piece: Piece<'_>, take: Take<'_>) -> Result<(), RequestError> {
        if piece.left.is_empty() {
            return Ok(());
        }
        let counters = &self.group.counters;
        self.inner.stream_range(piece.name, Some(&piece.id.version), piece.left, &mut |bytes| {
            counters.add_from_bucket(bytes.len() as u64);
            take(bytes)
        })
    }

    /// Of a part whose home is here. What is left then is to come from the bucket.
    fn stream_own(
        &self,
        store: &Arc<PartStore>,
        piece: &mut Piece<'_>,
        take: Take<'_>,
    ) -> Result<(), RequestError> {
        let origin = Origin::bucket(&self.inner);
        let Ok(reader) = store.find_or_fetch(&piece.id, &origin, piece.name) else {
            return Ok(());
        };
        while !piece.left.is_empty() {
            let bytes = match reader.read_some(&piece.within_part()) {
                Ok(bytes) => bytes,
                Err(failed) if failed.kind == ErrorKind::InvalidData => {
                    store.forget_damaged(&piece.id);
                    return Ok(());
                }
                // The disk here is full: the bucket can give them still.
                Err(failed) if failed.kind == ErrorKind::StorageFull => return Ok(()),
                Err(failed) => return Err(failed),
            };
            piece.left.start += bytes.len() as u64;
            take(bytes).inspect_err(|failed| {
                // They were wrong when they came from the bucket.
                if failed.kind == ErrorKind::InvalidData {
                    store.forget_damaged(&piece.id);
                }
            })?;
        }
        Ok(())
    }

    /// Of a part whose home is elsewhere. What is left then is to come from the bucket.
    fn stream_from_peer(
        &self,
        peer: &PeerName,
        asked: Asked,
        piece: &mut Piece<'_>,
        take: Take<'_>,
    ) -> Result<(), RequestError> {
        let length = piece.left.end - piece.left.start;
        let mut reply = match self.group.client.ask(peer, BYTES, question(piece, false)) {
            Ok(reply) => reply,
            Err(failed) => {
                self.note_failure(&failed, asked);
                return Ok(());
            }
        };
        let broken = |why: String| PeerError {
            kind: PeerErrorKind::Broken,
            peer: peer.clone(),
            why: format!("{why} of {}", piece.id.key),
        };
        if reply.length() != Some(length) {
            let why = broken(format!("does not send the {length} bytes that it was asked for"));
            self.note_failure(&why, asked);
            return Ok(());
        }
        loop {
            let bytes = match reply.next_piece() {
                Ok(Some(bytes)) => bytes,
                Ok(None) => break,
                Err(failed) => {
                    self.note_failure(&failed, asked);
                    return Ok(());
                }
            };
            let came = bytes.len() as u64;
            let wrong = broken("sent wrong bytes".to_owned());
            piece.left.start += came;
            self.group.counters.add_from_peers(came);
            take(bytes).inspect_err(|failed| {
                if failed.kind == ErrorKind::InvalidData {
                    self.note_failure(&wrong, asked);
                }
            })?;
        }
        self.note_success(peer);
        Ok(())
    }

    fn note_success(&self, peer: &PeerName) {
        self.unserved.note_success(peer);
        self.group.note_success(peer);
    }

    fn note_failure(&self, failed: &PeerError, asked: Asked) {
        match failed.kind {
            // It is well, and not for this.
            PeerErrorKind::Refused(RefusalKind::NotServed | RefusalKind::BadQuestion) => {
                self.group.note_success(&failed.peer);
                if self.unserved.note_failure(&failed.peer, asked.of_this, &failed.why) {
                    tracing::warn!("{failed}");
                    self.group.note_trouble(failed);
                }
            }
            PeerErrorKind::Refused(_) => {
                tracing::debug!("{failed}");
                self.note_success(&failed.peer);
            }
            PeerErrorKind::Away | PeerErrorKind::Stranger | PeerErrorKind::Broken => {
                self.group.note_failure(failed, asked.at_all);
            }
        }
    }

    /// A few bytes of a part that some node has. `None`: they are to come from the bucket.
    fn read_kept(&self, piece: &Piece<'_>, is_right: &dyn Fn(&[u8]) -> bool) -> Option<Bytes> {
        let length = piece.left.end - piece.left.start;
        let peers = self.group.list.current_peers();
        match self.find_home(&peers, &piece.id) {
            Home::Own(store) => {
                let reader = store.find(&piece.id)?;
                let (mut left, mut all) = (piece.within_part(), Vec::new());
                while !left.is_empty() {
                    let bytes = reader.read_some(&left).ok()?;
                    left.start += bytes.len() as u64;
                    all.extend_from_slice(&bytes);
                }
                if !is_right(&all) {
                    store.forget_damaged(&piece.id);
                    return None;
                }
                Some(all.into())
            }
            Home::Peer(peer, asked) => {
                let question = question(piece, true);
                let came = self.group.client.ask_whole(peer, BYTES, question, length as usize);
                let bytes = came.map_err(|failed| self.note_failure(&failed, asked)).ok()?;
                if bytes.len() as u64 != length || !is_right(&bytes) {
                    let (peer, why) =
                        (peer.clone(), format!("sent wrong bytes of {}", piece.id.key));
                    let failed = PeerError { kind: PeerErrorKind::Broken, peer, why };
                    self.note_failure(&failed, asked);
                    return None;
                }
                self.note_success(peer);
                self.group.counters.add_from_peers(length);
                Some(bytes)
            }
            Home::Nobody => None,
        }
    }

    /// Bytes of an object in one state, which begin with a block and end with one, or where the object
    /// does; handed over as they come, in their order, perhaps not all before an error.
    ///
    /// # Errors
    /// Those of the place where the object lies, and what `take` says.
    pub(crate) fn stream(
        &self,
        name: &str,
        version: &str,
        range: Range<u64>,
        take: Take<'_>,
    ) -> Result<(), RequestError> {
        for (number, left) in cut_into_parts(range) {
            let piece = Piece { id: self.part_id(name, version, number), name, left };
            self.stream_piece(piece, take)?;
        }
        Ok(())
    }

    /// Brings one part of an object of `size` bytes to this node's disk, whoever its home is.
    ///
    /// # Errors
    /// Those of the place where the object lies. `StorageFull`: this node keeps no more parts.
    pub(crate) fn keep(
        self: &Arc<Self>,
        (name, version): (&str, &str),
        size: u64,
        number: u64,
    ) -> Result<(), RequestError> {
        let id = self.part_id(name, version, number);
        let full = || {
            let why = "this node has no room for more parts of files".to_owned();
            RequestError { kind: ErrorKind::StorageFull, why }
        };
        let store = self.group.store().ok_or_else(full)?;
        let peers = self.group.list.current_peers();
        let origin = match self.find_home(&peers, &id) {
            Home::Peer(..) => Origin::peers(Arc::new(FromHome { parts: Arc::clone(self), size })),
            Home::Own(_) | Home::Nobody => Origin::bucket(&self.inner),
        };
        store.find_or_fetch(&id, &origin, name).map_err(|NoRoom| full())?.wait_until_complete()
    }

    /// A few bytes within one part, if some node has it. `None`: they are to come from the bucket.
    pub(super) fn read_if_kept(
        &self,
        name: &str,
        version: &str,
        range: Range<u64>,
        is_right: &dyn Fn(&[u8]) -> bool,
    ) -> Option<Bytes> {
        let mut parts = cut_into_parts(range);
        let (Some((number, left)), None) = (parts.next(), parts.next()) else { return None };
        self.read_kept(&Piece { id: self.part_id(name, version, number), name, left }, is_right)
    }

    pub(super) fn count_from_bucket(&self, bytes: u64) {
        self.group.counters.add_from_bucket(bytes);
    }
}

fn question(piece: &Piece<'_>, only_here: bool) -> Bytes {
    let Range { start: from, end: to } = piece.within_part();
    let question = BytesQuestion { part: piece.id.clone(), from, to, only_here };
    serde_json::to_vec(&question).expect("plain data").into()
}

/// Parts as their homes give them; this node is none of these.
#[derive(Debug)]
struct FromHome {
    parts: Arc<SharedParts>,
    /// Bytes of the object.
    size: u64,
}

impl ReadParts for FromHome {
    fn stream_range(
        &self,
        name: &str,
        version: Option<&str>,
        range: Range<u64>,
        take: Take<'_>,
    ) -> Result<(), RequestError> {
        let peers = self.parts.group.list.current_peers();
        for (number, left) in cut_into_parts(range) {
            let id = self.parts.part_id(name, version.unwrap_or_default(), number);
            let mut piece = Piece { id, name, left };
            if let Home::Peer(peer, asked) = self.parts.find_home(&peers, &piece.id) {
                self.parts.stream_from_peer(peer, asked, &mut piece, take)?;
            }
            self.parts.stream_from_bucket(piece, take)?;
        }
        Ok(())
    }

    fn stream_up_to(
        &self,
        name: &str,
        version: &str,
        range: Range<u64>,
        begin: &mut dyn FnMut(u64),
        take: Take<'_>,
    ) -> Result<(), RequestError> {
        begin(self.size);
        self.stream_range(name, Some(version), range.start..range.end.min(self.size), take)
    }
}
