//! Two sides of one machine: what comes, what is refused, and that no peer, whatever it does, is
//! waited for without an end.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use bytes::Bytes;

use super::*;

const TOKEN: &str = "token-of-the-tests-0123456789";

/// Long enough for a busy machine where the answer is to come.
const LONG: Duration = Duration::from_secs(60);
/// For what never comes.
const SHORT: Duration = Duration::from_millis(200);
const WAITS: PeerWaits = PeerWaits { connect: LONG, answer: LONG, piece: LONG, whole: LONG };

fn token(text: &str) -> PeerToken {
    PeerToken::parse(text).expect("a token")
}

fn listen() -> (TcpListener, PeerName) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a socket");
    let at = listener.local_addr().expect("an address").to_string();
    (listener, parse_peers(&at, 1).expect("one").remove(0))
}

fn client(waits: PeerWaits) -> PeerClient {
    PeerClient::new(&token(TOKEN), waits).expect("a client")
}

/// Answers with what was asked, so many times; or as the question wants.
#[derive(Debug, Default)]
struct Echo(AtomicUsize);

impl PeerVerb for Echo {
    fn answer(&self, question: PeerRequest) -> Result<PeerAnswer, Refusal> {
        self.0.fetch_add(1, Relaxed);
        let body = question.body;
        let mut left = 3;
        let pieces = body.clone();
        let stream = move || {
            left -= 1;
            Ok((left >= 0).then(|| pieces.clone()))
        };
        match &body[..] {
            b"refuse" => Err(Refusal::new(RefusalKind::NotHere, "no\u{1b}[31m such part")),
            b"panic" => panic!("a verb that is wrong"),
            b"stream" => Ok(PeerAnswer::Stream(AnswerStream::new(Some(18), stream))),
            b"stream of unknown length" => Ok(PeerAnswer::Stream(AnswerStream::new(None, stream))),
            b"too short" => Ok(PeerAnswer::Stream(AnswerStream::new(Some(100), stream))),
            b"cut off" => {
                let mut first = Some(Bytes::from_static(b"half of it"));
                let next = move || match first.take() {
                    Some(first) => Ok(Some(first)),
                    None => Err(std::io::Error::other("no more")),
                };
                Ok(PeerAnswer::Stream(AnswerStream::new(Some(20), next)))
            }
            _ => Ok(PeerAnswer::Whole(body)),
        }
    }
}

fn serve(listener: TcpListener) -> (PeerServer, Arc<Echo>) {
    let echo = Arc::new(Echo::default());
    let verbs: VerbTable = vec![("echo", Arc::<Echo>::clone(&echo))];
    (PeerServer::start(listener, &token(TOKEN), verbs).expect("a server"), echo)
}

fn ask(client: &PeerClient, peer: &PeerName, words: &str) -> Result<Bytes, PeerError> {
    client.ask_whole(peer, "echo", Bytes::copy_from_slice(words.as_bytes()), 1 << 20)
}

#[test]
fn questions_are_answered_whole_or_piece_by_piece() {
    let (listener, peer) = listen();
    let (_server, _) = serve(listener);
    let client = client(WAITS);
    assert_eq!(ask(&client, &peer, "what?").expect("an answer"), "what?");
    assert_eq!(ask(&client, &peer, "").expect("an answer"), "");
    assert_eq!(ask(&client, &peer, "stream").expect("an answer"), "stream".repeat(3));
    let unknown = "stream of unknown length";
    assert_eq!(ask(&client, &peer, unknown).expect("an answer"), unknown.repeat(3));
    let reply = client.ask(&peer, "echo", Bytes::from_static(b"stream")).expect("it begins");
    assert_eq!(reply.length(), Some(18));
    // Many at a time, each with its own.
    std::thread::scope(|scope| {
        for number in 0..24 {
            let (client, peer) = (&client, &peer);
            scope.spawn(move || {
                for turn in 0..20 {
                    let words = format!("{number} {turn}").repeat(1000);
                    assert_eq!(ask(client, peer, &words).expect("an answer"), words);
                }
            });
        }
    });
}

