//! The book in PostgreSQL. Each call is one statement or one transaction; callers wait, and the
//! runtime of the client stays in here. The tables are drawn in `migrations/`.

mod connections;
mod failures;
mod holds;
mod looks;
mod migrations;
mod nodes;
mod publishing;
mod status;

use tokio::runtime::Runtime;
use tokio_postgres::types::Type;

use super::book::{
    Book, BookStatus, Entry, Look, NodeState, Published, Registration, Taken, Wanted,
};
use super::error::{Error, ErrorKind, Result};
use super::ids::{EntryName, FolderId, InodeBlock, InodeNumber, PeerSecret, VolumeId, VolumeName};
use super::lease::Membership;
use super::publication::Publication;
use super::records::{FileRecord, NodeOffer};
use super::rules::check_block;
use super::url::BookUrl;
use connections::{Connections, DEADLINE, DEADLINE_OF_PUBLICATIONS, in_transaction};
pub use migrations::SCHEMA;

/// Threads that carry requests: the rest is waiting.
const THREADS: usize = 2;

/// A book in a database.
#[derive(Debug)]
pub struct PostgresBook {
    runtime: Runtime,
    connections: Connections,
}

impl PostgresBook {
    /// Opens a book; in a database that has none, its tables are made.
    ///
    /// # Errors
    /// OtherSchema: the tables are of another version. Otherwise those of the database.
    pub fn open(url: &BookUrl) -> Result<PostgresBook> {
        let book = PostgresBook::connect(url)?;
        book.call(async |client| migrations::prepare_schema(client).await)?;
        Ok(book)
    }

    /// Reaches the database, and asks for no tables: for those who only look how it is.
    ///
    /// # Errors
    /// Those of the database.
    pub fn connect(url: &BookUrl) -> Result<PostgresBook> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("forebay-book")
            .enable_all()
            .build()
            .map_err(|error| {
                Error::new(ErrorKind::Unexpected, "no thread can be made", "see ulimit -u")
                    .with_source(error)
            })?;
        let book = PostgresBook { runtime, connections: Connections::new(url)? };
        book.call(async |client| {
            client.simple_query("").await.map(drop).map_err(|error| failures::from_client(&error))
        })?;
        Ok(book)
    }

    /// Brings tables of an older version to this one, while no node uses them.
    ///
    /// # Errors
    /// Busy: nodes are alive. OtherSchema: the tables are newer. Otherwise those of the database.
    pub fn upgrade(&self) -> Result<()> {
        self.call(async |client| migrations::upgrade_schema(client).await)
    }

    /// Makes a database on this server, if it is not there.
    pub(crate) fn make_database(&self, name: &str) -> Result<()> {
        self.call(async |client| {
            let there = "SELECT FROM pg_database WHERE datname = $1";
            if !rows(client, there, &[(&name, Type::TEXT)]).await?.is_empty() {
                return Ok(());
            }
            let text = format!("CREATE DATABASE \"{}\"", name.replace('"', "\"\""));
            client.batch_execute(&text).await.map_err(|error| failures::from_client(&error))
        })
    }

    fn call<T>(&self, work: impl AsyncFn(&tokio_postgres::Client) -> Result<T>) -> Result<T> {
        self.runtime.block_on(self.connections.run(DEADLINE, work))
    }
}

impl Book for PostgresBook {
    fn open_volume(&self, name: &VolumeName) -> Result<VolumeId> {
        self.call(async |client| {
            in_transaction(client, async || nodes::open_volume(client, name).await).await
        })
    }

    fn peer_secret(&self, volume: VolumeId) -> Result<PeerSecret> {
        self.call(async |client| nodes::peer_secret(client, volume).await)
    }

    fn register(&self, volume: VolumeId, offer: &NodeOffer) -> Result<Registration> {
        self.call(async |client| {
            in_transaction(client, async || nodes::register(client, volume, offer).await).await
        })
    }

    fn renew(&self, member: &Membership) -> Result<Vec<Wanted>> {
        self.call(async |client| nodes::renew(client, member).await)
    }

    fn want(&self, member: &Membership, folder: FolderId) -> Result<()> {
        self.call(async |client| holds::want(client, member, folder).await)
    }

    fn leave(&self, member: &Membership) -> Result<()> {
        self.call(async |client| {
            in_transaction(client, async || nodes::leave(client, member).await).await
        })
    }

    fn nodes(&self, volume: VolumeId) -> Result<Vec<NodeState>> {
        self.call(async |client| nodes::states(client, Some(volume)).await)
    }

    fn lend_inodes(&self, member: &Membership, count: u32) -> Result<InodeBlock> {
        check_block(count)?;
        self.call(async |client| {
            in_transaction(client, async || nodes::lend_inodes(client, member, count).await).await
        })
    }

    fn take(&self, member: &Membership, folders: &[FolderId]) -> Result<Taken> {
        self.call(async |client| {
            in_transaction(client, async || holds::take(client, member, folders).await).await
        })
    }

    fn publish(&self, member: &Membership, publication: &Publication) -> Result<Published> {
        let folders = publication.check()?;
        let publish = async |client: &tokio_postgres::Client| {
            in_transaction(client, async || {
                publishing::publish(client, member, publication, &folders).await
            })
            .await
        };
        self.runtime.block_on(self.connections.run(DEADLINE_OF_PUBLICATIONS, publish))
    }

    fn look_up(
        &self,
        volume: VolumeId,
        folder: FolderId,
        name: &EntryName,
    ) -> Result<Look<Option<Entry>>> {
        let look =
            self.call(async |client| looks::look(client, volume, folder, Some(name)).await)?;
        let published = look.published.into_iter().next();
        Ok(Look { holder: look.holder, version: look.version, published })
    }

    fn list(&self, volume: VolumeId, folder: FolderId) -> Result<Look<Vec<Entry>>> {
        self.call(async |client| looks::look(client, volume, folder, None).await)
    }

    fn file(&self, volume: VolumeId, inode: InodeNumber) -> Result<Option<FileRecord>> {
        self.call(async |client| looks::file(client, volume, inode).await)
    }

    fn folders_with(&self, volume: VolumeId, inode: InodeNumber) -> Result<Vec<FolderId>> {
        self.call(async |client| looks::folders_with(client, volume, inode).await)
    }

    fn status(&self) -> Result<BookStatus> {
        self.call(async |client| status::status(client).await)
    }
}

/// A value of a statement and its type in the database: statements are sent with their types in one
/// message, and nothing is prepared, so that a pool of connections between (PgBouncer) may give each
/// transaction another one.
type Value<'a> = (&'a (dyn tokio_postgres::types::ToSql + Sync), Type);

async fn rows(
    client: &tokio_postgres::Client,
    text: &str,
    values: &[Value<'_>],
) -> Result<Vec<tokio_postgres::Row>> {
    client.query_typed(text, values).await.map_err(|error| failures::from_client(&error))
}

async fn change(client: &tokio_postgres::Client, text: &str, values: &[Value<'_>]) -> Result<u64> {
    client.execute_typed(text, values).await.map_err(|error| failures::from_client(&error))
}
