//! What serves, what should and does not, and how well.

use std::io;
use std::path::{Path, PathBuf};

use forebay_volume::daemon_log::{LogOwner, LogOwnership};
use forebay_volume::launch::lasting_mounts;
use forebay_volume::live::{LiveStatus, list_daemons, query_daemon};

use crate::daemon_logs;

/// For so long a request that failed is told as a fault of now, in microseconds.
const RECENT: u64 = 300_000_000;

/// How well one is, or all are; the worst is the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::commands) enum Health {
    Well,
    Nothing,
    Degraded,
    Lost,
}

impl Health {
    /// LSB, "Init Script Actions", of `status`: 1 to 3 not as it should be, 4 unknown.
    pub(in crate::commands) fn code(self) -> i32 {
        match self {
            Health::Well => 0,
            Health::Degraded => 1,
            Health::Nothing => 3,
            Health::Lost => 4,
        }
    }

    pub(in crate::commands) fn word(self) -> &'static str {
        match self {
            Health::Well => "well",
            Health::Degraded => "degraded",
            Health::Nothing => "nothing",
            Health::Lost => "lost",
        }
    }
}

/// A daemon, or the mount that one left behind.
#[derive(Debug)]
pub(in crate::commands) struct DaemonStatus {
    pub(in crate::commands) points: Vec<PathBuf>,
    pub(in crate::commands) pid: Option<u32>,
    /// What it answers, if it does.
    pub(in crate::commands) live: Option<Box<LiveStatus>>,
    /// Where its log is.
    pub(in crate::commands) log: Option<PathBuf>,
    pub(in crate::commands) health: Health,
    /// Why it is not well.
    pub(in crate::commands) why: Vec<String>,
}

/// All that was found.
#[derive(Debug)]
pub(in crate::commands) struct StatusReport {
    pub(in crate::commands) rows: Vec<DaemonStatus>,
    /// Folders that a newer Forebay wrote.
    pub(in crate::commands) newer: Vec<String>,
}

impl StatusReport {
    pub(in crate::commands) fn worst_health(&self) -> Health {
        let newer = (!self.newer.is_empty()).then_some(Health::Degraded);
        let rows = self.rows.iter().map(|row| row.health).chain(newer);
        rows.max().unwrap_or(Health::Nothing)
    }
}

/// Looks at all of this user; with `at`, at what shows this directory.
pub(in crate::commands) fn find_daemons(at: Option<&Path>) -> io::Result<StatusReport> {
    let logs = daemon_logs::list_daemon_logs();
    let pids = list_daemons()?;
    // One that does not answer keeps nobody from asking the others.
    let answers: Vec<_> = std::thread::scope(|scope| {
        let asked: Vec<_> =
            pids.iter().map(|pid| (*pid, scope.spawn(move || query_daemon(*pid)))).collect();
        asked.into_iter().map(|(pid, asked)| (pid, asked.join())).collect()
    });
    let mut rows = Vec::new();
    for (pid, answer) in answers {
        match answer {
            Ok(Ok(Some(live))) => rows.push(row_for_live(live)),
            Ok(Ok(None)) => {}
            Ok(Err(error)) => {
                let kept =
                    logs.iter().find(|one| known_about(&one.told).is_some_and(|it| it.pid == pid));
                let log = kept.map(|one| one.folder.join(forebay_volume::daemon_log::LOG));
                let points = kept.and_then(|one| known_about(&one.told)).map(mount_points);
                let (live, why) = (None, vec![error.to_string()]);
                let health = Health::Lost;
                rows.push(DaemonStatus {
                    points: points.unwrap_or_default(),
                    pid: Some(pid),
                    live,
                    log,
                    health,
                    why,
                });
            }
            Err(_) => rows.push(unanswering_row(pid)),
        }
    }
    rows.extend(find_orphaned_mounts(&rows)?);
    let newer = logs.iter().filter_map(|one| match one.told {
        LogOwnership::Newer(format) => Some(daemon_logs::newer_format_message(&one.folder, format)),
        _ => None,
    });
    let mut newer: Vec<String> = newer.collect();
    if let Some(at) = at {
        newer.clear();
        let depth = |row: &DaemonStatus| {
            let above = row.points.iter().filter(|point| at.starts_with(point));
            above.map(|point| point.as_os_str().len()).max()
        };
        // Of several that lie in each other the innermost shows it.
        let nearest = rows.iter().filter_map(depth).max();
        rows.retain(|row| nearest.is_some() && depth(row) == nearest);
    }
    rows.sort_by(|a, b| a.points.cmp(&b.points));
    Ok(StatusReport { rows, newer })
}

