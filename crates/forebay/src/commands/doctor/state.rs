//! The state directory, where a run is recorded while it lasts, and runs that were killed there.

use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use forebay_model::ByteCount;

use super::finding::Finding;
use super::machine_facts::MachineFacts;
use crate::state_directories;

/// Less than this may not hold the record of a long run.
const SMALL: ByteCount = ByteCount(256 << 20);

/// What is known of it.
struct StateFacts {
    directory: PathBuf,
    free: ByteCount,
    /// Runs whose writer is gone, newest last.
    killed: Vec<PathBuf>,
    /// Runs that go on.
    living: usize,
}

pub(super) fn run_check(_: &MachineFacts) -> Finding {
    let directory = match state_directories::state_file("x") {
        Ok(file) => file.parent().unwrap_or(Path::new("/")).to_owned(),
        Err(stop) => {
            return Finding::missing(stop.message).fix_by_user(stop.next.unwrap_or_default());
        }
    };
    let free = rustix::fs::statvfs(&directory)
        .map_or(0, |stat| stat.f_bavail.saturating_mul(stat.f_frsize));
    let (living, killed) =
        list_run_files(&directory).into_iter().partition::<Vec<_>, _>(|run| has_live_writer(run));
    finding_for(&StateFacts { directory, free: ByteCount(free), killed, living: living.len() })
}

/// Run files of a directory, by name, which is by time.
fn list_run_files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut runs: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "run"))
        .collect();
    runs.sort();
    runs
}

/// Whether somebody has the run open: SQLite then holds a lock on one byte of its index, the "dead
/// man's switch" (SQLite, os_unix.c, `UNIX_SHM_DMS`).
fn has_live_writer(run: &Path) -> bool {
    const DEAD_MANS_SWITCH: i64 = 128;
    let mut index = run.as_os_str().to_owned();
    index.push("-shm");
    let Ok(index) = std::fs::File::open(index) else { return false };
    let mut lock = libc::flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: DEAD_MANS_SWITCH,
        l_len: 1,
        l_pid: 0,
    };
    // SAFETY: the call reads and fills the struct, which lives across it.
    let asked = unsafe { libc::fcntl(index.as_raw_fd(), libc::F_GETLK, &mut lock) };
    asked == 0 && lock.l_type != libc::F_UNLCK as libc::c_short
}

fn finding_for(facts: &StateFacts) -> Finding {
    let place = facts.directory.display();
    let runs = |number: usize| format!("{number} run{}", if number == 1 { "" } else { "s" });
    if let Some(newest) = facts.killed.last() {
        let killed = runs(facts.killed.len());
        return Finding::limited(format!("{place} holds what was recorded of {killed} that died"))
            .fix_by_user(format!("forebay doctor --salvage {} -o saved.run", newest.display()));
    }
    if facts.free < SMALL {
        return Finding::limited(format!("{place} has only {} free", facts.free))
            .fix_by_user("make room, or set XDG_STATE_HOME to a local directory with more");
    }
    let living = match facts.living {
        0 => String::new(),
        number => format!("; {} under way", runs(number)),
    };
    Finding::ok(format!("{place} is local, {} free{living}", facts.free))
}

#[cfg(test)]
mod tests {
    //! A night's record in a forgotten file is lost as surely as one that was never written.
    use super::super::finding::CheckStatus;
    use super::*;

    fn facts() -> StateFacts {
        let directory = PathBuf::from("/home/me/.local/state/forebay");
        StateFacts { directory, free: ByteCount(81 << 30), killed: Vec::new(), living: 0 }
    }

    #[test]
    fn killed_runs_are_told_with_the_way_to_save_them() {
        let killed = vec![PathBuf::from("/s/1.run"), PathBuf::from("/s/2.run")];
        let found = finding_for(&StateFacts { killed, ..facts() });
        assert_eq!(found.standing, CheckStatus::Limited);
        assert!(found.means.contains("2 runs"));
        assert_eq!(found.fixes[0].what, "forebay doctor --salvage /s/2.run -o saved.run");
    }

    #[test]
    fn room() {
        assert_eq!(finding_for(&facts()).standing, CheckStatus::Ok);
        assert!(
            finding_for(&StateFacts { living: 1, ..facts() }).means.ends_with("; 1 run under way")
        );
        assert_eq!(
            finding_for(&StateFacts { free: ByteCount(1 << 20), ..facts() }).standing,
            CheckStatus::Limited
        );
    }

    #[test]
    fn a_run_lives_as_long_as_its_writer() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("a.run");
        let conn = rusqlite::Connection::open(&path).expect("opened");
        conn.pragma_update(None, "journal_mode", "WAL").expect("a log");
        conn.execute_batch("CREATE TABLE t (x)").expect("written");
        assert_eq!(
            list_run_files(dir.path()),
            std::slice::from_ref(&path),
            "not its log and index"
        );
        // A process does not see its own locks, so somebody else has to look.
        // SAFETY: the child makes system calls and ends.
        let seen = unsafe {
            let pid = libc::fork();
            if pid == 0 {
                libc::_exit(i32::from(has_live_writer(&path)));
            }
            let mut status = 0;
            libc::waitpid(pid, &mut status, 0);
            libc::WEXITSTATUS(status)
        };
        assert_eq!(seen, 1);
        drop(conn);
        assert!(!has_live_writer(&path));
    }
}
