//! `forebay book`: the database in which several nodes keep the names of a volume.

mod private;
mod report;

use std::path::PathBuf;

use forebay_book::{Book, BookUrl, Error, PasswordSources, PostgresBook};

use crate::console;
use crate::exit::{CommandError, WRONG_USAGE};

/// Options of `forebay book`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    forebay book start --listen 10.0.0.5:5432 /data/book    a private PostgreSQL, without root\n  \
    forebay book status 'postgres://forebay@10.0.0.5/forebay?passfile=/home/ada/book.pass'\n  \
    forebay book status --json /data/book                   a private one, by its folder\n  \
    forebay book stop /data/book\n\n\
    A book is a PostgreSQL database in which the nodes of a cluster find each other. A team that has \
    a database names it: postgres://USER@HOST/DATABASE; the tables are made when they are needed. \
    A team that has none starts a private one from the binaries of this machine. The password comes \
    from PGPASSWORD, from ?passfile=FILE (libpq's format, mode 0600) or ~/.pgpass, never from the \
    command line.\n\n\
    Exit codes: 0; 1 it could not be done, and nothing was changed, or `status` found the book not \
    usable; 2 wrong usage.")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Make a private PostgreSQL in a folder, if it is not there, and start it
    Start(private::Start),
    /// Say how a book is: health, version, sizes, volumes, and nodes with their leases
    Status(Status),
    /// Stop a private PostgreSQL
    Stop(private::Stop),
    /// Bring the tables of an older Forebay to this one, while no node uses them
    Upgrade(Upgrade),
}

#[derive(Debug, clap::Args)]
struct Status {
    /// The database, or the folder of a private one
    #[arg(value_name = "URL|DIR")]
    book: String,
    /// Print JSON on standard output
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct Upgrade {
    /// The database, or the folder of a private one
    #[arg(value_name = "URL|DIR")]
    book: String,
}

pub(crate) fn run(args: &Args) -> Result<i32, CommandError> {
    match &args.command {
        Command::Start(args) => private::start(args),
        Command::Status(args) => status(args),
        Command::Stop(args) => private::stop(args),
        Command::Upgrade(args) => upgrade(args),
    }
}

fn status(args: &Status) -> Result<i32, CommandError> {
    let url = named_book(&args.book)?;
    let found = PostgresBook::connect(&url).and_then(|book| book.status()).map_err(refused)?;
    match args.json {
        true => console::print(&report::as_json(&found)),
        false => console::print(&report::as_text(&url, &found)),
    }
    Ok(i32::from(report::problem(&found).is_some()))
}

fn upgrade(args: &Upgrade) -> Result<i32, CommandError> {
    let url = named_book(&args.book)?;
    PostgresBook::connect(&url).and_then(|book| book.upgrade()).map_err(refused)?;
    console::note(&format!("{url} has the tables of this Forebay"));
    Ok(0)
}

/// A book by its URL, or by the folder of a private one.
pub(super) fn named_book(text: &str) -> Result<BookUrl, CommandError> {
    if !text.contains("://") {
        return private::url_of(text.as_ref());
    }
    book_url(text)
}

/// A URL from the command line, which everybody can read who sees the list of processes.
fn book_url(text: &str) -> Result<BookUrl, CommandError> {
    if BookUrl::has_password(text) {
        return Err(CommandError::new(
            WRONG_USAGE,
            "the URL has a password, which everybody on this machine can read in the list of \
             processes",
            "set PGPASSWORD, or write it into a file of yours with mode 0600: ?passfile=FILE",
        ));
    }
    BookUrl::parse(text, &password_sources()).map_err(refused)
}

/// What libpq looks at, too.
fn password_sources() -> PasswordSources {
    let own = std::env::home_dir().map(|home| home.join(".pgpass"));
    let named = std::env::var_os("PGPASSFILE").map(PathBuf::from);
    PasswordSources {
        password: std::env::var("PGPASSWORD").ok(),
        passfile: named.or(own.filter(|file| file.exists())),
    }
}

fn refused(error: Error) -> CommandError {
    CommandError::new(1, error.message, error.next)
}
