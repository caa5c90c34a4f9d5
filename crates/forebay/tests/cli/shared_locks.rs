//! Locks in volumes that several nodes write. If these fail, two programs on two nodes change a file at
//! one time, a database loses what was put into it, or a lock outlives the node of who had it.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::place::{done, wait_until};
use crate::shared::Nodes;

/// A program that other programs lock out: each process adds to a counter so often, in a file that it
/// has open all the time.
const COUNT: &str = "
import fcntl, os, sys
how, rounds, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
lock = fcntl.flock if how == 'flock' else fcntl.lockf
fd = os.open(path, os.O_RDWR)
for _ in range(rounds):
    lock(fd, fcntl.LOCK_EX)
    now = int(os.pread(fd, 100, 0) or b'0')
    os.pwrite(fd, b'%d' % (now + 1), 0)
    lock(fd, fcntl.LOCK_UN)
";

/// Puts rows into a database, each with the number after the highest one.
const INSERT: &str = "
import sqlite3, sys
mode, rounds, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
db = sqlite3.connect(path, timeout=120, isolation_level=None)
assert db.execute('PRAGMA journal_mode=' + mode).fetchone()[0] == mode
for _ in range(rounds):
    db.execute('BEGIN IMMEDIATE')
    last = db.execute('SELECT coalesce(max(id), 0) FROM t').fetchone()[0]
    db.execute('INSERT INTO t VALUES (?, ?)', (last + 1, path + 'x' * 300))
    db.execute('COMMIT')
";

fn python(script: &str, words: &[&str], path: &Path) -> Command {
    let mut command = Command::new("python3");
    command.args(["-c", script]).args(words).arg(path);
    command
}

#[track_caller]
fn all_end_well(children: Vec<Child>) {
    for child in children {
        let end = child.wait_with_output().expect("it ends");
        let told = String::from_utf8_lossy(&end.stderr).into_owned();
        assert!(end.status.success(), "{told}");
    }
}

fn start(mut command: Command) -> Child {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("python3")
}

/// A process that has locked a file, and writes to it for each line that it gets.
const HOLD: &str = "
import fcntl, os, sys
fd = os.open(sys.argv[2], os.O_RDWR)
(fcntl.flock if sys.argv[1] == 'flock' else fcntl.lockf)(fd, fcntl.LOCK_EX)
print('locked', flush=True)
for line in sys.stdin:
    try:
        os.pwrite(fd, b'mine', 0)
        print('written', flush=True)
    except OSError as error:
        print('errno', error.errno, flush=True)
";

struct Holder(Child, BufReader<std::process::ChildStdout>);

impl Holder {
    fn start(how: &str, path: &Path) -> Holder {
        let mut child = start(python(HOLD, &[how], path));
        let out = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut holder = Holder(child, out);
        assert_eq!(holder.line(), "locked\n");
        holder
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.1.read_line(&mut line).expect("a line");
        line
    }

    fn write(&mut self) -> String {
        self.0.stdin.as_mut().expect("a pipe").write_all(b"\n").expect("it reads");
        self.line()
    }
}

/// Whether somebody has a lock on a file, of the kind that flock(1) takes.
fn is_locked(path: &Path) -> bool {
    let tried = Command::new("flock").arg("-n").arg(path).arg("true").status().expect("flock");
    !tried.success()
}