#[test]
fn refusals_say_what_to_do_and_the_peer_stays_well() {
    let (listener, peer) = listen();
    let (_server, _) = serve(listener);
    let client = client(WAITS);
    let kind = |asked: Result<Bytes, PeerError>| asked.expect_err("it is refused").kind;
    let refused = PeerErrorKind::Refused;
    assert_eq!(kind(ask(&client, &peer, "refuse")), refused(RefusalKind::NotHere));
    assert_eq!(kind(ask(&client, &peer, "panic")), refused(RefusalKind::Failed));
    let verbs = ["", "nothing", "../echo", "echo/", "echo?x"];
    for verb in verbs {
        let asked = client.ask_whole(&peer, verb, Bytes::from_static(b"x"), 10);
        match verb {
            "echo?x" => assert!(asked.is_ok(), "what follows the path is not looked at"),
            _ => assert_eq!(kind(asked), refused(RefusalKind::NotServed), "{verb}"),
        }
    }
    let long = Bytes::from(vec![0; wire::QUESTION_MOST + 1]);
    let asked = client.ask_whole(&peer, "echo", long, 10);
    assert!(asked.is_err(), "no question is so long");
    assert_eq!(ask(&client, &peer, "well?").expect("it is"), "well?");
    assert!(!refused(RefusalKind::Busy).is_the_peers_fault());
}

#[test]
fn answers_that_are_not_whole_are_no_answers() {
    let (listener, peer) = listen();
    let (_server, _) = serve(listener);
    let client = client(WAITS);
    for words in ["cut off", "too short"] {
        let failed = ask(&client, &peer, words).expect_err(words);
        // Its end may come before its beginning was sent: then it is as if nobody were there.
        let begins = match failed.kind {
            PeerErrorKind::Away => format!("peer {peer} can't be reached"),
            _ => format!("peer {peer} cut its answer off"),
        };
        assert!(failed.to_string().starts_with(&begins), "{failed}");
        assert!(matches!(failed.kind, PeerErrorKind::Broken | PeerErrorKind::Away), "{failed}");
    }
    let most = client.ask_whole(&peer, "echo", Bytes::from_static(b"stream"), 17);
    assert_eq!(most.expect_err("it is longer").kind, PeerErrorKind::Broken);
}

#[test]
fn who_has_another_token_is_neither_asked_nor_answered() {
    let (listener, peer) = listen();
    let (_server, echo) = serve(listener);
    let other = token("another-token-of-the-tests-9876543210");
    let stranger = PeerClient::new(&other, WAITS).expect("a client");
    let failed = ask(&stranger, &peer, "let me in").expect_err("it is no peer");
    assert_eq!(failed.kind, PeerErrorKind::Stranger);
    assert_eq!(failed.to_string(), format!("peer {peer} has another token"));
    assert_eq!(echo.0.load(Relaxed), 0);
}

/// A peer of rustls that believes everybody and shows no key, or speaks another version.
fn connect_by_tls(peer: &PeerName, protocol: &[u8], shows_key: bool) -> std::io::Result<Vec<u8>> {
    let tls = identity::TlsIdentity::from_token(&token(TOKEN))?;
    let mut config = (*tls.client).clone();
    config.alpn_protocols = vec![protocol.to_vec()];
    if !shows_key {
        config.client_auth_cert_resolver = Arc::new(ShowsNothing);
    }
    let name = rustls::pki_types::ServerName::try_from("a.b").expect("a name");
    let mut connection =
        rustls::ClientConnection::new(Arc::new(config), name).map_err(std::io::Error::other)?;
    let mut socket = std::net::TcpStream::connect(peer.as_str())?;
    let mut stream = rustls::Stream::new(&mut connection, &mut socket);
    stream.write_all(b"POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\nhi")?;
    let mut answer = vec![0; 1000];
    let came = stream.read(&mut answer)?;
    answer.truncate(came);
    Ok(answer)
}

#[derive(Debug)]
struct ShowsNothing;

impl rustls::client::ResolvesClientCert for ShowsNothing {
    fn resolve(
        &self,
        _: &[&[u8]],
        _: &[rustls::SignatureScheme],
    ) -> Option<Arc<rustls::sign::CertifiedKey>> {
        None
    }

    fn only_raw_public_keys(&self) -> bool {
        true
    }

    fn has_certs(&self) -> bool {
        false
    }
}

