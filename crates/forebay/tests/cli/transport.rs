//! The two ways on which operations come to a managed directory: `/dev/fuse`, and io_uring where root
//! has allowed it to FUSE. If these fail, programs hang on a machine with the fast way, or get other
//! answers there, or the way is another than people are told.

use std::process::{Command, Stdio};

use crate::notifications::KIT;
use crate::place::{Done, PATIENCE, Place, USER, done, finish, skip};

const SWITCH: &str = "/sys/module/fuse/parameters/enable_uring";

/// The switch of the whole machine, turned for a test that runs alone; as it was afterwards.
struct Switch(String);

impl Switch {
    /// `None`, loudly, where the kernel has none.
    fn turn(to: &str) -> Option<Switch> {
        let was = std::fs::read_to_string(SWITCH);
        let turned = was.and_then(|was| std::fs::write(SWITCH, to).map(|()| Switch(was)));
        match turned {
            Ok(switch) => Some(switch),
            Err(error) => skip(&format!("this kernel's FUSE has no io_uring: {SWITCH}: {error}")),
        }
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        let _ = std::fs::write(SWITCH, &self.0);
    }
}

/// Alone, with the switch turned.
fn place_with_switch(to: &str) -> Option<(Place, Switch)> {
    let place = Place::with_root()?.alone();
    let switch = Switch::turn(to)?;
    Some((place, switch))
}

/// Says how many threads serve the queues of CPUs in this run's daemon.
const QUEUES: &str = "cat /proc/[0-9]*/task/[0-9]*/comm 2>/dev/null | grep -c '^forebay-c[0-9]' \
                      > \"$OUT\"; ";

/// Operations of all kinds, whose answers are printed.
const PROGRAM: &str = r#"set -e
mkdir d; echo one > d/f; echo two >> d/f; cat d/f; mv d/f d/g; ln d/g h; ln -s h l; readlink l
stat -c '%s %h %a %F' h l d; chmod 600 h; touch -d @12345 h; stat -c '%a %Y' h
head -c 5000000 /dev/zero | tr '\0' x > big; cksum < big; truncate -s 70000 big; cksum < big
dd if=/dev/zero of=big bs=4096 seek=100 count=3 conv=notrunc,fsync 2> /dev/null; cksum < big
for i in 1 2 3 4 5 6 7 8; do
    (for j in $(seq 50); do echo $i $j > w$i-$j; cat w$i-$j; done | cksum) > s$i &
done
wait; cat s?; ls | wc -l; rm w*; ls
flock l true; ! flock -n big false; mkfifo p; (echo through > p &); cat p
! cat absent 2> /dev/null; ! rmdir d 2> /dev/null; rm -r d; ls; df . > /dev/null
"#;

fn run_over(place: &Place, transport: &str) -> (Done, String) {
    let out = place.all.join(format!("queues-{transport}"));
    let script = format!("{QUEUES}{PROGRAM}");
    let mut command = place.script(&["-q", "--force", "--transport", transport], &script);
    let done = done(command.env("OUT", &out));
    std::fs::remove_dir_all(&place.project).expect("removed");
    std::fs::create_dir(&place.project).expect("made");
    (done, std::fs::read_to_string(out).unwrap_or_default())
}

/// One process closes the only descriptor of a locked file and goes on; another one, on another CPU,
/// asks at once whether it could be locked.
const LAST_CLOSES: &str = r#"
import fcntl, os, struct, sys, time
OFD_GETLK, OFD_SETLK = 36, 37
def lock(kind):
    return struct.pack("hhqqi4x", kind, 0, 0, 0, 0)
cpus = sorted(os.sched_getaffinity(0))
(ask, asked), (told, tell) = os.pipe(), os.pipe()
if os.fork() == 0:
    os.sched_setaffinity(0, {cpus[-1]})
    g = os.open("f", os.O_RDWR | os.O_CREAT, 0o644)
    while os.read(ask, 1) == b"x":
        found = fcntl.fcntl(g, OFD_GETLK, lock(fcntl.F_WRLCK))
        os.write(tell, b"held" if struct.unpack("h", found[:2])[0] != fcntl.F_UNLCK else b"free")
    os._exit(0)
os.sched_setaffinity(0, {cpus[0]})
late = 0
for i in range(300):
    f = os.open("f", os.O_RDWR | os.O_CREAT, 0o644)
    fcntl.fcntl(f, OFD_SETLK, lock(fcntl.F_WRLCK))
    os.write(asked, b"x")
    assert os.read(told, 4) == b"held"
    os.close(f)
    os.write(asked, b"x")
    end = time.monotonic() + 0.001
    while time.monotonic() < end:
        pass
    late += os.read(told, 4) == b"held"
