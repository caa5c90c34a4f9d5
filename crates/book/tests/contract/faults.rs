//! A database that is away, read only, of another version, or cut off in the middle of a transaction.
//! Users of others met mounts that hang, or say nothing of the cause (JuiceFS #4341, #6245), commits
//! whose answers were lost (pgx #787), and pools of dead connections.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use forebay_book::{
    Book, BookUrl, Claim, ErrorKind, FolderChange, FolderId, LEASE, NameChange, NodeKey, NodeOffer,
    PasswordSources, PostgresBook, PrivateServer, Publication, ServerState, Taken, VolumeName,
};

use super::server::{Server, password, search};
use super::worlds::{World, held, name, small};

const ROOT: FolderId = FolderId::ROOT;

fn kind<T: std::fmt::Debug>(result: forebay_book::Result<T>) -> ErrorKind {
    let error = result.expect_err("refused");
    assert!(!error.next.is_empty(), "{error:?}");
    error.kind
}

/// A volume, and a node in it.
fn joined(book: &dyn Book) -> forebay_book::Registration {
    let volume = book.open_volume(&VolumeName::new("s3://ours/v").expect("a name")).expect("made");
    let offer = NodeOffer::new("one", NodeKey([1; 16]), "").expect("an offer");
    book.register(volume, &offer).expect("registered")
}

/// Waits for something, and judges nothing by the time it takes.
fn wait_until(what: &str, mut is: impl FnMut() -> bool) {
    for _ in 0..6000 {
        if is() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{what} never came");
}

#[test]
fn tables_of_a_newer_forebay_are_refused_also_by_a_renewal() {
    let Some(server) = Server::shared() else { return };
    let database = server.database();
    let book = PostgresBook::open(&server.url(&database)).expect("a book");
    let member = joined(&book).member;
    server.sql(&database, "INSERT INTO forebay.schema_version VALUES (99, '9.9')");
    let error = PostgresBook::open(&server.url(&database)).expect_err("newer");
    assert_eq!(error.kind, ErrorKind::OtherSchema);
    assert!(error.message.contains("version 99"), "{error}");
    assert!(error.next.contains("newer Forebay"), "{}", error.next);
    assert_eq!(kind(book.renew(&member)), ErrorKind::OtherSchema);
    assert_eq!(kind(book.upgrade()), ErrorKind::OtherSchema);
    // Who only looks is told.
    let look = PostgresBook::connect(&server.url(&database)).expect("it is there");
    assert_eq!(look.status().expect("a status").schema, 99);
}

/// What nodes of version 1 have left is all there after the update, and is not touched before.
#[test]
fn older_tables_are_refused_until_they_are_upgraded() {
    let Some(server) = Server::shared() else { return };
    let database = server.database();
    let url = server.url(&database);
    let first = include_str!("../../migrations/0001-tables.sql");
    server.sql(
        &database,
        "CREATE SCHEMA forebay; CREATE TABLE forebay.schema_version (version integer PRIMARY KEY, \
         forebay text NOT NULL, applied timestamptz NOT NULL DEFAULT clock_timestamp())",
    );
    server.sql(&database, first);
    server.sql(
        &database,
        "INSERT INTO forebay.schema_version VALUES (1, '0.1'); \
         INSERT INTO forebay.volume (name, next_inode) VALUES ('s3://ours/v', 7); \
         INSERT INTO forebay.node (volume, key, name, address, term, expires, renewed, published) \
         VALUES (1, '\\x01', 'old', '', 1, clock_timestamp() + interval '1 hour', now(), 0); \
         INSERT INTO forebay.folder (volume, inode, holder, epoch, version) VALUES (1, 1, 1, 5, 3)",
    );
    let refused = PostgresBook::open(&url).expect_err("older");
    assert_eq!(refused.kind, ErrorKind::OtherSchema);
    assert!(refused.message.contains("version 1,"), "{refused}");
    assert!(refused.next.contains("forebay book upgrade"), "{}", refused.next);
    let book = PostgresBook::connect(&url).expect("it is there");
    let busy = book.upgrade().expect_err("a node lives");
    assert_eq!(busy.kind, ErrorKind::Busy);
    assert!(busy.message.contains("old"), "{busy}");
    server.sql(&database, "UPDATE forebay.node SET expires = '-infinity'");
    book.upgrade().expect("upgraded");
    book.upgrade().expect("once is enough");
    let book = PostgresBook::open(&url).expect("it is of this version");
    let member = joined(&book).member;
    let taken = book.take(&member, &[ROOT]).expect("from the node that is gone");
    assert_eq!(taken, forebay_book::Taken::All(vec![(ROOT, forebay_book::Epoch(7))]));
    assert_eq!(book.renew(&member).expect("renewed"), []);
}

#[test]
fn many_that_come_first_make_the_tables_once() {
    let Some(server) = Server::shared() else { return };
    let url = server.url(&server.database());
    let before = PostgresBook::connect(&url).expect("it is there").status().expect("a status");
    assert_eq!(before.schema, 0);
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                let book = PostgresBook::open(&url).expect("a book");
                book.open_volume(&VolumeName::new("s3://ours/v").expect("a name")).expect("made");
            });
        }
    });
    let status = PostgresBook::open(&url).expect("a book").status().expect("a status");
    assert_eq!((status.schema, status.volumes.len()), (forebay_book::SCHEMA, 1));
    assert!(status.tables.iter().any(|table| table.table == "name" && table.bytes > 0));
    assert!(status.server.starts_with("PostgreSQL "), "{}", status.server);
}

