//! The recorder for everybody: what it says of programs that make it hard, and that no program is
//! harmed by it, whatever happens to it. If these fail, a record says what was not so, or a program
//! under it hangs or does something else than without it.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use forebay_volume::notifications;
use rustix::process::{Pid, Signal, kill_process};

use crate::place::{PATIENCE, Place, USER, done, finish, skip, wait_until};
use crate::processes;
use crate::recorders::{all_programs, lines, state_file};

const NOTIFY: [&str; 4] = ["-q", "--recorder", "notify", "--force"];

/// Python that speaks to the kernel: filters, and machine code.
pub(crate) const KIT: &str = r#"
import ctypes, mmap, os, socket, struct, sys, threading, time
L = ctypes.CDLL(None, use_errno=True)
SECCOMP = {"x86_64": 317, "aarch64": 277}[os.uname().machine]
READ_MEMORY = {"x86_64": 310, "aarch64": 270}[os.uname().machine]
GETPGID = {"x86_64": 121, "aarch64": 155}[os.uname().machine]
KILL, EPERM, ALLOW = 0x80000000, 0x00050001, 0x7fff0000
def install(number, action, flags=0):
    rows = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (6, 0, 0, action), (6, 0, 0, ALLOW)]
    text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in rows))
    program = struct.pack("HxxxxxxP", len(rows), ctypes.addressof(text))
    L.prctl(38, 1, 0, 0, 0)
    made = L.syscall(SECCOMP, 1, flags, program)
    return made, ctypes.get_errno()
"#;

/// `None`, loudly, where the kernel has no such notifications.
fn place_for_it() -> Option<Place> {
    match notifications::probe() {
        Ok(()) => Some(Place::new()),
        Err(why) => skip(&format!("system calls can't be watched here: {why}")),
    }
}

fn say_skipped(why: &str) {
    let _: Option<()> = skip(why);
}

fn root_place() -> Option<Place> {
    match rustix::process::geteuid().is_root() {
        true => place_for_it(),
        false => skip("this test needs root"),
    }
}

/// Python after the kit, under the recorder.
fn python(place: &Place, options: &[&str], text: &str) -> Command {
    python_by(place, options, &format!("{KIT}{text}"))
}

fn python_by(place: &Place, options: &[&str], text: &str) -> Command {
    let mut command = place.forebay(&["run", "-o"]);
    command.arg(&place.run).args(options);
    command.args(["--", "/usr/bin/python3", "-I", "-S", "-c", text]);
    command
}

/// Forebay, started by Python that does something to itself before.
fn prepared_by(place: &Place, text: &str, words: &[&str]) -> Command {
    let text = format!("{KIT}{text}\nos.execv(sys.argv[1], sys.argv[1:])");
    let mut command = place.program("/usr/bin/python3");
    command.args(["-I", "-S", "-c", &text]).arg(crate::place::FOREBAY).args(words);
    command
}

/// As the ordinary user, who has all that is here.
fn as_user(place: &Place, command: &Command) -> Command {
    let mut user = place.program("setpriv");
    let identity = USER.to_string();
    user.args(["--reuid", &identity, "--regid", &identity, "--clear-groups"]);
    user.arg(place.give_to_user()).args(command.get_args());
    user
}

fn has_bubblewrap() -> bool {
    Command::new("bwrap").arg("--version").output().is_ok_and(|end| end.status.success())
}

