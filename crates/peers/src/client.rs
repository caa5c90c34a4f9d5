//! The side that asks. Each wait ends, and says whom it waited for.

use std::fmt;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{CONTENT_LENGTH, HOST};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use rustls::pki_types::ServerName;
use rustls::{AlertDescription, ClientConfig};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;

use super::identity::TlsIdentity;
use super::list::PeerName;
use super::token::PeerToken;
use super::wire::{RefusalKind, WORDS_MOST};

/// Threads that decrypt.
const THREADS: usize = 2;
/// Connections to one peer that are kept for the next question.
const KEPT_MOST: usize = 32;
/// The name in TLS: what a peer is called proves nothing, the token does.
const TLS_NAME: &str = "peer.forebay.internal";

/// How long is waited for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerWaits {
    /// Until a connection stands, with both sides proven.
    pub connect: Duration,
    /// Until an answer begins.
    pub answer: Duration,
    /// Between two pieces of it.
    pub piece: Duration,
    /// Until all of it has come, from the start: a peer that sends a byte now and then is slow, too.
    pub whole: Duration,
}

impl Default for PeerWaits {
    /// For parts of 8 MiB, which come in a second at 10 MB/s; who has to fetch one begins to answer
    /// when its first bytes come. Nodes of pipelines are busy ones: on two cores with four programs
    /// each, well peers took more than 5 s to answer.
    fn default() -> Self {
        PeerWaits {
            connect: Duration::from_secs(5),
            answer: Duration::from_secs(20),
            piece: Duration::from_secs(20),
            whole: Duration::from_secs(120),
        }
    }
}

/// Why a peer did not give what it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("peer {peer} {why}")]
pub struct PeerError {
    /// What that means for who asked.
    pub kind: PeerErrorKind,
    /// Who.
    pub peer: PeerName,
    /// What it did, for people: goes on from its name.
    pub why: String,
}

/// What a failure means for who asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerErrorKind {
    /// It is not reached, or does not answer in time.
    Away,
    /// It has another token, or is another version, or nothing of ours.
    Stranger,
    /// What it sent is no answer, or was cut off.
    Broken,
    /// It is well, and refuses.
    Refused(RefusalKind),
}

impl PeerErrorKind {
    /// Whether the peer is to be left alone for a while. One that refuses is well.
    pub fn is_the_peers_fault(self) -> bool {
        !matches!(self, PeerErrorKind::Refused(_))
    }
}

type Sender = SendRequest<Full<Bytes>>;

/// Asks peers.
pub struct PeerClient {
    /// Taken when it ends.
    runtime: Option<Runtime>,
    tls: Arc<ClientConfig>,
    waits: PeerWaits,
    kept: Mutex<FxHashMap<PeerName, Vec<Sender>>>,
}

impl fmt::Debug for PeerClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeerClient").field("waits", &self.waits).finish_non_exhaustive()
    }
}

