//! Where a book is: `postgres://user@host/database`, with libpq's words for the rest. A password is
//! never part of what is shown.

use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};

use super::error::{Error, ErrorKind, Result};

/// Where passwords come from, which a command looks for in its environment.
#[derive(Clone, Default)]
pub struct PasswordSources {
    /// `PGPASSWORD`.
    pub password: Option<String>,
    /// `PGPASSFILE`, or `~/.pgpass` if it is there.
    pub passfile: Option<PathBuf>,
}

impl fmt::Debug for PasswordSources {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let password = self.password.as_ref().map(|_| "given");
        to.debug_struct("PasswordSources")
            .field("password", &password)
            .field("passfile", &self.passfile)
            .finish()
    }
}

/// A book's URL, understood.
#[derive(Clone)]
pub struct BookUrl {
    pub(crate) config: tokio_postgres::Config,
    pub(crate) tls: Option<TlsRoots>,
    shown: String,
}

/// Who vouches for the database's certificate.
#[derive(Debug, Clone)]
pub(crate) enum TlsRoots {
    /// Those that the system trusts.
    System,
    /// Those in a file of PEM.
    File(PathBuf),
}

/// Parameters that are not passed on as they are.
#[derive(Default)]
struct OwnParameters {
    sslmode: Option<String>,
    sslrootcert: Option<PathBuf>,
    passfile: Option<PathBuf>,
}

impl fmt::Display for BookUrl {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.shown)
    }
}

impl fmt::Debug for BookUrl {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "BookUrl({})", self.shown)
    }
}

impl BookUrl {
    /// Whether a text is meant as the URL of a book.
    #[must_use]
    pub fn is_one(text: &str) -> bool {
        text.starts_with("postgres://") || text.starts_with("postgresql://")
    }

    /// Whether it has a password, which everybody could read who sees the list of processes.
    #[must_use]
    pub fn has_password(text: &str) -> bool {
        let Some((_, rest)) = text.split_once("://") else { return false };
        let authority = rest.split(['/', '?']).next().unwrap_or_default();
        let user = authority.rsplit_once('@').map(|(user, _)| user);
        let query = rest.split_once('?').map_or("", |(_, query)| query);
        user.is_some_and(|user| user.contains(':'))
            || query.split('&').any(|pair| pair.starts_with("password="))
    }

    /// The URL, with the password that belongs to it: that of the URL, of `PGPASSWORD`, or of the
    /// first file that has one (`passfile=` before `PGPASSFILE`).
    ///
    /// # Errors
    /// Invalid: it is no such URL. Refused: a file of passwords or certificates can't be used.
    pub fn parse(text: &str, sources: &PasswordSources) -> Result<BookUrl> {
        if !BookUrl::is_one(text) {
            return Err(Error::invalid(
                format!("{:?} is no URL of a book", shown_url(text)),
                "postgres://USER@HOST:PORT/DATABASE makes one",
            ));
        }
        let (own, rest) = split_parameters(text)?;
        let mut config: tokio_postgres::Config =
            rest.parse().map_err(|error: tokio_postgres::Error| {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                Error::invalid(
                    format!("{}: {}", shown_url(text), cause.unwrap_or_else(|| error.to_string())),
                    "postgres://USER@HOST:PORT/DATABASE makes a URL of a book; for a socket, \
                 postgres://USER@/DATABASE?host=/FOLDER",
                )
            })?;
        let shown = shown_url(text);
        if config.get_hosts().is_empty() {
            return Err(Error::invalid(
                format!("{shown}: it names no host"),
                "name one, or the folder of a socket: ?host=/var/run/postgresql",
            ));
        }
        if config.get_user().is_none() {
            return Err(Error::invalid(
                format!("{shown}: it names no user"),
                "postgres://USER@HOST:PORT/DATABASE",
            ));
        }
        let tls = tls_roots(&shown, &own)?;
        config.ssl_mode(if tls.is_some() { SslMode::Require } else { SslMode::Disable });
        if config.get_hosts().len() > 1 {
            // Of a primary and its standbys, the one that takes writes.
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        config.application_name("forebay");
        let mut url = BookUrl { config, tls, shown };
        url.find_password(&own, sources)?;
        Ok(url)
    }

    fn find_password(&mut self, own: &OwnParameters, sources: &PasswordSources) -> Result<()> {
        if self.config.get_password().is_some() {
            return Ok(());
        }
        if own.passfile.is_none()
            && let Some(password) = &sources.password
        {
            self.config.password(password);
            return Ok(());
        }
        if let Some(file) = own.passfile.as_ref().or(sources.passfile.as_ref()) {
            let text = read_passfile(&self.shown, file)?;
            let found = self.password_in(&text);
            if let Some(password) = found {
                self.config.password(password);
            } else if own.passfile.is_some() {
                return Err(Error::new(
                    ErrorKind::Refused,
                    format!("{}: {} has no line for it", self.shown, file.display()),
                    "a line is HOST:PORT:DATABASE:USER:PASSWORD, and * stands for any",
                ));
            }
        }
        Ok(())
    }

    /// The first line of a file of passwords that fits one of the hosts
    /// (<https://www.postgresql.org/docs/current/libpq-pgpass.html>).
    fn password_in(&self, text: &str) -> Option<String> {
        let user = self.config.get_user().unwrap_or_default();
        let database = self.config.get_dbname().unwrap_or(user);
        let ports = self.config.get_ports();
        let hosts = self.config.get_hosts().iter().enumerate().map(|(at, host)| {
            let port = ports.get(at).or(ports.first()).copied().unwrap_or(5432);
            let name = match host {
                Host::Tcp(name) => name.clone(),
                Host::Unix(_) => "localhost".to_owned(),
            };
            (name, port.to_string())
        });
        let hosts: Vec<(String, String)> = hosts.collect();
        text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
            let fields = passfile_fields(line);
            let [host, port, base, name, password] = fields.as_slice() else { return None };
            let is = |field: &String, word: &str| field == "*" || field == word;
            let here = hosts.iter().any(|(at, door)| is(host, at) && is(port, door));
            (here && is(base, database) && is(name, user)).then(|| password.clone())
        })
    }
}

