//! What PostgreSQL and the way to it can fail with: the kind, the cause in the database's own words,
//! and what to do. Codes are in the PostgreSQL manual, appendix A.

use std::error::Error as _;

use crate::error::{Error, ErrorKind};

/// Of a call over an open connection.
pub(super) fn from_client(error: &tokio_postgres::Error) -> Error {
    match error.as_db_error() {
        Some(said) => from_server(said.code().code(), said.message(), said.detail()),
        None => from_way(error),
    }
}

/// Of making a connection.
pub(super) fn from_connecting(error: &tokio_postgres::Error) -> Error {
    let failed = from_client(error);
    match failed.kind {
        // An end of the connection in the middle of greeting says nothing of what is there.
        ErrorKind::Unreachable if error.is_closed() => Error::new(
            ErrorKind::Unreachable,
            "the connection was closed while it was made",
            "look whether PostgreSQL is what listens there, and whether it is starting up",
        ),
        _ => failed,
    }
}

/// Others' transactions were in the way, and are through by now.
pub(super) fn is_worth_another_try(error: &Error) -> bool {
    error.kind == ErrorKind::Busy && error.message.starts_with(CROSSED)
}

const CROSSED: &str = "two transactions crossed";

fn from_server(code: &str, message: &str, detail: Option<&str>) -> Error {
    let words = match detail {
        Some(detail) => format!("{message} ({detail})"),
        None => message.to_owned(),
    };
    let with = |kind, next: &str| Error::new(kind, words.clone(), next);
    match code {
        "28P01" => {
            with(ErrorKind::Refused, "set PGPASSWORD, or name a file of passwords: ?passfile=FILE")
        }
        "28000" if message.contains("no encryption") || message.contains("SSL off") => with(
            ErrorKind::Refused,
            "the database may want TLS: add ?sslmode=verify-full, and &sslrootcert=FILE if its \
             authority is your own",
        ),
        "28000" => with(ErrorKind::Refused, "let this user in: pg_hba.conf of the database"),
        "3D000" => with(ErrorKind::Refused, "make it: createdb NAME, or name another one"),
        "42501" => with(
            ErrorKind::Refused,
            "let this user make a schema in the database: GRANT CREATE ON DATABASE ... TO ...",
        ),
        "25006" => with(
            ErrorKind::ReadOnly,
            "name the primary, or all of them: postgres://USER@ONE,TWO/DATABASE; or look who made \
             it read only (default_transaction_read_only)",
        ),
        "53100" => with(ErrorKind::Full, "give the database's disk room"),
        "53200" | "53400" => with(ErrorKind::Busy, "look what else the database does"),
        "53300" => with(
            ErrorKind::Busy,
            "raise max_connections of the database (8 for each node), or put a pool between",
        ),
        "55P03" | "57014" => with(
            ErrorKind::Busy,
            "another transaction goes on for long: SELECT * FROM pg_stat_activity shows it",
        ),
        "40001" | "40P01" => Error::new(
            ErrorKind::Busy,
            format!("{CROSSED}: {words}"),
            "try again; if it goes on, please report it",
        ),
        "3F000" | "42P01" | "42703" => with(
            ErrorKind::OtherSchema,
            "the database has no book, or one of another version: `forebay book status URL` says",
        ),
        "57P03" => with(ErrorKind::Unreachable, "wait until the database is up"),
        _ if code.starts_with("57P") || code.starts_with("08") || code == "25P03" => {
            with(ErrorKind::Unreachable, "look whether the database was restarted: its log says")
        }
        _ => with(ErrorKind::Unexpected, "see the log of the database; please report it"),
    }
}

/// Of whatever lies between here and the database.
fn from_way(error: &tokio_postgres::Error) -> Error {
    let mut cause: Option<&dyn std::error::Error> = error.source();
    let mut words = error.to_string();
    while let Some(inner) = cause {
        words = inner.to_string();
        cause = inner.source();
    }
    let outer = error.to_string();
    match outer.as_str() {
        _ if words.contains("does not allow writes") => Error::new(
            ErrorKind::ReadOnly,
            "none of these databases takes writes",
            "look whether one of them is the primary: SELECT pg_is_in_recovery()",
        ),
        "error performing TLS handshake" => Error::new(
            ErrorKind::Refused,
            format!("TLS: {words}"),
            "look at sslmode and sslrootcert of the URL, and at `ssl` of the database",
        ),
        "authentication error" | "invalid configuration" => Error::new(
            ErrorKind::Refused,
            words,
            "set PGPASSWORD, or name a file of passwords: ?passfile=FILE",
        ),
        _ => Error::new(
            ErrorKind::Unreachable,
            words,
            "look whether the database runs and this address leads to it; `forebay book start DIR` \
             starts a private one",
        ),
    }
}

#[cfg(test)]
mod tests {
    //! Who is told the wrong kind waits for ever, or gives up what would come back.
    use super::*;

    #[test]
    fn each_code_has_its_kind_and_a_next_step() {
        for (code, kind) in [
            ("28P01", ErrorKind::Refused),
            ("3D000", ErrorKind::Refused),
            ("42501", ErrorKind::Refused),
            ("25006", ErrorKind::ReadOnly),
            ("53100", ErrorKind::Full),
            ("53300", ErrorKind::Busy),
            ("40P01", ErrorKind::Busy),
            ("42P01", ErrorKind::OtherSchema),
            ("57P01", ErrorKind::Unreachable),
            ("57P03", ErrorKind::Unreachable),
            ("08006", ErrorKind::Unreachable),
            ("XX000", ErrorKind::Unexpected),
        ] {
            let error = from_server(code, "what it says", Some("more"));
            assert_eq!(error.kind, kind, "{code}");
            assert!(error.message.contains("what it says"), "{error}");
            assert!(!error.next.is_empty(), "{code}");
        }
        let tls = from_server("28000", "no pg_hba.conf entry for host, no encryption", None);
        assert!(tls.next.contains("sslmode"), "{}", tls.next);
    }
}