#[test]
fn a_database_that_takes_no_writes_says_so_and_is_read() {
    let Some(server) = Server::shared() else { return };
    let database = server.database();
    let url = server.url(&database);
    let member = joined(&PostgresBook::open(&url).expect("a book")).member;
    server.sql(
        "postgres",
        &format!("ALTER DATABASE {database} SET default_transaction_read_only = on"),
    );
    let book = PostgresBook::open(&url).expect("its tables are there");
    let error = book.renew(&member).expect_err("read only");
    assert_eq!(error.kind, ErrorKind::ReadOnly);
    assert!(error.next.contains("default_transaction_read_only"), "{}", error.next);
    assert_eq!(kind(book.take(&member, &[ROOT])), ErrorKind::ReadOnly);
    assert_eq!(
        kind(book.open_volume(&VolumeName::new("new").expect("a name"))),
        ErrorKind::ReadOnly
    );
    assert!(book.list(member.volume, ROOT).is_ok());
    assert!(book.status().expect("a status").read_only.is_some());
}

#[test]
fn a_database_that_was_away_is_used_again() {
    let Some(server) = Server::start() else { return };
    let private = PrivateServer::at(&server.folder, &search()).expect("a short path");
    let book = PostgresBook::open(&server.url("forebay")).expect("a book");
    let member = joined(&book).member;
    // However slow this machine is.
    let long = "UPDATE forebay.node SET expires = clock_timestamp() + interval '1 day'";
    server.sql("forebay", long);
    assert!(private.stop().expect("stopped"));
    assert_eq!(private.state().expect("a state"), ServerState::Stopped);
    let error = book.renew(&member).expect_err("it is away");
    assert_eq!(error.kind, ErrorKind::Unreachable);
    assert!(error.is_passing());
    assert!(error.message.contains("book postgres://forebay@/forebay"), "{error}");
    private.start(None).expect("started again");
    book.renew(&member).expect("the same book goes on");
    // Ends of idle connections are nobody's error.
    let end =
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'forebay'";
    server.sql("forebay", long);
    server.sql("postgres", end);
    book.renew(&member).expect("by a new connection");
    server.sql("forebay", "UPDATE forebay.node SET expires = clock_timestamp()");
    assert_eq!(kind(book.renew(&member)), ErrorKind::LeaseExpired);
    assert!(LEASE > Duration::ZERO && private.stop().expect("stopped"));
    assert!(!private.stop().expect("it is stopped"));
}

