//! The side that answers.

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, Limited, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{CONTENT_LENGTH, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::AlertDescription;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::identity::TlsIdentity;
use super::token::PeerToken;
use super::wire::{QUESTION_MOST, Refusal, RefusalKind, WORDS_MOST};

/// Threads that encrypt; the answers come on threads of their own.
const THREADS: usize = 2;
/// Threads in which verbs answer, and connections that are open: more wait for their turn.
const ANSWERS_MOST: usize = 64;
const CONNECTIONS_MOST: usize = 1024;
/// How long a connection may take to prove itself, and a question to come once it has begun.
const HANDSHAKE: Duration = Duration::from_secs(10);
const QUESTION: Duration = Duration::from_secs(10);
/// How long a question waits for its turn.
const TURN: Duration = Duration::from_secs(3);
/// How long a connection without a question is kept.
const IDLE: Duration = Duration::from_secs(120);
/// How long sent bytes may stay unread before the kernel gives a connection up (tcp(7)).
const UNREAD_MS: u32 = 30_000;
/// Between two attempts to accept, where there are no descriptors left.
const NO_DESCRIPTORS: Duration = Duration::from_millis(100);

/// What peers ask for: answers questions of one kind. A question may come twice, if its answer was
/// lost.
pub trait PeerVerb: fmt::Debug + Send + Sync {
    /// Answers; it may wait, for less long than who asks does ([`super::PeerWaits`]).
    ///
    /// # Errors
    /// Why not, which the asker is told.
    fn answer(&self, question: PeerRequest) -> Result<PeerAnswer, Refusal>;
}

/// A question.
#[derive(Debug)]
pub struct PeerRequest {
    /// What it says, as the verb has it.
    pub body: Bytes,
    /// Where it came from.
    pub from: SocketAddr,
}

/// What it is answered with.
#[derive(Debug)]
pub enum PeerAnswer {
    /// All of it.
    Whole(Bytes),
    /// Piece by piece.
    Stream(AnswerStream),
}

type NextPiece = Box<dyn FnMut() -> io::Result<Option<Bytes>> + Send>;

/// An answer that comes piece by piece.
pub struct AnswerStream {
    /// Bytes of all pieces; `None`: nobody knows yet.
    length: Option<u64>,
    next: NextPiece,
}

impl AnswerStream {
    /// An answer of so many bytes, or of nobody knows how many. `next` may wait; `None` ends the
    /// answer, and an error cuts it off, which the asker sees.
    pub fn new(
        length: Option<u64>,
        next: impl FnMut() -> io::Result<Option<Bytes>> + Send + 'static,
    ) -> AnswerStream {
        AnswerStream { length, next: Box::new(next) }
    }
}

impl fmt::Debug for AnswerStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnswerStream").field("length", &self.length).finish_non_exhaustive()
    }
}

/// The verbs that a node knows, by their names.
pub type VerbTable = Vec<(&'static str, Arc<dyn PeerVerb>)>;

/// Answers as long as it is there.
#[derive(Debug)]
pub struct PeerServer {
    /// Taken when it ends.
    runtime: Option<Runtime>,
}

/// What all connections share.
#[derive(Debug)]
struct Shared {
    verbs: VerbTable,
    answering: Semaphore,
}

impl PeerServer {
    /// Answers at a socket that listens, who proves to know the token.
    ///
    /// # Errors
    /// When there are no threads.
    pub fn start(
        listener: TcpListener,
        token: &PeerToken,
        verbs: VerbTable,
    ) -> io::Result<PeerServer> {
        let acceptor = TlsAcceptor::from(TlsIdentity::from_token(token)?.server);
        listener.set_nonblocking(true)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            // Of answers that come piece by piece each piece takes a thread, too.
            .max_blocking_threads(3 * ANSWERS_MOST)
            .thread_name("forebay-peers")
            .enable_all()
            .build()?;
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        let shared = Arc::new(Shared { verbs, answering: Semaphore::new(ANSWERS_MOST) });
        runtime.spawn(accept_connections(listener, acceptor, shared));
        Ok(PeerServer { runtime: Some(runtime) })
    }
}

impl Drop for PeerServer {
    fn drop(&mut self) {
        // An answer that waits for somebody is not waited for.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn accept_connections(
    listener: tokio::net::TcpListener,
    acceptor: TlsAcceptor,
    shared: Arc<Shared>,
) {
    let open = Arc::new(Semaphore::new(CONNECTIONS_MOST));
    loop {
        let Ok(permit) = Arc::clone(&open).acquire_owned().await else { return };
        let (stream, from) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!("a peer's connection can't be accepted: {error}");
                tokio::time::sleep(NO_DESCRIPTORS).await;
                continue;
            }
        };
        let (acceptor, shared) = (acceptor.clone(), Arc::clone(&shared));
        tokio::spawn(async move {
            if let Err(why) = serve_connection(stream, from, acceptor, shared).await {
                tracing::warn!("a connection from {from} ends: {why}");
            }
            drop(permit);
        });
    }
}

