//! The nodes of a shared volume as peers: those whose leases last, as the book has them.

use std::sync::Arc;
use std::time::Duration;

use forebay_book::{Book, VolumeId};
use forebay_os::clock::Clock;
use forebay_peers::{DEFAULT_PORT, PeerList, PeerName, parse_peers};
use forebay_sharing::MachineTime;
use parking_lot::Mutex;

/// The book is asked again when somebody reads, so long after the last time: a node that has come
/// is home to parts a moment later, one that is gone costs a time-out at most.
const FRESH: Duration = Duration::from_secs(5);

/// The nodes, as they were a moment ago.
#[derive(Debug)]
pub(super) struct BookPeers {
    book: Arc<dyn Book>,
    volume: VolumeId,
    own: PeerName,
    known: Mutex<Known>,
}

#[derive(Debug)]
struct Known {
    peers: Arc<[PeerName]>,
    /// When the book was asked last (nanoseconds of the machine's clock).
    asked: Option<u64>,
}

impl BookPeers {
    pub(super) fn new(book: Arc<dyn Book>, volume: VolumeId, own: PeerName) -> BookPeers {
        let peers = Arc::from([own.clone()]);
        BookPeers { book, volume, own, known: Mutex::new(Known { peers, asked: None }) }
    }

    fn ask(&self) -> Option<Arc<[PeerName]>> {
        let nodes = self.book.nodes(self.volume).ok()?;
        let others = nodes.into_iter().filter(|node| node.lease_left.is_some());
        let mut peers: Vec<PeerName> = others
            .filter_map(|node| parse_peers(&node.address, DEFAULT_PORT).ok()?.pop())
            .collect();
        peers.push(self.own.clone());
        peers.sort();
        peers.dedup();
        Some(peers.into())
    }
}

impl PeerList for BookPeers {
    /// A book that does not answer changes nothing.
    fn current_peers(&self) -> Arc<[PeerName]> {
        let mut known = self.known.lock();
        let now = MachineTime.elapsed_nanos();
        let is_old = |asked: u64| u128::from(now.saturating_sub(asked)) > FRESH.as_nanos();
        if known.asked.is_none_or(is_old) {
            known.asked = Some(now);
            if let Some(peers) = self.ask() {
                known.peers = peers;
            }
        }
        Arc::clone(&known.peers)
    }
}