impl PeerClient {
    /// Asks those that prove to know this token.
    ///
    /// # Errors
    /// When there are no threads.
    pub fn new(token: &PeerToken, waits: PeerWaits) -> io::Result<PeerClient> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("forebay-asks")
            .enable_all()
            .build()?;
        let tls = TlsIdentity::from_token(token)?.client;
        Ok(PeerClient { runtime: Some(runtime), tls, waits, kept: Mutex::default() })
    }

    /// Asks a peer, and waits until its answer begins. A connection that was kept may be gone, then
    /// it is asked by a new one: so a verb may hear a question twice.
    ///
    /// # Errors
    /// What the peer did, or refuses.
    pub fn ask(
        &self,
        peer: &PeerName,
        verb: &str,
        question: Bytes,
    ) -> Result<PeerReply<'_>, PeerError> {
        self.ask_within(peer, verb, question, self.waits.whole)
    }

    /// The same, where all of the answer may take so long.
    ///
    /// # Errors
    /// As [`PeerClient::ask`].
    pub fn ask_within(
        &self,
        peer: &PeerName,
        verb: &str,
        question: Bytes,
        whole: Duration,
    ) -> Result<PeerReply<'_>, PeerError> {
        self.wait_for(async {
            let end = Instant::now() + whole;
            let (response, sender) = self.send_question(peer, verb, question).await?;
            self.read_head(peer, response, sender, end).await
        })
    }

    /// The same with the whole answer, of up to so many bytes.
    ///
    /// # Errors
    /// As [`PeerClient::ask`].
    pub fn ask_whole(
        &self,
        peer: &PeerName,
        verb: &str,
        question: Bytes,
        most: usize,
    ) -> Result<Bytes, PeerError> {
        let mut reply = self.ask(peer, verb, question)?;
        let mut whole = BytesMut::new();
        while let Some(piece) = reply.next_piece()? {
            whole.extend_from_slice(&piece);
            if whole.len() > most {
                return Err(broken(peer, format!("sent more than {most} bytes")));
            }
        }
        Ok(whole.freeze())
    }

    fn wait_for<T>(&self, asked: impl Future<Output = T>) -> T {
        self.runtime.as_ref().expect("it is taken when this ends").block_on(asked)
    }

    async fn send_question(
        &self,
        peer: &PeerName,
        verb: &str,
        question: Bytes,
    ) -> Result<(Response<Incoming>, Sender), PeerError> {
        let request = |question: Bytes| {
            Request::post(format!("/{verb}"))
                .header(HOST, peer.as_str())
                .body(Full::new(question))
                .map_err(|error| broken(peer, format!("can't be asked {verb:?}: {error}")))
        };
        let within = Instant::now() + self.waits.answer;
        let late = |_| away(peer, format!("did not answer for {:?}", self.waits.answer));
        while let Some(mut sender) = self.take_kept(peer) {
            let sent = sender.send_request(request(question.clone())?);
            match timeout_at(within, sent).await.map_err(late)? {
                Ok(response) => return Ok((response, sender)),
                // The peer may have ended this connection a while ago, or have been started anew.
                Err(_) => self.forget_kept(peer),
            }
        }
        let mut sender = self.connect(peer).await?;
        let within = Instant::now() + self.waits.answer;
        let sent = timeout_at(within, sender.send_request(request(question)?));
        match sent.await.map_err(late)? {
            Ok(response) => Ok((response, sender)),
            Err(error) => Err(explain_lost_connection(peer, &error)),
        }
    }

    fn take_kept(&self, peer: &PeerName) -> Option<Sender> {
        let mut kept = self.kept.lock();
        let senders = kept.get_mut(peer)?;
        // The one that was used last: others may end.
        while let Some(sender) = senders.pop() {
            if sender.is_ready() {
                return Some(sender);
            }
        }
        None
    }

    fn forget_kept(&self, peer: &PeerName) {
        self.kept.lock().remove(peer);
    }

    fn keep(&self, peer: &PeerName, sender: Sender) {
        let mut kept = self.kept.lock();
        let senders = kept.entry(peer.clone()).or_default();
        if senders.len() < KEPT_MOST {
            senders.push(sender);
        }
    }

    async fn connect(&self, peer: &PeerName) -> Result<Sender, PeerError> {
        let within = Instant::now() + self.waits.connect;
        let late = |_| away(peer, format!("can't be reached within {:?}", self.waits.connect));
        let connected = async {
            let stream = TcpStream::connect((peer.host(), peer.port()))
                .await
                .map_err(|error| away(peer, format!("can't be reached: {error}")))?;
            // Small questions must not wait for each other's acknowledgements.
            let _ = stream.set_nodelay(true);
            let name = ServerName::try_from(TLS_NAME).expect("it is a name");
            let connector = TlsConnector::from(Arc::clone(&self.tls));
            let proven = connector.connect(name, stream).await;
            let stream = proven.map_err(|error| explain_failed_handshake(peer, &error))?;
            let (sender, connection) = handshake(TokioIo::new(stream))
                .await
                .map_err(|error| broken(peer, format!("does not speak: {error}")))?;
            tokio::spawn(async move {
                if let Err(error) = connection.await {
                    tracing::debug!("a connection to a peer ended: {error}");
                }
            });
            Ok(sender)
        };
        timeout_at(within, connected).await.map_err(late)?
    }

    async fn read_head(
        &self,
        peer: &PeerName,
        response: Response<Incoming>,
        sender: Sender,
        end: Instant,
    ) -> Result<PeerReply<'_>, PeerError> {
        let status = response.status();
        let said = response.headers().get(CONTENT_LENGTH);
        let length = said.and_then(|length| length.to_str().ok()?.parse().ok());
        let body = response.into_body();
        let mut reply =
            PeerReply { client: self, peer: peer.clone(), length, body, sender: Some(sender), end };
        if status.is_success() {
            return Ok(reply);
        }
        let Some(kind) = RefusalKind::from_status(status) else {
            return Err(broken(peer, format!("answers {status}, which is no answer of a peer")));
        };
        let mut words = Vec::new();
        while words.len() < WORDS_MOST
            && let Some(piece) = reply.receive_piece().await?
        {
            words.extend_from_slice(&piece[..piece.len().min(WORDS_MOST - words.len())]);
        }
        let why = format!("refuses: {}", String::from_utf8_lossy(&words));
        Err(PeerError { kind: PeerErrorKind::Refused(kind), peer: peer.clone(), why })
    }
}

