//! Where somebody on this machine asks the daemon to bring files, here and to all peers.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use parking_lot::Mutex;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect, listen,
    socket_with,
};

use super::bringing::Bringing;
use super::verb::{WARM, WarmQuestion};
use super::{WarmNode, WarmRequest, WarmTrees};
use crate::bucket::PeerGroup;
use crate::ipc::Channel;

const NAMES: &str = "forebay/warm/";
/// Between two words on how far all are.
const EVERY: Duration = Duration::from_millis(200);

fn socket_address(pid: u32) -> rustix::io::Result<SocketAddrUnix> {
    SocketAddrUnix::new_abstract_name(format!("{NAMES}{pid}").as_bytes())
}

fn create_socket() -> rustix::io::Result<OwnedFd> {
    socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
}

/// Opens the door of this process, to its user and root.
///
/// # Errors
/// When the name is taken or no thread can be made; nobody can ask then, and all else goes on.
pub(crate) fn open_warm_socket(
    trees: Arc<WarmTrees>,
    peers: Option<Arc<PeerGroup>>,
) -> io::Result<()> {
    let (socket, me) = (create_socket()?, rustix::process::geteuid());
    bind(&socket, &socket_address(std::process::id())?)?;
    listen(&socket, 16)?;
    std::thread::Builder::new().name("forebay-warms".into()).spawn(move || {
        while let Ok(guest) = accept_with(&socket, SocketFlags::CLOEXEC) {
            let peer = rustix::net::sockopt::socket_peercred(&guest);
            if !peer.is_ok_and(|peer| peer.uid == me || peer.uid.is_root()) {
                continue;
            }
            let (trees, peers) = (Arc::clone(&trees), peers.clone());
            let work = move || answer_guest(&Channel::new(guest), &trees, peers.as_ref());
            // Who is not answered hears that the door was shut.
            let _ = std::thread::Builder::new().name("forebay-warm".into()).spawn(work);
        }
    })?;
    Ok(())
}

fn answer_guest(guest: &Channel, trees: &WarmTrees, peers: Option<&Arc<PeerGroup>>) {
    let Some(request) = guest.receive_message::<WarmRequest>() else { return };
    let Some(tree) = trees.find(|tree| tree.point == request.point) else {
        let why = format!("{} is not served here", request.point.display());
        guest.send_message(&[WarmNode::failed_whole("", why)]);
        return;
    };
    let own = peers.and_then(|peers| peers.own_label()).unwrap_or_default();
    let bringing = Bringing::new(&own);
    let question = tree.url.clone().map(|url| WarmQuestion { url, paths: request.paths.clone() });
    let others = match (peers, question) {
        (Some(peers), Some(question)) if !request.here => {
            Others::asked(peers, &serde_json::to_vec(&question).unwrap_or_default())
        }
        _ => Others::default(),
    };
    std::thread::scope(|scope| {
        scope.spawn(|| bringing.bring_paths(&tree, &request.paths));
        loop {
            let all: Vec<WarmNode> =
                std::iter::once(bringing.state()).chain(others.states()).collect();
            let is_over = all.iter().all(|node| node.is_over);
            guest.send_message(&all);
            // It says nothing: it is there, or has gone.
            if is_over || guest.has_message_within(EVERY.as_millis() as u16) {
                break;
            }
        }
        bringing.cancel();
        others.cancel();
    });
}

/// What the peers say.
#[derive(Debug, Default)]
struct Others {
    said: Vec<Arc<Mutex<Heard>>>,
}

/// What one of them has said last.
#[derive(Debug, Default)]
struct Heard {
    node: WarmNode,
    /// Nobody wants to know any more.
    is_cancelled: bool,
}

impl Others {
    /// Asks all of them.
    fn asked(peers: &Arc<PeerGroup>, question: &[u8]) -> Others {
        let ask = |name: forebay_peers::PeerName| {
            let node = WarmNode { name: name.to_string(), ..WarmNode::default() };
            let heard = Arc::new(Mutex::new(Heard { node, is_cancelled: false }));
            let work = {
                let (peers, heard) = (Arc::clone(peers), Arc::clone(&heard));
                let question = question.to_vec();
                move || listen_to_peer(&peers, &name, question, &heard)
            };
            let began = std::thread::Builder::new().name("forebay-warm".into()).spawn(work);
            if let Err(error) = began {
                let mut heard = heard.lock();
                heard.node = WarmNode::failed_whole(&heard.node.name, error.to_string());
            }
            heard
        };
        Others { said: peers.other_peers().into_iter().map(ask).collect() }
    }

    fn states(&self) -> impl Iterator<Item = WarmNode> {
        self.said.iter().map(|heard| heard.lock().node.clone())
    }

    fn cancel(&self) {
        self.said.iter().for_each(|heard| heard.lock().is_cancelled = true);
    }
}

/// Hears a peer out, as long as anybody wants to know.
fn listen_to_peer(
    peers: &PeerGroup,
    name: &forebay_peers::PeerName,
    question: Vec<u8>,
    heard: &Mutex<Heard>,
) {
    let end = |why: String| {
        let mut heard = heard.lock();
        // How far it had come is still true.
        let mut node = std::mem::take(&mut heard.node);
        node.failed += 1;
        node.why.push(why);
        node.is_over = true;
        heard.node = node;
    };
    let mut reply = match peers.ask_at_length(name, WARM, question.into()) {
        Ok(reply) => reply,
        Err(failed) => return end(failed.to_string()),
    };
    let mut coming = BytesMut::new();
    loop {
        match reply.next_piece() {
            Ok(Some(piece)) => coming.extend_from_slice(&piece),
            Ok(None) => break,
            Err(failed) => return end(failed.to_string()),
        }
        while let Some(length) = coming.iter().position(|byte| *byte == b'\n') {
            let line = coming.split_to(length + 1);
            let mut heard = heard.lock();
            if heard.is_cancelled {
                return;
            }
            if let Ok(node) = serde_json::from_slice::<WarmNode>(&line) {
                heard.node = WarmNode { name: name.to_string(), ..node };
            }
        }
        if coming.len() > 1 << 20 {
            break;
        }
    }
    if !heard.lock().node.is_over {
        end(format!("peer {name} ended before it was done"));
    }
}

/// Asks a daemon to bring files, and hands over how far all nodes are, now and then; the last time
/// all are over.
///
/// # Errors
/// When the daemon is gone, or lets nobody in.
pub fn warm_files(
    pid: u32,
    request: &WarmRequest,
    tell: &mut dyn FnMut(&[WarmNode]),
) -> io::Result<Vec<WarmNode>> {
    let socket = create_socket()?;
    connect(&socket, &socket_address(pid)?)?;
    // Anybody can take a free name.
    let peer = rustix::net::sockopt::socket_peercred(&socket)?;
    if peer.pid.as_raw_nonzero().get() as u32 != pid {
        return Err(io::ErrorKind::NotFound.into());
    }
    let channel = Channel::new(socket);
    channel.send_message(request);
    while let Some(nodes) = channel.receive_message::<Vec<WarmNode>>() {
        if nodes.iter().all(|node| node.is_over) {
            return Ok(nodes);
        }
        tell(&nodes);
    }
    Err(io::Error::other("the daemon went away meanwhile"))
}
