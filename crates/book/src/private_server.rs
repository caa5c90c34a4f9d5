//! A PostgreSQL of one's own, for a team that has none: made and started from the binaries of this
//! machine, without root, in a folder that has all of it:
//!
//! ```text
//! DIR/data          the database's files (PGDATA)
//! DIR/book.conf     its settings: those of data/postgresql.conf, and where it listens
//! DIR/hba.conf      who may come: everybody with the password
//! DIR/passfile      the password, in libpq's format, for whoever mounts; mode 0600
//! DIR/log           what PostgreSQL says
//! DIR/.s.PGSQL.N    its socket
//! ```
//!
//! PostgreSQL refuses to run as root. Root starts it as the owner of DIR, or gives DIR to the user
//! `postgres`, else `nobody`. That user may exchange whatever is in the folder at any moment, so root
//! writes there by the open folder alone, follows no link, and copies no content.

mod binaries;
mod owner;

use std::fmt::Write as _;
use std::io::Read;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::error::{Error, ErrorKind, Result};
use super::postgres::PostgresBook;
use super::url::{BookUrl, PasswordSources};
use binaries::Binaries;
pub use owner::Owner;

/// A socket's path has no more bytes (unix(7)).
const SOCKET_PATH: usize = 107;
/// The user and the database.
const USER: &str = "forebay";
/// Where it listens if nobody says; on a socket there is nothing to collide with.
const PORT: u16 = 5432;

/// A private database and its folder.
#[derive(Debug)]
pub struct PrivateServer {
    folder: PathBuf,
    /// Where to look for programs, as `PATH` has it.
    search: std::ffi::OsString,
}

/// Whether a private database runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerState {
    /// There is none in this folder.
    Missing,
    /// It is there, and does not run.
    Stopped,
    /// It runs.
    Running,
}

impl PrivateServer {
    /// The one in `folder`, whether it is there or not. `search` has folders with programs, as `PATH`
    /// does; the places of distributions are looked at as well.
    ///
    /// # Errors
    /// Invalid: the path is too long for a socket, or no text.
    pub fn at(folder: &Path, search: &std::ffi::OsStr) -> Result<PrivateServer> {
        let folder = std::path::absolute(folder).map_err(|error| io_error(folder, error))?;
        let socket = folder.join(".s.PGSQL.65535.lock");
        if socket.as_os_str().len() > SOCKET_PATH {
            return Err(Error::invalid(
                format!("{}: a socket there would have too long a path", folder.display()),
                format!("choose a folder of at most {} bytes", SOCKET_PATH - 20),
            ));
        }
        let text = folder.to_str().filter(|text| !text.chars().any(char::is_control));
        if text.is_none() {
            return Err(Error::invalid(
                format!("{:?} can't be written into PostgreSQL's settings", folder),
                "choose a folder whose path is plain text",
            ));
        }
        Ok(PrivateServer { folder, search: search.to_owned() })
    }

    /// Makes it, if it is not there, and starts it, if it does not run. `listen` is where other nodes
    /// reach it; without, what was asked for before, else its socket alone.
    ///
    /// # Errors
    /// Those of PostgreSQL's programs, in their words; what is in the way of making the folder.
    pub fn start(&self, listen: Option<SocketAddr>) -> Result<Owner> {
        let open = self.make_folder()?;
        let owner = Owner::of_folder(&self.folder, &open)?;
        let data = self.data();
        let binaries = Binaries::find(&self.search, self.data_version().as_deref())?;
        if self.data_version().is_none() {
            self.make_data(&binaries, &open, &owner)?;
        }
        if self.state_with(&binaries, &owner)? == ServerState::Running {
            if listen.is_some() && listen != self.listens()? {
                return Err(Error::new(
                    ErrorKind::Busy,
                    format!("{}: it runs, and listens elsewhere", self.folder.display()),
                    "stop it first: forebay book stop DIR",
                ));
            }
        } else {
            let listen = match listen {
                Some(listen) => Some(listen),
                None => self.listens()?,
            };
            self.write_settings(listen, &open, &owner)?;
            let log = self.folder.join("log");
            let log = log.as_os_str();
            let words = ["start", "-s", "-w", "-t", "60", "-D"].map(std::ffi::OsStr::new);
            let settings = format!("-c config_file={}", self.quoted("book.conf"));
            let more = [data.as_os_str(), "-l".as_ref(), log, "-o".as_ref(), settings.as_ref()];
            binaries
                .run("pg_ctl", &[&words[..], &more].concat(), &owner)
                .map_err(|error| self.with_log(error))?;
        }
        self.make_database()?;
        Ok(owner)
    }

