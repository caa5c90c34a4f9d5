//! Who the peers are, and which of them is this node.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// Where a peer is asked whose entry says no port.
pub const DEFAULT_PORT: u16 = 7420;

/// `HOST:PORT`, by which all nodes know a peer and reach it. All have to write it alike: the same
/// name on all nodes is what makes them agree who has what.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PeerName(String);

impl PeerName {
    /// `HOST:PORT`
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A name, or an address without brackets.
    pub fn host(&self) -> &str {
        let host = self.0.rsplit_once(':').map_or(self.0.as_str(), |(host, _)| host);
        host.trim_start_matches('[').trim_end_matches(']')
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.0.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).unwrap_or(DEFAULT_PORT)
    }
}

impl fmt::Display for PeerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Tells who the peers are now: a list that somebody wrote, or a book that nodes sign.
pub trait PeerList: fmt::Debug + Send + Sync {
    /// All of them, this node too if it serves others; in any order.
    fn current_peers(&self) -> Arc<[PeerName]>;
}

/// Peers that stay the same.
#[derive(Debug, Clone)]
pub struct FixedPeers(Arc<[PeerName]>);

impl From<Vec<PeerName>> for FixedPeers {
    fn from(peers: Vec<PeerName>) -> Self {
        FixedPeers(peers.into())
    }
}

impl PeerList for FixedPeers {
    fn current_peers(&self) -> Arc<[PeerName]> {
        Arc::clone(&self.0)
    }
}

/// Why a list can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ListError {
    /// It is empty.
    #[error("the list of peers is empty")]
    Empty,
    /// An entry is none.
    #[error("{0:?} is no HOST or HOST:PORT")]
    NoPeer(String),
    /// Slurm and others write many in one.
    #[error("{0:?} stands for several hosts; `scontrol show hostnames` writes them out")]
    Folded(String),
    /// Two nodes of one name would take each other's parts for their own.
    #[error("{0} is in the list of peers twice")]
    Twice(PeerName),
    /// This node is none of them.
    #[error("this node ({0}) is not in the list of peers")]
    NotListed(String),
    /// It may be several of them.
    #[error("this node may be {0} or {1} of the list of peers")]
    Ambiguous(PeerName, PeerName),
}

/// Reads a list: names between commas, spaces or line ends; `#` begins a comment. Hosts without a
/// port get `port`.
///
/// # Errors
/// When an entry is none, or is there twice.
pub fn parse_peers(text: &str, port: u16) -> Result<Vec<PeerName>, ListError> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or(""));
    let entries = lines.flat_map(|line| line.split([',', ' ', '\t']));
    let mut peers: Vec<PeerName> = Vec::new();
    for entry in entries.filter(|entry| !entry.is_empty()) {
        let peer = parse_peer(entry, port)?;
        if peers.contains(&peer) {
            return Err(ListError::Twice(peer));
        }
        peers.push(peer);
    }
    if peers.is_empty() { Err(ListError::Empty) } else { Ok(peers) }
}

fn parse_peer(entry: &str, port: u16) -> Result<PeerName, ListError> {
    let no_peer = || ListError::NoPeer(entry.to_owned());
    if let Ok(address) = entry.parse::<SocketAddr>() {
        return match address.port() {
            0 => Err(no_peer()),
            _ => Ok(PeerName(address.to_string())),
        };
    }
    if let Ok(address) = entry.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
        return Ok(PeerName(SocketAddr::new(address, port).to_string()));
    }
    if entry.contains(['[', ']']) {
        return Err(ListError::Folded(entry.to_owned()));
    }
    let (host, port) = match entry.split_once(':') {
        Some((host, port)) => (host, port.parse().map_err(|_| no_peer())?),
        None => (entry, port),
    };
    let of_a_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    let is_name = !host.is_empty() && host.len() <= 253 && host.bytes().all(of_a_name);
    if !is_name || host.starts_with(['-', '.']) || port == 0 {
        return Err(no_peer());
    }
    Ok(PeerName(format!("{}:{port}", host.to_ascii_lowercase())))
}