os.write(asked, b"o")
print(late)
"#;

#[test]
fn a_lock_of_an_open_file_ends_with_its_last_descriptor() {
    let Some((place, _on)) = place_with_switch("Y") else { return };
    for transport in ["device", "uring"] {
        let mut command = place.forebay(&["run", "-q", "--force", "--transport", transport, "-o"]);
        command.arg(&place.run).args(["--", "/usr/bin/python3", "-I", "-S", "-c", LAST_CLOSES]);
        assert_eq!(done(&mut command).code(0).text(), "0\n", "{transport}");
    }
    place.nothing_left();
}

#[test]
fn both_ways_give_the_same_answers() {
    let Some((place, _on)) = place_with_switch("Y") else { return };
    let (device, none) = run_over(&place, "device");
    let (uring, queues) = run_over(&place, "uring");
    assert_eq!(none.trim(), "0", "the device has no queues");
    let cpus = std::fs::read_to_string("/sys/devices/system/cpu/possible").expect("a list");
    let last: u32 = cpus.trim().rsplit('-').next().and_then(|n| n.parse().ok()).expect("a number");
    let queues: u32 = queues.trim().parse().expect("a number");
    assert!(queues > last, "{queues} threads for the queues of CPUs {cpus}");
    assert_eq!(device.code(0).text(), uring.code(0).text());
    assert_eq!(uring.text().lines().filter(|line| *line == "two").count(), 1);
    place.nothing_left();
}

#[test]
fn an_ordinary_user_has_it_too() {
    let Some((place, _on)) = place_with_switch("Y") else { return };
    let binary = place.give_to_user();
    let user = USER.to_string();
    let script = format!("{QUEUES}echo x > f; cat f; rm f");
    let out = place.all.join("queues");
    let mut command = place.program("setpriv");
    command.args(["--reuid", &user, "--regid", &user, "--clear-groups"]).arg(&binary);
    command.args(["run", "-q", "--transport", "uring", "-o"]).arg(&place.run);
    command.args(["--", "sh", "-c", &script]);
    let node = place.all.join("node").display().to_string();
    let prepare = format!("mknod -m 666 {node} c 10 229; mount --bind {node} /dev/fuse");
    let mut command = place.apart(&prepare, &command);
    command.env("OUT", &out).env("HOME", &place.all);
    assert_eq!(done(&mut command).code(0).text(), "x\n");
    let queues = std::fs::read_to_string(out).expect("it was counted");
    assert_ne!(queues.trim(), "0");
}

/// More wait on one CPU than any crew has threads from the start, and what ends their wait comes
/// from that CPU, too.
#[test]
fn waits_for_locks_hold_nobody_up() {
    let Some((place, _on)) = place_with_switch("Y") else { return };
    let script = r#"taskset -p -c 0 $$ > ../bound; touch f
        exec 9< f; flock 9
        for i in $(seq 40); do (flock f echo had >> ../had) & done
        until [ "$(pgrep -c -f "^flock f echo had")" -ge 40 ]; do sleep 0.05; done
        sleep 0.2
        timeout --signal INT 0.3 flock f true; echo "interrupted $?"
        echo more > g; cat g
        flock -u 9; exec 9<&-
        wait; wc -l < ../had"#;
    let mut command = place.script(&["-q", "--transport", "uring"], script);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ended = finish(child.spawn().expect("started"), PATIENCE);
    assert_eq!(ended.code(0).text().lines().collect::<Vec<_>>(), ["interrupted 124", "more", "40"]);
    place.nothing_left();
}

/// The daemon of this run, and of no other that this machine may have.
const DAEMON: &str = r#"daemon() {
    for d in $(grep -l '^forebay-mount$' /proc/[0-9]*/task/[0-9]*/comm 2> /dev/null | cut -d/ -f3 | sort -u); do
        tr '\0' '\n' < /proc/$d/environ | grep -qxF "XDG_STATE_HOME=$XDG_STATE_HOME" && echo $d
    done | head -1
}
"#;

#[test]
fn a_daemon_that_dies_lets_programs_go() {
    let Some((place, _on)) = place_with_switch("Y") else { return };
    // By the whole path: the way up from a mount whose daemon is gone is asked of the mount.
    let script = r#"all=$(cd .. && pwd); touch f; exec 9< f; flock 9
        (flock f true; echo "ended" > $all/ended) &
        (while cat f; do :; done; echo "refused" > $all/refused) 2> /dev/null &
        sleep 0.3
        kill -9 $(daemon)
        wait"#;
    let script = format!("{DAEMON}{script}");
    let child = place.script(&["-q", "--transport", "uring"], &script).spawn().expect("started");
    let ended = finish(child, PATIENCE);
    assert_ne!(ended.status.code(), Some(0), "{}", ended.text());
    for name in ["ended", "refused"] {
        place.wait_for(name);
    }
    place.nobody_left();
}

