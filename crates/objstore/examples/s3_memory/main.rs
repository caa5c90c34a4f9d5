//! An S3 server for measurements: objects are in memory, answers come a stated time after their
//! requests, and all are counted. `cargo run --release -p forebay-objstore --example s3_memory --
//! [--listen ADDRESS] [--latency MS] [--rate MB] [--failing PERCENT] [--seed N]`
//!
//! It answers this machine alone unless `--listen` names another of its addresses.
//! `--rate` is what one connection gives in a second, in 10^6 bytes. Of reads of objects, `--failing`
//! of a hundred end before or in the middle of their answers, or get 503; a seed draws the same.
//!
//! It does what an S3 elsewhere does at no cost to this machine as cheaply as it can: it checks no
//! signature and digests no object, bodies are kept as they came, and any bucket is there. (s3s-fs,
//! with which the tests are run, digests a whole object for each part of it that is read.)
//!
//! The first line that it prints has what its users need in their environment. A line `clear`
//! removes all objects; it and any other line are answered by what was counted so far, by kind:
//! requests, bytes received, bytes sent. All is JSON. It ends as its standard input does.

#![allow(clippy::disallowed_methods, clippy::disallowed_macros)] // It prints.

mod answer;
mod manner;
mod objects;

use std::io::{BufRead, Write};
use std::sync::Arc;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::{Request, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use tokio::net::TcpListener;

use manner::Manner;
use objects::Store;

fn main() {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let mut address = String::from("127.0.0.1");
    if let Some(at) = words.iter().position(|word| word == "--listen") {
        words.remove(at);
        address = words.remove(at);
    }
    let manner = Arc::new(Manner::of(words.into_iter()));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let listener = runtime.block_on(TcpListener::bind((address.as_str(), 0))).expect("a port");
    let address = listener.local_addr().expect("an address");
    let store = Arc::new(Store::default());
    runtime.spawn(serve(listener, Arc::clone(&store), manner));
    let mut out = std::io::stdout().lock();
    let mut say = |value: serde_json::Value| {
        // Who does not listen any more has ended.
        let _ = writeln!(out, "{value}").and_then(|()| out.flush());
    };
    say(serde_json::json!({
        "AWS_ENDPOINT_URL": format!("http://{address}"),
        "AWS_ACCESS_KEY_ID": "here",
        "AWS_SECRET_ACCESS_KEY": "here",
        "AWS_REGION": "us-east-1",
    }));
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        if line == "clear" {
            store.clear();
        }
        say(serde_json::json!(store.counted()));
    }
}

async fn serve(listener: TcpListener, store: Arc<Store>, manner: Arc<Manner>) {
    while let Ok((socket, _)) = listener.accept().await {
        let (store, manner) = (Arc::clone(&store), Arc::clone(&manner));
        // Or headers and bodies wait for each other, 40 ms each time.
        let _ = socket.set_nodelay(true);
        tokio::spawn(async move {
            let answer = service_fn(move |request: Request<Incoming>| {
                let (store, manner) = (Arc::clone(&store), Arc::clone(&manner));
                async move {
                    let (head, body) = request.into_parts();
                    let mut frames = body;
                    let mut pieces = Vec::new();
                    while let Some(frame) = frames.frame().await {
                        if let Ok(piece) = frame.map_err(std::io::Error::other)?.into_data() {
                            pieces.push(piece);
                        }
                    }
                    manner.wait().await;
                    let answer = answer::answer(&store, &head, pieces);
                    let gone = || std::io::ErrorKind::ConnectionReset.into();
                    manner.send(&head.method, answer).ok_or_else::<std::io::Error, _>(gone)
                }
            });
            let http = Builder::new(TokioExecutor::new());
            let _ = http.serve_connection(TokioIo::new(socket), answer).await;
        });
    }
}
