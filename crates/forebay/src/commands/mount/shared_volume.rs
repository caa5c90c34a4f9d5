//! A volume that several nodes write: its book, and where this node answers the others.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use forebay_model::ByteCount;
use forebay_os::file_systems::file_system_kind;
use forebay_peers::DEFAULT_PORT;
use forebay_volume::bucket::directory_name_for;
use forebay_volume::shared_volume::{LongFiles, SharedError, SharedOptions};

use super::super::book::named_book;
use super::bucket_volume::{Options as BucketOptions, as_bucket_url};
use crate::exit::{CommandError, NOTHING_RUN};
use crate::next_steps::bucket_next_step;
use crate::{console, placement, state_directories};

/// After 15 s others may take the folders of a node that is gone: who gives up before fails for each.
const SHORTEST_PATIENCE: Duration = Duration::from_secs(20);

/// Options of a volume that several nodes write.
#[derive(Debug, Default, clap::Args)]
pub(in crate::commands) struct Options {
    /// Mount a volume that several nodes write at the same time: its names are in this book, a
    /// PostgreSQL database or the folder of a private one (`forebay book`). Long files go to
    /// VOLUME after they were closed: a bucket, or a directory that all nodes have
    #[arg(long, value_name = "URL|DIR", requires = "listen", help_heading = "Shared volumes",
        conflicts_with_all = ["read_only", "take_over", "rules", "site", "peers", "output",
            "emulate"])]
    book: Option<String>,
    /// Where the other nodes of a shared volume reach this one, such as 10.0.0.7 or 10.0.0.7:7420;
    /// with 0.0.0.0 they use the name of this host
    #[arg(long, value_name = "ADDRESS", requires = "book", help_heading = "Shared volumes")]
    listen: Option<String>,
}

impl Options {
    /// The volume that is to be shared, if it is.
    pub(super) fn into_options(
        self,
        (volume, point): (&Path, &Path),
        state: Option<&Path>,
        bucket: &BucketOptions,
    ) -> Result<Option<SharedOptions>, CommandError> {
        let Some(book) = self.book else { return Ok(None) };
        let long_files = match as_bucket_url(volume) {
            Some(url) => {
                LongFiles::Bucket { url: url.to_owned(), settings: placement::bucket_settings() }
            }
            None => LongFiles::Directory(shared_directory(volume, point)?),
        };
        let patience = bucket.patience().map(Duration::from);
        if patience.is_some_and(|patience| patience < SHORTEST_PATIENCE) {
            let what = format!("--patience of less than {} s", SHORTEST_PATIENCE.as_secs());
            let next = "a node that is gone is waited for so long before others take its folders; \
                        nothing was mounted";
            return Err(CommandError::new(NOTHING_RUN, what, next));
        }
        let listen = parse_listen(self.listen.as_deref().unwrap_or_default())?;
        let host = match listen.ip() {
            ip if ip.is_unspecified() => {
                rustix::system::uname().nodename().to_string_lossy().into_owned()
            }
            IpAddr::V6(ip) => format!("[{ip}]"),
            IpAddr::V4(ip) => ip.to_string(),
        };
        let state = match state {
            Some(state) => std::path::absolute(state).unwrap_or(state.to_owned()),
            None => {
                let name = directory_name_for(&long_files.shown());
                state_directories::state_file(&format!("shared/{name}"))?
            }
        };
        Ok(Some(SharedOptions {
            long_files,
            state,
            book: named_book(&book)?,
            listen,
            space: bucket.space().map(ByteCount::get),
            syncs_to_bucket: bucket.syncs_to_bucket(),
            patience,
            address: format!("{host}:{}", listen.port()),
        }))
    }
}

/// The directory that is to keep long files, if that can be.
fn shared_directory(volume: &Path, point: &Path) -> Result<PathBuf, CommandError> {
    let refuse = |why: &str| {
        let what = format!("{}: {why}", volume.display());
        let next = "name a directory that all nodes have (NFS, Lustre, EFS), or s3://BUCKET/PREFIX; \
                    nothing was mounted";
        CommandError::new(NOTHING_RUN, what, next)
    };
    let found = volume.canonicalize().map_err(|error| refuse(&error.to_string()))?;
    if point.starts_with(&found) {
        return Err(refuse("it keeps the volume's long files, and can't have its mount in it"));
    }
    let kind = std::fs::File::open(&found).and_then(|open| file_system_kind(&open));
    let kind = kind.map_err(|error| refuse(&error.to_string()))?;
    if kind.local {
        console::note(&format!(
            "{} is on {}, which no other machine has: nodes elsewhere can't join",
            volume.display(),
            kind.name
        ));
    }
    Ok(found)
}

/// `ADDRESS:PORT`, or an address alone.
fn parse_listen(text: &str) -> Result<SocketAddr, CommandError> {
    let address = text.parse::<SocketAddr>().ok().filter(|address| address.port() != 0);
    let alone = || Some(SocketAddr::new(text.parse::<IpAddr>().ok()?, DEFAULT_PORT));
    address.or_else(alone).ok_or_else(|| {
        let what = format!("--listen {text}: no address of a machine");
        let next = "0.0.0.0:7420 is all addresses of this one; nothing was mounted";
        CommandError::new(NOTHING_RUN, what, next)
    })
}

/// Why it can't be mounted, in words.
pub(super) fn explain_shared_error(volume: &Path, trouble: &SharedError) -> CommandError {
    let next = match trouble {
        SharedError::Bucket(failed) => bucket_next_step(failed).to_owned(),
        SharedError::Book(error) => error.next.clone(),
        SharedError::State(_, error) if error.kind() == ErrorKind::ResourceBusy => {
            "it is mounted on this machine already; a second node here takes a --state of its own"
                .to_owned()
        }
        SharedError::State(..) => "name another directory with --state".to_owned(),
        SharedError::Directory(..) => {
            "name a directory that you may write, on this node and on all others".to_owned()
        }
        SharedError::Listen(..) => {
            "name an address of this machine at which nothing listens".to_owned()
        }
        SharedError::Foreign(_) => {
            "name a prefix or directory that has nothing yet; a volume of one writer can't be shared"
                .to_owned()
        }
    };
    let what = format!("{} can't be mounted: {trouble}", volume.display());
    CommandError::new(NOTHING_RUN, what, format!("{next}; nothing was mounted"))
}