/// Fields of a line, of which `\` takes the meaning of the next character.
fn passfile_fields(line: &str) -> Vec<String> {
    let (mut fields, mut escaped) = (vec![String::new()], false);
    for c in line.chars() {
        match c {
            '\\' if !escaped => escaped = true,
            ':' if !escaped && fields.len() < 5 => fields.push(String::new()),
            _ => {
                escaped = false;
                fields.last_mut().expect("there is one").push(c);
            }
        }
    }
    fields
}

fn read_passfile(shown: &str, file: &Path) -> Result<String> {
    let refuse = |why: String, next: &str| {
        Error::new(ErrorKind::Refused, format!("{shown}: {}: {why}", file.display()), next)
    };
    let next = "name a file of yours with lines HOST:PORT:DATABASE:USER:PASSWORD";
    let meta = std::fs::metadata(file).map_err(|error| refuse(error.to_string(), next))?;
    if meta.mode() & 0o077 != 0 {
        let why = "others can read it, so its passwords are not used".to_owned();
        return Err(refuse(why, "chmod 600 the file"));
    }
    std::fs::read_to_string(file).map_err(|error| refuse(error.to_string(), next))
}

fn tls_roots(shown: &str, own: &OwnParameters) -> Result<Option<TlsRoots>> {
    let roots = || own.sslrootcert.clone().map_or(TlsRoots::System, TlsRoots::File);
    match (own.sslmode.as_deref(), &own.sslrootcert) {
        (Some("require" | "verify-ca" | "verify-full"), _) | (None, Some(_)) => Ok(Some(roots())),
        (None | Some("disable"), _) => Ok(None),
        (Some(other), _) => Err(Error::invalid(
            format!("{shown}: sslmode={other} is not known"),
            "verify-full (require means the same here), or disable",
        )),
    }
}

/// What is ours, and the URL without it.
fn split_parameters(text: &str) -> Result<(OwnParameters, String)> {
    let mut own = OwnParameters::default();
    let Some((before, query)) = text.split_once('?') else { return Ok((own, text.to_owned())) };
    let mut rest = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        match key {
            "sslmode" => own.sslmode = Some(percent_decode(value)?),
            "sslrootcert" => own.sslrootcert = Some(percent_decode(value)?.into()),
            "passfile" => own.passfile = Some(percent_decode(value)?.into()),
            _ => rest.push(pair),
        }
    }
    match rest.is_empty() {
        true => Ok((own, before.to_owned())),
        false => Ok((own, format!("{before}?{}", rest.join("&")))),
    }
}

fn percent_decode(text: &str) -> Result<String> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = tail.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        let decoded = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match (first, decoded) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).map_err(|_| {
        Error::invalid(format!("{text:?} is no text when it is decoded"), "write it in UTF-8")
    })
}

/// A URL as it may be seen: without its password.
fn shown_url(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let authority = match authority.rsplit_once('@') {
        Some((user, host)) => {
            format!("{}@{host}", user.split_once(':').map_or(user, |(name, _)| name))
        }
        None => authority.to_owned(),
    };
    let path = match path.split_once('?') {
        Some((path, query)) => {
            let kept: Vec<&str> =
                query.split('&').filter(|pair| !pair.starts_with("password=")).collect();
            if kept.is_empty() { path.to_owned() } else { format!("{path}?{}", kept.join("&")) }
        }
        None => path.to_owned(),
    };
    format!("{scheme}://{authority}{path}")
}