/// As the ordinary user, in namespaces of all kinds, with no device for a mount.
fn in_container(place: &Place, command: &Command) -> Command {
    // What root's runs left there would be nobody's in the container.
    let _ = std::fs::remove_dir_all(place.state.join("forebay"));
    let binary = place.give_to_user();
    let all = place.all.to_str().expect("plain").to_owned();
    let mut inside = place.program("setpriv");
    let identity = USER.to_string();
    inside.args(["--reuid", &identity, "--regid", &identity, "--clear-groups", "bwrap"]);
    inside.args(["--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]);
    inside.args(["--bind", &all, &all, "--chdir"]).arg(&place.project);
    // Whoever finds the device there is in no such container.
    inside.args(["sh", "-c", "test ! -e /dev/fuse && exec \"$@\"", "sh"]).arg(&binary);
    inside.args(command.get_args());
    inside
}

#[test]
fn notifications_tell_what_a_mount_tells() {
    let Some(mut place) = Place::with_root().filter(|_| notifications::probe().is_ok()) else {
        return;
    };
    let mut told = Vec::new();
    for (recorder, trace, who) in [
        ("fuse", "every-read", "root"),
        ("notify", "files", "root"),
        ("notify", "every-read", "root"),
        ("notify", "files", "user"),
        ("notify", "every-read", "user"),
        ("notify", "files", "user in a container"),
        ("notify", "every-read", "user in a container"),
    ] {
        if who.contains("container") && !has_bubblewrap() {
            say_skipped("bwrap is not installed");
            continue;
        }
        place.project = place.all.join("project");
        std::fs::remove_dir_all(&place.project).expect("removed");
        std::fs::create_dir(&place.project).expect("made");
        let options = ["-q", "--recorder", recorder, "--trace", trace, "--force"];
        let command = place.script(&options, &all_programs());
        let mut command = match who {
            "root" => command,
            "user" => as_user(&place, &command),
            _ => in_container(&place, &command),
        };
        done(&mut command).code(0);
        let record = place.record();
        assert_eq!(record.number("SELECT value FROM header WHERE key = 'complete'"), 1);
        if recorder == "notify" {
            let unknown = "SELECT count(*) FROM tasks WHERE cpu_user_us IS NULL";
            assert_eq!(record.number(unknown), 0, "each says its end");
        }
        told.push((format!("{recorder} {trace}, {who}"), lines(&record)));
        place.nothing_left();
    }
    let (_, mount) = &told[0];
    for (name, record) in &told[1..] {
        assert!(record.len() > 150, "too little: {record:#?}");
        let differences: Vec<String> = mount
            .keys()
            .chain(record.keys())
            // Who is killed does not say where its positions were.
            .filter(|key| *key != "written killed/f" && mount.get(*key) != record.get(*key))
            .map(|key| format!("{key}: fuse {:?}, {:?}", mount.get(key), record.get(key)))
            .collect();
        assert!(differences.is_empty(), "{name}: {differences:#?}");
        assert_eq!(record.get("written killed/f"), None, "{name} guesses");
    }
}

#[test]
fn positions_tell_bytes_and_what_they_do_not_tell_is_not_seen() {
    let Some(place) = place_for_it() else { return };
    let text = r#"
def at(name, flags):
    return os.open(name, flags | os.O_CREAT)
f = at("sequential", os.O_WRONLY); [os.write(f, b"x" * 1000) for _ in range(300)]; os.close(f)
f = at("sequential", os.O_RDONLY); os.read(f, 100000); os.lseek(f, 200000, 0); os.read(f, 1 << 20)
os.lseek(f, -10, 2); os.read(f, 100); os.lseek(f, -5, 1); os.read(f, 100); os.close(f)
f = at("offsets", os.O_WRONLY); os.pwrite(f, b"x" * 500, 4096); os.pwritev(f, [b"y" * 20, b"z" * 30], 0); os.close(f)
f = at("offsets", os.O_RDONLY); os.pread(f, 10000, 4096); os.close(f)
f = at("log", os.O_WRONLY | os.O_APPEND); os.write(f, b"first"); os.close(f)
f = at("log", os.O_WRONLY | os.O_APPEND); os.write(f, b"second"); os.close(f)
f = at("both", os.O_RDWR); os.write(f, b"x" * 100); os.lseek(f, 0, 0); os.read(f, 50); os.close(f)
f = at("untouched", os.O_RDWR); os.close(f)
f = at("sequential", os.O_RDONLY); m = mmap.mmap(f, 4096, prot=mmap.PROT_READ); m[0]; os.close(f)
"#;
    done(&mut python(&place, &NOTIFY, text)).code(0);
    let record = place.record();
    let bytes = |name: &str, column: &str, write: u32| {
        record.number(&format!(
            "SELECT coalesce(sum({column}), -1) FROM opens JOIN files USING (file) \
             WHERE path = '{name}' AND write = {write}"
        ))
    };
    assert_eq!(bytes("sequential", "written_bytes", 1), 300_000);
    assert_eq!(bytes("sequential", "read_bytes", 0), 100_000 + 100_000 + 10 + 5);
    assert_eq!(bytes("offsets", "written_bytes", 1), 550);
    assert_eq!(bytes("offsets", "read_bytes", 0), 500, "a read ends with the file");
    assert_eq!(bytes("log", "written_bytes", 1), 11);
    assert_eq!(bytes("both", "written_bytes", 1), -1, "read or written: who knows");
    assert_eq!((bytes("both", "hidden", 1), bytes("untouched", "hidden", 1)), (1, 0));
    assert_eq!(bytes("untouched", "written_bytes", 1), 0);
    let mapped = "SELECT count(*) FROM opens WHERE read_bytes IS NULL AND NOT write";
    assert_eq!(record.number(mapped), 1);
    assert_eq!(record.number("SELECT count(*) FROM tasks WHERE waited_us IS NOT NULL"), 0);
    // With each read, that is known, too, and how many calls there were in which order.
    let options = ["-q", "--recorder", "notify", "--force", "--trace", "every-read"];
    done(&mut python(&place, &options, text)).code(0);
    let record = place.record();
    let sum = |what: &str, name: &str| {
        record.number(&format!(
            "SELECT sum({what}) FROM opens JOIN files USING (file) WHERE path = '{name}'"
        ))
    };
    assert_eq!((sum("written_bytes", "both"), sum("read_bytes", "both")), (100, 50));
    assert_eq!(sum("written_calls", "sequential"), 300);
    let random = "SELECT sum(count) FROM ops WHERE op = 'read' AND pattern = 'random'";
    assert!(record.number(random) >= 1);
    place.nothing_left();
}

#[test]
fn descriptors_are_followed_wherever_they_go() {
    let Some(place) = place_for_it() else { return };
    let text = r#"
f = os.open("duplicates", os.O_WRONLY | os.O_CREAT)
g = os.dup(f); h = os.dup2(f, 77); os.close(f); os.write(g, b"1"); os.close(g); os.write(h, b"2"); os.close(h)
f = os.open("inherited", os.O_WRONLY | os.O_CREAT); os.set_inheritable(f, True)
if os.fork() == 0:
    time.sleep(0.2); os.write(f, b"child"); os._exit(0)
os.close(f); os.wait()
f = os.open("on-exec", os.O_WRONLY | os.O_CREAT); os.write(f, b"xyz")
if os.fork() == 0:
    os.execv("/bin/true", ["true"])
os.wait(); os.close(f)
f = os.open("spawned", os.O_WRONLY | os.O_CREAT)
os.posix_spawn("/bin/sh", ["sh", "-c", "echo 4567"], {}, file_actions=[(os.POSIX_SPAWN_DUP2, f, 1)]); os.wait(); os.close(f)
f = os.open("linked", os.O_WRONLY | os.O_CREAT); g = os.open("/proc/self/fd/%d" % f, os.O_WRONLY)
os.write(g, b"linked"); os.close(g); os.close(f)
if os.fork() == 0:
    f = os.open("range", os.O_WRONLY | os.O_CREAT); os.write(f, b"r"); os.closerange(3, 100); os._exit(0)
os.wait()
f = os.open("begun", os.O_WRONLY | os.O_CREAT); os.set_inheritable(f, True)
if os.fork() == 0:
    os.write(f, b"1"); os.close(f); os._exit(0)
os.wait(); os.write(f, b"2"); os.close(f)
a, b = socket.socketpair()
if os.fork() == 0:
    f = os.open("passed", os.O_RDWR | os.O_CREAT); socket.send_fds(a, [b"x"], [f]); os._exit(0)
os.wait(); _, got, _, _ = socket.recv_fds(b, 1, 1); os.write(got[0], b"unseen"); os.close(got[0])
CLONE_FILES = 0x400; SIGCHLD = 17
clone = {"x86_64": 56, "aarch64": 220}[os.uname().machine]
f = os.open("shared", os.O_WRONLY | os.O_CREAT)
if L.syscall(clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0) == 0:
    os.write(f, b"together"); os.close(f); os._exit(0)
os.wait()
"#;
    let mut command = python(&place, &["--recorder", "notify", "--force"], text);
    let end = done(&mut command);
    end.code(0).says("1 descriptor of files that came from elsewhere");
    let record = place.record();
    for (name, written, opens) in [
        ("duplicates", 2, 1),
        ("inherited", 5, 1),
        ("on-exec", 3, 1),
        ("spawned", 5, 1),
        ("linked", 6, 2),
        ("range", 1, 1),
        ("begun", 2, 1),
        ("shared", 8, 1),
    ] {
        let sum = |what: &str| {
            record.number(&format!(
                "SELECT {what} FROM opens JOIN files USING (file) WHERE path = '{name}'"
            ))
        };
        assert_eq!((sum("sum(written_bytes)"), sum("count(*)")), (written, opens), "{name}");
    }
    let strange =
        "SELECT CAST(value AS INTEGER) FROM header WHERE key = 'more.strange_descriptors'";
    assert_eq!(record.number(strange), 1);
    assert_eq!(record.number("SELECT value FROM header WHERE key = 'complete'"), 1);
    place.nothing_left();
}

#[test]
fn other_namespaces_and_bind_mounts_lead_to_the_same_files_here_too() {
    let Some(place) = root_place() else { return };
    let script = "unshare -m sh -c 'mkdir ../bound; mount --bind . ../bound; cd /; \
        echo x > $0/bound/f; mv $0/bound/f $0/bound/g; mount --bind $0/bound /mnt; rm /mnt/g'; \
        cd ..; echo y > project/k; mv project/k project/l; ln -s project/l way; cat way > /dev/null";
    let script = script.replace("$0", place.all.to_str().expect("a plain name"));
    done(&mut place.script(&NOTIFY, &script)).code(0);
    let record = place.record();
    assert_eq!(record.number("SELECT count(*) FROM files WHERE path = 'g' AND gone_us > 0"), 1);
    assert_eq!(record.number("SELECT sum(count) FROM ops WHERE op IN ('rename', 'unlink')"), 3);
    assert_eq!(record.number("SELECT sum(read_bytes) FROM opens"), 2, "through a link outside");
    assert_eq!(record.number("SELECT count(*) FROM files"), 2);
    place.nothing_left();
}

#[test]
fn failures_are_told_from_what_was_done() {
    let Some(place) = place_for_it() else { return };
    let text = r#"
def tries(what, *words):
    try:
        what(*words)
    except OSError:
        pass
os.mkdir("d"); open("f", "w").close(); os.mkdir("full"); open("full/x", "w").close()
tries(os.mkdir, "d"); tries(os.rmdir, "full"); tries(os.rename, "f", "full"); tries(os.unlink, "d")
tries(os.open, "absent", 0); tries(os.open, "full", os.O_WRONLY); tries(os.unlink, "absent")
tries(os.rename, "absent", "f"); tries(os.link, "f", "full/x"); os.rename("f", "g"); os.rmdir("d")
"#;
    done(&mut python(&place, &NOTIFY, text)).code(0);
    let record = place.record();
    let count = |what: &str, op: &str| {
        record.number(&format!("SELECT coalesce(sum({what}), 0) FROM ops WHERE op = '{op}'"))
    };
    assert_eq!((count("count", "rename"), count("failed", "rename")), (2, 1));
    assert_eq!((count("count", "rmdir"), count("failed", "rmdir")), (2, 1));
    assert_eq!((count("count", "unlink"), count("failed", "unlink")), (1, 1));
    assert_eq!((count("count", "mkdir"), count("failed", "open")), (2, 1));
    assert_eq!(count("count", "lookup_failed"), 3);
    assert_eq!(record.number("SELECT count(*) FROM files WHERE path = 'g'"), 1);
    place.nothing_left();
}

const BUSY: &str = r#"
wrong = []
def work(number):
    for i in range(3000):
        name = "f%d-%d" % (number, i)
        try:
            f = os.open(name, os.O_WRONLY | os.O_CREAT); os.write(f, b"x"); os.close(f); os.unlink(name)
        except OSError as error:
            wrong.append(error)
            return
        if i == 100:
            open("../begun", "a").close()
all = [threading.Thread(target=work, args=(number,)) for number in range(4)]
[one.start() for one in all]; [one.join() for one in all]
"#;

#[test]
fn a_killed_watcher_harms_no_program_and_leaves_its_record() {
    let Some(place) = place_for_it() else { return };
    let text = format!("{BUSY}\nopen('after', 'w').write('%d' % len(wrong))\n");
    let child = python(&place, &NOTIFY, &text).stderr(Stdio::piped()).spawn().expect("started");
    place.wait_for("begun");
    processes::kill(processes::daemon(&place.state));
    let end = finish(child, PATIENCE);
    end.code(0).says("the command went on");
    assert_eq!(place.read("after"), "0", "a call failed");
    place.nobody_left();
    let run = state_file(&place).expect("the record");
    let saved = place.all.join("saved.run");
    let words = ["doctor", "--salvage", run.to_str().expect("plain"), "-o"];
    done(place.forebay(&words).arg(&saved)).code(0);
}

/// The process that answers for a daemon that died.
fn rescuer_of(daemon: i32) -> i32 {
    let parent = |pid: &str| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let rest = stat.rsplit_once(')').map(|(_, rest)| rest.to_owned()).unwrap_or_default();
        rest.split_whitespace().nth(1).map(str::to_owned)
    };
    let front = parent(&daemon.to_string()).expect("its parent");
    let all = std::fs::read_dir("/proc").expect("the processes").flatten();
    let names = all.filter_map(|entry| entry.file_name().into_string().ok());
    let is_it = |pid: &String| {
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        name.trim() == "forebay-rescue" && parent(pid).as_ref() == Some(&front)
    };
    names.filter(is_it).find_map(|pid| pid.parse().ok()).expect("the rescuer")
}

#[test]
fn nothing_hangs_when_all_who_could_answer_are_killed() {
    let Some(place) = place_for_it() else { return };
    // Without an answer calls fail (ENOSYS), that to exit, too: a signal ends the process.
    let text = format!("{BUSY}\nos.kill(os.getpid(), 15)\n");
    let child = python(&place, &NOTIFY, &text).stderr(Stdio::piped()).spawn().expect("started");
    place.wait_for("begun");
    let daemon = processes::daemon(&place.state);
    let rescuer = rescuer_of(daemon);
    processes::kill(rescuer);
    processes::kill(daemon);
    let end = finish(child, PATIENCE);
    assert_eq!(end.status.signal(), Some(15), "{}", end.stderr);
    place.nobody_left();
}

#[test]
fn who_is_killed_while_it_waits_keeps_nobody_waiting() {
    let Some(place) = place_for_it() else { return };
    let text = r#"
children = []
for number in range(8):
    child = os.fork()
    if child == 0:
        while True:
            f = os.open("f%d" % number, os.O_WRONLY | os.O_CREAT); os.close(f)
    children.append(child)
while not all(os.path.exists("f%d" % number) for number in range(8)):
    time.sleep(0.01)
open("../begun", "w").close()
while not os.path.exists("../go"):
    time.sleep(0.01)
[os.kill(child, 9) for child in children]
open("../killed", "w").close()
[os.wait() for child in children]
open("after", "w").write("x")
"#;
    let child = python(&place, &NOTIFY, text).stderr(Stdio::piped()).spawn().expect("started");
    place.wait_for("begun");
    let daemon = Pid::from_raw(processes::daemon(&place.state)).expect("a pid");
    kill_process(daemon, Signal::STOP).expect("it was there");
    std::fs::write(place.all.join("go"), "").expect("written");
    // The command waits for its look at `go` to be let on, so it is first that we go on.
    std::thread::sleep(std::time::Duration::from_millis(50));
    kill_process(daemon, Signal::CONT).expect("it was there");
    place.wait_for("killed");
    finish(child, PATIENCE).code(0);
    let record = place.record();
    assert_eq!(record.number("SELECT value FROM header WHERE key = 'complete'"), 1);
    assert_eq!(record.number("SELECT count(*) FROM opens WHERE closed_us IS NULL"), 0);
    assert_eq!(record.number("SELECT count(*) FROM processes"), 9);
    place.nothing_left();
}

#[test]
fn signals_interrupt_no_call_that_they_would_not_interrupt() {
    let Some(place) = place_for_it() else { return };
    let text = r#"
import signal
count = [0]
def note(*_):
    count[0] += 1
signal.signal(signal.SIGALRM, note); signal.siginterrupt(signal.SIGALRM, False)
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
wrong = 0
for i in range(6000):
    path = b"f%d" % i
    f = L.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    wrong += f < 0 or L.close(f) < 0
    wrong += L.unlink(path) < 0
signal.setitimer(signal.ITIMER_REAL, 0)
open("after", "w").write("%d %d" % (wrong, count[0] > 10))
"#;
    done(&mut python(&place, &NOTIFY, text)).code(0);
    assert_eq!(place.read("after"), "0 1");
    let record = place.record();
    let count = |op: &str| record.number(&format!("SELECT sum(count) FROM ops WHERE op = '{op}'"));
    assert_eq!((count("create"), count("close"), count("unlink")), (6001, 6001, 6000));
    place.nothing_left();
}

#[test]
fn thousands_of_processes_and_those_that_outlive_the_command_are_recorded() {
    let Some(place) = place_for_it() else { return };
    let forks = "f() { [ $1 = 0 ] || { f $(($1 - 1)) & f $(($1 - 1)) & wait; }; }; f 10; echo x > b; \
        i=0; while [ $i -lt 500 ]; do /bin/true; i=$((i + 1)); done";
    done(&mut place.script(&NOTIFY, forks)).code(0);
    let record = place.record();
    assert_eq!(record.number("SELECT value FROM header WHERE key = 'complete'"), 1);
    assert_eq!(record.number("SELECT count(*) FROM processes"), 2047 + 500);
    assert_eq!(record.number("SELECT count(*) FROM processes WHERE parent IS NULL"), 1);
    done(&mut place.script(&NOTIFY, "(sleep 1; echo late > late) & echo x > c")).code(0);
    wait_until("the run file is whole", || {
        place.record().number("SELECT count(*) FROM files WHERE path = 'late'") == 1
    });
    let end = done(&mut place.script(&NOTIFY, "echo x > a; kill -9 $$"));
    assert_eq!(end.status.signal(), Some(9));
    assert_eq!(place.record().number("SELECT count(*) FROM opens WHERE closed_us IS NULL"), 0);
    place.nothing_left();
}

#[test]
fn filters_and_listeners_of_others_are_told_of() {
    let Some(place) = place_for_it() else { return };
    let run = place.run.to_str().expect("plain").to_owned();
    let words = ["run", "-q", "--recorder", "notify", "-o", &run, "--force", "--", "true"];
    for (text, says) in [
        ("assert install(SECCOMP, KILL) == (0, 0)", "a seccomp filter that is in force here kills"),
        ("assert install(SECCOMP, EPERM) == (0, 0)", "Operation not permitted"),
        ("assert install(READ_MEMORY, EPERM) == (0, 0)", "may not read the memory of another"),
        (
            "assert install(READ_MEMORY, KILL) == (0, 0)",
            "a seccomp filter that is in force here kills",
        ),
        (
            "os.set_inheritable(install(GETPGID, ALLOW, 8)[0], True)",
            "a program above has seccomp notifications",
        ),
    ] {
        done(&mut prepared_by(&place, text, &words)).code(125).says(says);
    }
    // A filter that forbids other things is none of its business.
    let text = "assert install(GETPGID, KILL) == (0, 0)";
    done(&mut prepared_by(&place, text, &words)).code(0);
    // Nor is one that a program has for itself.
    let own = "assert install(GETPGID, KILL) == (0, 0); open('after', 'w').write('x' * 100)";
    done(&mut python(&place, &NOTIFY, own)).code(0);
    assert_eq!(place.record().number("SELECT sum(written_bytes) FROM opens"), 100);
    let listens = "open('after', 'w').write('%d %d' % install(GETPGID, ALLOW, 8))";
    let end = done(&mut python(&place, &NOTIFY, listens));
    end.code(0).says("python3 asks for seccomp notifications of its own");
    assert_eq!(place.read("after"), "-1 16", "the kernel allows one");
    place.nothing_left();
}

#[test]
fn set_user_programs_are_warned_of_and_root_keeps_them() {
    let Some(place) = root_place() else { return };
    let tool = place.all.join("tool");
    std::fs::copy("/usr/bin/id", &tool).expect("copied");
    let script = "../tool -u";
    let mut command = as_user(&place, &place.script(&NOTIFY, script));
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o4755)).expect("set");
    let end = done(&mut command);
    end.code(0).says("a set-user program");
    assert_eq!(end.text(), format!("{USER}\n"));
    let end = done(&mut place.script(&NOTIFY, &format!("setpriv --reuid {USER} ../tool -u")));
    assert_eq!(end.code(0).text(), "0\n", "root gives up no right");
    assert!(!end.stderr.contains("set-user"), "{}", end.stderr);
    place.nothing_left();
}

