//! A volume that several nodes write: its book, and where this node answers the others.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use forebay_model::ByteCount;
use forebay_peers::DEFAULT_PORT;
use forebay_volume::bucket::directory_name_for;
use forebay_volume::shared_volume::{SharedError, SharedOptions};

use super::super::book::named_book;
use crate::exit::{CommandError, NOTHING_RUN};
use crate::next_steps::bucket_next_step;
use crate::{placement, state_directories};

/// Options of a volume that several nodes write.
#[derive(Debug, Default, clap::Args)]
pub(in crate::commands) struct Options {
    /// Mount a volume that several nodes write at the same time: its names are in this book, a
    /// PostgreSQL database or the folder of a private one (`forebay book`). Long files go to
    /// the bucket after they were closed
    #[arg(long, value_name = "URL|DIR", requires = "listen", help_heading = "Shared volumes",
        conflicts_with_all = ["read_only", "take_over", "durable", "patience", "rules", "site",
            "peers", "output", "emulate"])]
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
        url: Option<&str>,
        state: Option<&Path>,
        space: Option<ByteCount>,
    ) -> Result<Option<SharedOptions>, CommandError> {
        let Some(book) = self.book else { return Ok(None) };
        let Some(url) = url else {
            let what = "--book is for volumes that are called s3://BUCKET/PREFIX";
            let next =
                "name one; a directory is shared by its own file system; nothing was mounted";
            return Err(CommandError::new(NOTHING_RUN, what, next));
        };
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
            None => state_directories::state_file(&format!("shared/{}", directory_name_for(url)))?,
        };
        Ok(Some(SharedOptions {
            url: url.to_owned(),
            settings: placement::bucket_settings(),
            state,
            book: named_book(&book)?,
            listen,
            space: space.map(ByteCount::get),
            address: format!("{host}:{}", listen.port()),
        }))
    }
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
pub(super) fn explain_shared_error(url: &str, trouble: &SharedError) -> CommandError {
    let next = match trouble {
        SharedError::Bucket(failed) => bucket_next_step(failed).to_owned(),
        SharedError::Book(error) => error.next.clone(),
        SharedError::State(_, error) if error.kind() == ErrorKind::ResourceBusy => {
            "it is mounted on this machine already; a second node here takes a --state of its own"
                .to_owned()
        }
        SharedError::State(..) => "name another directory with --state".to_owned(),
        SharedError::Listen(..) => {
            "name an address of this machine at which nothing listens".to_owned()
        }
        SharedError::Foreign(_) => {
            "name a prefix that has nothing yet; one with a volume of one writer can't be shared"
                .to_owned()
        }
    };
    let what = format!("{url} can't be mounted: {trouble}");
    CommandError::new(NOTHING_RUN, what, format!("{next}; nothing was mounted"))
}
