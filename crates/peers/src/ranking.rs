//! Whom all nodes ask for one thing: the peer whose score with it is the highest (rendezvous
//! hashing: Thaler, Ravishankar, IEEE/ACM Transactions on Networking 6(1), 1998). Nodes agree
//! without a word as long as they have the same names in whatever order, and when a peer goes only
//! what was its own goes elsewhere.

use std::cmp::Reverse;
use std::hash::Hasher;

use siphasher::sip::SipHasher13;

use super::list::PeerName;

/// The peers, the one to ask first at the start.
pub fn rank_peers<'a>(peers: &'a [PeerName], thing: &[u8]) -> Vec<&'a PeerName> {
    let mut ranked: Vec<_> = peers.iter().map(|peer| (score(peer, thing), peer)).collect();
    ranked.sort_by_key(|(score, peer)| (Reverse(*score), *peer));
    ranked.into_iter().map(|(_, peer)| peer).collect()
}

/// The same on all machines, for ever: nodes of two releases must agree.
fn score(peer: &PeerName, thing: &[u8]) -> u64 {
    let mut hasher = SipHasher13::new_with_keys(0, 0);
    let name = peer.as_str().as_bytes();
    hasher.write(&(name.len() as u64).to_le_bytes());
    hasher.write(name);
    hasher.write(thing);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::parse_peers;

    fn peers(text: &str) -> Vec<PeerName> {
        parse_peers(text, 7420).expect("a list")
    }

    fn things() -> impl Iterator<Item = [u8; 8]> {
        (0..4000u64).map(u64::to_le_bytes)
    }

    #[test]
    fn the_order_of_the_list_does_not_count() {
        let (one, other) = (peers("a,b,c,d"), peers("c,a,d,b"));
        for thing in things() {
            assert_eq!(rank_peers(&one, &thing), rank_peers(&other, &thing));
        }
    }

    #[test]
    fn scores_are_those_of_every_release() {
        let [ref peer] = peers("node7")[..] else { panic!("one name") };
        assert_eq!(score(peer, b"s3://refs/hg38.fa\0\"etag\"\0part 3"), SCORE);
    }

    #[test]
    fn all_get_their_share_and_little_moves_when_one_goes() {
        let (all, fewer) = (peers("a,b,c,d"), peers("a,b,d"));
        let mut shares = [0; 4];
        for thing in things() {
            let ranked = rank_peers(&all, &thing);
            shares[all.iter().position(|peer| peer == ranked[0]).expect("one of them")] += 1;
            let left: Vec<_> = ranked.into_iter().filter(|peer| fewer.contains(peer)).collect();
            assert_eq!(rank_peers(&fewer, &thing), left, "only what was of c has another home");
        }
        // 1000 each, with a standard deviation of 27.
        assert!(shares.iter().all(|share| (850..1150).contains(share)), "{shares:?}");
    }

    const SCORE: u64 = 16_239_681_668_026_229_254;
}
