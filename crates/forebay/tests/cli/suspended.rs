//! Jobs that a scheduler, or somebody, stops and continues. If these fail, a job waits for ever
//! though its command has ended, or a run that is whole is called a failure.

use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::place::{PATIENCE, Place, USER, finish, wait_until};
use crate::processes;

/// The three processes of a run: its front, its command, its daemon.
struct Three {
    place: Place,
    front: Child,
    pids: [i32; 3],
}

const FRONT: usize = 0;
const COMMAND: usize = 1;
const DAEMON: usize = 2;

impl Three {
    fn started(place: Place, as_user: bool) -> Three {
        // It waits outside: who asks a daemon that is stopped can't be stopped.
        let script = format!(
            "echo $$ > ../pid.new; mv ../pid.new ../pid; here=$PWD; cd /
            while [ ! -e {}/on ]; do sleep 0.02; done; echo done > \"$here/made\"; exit 7",
            place.all.display()
        );
        let mut run = place.script(&["-q"], &script);
        if as_user {
            let user = USER.to_string();
            let mut other = place.program("setpriv");
            other.args(["--reuid", &user, "--regid", &user, "--clear-groups", "--"]);
            other.arg(place.give_to_user()).args(run.get_args());
            let node = place.all.join("node").display().to_string();
            let open = format!("mknod -m 666 {node} c 10 229; mount --bind {node} /dev/fuse");
            run = place.apart(&open, &other);
        }
        let front = spawned(run);
        place.wait_for("pid");
        let pid = std::fs::read_to_string(place.all.join("pid")).expect("a number");
        let daemon = processes::daemon(&place.state);
        let pids = [front.id() as i32, pid.trim().parse().expect("a number"), daemon];
        Three { place, front, pids }
    }

    fn send(&self, whom: usize, signal: Signal) {
        kill_process(Pid::from_raw(self.pids[whom]).expect("a pid"), signal).expect("it lives");
    }

    fn is_stopped(&self, whom: usize) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pids[whom]));
        stat.is_ok_and(|stat| stat.rsplit_once(") ").expect("a state").1.starts_with('T'))
    }

    /// It sleeps, and no signal is held back for it.
    fn front_is_idle(&self) -> bool {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.pids[FRONT]));
        let text = text.expect("it lives");
        let line = |key: &str| text.lines().find_map(|line| line.strip_prefix(key));
        let none = |key| line(key).is_some_and(|bits| bits.trim().bytes().all(|bit| bit == b'0'));
        let sleeps = line("State:").is_some_and(|state| state.trim().starts_with('S'));
        sleeps && none("SigPnd:") && none("ShdPnd:")
    }

    /// Stops one; the front stops as its command does.
    fn stop(&self, whom: usize) {
        self.send(whom, Signal::STOP);
        wait_until("it is stopped", || self.is_stopped(whom));
        if whom == COMMAND {
            wait_until("the front is stopped, too", || self.is_stopped(FRONT));
        }
    }

    /// Continues one, and waits for what the front makes of it.
    fn go_on(&self, whom: usize) {
        self.send(whom, Signal::CONT);
        if whom == FRONT {
            wait_until("the front has decided", || {
                !self.is_stopped(COMMAND) || self.is_stopped(FRONT)
            });
        }
    }

    /// All of them run, and end as if nothing had been.
    fn end(self, order: &str) {
        wait_until(order, || (0..3).all(|whom| !self.is_stopped(whom)));
        std::fs::write(self.place.all.join("on"), "").expect("written");
        let end = finish(self.front, PATIENCE);
        assert_eq!(end.code(7).stderr, "", "{order}");
        assert_eq!(self.place.read("made"), "done\n");
        assert_eq!(
            self.place.record().number("SELECT value FROM header WHERE key = 'complete'"),
            1
        );
        self.place.nothing_left();
    }
}

fn spawned(mut run: Command) -> Child {
    run.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("started")
}