/// Which of the peers a node is that listens there: the one that is `said`, else the one with its
/// address, else the one with its host's name. `is_own` tells addresses of this machine.
///
/// # Errors
/// When it is none of them, or may be several.
pub fn find_own_name(
    peers: &[PeerName],
    said: Option<&PeerName>,
    listening: SocketAddr,
    hostname: &str,
    is_own: impl Fn(IpAddr) -> bool,
) -> Result<PeerName, ListError> {
    if let Some(said) = said {
        let found = peers.iter().find(|peer| *peer == said);
        return found.cloned().ok_or_else(|| ListError::NotListed(said.to_string()));
    }
    let short = |name: &str| name.split('.').next().unwrap_or("").to_ascii_lowercase();
    let here = |peer: &&PeerName| {
        peer.port() == listening.port()
            && match peer.host().parse::<IpAddr>() {
                Ok(address) if listening.ip().is_unspecified() => is_own(address),
                Ok(address) => address == listening.ip(),
                Err(_) if peer.host().contains('.') && hostname.contains('.') => {
                    peer.host().eq_ignore_ascii_case(hostname)
                }
                Err(_) => peer.host() == "localhost" || short(peer.host()) == short(hostname),
            }
    };
    let mut found = peers.iter().filter(here);
    match (found.next(), found.next()) {
        (Some(peer), None) => Ok(peer.clone()),
        (Some(one), Some(other)) => Err(ListError::Ambiguous(one.clone(), other.clone())),
        (None, _) => Err(ListError::NotListed(format!("{hostname}, {listening}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let peers = parse_peers(text, 7420).expect("a list");
        peers.iter().map(|peer| peer.as_str().to_owned()).collect()
    }

    #[test]
    fn lists_are_read_as_people_and_slurm_write_them() {
        assert_eq!(names("a,b:1"), ["a:7420", "b:1"]);
        assert_eq!(
            names("# rack 7\nNode-1.lab\n\nnode2:99 # new\n"),
            ["node-1.lab:7420", "node2:99"]
        );
        assert_eq!(names("10.0.0.1, 10.0.0.2:8"), ["10.0.0.1:7420", "10.0.0.2:8"]);
        assert_eq!(names("[fe80::1]:8,::1,[::2]"), ["[fe80::1]:8", "[::1]:7420", "[::2]:7420"]);
        let peers = parse_peers("[fe80::1]:8,a:9", 1).expect("a list");
        assert_eq!((peers[0].host(), peers[0].port()), ("fe80::1", 8));
        assert_eq!((peers[1].host(), peers[1].port()), ("a", 9));
    }

    #[test]
    fn lists_that_are_wrong_are_refused_by_name() {
        let refused = |text: &str| parse_peers(text, 7420).expect_err(text);
        assert_eq!(refused(" ,\n# none\n"), ListError::Empty);
        assert_eq!(refused("node[1-4]"), ListError::Folded("node[1-4]".to_owned()));
        for bad in ["a:b", "a:0", "a:70000", "http://a:1", "a/b", "-a", "..", "a:1:2", "a\u{e9}"] {
            assert!(matches!(refused(bad), ListError::NoPeer(_)), "{bad}");
        }
        for twice in ["a,a", "a,A:7420", "10.0.0.1,10.0.0.1:7420"] {
            assert!(matches!(refused(twice), ListError::Twice(_)), "{twice}");
        }
    }

    #[test]
    fn a_node_finds_itself_by_address_or_name_or_is_told() {
        let find = |list: &str, listening: &str, said: Option<&str>| {
            let said = said.map(|said| parse_peers(said, 7420).expect("one").remove(0));
            let peers = parse_peers(list, 7420).expect("a list");
            let listening = listening.parse().expect("an address");
            let own = |address: IpAddr| address.to_string() == "10.0.0.2";
            let found = find_own_name(&peers, said.as_ref(), listening, "node2.lab", own);
            found.map(|peer| peer.as_str().to_owned())
        };
        let any = "0.0.0.0:7420";
        assert_eq!(find("10.0.0.1,10.0.0.2", any, None).as_deref(), Ok("10.0.0.2:7420"));
        assert_eq!(
            find("10.0.0.1,10.0.0.3", "10.0.0.3:7420", None).as_deref(),
            Ok("10.0.0.3:7420")
        );
        assert_eq!(find("node1,node2,node20", any, None).as_deref(), Ok("node2:7420"));
        assert_eq!(
            find("node1.lab,node2.lab,node2.far", any, None).as_deref(),
            Ok("node2.lab:7420")
        );
        assert_eq!(find("node1,cache", any, Some("cache")).as_deref(), Ok("cache:7420"));
        assert!(matches!(find("node1,node3", any, None), Err(ListError::NotListed(_))));
        assert!(matches!(find("node1,node2", any, Some("node3")), Err(ListError::NotListed(_))));
        assert!(matches!(find("node2:1", any, None), Err(ListError::NotListed(_))), "another port");
        assert!(matches!(find("10.0.0.2,node2", any, None), Err(ListError::Ambiguous(..))));
    }
}
