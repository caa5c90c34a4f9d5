//! Questions between nodes over the peers' transport. The token comes from the book, so who reads the
//! book is a node, and nobody else.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use forebay_peers::{
    DEFAULT_PORT, PeerAnswer, PeerClient, PeerError, PeerName, PeerRequest, PeerToken, PeerVerb,
    PeerWaits, Refusal, RefusalKind, parse_peers,
};
use forebay_sharing::{
    Answer, Messages, Neighbour, Question, SharedNode, Unanswered, decode_answer, decode_question,
    encode_answer, encode_question,
};

/// The verb by which nodes ask each other.
pub(super) const SHARING: &str = "sharing";

/// How long a node is waited for: who answers waits 3 s for the book at most.
const WAITS: PeerWaits = PeerWaits {
    connect: Duration::from_secs(3),
    answer: Duration::from_secs(10),
    piece: Duration::from_secs(10),
    whole: Duration::from_secs(30),
};

/// The longest answer is a listing: some 150 bytes a name.
const ANSWER_MOST: usize = 1 << 30;

/// Asks other nodes.
#[derive(Debug)]
pub(super) struct NodeMessages(PeerClient);

impl NodeMessages {
    pub(super) fn new(token: &PeerToken) -> io::Result<NodeMessages> {
        Ok(NodeMessages(PeerClient::new(token, WAITS)?))
    }

    /// `None`: it says more than any answer has.
    fn ask_peer(&self, peer: &PeerName, question: Bytes) -> Result<Option<Vec<u8>>, PeerError> {
        let mut reply = self.0.ask(peer, SHARING, question)?;
        let mut said = Vec::new();
        while let Some(piece) = reply.next_piece()? {
            said.extend_from_slice(&piece);
            if said.len() > ANSWER_MOST {
                return Ok(None);
            }
        }
        Ok(Some(said))
    }
}

impl Messages for NodeMessages {
    fn ask(&self, node: &Neighbour, question: &Question) -> Result<Answer, Unanswered> {
        let peer = parse_peers(&node.address, DEFAULT_PORT).ok();
        let Some(peer) = peer.and_then(|peers| peers.into_iter().next()) else {
            return Err(Unanswered("has no address at which it could be asked".to_owned()));
        };
        let said = self.ask_peer(&peer, Bytes::from(encode_question(question)));
        let said = said.map_err(|failed| Unanswered(failed.why))?;
        let answer = said.as_deref().and_then(decode_answer);
        answer.ok_or_else(|| Unanswered("answers what makes no sense".to_owned()))
    }
}

/// Answers other nodes.
#[derive(Debug)]
pub(super) struct SharingVerb {
    pub(super) node: Arc<SharedNode>,
}

impl PeerVerb for SharingVerb {
    fn answer(&self, question: PeerRequest) -> Result<PeerAnswer, Refusal> {
        let bad = || Refusal::new(RefusalKind::BadQuestion, "this is no question of a node");
        let question = decode_question(&question.body).ok_or_else(bad)?;
        Ok(PeerAnswer::Whole(Bytes::from(encode_answer(&self.node.answer(&question)))))
    }
}