#[test]
#[cfg(target_arch = "x86_64")]
fn calls_of_32_bits_are_counted_and_said() {
    let Some(place) = place_for_it() else { return };
    // open(0, 0, 0) by `int 0x80`: another table of numbers.
    let text = r#"
code = mmap.mmap(-1, 4096, prot=7)
code.write(bytes.fromhex("53b805000000bb00000000b900000000cd805bc3"))
at = ctypes.addressof(ctypes.c_char.from_buffer(code))
print(ctypes.CFUNCTYPE(ctypes.c_int)(at)())
"#;
    let end = done(&mut python(&place, &["--recorder", "notify"], text));
    match end.code(0).text().trim() {
        // EFAULT: the kernel has looked for the name.
        "-14" => {}
        other => return say_skipped(&format!("the kernel has no calls of 32 bits ({other})")),
    }
    end.says("what 32-bit programs did (1 call)");
    let calls = "SELECT CAST(value AS INTEGER) FROM header WHERE key = 'more.calls_of_32_bits'";
    assert_eq!(place.record().number(calls), 1);
    place.nothing_left();
}

#[test]
fn it_works_in_a_container_without_fuse() {
    let Some(place) = root_place() else { return };
    if !has_bubblewrap() {
        return say_skipped("bwrap is not installed");
    }
    let mut run = place.forebay(&["run", "-q", "--recorder", "auto", "--force", "-o"]);
    run.arg(&place.run).args(["--", "sh", "-c", "echo 12345 > f; cat f f > /dev/null"]);
    let end = done(&mut in_container(&place, &run));
    end.code(0).says("recorder: notify; the directory stays bare");
    let record = place.record();
    assert_eq!(record.number("SELECT sum(written_bytes) FROM opens"), 6);
    assert_eq!(record.number("SELECT sum(read_bytes) FROM opens"), 12);
    assert_eq!(record.number("SELECT value FROM header WHERE key = 'complete'"), 1);
    place.nothing_left();
}

#[test]
fn processes_that_hide_their_memory_are_said() {
    let Some(place) = root_place() else { return };
    // An ordinary user may not look into a process that is not dumpable; root may.
    let text = "L.prctl(4, 0, 0, 0, 0); open('after', 'w').write('x')";
    let mut command = as_user(&place, &python(&place, &["--recorder", "notify", "--force"], text));
    let end = done(&mut command);
    end.code(0).says("were lost while it was recorded");
    assert_eq!(place.read("after"), "x");
    done(&mut python(&place, &NOTIFY, text)).code(0);
    assert_eq!(place.record().number("SELECT sum(written_bytes) FROM opens"), 1);
    place.nothing_left();
}