    /// Stops it; open connections end. False: it did not run.
    ///
    /// # Errors
    /// Refused: there is none. Those of PostgreSQL's programs.
    pub fn stop(&self) -> Result<bool> {
        let Some(version) = self.data_version() else {
            return Err(Error::new(
                ErrorKind::Refused,
                format!("{}: there is no book here", self.folder.display()),
                "name the folder that was given to forebay book start",
            ));
        };
        let owner = Owner::of_folder(&self.folder, &self.open_folder()?)?;
        let binaries = Binaries::find(&self.search, Some(&version))?;
        if self.state_with(&binaries, &owner)? != ServerState::Running {
            return Ok(false);
        }
        let data = self.data();
        let words = ["stop", "-s", "-w", "-t", "60", "-m", "fast", "-D"].map(std::ffi::OsStr::new);
        binaries.run("pg_ctl", &[&words[..], &[data.as_os_str()]].concat(), &owner)?;
        Ok(true)
    }

    /// Whether it is there and runs.
    ///
    /// # Errors
    /// No programs of PostgreSQL that fit it.
    pub fn state(&self) -> Result<ServerState> {
        let Some(version) = self.data_version() else { return Ok(ServerState::Missing) };
        let binaries = Binaries::find(&self.search, Some(&version))?;
        self.state_with(&binaries, &Owner::of_folder(&self.folder, &self.open_folder()?)?)
    }

    /// URLs of it: by its socket, for this machine; by its address, for others, who need a copy of
    /// the file of passwords.
    ///
    /// # Errors
    /// Its settings can't be read.
    pub fn urls(&self) -> Result<(String, Option<String>)> {
        let folder = percent_encode(&self.folder);
        let passfile = percent_encode(&self.passfile());
        let listens = self.listens()?;
        let port = listens.map_or(PORT, |listens| listens.port());
        let port = if port == 5432 { String::new() } else { format!("&port={port}") };
        let local = format!("postgres://{USER}@/{USER}?host={folder}{port}&passfile={passfile}");
        let remote = listens
            .map(|address| format!("postgres://{USER}@{address}/{USER}?passfile={passfile}"));
        Ok((local, remote))
    }

    /// The file with its password.
    #[must_use]
    pub fn passfile(&self) -> PathBuf {
        self.folder.join("passfile")
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// The major version of PostgreSQL that made the data.
    fn data_version(&self) -> Option<String> {
        let text = std::fs::read_to_string(self.data().join("PG_VERSION")).ok()?;
        Some(text.trim().to_owned())
    }

    fn state_with(&self, binaries: &Binaries, owner: &Owner) -> Result<ServerState> {
        let data = self.data();
        let words = ["status".as_ref(), "-D".as_ref(), data.as_os_str()];
        // 3: it does not run (pg_ctl's manual).
        match binaries.exit_code("pg_ctl", &words, owner)? {
            0 => Ok(ServerState::Running),
            _ => Ok(ServerState::Stopped),
        }
    }

    fn make_folder(&self) -> Result<OwnedFd> {
        let there = std::fs::symlink_metadata(&self.folder).ok();
        if there.is_none() {
            std::fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&self.folder)
                .map_err(|error| io_error(&self.folder, error))?;
        } else if self.data_version().is_none() {
            let entries = std::fs::read_dir(&self.folder);
            let mut entries = entries.map_err(|error| io_error(&self.folder, error))?;
            // What an earlier start left that was killed.
            let ours = ["data.new", "passfile", "pwfile", "book.conf", "hba.conf", "log"];
            let strange = entries.find_map(|entry| {
                let name = entry.ok()?.file_name();
                (!ours.iter().any(|known| name == *known)).then_some(name)
            });
            if let Some(name) = strange {
                return Err(Error::new(
                    ErrorKind::Refused,
                    format!(
                        "{}: it is no book's folder, and has {}",
                        self.folder.display(),
                        name.display()
                    ),
                    "name a folder that is empty, or not there yet",
                ));
            }
        }
        let open = self.open_folder()?;
        rustix::fs::fchmod(&open, Mode::RWXU)
            .map_err(|errno| io_error(&self.folder, errno.into()))?;
        Ok(open)
    }

