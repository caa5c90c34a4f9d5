//! Who has to do with a place, by links of /proc alone: reading a command line would wait for a
//! process that waits for a lost mount.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::place::PATIENCE;

/// Processes other than this one that work in `place` or hold something open there.
pub(crate) fn users_of(place: &Path) -> Vec<(i32, PathBuf)> {
    let own = std::process::id() as i32;
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| *pid != own)
        .filter_map(|pid| Some((pid, links(pid).into_iter().find(|to| to.starts_with(place))?)))
        .collect()
}

fn links(pid: i32) -> Vec<PathBuf> {
    let own = PathBuf::from(format!("/proc/{pid}"));
    let fds = std::fs::read_dir(own.join("fd")).into_iter().flatten().flatten();
    let fds = fds.map(|entry| entry.path());
    fds.chain([own.join("cwd")]).filter_map(|link| std::fs::read_link(link).ok()).collect()
}

/// The daemon that records into `state`.
pub(crate) fn daemon(state: &Path) -> i32 {
    let start = Instant::now();
    loop {
        if let Some((pid, _)) = users_of(&state.join("forebay")).first() {
            return *pid;
        }
        assert!(start.elapsed() < PATIENCE, "no daemon is there");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Ends all who work in a place at once; some, as a `sleep` of a script's, end by themselves.
pub(crate) fn kill_users_of(place: &Path) {
    for (pid, _) in users_of(place) {
        let _ = kill_process(Pid::from_raw(pid).expect("a pid"), Signal::KILL);
    }
}

/// Ends a process at once.
pub(crate) fn kill(pid: i32) {
    kill_process(Pid::from_raw(pid).expect("a pid"), Signal::KILL).expect("it was there");
}