fn known_about(told: &LogOwnership) -> Option<&LogOwner> {
    match told {
        LogOwnership::Known(about) => Some(about),
        LogOwnership::Newer(_) | LogOwnership::Nothing => None,
    }
}

fn mount_points(about: &LogOwner) -> Vec<PathBuf> {
    about.points.iter().map(PathBuf::from).collect()
}

fn unanswering_row(pid: u32) -> DaemonStatus {
    let why = vec![format!("daemon {pid} could not be asked")];
    let (points, live, log, health) = (Vec::new(), None, None, Health::Lost);
    DaemonStatus { points, pid: Some(pid), live, log, health, why }
}

/// How well one is that answers.
fn row_for_live(live: LiveStatus) -> DaemonStatus {
    let mut why = live.ailing.clone();
    let failed = live.last_error_us.map(|at| live.at_us.saturating_sub(at));
    if let Some(ago) = failed.filter(|ago| *ago < RECENT) {
        let ago = forebay_model::Micros(ago);
        why.push(format!("a request failed {ago} ago: `forebay logs` says which"));
    }
    let health = if why.is_empty() { Health::Well } else { Health::Degraded };
    let (points, pid, log) = (live.points.clone(), Some(live.pid), live.log.clone());
    DaemonStatus { points, pid, live: Some(Box::new(live)), log, health, why }
}

/// Mounts of this user that no daemon says it serves.
fn find_orphaned_mounts(rows: &[DaemonStatus]) -> io::Result<Vec<DaemonStatus>> {
    let me = format!("user_id={}", rustix::process::geteuid().as_raw());
    let mine = lasting_mounts()?.into_iter().filter(|mount| {
        mount.options.split(',').any(|option| option == me)
            && !rows.iter().any(|row| row.points.contains(&mount.point))
    });
    let row = |point: PathBuf| {
        let log = daemon_logs::find_log_serving(&point)
            .map(|one| one.folder.join(forebay_volume::daemon_log::LOG));
        let end = format!("`forebay unmount {}` takes it away", point.display());
        let why = vec![format!("its daemon is gone, and programs get I/O errors; {end}")];
        DaemonStatus { points: vec![point], pid: None, live: None, log, health: Health::Lost, why }
    };
    Ok(mine.map(|mount| row(mount.point)).collect())
}

#[cfg(test)]
mod tests {
    //! If these fail, a monitor sleeps while programs get errors, or wakes people for nothing.
    use super::*;

    fn health(live: LiveStatus) -> Health {
        row_for_live(live).health
    }

    #[test]
    fn one_is_well_until_something_fails_and_some_time_after() {
        let live = LiveStatus { at_us: 2 * RECENT, ..LiveStatus::default() };
        assert_eq!(health(live.clone()), Health::Well);
        let failed = |at| LiveStatus { last_error_us: Some(at), ..live.clone() };
        assert_eq!(health(failed(2 * RECENT - 1)), Health::Degraded);
        assert_eq!(health(failed(RECENT)), Health::Well, "that was long ago");
        assert_eq!(health(failed(9 * RECENT)), Health::Degraded, "it failed while we asked");
        let ailing = vec!["s3://b/v is out of reach".to_owned()];
        assert_eq!(health(LiveStatus { ailing, ..live }), Health::Degraded);
    }

    #[test]
    fn the_worst_of_all_is_told() {
        let row = |health| DaemonStatus { health, ..unanswering_row(1) };
        let of = |all: &[Health], newer: &[&str]| {
            let rows = all.iter().map(|health| row(*health)).collect();
            let newer = newer.iter().map(|text| (*text).to_owned()).collect();
            StatusReport { rows, newer }.worst_health().code()
        };
        assert_eq!(of(&[], &[]), 3);
        assert_eq!(of(&[Health::Well, Health::Well], &[]), 0);
        assert_eq!(of(&[Health::Well, Health::Degraded], &[]), 1);
        assert_eq!(of(&[Health::Lost, Health::Degraded], &[]), 4);
        assert_eq!(of(&[], &["of a newer Forebay"]), 1);
    }
}