#[test]
fn a_publication_that_is_cut_off_is_taken_once() {
    let Some(server) = Server::shared() else { return };
    let database = server.database();
    let book = PostgresBook::open(&server.url(&database)).expect("a book");
    let joined = joined(&book);
    let member = joined.member;
    book.take(&member, &[ROOT]).expect("taken");
    let inode = book.lend_inodes(&member, 1).expect("lent").first;
    let change = FolderChange {
        claim: Claim::Held(forebay_book::Epoch(1)),
        ..held(ROOT, forebay_book::Epoch(1), vec![NameChange::Set(name("a"), inode)])
    };
    let publication = Publication {
        number: joined.published.next(),
        folders: vec![change],
        files: vec![small(inode, "1")],
    };
    // Somebody holds the folder's row, so that the publication stops in the middle.
    let mut other = server.psql(&database);
    other.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut other = other.spawn().expect("psql");
    let mut words = other.stdin.take().expect("a pipe");
    words.write_all(b"BEGIN; SELECT * FROM forebay.folder FOR UPDATE;\n").expect("written");
    words.flush().expect("written");
    let waits = format!(
        "SELECT pid FROM pg_stat_activity WHERE datname = '{database}' \
         AND wait_event_type = 'Lock' AND application_name = 'forebay'"
    );
    let holds = format!(
        "SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid) \
         WHERE a.datname = '{database}' AND mode = 'RowShareLock' AND application_name = 'psql'"
    );
    wait_until("the lock", || server.sql("postgres", &holds) != "0");
    std::thread::scope(|scope| {
        let published = scope.spawn(|| book.publish(&member, &publication));
        let mut pid = String::new();
        wait_until("the publication", || {
            pid = server.sql("postgres", &waits);
            !pid.is_empty()
        });
        server.sql("postgres", &format!("SELECT pg_terminate_backend({pid})"));
        words.write_all(b"ROLLBACK;\n").expect("written");
        drop(words);
        // Whether it was tried again within the call or is by us: it is there once.
        let first = published.join().expect("no panic");
        let after = match first {
            Ok(published) => Ok(published),
            Err(error) => {
                assert_eq!(error.kind, ErrorKind::Unreachable, "{error:?}");
                book.publish(&member, &publication)
            }
        };
        after.expect("published");
    });
    other.wait().expect("psql ends");
    let look = book.list(member.volume, ROOT).expect("a look");
    assert_eq!((look.version.0, look.published.len()), (1, 1));
    assert!(book.publish(&member, &publication).expect("known").again);
}

/// A database that takes its time ends no lease; what it takes in the end counts if the lease lasts.
#[test]
fn a_publication_that_takes_long_lets_the_lease_be_renewed() {
    let Some(server) = Server::shared() else { return };
    let database = server.database();
    let book = PostgresBook::open(&server.url(&database)).expect("a book");
    let world = World::of(book, |_| panic!("no time passes"));
    let (book, mut node) = (&world.book, world.node(1));
    let member = node.member;
    let root = node.take(ROOT);
    let folder = node.make_folder(ROOT, root, "folder");
    // From here on publications last for as long as there is a row in `slow`.
    server.sql(
        &database,
        "CREATE TABLE public.slow (x int); CREATE FUNCTION wait() RETURNS trigger AS $$ BEGIN \
         WHILE EXISTS (SELECT FROM public.slow) LOOP PERFORM pg_sleep(0.05); END LOOP; \
         RETURN NULL; END $$ LANGUAGE plpgsql; \
         CREATE TRIGGER slow BEFORE INSERT ON forebay.name \
         FOR EACH STATEMENT EXECUTE FUNCTION wait()",
    );
    for lasts in [true, false] {
        server.sql(&database, "INSERT INTO public.slow VALUES (1)");
        let file = node.inode();
        let text = if lasts { "lasts" } else { "ends" };
        let changes = vec![held(ROOT, root, vec![NameChange::Set(name(text), file)])];
        std::thread::scope(|scope| {
            let published = scope.spawn(|| node.try_publish(changes, vec![small(file, "x")]));
            let sleeps = format!(
                "SELECT count(*) FROM pg_stat_activity \
                 WHERE datname = '{database}' AND wait_event = 'PgSleep'"
            );
            while server.sql("postgres", &sleeps) == "0" {
                assert!(!published.is_finished(), "{:?}", published.join());
                std::thread::sleep(Duration::from_millis(20));
            }
            book.renew(&member).expect("the node's row is free");
            if !lasts {
                server.sql(&database, "UPDATE forebay.node SET expires = clock_timestamp()");
                let other = world.node(2).member;
                let taken = book.take(&other, &[folder]).expect("from a lease that is over");
                assert!(matches!(taken, Taken::All(_)), "{taken:?}");
            }
            server.sql(&database, "DELETE FROM public.slow");
            let published = published.join().expect("no panic");
            match lasts {
                true => assert!(!published.expect("the lease has lasted").again),
                false => assert_eq!(kind(published), ErrorKind::LeaseExpired),
            }
        });
    }
    let names = book.list(member.volume, ROOT).expect("listed").published;
    let names: Vec<&[u8]> = names.iter().map(|entry| entry.name.as_bytes()).collect();
    assert_eq!(names, [b"folder".as_slice(), b"lasts"]);
}

