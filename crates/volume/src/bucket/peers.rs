//! Nodes that read the same objects: each part of an object has a home among them, which fetches it
//! from the bucket once, and from which the others read it (docs/adr/0029-peers.md). All that is
//! known of it outside is a [`Bucket`] that asks peers first.

mod bytes_verb;
mod part;
mod part_id;
mod part_store;
mod shared_bucket;
mod shared_parts;

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use bytes::Bytes;
use forebay_model::ByteCount;
use parking_lot::Mutex;

use super::request::{Bucket, ReadParts};
use crate::ipc::{PeerStatus, PeerTrouble};
use bytes_verb::{BYTES, BytesVerb, SharedPrefixes};
use forebay_os::clock::MachineClock;
use forebay_os::predecessor::listen_after_predecessor;
use forebay_peers::{
    Attempt, FixedPeers, PeerClient, PeerError, PeerHealth, PeerList, PeerName, PeerReply,
    PeerServer, PeerToken, PeerWaits, VerbTable,
};
pub(crate) use part_id::PART;
use part_id::split_url;
use part_store::PartStore;
use shared_bucket::SharedBucket;
pub(crate) use shared_parts::SharedParts;

/// For how long a peer may be at something of which it says all the time how far it is.
const LONGEST: Duration = Duration::from_secs(7 * 24 * 3600);

/// Peers that are to be asked, and how this node is one itself.
#[derive(Debug, Clone)]
pub struct PeerOptions {
    /// All of them; this node too, if it listens.
    pub peers: Vec<PeerName>,
    /// What they share.
    pub token: PeerToken,
    /// How this node answers; `None`: it only asks.
    pub own: Option<OwnPeer>,
}

/// How this node answers.
#[derive(Debug, Clone)]
pub struct OwnPeer {
    /// What the others call it.
    pub name: PeerName,
    /// Where it listens.
    pub listen: SocketAddr,
    /// Where it keeps parts; made if it is not there, and emptied.
    pub parts: PathBuf,
    /// Bytes that they may take.
    pub space: u64,
}

/// The same, with the socket: bound before the daemon is there, so that whoever starts it hears
/// what is wrong.
#[derive(Debug)]
pub(crate) struct PeerSetup {
    options: PeerOptions,
    listener: Option<TcpListener>,
}

impl PeerOptions {
    /// Takes the address where it is to listen, if it is.
    ///
    /// # Errors
    /// Those of the network: another process listens there, or it is no address of this machine.
    pub(crate) fn bind(self) -> io::Result<PeerSetup> {
        let listener =
            self.own.as_ref().map(|own| listen_after_predecessor(own.listen)).transpose()?;
        Ok(PeerSetup { options: self, listener })
    }
}

/// Bytes that went one way or the other, since the start.
#[derive(Debug, Default)]
struct PeerCounters {
    from_peers: AtomicU64,
    from_bucket: AtomicU64,
    to_peers: AtomicU64,
}

impl PeerCounters {
    fn add_from_peers(&self, bytes: u64) {
        self.from_peers.fetch_add(bytes, Relaxed);
    }

    fn add_from_bucket(&self, bytes: u64) {
        self.from_bucket.fetch_add(bytes, Relaxed);
    }

    fn add_to_peers(&self, bytes: u64) {
        self.to_peers.fetch_add(bytes, Relaxed);
    }
}

/// This node among its peers.
#[derive(Debug)]
pub(crate) struct PeerGroup {
    list: Arc<dyn PeerList>,
    own: Option<(PeerName, Arc<PartStore>)>,
    client: PeerClient,
    health: PeerHealth,
    shared: Arc<SharedPrefixes>,
    counters: Arc<PeerCounters>,
    /// What peers did, with how often, those that are well again too.
    troubles: Mutex<BTreeMap<PeerName, PeerTrouble>>,
    server: Mutex<Option<PeerServer>>,
}

impl PeerGroup {
    /// Begins to answer, if it is wanted, and to ask. It answers these verbs, too.
    ///
    /// # Errors
    /// When its directory can't be used, or there are no threads.
    pub(crate) fn start(setup: PeerSetup, more: VerbTable) -> io::Result<Arc<PeerGroup>> {
        PeerGroup::start_with_waits(setup, more, PeerWaits::default())
    }

    fn start_with_waits(
        setup: PeerSetup,
        more: VerbTable,
        waits: PeerWaits,
    ) -> io::Result<Arc<PeerGroup>> {
        let PeerSetup { options: PeerOptions { peers, token, own }, listener } = setup;
        let list = Arc::new(FixedPeers::from(peers));
        PeerGroup::start_among(list, &token, own.zip(listener), more, waits)
    }

    /// The same among peers that come and go.
    ///
    /// # Errors
    /// As [`PeerGroup::start`].
    pub(crate) fn start_among(
        list: Arc<dyn PeerList>,
        token: &PeerToken,
        own: Option<(OwnPeer, TcpListener)>,
        more: VerbTable,
        waits: PeerWaits,
    ) -> io::Result<Arc<PeerGroup>> {
        let (shared, counters) = (Arc::<SharedPrefixes>::default(), Arc::<PeerCounters>::default());
        let (mut server, mut own_peer) = (None, None);
        if let Some((OwnPeer { name, parts, space, .. }, listener)) = own {
            let store = PartStore::open_empty(&parts, space, Arc::clone(&counters));
            let store = store.map_err(|error| {
                io::Error::new(error.kind(), format!("{}: {error}", parts.display()))
            })?;
            let store = Arc::new(store);
            let bytes = BytesVerb {
                store: Arc::clone(&store),
                shared: Arc::clone(&shared),
                counters: Arc::clone(&counters),
            };
            let mut verbs: VerbTable = vec![(BYTES, Arc::new(bytes))];
            verbs.extend(more);
            server = Some(PeerServer::start(listener, token, verbs)?);
            own_peer = Some((name, store));
        }
        Ok(Arc::new(PeerGroup {
            list,
            own: own_peer,
            client: PeerClient::new(token, waits)?,
            health: PeerHealth::new(Arc::new(MachineClock)),
            shared,
            counters,
            troubles: Mutex::default(),
            server: Mutex::new(server),
        }))
    }