#[test]
fn programs_of_three_nodes_lock_files_in_turn() {
    let Some(nodes) = Nodes::with_postgres(3) else { return };
    let points = [nodes.point(0), nodes.point(1), nodes.point(2)];
    fs::create_dir(points[0].join("d")).expect("made");
    for how in ["flock", "fcntl"] {
        let name = format!("d/count-{how}");
        fs::write(points[0].join(&name), "").expect("made");
        let both = points.iter().chain(&points);
        all_end_well(both.map(|at| start(python(COUNT, &[how, "150"], &at.join(&name)))).collect());
        for point in &points {
            assert_eq!(fs::read_to_string(point.join(&name)).expect("it is there"), "900", "{how}");
        }
    }

    for mode in ["delete", "truncate"] {
        let name = format!("d/{mode}.db");
        let new = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute(\
                   'CREATE TABLE t (id INTEGER PRIMARY KEY, who TEXT)')";
        done(&mut python(new, &[], &points[0].join(&name))).code(0);
        let rounds = points.iter().map(|at| start(python(INSERT, &[mode, "20"], &at.join(&name))));
        all_end_well(rounds.collect());
        let look = "import sqlite3, sys; db = sqlite3.connect(sys.argv[1], timeout=60); \
                    print(db.execute('PRAGMA integrity_check').fetchone()[0], \
                    *db.execute('SELECT count(*), max(id) FROM t').fetchone())";
        for point in &points {
            let told = done(&mut python(look, &[], &point.join(&name))).code(0).text();
            assert_eq!(told, "ok 60 60\n", "{mode}");
        }
    }
    // Its log in common memory works where the first one is; nowhere else at that time.
    let wal = "
import sqlite3, sys
first = sqlite3.connect(sys.argv[1] + '/d/wal.db', isolation_level=None)
assert first.execute('PRAGMA journal_mode=wal').fetchone()[0] == 'wal'
first.execute('CREATE TABLE t (id INTEGER)')
try:
    second = sqlite3.connect(sys.argv[2] + '/d/wal.db', timeout=1)
    second.execute('INSERT INTO t VALUES (1)')
    print('taken')
except sqlite3.OperationalError as error:
    print('refused:', error)
first.execute('INSERT INTO t VALUES (2)')
print(first.execute('SELECT id FROM t').fetchall())
";
    let told = done(&mut python(wal, &[&points[0].to_string_lossy()], &points[1])).code(0).text();
    assert!(told.contains("refused: ") && told.contains("[(2,)]"), "{told}");

    // A signal ends a wait, and so does the end of who has the lock.
    let file = points[0].join("d/count-fcntl");
    let mut holder = Holder::start("fcntl", &file);
    let wait = "
import fcntl, os, signal, sys
def late(*_): raise TimeoutError
signal.signal(signal.SIGALRM, late)
signal.setitimer(signal.ITIMER_REAL, 0.3)
fd = os.open(sys.argv[1], os.O_RDWR)
try:
    fcntl.lockf(fd, fcntl.LOCK_EX)
    print('locked')
except TimeoutError:
    print('a signal')
import struct
asked = struct.pack('hhqqi', fcntl.F_WRLCK, 0, 0, 0, 0)
kind = struct.unpack('hhqqi', fcntl.fcntl(fd, fcntl.F_GETLK, asked))[0]
print('in the way' if kind == fcntl.F_WRLCK else 'free')
";
    for point in &points {
        let told = done(&mut python(wait, &[], &point.join("d/count-fcntl"))).code(0).text();
        assert!(told.contains("a signal\nin the way"), "{}: {told}", point.display());
    }
    let waiting = points[2].join("d/count-fcntl");
    let next = std::thread::spawn(move || Holder::start("fcntl", &waiting));
    assert_eq!(holder.write(), "written\n");
    assert!(!next.is_finished(), "it waits for the lock");
    holder.0.kill().and_then(|()| holder.0.wait()).expect("it was there");
    let mut next = next.join().expect("it has the lock");
    assert_eq!(next.write(), "written\n");
    next.0.kill().and_then(|()| next.0.wait()).expect("it was there");
    for node in 0..3 {
        nodes.unmount(node);
    }
}

#[test]
fn locks_of_a_node_that_is_killed_or_stopped_end_with_its_lease() {
    let Some(nodes) = Nodes::with_postgres(3) else { return };
    let points = [nodes.point(0), nodes.point(1), nodes.point(2)];
    let on = |node: usize, name: &str| points[node].join(name);
    fs::create_dir(on(0, "d")).expect("made");
    for name in ["d/killed", "d/stopped"] {
        fs::write(on(0, name), "none").expect("made");
    }
    let mut killed = Holder::start("flock", &on(0, "d/killed"));
    let mut stopped = Holder::start("flock", &on(1, "d/stopped"));
    assert_eq!((killed.write(), stopped.write()), ("written\n".into(), "written\n".into()));
    // The folder is the third one's, and the locks stay.
    fs::write(on(2, "d/other"), "").expect("made");
    assert!(is_locked(&on(2, "d/killed")) && is_locked(&on(2, "d/stopped")));
    nodes.kill(0);
    nodes.signal(1, "-STOP");
    for name in ["d/killed", "d/stopped"] {
        wait_until("the lease ends", || !is_locked(&on(2, name)));
        fs::write(on(2, name), "others").expect("it is free");
    }
    nodes.signal(1, "-CONT");
    assert_eq!(stopped.write(), "errno 5\n", "its lock was lost with the lease");
    assert_eq!(fs::read_to_string(on(1, "d/stopped")).expect("it is there"), "others");
    for mut holder in [killed, stopped] {
        let _ = holder.0.kill();
        holder.0.wait().expect("it was there");
    }
    wait_until("it is closed, and can be locked anew", || !is_locked(&on(1, "d/stopped")));
    nodes.unmount(1);
}