#[test]
fn what_refuses_is_told_without_the_password() {
    let Some(server) = Server::shared() else { return };
    let secret = "a-wrong-geheim";
    let at = |text: &str| {
        let sources = PasswordSources { password: Some(secret.to_owned()), passfile: None };
        BookUrl::parse(text, &sources).expect("a URL")
    };
    let folder = server.folder.display();
    let wrong = PostgresBook::open(&at(&format!("postgres://forebay@/forebay?host={folder}")))
        .expect_err("a wrong password");
    assert_eq!(wrong.kind, ErrorKind::Refused);
    assert!(wrong.next.contains("PGPASSWORD"), "{}", wrong.next);
    assert!(!format!("{wrong:?} {wrong} {}", wrong.next).contains(secret));
    let missing = PostgresBook::open(&server.url("nowhere")).expect_err("no such database");
    assert_eq!(missing.kind, ErrorKind::Refused);
    assert!(missing.message.contains("nowhere"), "{missing}");
    // Nobody listens; something listens that is no database; something that never answers.
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = free.local_addr().expect("an address").port();
    let thread = std::thread::spawn(move || {
        let (mut first, _) = free.accept().expect("a caller");
        first.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").expect("written");
        drop(first);
        let silent = free.accept().expect("a caller");
        std::thread::park();
        drop(silent);
    });
    let url = at(&format!("postgres://forebay@127.0.0.1:{port}/forebay"));
    assert_eq!(kind(PostgresBook::connect(&url)), ErrorKind::Unreachable);
    let silent = PostgresBook::connect(&url).expect_err("it never answers");
    assert_eq!(silent.kind, ErrorKind::Unreachable);
    assert!(silent.message.contains("no answer within"), "{silent}");
    thread.thread().unpark();
    thread.join().expect("no panic");
    assert_eq!(kind(PostgresBook::connect(&url)), ErrorKind::Unreachable);
}

#[test]
fn tls_is_spoken_with_whom_the_authority_vouches_for() {
    let Some(server) = Server::start() else { return };
    let folder = server.folder.clone();
    let private = PrivateServer::at(&folder, &search()).expect("a short path");
    private.stop().expect("stopped");
    let data = folder.join("data");
    let script = "set -e; cd \"$1\"; key='-newkey rsa:2048 -nodes'
        openssl req -x509 $key -days 2 -subj /CN=authority -keyout ca.key -out ca.crt
        openssl req $key -subj /CN=db -keyout server.key -out server.csr
        echo subjectAltName=DNS:localhost > names
        openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 \
            -extfile names -out server.crt";
    let made = Command::new("sh").args(["-c", script, "sh"]).arg(&data).output().expect("a shell");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let mut own = Command::new("chown");
    own.arg("--reference").arg(&data).arg(data.join("server.key"));
    assert!(own.status().expect("chown").success());
    let settings = data.join("postgresql.conf");
    let mut text = std::fs::read_to_string(&settings).expect("it is there");
    text.push_str("ssl = on\n");
    std::fs::write(&settings, text).expect("written");
    std::fs::write(
        folder.join("hba.conf"),
        "local all all scram-sha-256\nhostssl all all all scram-sha-256\n",
    )
    .expect("written");
    let port = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr();
    let address = port.expect("an address");
    private.start(Some(address)).expect("started with TLS");
    let open = |host: &str, more: &str| {
        let folder = folder.display();
        let text = format!(
            "postgres://forebay@{host}:{}/forebay?passfile={folder}/passfile{more}",
            address.port()
        );
        let url = BookUrl::parse(&text, &PasswordSources::default()).expect("a URL");
        PostgresBook::open(&url)
    };
    let certificate = format!("&sslrootcert={}/ca.crt", data.display());
    open("localhost", &format!("{certificate}&sslmode=verify-full")).expect("spoken");
    let open_text = open("localhost", "").expect_err("TLS is wanted");
    assert_eq!(open_text.kind, ErrorKind::Refused);
    assert!(open_text.next.contains("sslmode"), "{open_text:?}");
    let strangers = open("localhost", "&sslmode=require").expect_err("nobody vouches for it");
    assert_eq!(strangers.kind, ErrorKind::Refused);
    let other = open("127.0.0.1", &certificate).expect_err("the certificate is of another name");
    assert_eq!(other.kind, ErrorKind::Refused);
    assert!(other.message.contains("TLS"), "{other}");
}