/// Each order of each of these.
fn orders(of: &[usize]) -> Vec<Vec<usize>> {
    let Some((first, rest)) = of.split_first() else { return vec![Vec::new()] };
    let insert = |order: Vec<usize>| {
        (0..=order.len()).map(move |at| [&order[..at], &[*first], &order[at..]].concat())
    };
    orders(rest).into_iter().flat_map(insert).collect()
}

#[test]
fn a_job_that_was_stopped_goes_on_in_whatever_order_it_is_continued() {
    for as_user in [false, true] {
        let Some(place) = (if as_user { Place::with_root() } else { Place::with_fuse() }) else {
            return;
        };
        let three = Three::started(place, as_user);
        let some: [&[usize]; 7] = [
            &[FRONT],
            &[COMMAND],
            &[DAEMON],
            &[FRONT, COMMAND],
            &[FRONT, DAEMON],
            &[COMMAND, DAEMON],
            &[FRONT, COMMAND, DAEMON],
        ];
        let mut count = 0;
        for (stops, conts) in some.iter().flat_map(|some| {
            let all = orders(some);
            let pairs = all.iter().flat_map(|a| all.iter().map(|b| (a.clone(), b.clone())));
            pairs.collect::<Vec<_>>()
        }) {
            let order = format!("all run after stops of {stops:?} and continues of {conts:?}");
            stops.iter().for_each(|whom| three.stop(*whom));
            conts.iter().for_each(|whom| three.go_on(*whom));
            wait_until(&order, || (0..3).all(|whom| !three.is_stopped(whom)));
            // What it was told it has passed on, and nothing of it hits the next order.
            wait_until("the front waits for news", || three.front_is_idle());
            count += 1;
        }
        assert_eq!(count, 3 + 3 * 4 + 36);
        three.end("all run in the end");
    }
}

#[test]
fn whoever_was_stopped_when_the_command_ended_is_not_for_ever() {
    // Who is stopped, how the command ends, who is continued then.
    let go_on: &[usize] = &[FRONT, DAEMON];
    for (stops, kills, conts, code) in [
        (&[COMMAND][..], true, &[][..], None),
        (&[COMMAND, DAEMON], true, &[DAEMON], None),
        (&[FRONT, COMMAND], true, &[FRONT], None),
        (&[FRONT], false, &[FRONT], Some(7)),
        (&[FRONT, DAEMON], false, go_on, Some(7)),
        (&[DAEMON], false, &[DAEMON], Some(7)),
        (&[COMMAND], false, &[COMMAND], Some(7)),
    ] {
        let Some(place) = Place::with_fuse() else { return };
        let three = Three::started(place, false);
        stops.iter().for_each(|whom| three.stop(*whom));
        match kills {
            true => three.send(COMMAND, Signal::KILL),
            false => std::fs::write(three.place.all.join("on"), "").expect("written"),
        }
        conts.iter().for_each(|whom| three.go_on(*whom));
        let end = finish(three.front, PATIENCE);
        assert_eq!(end.status.code(), code, "{stops:?} {conts:?}: {}", end.stderr);
        assert!(!end.stderr.contains("daemon"), "{}", end.stderr);
        three.place.nothing_left();
    }
}

#[test]
fn a_signal_that_comes_after_the_commands_end_does_not_end_the_run() {
    let Some(place) = Place::with_fuse() else { return };
    let three = Three::started(place, false);
    // The front waits for the last word of its daemon.
    three.stop(DAEMON);
    three.send(COMMAND, Signal::KILL);
    let command = format!("/proc/{}", three.pids[COMMAND]);
    wait_until("the front has taken the command's end", || {
        !std::path::Path::new(&command).exists()
    });
    [Signal::TERM, Signal::INT, Signal::USR1].into_iter().for_each(|s| three.send(FRONT, s));
    three.go_on(DAEMON);
    let Three { place, front, .. } = three;
    let end = finish(front, PATIENCE);
    let signal = std::os::unix::process::ExitStatusExt::signal(&end.status);
    assert_eq!(signal, Some(Signal::KILL.as_raw()), "as the command ended\n{}", end.stderr);
    place.nothing_left();
}
