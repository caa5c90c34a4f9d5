//! Connections to the database: a few, made when they are needed, and thrown away as soon as anything
//! about them is in doubt. A call has a deadline, so that a database that neither answers nor refuses
//! holds nobody for longer.
//!
//! Rejected: `deadpool`, which would recycle what we throw away, for more code than this.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio::sync::Semaphore;
use tokio_postgres::{Client, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::failures;
use crate::error::{Error, ErrorKind, Result};
use crate::url::{BookUrl, TlsRoots};

/// Connections of one node at a time.
const CONNECTIONS: usize = 8;
/// A call takes no longer, waiting for a connection included.
pub(super) const DEADLINE: Duration = Duration::from_secs(10);
/// The same of a publication. What the database has not ended by then it undoes.
pub(super) const DEADLINE_OF_PUBLICATIONS: Duration = Duration::from_secs(30);
/// Reaching the database takes no longer.
const CONNECT: Duration = Duration::from_secs(4);
/// A database that says nothing for so long while something was sent is gone.
const SILENCE: Duration = Duration::from_secs(8);
/// How often a transaction is tried that others' made fail (deadlock).
const TRIES: usize = 4;

/// Those of one book.
pub(super) struct Connections {
    config: tokio_postgres::Config,
    tls: Option<MakeRustlsConnect>,
    shown: String,
    idle: Mutex<Vec<Client>>,
    room: Semaphore,
}

impl fmt::Debug for Connections {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "Connections({}, {} idle)", self.shown, self.idle.lock().len())
    }
}

impl Connections {
    pub(super) fn new(url: &BookUrl) -> Result<Connections> {
        let mut config = url.config.clone();
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT);
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(SILENCE);
        }
        config.keepalives_idle(SILENCE);
        let tls = url.tls.as_ref().map(|roots| tls_connector(url, roots)).transpose()?;
        let (idle, room) = (Mutex::default(), Semaphore::new(CONNECTIONS));
        Ok(Connections { config, tls, shown: url.to_string(), idle, room })
    }

    /// Does something with a connection. What was under way when a connection broke is tried once
    /// more if that connection had been idle before: databases close those without a word.
    pub(super) async fn run<T>(
        &self,
        deadline: Duration,
        work: impl AsyncFn(&Client) -> Result<T>,
    ) -> Result<T> {
        let done = tokio::time::timeout(deadline, self.run_without_deadline(work)).await;
        let late = || {
            Err(Error::new(
                ErrorKind::Unreachable,
                format!("no answer within {} s", deadline.as_secs()),
                "look whether the database is overloaded, or the network is cut",
            ))
        };
        done.unwrap_or_else(|_| late()).map_err(|mut error| {
            error.message = format!("book {}: {}", self.shown, error.message);
            error
        })
    }

    async fn run_without_deadline<T>(&self, work: impl AsyncFn(&Client) -> Result<T>) -> Result<T> {
        let _room = self.room.acquire().await.expect("it is never closed");
        let mut tries = 0;
        loop {
            tries += 1;
            let idle = self.take_idle();
            let reused = idle.is_some();
            let client = match idle {
                Some(client) => client,
                None => self.connect().await?,
            };
            let result = work(&client).await;
            let broken = client.is_closed();
            match &result {
                Err(error) if error.kind == ErrorKind::Unreachable || broken => {
                    // The others that were idle have the same fate.
                    self.idle.lock().clear();
                    if reused && tries < TRIES {
                        continue;
                    }
                }
                Err(error) if failures::is_worth_another_try(error) && tries < TRIES => {
                    self.idle.lock().push(client);
                    continue;
                }
                _ => self.idle.lock().push(client),
            }
            return result;
        }
    }

    fn take_idle(&self) -> Option<Client> {
        let mut idle = self.idle.lock();
        idle.retain(|client| !client.is_closed());
        idle.pop()
    }

    async fn connect(&self) -> Result<Client> {
        let said = |error: tokio_postgres::Error| failures::from_connecting(&error);
        let client = match &self.tls {
            Some(tls) => {
                let (client, connection) = self.config.connect(tls.clone()).await.map_err(said)?;
                tokio::spawn(async move { note_end(connection.await) });
                client
            }
            None => {
                let (client, connection) = self.config.connect(NoTls).await.map_err(said)?;
                tokio::spawn(async move { note_end(connection.await) });
                client
            }
        };
        // What one node has shown to others must outlive the database's own crash.
        let safe = "SELECT set_config('synchronous_commit', 'on', false) \
                    WHERE current_setting('synchronous_commit') = 'off'";
        client.simple_query(safe).await.map_err(|error| failures::from_client(&error))?;
        Ok(client)
    }
}

fn note_end(end: std::result::Result<(), tokio_postgres::Error>) {
    if let Err(error) = end {
        tracing::debug!("a connection to the book ended: {error}");
    }
}

/// A transaction: what `work` says counts only if the commit is answered. After an error the
/// connection is out of the transaction again, or closed.
pub(super) async fn in_transaction<T>(
    client: &Client,
    work: impl AsyncFnOnce() -> Result<T>,
) -> Result<T> {
    let send = async |text| {
        client.batch_execute(text).await.map_err(|error| failures::from_client(&error))
    };
    // All statements find rows by their keys. Where the database has not counted its rows lately, it
    // takes tables for small, and would read them whole each time.
    send(
        "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = '5s'; \
         SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; \
         SET LOCAL enable_mergejoin = off; SET LOCAL jit = off",
    )
    .await?;
    match work().await {
        Ok(done) => send("COMMIT").await.map(|()| done),
        Err(error) => match send("ROLLBACK").await {
            Ok(()) => Err(error),
            // A connection of which nobody knows what it is in is not used again.
            Err(lost) => Err(if error.kind == ErrorKind::Unreachable { error } else { lost }),
        },
    }
}

fn tls_connector(url: &BookUrl, roots: &TlsRoots) -> Result<MakeRustlsConnect> {
    let refused = |why: String| {
        let next = "name the file that has the certificate of the database's authority: \
                    sslrootcert=FILE";
        Error::new(ErrorKind::Refused, format!("book {url}: {why}"), next)
    };
    let mut store = rustls::RootCertStore::empty();
    match roots {
        TlsRoots::System => {
            let found = rustls_native_certs::load_native_certs();
            store.add_parsable_certificates(found.certs);
            if store.is_empty() {
                let why =
                    found.errors.first().map_or("there are none".to_owned(), |e| e.to_string());
                return Err(refused(format!("certificates of the system: {why}")));
            }
        }
        TlsRoots::File(file) => {
            let said = |error: &dyn fmt::Display| refused(format!("{}: {error}", file.display()));
            for certificate in CertificateDer::pem_file_iter(file).map_err(|e| said(&e))? {
                store.add(certificate.map_err(|e| said(&e))?).map_err(|e| said(&e))?;
            }
            if store.is_empty() {
                return Err(said(&"it has no certificate"));
            }
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring has what TLS 1.2 and 1.3 need")
        .with_root_certificates(store)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}
