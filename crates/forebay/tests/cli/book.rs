//! `forebay book`, with a PostgreSQL that it starts. If these fail, a team without a database has
//! none, or its password is where others read it.

use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use forebay_book::{Book, BookUrl, NodeKey, NodeOffer, PasswordSources, PostgresBook, VolumeName};

use crate::place::{Done, Place, done, skip};

/// nobody, whom each system knows: `initdb` wants a user with a name.
const NOBODY: u32 = 65_534;

/// A book's folder, and a place where others may look.
struct Team {
    place: Place,
    book: PathBuf,
}

impl Team {
    fn with_postgres() -> Option<Team> {
        let debian = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let mut places: Vec<PathBuf> = debian.map(|entry| entry.path().join("bin")).collect();
        places.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
        if !places.iter().any(|place| place.join("initdb").is_file()) {
            return skip("no PostgreSQL; scripts/setup-postgres.sh installs it");
        }
        let place = Place::new();
        let open = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&place.all, open).expect("it is ours");
        let book = place.all.join("book");
        Some(Team { place, book })
    }

    fn book(&self, words: &[&str]) -> Done {
        let mut command = self.command(words);
        done(&mut command)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.place.forebay(&["book"]);
        command.args(words).arg(&self.book);
        for name in ["PGPASSWORD", "PGPASSFILE"] {
            command.env_remove(name);
        }
        command
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        // Whatever the test came to: nothing goes on without it.
        let _ = self.command(&["stop", "--force"]).output();
    }
}

#[test]
fn a_private_book_is_started_looked_at_and_stopped() {
    let Some(team) = Team::with_postgres() else { return };
    let missing = team.book(&["status"]);
    missing.code(1).says("there is no book here");
    let started = team.book(&["start"]);
    started.code(0).says("runs").says("no other machine reaches it");
    let url = started.text().trim_end().to_owned();
    assert!(url.starts_with("postgres://forebay@/forebay?host=/"), "{url}");
    team.book(&["stop"]).code(0);
    // What the caller has open, such as a lock or a pipe, does not stay open with the database: this
    // ends only if nobody has descriptor 9 any more.
    let mut piped = team.place.program("sh");
    piped.args(["-c", "{ \"$1\" book start \"$2\" > /dev/null 2>&1; } 9>&1 | cat", "sh"]);
    done(piped.arg(crate::place::FOREBAY).arg(&team.book)).code(0);
    let again = team.book(&["start"]);
    again.code(0).says("runs already");
    assert_eq!(again.text(), started.text());

    let opened = BookUrl::parse(&url, &PasswordSources::default()).expect("a URL");
    let opened = PostgresBook::open(&opened).expect("a book");
    let volume = opened.open_volume(&VolumeName::new("s3://ours/v").expect("a name"));
    let volume = volume.expect("made");
    // Names of others are no orders to a terminal.
    let offer = NodeOffer::new("node-a", NodeKey([7; 16]), "10.0.0.7:7420").expect("an offer");
    let member = opened.register(volume, &offer).expect("registered").member;

    let status = team.book(&["status"]);
    status.code(0);
    let text = status.text();
    for word in
        ["health       well", "PostgreSQL 1", "s3://ours/v", "node-a", "10.0.0.7:7420", "lease "]
    {
        assert!(text.contains(word), "{word:?} is not in:\n{text}");
    }
    let json = team.book(&["status", "--json"]);
    let told: serde_json::Value = serde_json::from_slice(&json.code(0).stdout).expect("JSON");
    assert_eq!(told["problem"], serde_json::Value::Null);
    assert_eq!(told["nodes"][0]["name"], "node-a");
    assert_eq!(told["volumes"][0]["name"], "s3://ours/v");

    opened.renew(&member).expect("it is alive");
    let refused = team.book(&["stop"]);
    refused.code(1).says("is used by node-a").says("--force");
    opened.leave(&member).expect("gone");
    team.book(&["stop"]).code(0).says("is stopped");
    team.book(&["stop"]).code(0).says("did not run");
    team.book(&["status"]).code(1);
    // It was not forgotten where it is, nor what was in it.
    assert_eq!(team.book(&["start"]).code(0).text(), started.text());
    let text = team.book(&["status"]).code(0).text();
    assert!(text.contains("node-a") && text.contains("away"), "{text}");
}

