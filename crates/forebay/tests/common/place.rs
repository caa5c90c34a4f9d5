//! A place for one test: a project directory, a state directory, a run file to come; and what it
//! takes to start Forebay there. It waits for nothing longer than `PATIENCE`.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tempfile::TempDir;

use crate::processes;
use crate::turn::Turn;

pub(crate) const FOREBAY: &str = env!("CARGO_BIN_EXE_forebay");
/// Shell: waits for a file, but not for ever.
pub(crate) const AWAIT: &str = r#"await() {
    n=0
    while [ ! -e "$1" ]; do n=$((n + 1)); [ $n -lt 3000 ] || exit 99; sleep 0.1; done
}
"#;

/// Other tests, and other work, may keep the machine busy: this ends a hang, and judges nothing.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);
/// The ordinary user of these tests: a number that nobody has.
pub(crate) const USER: u32 = 1500;

/// What a command left: its end and its words.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Done {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    #[track_caller]
    pub(crate) fn code(&self, expected: i32) -> &Done {
        assert_eq!(self.status.code(), Some(expected), "{}\n{}", self.stderr, self.text());
        self
    }

    #[track_caller]
    pub(crate) fn says(&self, words: &str) -> &Done {
        assert!(self.stderr.contains(words), "{words:?} is not in:\n{}", self.stderr);
        self
    }
}

/// The place.
#[derive(Debug)]
pub(crate) struct Place {
    _dir: TempDir,
    pub(crate) all: PathBuf,
    pub(crate) project: PathBuf,
    pub(crate) state: PathBuf,
    pub(crate) run: PathBuf,
    turn: Option<Turn>,
}

impl Drop for Place {
    /// Of a test that fails, what the daemons said goes with it.
    fn drop(&mut self) {
        if std::thread::panicking() {
            tell_logs(&self.state);
        }
    }
}

/// Prints the last lines of each log below a folder.
fn tell_logs(folder: &Path) {
    const LINES: usize = 40;
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            tell_logs(&path);
        } else if path.extension() == Some(OsStr::new("log"))
            && let Ok(text) = std::fs::read_to_string(&path)
        {
            let from = text.lines().count().saturating_sub(LINES);
            let last: Vec<&str> = text.lines().skip(from).collect();
            println!("{}:\n{}", path.display(), last.join("\n"));
        }
    }
}

impl Place {
    /// `None`, loudly, where FUSE is closed.
    pub(crate) fn with_fuse() -> Option<Place> {
        let opens = std::fs::File::options().read(true).write(true).open("/dev/fuse");
        match opens {
            Ok(_) => Some(Place::new()),
            Err(error) => skip(&format!("/dev/fuse can't be used: {error}")),
        }
    }

    /// `None`, loudly, where this is not root with FUSE.
    pub(crate) fn with_root() -> Option<Place> {
        match rustix::process::geteuid().is_root() {
            true => Place::with_fuse(),
            false => skip("this test needs root"),
        }
    }

    pub(crate) fn new() -> Place {
        let dir = tempfile::Builder::new().prefix("forebay-cli-").tempdir().expect("a directory");
        let all = dir.path().canonicalize().expect("it is there");
        let (project, state, run) = (all.join("project"), all.join("state"), all.join("out.run"));
        std::fs::create_dir(&project).expect("a project directory");
        std::fs::create_dir(&state).expect("a state directory");
        let turn = Some(Turn::beside_others());
        Place { _dir: dir, all, project, state, run, turn }
    }

    /// Waits until no other test is under way, and keeps others from beginning.
    pub(crate) fn alone(mut self) -> Place {
        self.turn = None;
        self.turn = Some(Turn::alone());
        self
    }

    /// Gives all that is here to the ordinary user, and a copy of the binary that they can reach.
    pub(crate) fn give_to_user(&self) -> PathBuf {
        let binary = self.all.join("forebay");
        // By another process: a child of a neighbouring test could inherit our descriptor for
        // writing, and the kernel would call the program busy.
        let copied = Command::new("cp").arg(FOREBAY).arg(&binary).status().expect("cp is there");
        assert!(copied.success(), "cp failed");
        for path in [&self.all, &self.project, &self.state, &binary] {
            chown(path, Some(USER), Some(USER)).expect("given");
        }
        binary
    }