#[cfg(test)]
mod tests {
    //! If these fail, a password is shown to everybody, or a database is spoken to without the
    //! certificate that was asked for.
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn parse(text: &str) -> Result<BookUrl> {
        BookUrl::parse(text, &PasswordSources::default())
    }

    #[test]
    fn a_password_is_never_shown() {
        for text in [
            "postgres://ada:geheim@db:5433/lab",
            "postgresql://ada:ge%40heim@db/lab?connect_timeout=3",
            "postgres://ada@db/lab?password=geheim&connect_timeout=3",
        ] {
            assert!(BookUrl::has_password(text), "{text}");
            let url = parse(text).expect("a URL");
            assert!(url.config.get_password().is_some());
            for shown in [url.to_string(), format!("{url:?}")] {
                assert!(!shown.contains("heim"), "{shown}");
                assert!(shown.contains("ada@db"), "{shown}");
            }
        }
        // What is wrong is shown without it, too.
        for text in ["postgres://ada:geheim@db/lab?port=x", "mysql://ada:geheim@db/lab"] {
            let error = parse(text).expect_err("no URL");
            assert!(!format!("{error} {error:?} {}", error.next).contains("geheim"), "{error}");
        }
        assert!(!BookUrl::has_password("postgres://ada@db:5433/lab?host=a:b"));
        let sources = PasswordSources { password: Some("geheim".into()), passfile: None };
        assert!(!format!("{sources:?}").contains("geheim"));
    }

    #[test]
    fn urls_that_make_no_sense_are_refused_with_a_next_step() {
        for text in [
            "postgres://",
            "postgres://db/lab",
            "postgres://ada@/lab",
            "postgres://ada@db:x/lab",
            "postgres://ada@db/lab?nonsense=1",
            "postgres://ada@db/lab?sslmode=maybe",
            "$'postgres://ada@db/lab",
            "",
        ] {
            let error = parse(text).expect_err(text);
            assert_eq!(error.kind, ErrorKind::Invalid, "{text}");
            assert!(!error.next.is_empty());
        }
    }

    #[test]
    fn tls_is_asked_for_by_libpqs_words() {
        assert!(parse("postgres://a@db/x").expect("a URL").tls.is_none());
        assert!(parse("postgres://a@db/x?sslmode=disable").expect("a URL").tls.is_none());
        for mode in ["require", "verify-ca", "verify-full"] {
            let url = parse(&format!("postgres://a@db/x?sslmode={mode}")).expect("a URL");
            assert!(matches!(url.tls, Some(TlsRoots::System)));
        }
        let url = parse("postgres://a@db/x?sslrootcert=/a%20b/ca.pem").expect("a URL");
        assert!(matches!(url.tls, Some(TlsRoots::File(file)) if file == Path::new("/a b/ca.pem")));
    }

    #[test]
    fn several_hosts_mean_the_one_that_takes_writes() {
        let url = parse("postgres://a@one:5432,two:5433/x").expect("a URL");
        assert_eq!(url.config.get_target_session_attrs(), TargetSessionAttrs::ReadWrite);
    }

    #[test]
    fn passwords_come_from_a_file_that_nobody_else_reads() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("pass");
        std::fs::write(
            &file,
            "# ours\nother:*:*:*:no\ndb:5433:lab:ada:a\\:b\\\\c:d\n*:*:*:*:rest\n",
        )
        .expect("written");
        let chmod = |mode| {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).expect("set");
        };
        let with = |at: &str| parse(&format!("postgres://{at}?passfile={}", file.display()));
        chmod(0o640);
        let error = with("ada@db:5433/lab").expect_err("others can read it");
        assert_eq!(error.kind, ErrorKind::Refused);
        chmod(0o600);
        let password = |url: &BookUrl| {
            String::from_utf8(url.config.get_password().expect("one").to_vec()).expect("text")
        };
        assert_eq!(password(&with("ada@db:5433/lab").expect("a URL")), "a:b\\c:d");
        assert_eq!(password(&with("ada@db/lab").expect("a URL")), "rest");
        // PGPASSWORD before PGPASSFILE, and a file that the URL names before both.
        let sources =
            PasswordSources { password: Some("env".into()), passfile: Some(file.clone()) };
        let url = BookUrl::parse("postgres://ada@db/lab", &sources).expect("a URL");
        assert_eq!(password(&url), "env");
        let named = format!("postgres://ada@db/lab?passfile={}", file.display());
        assert_eq!(password(&BookUrl::parse(&named, &sources).expect("a URL")), "rest");
        let missing = parse("postgres://a@db/x?passfile=/nowhere/pass").expect_err("no file");
        assert_eq!(missing.kind, ErrorKind::Refused);
    }
}