#[test]
fn a_book_that_others_reach_needs_its_password() {
    let Some(team) = Team::with_postgres() else { return };
    let port = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = port.local_addr().expect("an address").to_string();
    drop(port);
    let started = team.book(&["start", "--listen", &address]);
    started.code(0).says("need a copy of");
    let url = started.text().trim_end().to_owned();
    assert!(url.contains(&format!("@{address}/forebay?passfile=")), "{url}");
    let line = std::fs::read_to_string(team.book.join("passfile")).expect("it is there");
    let password = line.trim_end().rsplit(':').next().expect("one");
    assert!(!started.text().contains(password) && !started.stderr.contains(password));

    let status = |url: &str, password: Option<&str>| {
        let mut command = team.place.forebay(&["book", "status", url]);
        command.env_remove("PGPASSFILE").env_remove("PGPASSWORD").env("HOME", &team.place.all);
        if let Some(password) = password {
            command.env("PGPASSWORD", password);
        }
        done(&mut command)
    };
    status(&url, None).code(0);
    let bare = format!("postgres://forebay@{address}/forebay");
    status(&bare, Some(password)).code(0);
    status(&bare, Some("wrong")).code(1).says("password authentication failed").says("PGPASSWORD");
    status(&bare, None).code(1).says("passfile");
    // What everybody could read in the list of processes is not taken, and not shown again.
    let open = format!("postgres://forebay:{password}@{address}/forebay");
    let refused = status(&open, None);
    refused.code(2).says("list of processes").says("passfile");
    assert!(!refused.stderr.contains(password), "{}", refused.stderr);
    // A file that others may read is not taken either.
    let copy = team.place.all.join("copy");
    std::fs::copy(team.book.join("passfile"), &copy).expect("copied");
    std::fs::set_permissions(&copy, std::fs::Permissions::from_mode(0o644)).expect("set");
    let named = format!("{bare}?passfile={}", copy.display());
    status(&named, None).code(1).says("others can read it").says("chmod 600");
    status("postgres://forebay@127.0.0.1:1/forebay", None)
        .code(1)
        .says("refused")
        .says("book start");
    status("mysql://a@b/c", None).code(1).says("no URL of a book");
}

#[test]
fn an_ordinary_user_starts_one_and_root_says_whose_it_is() {
    let Some(team) = Team::with_postgres() else { return };
    if !rustix::process::geteuid().is_root() {
        return skip("this test needs root").unwrap_or(());
    }
    // Root's own folder goes to somebody ordinary.
    team.book(&["start"]).code(0).says("PostgreSQL does not run as root");
    team.book(&["stop"]).code(0);
    let theirs = team.place.all.join("theirs");
    std::fs::create_dir(&theirs).expect("made");
    chown(&theirs, Some(NOBODY), Some(NOBODY)).expect("given");
    let binary = team.place.all.join("forebay");
    let copied = Command::new("cp").arg(crate::place::FOREBAY).arg(&binary).status();
    assert!(copied.expect("cp is there").success());
    let as_nobody = |words: &[&str]| {
        let mut command = team.place.program(&binary);
        command.args(words).arg(theirs.join("book")).uid(NOBODY).gid(NOBODY);
        done(&mut command)
    };
    let started = as_nobody(&["book", "start"]);
    started.code(0);
    assert!(!started.stderr.contains("as root"), "{}", started.stderr);
    as_nobody(&["book", "status"]).code(0);
    // Root looks at it and ends it as its owner.
    let mut stop = team.place.forebay(&["book", "stop"]);
    done(stop.arg(theirs.join("book"))).code(0).says("is stopped");
    // A folder that the owner can't reach is named.
    let closed = team.place.all.join("closed");
    std::fs::create_dir(&closed).expect("made");
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o700)).expect("set");
    let mut start = team.place.forebay(&["book", "start"]);
    done(start.arg(closed.join("book"))).code(1).says("can reach");
}