    /// The same bucket, whose parts this node shares with its peers from now on. The bucket has
    /// this URL.
    pub(crate) fn share_bucket(
        self: &Arc<Self>,
        url: &str,
        bucket: Arc<dyn Bucket>,
    ) -> Arc<dyn Bucket> {
        let parts = self.share_parts(url, Arc::clone(&bucket) as Arc<dyn ReadParts>);
        Arc::new(SharedBucket::new(bucket, parts))
    }

    /// The same of parts of objects that are read alone, cut as [`PART`] says.
    pub(crate) fn share_parts(
        self: &Arc<Self>,
        url: &str,
        place: Arc<dyn ReadParts>,
    ) -> Arc<SharedParts> {
        self.shared.add(split_url(url), Arc::clone(&place));
        Arc::new(SharedParts::new(place, Arc::clone(self), url))
    }

    /// What the others call this node.
    pub(crate) fn own_label(&self) -> Option<String> {
        self.own_name().map(PeerName::to_string)
    }

    /// All but this node.
    pub(crate) fn other_peers(&self) -> Vec<PeerName> {
        let peers = self.list.current_peers();
        peers.iter().filter(|peer| Some(*peer) != self.own_name()).cloned().collect()
    }

    /// Asks a peer for something that takes its time, of which it says how far it is.
    ///
    /// # Errors
    /// What the peer did, or refuses.
    pub(crate) fn ask_at_length(
        &self,
        peer: &PeerName,
        verb: &str,
        question: Bytes,
    ) -> Result<PeerReply<'_>, PeerError> {
        self.client.ask_within(peer, verb, question, LONGEST)
    }

    fn own_name(&self) -> Option<&PeerName> {
        self.own.as_ref().map(|(name, _)| name)
    }

    fn store(&self) -> Option<&Arc<PartStore>> {
        self.own.as_ref().map(|(_, store)| store)
    }

    fn note_success(&self, peer: &PeerName) {
        if self.health.note_success(peer) {
            tracing::info!("peer {peer} answers again");
        }
    }

    fn note_failure(&self, failed: &PeerError, asked: Attempt) {
        if self.health.note_failure(&failed.peer, asked, &failed.why) {
            tracing::warn!("{failed}; its parts come from elsewhere for a while");
            self.note_trouble(failed);
        }
    }

    fn note_trouble(&self, failed: &PeerError) {
        let mut troubles = self.troubles.lock();
        let trouble = troubles.entry(failed.peer.clone()).or_default();
        trouble.peer = failed.peer.to_string();
        trouble.times += 1;
        failed.why.clone_into(&mut trouble.why);
    }

    /// Figures of this moment.
    pub(crate) fn status(&self) -> PeerStatus {
        let (kept, space) = self.store().map_or((0, 0), |store| store.usage());
        let away = self.health.away_peers();
        PeerStatus {
            peers: self.list.current_peers().len() as u64,
            own: self.own_name().map(PeerName::to_string),
            from_peers: self.counters.from_peers.load(Relaxed),
            from_bucket: self.counters.from_bucket.load(Relaxed),
            to_peers: self.counters.to_peers.load(Relaxed),
            kept,
            space,
            away: away.into_iter().map(|away| format!("peer {} {}", away.name, away.why)).collect(),
            troubles: self.troubles.lock().values().cloned().collect(),
        }
    }

    /// It is over: nobody is answered any more, and what was kept goes. Gives what people should
    /// know, in sentences.
    pub(crate) fn finish(&self) -> Vec<String> {
        self.stop();
        let status = self.status();
        let bytes = [status.from_peers, status.from_bucket, status.to_peers].map(ByteCount);
        let [from_peers, from_bucket, to_peers] = bytes.map(|bytes| bytes.to_string());
        let told = format!(
            "{from_peers} came from peers and {from_bucket} from buckets, {to_peers} went to peers"
        );
        let named = status.troubles.iter().map(|trouble| match trouble.times {
            1 => format!("peer {} {}", trouble.peer, trouble.why),
            times => format!("peer {} {} ({times} times)", trouble.peer, trouble.why),
        });
        std::iter::once(told).chain(named).collect()
    }

    fn stop(&self) {
        drop(self.server.lock().take());
        if let Some(store) = self.store()
            && let Err(error) = store.remove_files()
        {
            tracing::warn!("parts that were kept for peers stay: {error}");
        }
    }
}

/// What `bucket` is to who reads: shared with peers, if there are some.
pub(super) fn share_with_peers(
    peers: Option<&Arc<PeerGroup>>,
    url: &str,
    bucket: Arc<dyn Bucket>,
) -> Arc<dyn Bucket> {
    match peers {
        Some(peers) => peers.share_bucket(url, bucket),
        None => bucket,
    }
}

#[cfg(test)]
mod tests;
