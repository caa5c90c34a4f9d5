//! Options of nodes that share what they read of buckets: who the peers are, which is this node, and
//! what they share.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};

use forebay_model::ByteCount;
use forebay_peers::{DEFAULT_PORT, ListError, PeerName, PeerToken, find_own_name, parse_peers};
use forebay_volume::bucket::{OwnPeer, PeerOptions};

use crate::exit::{CommandError, NOTHING_RUN};
use crate::{placement, state_directories};

/// The token's name in the environment.
const TOKEN: &str = "FOREBAY_PEER_TOKEN";
/// Room for parts, where nobody says another; a disk with less free than a sixteenth gives none.
const USUAL_SPACE: u64 = 16 << 30;
/// For fewer parts than are asked for at a time it is not worth it.
const LEAST_SPACE: u64 = 256 << 20;

/// Options of `forebay mount` and `forebay run`.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct PeerArgs {
    /// Nodes that read the same buckets, and fetch each part of an object once: HOST[:PORT],... or a
    /// file of such names (with a slash in its name: ./nodes), the same on all nodes; the port is
    /// 7420 unless said
    #[arg(long, value_name = "LIST", help_heading = "Peers")]
    peers: Option<String>,
    /// Answer the peers at this address, such as 10.0.0.7 or 0.0.0.0:7420; without it this node asks
    /// the others and keeps nothing for them
    #[arg(long, value_name = "ADDRESS", requires = "peers", help_heading = "Peers")]
    peer_listen: Option<String>,
    /// What this node is called in the list; default: the entry with its address or its host's name
    #[arg(long, value_name = "NAME", requires = "peer_listen", help_heading = "Peers")]
    peer_name: Option<String>,
    /// How much of this machine's disk parts for the peers may take; default: 16 GiB
    #[arg(long, value_name = "AMOUNT", requires = "peer_listen", help_heading = "Peers")]
    peer_space: Option<ByteCount>,
    /// A file with the token that all peers have, which nobody else may read (mode 0600); default:
    /// FOREBAY_PEER_TOKEN
    #[arg(long, value_name = "FILE", requires = "peers", help_heading = "Peers")]
    peer_token: Option<PathBuf>,
}

impl PeerArgs {
    /// The peers, if there are to be some. Parts are kept below `state`, or where this user's state
    /// is.
    pub(crate) fn into_options(
        self,
        state: Option<&Path>,
    ) -> Result<Option<PeerOptions>, CommandError> {
        let Some(list) = &self.peers else { return Ok(None) };
        let listen = self.peer_listen.as_deref().map(parse_address).transpose()?;
        let port = listen.map_or(DEFAULT_PORT, |listen| listen.port());
        let text = match list.contains('/') {
            true => placement::read_text(Path::new(list))?,
            false => list.clone(),
        };
        let peers = parse_peers(&text, port).map_err(|error| explain_list(&error))?;
        let token = self.read_token()?;
        let own = match listen {
            Some(listen) => Some(self.own_peer(listen, &peers, state)?),
            None => None,
        };
        Ok(Some(PeerOptions { peers, token, own }))
    }

    fn own_peer(
        &self,
        listen: SocketAddr,
        peers: &[PeerName],
        state: Option<&Path>,
    ) -> Result<OwnPeer, CommandError> {
        let said = self.peer_name.as_deref().map(|name| parse_peers(name, listen.port()));
        let said = said.transpose().map_err(|error| explain_list(&error))?;
        let said = said.as_deref().and_then(<[PeerName]>::first);
        let system = rustix::system::uname();
        let hostname = system.nodename().to_string_lossy();
        // An address of another machine can't be bound, and none of ours is taken by trying.
        let is_own = |address: IpAddr| UdpSocket::bind((address, 0)).is_ok();
        let name = find_own_name(peers, said, listen, &hostname, is_own)
            .map_err(|error| explain_list(&error))?;
        let space = self.peer_space.map_or(USUAL_SPACE, ByteCount::get);
        if space < LEAST_SPACE {
            let what = format!("--peer-space: {} is too little", ByteCount(space));
            let next = format!("name {} or more; nothing was started", ByteCount(LEAST_SPACE));
            return Err(CommandError::new(NOTHING_RUN, what, next));
        }
        let parts = match state {
            Some(state) => std::path::absolute(state).unwrap_or(state.to_owned()).join("parts"),
            None => state_directories::state_file(&format!("peers/{name}"))?,
        };
        Ok(OwnPeer { name, listen, parts, space })
    }

    fn read_token(&self) -> Result<PeerToken, CommandError> {
        let refuse = |what: String, next: &str| {
            CommandError::new(NOTHING_RUN, what, format!("{next}; nothing was started"))
        };
        let next = "`(umask 077; openssl rand -hex 32 > token)` makes one; give all nodes the same";
        if let Some(file) = &self.peer_token {
            return PeerToken::read_file(file).map_err(|error| refuse(error.to_string(), next));
        }
        let Some(text) = std::env::var_os(TOKEN) else {
            let what = format!("peers need a token: neither --peer-token nor {TOKEN} gives one");
            return Err(refuse(what, next));
        };
        // Of what is no text nothing is said: it is a secret.
        let parsed = PeerToken::parse(&text.to_string_lossy());
        parsed.map_err(|error| refuse(format!("{TOKEN}: {error}"), next))
    }
}

/// `ADDRESS:PORT`, or an address alone.
fn parse_address(text: &str) -> Result<SocketAddr, CommandError> {
    let address = text.parse::<SocketAddr>().ok().filter(|address| address.port() != 0);
    let alone = || {
        let address = text.parse::<IpAddr>().ok()?;
        Some(SocketAddr::new(address, DEFAULT_PORT))
    };
    address.or_else(alone).ok_or_else(|| {
        let what = format!("--peer-listen {text}: no address of a machine");
        let next = "0.0.0.0:7420 is all addresses of this one; nothing was started";
        CommandError::new(NOTHING_RUN, what, next)
    })
}

fn explain_list(error: &ListError) -> CommandError {
    let next = match error {
        ListError::NotListed(_) => {
            "add it, or say what it is called there with --peer-name; or leave --peer-listen out, and \
             this node only asks"
        }
        ListError::Ambiguous(..) => "say which with --peer-name",
        ListError::Twice(_) => "each node is in it once",
        ListError::Empty | ListError::NoPeer(_) | ListError::Folded(_) => {
            "as in --peers node1,node2:7421, or a file with one of them a line"
        }
    };
    CommandError::new(
        NOTHING_RUN,
        format!("--peers: {error}"),
        format!("{next}; nothing was started"),
    )
}
