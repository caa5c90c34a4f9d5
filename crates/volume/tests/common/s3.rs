//! A bucket on this machine, served by the test itself: each request takes as long as one wants, and
//! goes wrong as often as one wants, in the way that one wants.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s_fs::FileSystem;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

#[path = "faults.rs"]
pub(crate) mod faults;

use faults::{Fault, Faults};

/// The key of who may use it.
const KEY: (&str, &str) = ("FOREBAYTESTKEY", "a secret that nobody prints");

/// Serves directories of a folder as buckets for as long as it lives.
#[derive(Debug)]
pub(crate) struct Server {
    address: SocketAddr,
    requests: Arc<AtomicU64>,
    _runtime: Runtime,
}

impl Server {
    /// Starts one whose answers are so late.
    pub(crate) fn start(folder: &Path, late: Duration) -> Server {
        Server::with(folder, late, None)
    }

    /// Starts one with which one request in ten goes wrong in this way.
    #[allow(dead_code, reason = "not every test has faults")]
    pub(crate) fn faulty(folder: &Path, fault: Fault, seed: u64) -> Server {
        Server::with(folder, Duration::ZERO, Some(Faults::new(fault, seed)))
    }

    fn with(folder: &Path, late: Duration, faults: Option<Faults>) -> Server {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime");
        let mut service = S3ServiceBuilder::new(FileSystem::new(folder).expect("a folder"));
        service.set_auth(SimpleAuth::from_single(KEY.0, KEY.1));
        let service = service.build();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
        let address = listener.local_addr().expect("an address");
        let requests = Arc::new(AtomicU64::new(0));
        runtime.spawn(serve(listener, service, Arc::clone(&requests), late, faults.map(Arc::new)));
        Server { address, requests, _runtime: runtime }
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
    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Relaxed)
    }
}

async fn serve(
    listener: TcpListener,
    service: S3Service,
    requests: Arc<AtomicU64>,
    late: Duration,
    faults: Option<Arc<Faults>>,
) {
    while let Ok((socket, _)) = listener.accept().await {
        let (service, requests, faults) = (service.clone(), Arc::clone(&requests), faults.clone());
        // Or headers and bodies wait for each other, 40 ms each time.
        let _ = socket.set_nodelay(true);
        tokio::spawn(async move {
            let answer = service_fn(move |request| {
                requests.fetch_add(1, Relaxed);
                let (service, faults) = (service.clone(), faults.clone());
                async move {
                    tokio::time::sleep(late).await;
                    faults::answer(&service, faults.as_deref(), request).await
                }
            });
            let http = Builder::new(TokioExecutor::new());
            let _ = http.serve_connection(TokioIo::new(socket), answer).await;
        });
    }
}