#[test]
fn who_proves_nothing_or_speaks_another_version_is_not_answered() {
    let (listener, peer) = listen();
    let (_server, echo) = serve(listener);
    assert!(connect_by_tls(&peer, wire::PROTOCOL, true).is_ok_and(|answer| !answer.is_empty()));
    assert_eq!(echo.0.swap(0, Relaxed), 1);
    for (protocol, shows_key) in [(wire::PROTOCOL, false), (b"forebay-peer/2", true)] {
        let asked = connect_by_tls(&peer, protocol, shows_key);
        assert!(asked.as_ref().is_err() || asked.is_ok_and(|answer| answer.is_empty()));
    }
    // Without TLS.
    let mut socket = std::net::TcpStream::connect(peer.as_str()).expect("it listens");
    let asked = socket.write_all(b"POST /echo HTTP/1.1\r\nhost: a\r\n\r\n");
    let mut answer = Vec::new();
    assert!(
        asked.is_err() || socket.read_to_end(&mut answer).is_err() || !answer.starts_with(b"HTTP")
    );
    assert_eq!(echo.0.load(Relaxed), 0);
}

#[test]
fn a_peer_that_accepts_and_says_nothing_is_left() {
    let (_listener, peer) = listen();
    let client = client(PeerWaits { connect: SHORT, ..WAITS });
    let failed = ask(&client, &peer, "anybody?").expect_err("nobody answers");
    assert_eq!(failed.kind, PeerErrorKind::Away);
    assert_eq!(failed.to_string(), format!("peer {peer} can't be reached within 200ms"));
}

/// Answers when it is told to.
#[derive(Debug)]
struct Slow {
    before_answer: Duration,
    before_piece: Duration,
}

impl PeerVerb for Slow {
    fn answer(&self, _: PeerRequest) -> Result<PeerAnswer, Refusal> {
        std::thread::sleep(self.before_answer);
        let (pause, mut first) = (self.before_piece, true);
        Ok(PeerAnswer::Stream(AnswerStream::new(None, move || {
            if !std::mem::take(&mut first) {
                std::thread::sleep(pause);
            }
            Ok(Some(Bytes::from_static(b".")))
        })))
    }
}

#[test]
fn a_peer_that_is_slow_and_not_dead_is_left_in_each_of_its_ways() {
    let none = Duration::ZERO;
    let cases = [
        (LONG, none, PeerWaits { answer: SHORT, ..WAITS }, "did not answer for 200ms"),
        (none, LONG, PeerWaits { piece: SHORT, ..WAITS }, "sent nothing for 200ms"),
        (
            none,
            Duration::from_millis(1),
            PeerWaits { whole: SHORT, ..WAITS },
            "took longer than 200ms for one answer",
        ),
    ];
    for (before_answer, before_piece, waits, why) in cases {
        let (listener, peer) = listen();
        let verb = Slow { before_answer, before_piece };
        let verbs: VerbTable = vec![("echo", Arc::new(verb))];
        let _server = PeerServer::start(listener, &token(TOKEN), verbs).expect("a server");
        let failed = ask(&client(waits), &peer, "hurry").expect_err("it is slow");
        assert_eq!(failed.to_string(), format!("peer {peer} {why}"));
        assert_eq!(failed.kind, PeerErrorKind::Away);
    }
}

#[test]
fn a_peer_that_was_started_anew_is_asked_by_a_new_connection() {
    let (listener, peer) = listen();
    let again = listener.try_clone().expect("the same socket");
    let (server, _) = serve(listener);
    let client = client(WAITS);
    assert_eq!(ask(&client, &peer, "one").expect("an answer"), "one");
    drop(server);
    let (_server, echo) = serve(again);
    assert_eq!(ask(&client, &peer, "two").expect("an answer"), "two");
    assert_eq!(echo.0.load(Relaxed), 1);
}

#[test]
fn who_is_not_there_is_named() {
    let (listener, peer) = listen();
    drop(listener);
    let failed = ask(&client(WAITS), &peer, "hello").expect_err("nobody listens");
    assert_eq!(failed.kind, PeerErrorKind::Away);
    assert!(failed.to_string().contains("Connection refused"), "{failed}");
    let nowhere = parse_peers("no-such-host.invalid", 1).expect("a name").remove(0);
    let failed = ask(&client(WAITS), &nowhere, "hello").expect_err("there is no such host");
    assert_eq!(failed.kind, PeerErrorKind::Away, "{failed}");
}

#[test]
fn something_else_that_listens_is_a_stranger() {
    let (listener, peer) = listen();
    let other = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().expect("a connection");
        let mut hello = [0; 100];
        socket.read_exact(&mut hello).expect("a hello");
        socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").expect("it is told");
    });
    let failed = ask(&client(WAITS), &peer, "hello").expect_err("it is no peer");
    assert_eq!(failed.kind, PeerErrorKind::Stranger, "{failed}");
    other.join().expect("it answered");
}