#[test]
fn a_private_database_keeps_its_password() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let Some(server) = Server::start() else { return };
    let folder = &server.folder;
    let secret = password(folder);
    assert_eq!(secret.len(), 48);
    for (file, mode) in [("passfile", 0o600), ("book.conf", 0o600), ("", 0o700), ("data", 0o700)] {
        let meta = std::fs::metadata(folder.join(file)).expect("it is there");
        assert_eq!(meta.mode() & 0o7777, mode, "{file}");
        assert_eq!(meta.uid(), std::fs::metadata(folder).expect("there").uid(), "{file}");
    }
    assert!(!folder.join("pwfile").exists());
    for entry in std::fs::read_dir("/proc").expect("processes").flatten() {
        for file in ["cmdline", "environ"] {
            let text = std::fs::read(entry.path().join(file)).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            assert!(!text.contains(&secret), "{:?} {file}", entry.path());
        }
    }
    let log = std::fs::read_to_string(folder.join("log")).expect("a log");
    assert!(!log.contains(&secret));
    // Started twice is started once; by its settings it listens on a socket alone.
    let private = PrivateServer::at(folder, &search()).expect("a short path");
    private.start(None).expect("it runs");
    let (local, remote) = private.urls().expect("URLs");
    assert!(local.contains("passfile=") && !local.contains(&secret), "{local}");
    assert_eq!(remote, None);
    PostgresBook::open(&BookUrl::parse(&local, &PasswordSources::default()).expect("a URL"))
        .expect("a book");
    let elsewhere = private.start(Some("127.0.0.1:1".parse().expect("an address")));
    assert_eq!(kind(elsewhere), ErrorKind::Busy);
    // A folder that others could read before is closed; one with strange things is left alone.
    let strange = folder.parent().expect("above").join("strange");
    std::fs::create_dir(&strange).expect("made");
    std::fs::write(strange.join("thesis.tex"), "").expect("written");
    let at = PrivateServer::at(&strange, &search()).expect("a short path");
    let error = at.start(None).expect_err("not empty");
    assert!(error.message.contains("thesis.tex"), "{error}");
    assert_eq!(kind(at.stop()), ErrorKind::Refused);
    let open = std::fs::Permissions::from_mode(0o777);
    std::fs::remove_file(strange.join("thesis.tex")).expect("removed");
    std::fs::set_permissions(&strange, open).expect("set");
    at.start(None).expect("it starts");
    assert_eq!(std::fs::metadata(&strange).expect("there").mode() & 0o777, 0o700);
    at.stop().expect("stopped");
    let long = std::path::PathBuf::from(format!("/tmp/{}", "x".repeat(100)));
    assert_eq!(kind(PrivateServer::at(&long, &search())), ErrorKind::Invalid);
    let none = PrivateServer::at(folder, "/nonexistent".as_ref()).expect("a path");
    assert!(none.state().is_ok() || kind(none.state()) == ErrorKind::Refused);
}
