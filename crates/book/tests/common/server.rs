//! A PostgreSQL for the tests of this process: a private one, as users start it. It is stopped and
//! removed by a shell that waits for the end of this process, however that ends.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use forebay_book::{BookUrl, PasswordSources, PrivateServer};

/// A database server.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) folder: PathBuf,
    bin: PathBuf,
}

/// Where programs are looked for.
pub(crate) fn search() -> std::ffi::OsString {
    std::env::var_os("PATH").unwrap_or_default()
}

/// A new folder that other users can reach.
pub(crate) fn reachable_folder() -> PathBuf {
    let folder = tempfile::Builder::new().prefix("fb-book-").tempdir().expect("a folder").keep();
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&folder, open).expect("it is ours");
    folder
}

/// Where PostgreSQL's programs are; without them the test does not run, and fails where CI=true.
pub(crate) fn programs() -> Option<PathBuf> {
    let places = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut places: Vec<PathBuf> = places.map(|entry| entry.path().join("bin")).collect();
    places.extend(std::env::split_paths(&search()));
    let found = places.into_iter().find(|place| place.join("initdb").is_file());
    if found.is_none() {
        eprintln!(
            "\n!!! {:?} DID NOT RUN: no PostgreSQL (scripts/setup-postgres.sh installs it)\n",
            std::thread::current().name()
        );
        assert!(std::env::var("CI").as_deref() != Ok("true"), "no PostgreSQL, and CI=true");
    }
    found
}

impl Server {
    /// One of its own, for a test that stops it or changes its settings.
    pub(crate) fn start() -> Option<Server> {
        let bin = programs()?;
        let all = reachable_folder();
        let folder = all.join("book");
        PrivateServer::at(&folder, &search())
            .expect("a short path")
            .start(None)
            .expect("it starts");
        let stop = "cat > /dev/null; kill -INT $(head -1 \"$1/book/data/postmaster.pid\"); \
                    while [ -e \"$1/book/data/postmaster.pid\" ] && n=$((n + 1)) && [ $n -lt 100 ]; \
                    do sleep 0.1; done; rm -rf \"$1\"";
        let guard = Command::new("sh")
            .args(["-c", stop, "sh"])
            .arg(&all)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell");
        std::mem::forget(guard); // Its pipe closes when this process ends.
        Some(Server { folder, bin })
    }

    /// The one that all tests of this process share.
    pub(crate) fn shared() -> Option<&'static Server> {
        static SERVER: OnceLock<Option<Server>> = OnceLock::new();
        SERVER.get_or_init(Server::start).as_ref()
    }

    /// A new database.
    pub(crate) fn database(&self) -> String {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("test{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        name
    }

    pub(crate) fn url_text(&self, database: &str) -> String {
        let folder = self.folder.display();
        format!("postgres://forebay@/{database}?host={folder}&passfile={folder}/passfile")
    }

    pub(crate) fn url(&self, database: &str) -> BookUrl {
        BookUrl::parse(&self.url_text(database), &PasswordSources::default()).expect("a URL")
    }

    pub(crate) fn psql(&self, database: &str) -> Command {
        let mut command = Command::new(self.bin.join("psql"));
        command
            .args(["-XAtq", "-v", "ON_ERROR_STOP=1", "-U", "forebay", "-h"])
            .arg(&self.folder)
            .arg(database)
            .env("PGPASSFILE", self.folder.join("passfile"))
            .current_dir("/");
        command
    }

    pub(crate) fn sql(&self, database: &str, text: &str) -> String {
        let output = self.psql(database).args(["-c", text]).output().expect("psql");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{text}: {said}");
        String::from_utf8(output.stdout).expect("text").trim_end().to_owned()
    }
}

/// The password of a server.
pub(crate) fn password(folder: &Path) -> String {
    let line = std::fs::read_to_string(folder.join("passfile")).expect("it is there");
    line.trim_end().rsplit(':').next().expect("a password").to_owned()
}