#[test]
fn where_root_has_not_allowed_it_people_are_told() {
    let Some((place, _off)) = place_with_switch("N") else { return };
    let refused = done(&mut place.script(&["--transport", "uring"], "echo never"));
    refused.code(125).says(SWITCH);
    assert!(!refused.text().contains("never"));
    let auto = done(&mut place.script(&["-q", "--transport", "auto"], "echo x > f; cat f"));
    assert_eq!(auto.code(0).text(), "x\n");
    assert!(done(&mut place.forebay(&["doctor"])).text().contains("enable_uring"));
    let mut wrong = place.script(&["-q"], "true");
    done(wrong.env("FOREBAY_TRANSPORT", "train")).code(2).says("auto, device or uring");
}

/// Numbers of `io_uring_setup`, `io_uring_enter` and `io_uring_register`, the same on all machines.
const RING_CALLS: [u32; 3] = [425, 426, 427];

/// The same command where a filter refuses a system call, as Docker's does with all three.
fn refused(place: &Place, call: u32, command: &Command) -> Command {
    let filter = format!(
        "{KIT}\nassert install({call}, EPERM) == (0, 0)\nos.execv(sys.argv[1], sys.argv[1:])"
    );
    let mut python = place.program("python3");
    python.args(["-c", &filter]).arg(command.get_program()).args(command.get_args());
    python
}

#[test]
fn where_a_filter_refuses_rings_the_device_serves() {
    let Some((place, _on)) = place_with_switch("Y") else { return };
    for call in RING_CALLS {
        let script = place.script(&["-q", "--force"], "echo x > f; cat f; rm f");
        let end = done(&mut refused(&place, call, &script));
        assert_eq!(end.code(0).text(), "x\n", "call {call}: {}", end.stderr);
        let asked = place.script(&["--force", "--transport", "uring"], "echo never");
        let end = done(&mut refused(&place, call, &asked));
        assert!(!end.code(125).text().contains("never"), "call {call}");
    }
    place.nothing_left();
}

/// More requests wait than there are places, and nobody will take them.
#[test]
fn a_daemon_that_dies_while_its_queues_are_full_lets_all_go() {
    let Some((place, _on)) = place_with_switch("Y") else { return };
    let script = r#"all=$(cd .. && pwd); touch f
        for i in $(seq 200); do (while cat f; do :; done; echo $i >> $all/refused) 2> /dev/null & done
        sleep 0.5
        daemon=$(daemon); kill -STOP $daemon; sleep 0.5; kill -9 $daemon
        wait; touch $all/all"#;
    let script = format!("{DAEMON}{script}");
    let child = place.script(&["-q", "--transport", "uring"], &script).spawn().expect("started");
    let ended = finish(child, PATIENCE);
    assert_ne!(ended.status.code(), Some(0), "{}", ended.text());
    place.wait_for("all");
    let refused = std::fs::read_to_string(place.all.join("refused")).expect("they were told");
    assert_eq!(refused.lines().count(), 200);
    place.nobody_left();
}

/// Ten thousand processes, of which each makes a file and ends, and a bomb of forks that ends.
#[test]
fn ten_thousand_processes_come_and_go() {
    let Some((place, _on)) = place_with_switch("Y") else { return };
    let program = "import os\n\
        for batch in range(100):\n    \
            os.mkdir(str(batch))\n    \
            for n in range(100):\n        \
                if os.fork() == 0:\n            \
                    open(f'{batch}/{n}', 'w').write('x')\n            \
                    os._exit(0)\n    \
            for n in range(100): assert os.wait()[1] == 0\n";
    std::fs::write(place.all.join("many.py"), program).expect("written");
    let script =
        "python3 ../many.py; find . -name .forebay -prune -o -type f -size 1c -print | wc -l
        f() { [ $1 = 0 ] || { f $(($1 - 1)) & f $(($1 - 1)) & wait; }; }; f 9; echo bombed";
    let end = done(&mut place.script(&["-q", "--transport", "uring"], script));
    assert_eq!(end.code(0).text(), "10000\nbombed\n", "{}", end.stderr);
    let record = place.record();
    assert!(record.number("SELECT count(*) FROM processes") > 10_000);
    place.nothing_left();
}