    /// A program, started in the project with this place's state directory.
    pub(crate) fn program(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.project).env("XDG_STATE_HOME", &self.state).stdin(Stdio::null());
        command.env_remove("NO_COLOR");
        command
    }

    /// Forebay with these words.
    pub(crate) fn forebay(&self, words: &[&str]) -> Command {
        let mut command = self.program(FOREBAY);
        command.args(words);
        command
    }

    /// `forebay run` of a shell script, into this place's run file; `options` come before it.
    pub(crate) fn script(&self, options: &[&str], script: &str) -> Command {
        let mut command = self.forebay(&["run", "-o"]);
        command.arg(&self.run).args(options).args(["--", "sh", "-c", script]);
        command
    }

    /// `command` behind a shell script that prepares (limits, umask).
    pub(crate) fn after(&self, prepare: &str, command: &Command) -> Command {
        let mut shell = self.program("sh");
        shell.args(["-c", &format!("{prepare}\nexec \"$@\""), "sh"]);
        shell.arg(command.get_program()).args(command.get_args());
        shell
    }

    /// The same in a mount namespace of its own: what it mounts, nobody else sees.
    pub(crate) fn apart(&self, prepare: &str, command: &Command) -> Command {
        let mut shell = self.program("unshare");
        shell.args(["-m", "sh", "-c", &format!("set -e\n{prepare}\nexec \"$@\""), "sh"]);
        shell.arg(command.get_program()).args(command.get_args());
        shell
    }

    /// The run file, open.
    #[track_caller]
    pub(crate) fn record(&self) -> Record {
        let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
        Record(Connection::open_with_flags(&self.run, flags).expect("SQLite opens the run file"))
    }

    /// Nothing is there that was not there before: process, mount, state file, folder of ours.
    #[track_caller]
    pub(crate) fn nothing_left(&self) {
        self.nobody_left();
        let state: Vec<_> = std::fs::read_dir(self.state.join("forebay"))
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            // Who had something to warn of has left a log.
            .filter(|path| !path.ends_with("daemons"))
            .collect();
        assert!(state.is_empty(), "left in the state directory: {state:?}");
        assert!(!self.project.join(".forebay").exists(), "left a folder in the project");
    }

    /// No process of ours lives on, and nothing is mounted here.
    #[track_caller]
    pub(crate) fn nobody_left(&self) {
        let start = Instant::now();
        loop {
            let users = processes::users_of(&self.all);
            if users.is_empty() {
                break;
            }
            assert!(start.elapsed() < PATIENCE, "left processes behind: {users:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").expect("the mount table");
        let here = self.all.to_str().expect("a plain name");
        assert!(!mounts.contains(here), "left a mount behind");
    }

    /// Waits for a file beside the project, where no daemon takes part in making it.
    #[track_caller]
    pub(crate) fn wait_for(&self, name: &str) {
        let (path, start) = (self.all.join(name), Instant::now());
        while !path.exists() {
            assert!(start.elapsed() < PATIENCE, "{name} did not come");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.project.join(name)).unwrap_or_else(|e| format!("({e})"))
    }

    pub(crate) fn mode(&self, path: &Path) -> u32 {
        std::fs::metadata(path).expect("it is there").mode() & 0o7777
    }
}

/// A run file, asked in SQL as its users do.
pub(crate) struct Record(pub(crate) Connection);

impl Record {
    #[track_caller]
    pub(crate) fn number(&self, sql: &str) -> i64 {
        self.0.query_row(sql, [], |row| row.get(0)).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }
}

/// Says on the terminal, past the capture of the test harness, that a test did not run.
pub(crate) fn skip<T>(why: &str) -> Option<T> {
    let name = std::thread::current().name().unwrap_or("a test").to_owned();
    let line = format!("\n!!! {name} DID NOT RUN: {why}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{why}, and CI=true");
    None
}

/// Runs a command to its end with nothing on standard input.
#[track_caller]
pub(crate) fn done(command: &mut Command) -> Done {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    finish(child, PATIENCE)
}

/// Waits for a child's end; one that takes longer than `patience` is killed, and the test fails.
#[track_caller]
pub(crate) fn finish(mut child: Child, patience: Duration) -> Done {
    let stdout = child.stdout.take().map(gather);
    let stderr = child.stderr.take().map(gather);
    drop(child.stdin.take());
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child can be waited for") {
            break status;
        }
        if start.elapsed() > patience {
            let _ = child.kill();
            let _ = child.wait();
            panic!("it did not end within {patience:?}");
        }
        std::thread::sleep(Duration::from_millis(3));
    };
    let text = |reader: Option<std::thread::JoinHandle<Vec<u8>>>| {
        reader.map(|reader| reader.join().expect("read")).unwrap_or_default()
    };
    let stderr = String::from_utf8_lossy(&text(stderr)).into_owned();
    Done { status, stdout: text(stdout), stderr }
}

fn gather(mut from: impl Read + Send + 'static) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        bytes
    })
}

/// Waits until something is so.
#[track_caller]
pub(crate) fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "it never came to be that {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