async fn serve_connection(
    stream: TcpStream,
    from: SocketAddr,
    acceptor: TlsAcceptor,
    shared: Arc<Shared>,
) -> Result<(), String> {
    // Where the system has no such option, idle connections end them.
    let _ = rustix::net::sockopt::set_tcp_user_timeout(&stream, UNREAD_MS);
    let _ = stream.set_nodelay(true);
    let stream = match timeout(HANDSHAKE, acceptor.accept(stream)).await {
        Ok(accepted) => accepted.map_err(|error| explain_refused_handshake(&error))?,
        Err(_) => return Err(format!("it did not prove itself within {HANDSHAKE:?}")),
    };
    let service = service_fn(move |request: Request<Incoming>| {
        let shared = Arc::clone(&shared);
        async move { Ok::<_, Infallible>(shared.answer_request(request, from).await) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE)
        .max_buf_size(1 << 20)
        .serve_connection(TokioIo::new(stream), service)
        .await;
    // The asker may leave in the middle of an answer, and kept connections end at some time.
    if let Err(error) = served {
        tracing::debug!("a connection from {from} ended: {error}");
    }
    Ok(())
}

fn explain_refused_handshake(error: &io::Error) -> String {
    let said = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match said {
        Some(
            rustls::Error::AlertReceived(
                AlertDescription::BadCertificate
                | AlertDescription::AccessDenied
                | AlertDescription::CertificateUnknown,
            )
            | rustls::Error::InvalidCertificate(_),
        ) => "it has another token".to_owned(),
        Some(rustls::Error::NoApplicationProtocol) => {
            "it speaks another version of the peers' protocol".to_owned()
        }
        _ => format!("it does not prove to be a peer: {error}"),
    }
}

type AnswerBody = UnsyncBoxBody<Bytes, io::Error>;

impl Shared {
    async fn answer_request(
        self: Arc<Self>,
        request: Request<Incoming>,
        from: SocketAddr,
    ) -> Response<AnswerBody> {
        match self.find_answer(request, from).await {
            Ok(PeerAnswer::Whole(bytes)) => Response::new(whole_body(bytes)),
            Ok(PeerAnswer::Stream(stream)) => {
                let length = stream.length;
                let mut response = Response::new(stream_body(stream));
                if let Some(length) = length {
                    response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(length));
                }
                response
            }
            Err(refusal) => {
                tracing::debug!("a question of {from} is refused: {refusal}");
                let mut why = refusal.why;
                why.truncate(why.floor_char_boundary(WORDS_MOST));
                let mut response = Response::new(whole_body(Bytes::from(why)));
                *response.status_mut() = refusal.kind.status();
                response
            }
        }
    }

    async fn find_answer(
        self: &Arc<Self>,
        request: Request<Incoming>,
        from: SocketAddr,
    ) -> Result<PeerAnswer, Refusal> {
        let name = request.uri().path().strip_prefix('/').unwrap_or("").to_owned();
        let known = self.verbs.iter().find(|(known, _)| *known == name);
        let Some((_, verb)) = known.filter(|_| request.method() == Method::POST) else {
            return Err(Refusal::new(RefusalKind::NotServed, "this node knows no such verb"));
        };
        let verb = Arc::clone(verb);
        let question = Limited::new(request.into_body(), QUESTION_MOST).collect();
        let bad = |why: &str| Refusal::new(RefusalKind::BadQuestion, why);
        let body = match timeout(QUESTION, question).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(_)) => return Err(bad("the question is too long, or cut off")),
            Err(_) => return Err(bad("the question did not come")),
        };
        // Who asks waits a little longer.
        let Ok(Ok(_permit)) = timeout(TURN, self.answering.acquire()).await else {
            return Err(Refusal::new(RefusalKind::Busy, "it answers too many questions already"));
        };
        let answer = move || verb.answer(PeerRequest { body, from });
        tokio::task::spawn_blocking(answer).await.unwrap_or_else(|_| {
            Err(Refusal::new(RefusalKind::Failed, "what should answer is gone"))
        })
    }
}

fn whole_body(bytes: Bytes) -> AnswerBody {
    Full::new(bytes).map_err(|never: Infallible| match never {}).boxed_unsync()
}

/// Each piece is made when the asker has taken the one before: who does not read holds no thread.
fn stream_body(stream: AnswerStream) -> AnswerBody {
    let pieces = stream::try_unfold(stream.next, |mut next| async move {
        let made = tokio::task::spawn_blocking(move || (next(), next)).await;
        let (piece, next) = made.map_err(|_| io::Error::other("what should answer is gone"))?;
        Ok::<_, io::Error>(piece?.map(|piece| (Frame::data(piece), next)))
    });
    StreamBody::new(pieces).boxed_unsync()
}