impl Drop for PeerClient {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// An answer that comes.
#[derive(Debug)]
pub struct PeerReply<'a> {
    client: &'a PeerClient,
    peer: PeerName,
    length: Option<u64>,
    body: Incoming,
    /// Kept for the next question when all of this has come; else the connection ends.
    sender: Option<Sender>,
    end: Instant,
}

impl PeerReply<'_> {
    /// How many bytes the peer says are to come; `None`: it does not.
    pub fn length(&self) -> Option<u64> {
        self.length
    }

    /// The next bytes; `None`: that was all.
    ///
    /// # Errors
    /// When it is cut off, or does not come in time.
    pub fn next_piece(&mut self) -> Result<Option<Bytes>, PeerError> {
        let client = self.client;
        client.wait_for(self.receive_piece())
    }

    async fn receive_piece(&mut self) -> Result<Option<Bytes>, PeerError> {
        let waits = self.client.waits;
        loop {
            let next = Instant::now() + waits.piece;
            let frame = match timeout_at(next.min(self.end), self.body.frame()).await {
                Ok(frame) => frame,
                Err(_) if next <= self.end => {
                    return Err(away(&self.peer, format!("sent nothing for {:?}", waits.piece)));
                }
                Err(_) => {
                    let why = format!("took longer than {:?} for one answer", waits.whole);
                    return Err(away(&self.peer, why));
                }
            };
            match frame {
                None => {
                    if let Some(sender) = self.sender.take() {
                        self.client.keep(&self.peer, sender);
                    }
                    return Ok(None);
                }
                Some(Ok(frame)) => {
                    if let Ok(bytes) = frame.into_data() {
                        return Ok(Some(bytes));
                    }
                }
                Some(Err(error)) => {
                    return Err(broken(&self.peer, format!("cut its answer off: {error}")));
                }
            }
        }
    }
}

fn away(peer: &PeerName, why: String) -> PeerError {
    PeerError { kind: PeerErrorKind::Away, peer: peer.clone(), why }
}

fn broken(peer: &PeerName, why: String) -> PeerError {
    PeerError { kind: PeerErrorKind::Broken, peer: peer.clone(), why }
}

fn stranger(peer: &PeerName, why: &str) -> PeerError {
    PeerError { kind: PeerErrorKind::Stranger, peer: peer.clone(), why: why.to_owned() }
}

fn explain_tls(peer: &PeerName, error: &rustls::Error) -> Option<PeerError> {
    match error {
        rustls::Error::InvalidCertificate(_)
        | rustls::Error::AlertReceived(
            AlertDescription::BadCertificate
            | AlertDescription::AccessDenied
            | AlertDescription::CertificateUnknown,
        ) => Some(stranger(peer, "has another token")),
        rustls::Error::AlertReceived(AlertDescription::NoApplicationProtocol) => {
            Some(stranger(peer, "speaks another version of the peers' protocol"))
        }
        rustls::Error::InvalidMessage(_)
        | rustls::Error::PeerIncompatible(_)
        | rustls::Error::AlertReceived(_) => Some(stranger(peer, "is no peer: another service")),
        _ => None,
    }
}

fn explain_failed_handshake(peer: &PeerName, error: &io::Error) -> PeerError {
    let said = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    said.and_then(|said| explain_tls(peer, said))
        .unwrap_or_else(|| away(peer, format!("can't be reached: {error}")))
}

fn explain_lost_connection(peer: &PeerName, error: &hyper::Error) -> PeerError {
    let mut below = std::error::Error::source(error);
    while let Some(cause) = below {
        if let Some(error) = cause.downcast_ref::<io::Error>() {
            return explain_failed_handshake(peer, error);
        }
        below = cause.source();
    }
    broken(peer, format!("ended the connection: {error}"))
}