    fn open_folder(&self) -> Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::open(&self.folder, flags, Mode::empty())
            .map_err(|errno| io_error(&self.folder, errno.into()))
    }

    /// A path for the shell through which `pg_ctl` starts the server.
    fn quoted(&self, name: &str) -> String {
        let path = self.folder.join(name);
        let text = path.to_str().expect("it was looked at");
        format!("'{}'", text.replace('\'', "'\\''"))
    }

    /// Under another name first: what is called `data` is whole.
    fn make_data(&self, binaries: &Binaries, open: &OwnedFd, owner: &Owner) -> Result<()> {
        let fresh = self.folder.join("data.new");
        if fresh.exists() {
            std::fs::remove_dir_all(&fresh).map_err(|error| io_error(&fresh, error))?;
        }
        let password = random_password()?;
        let pwfile = self.folder.join("pwfile");
        self.write_private(open, "pwfile", &format!("{password}\n"), owner)?;
        let given = {
            let mut words = std::ffi::OsString::from("--pwfile=");
            words.push(&pwfile);
            words
        };
        let words = [
            "--username=forebay",
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--locale=C",
            "--data-checksums",
            "-D",
        ]
        .map(std::ffi::OsStr::new);
        let words = [&words[..], &[fresh.as_os_str(), given.as_os_str()]].concat();
        let made = binaries.run("initdb", &words, owner);
        std::fs::remove_file(&pwfile).map_err(|error| io_error(&pwfile, error))?;
        made?;
        self.write_private(open, "passfile", &format!("*:*:*:{USER}:{password}\n"), owner)?;
        std::fs::rename(&fresh, self.data()).map_err(|error| io_error(&fresh, error))
    }

    fn write_settings(
        &self,
        listen: Option<SocketAddr>,
        open: &OwnedFd,
        owner: &Owner,
    ) -> Result<()> {
        let folder = self.folder.to_str().expect("it was looked at").replace('\'', "''");
        let address = listen.map_or(String::new(), |listen| listen.ip().to_string());
        let port = listen.map_or(PORT, |listen| listen.port());
        let text = format!(
            "# Written by forebay book start, anew each time. Settings of yours go into the first.\n\
             include 'data/postgresql.conf'\ndata_directory = '{folder}/data'\n\
             hba_file = '{folder}/hba.conf'\nident_file = '{folder}/data/pg_ident.conf'\n\
             listen_addresses = '{address}'\nport = {port}\n\
             unix_socket_directories = '{folder}'\nunix_socket_permissions = 0700\n\
             max_connections = 400\npassword_encryption = 'scram-sha-256'\n\
             log_line_prefix = '%m [%p] %h '\n"
        );
        self.write_private(open, "book.conf", &text, owner)?;
        // By password, wherever they come from: book.conf says where it listens. What people have
        // changed stays.
        let doors = "local all all scram-sha-256\nhost all all 0.0.0.0/0 scram-sha-256\n\
                     host all all ::/0 scram-sha-256\n";
        match self.folder.join("hba.conf").exists() {
            true => Ok(()),
            false => self.write_private(open, "hba.conf", doors, owner),
        }
    }

    /// Where it listened when it was last started.
    fn listens(&self) -> Result<Option<SocketAddr>> {
        let file = self.folder.join("book.conf");
        let text = match std::fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io_error(&file, error)),
        };
        let value = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            Some(line.trim_start_matches([' ', '=']).trim_matches('\'').to_owned())
        };
        let address = value("listen_addresses").and_then(|address| address.parse().ok());
        let port = value("port").and_then(|port| port.parse().ok()).unwrap_or(PORT);
        Ok(address.map(|address| SocketAddr::new(address, port)))
    }

    fn make_database(&self) -> Result<()> {
        let (local, _) = self.urls()?;
        let admin = local.replacen("@/forebay?", "@/postgres?", 1);
        let sources = PasswordSources::default();
        let server = PostgresBook::connect(&BookUrl::parse(&admin, &sources)?)
            .map_err(|error| self.with_log(error))?;
        server.make_database(USER)?;
        PostgresBook::open(&BookUrl::parse(&local, &sources)?).map(drop)
    }

    fn write_private(&self, folder: &OwnedFd, name: &str, text: &str, owner: &Owner) -> Result<()> {
        use std::io::Write;
        let said = |error| io_error(&self.folder.join(name), error);
        match rustix::fs::unlinkat(folder, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(said(errno.into())),
        }
        let new = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = rustix::fs::openat(folder, name, new, Mode::RUSR | Mode::WUSR)
            .map_err(|errno| said(errno.into()))?;
        owner.give(&file).map_err(said)?;
        let mut file = std::fs::File::from(file);
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(said)
    }

    /// The last that PostgreSQL said, behind what `pg_ctl` says.
    fn with_log(&self, mut error: Error) -> Error {
        let log = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        let bad = |line: &&str| line.contains("FATAL:") || line.contains("ERROR:");
        if let Some(last) = log.lines().rev().find(bad) {
            // Into a string: it can't fail.
            let _ = write!(error.message, "; {last}");
        }
        error.next = format!("{}; see {}/log", error.next, self.folder.display());
        error
    }
}

fn io_error(path: &Path, error: std::io::Error) -> Error {
    let kind = match error.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => ErrorKind::Full,
        _ => ErrorKind::Refused,
    };
    let next = "choose a folder of a local disk that is yours";
    Error::new(kind, format!("{}: {error}", path.display()), next).with_source(error)
}

/// 192 bits, in letters that need no quotes anywhere.
fn random_password() -> Result<String> {
    let file = Path::new("/dev/urandom");
    let mut bytes = [0u8; 24];
    std::fs::File::open(file)
        .and_then(|mut random| random.read_exact(&mut bytes))
        .map_err(|error| io_error(file, error))?;
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        // Into a string: it can't fail.
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

/// A path in a URL's parameter.
fn percent_encode(path: &Path) -> String {
    path.as_os_str().as_bytes().iter().fold(String::new(), |mut text, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' | b'~' => {
                text.push(char::from(*byte));
            }
            // Into a string: it can't fail.
            _ => drop(write!(text, "%{byte:02X}")),
        }
        text
    })
}
