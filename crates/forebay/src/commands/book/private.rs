//! A private PostgreSQL: made, started, stopped.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use forebay_book::{
    Book, BookUrl, Owner, PasswordSources, PostgresBook, PrivateServer, ServerState,
};

use super::refused;
use crate::console;
use crate::exit::CommandError;

#[derive(Debug, clap::Args)]
pub(super) struct Start {
    /// Where other nodes reach it, such as 10.0.0.5:5432; without, what was said the last time, else
    /// this machine alone, by a socket in DIR
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Its folder, on a local disk; made if it is not there
    dir: PathBuf,
}

#[derive(Debug, clap::Args)]
pub(super) struct Stop {
    /// Although nodes use it; they wait until it is back, for as long as their leases last
    #[arg(long)]
    force: bool,
    /// Its folder
    dir: PathBuf,
}

pub(super) fn start(args: &Start) -> Result<i32, CommandError> {
    // The database must not keep somebody's pipe open, or a lock.
    // SAFETY: nothing here owns one of these yet.
    unsafe { forebay_os::descriptors::close_descriptor_range(3, libc::c_uint::MAX) };
    let server = server_at(&args.dir)?;
    let running = server.state().map_err(refused)? == ServerState::Running;
    let owner = server.start(args.listen).map_err(refused)?;
    let (local, remote) = server.urls().map_err(refused)?;
    let word = if running { "runs already" } else { "runs" };
    let whom = match &owner {
        Owner::Caller => String::new(),
        Owner::User { name, .. } => {
            format!(" as user {name} (PostgreSQL does not run as root), who owns the folder")
        }
    };
    console::note(&format!("the book in {} {word}{whom}", args.dir.display()));
    console::print(&format!("{}\n", remote.as_ref().unwrap_or(&local)));
    match &remote {
        Some(_) => console::note(&format!(
            "other nodes need a copy of {}, mode 0600, and its path behind passfile=",
            server.passfile().display()
        )),
        None => console::note("no other machine reaches it; --listen ADDRESS:PORT lets them"),
    }
    Ok(0)
}

pub(super) fn stop(args: &Stop) -> Result<i32, CommandError> {
    let server = server_at(&args.dir)?;
    if !args.force && server.state().map_err(refused)? == ServerState::Running {
        // One that can't be asked has to be stopped all the same.
        let asked = url_of(&args.dir).ok().and_then(|url| PostgresBook::connect(&url).ok());
        let status = asked.and_then(|book| book.status().ok());
        let nodes = status.map(|status| status.nodes).unwrap_or_default();
        let alive: Vec<String> = nodes
            .into_iter()
            .filter(|node| node.lease_left.is_some())
            .map(|node| node.name)
            .collect();
        if !alive.is_empty() {
            return Err(CommandError::new(
                1,
                format!("the book in {} is used by {}", args.dir.display(), alive.join(", ")),
                "unmount there first; --force stops it all the same",
            ));
        }
    }
    let word = if server.stop().map_err(refused)? { "is stopped" } else { "did not run" };
    console::note(&format!("the book in {} {word}", args.dir.display()));
    Ok(0)
}

/// The URL of the one in a folder, by its socket.
pub(super) fn url_of(dir: &Path) -> Result<BookUrl, CommandError> {
    let server = server_at(dir)?;
    if server.state().map_err(refused)? == ServerState::Missing {
        return Err(CommandError::new(
            1,
            format!("{}: there is no book here", dir.display()),
            "name the folder that was given to forebay book start, or postgres://...",
        ));
    }
    let (local, _) = server.urls().map_err(refused)?;
    BookUrl::parse(&local, &PasswordSources::default()).map_err(refused)
}

fn server_at(dir: &Path) -> Result<PrivateServer, CommandError> {
    let search = std::env::var_os("PATH").unwrap_or_default();
    PrivateServer::at(dir, &search).map_err(refused)
}
