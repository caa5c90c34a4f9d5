//! A daemon that is killed while a thread of it waits in the kernel, as for a server that does not
//! answer. If these fail, programs of the run wait for ever, whatever signal they get.

use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::place::{AWAIT, PATIENCE, Place, USER, done, finish, wait_until};
use crate::processes::{daemon, kill, users_of};

/// A storage that stops answering: a mount whose daemon is stopped. It goes on in the end.
struct Storage {
    front: Option<Child>,
    daemon: i32,
}

fn signal(pid: i32, signal: Signal) {
    let _ = kill_process(Pid::from_raw(pid).expect("a pid"), signal);
}

fn name_of(pid: i32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim_end().to_owned()
}

impl Storage {
    /// Shows `real` at `storage`, beside the project.
    fn shown(place: &Place) -> Storage {
        for dir in ["real", "real/work", "storage", "at"] {
            std::fs::create_dir(place.all.join(dir)).expect("made");
        }
        let words = ["mount", "--foreground", "--allow-other", "../real", "../storage"];
        let mut front = place.forebay(&words);
        // A user of the place could not use what root makes in its state directory.
        front.env("XDG_STATE_HOME", place.all.join("real"));
        let front = front.stderr(Stdio::null()).spawn().expect("started");
        wait_until("it is mounted", || place.all.join("storage/work").exists());
        let children = format!("/proc/{0}/task/{0}/children", front.id());
        // The rescuer is called like the daemon until it gets to run.
        let daemon = || {
            let children = std::fs::read_to_string(&children).expect("children");
            let pids = children.split_whitespace().map(|pid| pid.parse().expect("a number"));
            let (rescuers, others): (Vec<i32>, Vec<i32>) =
                pids.partition(|pid| name_of(*pid) == "forebay-rescue");
            others.first().copied().filter(|_| !rescuers.is_empty())
        };
        wait_until("it has a rescuer and a daemon", || daemon().is_some());
        let daemon = daemon().expect("a daemon");
        Storage { front: Some(front), daemon }
    }

    fn stop(&self) {
        signal(self.daemon, Signal::STOP);
    }

    fn end(mut self, place: &Place) {
        signal(self.daemon, Signal::CONT);
        done(&mut place.forebay(&["unmount", "../storage"])).code(0);
        finish(self.front.take().expect("it is there"), PATIENCE).code(0);
        place.nobody_left();
    }
}

impl Drop for Storage {
    fn drop(&mut self) {
        signal(self.daemon, Signal::CONT);
    }
}

/// A thread of it waits for the storage, where no signal reaches it any more.
fn wait_for_the_deep(pid: i32) {
    wait_until("a thread of the daemon waits in the kernel", || {
        let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten();
        threads.flatten().any(|thread| {
            let place = std::fs::read_to_string(thread.path().join("wchan")).unwrap_or_default();
            place.contains("request_wait_answer")
        })
    });
}

#[test]
fn programs_of_a_killed_daemon_get_errors_though_its_storage_does_not_answer() {
    for as_user in [false, true] {
        let Some(place) = Place::with_root() else { return };
        let storage = Storage::shown(&place);
        let script = format!(
            "{AWAIT} at={}; : > $at/ready; await $at/go; cat unknown 2> $at/why; echo $? > $at/ended",
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
        run.current_dir(place.all.join("storage/work"));
        let run = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
        place.wait_for("ready");
        let pid = daemon(&place.state);
        storage.stop();
        std::fs::write(place.all.join("go"), "").expect("written");
        wait_for_the_deep(pid);
        kill(pid);
        place.wait_for("ended");
        let why = std::fs::read_to_string(place.all.join("why")).expect("told");
        assert!(why.contains("cat: unknown: "), "{why}");
        // Its front does not wait for it, either.
        finish(run, PATIENCE).code(120);
        storage.end(&place);
    }
}

#[test]
fn a_lazy_unmount_frees_who_waits_for_a_killed_daemon() {
    let Some(place) = Place::with_root() else { return };
    let storage = Storage::shown(&place);
    done(&mut place.forebay(&["mount", "../storage/work", "../at"])).code(0);
    let at = place.all.join("at");
    let device = std::os::unix::fs::MetadataExt::dev(&std::fs::metadata(&at).expect("mounted"));
    let shown = at.to_str().expect("a plain name").to_owned();
    storage.stop();
    let mut read = place.program("cat");
    let read = read.arg(at.join("unknown")).stderr(Stdio::piped()).spawn().expect("started");
    // Both that would free it are gone: its rescuer first.
    let ends = format!("/{}/abort", libc::minor(device));
    let all = || {
        let all = std::fs::read_dir("/proc").expect("/proc").flatten();
        all.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
    };
    let controls = |pid: &i32| {
        let fds = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        let mut links = fds.filter_map(|fd| std::fs::read_link(fd.path()).ok());
        links.any(|link| link.to_string_lossy().ends_with(&ends))
    };
    let rescuer = || all().find(|pid| name_of(*pid) == "forebay-rescue" && controls(pid));
    // It takes what it is to control when it gets to run.
    wait_until("there is a rescuer", || rescuer().is_some());
    kill(rescuer().expect("a rescuer"));
    let users = users_of(&place.all.join("storage/work"));
    let pid = users.iter().map(|(pid, _)| *pid).find(|pid| name_of(*pid) == "forebay");
    let pid = pid.expect("a daemon");
    wait_for_the_deep(pid);
    kill(pid);
    let mut unmount = place.forebay(&["unmount", "--lazy", &shown]);
    let unmount = unmount.stderr(Stdio::piped()).spawn().expect("started");
    let end = finish(read, PATIENCE);
    end.code(1).says("unknown: ");
    // It looks whether files are on tiers, for which the storage has to answer.
    signal(storage.daemon, Signal::CONT);
    finish(unmount, PATIENCE).code(0).says("its daemon was gone");
    storage.end(&place);
}
