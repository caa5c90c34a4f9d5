//! Copying files before anybody asks for them.

use std::fs;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use forebay_model::{Micros, PrefetchMode};
use parking_lot::Mutex;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

use super::Tiers;
use super::copier::{CopyJob, CopyOutcome};
use forebay_os::clock::{Clock, SystemClock};
use forebay_os::file_identity::{FileIdentity, statx_nofollow};

/// Threads that copy: enough for storage that answers late, few enough to leave it to others.
const THREADS: (usize, usize) = (2, 4);

/// What was copied before the command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CacheWarmReport {
    /// Files that have a copy now, and their bytes.
    pub copied: (u64, u64),
    /// Files that have none.
    pub failed: u64,
    /// Why the first of them has none.
    pub why: Option<String>,
    /// How long it took.
    pub took: Micros,
}

impl CacheWarmReport {
    fn add_result(&mut self, one: CopyOutcome) {
        match one {
            CopyOutcome::Whole(bytes) => self.copied = (self.copied.0 + 1, self.copied.1 + bytes),
            CopyOutcome::Dropped => {}
            CopyOutcome::Failed(why) => {
                self.failed += 1;
                self.why.get_or_insert(why);
            }
        }
    }
}

impl Tiers {
    /// Copies the files below `directory`, seen bare, whose rules want that; `None` if none does.
    /// Its threads have ended when it returns.
    pub(crate) fn warm_cache(&self, directory: &Path) -> Option<CacheWarmReport> {
        if !self.rules.as_ref()?.has_cache_rule(PrefetchMode::AtStart) {
            return None;
        }
        let clock = SystemClock::start();
        let files = self.files_to_warm(directory);
        let (next, warmed) = (AtomicUsize::new(0), Mutex::new(CacheWarmReport::default()));
        let work = || {
            while let Some((path, room)) = files.get(next.fetch_add(1, Relaxed)) {
                let one = self.warm_file(directory, path, *room);
                warmed.lock().add_result(one);
            }
        };
        let threads = std::thread::available_parallelism().map_or(THREADS.0, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..threads.clamp(THREADS.0, THREADS.1).min(files.len()) {
                // With fewer it takes longer.
                let _ = std::thread::Builder::new().spawn_scoped(scope, work);
            }
        });
        let warmed = CacheWarmReport { took: clock.now(), ..warmed.into_inner() };
        Some(warmed)
    }

    fn warm_file(&self, directory: &Path, path: &Path, room: usize) -> CopyOutcome {
        let open = || -> Result<Option<CopyJob>, Errno> {
            let how = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let home = openat(CWD, directory.join(path), how, Mode::empty())?;
            let stat = statx_nofollow(home.as_fd(), c"")?;
            let name = path.file_name().unwrap_or_default().as_bytes().to_vec();
            // Another name of it may have come before.
            let number =
                self.cache.table.lock().promise_copy(FileIdentity::from_statx(&stat), room);
            Ok(number.map(|number| CopyJob { number, room, home, name }))
        };
        match open() {
            Ok(Some(job)) => self.make_cached_copy(job, false),
            Ok(None) => CopyOutcome::Dropped,
            Err(error) => CopyOutcome::Failed(format!("{}: {error}", path.display())),
        }
    }

    /// Plain files whose rules want a copy at the start, in the order of their names, and the rooms
    /// for the copies. Other file systems below have no rules.
    fn files_to_warm(&self, directory: &Path) -> Vec<(PathBuf, usize)> {
        let device = fs::metadata(directory).map_or(0, |meta| meta.dev());
        let (mut found, mut dirs) = (Vec::new(), vec![PathBuf::new()]);
        while let Some(dir) = dirs.pop() {
            for entry in fs::read_dir(directory.join(&dir)).into_iter().flatten().flatten() {
                let (path, kind) = (dir.join(entry.file_name()), entry.file_type());
                if kind.as_ref().is_ok_and(fs::FileType::is_dir) {
                    if entry.metadata().is_ok_and(|meta| meta.dev() == device) {
                        dirs.push(path);
                    }
                } else if kind.is_ok_and(|kind| kind.is_file())
                    && let Some((room, PrefetchMode::AtStart)) =
                        self.cache_placement(path.as_os_str().as_bytes())
                {
                    found.push((path, room));
                }
            }
        }
        found.sort();
        found
    }
}
