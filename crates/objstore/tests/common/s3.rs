//! A bucket on this machine, served by the test itself: each request takes as long as one wants, and
//! goes wrong as often as one wants, in the way that one wants.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::header::{CONTENT_LENGTH, HeaderMap, IF_NONE_MATCH};
use hyper::service::service_fn;
use hyper::{Method, Request, body::Incoming};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s_fs::FileSystem;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

#[path = "faults.rs"]
pub(crate) mod faults;

use faults::{Fault, Faults, Refusal};

/// The key of who may use it.
const KEY: (&str, &str) = ("FOREBAYTESTKEY", "a secret that nobody prints");

/// Serves directories of a folder as buckets for as long as it lives.
#[derive(Debug)]
pub(crate) struct Server {
    address: SocketAddr,
    tally: Arc<Tally>,
    refusal: Arc<Mutex<Option<Refusal>>>,
    _runtime: Runtime,
}

/// Requests that came, whatever became of them.
#[derive(Debug, Default)]
pub(crate) struct Tally(Mutex<BTreeMap<&'static str, Counts>>);

/// Of one kind: requests, and bytes of their bodies and of the answers'.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Counts {
    pub(crate) requests: u64,
    #[allow(dead_code, reason = "told by the example")]
    pub(crate) received: u64,
    #[allow(dead_code, reason = "told by the example")]
    pub(crate) sent: u64,
}

impl Tally {
    fn note(&self, kind: &'static str, change: impl FnOnce(&mut Counts)) {
        change(self.0.lock().expect("no panic").entry(kind).or_default());
    }

    /// By what S3's price list calls them.
    pub(crate) fn kinds(&self) -> BTreeMap<&'static str, Counts> {
        self.0.lock().expect("no panic").clone()
    }
}

impl Server {
    /// Starts one whose answers are so late.
    #[allow(dead_code, reason = "not for the example")]
    pub(crate) fn start(folder: &Path, late: Duration) -> Server {
        Server::with("127.0.0.1", folder, late, None)
    }

    /// Starts one that answers at an address of this machine, for other networks on it.
    #[allow(dead_code, reason = "for the example")]
    pub(crate) fn start_at(address: &str, folder: &Path, late: Duration) -> Server {
        Server::with(address, folder, late, None)
    }

    /// Starts one with which one request in ten goes wrong in this way.
    #[allow(dead_code, reason = "not every test has faults")]
    pub(crate) fn faulty(folder: &Path, fault: Fault, seed: u64) -> Server {
        Server::with("127.0.0.1", folder, Duration::ZERO, Some(Faults::new(fault, seed)))
    }

    fn with(address: &str, folder: &Path, late: Duration, faults: Option<Faults>) -> Server {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime");
        let mut service = S3ServiceBuilder::new(FileSystem::new(folder).expect("a folder"));
        service.set_auth(SimpleAuth::from_single(KEY.0, KEY.1));
        let service = service.build();
        let listener = runtime.block_on(TcpListener::bind((address, 0))).expect("a port");
        let address = listener.local_addr().expect("an address");
        let tally = Arc::new(Tally::default());
        let refusal = Arc::<Mutex<_>>::default();
        let (folder, faults) = (folder.to_owned(), faults.map(Arc::new));
        let manner = Manner { folder, late, faults, refusal: Arc::clone(&refusal) };
        runtime.spawn(serve(listener, service, Arc::clone(&tally), manner));
        Server { address, tally, refusal, _runtime: runtime }
    }

    /// From now on it refuses requests, or none.
    #[allow(dead_code, reason = "not every test has outages")]
    pub(crate) fn refuse(&self, refusal: Option<Refusal>) {
        *self.refusal.lock().expect("no panic") = refusal;
    }

    /// What its users have in their environment.
    pub(crate) fn settings(&self) -> Vec<(String, String)> {
        let settings = [
            ("AWS_ENDPOINT_URL", format!("http://{}", self.address)),
            ("AWS_ACCESS_KEY_ID", KEY.0.to_owned()),
            ("AWS_SECRET_ACCESS_KEY", KEY.1.to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
        ];
        settings.map(|(name, value)| (name.to_owned(), value)).to_vec()
    }

    /// Requests so far.
    #[allow(dead_code, reason = "the example tells them by kind")]
    pub(crate) fn requests(&self) -> u64 {
        self.tally.kinds().values().map(|counts| counts.requests).sum()
    }

    /// By kind.
    #[allow(dead_code, reason = "told by the example")]
    pub(crate) fn tally(&self) -> BTreeMap<&'static str, Counts> {
        self.tally.kinds()
    }
}

/// How it treats requests.
#[derive(Debug, Clone)]
struct Manner {
    folder: PathBuf,
    late: Duration,
    faults: Option<Arc<Faults>>,
    refusal: Arc<Mutex<Option<Refusal>>>,
}

async fn serve(listener: TcpListener, service: S3Service, tally: Arc<Tally>, manner: Manner) {
    while let Ok((socket, _)) = listener.accept().await {
        let refusal = *manner.refusal.lock().expect("no panic");
        if refusal == Some(Refusal::Away) {
            continue;
        }
        let (service, tally, manner) = (service.clone(), Arc::clone(&tally), manner.clone());
        // Or headers and bodies wait for each other, 40 ms each time.
        let _ = socket.set_nodelay(true);
        tokio::spawn(async move {
            let answer = service_fn(move |request: Request<Incoming>| {
                let (service, tally, manner) =
                    (service.clone(), Arc::clone(&tally), manner.clone());
                let (kind, received) = (kind_of(&request), length_of(request.headers()));
                tally.note(kind, |counts| {
                    counts.requests += 1;
                    counts.received += received;
                });
                async move {
                    let refusal = *manner.refusal.lock().expect("no panic");
                    if let Some(refused) = refusal.and_then(|refusal| refusal.answer(&request)) {
                        return refused;
                    }
                    if refusal == Some(Refusal::Conditions)
                        && request.headers().contains_key(IF_NONE_MATCH)
                    {
                        // The condition is signed, so what it asks for is made true.
                        let object = manner.folder.join(request.uri().path().trim_matches('/'));
                        let _ = std::fs::remove_file(object);
                    }
                    tokio::time::sleep(manner.late).await;
                    let faults = manner.faults.as_deref();
                    let answer = faults::answer(&service, faults, request).await?;
                    let sent = length_of(answer.headers());
                    tally.note(kind, |counts| counts.sent += sent);
                    Ok::<_, std::io::Error>(answer)
                }
            });
            let http = Builder::new(TokioExecutor::new());
            let _ = http.serve_connection(TokioIo::new(socket), answer).await;
        });
    }
}

fn kind_of(request: &Request<Incoming>) -> &'static str {
    let is_object = request.uri().path().trim_matches('/').contains('/');
    match *request.method() {
        Method::PUT if request.headers().contains_key("x-amz-copy-source") => "COPY",
        Method::PUT => "PUT",
        Method::POST => "POST",
        Method::HEAD => "HEAD",
        Method::DELETE => "DELETE",
        Method::GET if is_object => "GET",
        _ => "LIST",
    }
}

fn length_of(headers: &HeaderMap) -> u64 {
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    length.and_then(|length| length.parse().ok()).unwrap_or(0)
}
