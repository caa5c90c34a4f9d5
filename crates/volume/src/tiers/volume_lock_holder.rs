//! Who holds the lock of a volume: a run, or what is left of one that was killed. A process ends when
//! the last of its threads has done what it does in the kernel, which takes its time on a busy
//! machine; until then its locks stay.

use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

use rustix::fs::{fstat, major, minor};

/// Whether the lock (flock(2)) of this file is held by a process that is about to be gone.
pub(super) fn is_holder_ending(file: impl AsFd) -> bool {
    let Ok(stat) = fstat(file) else { return false };
    let Ok(locks) = fs::read_to_string("/proc/locks") else { return false };
    let device = (major(stat.st_dev), minor(stat.st_dev));
    match lock_holder(&locks, device, stat.st_ino) {
        Some(pid) if fs::metadata(format!("/proc/{pid}")).is_ok() => is_process_ending(pid),
        // Who took it has left it to a child: whichever of this user's ends.
        Some(_) => own_processes().any(is_process_ending),
        None => false,
    }
}

fn own_processes() -> impl Iterator<Item = u32> {
    let me = rustix::process::geteuid().as_raw();
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mine = all.filter(move |entry| entry.metadata().is_ok_and(|about| about.uid() == me));
    mine.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Whether a process is about to be gone: one of its threads is left, or it was killed. What only
/// waits for its parent to look at it holds no lock any more.
fn is_process_ending(pid: u32) -> bool {
    let read = |name: &str| fs::read_to_string(format!("/proc/{pid}/{name}"));
    let threads = || fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
    read("stat").is_ok_and(|stat| has_ended(&stat) && (!is_zombie(&stat) || threads() > 1))
        || read("status").is_ok_and(|status| is_killed(&status))
}

/// The process that holds a lock, of all that proc_locks(5) lists.
fn lock_holder(locks: &str, (major, minor): (u32, u32), inode: u64) -> Option<u32> {
    let file = format!("{major:02x}:{minor:02x}:{inode}");
    locks.lines().find_map(|line| {
        // Those who wait have an arrow before the kind.
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [_, "FLOCK", _, _, pid, place, ..] if place == file => pid.parse().ok(),
            _ => None,
        }
    })
}

/// Set in the flags of a thread that is on its way out (`PF_EXITING` of Linux's sched.h).
const EXITING: u64 = 0x4;

/// What proc_pid_stat(5) says behind the name of a process, which may hold anything.
fn fields_after_name(stat: &str) -> impl Iterator<Item = &str> {
    stat.rsplit_once(") ").map(|(_, rest)| rest.split(' ')).into_iter().flatten()
}

fn is_zombie(stat: &str) -> bool {
    fields_after_name(stat).next() == Some("Z")
}

/// Whether the first thread of a process is over, or ends.
fn has_ended(stat: &str) -> bool {
    let flags = fields_after_name(stat).nth(6).and_then(|flags| flags.parse::<u64>().ok());
    is_zombie(stat) || flags.is_some_and(|flags| flags & EXITING != 0)
}

/// Whether a process was sent SIGKILL, by its proc_pid_status(5).
fn is_killed(status: &str) -> bool {
    let pending = status.lines().filter_map(|line| {
        let mask = line.strip_prefix("SigPnd:").or(line.strip_prefix("ShdPnd:"))?;
        u64::from_str_radix(mask.trim(), 16).ok()
    });
    pending.fold(0, |all, mask| all | mask) & 1 << (libc::SIGKILL - 1) != 0
}

#[cfg(test)]
mod tests {
    //! If these fail, who starts again after a kill is told that another run has the directory.
    use super::*;

    #[test]
    fn the_holder_of_a_lock_is_found_and_whether_it_is_over() {
        let locks = "1: POSIX  ADVISORY  WRITE 7 08:02:131099 0 EOF\n\
                     2: FLOCK  ADVISORY  WRITE 4711 fd:00:131099 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 9 fe:01:131099 0 EOF\n\
                     3: FLOCK  ADVISORY  WRITE 12 fe:01:131099 0 EOF\n";
        assert_eq!(lock_holder(locks, (0xfd, 0), 131_099), Some(4711));
        assert_eq!(lock_holder(locks, (0xfe, 1), 131_099), Some(12));
        assert_eq!(lock_holder(locks, (0x08, 2), 131_099), None, "another kind of lock");
        assert!(has_ended("12 (forebay) S) Z 1 12 12"));
        assert!(has_ended("12 (forebay) R 1 12 12 0 -1 4194564 0"), "it ends");
        assert!(!has_ended("12 (forebay Z) S 1 12 12 0 -1 4194560 0") && !has_ended(""));
        assert!(is_killed("State:\tR\nSigPnd:\t0000000000000100\nShdPnd:\t0000000000000000\n"));
        assert!(!is_killed("SigPnd:\t0000000000000000\nShdPnd:\t0000000000004000\n"));
    }

    #[test]
    fn a_lock_of_ours_is_held_by_somebody_who_lives() {
        let file = tempfile::tempfile().expect("a file");
        assert!(!is_holder_ending(&file), "nobody holds it");
        file.lock().expect("locked");
        assert!(!is_holder_ending(&file));
    }
}
